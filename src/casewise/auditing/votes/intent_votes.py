"""A vote that is no person's: one place, or one annotator, that equals the author's intent on every item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casewise.auditing.findings import Finding, Part
from casewise.auditing.subject import Subject

__all__ = ["look_at_intent_votes"]

CHANCE = 1e-6
"""How likely, over all raters together, a rater of flesh and blood may be to agree with every intent by chance."""

LEAST_ITEMS = 20
"""A rater who rated fewer items is not looked at."""


@dataclass(frozen=True)
class AgreementWithIntent:
    """How one rater's votes stand to the intent."""

    items: NDArray[np.intp]
    always: bool
    log_chance: float
    """Of agreeing with every intent, if each vote were drawn like the other votes on its item."""


def look_at_intent_votes(subject: Subject) -> Part:
    """Raters (places or annotators) whose votes are the intent, on every item they rated."""
    published = subject.benchmark.about.published
    if published is not None and published.votes_hold_intent:
        return Part(name="intent votes", findings=(imported(subject),))
    found = agreements(subject)
    limit = np.log(CHANCE / max(1, len(found)))
    copies = {name: a for name, a in found.items() if a.always and len(a.items) >= LEAST_ITEMS and a.log_chance < limit}
    return Part(
        name="intent votes",
        measured={"raters": len(found), "raters_equal_to_intent": len(copies)},
        findings=(copied(subject, copies),) if copies else (),
    )


def agreements(subject: Subject) -> dict[str, AgreementWithIntent]:
    """Each rater's agreement with the intent, on items that have one."""
    found = subject.benchmark.rated.arrays(subject.items["item_id"])
    intended = subject.intended[found.item]
    known = ~np.isnan(intended)
    item, safe, intended = found.item[known], found.safe[known], intended[known] == 1
    # Rates of the others, drawn in by one vote of each kind so that no chance is 0 or 1.
    rate = (subject.n_safe[item] - safe + 1) / (subject.n_votes[item] + 1)
    log_chance = np.log(np.where(intended, rate, 1 - rate))
    votes = len(found.annotators) + 1 + found.position
    codes, rater = np.unique(np.where(found.annotator >= 0, found.annotator, votes)[known], return_inverse=True)
    against = np.bincount(rater, weights=safe != intended)
    chances = np.bincount(rater, weights=log_chance)
    starts = np.searchsorted(np.sort(rater), np.arange(1, len(codes)))
    items = np.split(item[np.argsort(rater, kind="stable")], starts)
    return {
        rater_name(int(code), found.annotators): AgreementWithIntent(
            items[place], bool(against[place] == 0), float(chances[place])
        )
        for place, code in enumerate(codes)
    }


def rater_name(code: int, annotators: tuple[str, ...]) -> str:
    if code < len(annotators):
        return annotators[code]
    position = code - len(annotators) - 1
    return f"vote {position if position >= 0 else None}"


def imported(subject: Subject) -> Finding:
    n = len(subject.items)
    return Finding(
        code="labels.intent-in-votes",
        title=f"The last vote equals the author's intent in {n:,} of {n:,} items: it is no person's.",
        effect="label",
        share=1.0,
        evidence={"items": n, "vote": "last", "people_per_item": int(np.median(subject.n_votes))},
        advice="casewise has taken it out of the votes on import; score against people's votes (--labels votes, the default).",
    )


def copied(subject: Subject, copies: dict[str, AgreementWithIntent]) -> Finding:
    touched = np.zeros(len(subject.items), dtype=bool)
    for agreement in copies.values():
        touched[agreement.items] = True
    worst = max(copies, key=lambda name: len(copies[name].items))
    n = len(copies[worst].items)
    return Finding(
        code="labels.intent-in-votes",
        title=f"{len(copies)} rater(s) vote as the author intended on every item; {worst!r} on {n:,} of {n:,}.",
        effect="label",
        share=float(touched.mean()),
        evidence={
            "raters": {name: {"items": len(a.items), "log_chance": a.log_chance} for name, a in copies.items()},
            "largest_chance": CHANCE,
        },
        advice="Take these votes out: they are the author's intent, and count it as if a person had given it.",
        items=subject.named(touched),
    )
