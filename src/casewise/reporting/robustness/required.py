"""Bounds on what attacks may do, laid out."""

from __future__ import annotations

from casewise.evaluation.robustness.required import BOUNDED, RequiredRobustness
from casewise.reporting.document import Document, Prose, Section, count, percent, table_by
from casewise.reporting.robustness.cells import limits

__all__ = ["required_page"]

SENTENCES = {
    "pass": "Under every attack the upper limit keeps to the bound.",
    "fail": "Under one attack at least even the lower limit is above the bound.",
    "inconclusive": "These items cannot tell: an upper limit is above a bound, and no lower limit is.",
}


def required_page(found: RequiredRobustness) -> Document:
    """The decision and, for each bound, the attack that decides it."""
    table = table_by(
        "bounds",
        "Bounds, and the attack with the largest upper limit",
        found.bounds,
        {
            "Bound": lambda one: BOUNDED[one.name],
            "At most": lambda one: percent(one.at_most),
            "Attack": lambda one: one.attack,
            "Share": lambda one: percent(one.worst.estimate),
            "95 % interval": lambda one: limits(one.worst),
            "Of attacks": lambda one: count(one.among),
            "Decision": lambda one: one.decision,
        },
    )
    return Document(
        title=f"{found.decision}: {found.judge} under attack",
        subtitle=f"{found.benchmark}; defence: {found.defence}",
        notices=found.notes,
        sections=(Section("bounds", "Bounds", (Prose(SENTENCES[found.decision]), table), brief=True),),
    )
