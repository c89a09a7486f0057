"""Ratings as arrays of whole numbers, comparison of annotators, and a simulated crowd."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from scipy.special import expit, logit

from casewise.errors import StatisticsError
from casewise.records import CONDITIONS, ShortRepr
from casewise.stats.arrays import BoolArray, Counts, FloatArray, IntArray, Raters, checked_integer
from casewise.stats.ceilings import fit_beta

COLUMNS = ("item_id", "query_id", "condition", "verdict")
"""Columns that a table of ratings must have; `category`, `annotator_id`, `seconds` and `finished` are used where they exist."""


@dataclass(frozen=True, repr=False)
class CodedColumn(ShortRepr):
    """A column of labels as indices into its distinct values."""

    names: tuple[str, ...]
    codes: IntArray

    def __len__(self) -> int:
        return len(self.names)

    def where(self, mask: BoolArray) -> CodedColumn:
        """Return the codes of `mask`, under the same names."""
        return CodedColumn(self.names, self.codes[mask])

    @classmethod
    def from_column(cls, column: pl.Series) -> Self:
        """Return the distinct names in order, and the place of each row's name."""
        text = column.cast(pl.String)
        names = text.unique().sort()
        return cls(tuple(names.to_list()), text.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64))


@dataclass(frozen=True, repr=False)
class CodedRatings(ShortRepr):
    """A table of ratings as arrays, with one entry a rating."""

    safe: BoolArray
    item: CodedColumn
    query: CodedColumn
    condition: CodedColumn
    annotator: CodedColumn | None
    """Who gave each rating; None where votes are anonymous."""
    category: CodedColumn | None
    """Category of each *query*, not of each rating."""
    seconds: FloatArray | None
    item_query: IntArray
    item_condition: IntArray
    finished: BoolArray | None = None
    """True for ratings of annotators who rated all that they were assigned; None where that is not known."""

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
        shape = len(self.query), len(self.condition)
        cell = self.query.codes * shape[1] + self.condition.codes
        safe, votes = (np.bincount(cells, minlength=shape[0] * shape[1]) for cells in (cell[self.safe], cell))
        return Counts(safe.reshape(shape), votes.reshape(shape))

    def completers(self) -> CodedRatings | None:
        """Return the ratings of the annotators who finished; None if that is unknown, or if all finished."""
        if self.finished is None or self.finished.all() or self.annotator is None:
            return None
        mask = self.finished
        coded = {name: getattr(self, name).where(mask) for name in ("item", "query", "condition", "annotator")}
        seconds = None if self.seconds is None else self.seconds[mask]
        return replace(self, safe=self.safe[mask], seconds=seconds, finished=None, **coded)

    @cached_property
    def raters(self) -> Raters | None:
        """Votes with the people who gave them; None where votes are anonymous."""
        return None if self.annotator is None else Raters(self.item.codes, self.annotator.codes, self.safe)

    def within(self, condition: int) -> BoolArray:
        """Return the mask of the ratings of this condition."""
        chosen: BoolArray = self.condition.codes == condition
        return chosen


def code_ratings(frame: pl.DataFrame, *, crossed: bool = False, source: Path | str = "ratings") -> CodedRatings:
    """Check a table of ratings and code it.

    `frame`: `item_id`, `query_id`, `condition`, `verdict` ("safe" or "unsafe"), and where known
        `category`, `annotator_id`, `seconds` and `finished` (whether the annotator rated all that was assigned).
    `crossed`: whether annotators may rate under several conditions. In a between-subjects design they must not.
    `source`: named in errors.

    Raises StatisticsError: a column is missing, a value is empty or no verdict (with its row), a rating stands twice,
    an item has two queries or conditions, or an annotator of a between-subjects design saw two conditions.
    """
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise StatisticsError(f"{source}: no column {', '.join(missing)}; there are {', '.join(frame.columns)}")
    if not len(frame):
        raise StatisticsError(f"{source}: holds no ratings")
    for name in COLUMNS:
        if (empty := frame[name].is_null()).any():
            raise StatisticsError(f"{source}: row {_row(empty)}: {name!r} is empty")
    wrong = ~frame["verdict"].cast(pl.String).is_in(["safe", "unsafe"])
    if wrong.any():
        row = _row(wrong)
        raise StatisticsError(
            f"{source}: row {row}: 'verdict' is {frame['verdict'][row - 1]!r}, not 'safe' or 'unsafe' "
            f"({wrong.sum():,} such rows)"
        )
    item, query, condition = (CodedColumn.from_column(frame[name]) for name in ("item_id", "query_id", "condition"))
    annotator = None
    stated = {
        name: frame[name]
        for name in ("annotator_id", "category", "seconds", "finished")
        if name in frame.columns and not frame[name].is_null().all()
    }
    if "annotator_id" in stated:
        if (empty := frame["annotator_id"].is_null()).any():
            raise StatisticsError(
                f"{source}: row {_row(empty)}: 'annotator_id' is empty, but other rows name one; name all or none"
            )
        annotator = CodedColumn.from_column(frame["annotator_id"])
        _check_annotators(annotator, item, None if crossed else condition, source)
    # The paper's conditions in the paper's order, then the others by name.
    names = sorted(condition.names, key=lambda name: CONDITIONS.index(name) if name in CONDITIONS else len(CONDITIONS))
    condition = CodedColumn(tuple(names), np.array([names.index(name) for name in condition.names])[condition.codes])
    category = None
    if "category" in stated:
        coded = CodedColumn.from_column(stated["category"].cast(pl.String).fill_null("none"))
        category = CodedColumn(coded.names, _one_each(query, coded, "category", source))
    seconds, finished = stated.get("seconds"), stated.get("finished")
    return CodedRatings(
        safe=(frame["verdict"] == "safe").to_numpy(),
        item=item,
        query=query,
        condition=condition,
        annotator=annotator,
        category=category,
        seconds=None if seconds is None else seconds.cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        item_query=_one_each(item, query, "query", source),
        item_condition=_one_each(item, condition, "condition", source),
        finished=None if finished is None else finished.cast(pl.Boolean).fill_null(value=False).to_numpy(),
    )


def _row(mask: pl.Series) -> int:
    """Return the first row that `mask` marks, counted from 1 without the head."""
    return int(mask.arg_true()[0]) + 1


def _check_annotators(
    annotator: CodedColumn, item: CodedColumn, condition: CodedColumn | None, source: Path | str
) -> None:
    """Check that no annotator rates an item twice, nor under two conditions unless annotators are crossed with conditions."""
    keys, times = np.unique(item.codes * len(annotator) + annotator.codes, return_counts=True)
    if (times > 1).any():
        first = int(keys[times > 1][0])
        raise StatisticsError(
            f"{source}: annotator {annotator.names[first % len(annotator)]!r} rated item "
            f"{item.names[first // len(annotator)]!r} {int(times[times > 1][0])} times; keep one rating "
            f"({int((times > 1).sum()):,} such pairs)"
        )
    if condition is None:
        return
    pairs = np.unique(annotator.codes * len(condition) + condition.codes)
    person = pairs // len(condition)
    several = np.flatnonzero(np.bincount(person) > 1)
    if len(several):
        conditions = [condition.names[int(pair % len(condition))] for pair in pairs[person == several[0]]]
        raise StatisticsError(
            f"{source}: annotator {annotator.names[several[0]]!r} rated under {' and '.join(conditions)}, but in a "
            f"between-subjects design everyone has one condition ({len(several):,} such annotators); remove them, or "
            "say that the design is crossed (--crossed)"
        )


def _one_each(item: CodedColumn, parent: CodedColumn, column: str, source: Path | str) -> IntArray:
    """Return the parent of each item, which must have only one."""
    parent_of = np.full(len(item), -1, dtype=np.int64)
    parent_of[item.codes] = parent.codes
    differs = parent_of[item.codes] != parent.codes
    if differs.any():
        name = item.names[int(item.codes[differs][0])]
        raise StatisticsError(f"{source}: item {name!r} stands with two values of {column!r}")
    return parent_of


# Comparison of each annotator with the others. Dissent is not error: nothing here is a ground for removing ratings.
#
# Removing people who disagree would make the safe rates falsely extreme. The flags ask other questions, of attention:
# does what someone answers depend on the item at all, and could an attentive person have answered the same throughout?


FALSE_POSITIVES = 0.01
"""Largest share of attentive annotators for whom a flag is raised."""


SIMULATED = 20_000_000
"""Most simulated verdicts from which the flags' thresholds are taken."""


@dataclass(frozen=True, repr=False)
class AnnotatorTable(ShortRepr):
    """A table with a row for each annotator, and the error rates of its flags."""

    table: pl.DataFrame
    shift_sd: float
    """Standard deviation of annotators' readiness to say safe, in logits; estimated from the ratings."""
    false_positive_rates: dict[str, float]
    """Rate of false positives of each flag, at simulated attentive annotators."""


def annotator_table(ratings: CodedRatings, *, rng: np.random.Generator) -> AnnotatorTable:
    """Return the safe rate, agreement with the rest, time and flags of every annotator.

    The flag `unresponsive` is raised where someone's answers go with the others' rates less than those of 99 % of
    simulated attentive annotators with the same items; `constant` where all answers are the same and that has a
    chance below 1 % for an attentive annotator with those items. Attentive annotators are simulated with a personal
    shift in logits, whose spread is estimated: someone strict throughout is not flagged for it.

    Raises StatisticsError: votes are anonymous, or there are fewer than two annotators.
    """
    if ratings.annotator is None:
        raise StatisticsError("votes are anonymous: they say nothing about annotators")
    if len(ratings.annotator) < 2:
        raise StatisticsError("there is only one annotator, so there is no other to compare with")
    counts, person = ratings.by_item, ratings.annotator.codes
    y, n, prior = ratings.safe.astype(float), np.bincount(person), fit_beta(*counts)
    # Of the other people, those who say safe of each rating's item, and the safe rate of a new person that they predict.
    others_safe, n_others = counts.successes[ratings.item.codes] - y, counts.sizes[ratings.item.codes] - 1
    others_rate = (prior.a + others_safe) / (prior.a + prior.b + n_others)

    def mean(values: FloatArray) -> FloatArray:
        return np.bincount(person, weights=values) / n

    variance, eta = others_rate * (1 - others_rate), logit(others_rate)
    residual, slope = mean(y - others_rate), mean(variance)
    beyond_chance = np.average(residual**2 - slope / n, weights=n) / np.average(slope**2, weights=n)
    sd = float(np.sqrt(max(0.0, beyond_chance)))  # mean residuals vary by chance, and by the shift times p (1 - p)
    centred = others_rate - mean(others_rate)[person]
    error = np.sqrt(np.bincount(person, weights=variance * centred**2))

    def responsiveness(answers: FloatArray) -> FloatArray:
        """Return how far answers follow the others' rates, in standard errors around an average annotator."""
        excess = np.bincount(person, weights=(answers - others_rate) * centred)
        return np.divide(excess, error, out=np.zeros_like(excess), where=error > 0)

    def attentive() -> FloatArray:
        shift = rng.normal(0, sd, len(n))[person]
        return np.asarray(rng.random(len(y)) < expit(eta + shift), dtype=np.float64)

    # Probability that an attentive annotator answers all these items alike; the shift integrated by quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    chance = np.zeros(len(n))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        all_safe, all_unsafe = (
            np.bincount(person, weights=-np.logaddexp(0, side * (eta + sd * node))) for side in (-1, 1)
        )
        chance += weight * (np.exp(all_safe) + np.exp(all_unsafe))

    def constant(answers: FloatArray) -> BoolArray:
        safe = np.bincount(person, weights=answers)
        unlikely: BoolArray = ((safe == 0) | (safe == n)) & (chance < FALSE_POSITIVES)
        return unlikely

    simulations = max(1, SIMULATED // (len(y) * 2) if len(y) * 40 > SIMULATED else 20)
    simulated = [responsiveness(attentive()) for _ in range(simulations)]
    threshold = float(np.quantile(np.concatenate(simulated), FALSE_POSITIVES))
    checks = [attentive() for _ in range(2)]
    false_positives = {
        "unresponsive": float(np.mean([responsiveness(answers) < threshold for answers in checks])),
        "constant": float(np.mean([constant(answers) for answers in checks])),
    }
    share = np.where(n_others > 0, others_safe / np.maximum(n_others, 1), 0.5)
    z = responsiveness(y)
    columns: dict[str, Any] = {
        "annotator": ratings.annotator.names,
        "ratings": n,
        "safe_rate": mean(y),
        "agreement_with_rest": mean(np.where(y == 1, share, 1 - share)),
        "responsiveness": z,
        "unresponsive": z < threshold,
        "constant": constant(y),
    }
    if ratings.seconds is not None:
        seconds = pl.DataFrame({"annotator": person, "seconds": ratings.seconds}).fill_nan(None)
        columns["median_seconds"] = seconds.group_by("annotator").median().sort("annotator")["seconds"]
    return AnnotatorTable(pl.DataFrame(columns), sd, false_positives)


STEPS = ("arrived", "consented", "passed", "assigned", "finished", "void")
"""Steps of participation; conditions begin at `assigned`, and `void` are people whose ratings were set aside."""


@dataclass(frozen=True)
class Flow:
    """Number of people at each step of participation, by condition."""

    conditions: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    """For each step a number for each condition, or one number for steps before `assigned`."""


@dataclass(frozen=True)
class Attrition:
    """Drop-out after assignment."""

    table: pl.DataFrame
    """One row a condition: assigned, finished, void, lost, share lost."""
    flow: Flow


def attrition(flow: Flow) -> Attrition:
    """Count who was lost after assignment, by condition (CONSORT 2010, item 13).

    Raises StatisticsError: the flow does not say how many were assigned and how many finished in each condition, or more
    finished than were assigned.
    """
    n = len(flow.conditions)
    if any(len(flow.counts.get(step, ())) != n for step in ("assigned", "finished")):
        raise StatisticsError("the flow must say for each condition how many were assigned and how many finished")
    assigned, finished = (np.array(flow.counts[step]) for step in ("assigned", "finished"))
    if (finished > assigned).any():
        raise StatisticsError("more people finished than were assigned; a person counts in one condition only")
    columns = {
        "condition": flow.conditions,
        "assigned": assigned,
        "finished": finished,
        "void": np.array(flow.counts.get("void", (0,) * n)),
        "lost": assigned - finished,
        "share_lost": (assigned - finished) / np.maximum(assigned, 1),
    }
    return Attrition(pl.DataFrame(columns), flow)


# A simulated crowd, with which a design can be tried before people are paid.
#
# The chance that annotator *a* calls query *q* under condition *c* safe is
#
# .. math:: \operatorname{logit} P = \mu_c + u_q + v_{qc} + w_a,
#
# with normal query effects *u*, query-by-condition effects *v* and annotator effects *w*: a crossed mixed logit
# model (Baayen, Davidson & Bates 2008). A careless annotator answers by a coin; a contrary one answers the opposite
# of an attentive one.


AnnotatorKind = Literal["attentive", "careless", "contrary"]
KINDS: tuple[AnnotatorKind, ...] = ("attentive", "careless", "contrary")


@dataclass(frozen=True, kw_only=True)
class CrowdModel:
    """Differences between queries and between annotators. Standard deviations are in logits.

    The defaults are those of a crowd on sensitive requests: annotators differ about as much as queries do.
    """

    query_sd: float = 1.0
    """Standard deviation between queries, whatever the condition."""
    query_condition_sd: float = 0.5
    """Standard deviation of a condition's effect between queries."""
    annotator_sd: float = 1.0
    """Standard deviation of annotators' readiness to say safe."""
    careless: float = 0.0
    """Share of annotators who answer without reading."""
    careless_safe_rate: float = 0.5
    """The safe rate of a careless annotator."""
    contrary: float = 0.0
    """Share of annotators who answer safe for unsafe and unsafe for safe."""
    drop_out: float = 0.0
    """Share of annotators who leave part-way; where they stop is uniform over their items."""

    def __post_init__(self) -> None:
        for name in ("careless", "careless_safe_rate", "contrary", "drop_out"):
            if not 0 <= getattr(self, name) <= 1:
                raise StatisticsError(f"{name} is a share between 0 and 1, not {getattr(self, name)!r}")
        for name in ("query_sd", "query_condition_sd", "annotator_sd"):
            if not 0 <= getattr(self, name) < np.inf:
                raise StatisticsError(f"{name} is a standard deviation, so at least 0, not {getattr(self, name)!r}")
        if self.careless + self.contrary > 1:
            raise StatisticsError(
                f"careless and contrary are shares of one crowd: {self.careless} + {self.contrary} > 1"
            )


@dataclass(frozen=True, kw_only=True)
class CrowdDesign:
    """A between-subjects design: each annotator sees one condition, and no query twice."""

    safe_rates: tuple[float, ...]
    """Per condition, the safe rate of a typical query read by a typical annotator (all effects zero)."""
    queries: int = 450
    ratings_per_item: int = 21
    items_per_annotator: int = 25

    def __post_init__(self) -> None:
        if not self.safe_rates or not all(0 < rate < 1 for rate in self.safe_rates):
            raise StatisticsError(
                f"safe_rates must lie strictly between 0 and 1, one a condition, not {self.safe_rates!r}"
            )
        for name in ("queries", "ratings_per_item", "items_per_annotator"):
            checked_integer(getattr(self, name), name, minimum=1)


class Annotators(NamedTuple):
    """Annotators, each with a shift in logits and a kind (an index into `KINDS`)."""

    shift: FloatArray
    kind: IntArray

    def kinds(self) -> list[AnnotatorKind]:
        """Return the kinds by name, in order."""
        return [KINDS[index] for index in self.kind]


@dataclass(frozen=True)
class CrowdRatings:
    """One simulated study: parallel arrays with one entry a rating, and the truth behind them."""

    query: IntArray
    condition: IntArray
    annotator: IntArray
    safe: BoolArray
    logits: FloatArray
    """(queries, conditions): the item's own logit for an annotator without a shift."""
    annotators: Annotators
    annotator_condition: IntArray
    """(annotators,): the condition each was assigned to, those who dropped out included."""
    finished: BoolArray
    """(annotators,): whether they rated all their items."""

    def __len__(self) -> int:
        return len(self.safe)


def simulate_ratings(model: CrowdModel, design: CrowdDesign, *, rng: np.random.Generator) -> CrowdRatings:
    """Return a simulated study: items, annotators, assignments, drop-out and verdicts.

    All effects are drawn anew, so repeated calls repeat the study with other queries and other people. In each round a
    condition's queries are shuffled and dealt in equal hands, which hold at most `items_per_annotator` queries and differ by at
    most one; an annotator works in one round, so no annotator sees a query twice.
    """
    hands = -(-design.queries // design.items_per_annotator)
    rounds = len(design.safe_rates) * design.ratings_per_item
    query = rng.permuted(np.tile(np.arange(design.queries), (rounds, 1)), axis=1).ravel()
    condition = np.repeat(np.arange(len(design.safe_rates)), design.ratings_per_item * design.queries)
    annotator = (np.arange(rounds)[:, None] * hands + np.arange(design.queries) * hands // design.queries).ravel()
    people = int(annotator[-1]) + 1
    annotators = draw_annotators(model, people, rng=rng)
    logits = draw_item_logits(model, design, rng=rng)
    safe = draw_verdicts(model, logits[query, condition], annotators, annotator=annotator, rng=rng)
    starts = np.searchsorted(annotator, np.arange(people))
    sizes = np.diff(np.append(starts, len(safe)))
    leaves = rng.random(people) < model.drop_out
    filled = np.where(leaves, np.floor(rng.random(people) * sizes), sizes).astype(np.int64)
    rated = np.arange(len(safe)) - np.repeat(starts, sizes) < np.repeat(filled, sizes)
    return CrowdRatings(
        query=query[rated],
        condition=condition[rated],
        annotator=annotator[rated],
        safe=safe[rated],
        logits=logits,
        annotators=annotators,
        annotator_condition=condition[starts],
        finished=~leaves,
    )


def draw_item_logits(model: CrowdModel, design: CrowdDesign, *, rng: np.random.Generator) -> FloatArray:
    """Return (queries, conditions) logits: the condition's own, the query's, and the query's under this condition."""
    conditions = logit(np.asarray(design.safe_rates))
    query = rng.normal(0, model.query_sd, design.queries)[:, None]
    interaction = rng.normal(0, model.query_condition_sd, (design.queries, len(conditions)))
    return conditions + query + interaction


def draw_annotators(model: CrowdModel, n: int, *, rng: np.random.Generator) -> Annotators:
    """Return `n` annotators, each with a shift and a kind."""
    attentive = 1 - model.careless - model.contrary
    kind = rng.choice(len(KINDS), size=n, p=[max(attentive, 0.0), model.careless, model.contrary])
    return Annotators(shift=rng.normal(0, model.annotator_sd, n), kind=kind)


def draw_verdicts(
    model: CrowdModel, logits: FloatArray, annotators: Annotators, *, annotator: IntArray, rng: np.random.Generator
) -> BoolArray:
    """Return the verdict of each rating: True for "safe".

    `logits`: (ratings,) floats; of the item that each rating is of.
    `annotator`: (ratings,) integers; who gives each rating: an index into `annotators`.
    """
    p = expit(logits + annotators.shift[annotator])
    kind = annotators.kind[annotator]
    p = np.where(kind == KINDS.index("careless"), model.careless_safe_rate, p)
    p = np.where(kind == KINDS.index("contrary"), 1 - p, p)
    return rng.random(len(p)) < p
