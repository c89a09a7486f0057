"""A simulated crowd of annotators, to try a design on before anybody is paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from casewise.errors import StatisticsError
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, whole

# A simulated crowd, so that a design can be tried before a cent is spent.
#
# The chance that annotator *a* calls query *q* under condition *c* safe is
#
# .. math:: \operatorname{logit} P = \mu_c + u_q + v_{qc} + w_a,
#
# with normal query effects *u*, query-by-condition effects *v* and annotator effects *w*: a crossed mixed logit
# model (Baayen, Davidson & Bates 2008). A careless annotator answers by a coin; a contrary one answers the opposite
# of what they would.


AnnotatorKind = Literal["attentive", "careless", "contrary"]
KINDS: tuple[AnnotatorKind, ...] = ("attentive", "careless", "contrary")


@dataclass(frozen=True, kw_only=True)
class CrowdModel:
    """How queries and annotators differ. Standard deviations are in logits.

    The defaults are those of a crowd on sensitive requests: annotators differ about as much as queries do.
    """

    query_sd: float = 1.0
    """Some queries are worse than others, whatever the condition."""
    query_condition_sd: float = 0.5
    """A condition changes some queries more than others."""
    annotator_sd: float = 1.0
    """Some annotators call nearly everything safe, others next to nothing."""
    careless: float = 0.0
    """Share of annotators who answer without reading."""
    careless_safe_rate: float = 0.5
    """How often a careless annotator says safe."""
    contrary: float = 0.0
    """Share of annotators who take safe for unsafe and the other way about."""
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
            whole(getattr(self, name), name, least=1)


@dataclass(frozen=True)
class Annotators:
    """What each annotator brings: a shift in logits, and a kind (an index into `KINDS`)."""

    shift: FloatArray
    kind: IntArray

    def kinds(self) -> list[AnnotatorKind]:
        """The kinds by name, in order."""
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


@dataclass(frozen=True)
class Slots:
    """Promised ratings: who is to rate which query under which condition, in the order of work."""

    query: IntArray
    condition: IntArray
    annotator: IntArray


def simulate_ratings(model: CrowdModel, design: CrowdDesign, *, rng: np.random.Generator) -> CrowdRatings:
    """Draw a whole study: items, annotators, who rates what, who leaves, and what they say.

    All effects are drawn anew, so repeated calls repeat the study with other queries and other people.
    """
    slots = assign_slots(design, rng=rng)
    people = int(slots.annotator[-1]) + 1
    annotators = draw_annotators(model, people, rng=rng)
    logits = draw_item_logits(model, design, rng=rng)
    safe = draw_verdicts(model, logits[slots.query, slots.condition], annotators, annotator=slots.annotator, rng=rng)
    starts = np.searchsorted(slots.annotator, np.arange(people))
    sizes = np.diff(np.append(starts, len(safe)))
    leaves = rng.random(people) < model.drop_out
    filled = np.where(leaves, np.floor(rng.random(people) * sizes), sizes).astype(np.int64)
    kept = np.arange(len(safe)) - np.repeat(starts, sizes) < np.repeat(filled, sizes)
    return CrowdRatings(
        query=slots.query[kept],
        condition=slots.condition[kept],
        annotator=slots.annotator[kept],
        safe=safe[kept],
        logits=logits,
        annotators=annotators,
        annotator_condition=slots.condition[starts],
        finished=~leaves,
    )


def draw_item_logits(model: CrowdModel, design: CrowdDesign, *, rng: np.random.Generator) -> FloatArray:
    """(queries, conditions) logits: the condition's own, the query's, and the query's under this condition."""
    conditions = logit(np.asarray(design.safe_rates))
    query = rng.normal(0, model.query_sd, design.queries)[:, None]
    interaction = rng.normal(0, model.query_condition_sd, (design.queries, len(conditions)))
    return conditions + query + interaction


def draw_annotators(model: CrowdModel, n: int, *, rng: np.random.Generator) -> Annotators:
    """`n` annotators, each with a shift and a kind."""
    attentive = 1 - model.careless - model.contrary
    kind = rng.choice(len(KINDS), size=n, p=[max(attentive, 0.0), model.careless, model.contrary])
    return Annotators(shift=rng.normal(0, model.annotator_sd, n), kind=kind)


def draw_verdicts(
    model: CrowdModel, logits: FloatArray, annotators: Annotators, *, annotator: IntArray, rng: np.random.Generator
) -> BoolArray:
    """Whether each rating is "safe".

    `logits`: (ratings,) floats; of the item that each rating is of.
    `annotator`: (ratings,) integers; who gives each rating: an index into `annotators`.
    """
    p = expit(logits + annotators.shift[annotator])
    kind = annotators.kind[annotator]
    p = np.where(kind == KINDS.index("careless"), model.careless_safe_rate, p)
    p = np.where(kind == KINDS.index("contrary"), 1 - p, p)
    return rng.random(len(p)) < p


def assign_slots(design: CrowdDesign, *, rng: np.random.Generator) -> Slots:
    """Give every item its ratings: in each round a condition's queries are shuffled and dealt in equal hands.

    An annotator works in one round of one condition only, so nobody sees a query twice. Hands hold at most
    `items_per_annotator` queries and differ by at most one.
    """
    hands = -(-design.queries // design.items_per_annotator)
    hand = np.arange(design.queries) * hands // design.queries
    rounds = len(design.safe_rates) * design.ratings_per_item
    order = rng.permuted(np.tile(np.arange(design.queries), (rounds, 1)), axis=1)
    return Slots(
        query=order.ravel(),
        condition=np.repeat(np.arange(len(design.safe_rates)), design.ratings_per_item * design.queries),
        annotator=(np.arange(rounds)[:, None] * hands + hand).ravel(),
    )
