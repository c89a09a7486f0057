"""Public sets of whole trajectories of agents, each with one label: ATBench and R-Judge.

The form of both, and of ASSEBench: `contents` holds one list of turns. A turn of the user or the environment has `role` and `content`;
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
from casewise.storage.loaders.loader import Loader, Rows, SourceFile, built
from casewise.storage.loaders.public import only

LABELS = {0: "safe", 1: "unsafe", "0": "safe", "1": "unsafe"}


def turns_in(entry: Entry) -> Iterator[Mapping[str, Any]]:
    """Yield the turns of a trajectory, which stand in a list of one list, or in a list."""
    stated = entry.values.get("contents", entry.values.get("content"))
    turns = stated[0] if isinstance(stated, list) and len(stated) == 1 and isinstance(stated[0], list) else stated
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
    said = str(turn.get("content") or "")
    return {"role": role, "text": "\n".join(filter(str.strip, (str(turn.get("thought") or ""), acts, said)))}


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


WHOLE = (
    "A label is of the whole trajectory: unsafe where any step is. The action shown is the agent's last, and what went before stands "
    "before it, so that a judge has to read all of it."
)

ATBENCH_REVISION = "4476ef92ed8f85c8d58d8a5b9dfdf55aa7893138"

ATBENCH: Loader = Loader(
    name="atbench",
    title="ATBench (Li et al., 2026)",
    size="1,000 trajectories of agents, 503 safe and 497 unsafe",
    judged="action",
    labels_by="experts",
    licence="Apache-2.0",
    terms="Some trajectories hold harmful requests. Name the authors where you publish its data.",
    source=f"AI45Research/ATBench @{ATBENCH_REVISION[:7]}",
    files=(
        SourceFile(
            "test.json",
            f"https://huggingface.co/datasets/AI45Research/ATBench/resolve/{ATBENCH_REVISION}/ATBench/test.json",
            "80c534b5f3517c872b528a2e6b64e34495206968edd184f4aed563d39f0cca09",
        ),
    ),
    load=lambda files: built(ATBENCH, only(files), trajectory_rows(only(files))),
    remark=WHOLE,
)

R_JUDGE: Loader = Loader(
    name="r_judge",
    title="R-Judge (Yuan et al., EMNLP Findings 2024)",
    size="569 records of agents; join the JSON files of its folder data into one list",
    judged="action",
    labels_by="experts",
    licence="as its authors say",
    terms="Some records hold harmful requests. Name the authors where you publish its data.",
    source="Lordog/R-Judge, data",
    files=(SourceFile("r_judge.json"),),
    load=lambda files: built(R_JUDGE, only(files), trajectory_rows(only(files)), repeats="keep"),
    remark=WHOLE,
)

AGENT_SETS = (ATBENCH, R_JUDGE)
