"""Patterns that votes of many people, each of their own mind, do not make: a gap at the majority line, columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from casewise.auditing.findings import ALPHA, Finding, Part
from casewise.auditing.subject import Subject
from casewise.errors import StatisticsError
from casewise.stats.people.majority_gap import FEWEST_VOTES, MOST_VOTES, MajorityGap, majority_gap
from casewise.stats.people.vote_columns import column_dependence

__all__ = ["look_at_columns", "look_at_gap"]

LEAST_RATIO = 1.1
"""Columns whose variance is less than a tenth too large change no conclusion."""


def look_at_gap(subject: Subject) -> Part:
    """Whether vote counts stop at the majority line, for items of each intent."""
    rated = subject.n_votes[subject.n_votes > 0]
    usual = int(np.bincount(rated).argmax())
    alike = subject.n_votes == usual
    measured: dict[str, Any] = {}
    gaps: dict[str, MajorityGap] = {}
    if not FEWEST_VOTES <= usual <= MOST_VOTES:
        few = "few" if usual < FEWEST_VOTES else "many"
        return Part(name="gap", left_out=(f"a gap at the majority line: {usual} votes an item are too {few} to tell.",))
    rng = np.random.default_rng(subject.options.seed)
    for word, intent in (("safe", 1.0), ("unsafe", 0.0)):
        mine = alike & (subject.intended == intent)
        histogram = np.bincount(subject.n_safe[mine], minlength=usual + 1).tolist() if mine.any() else []
        measured[f"counts_{word}_intended"] = histogram
        gap = majority_gap(subject.n_safe[mine], votes=usual, rng=rng) if mine.any() else None
        if gap is not None and gap.p < ALPHA / 2:
            gaps[word] = gap
    findings = (gap_finding(subject, gaps, usual),) if gaps else ()
    return Part(name="gap", measured=measured, findings=findings)


def gap_finding(subject: Subject, gaps: dict[str, MajorityGap], usual: int) -> Finding:
    half = usual / 2
    evidence: dict[str, Any] = {}
    told = []
    touched = np.zeros(len(subject.items), dtype=bool)
    for word, gap in gaps.items():
        on_line = (subject.n_votes == usual) & (subject.intended == float(word == "safe"))
        on_line &= np.isin(subject.n_safe, (gap.cut, gap.cut + 1))
        touched |= on_line
        evidence[f"{word}_intended"] = {
            f"items_with_{gap.cut}_safe_votes": gap.below,
            f"items_with_{gap.cut + 1}_safe_votes": gap.above,
            "expected_of_any_crowd": [round(gap.expected_below, 1), round(gap.expected_above, 1)],
            "step_in_logs": gap.log_ratio,
            "p": gap.p,
        }
        told.append(f"{word}-intended items: {gap.below} with {gap.cut} safe votes, {gap.above} with {gap.cut + 1}")
    return Finding(
        code="labels.gap-at-majority",
        title=f"Vote counts stop at the majority line ({half:g} of {usual}) by intent: {'; '.join(told)}.",
        effect="label",
        share=float(touched.mean()),
        evidence=evidence,
        advice=(
            "Ask how items near the line came to be what they are: votes may have been gathered or kept until they fit, or "
            "items rewritten until they did. Report without the items at the line as well (--items clear)."
        ),
        items=subject.named(touched),
    )


def look_at_columns(subject: Subject) -> Part:
    """Whether anonymous votes at one place go together on successive items of a condition."""
    table = subject.vote_table
    if table is None:
        return Part(name="columns", left_out=("vote columns: annotators are known, so votes have no columns.",))
    condition = np.unique(subject.items["condition"].to_numpy()[table.rows], return_inverse=True)[1]
    try:
        found = column_dependence(table.votes, block=subject.options.block, group=condition)
    except StatisticsError as error:
        return Part(name="columns", left_out=(f"vote columns: {error}.",))
    measured = {"vote_columns": {name: getattr(found, name) for name in ("ratio", "correlation", "z", "p", "block")}}
    if found.p >= ALPHA or found.ratio < LEAST_RATIO:
        return Part(name="columns", measured=measured)
    finding = Finding(
        code="labels.votes-depend",
        title=(
            f"Votes depend on each other: within {found.block} successive items, vote columns vary {found.ratio:.1f} times "
            "as much as chance allows."
        ),
        effect="score",
        share=len(table.rows) / len(subject.items) * min(1.0, found.ratio - 1),
        evidence={**measured["vote_columns"], "items": found.n_items, "columns": found.n_columns},
        advice=(
            "Columns look like people who rated many neighbouring items. Do not take columns for annotators, and do not take "
            f"votes for independent: a rate averaged over {found.block} neighbouring items varies about {found.ratio:.1f} times "
            f"as much as the votes' number says, so its interval should be about {np.sqrt(found.ratio):.1f} times as wide."
        ),
    )
    return Part(name="columns", measured=measured, findings=(finding,))
