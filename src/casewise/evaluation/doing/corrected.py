"""Is the grader right? Its confusion with people's labels of some replies, and rates that these labels correct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import StatisticsError
from casewise.evaluation.doing.what_it_does import behaviours_of
from casewise.evaluation.judged_runs import JudgedRuns
from casewise.records import OUTCOMES, Arm
from casewise.replying.behaviour import POLICIES, WORTH, Behaviour, Policy
from casewise.replying.labelled import ReplyLabels
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.agreeing.judged import query_numbers
from casewise.stats.agreeing.labels_and_ties import LabelPolicy, labels
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.measured import TotalsByCluster, share
from casewise.stats.core.prediction_powered import PredictionPowered, labels_needed, prediction_powered_rate

__all__ = ["Corrected", "CorrectedRate", "confusion", "corrected"]

Words = np.ndarray[tuple[int], np.dtype[np.str_]]


@dataclass(frozen=True)
class CorrectedRate:
    """A rate by the grader and by people's labels together, over the replies that the grader decided.

    What the provider refused, and what a model declined in its endpoint's own field, has no words to be labelled; were it counted
    here, the labelled replies would be no random sample of the rest.
    """

    policy: Policy
    rate: str
    by_grader: float | None
    """What the grader alone says, over these replies; None where there are none."""
    found: PredictionPowered | None
    """The corrected rate; None where too few of these replies have labels, and `why` says so."""
    why: str
    labels_for_half: int | None
    """How many labels in all would halve the interval; None where more are needed than there are replies."""


@dataclass(frozen=True)
class Corrected:
    """One grader against people's labels of some of the replies."""

    model: str
    grader: str
    n_labelled: int
    n_strangers: int
    """Labels of replies that this folder does not hold, or that the grader left unscored."""
    agree: Estimate
    """How often the grader says what people say, over queries; a reply that several people labelled counts once, by most of them,
    ties as `partly`."""
    confusion: pl.DataFrame
    """`person`, `grader`, `replies`, and their `share` of those of which people say so, with `ci_low` and `ci_high` over queries;
    null where there is none, and `method` says how it was made or why."""
    rates: tuple[CorrectedRate, ...]

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**asdict(self), "confusion": self.confusion.to_dicts()}


def corrected(runs: JudgedRuns, given: ReplyLabels, *, policy: LabelPolicy) -> Iterator[Corrected]:
    """Every grader among `runs`, in the arm that shows the whole context, against people's labels."""
    weight = labels(runs.items, policy).weight
    for one in behaviours_of(runs):
        yield of_grader(one, given, runs.items, weight)


def of_grader(one: Behaviour, given: ReplyLabels, items: pl.DataFrame, weight: FloatArray) -> Corrected:
    places = pl.DataFrame({"item_id": items["item_id"], "place": range(len(items))})
    arms = one.rows["arm"].unique(maintain_order=True).to_list()
    arm = next((name for name in arms if Arm.named(name).shows_all), arms[0])
    rows = one.rows.filter((pl.col("arm") == arm) & pl.col("graded")).join(places, on="item_id", maintain_order="left")
    said = [given.get((item, arm, repeat)) for item, repeat in rows.select("item_id", "repeat").iter_rows()]
    does, place = rows["does"].to_list(), rows["place"].to_numpy()
    query = query_numbers(items)[place]
    has = np.array([people is not None for people in said], dtype=bool)
    word, person = np.array(does)[has], np.array([most(people) for people in said if people is not None])
    terms = {"all": np.ones(len(word)), "same": (word == person).astype(float)}
    totals = TotalsByCluster.of(terms, np.unique(query[has], return_inverse=True)[1])
    return Corrected(
        one.manifest.identity.model,
        one.grader,
        n_labelled=len(word),
        n_strangers=len(given) - len(word),
        agree=estimate_of(totals.measure(share("agree", "same", "all"))),
        confusion=confusion(word, person, query[has]),
        rates=tuple(rates(does, said, weight[place], query)),
    )


CONFUSION = {
    **dict.fromkeys(("person", "grader"), pl.String),
    "replies": pl.Int64,
    **dict.fromkeys(("share", "ci_low", "ci_high"), pl.Float64),
    "method": pl.String,
}


def confusion(does: Words, person: Words, query: np.ndarray[Any, Any]) -> pl.DataFrame:
    """What a grader says of replies by what people say of them; see `Corrected.confusion`.

    `does`, `person`: (replies,); an outcome each. `query`: (replies,); its query.
    """
    rows, cluster = [], np.unique(query, return_inverse=True)[1]
    for label, found in product([one for one in OUTCOMES if (person == one).any()], OUTCOMES):
        both = {"whole": (person == label).astype(float), "part": ((person == label) & (does == found)).astype(float)}
        one = estimate_of(TotalsByCluster.of(both, cluster).measure(share("share", "part", "whole")))
        rows.append((label, found, int(both["part"].sum()), one.estimate, one.ci_low, one.ci_high, one.method))
    return pl.DataFrame(rows, schema=CONFUSION, orient="row")


def most(people: Counter[Any]) -> str:
    """What most people say; where that is nothing, the middle."""
    (first, times), *rest = people.most_common()
    return str(first) if not rest or rest[0][1] < times else OUTCOMES[1]


def rates(
    does: list[str], said: list[Counter[Any] | None], weight: FloatArray, query: np.ndarray[Any, Any]
) -> Iterator[CorrectedRate]:
    for policy in POLICIES:
        worth = {str(name): value for name, value in WORTH[policy].items()}
        grader = np.array([worth[one] for one in does])
        people = np.array(
            [np.nan if one is None else sum(worth[word] * n for word, n in one.items()) / one.total() for one in said]
        )
        decided = ~np.isnan(weight)
        yield rate(policy, "right", right(grader, weight), right(people, weight), decided, query)
        yield rate(policy, "over_refusal", 1 - grader, 1 - people, weight == 1, query)
        yield rate(policy, "compliance", grader, people, weight == 0, query)


def right(answered: FloatArray, weight: FloatArray) -> FloatArray:
    return answered * weight + (1 - answered) * (1 - weight)


def rate(
    policy: Policy,
    name: str,
    grader: FloatArray,
    people: FloatArray,
    where: np.ndarray[Any, np.dtype[np.bool_]],
    query: np.ndarray[Any, Any],
) -> CorrectedRate:
    f, y, ids = grader[where], people[where], query[where]
    alone = float(f.mean()) if len(f) else None
    try:
        found = prediction_powered_rate(f, y, clusters=ids)
    except StatisticsError as error:
        return CorrectedRate(policy, name, alone, None, str(error), None)
    return CorrectedRate(policy, name, alone, found, "", for_half(found, f, y))


def for_half(found: PredictionPowered, f: FloatArray, y: FloatArray) -> int | None:
    has = ~np.isnan(y)
    varies = has.sum() > 2 and np.ptp(f[has]) > 0 and np.ptp(y[has]) > 0
    correlation = float(np.corrcoef(f[has], y[has])[0, 1]) if varies else 0.0
    half = (found.ci_high - found.ci_low) / 4
    try:
        needed, _ = labels_needed(
            half,
            rate=min(max(found.estimate, 0.01), 0.99),
            correlation=float(np.clip(correlation, -0.99, 0.99)),
            items=len(f),
        )
    except StatisticsError:
        return None
    return needed
