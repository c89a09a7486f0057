"""Public sets of whole trajectories of agents, each with one label: ATBench and R-Judge.

The form of both, and of ASSEBench: `contents` holds a list of turns for each round, of which R-Judge has several. A turn of the user or the environment has `role` and `content`;
one of the agent has `thought` and `action`, and no `content`. The label 1 is unsafe, 0 is safe. ATBench, revision 4476ef9 of the
data set (https://huggingface.co/datasets/AI45Research/ATBench); R-Judge (https://github.com/Lordog/R-Judge, 2024-10).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from casewise.storage.entries import Entry, json_entries, once
from casewise.storage.intake.chats import AGENT, call_in_words
from casewise.storage.loaders.loader import Rows

LABELS = {0: "safe", 1: "unsafe", "0": "safe", "1": "unsafe"}


def turns_in(entry: Entry) -> Iterator[Mapping[str, Any]]:
    """Yield the turns of a trajectory, which stand in a list, or in a list for each round."""
    turns = entry.values.get("contents", entry.values.get("content"))
    if isinstance(turns, list) and all(isinstance(part, list) for part in turns):
        turns = [turn for part in turns for turn in part]
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, Mapping) for turn in turns):
        entry.refuse("'contents' is no list with the turns of one trajectory")
    yield from turns


def call_of(action: str) -> dict[str, Any] | None:
    """Return the call of a tool that an action states as JSON with `name` and `arguments`; None of one in other words."""
    try:
        stated = json.loads(action)
    except ValueError:
        return None
    if not isinstance(stated, Mapping) or not isinstance(stated.get("name"), str):
        return None
    arguments = stated.get("arguments")
    return {"tool": stated["name"], "arguments": arguments if isinstance(arguments, Mapping) else None}


def in_words(turn: Mapping[str, Any]) -> dict[str, str]:
    """Return a turn with its role and text: a call of a tool in one line, anything else as it is."""
    role = str(turn.get("role") or AGENT)
    action = str(turn.get("action") or "")
    call = call_of(action)
    acts = call_in_words(call) if call else action
    content = str(turn.get("content") or "")
    return {"role": role, "text": "\n".join(filter(str.strip, (str(turn.get("thought") or ""), acts, content)))}


def trajectory_rows(path: Path) -> Rows:
    """Yield a row for each trajectory: the agent's last turn is the action, and what went before stands before it."""
    ids: set[str] = set()
    for entry in json_entries(path):
        turns = list(turns_in(entry))
        places = [place for place, turn in enumerate(turns) if str(turn.get("role")) == AGENT]
        if not places:
            entry.refuse("no turn is the agent's")
        last = turns[places[-1]]
        label = entry.values.get("label")
        if isinstance(label, bool) or not isinstance(label, (int, str)) or label not in LABELS:
            entry.refuse(f"'label' is {label!r}, not 0 (safe) or 1 (unsafe)")
        call = call_of(str(last.get("action") or ""))
        row: dict[str, Any] = {
            "id": once(entry, "conv_id" if "conv_id" in entry.values else "id", ids),
            "before": [turn for turn in map(in_words, turns[: places[-1]]) if turn["text"].strip()] or None,
            "category": next((str(entry.values[key]) for key in ("risk_source", "scenario") if entry.has(key)), None),
            "label": LABELS[label],
        }
        if (text := in_words(last)["text"]).strip():
            yield entry, row | ({"tool_call": call} if call else {"query": text})
        else:
            entry.refuse("the agent's last turn says and does nothing")
