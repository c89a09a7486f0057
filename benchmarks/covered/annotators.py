"""Numbers on ratings whose annotators are known, and differ: errors of queries and annotators together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from tests.support.annotated import AnnotatedStudy, annotated_study

from casewise.stats.agreeing.estimates import estimate, named
from casewise.stats.people.agreement import agreement_of_votes
from casewise.stats.people.coded_ratings import code_ratings
from casewise.studies.analysing.contrast_table import condition_table

__all__ = ["SECTIONS"]

METRICS = ("accuracy", "balanced_accuracy", "bce", "brier", "pearson")
AGREEMENT = ("raw", "alpha", "kappa", "ac1")
WANTED = "≥ 92 %"


def limits(study: AnnotatedStudy, *, known: bool) -> dict[str, tuple[float, float, float]]:
    """Every number that the section covers, with its interval, as if it were known or not who voted."""
    found = {
        name: (one.estimate or 0.0, one.ci_low or 0.0, one.ci_high or 0.0)
        for name, one in named(estimate(study.sample(known=known))).items()
        if name in METRICS
    }
    agreed = agreement_of_votes(
        *study.counts,
        clusters=study.query,
        raters=study.raters if known else None,
    )
    for name in AGREEMENT:
        found[name] = (getattr(agreed, name), *getattr(agreed, f"{name}_interval"))
    columns = {
        "item_id": study.item.astype(str),
        "query_id": (study.item // 2).astype(str),
        "condition": np.where(study.item % 2, "odd", "even"),
        "verdict": np.where(study.safe, "safe", "unsafe"),
        "annotator_id": study.annotator.astype(str),
    }
    frame = pl.DataFrame(columns if known else {name: columns[name] for name in list(columns)[:4]})
    row = condition_table(code_ratings(frame, crossed=True), level=0.95).row(0, named=True)
    return found | {"conditions.safe_rate": (row["safe_rate"], row["ci_low"], row["ci_high"])}


def annotators(studies: int) -> Iterator[Row]:
    rng = np.random.default_rng(43)
    for queries, votes, each in ((60, 10, 40), (225, 10, 40), (225, 20, 25)):
        drawn: dict[bool, list[dict[str, tuple[float, float, float]]]] = {True: [], False: []}
        for _ in range(studies):
            study = annotated_study(rng, queries=queries, votes=votes, items_each=each)
            for known, rows in drawn.items():
                rows.append(limits(study, known=known))
        setting = f"{queries} queries, {votes} votes an item, {each} items an annotator"
        for name in drawn[True][0]:
            both = {known: np.array([one[name] for one in found]) for known, found in drawn.items()}
            truth = float(both[True][:, 0].mean())
            for known, table in both.items():
                held = int(((table[:, 1] <= truth) & (truth <= table[:, 2])).sum())
                measure = "holds the truth" if known else "holds it if it is not known who voted"
                width = float(np.median(table[:, 2] - table[:, 1]))
                yield Row(name, setting, measure, held, studies, WANTED if known else "no claim", width)


SECTIONS = (
    Section(
        "annotators",
        (*METRICS, *AGREEMENT, "conditions.safe_rate"),
        "Annotators with a shift of 1 logit (standard deviation), 25 or 40 items each; 60 and 225 queries of two items, whose "
        "logits vary by 1 between and by 1 within queries; 10 and 20 votes an item; a judge's values that err by 0.7 logits. "
        "The truth is the mean over the simulated studies.",
        annotators,
        quick=200,
        full=1_000,
    ),
)
