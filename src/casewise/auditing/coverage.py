"""Coverage: which categories and conditions there are, how thinly, and what has no partner."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from casewise.auditing.findings import Finding, Part
from casewise.auditing.subject import Subject

__all__ = ["audit_coverage"]

THIN = 5
"""With fewer queries nothing can be said about a category."""


def audit_coverage(subject: Subject) -> Part:
    """Counts by category and condition; categories that are thin, queries without a pair, votes all alike."""
    items = subject.items
    per_category = items.group_by("category").agg(pl.col("query_id").n_unique().alias("queries")).sort("category")
    queries = dict(zip(per_category["category"].to_list(), per_category["queries"].to_list(), strict=True))
    absent = [name for name in subject.benchmark.taxonomy.names if name not in queries]
    measured: dict[str, Any] = {
        **subject.benchmark.counts.model_dump(),
        "queries_by_category": queries,
        "items_by_condition": dict(Counter(items["condition"].to_list())),
        "categories_of_the_taxonomy_without_queries": absent,
    }
    looks = (
        one_category(subject, queries),
        thin(subject, queries),
        unpaired(subject),
        one_verdict(subject),
        uneven(subject),
    )
    return Part(name="coverage", measured=measured, findings=tuple(finding for finding in looks if finding))


def one_category(subject: Subject, queries: dict[str, int]) -> Finding | None:
    if len(queries) != 1:
        return None
    (name,) = queries
    return Finding(
        code="coverage.one-category",
        title=f"All {len(subject.items):,} items are of one category, {name!r}.",
        effect="note",
        share=1.0,
        evidence={"category": name, "items": len(subject.items)},
        advice="Say so beside every number: it is about this category only.",
    )


def thin(subject: Subject, queries: dict[str, int]) -> Finding | None:
    few = {name: n for name, n in queries.items() if n < THIN}
    if not few:
        return None
    touched = subject.items["category"].is_in(list(few)).to_numpy()
    return Finding(
        code="coverage.thin",
        title=f"{len(few)} of {len(queries)} categories have fewer than {THIN} queries.",
        effect="note",
        share=float(touched.mean()),
        evidence={"categories": few, "least": THIN},
        advice="Report these by domain, not one by one: an interval over so few queries covers nearly everything.",
    )


def unpaired(subject: Subject) -> Finding | None:
    with_context = ~np.isnan(subject.intended)
    if not with_context.any():
        return None
    has = {value: set(subject.query[subject.intended == value].tolist()) for value in (0.0, 1.0)}
    lonely = np.isin(subject.query, [*(has[0.0] ^ has[1.0])]) & with_context
    if not lonely.any():
        return None
    n = len(has[0.0] ^ has[1.0])
    return Finding(
        code="coverage.unpaired",
        title=f"{n:,} queries have contexts of one intent only; they form no pair.",
        effect="note",
        share=float(lonely.mean()),
        evidence={"queries": n, "safe_only": len(has[1.0] - has[0.0]), "unsafe_only": len(has[0.0] - has[1.0])},
        advice="Add the other context, or leave them out of what is said about pairs: such a query cannot show that context matters.",
        items=subject.named(lonely),
    )


def one_verdict(subject: Subject) -> Finding | None:
    known = subject.label[~np.isnan(subject.label)]
    if not len(known) or known.min() < 0.5 < known.max() or known.min() == known.max() == 0.5:
        return None
    word = "safe" if known.max() > 0.5 else "unsafe"
    return Finding(
        code="coverage.one-verdict",
        title=f"People call no item {'unsafe' if word == 'safe' else 'safe'}: a judge that always says {word} is always right.",
        effect="score",
        share=1.0,
        evidence={"items": len(known), "verdict": word},
        advice="Add items of the other kind; recall of one class cannot be measured here.",
    )


def uneven(subject: Subject) -> Finding | None:
    rated = subject.n_votes[subject.n_votes > 0]
    if not len(rated) or rated.max() < 2 * rated.min():
        return None
    usual = int(np.median(rated))
    few = (subject.n_votes > 0) & (2 * subject.n_votes <= usual)
    return Finding(
        code="coverage.uneven-votes",
        title=f"Items have from {int(rated.min())} to {int(rated.max())} votes (median {usual}).",
        effect="note",
        share=float(few.mean()),
        evidence={
            "least": int(rated.min()),
            "most": int(rated.max()),
            "median": usual,
            "at_most_half_of_median": int(few.sum()),
        },
        advice="A majority of few says less than one of many. Gather the missing ratings, or weigh by them.",
        items=subject.named(few),
    )
