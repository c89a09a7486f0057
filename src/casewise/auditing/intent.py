"""The author's intent against people: where they share it, and how much of the labels it gives away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from casewise.auditing.findings import ALPHA, Finding, Part
from casewise.auditing.subject import Subject
from casewise.stats.agreeing.estimates import Estimate, estimate
from casewise.stats.agreeing.judged import judged_by_raters
from casewise.stats.agreeing.labels_and_ties import PUBLISHED, VOTES, LabelPolicy
from casewise.stats.agreeing.metrics import metrics_named
from casewise.stats.agreeing.sample import Sample, right
from casewise.stats.core.arrays import BoolArray
from casewise.stats.core.share_intervals import binomial_below

__all__ = ["audit_intent"]

TELLING = 0.9
"""Intent that gives at least so many labels leaves judges little to be measured on."""

SHARED = 0.95
"""Intent that people share on so many items is shared."""


def audit_intent(subject: Subject) -> Part:
    """Agreement of the intent with people's majority: overall, by condition, and by category."""
    usable = ~np.isnan(subject.label) & ~np.isnan(subject.intended)
    if not usable.any():
        return Part(name="intent", left_out=("intent against people: no item has both an intent and ratings.",))
    overall: dict[str, Estimate] = {
        policy.base: agreement(intent_beside_people(subject, policy).where(usable)) for policy in (VOTES, PUBLISHED)
    }
    conditions = by_group(subject, usable, subject.items["condition"].to_numpy())
    categories = by_group(subject, usable, subject.items["category"].to_numpy())
    measured: dict[str, Any] = {
        "agreement": {name: found.picked("n", "method") for name, found in overall.items()},
        "by_condition": {name: found.picked("n", "method") for name, found in conditions.items()},
        "by_category": {name: found.picked("n", "method") for name, found in categories.items()},
    }
    findings = []
    share = overall["votes"].estimate or 0.0
    if share < SHARED:
        findings.append(not_shared(subject, usable, overall["votes"], conditions))
    if share >= TELLING:
        findings.append(predicts(overall))
    return Part(name="intent", measured=measured, findings=tuple(findings))


def intent_beside_people(subject: Subject, policy: LabelPolicy) -> Sample:
    return judged_by_raters(subject.items, subject.intended, subject.raters, elicitation="binary", policy=policy)


def agreement(sample: Sample) -> Estimate:
    """Accuracy of the intent on these items against people's labels, with an interval over queries and annotators."""
    (found,) = estimate(sample, metrics=metrics_named("accuracy"))
    return found


def by_group(subject: Subject, usable: BoolArray, group: NDArray[np.object_]) -> dict[str, Estimate]:
    names, whole = np.unique(group[usable].astype(str)).tolist(), intent_beside_people(subject, VOTES)
    return {name: agreement(whole.where(usable & (group == name))) for name in names}


def not_shared(subject: Subject, usable: BoolArray, overall: Estimate, conditions: dict[str, Estimate]) -> Finding:
    against = usable & (np.abs(subject.label - subject.intended) == 1)
    worse = worse_categories(subject, usable)
    by_intent = {
        "safe_intended_called_unsafe": int((against & (subject.intended == 1)).sum()),
        "unsafe_intended_called_safe": int((against & (subject.intended == 0)).sum()),
    }
    n = int(usable.sum())
    return Finding(
        code="intent.not-shared",
        title=f"People's majority is against the author's intent on {int(against.sum()):,} of {n:,} items.",
        effect="note",
        share=float(against.sum() / len(subject.items)),
        evidence={
            "agreement": overall.picked("n", "method"),
            "ties": int((subject.label[usable] == 0.5).sum()),
            **by_intent,
            "by_condition": {name: found.estimate for name, found in conditions.items()},
            "categories_below_the_rest": worse,
        },
        advice=(
            "Read these contexts again: either they do not say what was meant, or people do not think as the author. "
            "Never score a judge against the intent without saying so."
        ),
        items=subject.named(against),
    )


def worse_categories(subject: Subject, usable: BoolArray) -> dict[str, float]:
    """Categories whose agreement is below that of all items by more than chance, Bonferroni over categories."""
    agree = right(subject.intended, subject.label)
    category = subject.items["category"].to_numpy().astype(str)
    overall = float(agree[usable].mean())
    names = np.unique(category[usable])
    found: dict[str, float] = {}
    for name in names:
        mine = agree[usable & (category == name)]
        if binomial_below(float(mine.sum()), len(mine), overall) < ALPHA * 10 / len(names):
            found[str(name)] = float(mine.mean())
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def predicts(overall: dict[str, Estimate]) -> Finding:
    votes, published = overall["votes"], overall["published"]
    share = max(0.0, 2 * (votes.estimate or 0.0) - 1)
    return Finding(
        code="intent.predicts-labels",
        title=(
            f"Copying the author's intent gives {votes.estimate or 0:.1%} of people's labels "
            f"({published.estimate or 0:.1%} under published): a judge has little left to show."
        ),
        effect="score",
        share=share,
        evidence={"votes": votes.picked("n", "method"), "published": published.picked("n", "method")},
        advice=(
            "Put constant:intended beside every judge. A judge that finds out what the author meant scores as well as one "
            "that weighs the case; items where people and author differ tell the two apart."
        ),
    )
