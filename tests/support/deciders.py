"""A judge of the demo that is deployable and mostly right, and deciders fitted on its run."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import casewise
from casewise.api import Run
from casewise.api.deciding import Requirements, fit_decider
from casewise.deciding.decider_file import FittedDecider

MODULE = "mostly_right_judge"

SOURCE = """
from tests.support.deciders import mostly_right


def judge(query, context):
    return mostly_right(query, context)


judge.elicitation = "probability"
"""


def known_backgrounds() -> dict[str, float]:
    """What the demo's authors meant, by the recipient's background, with every sixth turned about."""
    demo = casewise.load("demo")
    found = {}
    for place, context in enumerate(demo.contexts):
        meant = bool(context.intended_safe) != (place % 6 == 0)
        found[str(context.shown()["recipient"]["background"])] = 0.7 if meant else 0.3
    return found


BACKGROUNDS: dict[str, float] = {}


def mostly_right(query: str, context: dict[str, dict[str, str]]) -> float:
    """P(safe) of the demo's items, right on five of six; 0.5 and a little of what nobody knows."""
    if not BACKGROUNDS:
        BACKGROUNDS.update(known_backgrounds())
    known = BACKGROUNDS.get(str(context.get("recipient", {}).get("background")), 0.5)
    noise = int(hashlib.sha256(f"{query}{context}".encode()).hexdigest()[:6], 16) / 0xFFFFFF
    return round(known + 0.25 * (noise - 0.5), 4)


def judged_demo(folder: Path) -> Run:
    """A run of that judge over the demo, under a name that finds it again: `folder` is the working folder then."""
    (folder / f"{MODULE}.py").write_text(SOURCE, encoding="utf-8")
    return casewise.judge("demo", f"python:{MODULE}:judge", out=folder / "run")


def decider_file(folder: Path, requirements: Requirements = Requirements(max_harm=0.3, max_over_refusal=0.3)) -> Path:
    """A decider of that judge."""
    path = folder / "decider.json"
    fit_decider(judged_demo(folder), requirements).save(path)
    return path


def partial_decider(**fields: Any) -> FittedDecider:
    """The file of a decider with these fields and no others."""
    return FittedDecider.model_construct(**fields)
