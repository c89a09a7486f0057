"""Ratings as arrays of whole numbers, and annotators beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, fdtrc, gammaincc, logit, ndtr

from casewise.errors import StatisticsError
from casewise.records import CONDITIONS, ShortRepr
from casewise.stats.arrays import (
    BoolArray,
    Counts,
    FloatArray,
    IntArray,
    Raters,
    cluster_variance,
    clusters_of,
    integers,
    numbers,
    of_one_shape,
    whole,
)
from casewise.stats.ceilings import fitted_beta
from casewise.stats.dawid_skene import dawid_skene

# Ratings as arrays of whole numbers, checked once, so that every analysis starts from the same thing.


COLUMNS = ("item_id", "query_id", "condition", "verdict")
"""What a table of ratings must have; `category`, `annotator_id`, `seconds` and `finished` are used where they are there."""


@dataclass(frozen=True, repr=False)
class Coded(ShortRepr):
    """A column of labels as indices into its distinct values."""

    names: tuple[str, ...]
    codes: IntArray

    def __len__(self) -> int:
        return len(self.names)

    def where(self, mask: BoolArray) -> Coded:
        """The codes of `mask`, under the same names."""
        return Coded(self.names, self.codes[mask])


@dataclass(frozen=True, repr=False)
class CodedRatings(ShortRepr):
    """One entry a rating in every array."""

    safe: BoolArray
    item: Coded
    query: Coded
    condition: Coded
    annotator: Coded | None
    """None where votes are anonymous."""
    category: Coded | None
    """Of each *query*, not of each rating."""
    seconds: FloatArray | None
    strata: dict[str, Coded]
    """Of each rating: what was known of its annotator when they were recruited."""
    item_query: IntArray
    item_condition: IntArray
    finished: BoolArray | None = None
    """Whether each rating's annotator rated all that they were assigned; None where that is not known."""

    def __len__(self) -> int:
        return len(self.safe)

    @cached_property
    def by_item(self) -> Counts:
        """Safe votes and all votes of each item."""
        votes = np.bincount(self.item.codes, minlength=len(self.item))
        return Counts(np.bincount(self.item.codes[self.safe], minlength=len(self.item)), votes)

    @cached_property
    def by_task(self) -> Counts:
        """(queries, conditions) safe votes and all votes."""
        shape, n = (len(self.query), len(self.condition)), len(self.query) * len(self.condition)
        cell = self.query.codes * len(self.condition) + self.condition.codes
        return Counts(
            np.bincount(cell[self.safe], minlength=n).reshape(shape), np.bincount(cell, minlength=n).reshape(shape)
        )

    def completers(self) -> CodedRatings | None:
        """The ratings of those who finished; None where that is not known, or all of them did."""
        if self.finished is None or self.finished.all() or self.annotator is None:
            return None
        some = self.finished
        return replace(
            self,
            safe=self.safe[some],
            item=self.item.where(some),
            query=self.query.where(some),
            condition=self.condition.where(some),
            annotator=self.annotator.where(some),
            seconds=None if self.seconds is None else self.seconds[some],
            strata={name: column.where(some) for name, column in self.strata.items()},
            finished=None,
        )

    @cached_property
    def raters(self) -> Raters | None:
        """Who gave which vote on which item; None where votes are anonymous."""
        return None if self.annotator is None else Raters(self.item.codes, self.annotator.codes, self.safe)

    def within(self, condition: int) -> BoolArray:
        """Which ratings are of this condition."""
        chosen: BoolArray = self.condition.codes == condition
        return chosen


def code_ratings(
    frame: pl.DataFrame, *, strata: Sequence[str] = (), crossed: bool = False, source: Path | str = "ratings"
) -> CodedRatings:
    """Check a table of ratings and code it.

    `frame`: `item_id`, `query_id`, `condition`, `verdict` ("safe" or "unsafe"), and where known
        `category`, `annotator_id`, `seconds` and `finished` (whether the annotator rated all that was assigned).
    `strata`: further columns that say what was known of the annotators.
    `crossed`: whether annotators may rate under several conditions. In a between-subjects design they must not.
    `source`: named in errors.

    Raises StatisticsError: a column is missing, a value is empty or no verdict (with its row), a rating stands twice,
    an item has two queries or conditions, or an annotator of a between-subjects design saw two conditions.
    """
    _check_columns(frame, strata, source)
    item, query, condition = (_coded(frame[name]) for name in ("item_id", "query_id", "condition"))
    annotator = _annotators(frame, source)
    if annotator is not None:
        _check_once(item, annotator, source)
        if not crossed:
            _check_between(condition, annotator, source)
    condition = _in_order(condition)
    return CodedRatings(
        safe=(frame["verdict"] == "safe").to_numpy(),
        item=item,
        query=query,
        condition=condition,
        annotator=annotator,
        category=_category_of_queries(frame, query, source),
        seconds=_seconds(frame),
        strata={name: _coded(frame[name].cast(pl.String).fill_null("not known")) for name in strata},
        item_query=_one_each(item, query, "query", source),
        item_condition=_one_each(item, condition, "condition", source),
        finished=_finished(frame),
    )


def _check_columns(frame: pl.DataFrame, strata: Sequence[str], source: Path | str) -> None:
    missing = [name for name in (*COLUMNS, *strata) if name not in frame.columns]
    if missing:
        raise StatisticsError(f"{source}: no column {', '.join(missing)}; there are {', '.join(frame.columns)}")
    if not len(frame):
        raise StatisticsError(f"{source}: holds no ratings")
    for name in COLUMNS:
        empty = frame[name].is_null()
        if empty.any():
            raise StatisticsError(f"{source}: row {_row(empty)}: {name!r} is empty")
    wrong = ~frame["verdict"].cast(pl.String).is_in(["safe", "unsafe"])
    if wrong.any():
        row = _row(wrong)
        raise StatisticsError(
            f"{source}: row {row}: 'verdict' is {frame['verdict'][row - 1]!r}, not 'safe' or 'unsafe' "
            f"({wrong.sum():,} such rows)"
        )


def _row(mask: pl.Series) -> int:
    """The first row that `mask` marks, counted from 1 without the head."""
    return int(mask.arg_true()[0]) + 1


def _coded(column: pl.Series) -> Coded:
    text = column.cast(pl.String)
    names = text.unique().sort()
    codes = text.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)
    return Coded(tuple(names.to_list()), codes)


def _annotators(frame: pl.DataFrame, source: Path | str) -> Coded | None:
    if "annotator_id" not in frame.columns or frame["annotator_id"].is_null().all():
        return None
    empty = frame["annotator_id"].is_null()
    if empty.any():
        raise StatisticsError(
            f"{source}: row {_row(empty)}: 'annotator_id' is empty, but other rows name one; name all or none"
        )
    return _coded(frame["annotator_id"])


def _check_once(item: Coded, annotator: Coded, source: Path | str) -> None:
    key = item.codes * len(annotator) + annotator.codes
    keys, times = np.unique(key, return_counts=True)
    if (times > 1).any():
        first = int(keys[times > 1][0])
        raise StatisticsError(
            f"{source}: annotator {annotator.names[first % len(annotator)]!r} rated item "
            f"{item.names[first // len(annotator)]!r} {int(times[times > 1][0])} times; keep one rating "
            f"({int((times > 1).sum()):,} such pairs)"
        )


def _check_between(condition: Coded, annotator: Coded, source: Path | str) -> None:
    pairs = np.unique(annotator.codes * len(condition) + condition.codes)
    who = pairs // len(condition)
    several = np.flatnonzero(np.bincount(who) > 1)
    if len(several):
        seen = [condition.names[int(pair % len(condition))] for pair in pairs[who == several[0]]]
        raise StatisticsError(
            f"{source}: annotator {annotator.names[several[0]]!r} rated under {' and '.join(seen)}, but in a "
            f"between-subjects design everyone has one condition ({len(several):,} such annotators); remove them, or "
            "say that the design is crossed (--crossed)"
        )


def _in_order(condition: Coded) -> Coded:
    """The paper's conditions in the paper's order, then the others by name."""
    known = [name for name in CONDITIONS if name in condition.names]
    names = (*known, *(name for name in condition.names if name not in known))
    place = np.array([names.index(name) for name in condition.names])
    return Coded(names, place[condition.codes])


def _one_each(item: Coded, parent: Coded, what: str, source: Path | str) -> IntArray:
    """The parent of each item, which must have only one."""
    of = np.full(len(item), -1, dtype=np.int64)
    of[item.codes] = parent.codes
    other = of[item.codes] != parent.codes
    if other.any():
        name = item.names[int(item.codes[other][0])]
        raise StatisticsError(f"{source}: item {name!r} stands with two values of {what!r}")
    return of


def _category_of_queries(frame: pl.DataFrame, query: Coded, source: Path | str) -> Coded | None:
    if "category" not in frame.columns or frame["category"].is_null().all():
        return None
    category = _coded(frame["category"].cast(pl.String).fill_null("none"))
    return Coded(category.names, _one_each(query, category, "category", source))


def _finished(frame: pl.DataFrame) -> BoolArray | None:
    if "finished" not in frame.columns or frame["finished"].is_null().all():
        return None
    return frame["finished"].cast(pl.Boolean).fill_null(value=False).to_numpy()


def _seconds(frame: pl.DataFrame) -> FloatArray | None:
    if "seconds" not in frame.columns or frame["seconds"].is_null().all():
        return None
    return frame["seconds"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


# Each annotator beside the others. Dissent is not error: nothing here is a ground for removing anybody's ratings.
#
# Removing people who disagree would make the safe rates falsely extreme. The flags ask other questions, of attention:
# does what someone answers depend on the item at all, and could an attentive person have answered the same throughout?


FALSE_POSITIVES = 0.01
"""How often each flag is to be raised at an attentive annotator."""

MOST_FOR_DAWID_SKENE = 200_000
"""Ratings above which the model is not fitted: it would take longer than the rest of the report."""

SIMULATED = 20_000_000
"""Simulated verdicts in all, from which the flags' thresholds are taken."""


@dataclass(frozen=True, repr=False)
class AnnotatorTable(ShortRepr):
    """One row an annotator, and what the flags are worth."""

    table: pl.DataFrame
    shift_sd: float
    """How much annotators differ in their readiness to say safe, in logits; estimated from the ratings."""
    unresponsive_threshold: float
    false_positive_rates: dict[str, float]
    """Of each flag, at simulated attentive annotators."""
    simulations: int


class _Work(NamedTuple):
    """Who rated what, and how safe the others find it."""

    y: FloatArray
    who: IntArray
    rest: FloatArray
    """Predicted safe rate of a new person, from the other people's votes (beta-binomial)."""
    centred: FloatArray
    """The same less its mean over the annotator's items."""
    n: IntArray


def annotator_table(ratings: CodedRatings, *, rng: np.random.Generator) -> AnnotatorTable:
    """Safe rate, agreement with the rest, time and flags of every annotator.

    The flag `unresponsive` is raised where someone's answers go with the others' rates less than those of 99 % of
    simulated attentive annotators with the same items; `constant` where all answers are the same and that has a
    chance below 1 % for an attentive annotator with those items. Attentive annotators are simulated with a personal
    shift in logits, whose spread is estimated: someone strict throughout is not flagged for it.

    Raises StatisticsError: votes are anonymous, or there are fewer than two annotators.
    """
    if ratings.annotator is None:
        raise StatisticsError("votes are anonymous: nothing can be said of annotators")
    if len(ratings.annotator) < 2:
        raise StatisticsError("there is one annotator only, so there is nobody to compare with")
    work = _work(ratings)
    sd = _shift_sd(work)
    z = _responsiveness(work, work.y)
    simulations = max(1, SIMULATED // (len(work.y) * 2) if len(work.y) * 40 > SIMULATED else 20)
    simulated = [_responsiveness(work, _attentive(work, sd, rng)) for _ in range(simulations)]
    threshold = float(np.quantile(np.concatenate(simulated), FALSE_POSITIVES))
    chance = _chance_of_constant(work, sd)
    constant = _is_constant(work, work.y)
    checks = [_attentive(work, sd, rng) for _ in range(2)]
    false_positives = {
        "unresponsive": float(np.mean([_responsiveness(work, y) < threshold for y in checks])),
        "constant": float(np.mean([_is_constant(work, y) & (chance < FALSE_POSITIVES) for y in checks])),
    }
    columns = {
        "annotator": ratings.annotator.names,
        "ratings": work.n,
        "safe_rate": _mean(work, work.y),
        "agreement_with_rest": _mean(work, np.where(work.y == 1, _others(ratings), 1 - _others(ratings))),
        "responsiveness": z,
        "unresponsive": z < threshold,
        "constant": constant & (chance < FALSE_POSITIVES),
    }
    table = pl.DataFrame({**columns, **_seconds_by_annotator(ratings), **_skills(ratings)})
    return AnnotatorTable(table, sd, threshold, false_positives, simulations)


def _work(ratings: CodedRatings) -> _Work:
    assert ratings.annotator is not None
    counts, y, who = ratings.by_item, ratings.safe.astype(float), ratings.annotator.codes
    a, b = fitted_beta(counts.successes, counts.sizes)
    safe, votes = counts.successes[ratings.item.codes] - y, counts.sizes[ratings.item.codes] - 1
    rest = (a + safe) / (a + b + votes)
    n = np.bincount(who)
    mean = np.bincount(who, weights=rest) / n
    return _Work(y, who, rest, rest - mean[who], n)


def _others(ratings: CodedRatings) -> FloatArray:
    """Share of the others who say safe of each rating's item; a half where there is nobody else."""
    counts = ratings.by_item
    safe = counts.successes[ratings.item.codes] - ratings.safe
    votes = counts.sizes[ratings.item.codes] - 1
    return np.where(votes > 0, safe / np.maximum(votes, 1), 0.5)


def _mean(work: _Work, values: FloatArray) -> FloatArray:
    return np.bincount(work.who, weights=values) / work.n


def _shift_sd(work: _Work) -> float:
    """Moments: annotators' mean residuals vary by chance, and by their shift times p(1 − p)."""
    variance = work.rest * (1 - work.rest)
    residual, slope = _mean(work, work.y - work.rest), _mean(work, variance)
    beyond_chance = residual**2 - slope / work.n
    return float(np.sqrt(max(0.0, np.average(beyond_chance, weights=work.n) / np.average(slope**2, weights=work.n))))


def _attentive(work: _Work, sd: float, rng: np.random.Generator) -> FloatArray:
    shift = rng.normal(0, sd, len(work.n))[work.who]
    return (rng.random(len(work.y)) < expit(logit(work.rest) + shift)).astype(float)


def _responsiveness(work: _Work, y: FloatArray) -> FloatArray:
    """How far answers go with the others' rates, in standard errors around what an average annotator shows."""
    variance = work.rest * (1 - work.rest)
    excess = np.bincount(work.who, weights=(y - work.rest) * work.centred)
    error = np.sqrt(np.bincount(work.who, weights=variance * work.centred**2))
    return np.divide(excess, error, out=np.zeros_like(excess), where=error > 0)


def _is_constant(work: _Work, y: FloatArray) -> BoolArray:
    safe = np.bincount(work.who, weights=y)
    constant: BoolArray = (safe == 0) | (safe == work.n)
    return constant


def _chance_of_constant(work: _Work, sd: float) -> FloatArray:
    """Probability that an attentive annotator answers all these items alike; the shift integrated by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    chance = np.zeros(len(work.n))
    eta = logit(work.rest)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        shifted = eta + sd * node
        safe = np.bincount(work.who, weights=-np.logaddexp(0, -shifted))
        unsafe = np.bincount(work.who, weights=-np.logaddexp(0, shifted))
        chance += weight * (np.exp(safe) + np.exp(unsafe))
    return chance


def _seconds_by_annotator(ratings: CodedRatings) -> dict[str, pl.Series]:
    if ratings.seconds is None or ratings.annotator is None:
        return {}
    frame = pl.DataFrame({"who": ratings.annotator.codes, "seconds": ratings.seconds}).with_columns(
        pl.col("seconds").fill_nan(None)
    )
    return {"median_seconds": frame.group_by("who").agg(pl.col("seconds").median()).sort("who")["seconds"]}


def _skills(ratings: CodedRatings) -> dict[str, FloatArray]:
    if ratings.annotator is None or len(ratings) > MOST_FOR_DAWID_SKENE:
        return {}
    fit = dawid_skene(ratings.safe, item=ratings.item.codes, annotator=ratings.annotator.codes)
    return {"safe_if_safe": fit.safe_if_safe, "unsafe_if_unsafe": fit.unsafe_if_unsafe}


# Who dropped out, and whether it differs between conditions.


STEPS = ("arrived", "consented", "passed", "assigned", "finished", "void")
"""People at each step; `assigned` is where conditions begin, and `void` are those whose ratings were set aside."""


@dataclass(frozen=True)
class Flow:
    """People at each step by condition; before `assigned` there may be one column only, for all."""

    conditions: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    """Step to one number a condition, or one number where conditions did not exist yet."""


@dataclass(frozen=True)
class Attrition:
    """Drop-out after assignment."""

    table: pl.DataFrame
    """One row a condition: assigned, finished, void, lost, share lost."""
    chi_square: float
    df: int
    p: float
    """Of equal shares lost; 1 where nobody or everybody was lost."""
    bounds: pl.DataFrame | None
    """One row a condition: safe rate if all ratings that the lost still owed were unsafe, or were safe."""
    flow: Flow


def lost_by_condition(assigned: IntArray, finished: IntArray) -> tuple[float, int, float]:
    """Pearson's chi-square of differential attrition, its degrees of freedom and p (R: `chisq.test`).

    Raises StatisticsError: a count is no whole number, or more finished than were assigned.
    """
    n, done = of_one_shape({"assigned": integers(assigned, "assigned"), "finished": integers(finished, "finished")})
    if (done > n).any():
        raise StatisticsError("more people finished than were assigned; a person counts in one condition only")
    used = n > 0
    n, lost = n[used], (n - done)[used]
    df = max(len(n) - 1, 1)
    share = lost.sum() / max(1, n.sum())
    if len(n) < 2 or share in {0.0, 1.0}:
        return 0.0, df, 1.0
    chi_square = float(((lost - n * share) ** 2 / (n * share * (1 - share))).sum())
    return chi_square, df, float(gammaincc(df / 2, chi_square / 2))


def attrition(flow: Flow, ratings: CodedRatings | None = None) -> Attrition:
    """The test of differential attrition, and bounds on the safe rates that hold whatever the lost would have said.

    The bounds are Manski's: they suppose nothing of those who left. They are wide, and a difference that survives
    them survives anything.

    Raises StatisticsError: the flow does not say how many were assigned and how many finished in each condition.

    Source: Manski (1990), American Economic Review 80, 319-323. CONSORT 2010, item 13.
    """
    n = len(flow.conditions)
    if any(len(flow.counts.get(step, ())) != n for step in ("assigned", "finished")):
        raise StatisticsError("the flow must say for each condition how many were assigned and how many finished")
    assigned, finished = (np.array(flow.counts[step]) for step in ("assigned", "finished"))
    void = np.array(flow.counts.get("void", (0,) * n))
    chi_square, df, p = lost_by_condition(assigned, finished)
    lost = assigned - finished
    share = lost / np.maximum(assigned, 1)
    table = pl.DataFrame(
        {
            "condition": flow.conditions,
            "assigned": assigned,
            "finished": finished,
            "void": void,
            "lost": lost,
            "share_lost": share,
        }
    )
    bounds = None if ratings is None else _bounds(flow, ratings, share + void / np.maximum(assigned, 1))
    return Attrition(table, chi_square, df, p, bounds, flow)


def _bounds(flow: Flow, ratings: CodedRatings, missing: FloatArray) -> pl.DataFrame:
    rows = []
    for condition, gone in zip(flow.conditions, np.minimum(missing, 1.0), strict=True):
        if condition in ratings.condition.names:
            rate = float(ratings.safe[ratings.within(ratings.condition.names.index(condition))].mean())
            low, high = (1 - gone) * rate, (1 - gone) * rate + gone
            rows.append({"condition": condition, "safe_rate": rate, "if_unsafe": low, "if_safe": high})
    return pl.DataFrame(rows)


# Safe rate by recruited stratum: do some people answer differently, and does context move them differently?


FEWEST_PEOPLE = 10
"""Cells with fewer people are not shown: they could be recognised."""


@dataclass(frozen=True)
class StratumRates:
    """One stratum's safe rates."""

    name: str
    table: pl.DataFrame
    """Stratum value, condition, people, ratings, safe rate and its error; suppressed cells have only their name."""
    suppressed: int
    f: float | None
    """F test that the conditions differ alike in all values of the stratum; None where it cannot be tested."""
    df: int | None
    people_df: float | None
    """Degrees of freedom of the denominator."""
    p: float | None


def safe_rate_by_stratum(ratings: CodedRatings, name: str) -> StratumRates:
    r"""Safe rate in each value of the stratum `name` under each condition, and a test of their interaction.

    The test is on the rates of the cells that are shown. With contrasts *C* that what values and conditions do apart does
    not reach, and *V* the covariance of the rates clustered by annotator, each cell scaled by *m*/(*m* − 1) of its people,

    .. math:: F = \frac{\nu - q + 1}{\nu q} (C'r)' (C'VC)^{-1} C'r \sim F(q, \nu - q + 1)

    with :math:`\nu` what the cells' variances, each known from its people, are worth together [1]_. (A chi-square rejects
    too often where cells are small.)

    Raises StatisticsError: ratings have no annotators, or there is no such stratum.

    Source: Krishnamoorthy & Yu (2004), Statistics & Probability Letters 66, 161-169 (after Nel & van der Merwe 1986).
    """
    if ratings.annotator is None:
        raise StatisticsError("strata are of people: not available where votes are anonymous")
    if name not in ratings.strata:
        raise StatisticsError(f"there is no stratum {name!r}; there are {', '.join(ratings.strata) or 'none'}")
    values, conditions = ratings.strata[name], ratings.condition
    cell = values.codes * len(conditions) + conditions.codes
    n = len(values) * len(conditions)
    people = np.bincount(np.unique(np.stack([cell, ratings.annotator.codes]), axis=1)[0], minlength=n)
    shown = people >= FEWEST_PEOPLE
    rows = []
    for index in np.flatnonzero(people > 0):
        chosen = cell == index
        row = {"value": values.names[index // len(conditions)], "condition": conditions.names[index % len(conditions)]}
        known: dict[str, float | None] = dict.fromkeys(("people", "ratings", "safe_rate", "error"))
        if shown[index]:
            rate = ratings.safe[chosen].mean()
            count, total = int(people[index]), int(chosen.sum())
            influence = (ratings.safe[chosen] - rate) / total
            error = float(np.sqrt(cluster_variance(influence, ratings.annotator.codes[chosen])))
            known = {"people": count, "ratings": total, "safe_rate": float(rate), "error": error}
        rows.append({**row, **known})
    found = _interaction(ratings, name, shown[cell])
    table, hidden = pl.DataFrame(rows, infer_schema_length=None), int(((people > 0) & ~shown).sum())
    if found is None:
        return StratumRates(name, table, hidden, None, None, None, None)
    return StratumRates(name, table, hidden, found.f, found.df, found.people_df, found.p)


@dataclass(frozen=True)
class _Interaction:
    """The test that conditions differ alike in all values of a stratum."""

    f: float
    df: int
    people_df: float

    @property
    def p(self) -> float:
        return float(fdtrc(self.df, self.people_df, self.f))


def _interaction(ratings: CodedRatings, name: str, used: BoolArray) -> _Interaction | None:
    assert ratings.annotator is not None
    values, conditions = ratings.strata[name].codes[used], ratings.condition.codes[used]
    cells, cell = np.unique(np.stack([values, conditions]), axis=1, return_inverse=True)
    _, person = np.unique(ratings.annotator.codes[used], return_inverse=True)
    additive = np.column_stack([np.ones(cells.shape[1]), *(_dummies(row) for row in cells)])
    contrasts = _left_over(additive)
    if not (q := contrasts.shape[1]):
        return None
    rated, safe = (_summed(person, cell, weight) for weight in (np.ones(len(cell)), ratings.safe[used].astype(float)))
    mean, in_cell = safe.sum(axis=0) / rated.sum(axis=0), (rated > 0).sum(axis=0)
    adds = (safe - mean * rated) / rated.sum(axis=0) * np.sqrt(in_cell / np.maximum(in_cell - 1, 1))
    found = contrasts.T @ mean
    covariance = contrasts.T @ (adds.T @ adds) @ contrasts
    each = (adds**2).sum(axis=0) * (contrasts**2).sum(axis=1)
    unsure = float((2 * each**2 / np.maximum(in_cell - 1, 1)).sum())
    if unsure <= 0 or np.linalg.matrix_rank(covariance) < q:
        return None
    nu = float(np.trace(covariance) ** 2 + np.trace(covariance @ covariance)) / unsure
    wald = float(found @ np.linalg.solve(covariance, found))
    return _Interaction(wald * (nu - q + 1) / (nu * q), q, nu - q + 1) if nu > q else None


def _summed(rows: IntArray, columns: IntArray, weight: FloatArray) -> FloatArray:
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    found = np.bincount(rows * shape[1] + columns.ravel(), weights=weight, minlength=shape[0] * shape[1])
    return found.astype(float).reshape(shape)


def _left_over(design: FloatArray) -> FloatArray:
    """Orthonormal columns that the design's do not reach."""
    vectors, sizes, _ = np.linalg.svd(design)
    return vectors[:, int((sizes > 1e-9).sum()) :]


def _dummies(codes: IntArray) -> FloatArray:
    present = np.unique(codes)
    columns: FloatArray = (codes[:, None] == present[1:]).astype(float)
    return columns


# Whether anonymous votes depend on each other across items: do columns of votes vary more than chance allows?


@dataclass(frozen=True)
class ColumnDependence:
    """How much more the columns vary within blocks of items than if each item's votes stood in random order."""

    ratio: float
    """Observed over expected variance of column sums within blocks; 1 where the order of votes means nothing. It is
    also about the factor by which the error variance of a block's mean rate is larger than independent votes give."""
    correlation: float
    """Mean correlation of two votes of one column in one block, from ratio = 1 + (block − 1) · correlation."""
    z: float
    p: float
    """Standardised by the exact permutation variance; *p* is one-sided and normal."""
    block: int
    n_blocks: int
    n_items: int
    n_columns: int


def column_dependence(votes: ArrayLike, *, block: int = 25, group: NDArray[np.int64] | None = None) -> ColumnDependence:
    r"""Test whether votes in one column, within blocks of successive items, go together.

    With :math:`e_{ic}` the vote of item *i* in column *c* less the item's mean, and blocks *B* of successive items,

    .. math:: T = \sum_B \sum_c \Bigl(\sum_{i \in B} e_{ic}\Bigr)^2, \qquad
       E\,T = \sum_i S_i, \qquad \mathrm{Var}\,T = \frac{4}{m-1} \sum_B \sum_{i<j \in B} S_i S_j,

    where :math:`S_i = \sum_c e_{ic}^2` and *m* is the number of columns. Both moments are exact when each item's votes
    are permuted at random, independently of other items: cross products of different pairs of items are uncorrelated.
    Items' own rates are held fixed, so no trend of rates along the file can produce a finding.

    `votes`: (items, columns) of 0 and 1; in the order of the file.
    `block`: successive items taken together; about as many as one person rates. The rest of an incomplete block counts too.
    `group`: (items,) integers; items of different groups, such as conditions with people of their own, share no block.
        All one by default.

    Raises StatisticsError: there are fewer than two items, two columns, or no item on which votes differ.

    Source: own derivation; the moments agree with simulated permutations (tests/stats/test_vote_columns.py).
    """
    table = numbers(votes, "votes")
    if table.ndim != 2 or min(table.shape) < 2 or whole(block, "block", least=0) < 2:
        raise StatisticsError("vote columns need at least two items, two columns and blocks of two")
    if not ((table == 0) | (table == 1)).all():
        raise StatisticsError("votes must be 0 or 1")
    order, starts = blocks(clusters_of(np.zeros(len(table)) if group is None else group, len(table)), block)
    residual = (table - table.mean(axis=1, keepdims=True))[order]
    own = (residual**2).sum(axis=1)
    observed = float((np.add.reduceat(residual, starts, axis=0) ** 2).sum())
    expected = float(own.sum())
    pairs = (np.add.reduceat(own, starts) ** 2 - np.add.reduceat(own**2, starts)) / 2
    variance = 4 * float(pairs.sum()) / (table.shape[1] - 1)
    if variance <= 0:
        raise StatisticsError("there is nothing to test: within blocks, at most one item has votes that differ")
    z = (observed - expected) / np.sqrt(variance)
    ratio = observed / expected
    return ColumnDependence(
        ratio=ratio,
        correlation=(ratio - 1) / pair_share(own, starts),
        z=float(z),
        p=float(ndtr(-z)),
        block=block,
        n_blocks=len(starts),
        n_items=len(table),
        n_columns=table.shape[1],
    )


class Blocks(NamedTuple):
    """Items sorted by group, and where each block begins among them."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]


def blocks(group: NDArray[np.int64], size: int) -> Blocks:
    order = np.argsort(group, kind="stable")
    sizes = np.unique(group, return_counts=True)[1]
    ends = np.cumsum(sizes)
    starts = [np.arange(end - n, end, size) for n, end in zip(sizes, ends, strict=True)]
    return Blocks(order, np.concatenate(starts))


def pair_share(own: FloatArray, starts: NDArray[np.int64]) -> float:
    """What a correlation of one adds to the ratio: block size less one, where all items count alike."""
    root = np.sqrt(own)
    together = np.add.reduceat(root, starts) ** 2 - np.add.reduceat(own, starts)
    return float(together.sum() / own.sum())
