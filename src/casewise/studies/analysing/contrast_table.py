"""Planned contrasts, one row each: the paper's test, and beside it errors that know queries and annotators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import StatisticsError, StudyError
from casewise.stats import adjust, clustered_contrast, equivalence, korn_graubard, two_proportion_z
from casewise.stats.conditions.contrast import ClusteredContrast, Difference
from casewise.stats.core.arrays import BoolArray, IntArray
from casewise.stats.core.cluster_variance import cluster_variance
from casewise.stats.core.multiplicity import Correction
from casewise.stats.core.raters import Raters, annotators_variance
from casewise.stats.people.coded_ratings import CodedRatings
from casewise.studies.analysing.options import AnalysisOptions

__all__ = ["condition_table", "contrast_table", "default_contrasts", "share_limits"]

NO_DIFFERENCE = dict.fromkeys(("estimate", "error", "ci_low", "ci_high", "p", "log_p"))


def default_contrasts(conditions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The first condition (no context, where there is one) against each other; the paper does not list its four."""
    return tuple((conditions[0], other) for other in conditions[1:])


def condition_table(ratings: CodedRatings, *, level: float) -> pl.DataFrame:
    """Safe rate of each condition, with its Korn-Graubard interval over queries, and annotators where they are known."""
    rows: list[dict[str, Any]] = []
    for index, name in enumerate(ratings.condition.names):
        chosen = ratings.within(index)
        safe, query = ratings.safe[chosen], ratings.query.codes[chosen]
        annotator = None if ratings.annotator is None else ratings.annotator.codes[chosen]
        rows.append(
            {
                "condition": name,
                "items": int((ratings.item_condition == index).sum()),
                "queries": len(np.unique(query)),
                "annotators": None if annotator is None else len(np.unique(annotator)),
                "ratings": len(safe),
                "safe": int(safe.sum()),
                "safe_rate": float(safe.mean()),
                **share_limits(safe, query, annotator, level=level),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def share_limits(
    given: BoolArray, query: IntArray, annotator: IntArray | None, *, level: float
) -> dict[str, float | None]:
    """`ci_low` and `ci_high` of a share of votes, or of answers: Korn and Graubard's, over queries and known annotators."""
    n, share, queries = len(given), float(given.mean()), np.unique(query, return_inverse=True)[1]
    clusters = int(queries.max()) + 1
    if clusters < 2:
        return {"ci_low": None, "ci_high": None}
    variance = cluster_variance((given - share) / n, queries)
    if annotator is not None:
        own = np.full(clusters, 1 / n)
        variance += annotators_variance((1 - share) * own, -share * own, Raters(queries, annotator, given))
        clusters = max(2, min(clusters, len(np.unique(annotator))))
    limits = korn_graubard(share, variance, n=n, clusters=clusters, level=level)
    return {"ci_low": float(limits.low), "ci_high": float(limits.high)}


def contrast_table(
    ratings: CodedRatings, contrasts: Sequence[tuple[str, str]], options: AnalysisOptions
) -> pl.DataFrame:
    """One row a contrast.

    `z`, `p`, `log_p`, `ci_low`, `ci_high` are the paper's pooled test with its corrections `p_bonferroni`, `p_holm`
    and `p_benjamini_hochberg`; `like_*` the errors clustered by query and annotator, `these_*` those by annotator
    around these queries' rates, `query_*` the average per-query difference; `equivalent_p` the TOST within `margin`.
    `recommended_p` is that of `like_*`, else of `query_*`; `recommended_p_corrected` is corrected as `options` say, and
    `differs` whether it reaches their alpha.

    Raises StudyError: a contrast names a condition that has no ratings.
    """
    rows = [_row(ratings, first, second, level=options.level) for first, second in contrasts]
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows, infer_schema_length=None)
    testable = table["testable"].to_numpy()
    for method in ("bonferroni", "holm", "benjamini_hochberg"):
        table = table.with_columns(pl.Series(f"p_{method}", adjust(table["p"].to_numpy(), method, where=testable)))
    table = table.with_columns(_corrected(table, options))
    return table.with_columns(_equivalence(table, margin=options.margin, alpha=options.alpha))


def _corrected(table: pl.DataFrame, options: AnalysisOptions) -> list[pl.Series]:
    best = table["like_p"].cast(pl.Float64).fill_null(table["query_p"].cast(pl.Float64))
    known = best.is_not_null()
    method: Correction = "benjamini_hochberg" if options.correction == "benjamini-hochberg" else options.correction
    adjusted = adjust(best.fill_null(1.0).to_numpy(), method, where=known.to_numpy())
    p = pl.Series("recommended_p_corrected", adjusted).set(~known, None)
    return [best.alias("recommended_p"), p, (p <= options.alpha).alias("differs")]


def _row(ratings: CodedRatings, first: str, second: str, *, level: float) -> dict[str, Any]:
    a, b = (_index(ratings, name) for name in (first, second))
    chosen = ratings.within(a) | ratings.within(b)
    safe, is_second = ratings.safe[chosen], ratings.within(b)[chosen]
    counts = [int(safe[~is_second].sum()), int((~is_second).sum()), int(safe[is_second].sum()), int(is_second.sum())]
    z = two_proportion_z(*counts, level=level)
    annotator = None if ratings.annotator is None else ratings.annotator.codes[chosen]
    try:
        clustered = clustered_contrast(
            safe, is_second, query=ratings.query.codes[chosen], annotator=annotator, level=level
        )
    except StatisticsError:  # one query or one annotator: the pooled test stands alone
        clustered = None
    names = (
        "difference",
        "z",
        "p",
        "log_p",
        "p_greater",
        "p_less",
        "ci_low",
        "ci_high",
        "newcombe_low",
        "newcombe_high",
    )
    return {
        "first": first,
        "second": second,
        **dict(zip(("x1", "n1", "x2", "n2"), counts, strict=True)),
        **{name: float(getattr(z, name)) for name in names},
        "testable": bool(z.testable),
        **_flat(clustered),
    }


def _flat(clustered: ClusteredContrast | None) -> dict[str, Any]:
    parts: dict[str, Difference | None] = dict.fromkeys(("like", "these", "query", "item"))
    if clustered is not None:
        parts |= {
            "like": clustered.queries_like_these,
            "these": clustered.these_queries,
            "query": clustered.by_query,
            "item": clustered.by_item,
        }
    flat: dict[str, Any] = {}
    for prefix, part in parts.items():
        values = NO_DIFFERENCE if part is None else vars(part)
        flat |= {f"{prefix}_{name}": values[name] for name in NO_DIFFERENCE}
        flat[f"{prefix}_df"] = None if part is None else part.df
    return flat | {
        "two_way_not_positive": clustered is not None and clustered.not_positive,
        "annotators": None if clustered is None else clustered.annotators,
    }


def _equivalence(table: pl.DataFrame, *, margin: float, alpha: float) -> list[pl.Series]:
    prefix = "like" if table["like_error"].is_not_null().all() else "query"
    p: list[float | None] = []
    equivalent: list[bool | None] = []
    for row in table.to_dicts():
        if row[f"{prefix}_error"] is None:
            p.append(None)
            equivalent.append(None)
            continue
        found = equivalence(
            row[f"{prefix}_estimate"], row[f"{prefix}_error"], margin=margin, df=row[f"{prefix}_df"], alpha=alpha
        )
        p.append(float(found.p))
        equivalent.append(bool(found.equivalent))
    return [
        pl.Series("equivalent_p", p, dtype=pl.Float64),
        pl.Series("equivalent", equivalent, dtype=pl.Boolean),
    ]


def _index(ratings: CodedRatings, condition: str) -> int:
    if condition not in ratings.condition.names:
        names = ", ".join(ratings.condition.names)
        raise StudyError(f"a contrast names {condition!r}, which has no ratings that count; those of {names} do")
    return ratings.condition.names.index(condition)
