"""TODO"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, expit, logit, xlogy

from casewise.errors import StatisticsError
from casewise.stats.arrays import (
    FloatArray,
    IntArray,
    checked_votes_of_items,
    clusters_of,
    integers,
    partly_known,
    vector,
    whole,
)
from casewise.stats.ceilings import rates_of_any_shape
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import Totals, TotalsByCluster, VotesTerms
from casewise.stats.metrics import Metric, divide
from casewise.stats.pooled import debiased, entropy, jensen_shannon
from casewise.stats.sample import Sample

# Judges on one scale with items: who is right how often, which items are hard, and whose labels look wrong.
#
# A judge *j* is right on item *i* with probability (two-parameter logistic; Rasch where every :math:`a_i = 1`)
#
# .. math:: P_{ij} = \mathrm{logit}^{-1}\big(a_i (\theta_j - b_i)\big), \qquad
#           b_i \sim N(0, \sigma_b^2), \quad \log a_i \sim N(0, \sigma_a^2)
#
# but for a share :math:`\epsilon` of items whose label is the other one: there a judge is right where the model says wrong.
# There are few judges and many items, so abilities are parameters and items are integrated over, on a grid (marginal maximum
# likelihood with the roles exchanged, by EM). A few items that tell most place a new judge; how well, judges that were left out say.
#
# Sources: Rasch (1960), Probabilistic models for some intelligence and attainment tests. Birnbaum (1968), in Lord &
# Novick, Statistical theories of mental test scores. Bock & Aitkin (1981), Psychometrika 46, 443-459 (EM over a grid).
# Louis (1982), JRSS B 44, 226-233 (the information). Rodriguez et al. (2021), Evaluation examples are not equally
# informative, ACL (items and models in NLP).


ROUNDS = 400
TOLERANCE = 1e-4
REVERSED = 0.02
"""The share of reversed labels that fitting starts from."""
STEEP = 0.5
"""Standard deviation of log discriminations: a prior, since a handful of judges does not tell it."""


@dataclass(frozen=True)
class Nodes:
    """What an item can be: difficulty, discrimination, and whether its label is reversed (−1)."""

    b: FloatArray
    a: FloatArray
    sign: FloatArray

    @classmethod
    def grid(cls, *, rasch: bool) -> Nodes:
        b = np.linspace(-3, 3, 25)
        a = np.ones(1) if rasch else np.exp(STEEP * np.linspace(-2, 2, 7))
        b, a, sign = (axis.ravel() for axis in np.meshgrid(b, a, np.array([1.0, -1.0]), indexing="ij"))
        return cls(b, a, sign)

    def weights(self, spread: float, reversed_share: float) -> FloatArray:
        """Prior probability of each node; `b` is in units of the spread."""
        weight = np.exp(-(self.b**2) / 2 - (np.log(self.a) / STEEP) ** 2 / 2)
        weight = weight * np.where(self.sign > 0, 1 - reversed_share, reversed_share)
        return weight / weight.sum() if spread > 0 else weight

    def chance(self, ability: FloatArray, spread: float) -> FloatArray:
        """(judges, nodes) probability of being right."""
        p: FloatArray = expit(self.sign * self.a * (ability[:, None] - spread * self.b))
        return np.clip(p, 1e-6, 1 - 1e-6)


@dataclass(frozen=True)
class ResponseModel:
    """The fitted model."""

    ability: FloatArray
    ability_error: FloatArray
    """(judges,): on the logit scale, 0 being an item of average difficulty; errors allow for items of one cluster going
    together."""
    difficulty: FloatArray
    difficulty_error: FloatArray
    discrimination: FloatArray
    discrimination_error: FloatArray
    """(items,): posterior means and standard deviations; discriminations of logarithm 0 on average."""
    reversed_label: FloatArray
    """(items,): the probability that the item's label is the other one."""
    expected: FloatArray
    """(judges, items): the probability that each judge is right on each item."""
    spread: float
    reversed_share: float
    """The standard deviation of difficulties, and the share of reversed labels."""
    posterior: FloatArray
    nodes: Nodes

    def chances(self, ability: FloatArray) -> FloatArray:
        """(abilities, items) how probably a judge of each ability is right on each item."""
        return self.nodes.chance(np.asarray(ability, dtype=float), self.spread) @ self.posterior.T


def fit_responses(right: ArrayLike, *, clusters: ArrayLike | None = None, rasch: bool = False) -> ResponseModel:
    """Fit the model.

    `right`: (judges, items) 1, 0 or nan; whether each judge agrees with people's label; nan where it was not asked or
        there is no label.
    `clusters`: (items,) labels; items of one query.
    `rasch`: all items discriminate alike.

    Raises StatisticsError: fewer than two judges or items with two of them, a value that is none of these, or a judge
    without an answer.
    """
    x, asked = _checked(right)
    ids = clusters_of(clusters, x.shape[1])
    nodes = Nodes.grid(rasch=rasch)
    share = np.clip((x.sum(1) + 0.5) / (asked.sum(1) + 1), 0.02, 0.98)
    ability, spread, reversed_share = 1.2 * np.asarray(logit(share)), 1.0, REVERSED
    for _ in range(ROUNDS):
        posterior = _posterior(x, asked, nodes, ability, spread, reversed_share)
        moved, grown = _steps(x @ posterior, asked @ posterior, nodes, ability, spread)
        reversed_share = float(np.clip((posterior @ (nodes.sign < 0)).mean(), 1e-4, 0.2))
        ability, spread = ability + moved, float(np.clip(spread * np.exp(grown), 0.05, 5))
        if max(float(np.abs(moved).max()), abs(grown)) < TOLERANCE:
            break
    posterior = _posterior(x, asked, nodes, ability, spread, reversed_share)
    means = {"b": spread * nodes.b, "a": np.asarray(nodes.a)}
    found = {name: posterior @ values for name, values in means.items()}
    errors = {name: np.sqrt(np.maximum(posterior @ values**2 - found[name] ** 2, 0)) for name, values in means.items()}
    return ResponseModel(
        ability=ability,
        ability_error=_errors(x, asked, nodes, ability, spread, posterior, ids),
        difficulty=found["b"],
        difficulty_error=errors["b"],
        discrimination=found["a"],
        discrimination_error=errors["a"],
        reversed_label=posterior @ (nodes.sign < 0),
        expected=nodes.chance(ability, spread) @ posterior.T,
        spread=spread,
        reversed_share=reversed_share,
        posterior=posterior,
        nodes=nodes,
    )


def _checked(right: ArrayLike) -> tuple[FloatArray, FloatArray]:
    try:
        table = np.asarray(right, dtype=float)
    except (TypeError, ValueError):
        raise StatisticsError("answers are right (1), wrong (0) or nan, in rows of one length a judge") from None
    known = ~np.isnan(table)
    if table.ndim != 2 or not np.isin(table[known], (0, 0.5, 1)).all():
        raise StatisticsError("answers are right (1), wrong (0) or nan, in rows of one length a judge")
    if len(table) < 2 or (known.sum(0) >= 2).sum() < 2:
        raise StatisticsError("judges and items are put on one scale with two judges and two items that both answered")
    if not known.any(1).all():
        raise StatisticsError("a judge has answered no item")
    return np.where(known, table, 0.0), known.astype(float)


def _posterior(
    x: FloatArray, asked: FloatArray, nodes: Nodes, ability: FloatArray, spread: float, reversed_share: float
) -> FloatArray:
    """(items, nodes) what each item probably is."""
    p = nodes.chance(ability, spread)
    log = x.T @ np.log(p) + (asked - x).T @ np.log1p(-p) + np.log(nodes.weights(spread, reversed_share))
    weight = np.exp(log - log.max(1, keepdims=True))
    posterior: FloatArray = weight / weight.sum(1, keepdims=True)
    return posterior


def _steps(
    right: FloatArray, answered: FloatArray, nodes: Nodes, ability: FloatArray, spread: float
) -> tuple[FloatArray, float]:
    """Newton steps of abilities and of the logarithm of the spread, from expected answers (judges, nodes).

    A weak prior keeps a faultless judge's ability finite.
    """
    p, slope = nodes.chance(ability, spread), nodes.sign * nodes.a
    off, weight = (right - answered * p) * slope, answered * p * (1 - p) * slope**2
    moved = np.clip((off.sum(1) - ability / 100) / (weight.sum(1) + 1 / 100), -1, 1)
    lever = nodes.b * spread
    grown = -float((off * lever).sum()) / max(float((weight * lever**2).sum()), 1e-9)
    return moved, float(np.clip(grown, -0.5, 0.5))


def _errors(
    x: FloatArray,
    asked: FloatArray,
    nodes: Nodes,
    ability: FloatArray,
    spread: float,
    posterior: FloatArray,
    ids: IntArray,
) -> FloatArray:
    """Cluster-robust errors of abilities: Louis' information around the clusters' scores."""
    p, slope = nodes.chance(ability, spread), nodes.sign * nodes.a
    judges = len(ability)
    information = np.diag(((asked @ posterior) * p * (1 - p) * slope**2).sum(1))
    scores = np.zeros((x.shape[1], judges))
    for start in range(0, x.shape[1], 200):
        some = slice(start, start + 200)
        each = (x[:, some].T[:, :, None] - asked[:, some].T[:, :, None] * p) * slope  # (items, judges, nodes)
        weighted = each * posterior[some, None, :]
        scores[some] = weighted.sum(2)
        flat = each.transpose(1, 0, 2).reshape(judges, -1)
        information -= flat @ weighted.transpose(1, 0, 2).reshape(judges, -1).T - scores[some].T @ scores[some]
    sums = np.stack([np.bincount(ids, weights=column) for column in scores.T])
    groups = sums.shape[1]
    bread = np.linalg.pinv(information + np.eye(judges) / 100)
    spread_of = bread @ (sums @ sums.T) @ bread * groups / max(groups - 1, 1)
    return np.sqrt(np.maximum(np.diag(spread_of), 0))


ABILITIES = np.linspace(-4, 6, 101)


@dataclass(frozen=True)
class PlacedJudge:
    """A judge's accuracy on all items, from its answers to some of them; the error is the model's own."""

    accuracy: float
    error: float
    ability: float


@dataclass(frozen=True)
class Placing:
    """What placing came to at judges that were left out of the fit: predicted and true accuracy on all items."""

    predicted: FloatArray
    true: FloatArray
    items: int

    @property
    def within(self) -> float:
        """The share of judges placed to within 0.03."""
        return float(np.mean(np.abs(self.predicted - self.true) <= 0.03))

    @property
    def typical(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.mean((self.predicted - self.true) ** 2)))


def expected_of_new(model: ResponseModel) -> FloatArray:
    """How probable each of `ABILITIES` is for a new judge: like those fitted, and wider for their being few."""
    sd = 1.3 * max(float(model.ability.std()), 0.3)
    weight = np.exp(-(((ABILITIES - model.ability.mean()) / sd) ** 2) / 2)
    found: FloatArray = weight / weight.sum()
    return found


def items_that_place(model: ResponseModel, n: int) -> IntArray:
    r"""The `n` items that tell most of a new judge's ability, chosen one by one, the most telling first.

    Each next item adds most to :math:`\sum_\theta w_\theta \log I(\theta)`, *I* being Fisher's information of the items
    chosen, :math:`\bar p_i'^2 / \bar p_i (1 - \bar p_i)`, with each item's own uncertainty averaged out.

    Raises StatisticsError: more items than there are, or none.
    """
    chances = model.chances(ABILITIES)
    if whole(n, "n", least=1) > chances.shape[1]:
        raise StatisticsError(f"there are {chances.shape[1]} items, not {n}")
    telling = np.gradient(chances, ABILITIES, axis=0) ** 2 / (chances * (1 - chances))
    weight, reached = expected_of_new(model), np.full(len(ABILITIES), 0.5)
    chosen: list[int] = []
    for _ in range(n):
        gain = weight @ np.log1p(telling / reached[:, None])
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen.append(best)
        reached = reached + telling[:, best]
    return np.array(chosen, dtype=np.int64)


def place(model: ResponseModel, items: ArrayLike, right: ArrayLike) -> PlacedJudge:
    """A new judge's accuracy on all items, given which of some items it was right on (1, 0, or ½ at a tie).

    The items not asked are predicted from the ability that the asked ones suggest.
    """
    some, answers = integers(items, "items"), vector(right, "right")
    if some.shape != answers.shape or len(np.unique(some)) != len(some):
        raise StatisticsError(f"{some.size} items and {len(answers)} answers do not fit, or an item stands twice")
    chances = model.chances(ABILITIES)
    if (some >= chances.shape[1]).any() or not np.isin(answers, (0, 0.5, 1)).all():
        raise StatisticsError(f"answers are 1, 0 or ½, each of one of {chances.shape[1]} items")
    p = chances[:, some]
    log = np.log(p) @ answers + np.log1p(-p) @ (1 - answers) + np.log(expected_of_new(model))
    posterior = np.exp(log - log.max())
    posterior /= posterior.sum()
    rest = np.delete(chances, some, axis=1)
    by_ability = (answers.sum() + rest.sum(1)) / chances.shape[1]
    accuracy = float(posterior @ by_ability)
    chance = float(posterior @ (rest * (1 - rest)).sum(1)) / chances.shape[1] ** 2
    error = float(np.sqrt(posterior @ (by_ability - accuracy) ** 2 + chance))
    return PlacedJudge(accuracy, error, float(posterior @ ABILITIES))


def left_out_errors(right: ArrayLike, n: int, *, folds: int = 10) -> Placing:
    """Place each judge by `n` items chosen without it, and hold that against its accuracy on all.

    Judges are left out in so many groups, one by one where there are no more than that. Items are fitted as discriminating
    alike, which takes a tenth of the time and errs no more: of 240 simulated judges 100 of 900 items place 76 % to within
    0.03 (root mean square error 0.025), of 160 with a discrimination for each item 76 % (0.027), and 86 % if all about the
    items were known.

    Raises StatisticsError: fewer than three judges, or an item without an answer.
    """
    table = partly_known(right, "right")
    whole(folds, "folds", least=2)
    if table.ndim != 2 or len(table) < 3 or np.isnan(table).any():
        raise StatisticsError("placing is tried on three judges at least, each with an answer to every item")
    predicted = np.empty(len(table))
    for fold in np.array_split(np.arange(len(table)), min(folds, len(table))):
        model = fit_responses(np.delete(table, fold, axis=0), rasch=True)
        chosen = items_that_place(model, n)
        predicted[fold] = [place(model, chosen, table[judge, chosen]).accuracy for judge in fold]
    return Placing(predicted, table.mean(1), n)


# How far a judge's values lie from how people split, beyond what few votes leave: distances over items, with
# intervals.
#
# Source: Baan, Aziz, Plank & Fernández (2022), Stop measuring calibration when humans disagree, EMNLP, §4 (entropy).


INSIDE = 1e-9
"""Probabilities are kept this far from 0 and 1 inside a cross entropy."""


def correlation(s: Totals) -> FloatArray:
    """Pearson's, undefined (nan) where either does not vary."""
    n = np.where(s["several"] > 0, s["several"], 1)
    covariance = s["hh"] / n - s["judge_entropy"] / n * s["entropy"] / n
    spread = (s["judge_squared"] / n - (s["judge_entropy"] / n) ** 2) * (s["squared"] / n - (s["entropy"] / n) ** 2)
    varies = spread > 1e-18
    return np.where(varies, np.clip(covariance / np.sqrt(np.where(varies, spread, 1)), -1, 1), np.nan)


def per_item(term: str) -> Callable[[Totals], FloatArray]:
    return lambda sums: divide(sums[term], sums["several"])


def distance(name: str, title: str, how: str, formula: Callable[[Totals], FloatArray]) -> Metric:
    domain = (-float("inf"), float("inf"))
    return Metric(name, title, how, formula=formula, whole="several", needs="values", domain=domain, better="lower")


DISTANCES: tuple[Metric, ...] = (
    distance(
        "jensen_shannon",
        "Jensen-Shannon",
        "divergence from people's true rates, in nats: what the number of votes leaves is taken off",
        per_item("jensen_shannon"),
    ),
    distance(
        "extra_cross_entropy",
        "Cross entropy above its floor",
        "cross entropy less what a judge that knew every true rate would have (Kullback-Leibler divergence)",
        per_item("extra"),
    ),
    distance(
        "entropy_excess",
        "Doubt beyond people's",
        "mean entropy of the judge's values less that of people",
        lambda s: divide(s["judge_entropy"] - s["entropy"], s["several"]),
    ),
    distance(
        "entropy_correlation",
        "Doubt where people split",
        "correlation of the entropy of the judge's value with that of people's votes, over items",
        correlation,
    ),
)

VERDICT_DISTANCES = DISTANCES[:1]
"""Those that a bare verdict has too, as the distribution that is sure of it."""


def distances_of(sample: Sample) -> tuple[Estimate, ...]:
    """Every distance that the sample gives, with its interval over queries, and annotators where they are known.

    There is none without values and votes. A judge that gives verdicts alone is sure of each: of it only the Jensen-Shannon divergence is finite.
    """
    graded = bool(sample.in_rate_metrics.any())
    given = sample if graded else replace(sample, probability=sample.safe)
    columns = terms(given)
    if not columns["several"].any():
        return ()
    totals = TotalsByCluster.of(columns, sample.cluster, n_clusters=sample.n_clusters)
    if sample.raters is not None:
        votes = np.maximum(np.nan_to_num(sample.n_votes), 1).astype(int)
        safe = np.rint(np.nan_to_num(sample.rate) * votes).astype(int)

        def of_counts(s: IntArray, m: IntArray) -> FloatArray:
            return np.column_stack(list(terms(replace(given, rate=s / m)).values()))

        totals = replace(totals, votes=VotesTerms.of_counts(of_counts, safe, votes, sample.raters))
    wanted = DISTANCES if graded else VERDICT_DISTANCES
    return tuple(estimate_of(metric.measure(given, totals)) for metric in wanted)


def terms(sample: Sample) -> dict[str, FloatArray]:
    """What each item adds to the sums of `DISTANCES`."""
    several = sample.in_rate_metrics & (sample.n_votes > 1)
    q, m = np.where(several, sample.probability, 0.5), np.where(several, sample.n_votes, 2).astype(int)
    s = np.rint(np.where(several, sample.rate, 0.5) * m).astype(int)
    inside = np.clip(q, INSIDE, 1 - INSIDE)
    own, people = entropy(q), debiased(entropy, s, m)
    columns = {
        "several": np.ones(len(q)),
        "jensen_shannon": debiased(jensen_shannon, s, m, q),
        "extra": -xlogy(s / m, inside) - xlogy(1 - s / m, 1 - inside) - people,
        "judge_entropy": own,
        "entropy": people,
        "hh": own * people,
        "judge_squared": own**2,
        "squared": people**2,
    }
    return {name: several * column for name, column in columns.items()}


def reachable_entropy_correlation(safe: ArrayLike, votes: ArrayLike) -> float:
    """The correlation with the votes' entropies of one who knows every true rate, whatever the spread of these.

    The spread is the likeliest one (`rates_of_any_shape`); items with fewer than two votes are left out.

    Raises StatisticsError: no item has two votes, or true rates do not seem to differ.
    """
    s, m = checked_votes_of_items(safe, votes)
    s, m = s[m > 1], m[m > 1]
    if not len(s):
        raise StatisticsError("what a judge could know of people's doubt needs items with two votes")
    spread = rates_of_any_shape(s, m)
    weight = np.bincount(spread.kind) @ spread.posterior / len(spread.kind)
    own = entropy(spread.grid)
    expected, squared = np.zeros(len(own)), 0.0
    for size, times in zip(*np.unique(m, return_counts=True), strict=True):
        j: IntArray = np.arange(size + 1)
        chance = np.diff(bdtr(j, size, spread.grid[:, None]), axis=1, prepend=0.0)
        of_votes = debiased(entropy, j, np.full(size + 1, size))
        expected += times / len(m) * (chance @ of_votes)
        squared += times / len(m) * float(weight @ (chance @ of_votes**2))
    covariance = weight @ (own * expected) - (weight @ own) * (weight @ expected)
    variances = (weight @ own**2 - (weight @ own) ** 2) * (squared - (weight @ expected) ** 2)
    if variances < 1e-12:
        raise StatisticsError("people split alike on every item, as far as these votes tell")
    return float(covariance / np.sqrt(variances))
