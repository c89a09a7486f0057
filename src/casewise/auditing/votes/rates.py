"""Stated safe rates against the votes they are stated for."""

from __future__ import annotations

import numpy as np

from casewise.auditing.findings import Finding, Part
from casewise.auditing.subject import Subject
from casewise.stats.core.arrays import BoolArray, FloatArray

__all__ = ["look_at_rates"]

TOLERANCE = 5e-7
"""Stated rates are rounded; a difference below this is none."""

LEAST_ITEMS = 20
"""From so many items on, rates that all count the intent are no coincidence."""


def look_at_rates(subject: Subject) -> Part:
    """Stated rates against the votes, with and without the intent as one vote more."""
    stated = subject.items["published_rate"].cast(float).fill_null(np.nan).to_numpy()
    compared = ~np.isnan(stated) & (subject.n_votes > 0)
    if not compared.any():
        return Part(name="rates", left_out=("stated safe rates: the benchmark states none.",))
    with np.errstate(invalid="ignore", divide="ignore"):
        alone = np.abs(stated - subject.n_safe / subject.n_votes) <= TOLERANCE
        counted = np.abs(stated - (subject.n_safe + subject.intended) / (subject.n_votes + 1)) <= TOLERANCE
    neither = compared & ~alone & ~counted
    # A vote more that equals the intent by chance on a few items is a rate that disagrees, and no habit.
    only_so = int((compared & counted & ~alone).sum())
    habit = only_so >= LEAST_ITEMS and only_so >= 0.9 * (compared & ~alone).sum()
    with_intent = compared & counted
    measured = {
        "rates_stated": int(compared.sum()),
        "rates_as_votes": int((compared & alone).sum()),
        "rates_as_votes_and_intent": int((compared & counted).sum()),
        "rates_of_neither": int(neither.sum()),
    }
    findings = [intent_in_rates(subject, with_intent, compared)] if habit else []
    wrong = neither if habit else compared & ~alone
    if wrong.any():
        findings.append(rates_disagree(subject, wrong, stated))
    return Part(name="rates", measured=measured, findings=tuple(findings))


def intent_in_rates(subject: Subject, with_intent: BoolArray, compared: BoolArray) -> Finding:
    tied = (2 * subject.n_safe == subject.n_votes) & with_intent
    turned = {
        "safe": int((tied & (subject.intended == 1)).sum()),
        "unsafe": int((tied & (subject.intended == 0)).sum()),
    }
    n, usual = int(with_intent.sum()), int(np.median(subject.n_votes[with_intent]))
    return Finding(
        code="labels.intent-in-rates",
        title=f"In {n:,} of {int(compared.sum()):,} items the stated safe rate counts the author's intent as one vote more.",
        effect="label",
        share=n / len(subject.items),
        evidence={
            "items": n,
            "people_per_item": usual,
            "votes_counted": usual + 1,
            "formula": "stated rate = (safe votes + intent) / (votes + 1)",
            "ties_turned_safe": turned["safe"],
            "ties_turned_unsafe": turned["unsafe"],
            "labels_changed_by_it": int(tied.sum()),
        },
        advice=(
            f"Score against people's {usual} votes (--labels votes, the default); use --labels published only to compare "
            "with numbers that were computed so. Ties are then ties again."
        ),
        items=subject.named(tied if tied.any() else with_intent),
    )


def rates_disagree(subject: Subject, wrong: BoolArray, stated: FloatArray) -> Finding:
    by_votes = subject.n_safe[wrong] / subject.n_votes[wrong]
    return Finding(
        code="labels.rates-disagree",
        title=f"In {int(wrong.sum()):,} items the stated safe rate is not that of the votes.",
        effect="label",
        share=float(wrong.mean()),
        evidence={
            "items": int(wrong.sum()),
            "largest_difference": float(np.abs(stated[wrong] - by_votes).max()),
            "verdict_differs": int(((stated[wrong] > 0.5) != (by_votes > 0.5)).sum()),
        },
        advice="Find out which of the two is right before using either; casewise's labels come from the votes.",
        items=subject.named(wrong),
    )
