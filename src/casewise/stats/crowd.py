"""TODO"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betainc, expit, logit, xlogy

from casewise.errors import StatisticsError
from casewise.stats.agreement import checked_votes
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, checked_share, cluster_sums, integers, whole
from casewise.stats.ceilings import KindsOfItems, fitted_beta, rates_of_any_shape
from casewise.stats.shares import chance_of_majority, log_choose

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
    kept, finished = _stay(model, starts, len(safe), rng=rng)
    return CrowdRatings(
        query=slots.query[kept],
        condition=slots.condition[kept],
        annotator=slots.annotator[kept],
        safe=safe[kept],
        logits=logits,
        annotators=annotators,
        annotator_condition=slots.condition[starts],
        finished=finished,
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


def _stay(model: CrowdModel, starts: IntArray, slots: int, *, rng: np.random.Generator) -> tuple[BoolArray, BoolArray]:
    """Which slots are filled, and which annotators fill all of theirs."""
    sizes = np.diff(np.append(starts, slots))
    leaves = rng.random(len(starts)) < model.drop_out
    done = np.where(leaves, np.floor(rng.random(len(starts)) * sizes), sizes).astype(np.int64)
    place = np.arange(slots) - np.repeat(starts, sizes)
    return place < np.repeat(done, sizes), ~leaves


# How often an oracle would agree with a study's labels: one that knows what a very large crowd says of each item.
#
# It knows each item's true rate :math:`\theta` and not the study's votes. Against labels of *m* votes it scores, ties
# counting half as in every accuracy,
#
# .. math:: \psi(G) = \int c_m(\max(\theta, 1 - \theta)) \, dG(\theta), \qquad c_m(\theta) = P(\text{most of } m \text{ say safe})
#
# and votes settle *G*, the spread of the true rates, only roughly. So two things are given. *By prior* is the oracle's
# expected accuracy on these very items under several spreads: their range is how much the choice matters, and no interval.
# The interval holds :math:`\psi` of every *G* that the counts of votes do not contradict.
#
# It is no bound on a judge: one that has seen the votes, or labels like them, can agree more often.


MOST_CUTS = 40
"""Places at which the counts' distribution is held against a spread of rates."""
GRID = np.linspace(0, 1, 201)
"""True rates that a spread is made of."""
DRAWS, DRAWN_AT_ONCE = 1_000, 50
MANY_CLUSTERS = 100_000
"""Above which no number is drawn for each, but as many as there are places to look at."""


@dataclass(frozen=True)
class OracleAccuracy:
    """The oracle's accuracy: by prior on the items' true rates, and an interval that supposes no prior."""

    by_prior: dict[str, float]
    ci_low: float
    ci_high: float
    ties: int
    """Items without a majority, on which the oracle is half right."""
    items: int

    @property
    def low(self) -> float:
        """The least over the priors."""
        return min(self.by_prior.values())

    @property
    def high(self) -> float:
        """The most over the priors."""
        return max(self.by_prior.values())


def oracle_accuracy(
    safe: ArrayLike,
    votes: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> OracleAccuracy:
    r"""How often a large crowd's majority agrees with that of these votes, on the scale of every other accuracy.

    Parameters
    ----------
    safe, votes : (items,) integers
        Items with fewer than two votes are left out.
    rng : Generator
        Draws the width of the band around the counts' distribution (multiplier bootstrap over clusters).
    clusters : (items,) labels, optional
        Items that belong together: those of one query. Each its own if absent.
    strata : (items,) labels, optional
        Conditions, each with a spread of its own under the prior "beta by stratum".
    level : float
        Of the interval.

    Returns
    -------
    OracleAccuracy
        Under ``uniform``, Beta(1, 1); ``beta``, one distribution fitted to all items; ``beta by stratum``; and ``any
        shape``, the nonparametric maximum likelihood on a grid. The interval is the least and the largest
        :math:`\psi(G)` over all *G* under which the distribution function of the vote shares stays within its
        simultaneous band (two linear programmes).

    Raises
    ------
    StatisticsError
        No item has a majority, or there are fewer than two clusters.

    References
    ----------
    .. [1] Lord (1969), Psychometrika 34, 259-299. Laird (1978), JASA 73, 805-811.
    .. [2] Ignatiadis & Wager (2022), Confidence intervals for nonparametric empirical Bayes analysis, JASA 117,
       1149-1166 (§2, the F-localization).
    """
    checked_share(level, "level")
    (s, m), cluster, _ = checked_votes(safe, votes, clusters)
    stratum = None if strata is None else checked_votes(safe, votes, strata)[1]
    if (2 * s == m).all():
        raise StatisticsError("no item has a majority, so there is no label that could be right")
    if cluster.max() < 1:
        raise StatisticsError("an interval needs at least two clusters of items")
    low, high = _interval(s, m, cluster, rng=rng, level=level)
    return OracleAccuracy(_by_prior(s, m, stratum), low, high, int((2 * s == m).sum()), len(s))


def _by_prior(s: IntArray, m: IntArray, stratum: IntArray | None) -> dict[str, float]:
    found = {
        "uniform": _right(s, m, a=1.0, b=1.0),
        "beta": _right_of_fitted(s, m),
        "any shape": _right_of_any_shape(s, m),
    }
    if stratum is not None and stratum.max() > 0:
        found["beta by stratum"] = np.empty(len(s))
        for one in range(int(stratum.max()) + 1):
            chosen = stratum == one
            found["beta by stratum"][chosen] = _right_of_fitted(s[chosen], m[chosen])
    return {name: float(np.where(2 * s == m, 0.5, right).mean()) for name, right in found.items()}


def _right(s: IntArray, m: IntArray, *, a: float, b: float) -> FloatArray:
    """Posterior probability that the true rate lies on the votes' side of one half."""
    kinds = KindsOfItems.of(s, m)
    below: FloatArray = np.asarray(betainc(a + kinds.safe, b + kinds.votes - kinds.safe, 0.5), dtype=float)
    right: FloatArray = np.where(2 * kinds.safe > kinds.votes, 1 - below, below)[kinds.which]
    return right


def _right_of_fitted(s: IntArray, m: IntArray) -> FloatArray:
    a, b = fitted_beta(s, m)
    return _right(s, m, a=a, b=b)


def _right_of_any_shape(s: IntArray, m: IntArray) -> FloatArray:
    spread = rates_of_any_shape(s, m)
    above = spread.posterior[:, spread.grid > 0.5].sum(1)[spread.kind]
    right: FloatArray = np.where(2 * s > m, above, 1 - above)
    return right


def _interval(
    s: IntArray, m: IntArray, cluster: IntArray, *, rng: np.random.Generator, level: float
) -> tuple[float, float]:
    cuts = _cuts(s / m)
    shares = np.mean((s / m)[:, None] <= cuts, axis=0)
    band = _band(((s / m)[:, None] <= cuts) - shares, cluster, rng=rng, level=level)
    sizes, which = np.unique(m, return_inverse=True)
    weight = np.bincount(which.ravel()) / len(m)
    of_rate = np.zeros((len(cuts), len(GRID)))
    accuracy = np.zeros(len(GRID))
    for share, size in zip(weight, sizes, strict=True):
        of_rate += share * bdtr(np.floor(cuts * size + 1e-9)[:, None], size, GRID[None, :])
        accuracy += share * chance_of_majority(np.maximum(GRID, 1 - GRID), size)
    rows, bounds = np.vstack([of_rate, -of_rate]), np.concatenate([shares + band, band - shares])
    low, high = (_least(sign * accuracy, rows, bounds) for sign in (1, -1))
    # No spread at all within the band: votes that depend on each other. Then nothing is known.
    return (0.5 if low is None else low), (1.0 if high is None else -high)


def _least(value: FloatArray, rows: FloatArray, bounds: FloatArray) -> float | None:
    """The least mean of `value` over all weights on the grid that keep each row within its bound; None without any."""
    from scipy.optimize import linprog

    one = np.ones((1, len(value)))
    found = linprog(value, A_ub=rows, b_ub=bounds, A_eq=one, b_eq=np.ones(1), bounds=(0, None), method="highs")
    return None if found.status != 0 or found.fun is None else float(found.fun)


def _cuts(share: FloatArray) -> FloatArray:
    """The distinct shares below the largest, or as many quantiles of them."""
    distinct = np.unique(share)
    if len(distinct) > MOST_CUTS:
        distinct = np.unique(np.quantile(share, np.linspace(0, 1, MOST_CUTS + 1), method="inverted_cdf"))
    return distinct[:-1] + 1e-9


def _band(deviations: FloatArray, cluster: IntArray, *, rng: np.random.Generator, level: float) -> FloatArray:
    """Half widths of a simultaneous band around means whose deviations these are, wider where they vary more."""
    groups = int(cluster.max()) + 1
    sums = cluster_sums(deviations.T, cluster, n_clusters=groups) / len(cluster)
    error = np.maximum(np.sqrt(groups / (groups - 1) * (sums**2).sum(0)), 1 / len(cluster))
    if groups > MANY_CLUSTERS:  # so many normal draws come to one with their covariance
        sums = np.linalg.qr(sums).R
    blocks = [rng.standard_normal((DRAWN_AT_ONCE, len(sums))) @ sums for _ in range(DRAWS // DRAWN_AT_ONCE)]
    drawn = np.abs(np.concatenate(blocks)) / error
    half: FloatArray = float(np.quantile(drawn.max(1, initial=0.0), level)) * error
    return half


# Whether vote counts stop at the majority line, in a way that no crowd of people makes, however its rates are
# spread.
#
# Given an item's rate :math:`\theta`, its *m* votes are binomial; over items the counts are a mixture of binomials. A
# mixture can lean, have several heads, or end anywhere, and still has no step from one count to the next: binomials of 20
# votes are wide. Votes that were gathered, dropped or changed until they fit do have one, at the line.
#
# The test is a bet (an e-value). From some of the items a guess *q* of the shares near the line is made; against it stands
# the mixture :math:`p^*` that is nearest to *q* among *all* mixtures. Each further item multiplies the stake by
# :math:`q_k / (M p^*_k)`. With :math:`M = \max_\theta \sum_k \mathrm{Bin}(k; \theta)\, q_k / p^*_k` the stake shrinks or stays,
# on average, whatever the mixture is: the chance that it ever grows a thousandfold is at most one in a thousand. Nothing is
# supposed of the mixture, nothing is asymptotic, and items may depend on each other through their rates.


LEAST_ITEMS = 40
"""Fewer items within `WINDOW` counts of the line carry no step."""
WINDOW = 5

FIRST, BLOCKS = 0.2, 5
"""The first guess is made from so much of the items, and is made anew for each of so many blocks of the others."""
ORDERS = 4
"""Random orders of the items, over whose stakes the mean is taken (a mean of bets is a bet)."""
ROUNDS = 400
POINTS = 101
"""Rates at which a mixture has weight; with 20 votes a finer grid fits no better."""
FEWEST_VOTES, MOST_VOTES = 6, 200
FINE = 20_000
"""Rates among which the largest mean stake is sought; between two of them it is higher by less than a thousandth."""


@dataclass(frozen=True)
class MajorityGap:
    """What the counts at the majority line say."""

    cut: int
    """The clearest step is between `cut` and `cut` + 1 safe votes."""
    below: int
    above: int
    """Items at `cut` and at `cut` + 1."""
    expected_below: float
    expected_above: float
    """The same in the mixture that fits all counts best."""
    log_ratio: float
    """The step in logs, that of the mixture taken out; below zero where counts stop at the line."""
    log_stake: float
    """Natural logarithm of what a stake of one has become; below zero the bet was lost."""

    @property
    def p(self) -> float:
        """The inverse of the stake, at most 1: the chance that honest votes win so much is no larger."""
        return float(np.exp(-max(0.0, self.log_stake)))


class _Mixtures(NamedTuple):
    """Binomials of some number of votes: at the rates a mixture is made of, and at many more, to be sure."""

    made_of: FloatArray
    all: FloatArray


def majority_gap(safe: ArrayLike, *, votes: int, rng: np.random.Generator) -> MajorityGap | None:
    """A bet against all crowds that shows whether the counts of safe votes have a step at the majority line.

    `safe`: (items,) integers; safe votes of items that all have `votes` votes, and that one author's intent sets apart.
    `votes`: how many votes each item has; 6 to 200.
    `rng`: orders the items.

    Returns MajorityGap or None: None where too few items lie near the line to tell.

    Raises StatisticsError: counts that are no whole numbers up to `votes`, or too few or too many votes.

    Source: Grünwald, de Heide & Koolen (2024), Safe testing, JRSS B 86, 1091-1128 (the nearest mixture, thm. 1). Ramdas
    et al. (2023), Game-theoretic statistics and safe anytime-valid inference, Statistical Science 38.
    """
    counts = integers(safe, "safe")
    if (
        counts.ndim != 1
        or not FEWEST_VOTES <= whole(votes, "votes", least=0) <= MOST_VOTES
        or counts.max(initial=0) > votes
    ):
        raise StatisticsError(
            f"the majority line needs {FEWEST_VOTES} to {MOST_VOTES} votes an item, and no count above {votes}"
        )
    near = np.abs(counts - votes / 2) <= WINDOW
    if near.sum() < LEAST_ITEMS:
        return None
    stakes = [_log_stake(rng.permutation(counts), votes) for _ in range(ORDERS)]
    log_stake = float(np.logaddexp.reduce(stakes) - np.log(ORDERS))
    return _step(np.bincount(counts, minlength=votes + 1).astype(float), votes, log_stake)


def _log_stake(counts: IntArray, votes: int) -> float:
    """What a stake of one becomes on these items in this order."""
    mixtures = _mixtures(votes)
    ends = np.linspace(FIRST, 1, BLOCKS + 1) * len(counts)
    log_stake = 0.0
    for start, end in zip(ends[:-1].astype(int), ends[1:].astype(int), strict=True):
        seen, new = (np.bincount(part, minlength=votes + 1) for part in (counts[:start], counts[start:end]))
        guess = _guess(seen, votes)
        odds = guess / _nearest(guess, mixtures.made_of)
        most = float(np.max(odds @ mixtures.all))
        log_stake += float(new @ np.log(odds / max(most, 1.0)))
    return log_stake


def _guess(seen: IntArray, votes: int) -> FloatArray:
    """The nearest mixture to what was seen, and in the cells at the line what was seen itself (one item more in each)."""
    fitted = _nearest(seen / seen.sum(), _mixtures(votes).made_of)
    guess = fitted.copy()
    for cell in _cells(votes):
        guess[cell] *= (seen[cell].sum() + 1) / (seen.sum() * fitted[cell].sum() + 1)
    guess /= guess.sum()
    return guess


def _cells(votes: int) -> list[slice]:
    """Two cells on each side of the line, each a twentieth of the votes wide, and a tie between them."""
    wide, tie = max(1, votes // 20), votes % 2 == 0
    below = votes // 2 - 1 if tie else votes // 2
    above = votes // 2 + 1
    sides = [slice(below - (i + 1) * wide + 1, below - i * wide + 1) for i in (0, 1)]
    sides += [slice(above + i * wide, above + (i + 1) * wide) for i in (0, 1)]
    return [*sides, slice(below + 1, above)] if tie else sides


def _nearest(shares: FloatArray, made_of: FloatArray) -> FloatArray:
    """The mixture under which counts of these shares are likeliest, whatever its rates (Laird 1978, by EM)."""
    weight = np.full(made_of.shape[1], 1 / made_of.shape[1])
    for _ in range(ROUNDS):
        weight = weight * ((shares / (made_of @ weight)) @ made_of)
    mixture: FloatArray = made_of @ (weight / weight.sum())
    return mixture


@lru_cache(maxsize=2)
def _mixtures(votes: int) -> _Mixtures:
    made_of = (np.arange(POINTS) + 0.5) / POINTS
    return _Mixtures(_binomials(votes, made_of), _binomials(votes, np.linspace(0, 1, FINE + 1)))


def _binomials(votes: int, rates: FloatArray) -> FloatArray:
    """(votes + 1, rates) chances of each count."""
    k = np.arange(votes + 1)[:, None]
    return np.exp(log_choose(votes, k) + xlogy(k, rates) + xlogy(votes - k, 1 - rates))


def _step(histogram: FloatArray, votes: int, log_stake: float) -> MajorityGap:
    expected = histogram.sum() * _nearest(histogram / histogram.sum(), _mixtures(votes).made_of)
    logs = np.log((histogram + 0.5) / (expected + 0.5))
    cuts = (votes // 2 - 1, votes // 2) if votes % 2 == 0 else (votes // 2,)
    cut = max(cuts, key=lambda at: abs(float(logs[at + 1] - logs[at])))
    return MajorityGap(
        cut=cut,
        below=int(histogram[cut]),
        above=int(histogram[cut + 1]),
        expected_below=float(expected[cut]),
        expected_above=float(expected[cut + 1]),
        log_ratio=float(logs[cut + 1] - logs[cut]),
        log_stake=log_stake,
    )
