"""Numbers on ratings whose annotators are known, and differ: errors of queries and annotators together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from tests.support.annotated import AnnotatedStudy, annotated_study

from casewise.stats.agreement import agreement_of_votes
from casewise.stats.arrays import Raters
from casewise.stats.calibration import calibration
from casewise.stats.costs import cost_curve, refusals
from casewise.stats.estimates import difference_of, estimate_of, measure
from casewise.stats.pairs import PairIndex, hard_score, pair_results
from casewise.stats.panel import prediction_powered_rate
from casewise.stats.ratings import code_ratings
from casewise.stats.study_tables import condition_table

__all__ = ["SECTIONS"]

METRICS = ("accuracy", "balanced_accuracy", "cross_entropy", "brier", "pearson", "spearman", "auroc")
BESIDE = ("accuracy", "cross_entropy", "spearman", "auroc")
FLIPS = ("right_flips", "false_flips", "person_right_flips")
AGREEMENT = ("raw", "alpha", "kappa", "ac1")
FITS = ("calibration_part", "refinement_part", "over_refusal", "harm")
WANTED = "≥ 92 %"


def limits(study: AnnotatedStudy, *, known: bool) -> dict[str, tuple[float, float, float]]:
    """Every number that the section covers, with its interval, as if it were known or not who voted."""
    sample, other = (one.sample(known=known) for one in (study, replace(study, values=study.others)))
    measured, beside = ({one.name: one for one in measure(each)} for each in (sample, other))
    items = np.arange(len(sample))
    flips = pair_results(sample, PairIndex(items[::2], items[1::2], 0))
    assert flips is not None
    numbers = [estimate_of(measured[name]) for name in METRICS]
    numbers += [one for one in flips.estimates if one.name in FLIPS]
    numbers += [replace(difference_of(measured[name], beside[name]), name=f"{name}: difference") for name in BESIDE]
    numbers += [replace(point.cost, name="cost") for point in cost_curve(sample, ratios=(5.0,)) if point.cost]
    fits, errors = calibration(sample), refusals(sample).at
    numbers += [fits.calibration_part, fits.refinement_part, errors.over_refusal, errors.harm]
    raters = study.raters if known else None
    words = (study.others > 0.5).astype(float)
    hard = hard_score(*study.counts, baseline=words, judge=sample.safe, cluster=study.query, raters=raters)
    numbers.append(replace(hard.accuracy, name="hard_items"))
    found = {one.name: (one.estimate or 0.0, one.ci_low or 0.0, one.ci_high or 0.0) for one in numbers}
    agreed = agreement_of_votes(
        *study.counts,
        clusters=study.query,
        raters=raters,
    )
    for name in AGREEMENT:
        found[name] = (getattr(agreed, name), *getattr(agreed, f"{name}_interval"))
    some = np.where(study.query % 3 == 0, sample.rate, np.nan)
    rate = prediction_powered_rate(
        study.values, some, clusters=study.query, raters=None if raters is None else only(raters, ~np.isnan(some))
    )
    found["rates_with_judge"] = (rate.estimate, rate.ci_low, rate.ci_high)
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


def only(raters: Raters, rated: np.ndarray) -> Raters:
    """The votes on some of the items."""
    there = rated[raters.item]
    return Raters(raters.item[there], raters.annotator[there], raters.safe[there])


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
        "numbers of a judge and of people, where it is known who voted",
        (
            *METRICS,
            *FLIPS,
            *(f"{name}: difference" for name in BESIDE),
            *("cost", *FITS, "hard_items", *AGREEMENT, "rates_with_judge", "conditions.safe_rate"),
        ),
        "Annotators with a shift of 1 logit (standard deviation), 25 or 40 items each; 60 and 225 queries of two items, whose "
        "logits vary by 1 between and by 1 within queries; 10 and 20 votes an item; a judge's values that err by 0.7 logits, "
        "and differences from one whose values err by 1.4, whose verdicts choose the hard items; rates with the judge's "
        "help from votes on a third of the queries. "
        "The truth is the mean over the simulated studies.",
        annotators,
        quick=120,
        full=1_000,
    ),
)
