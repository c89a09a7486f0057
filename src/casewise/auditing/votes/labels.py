"""The labels: what is counted in them, what settles them, and how likely they are to come out the same again."""

from __future__ import annotations

import numpy as np

from casewise.auditing.findings import Finding, Part, together
from casewise.auditing.subject import Subject
from casewise.auditing.votes.intent_votes import look_at_intent_votes
from casewise.auditing.votes.rates import look_at_rates
from casewise.auditing.votes.vote_patterns import look_at_columns, look_at_gap
from casewise.stats.agreeing.labels_and_ties import PUBLISHED, labels
from casewise.stats.people.stability import JEFFREYS, UNIFORM, same_label

__all__ = ["audit_labels"]

LEAST_STABLE = 0.95
"""Labels are called unstable where fewer than so many would come out the same."""


def audit_labels(subject: Subject) -> Part:
    """Everything about votes, rates and labels. A benchmark without ratings leaves it out."""
    if not subject.benchmark.ratings:
        return Part(name="labels", left_out=("labels: the benchmark has no ratings.",))
    looks = (
        look_at_rates,
        look_at_intent_votes,
        look_at_ties,
        look_at_gap,
        look_at_stability,
        look_at_columns,
        look_at_unrated,
    )
    return together("labels", [look(subject) for look in looks])


def look_at_ties(subject: Subject) -> Part:
    """Ties, and what each label policy makes of them."""
    tied = subject.label == 0.5
    rated = int((subject.n_votes > 0).sum())
    measured = {"rated": rated, "ties": int(tied.sum())}
    if not tied.any():
        return Part(name="ties", measured=measured)
    published = labels(subject.items, PUBLISHED).weight[tied]
    known = ~np.isnan(published)
    finding = Finding(
        code="labels.ties",
        title=f"{int(tied.sum()):,} of {rated:,} items are ties: a rule, not people, settles their label.",
        effect="label",
        share=float(tied.sum() / len(subject.items)),
        evidence={
            "ties": int(tied.sum()),
            "of_them_intended_safe": int((subject.intended[tied] == 1).sum()),
            "published_makes_safe": int((published[known] == 1).sum()),
            "published_makes_unsafe": int((published[known] == 0).sum()),
            "votes_makes_of_each": "half safe, half unsafe",
        },
        advice="Quote --labels votes (a tie is half of each) and say how many ties there are; or drop them with --ties drop.",
        items=subject.named(tied),
    )
    return Part(name="ties", measured=measured, findings=(finding,))


def look_at_stability(subject: Subject) -> Part:
    """How many labels would come out the same in a repeated study, under several spreads of rates."""
    if subject.n_votes.max() < 2:
        return Part(name="stability", left_out=("stability of labels: no item has two votes.",))
    same = {
        "fitted by condition": subject.same_again,
        "Jeffreys": same_label(subject.n_safe, subject.n_votes, prior=JEFFREYS),
        "uniform": same_label(subject.n_safe, subject.n_votes, prior=UNIFORM),
    }
    means = {name: float(np.nanmean(found)) for name, found in same.items()}
    fitted = same["fitted by condition"]
    close = np.nan_to_num(fitted, nan=1.0) < 0.8
    measured = {"same_label_again": means, "labels_below_80_percent": int(close.sum())}
    if max(means.values()) >= LEAST_STABLE:
        return Part(name="stability", measured=measured)
    low, high = min(means.values()), max(means.values())
    finding = Finding(
        code="labels.unstable",
        title=f"If as many other people rated again, {low:.0%} to {high:.0%} of the labels would come out the same.",
        effect="label",
        share=1 - means["fitted by condition"],
        evidence={
            "expected_same": means,
            "labels_below_80_percent": int(close.sum()),
            "rated": int((~np.isnan(fitted)).sum()),
        },
        advice=(
            "So often would a second study of this size agree with this one. Read accuracies beside it: it is no bound, for who "
            "knows people well can agree more often than a second study does. Look at --items clear, where people agree."
        ),
        items=subject.named(close),
    )
    return Part(name="stability", measured=measured, findings=(finding,))


def look_at_unrated(subject: Subject) -> Part:
    """Items without ratings."""
    without = subject.n_votes == 0
    if not without.any():
        return Part(name="unrated")
    finding = Finding(
        code="labels.unrated",
        title=f"{int(without.sum()):,} of {len(without):,} items have no ratings; they count in no metric.",
        effect="label",
        share=float(without.mean()),
        evidence={"items": int(without.sum())},
        advice="Have them rated, or leave them out of the release.",
        items=subject.named(without),
    )
    return Part(name="unrated", findings=(finding,))
