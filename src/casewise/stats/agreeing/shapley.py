r"""What each part of the context is worth to a judge: its Shapley value over all subsets of parts shown.

With :math:`v(S)` a metric when the parts *S* of *N* are shown, part *i* is worth

.. math:: \phi_i = \sum_{S \subseteq N \setminus i} \frac{|S|! \, (|N| - |S| - 1)!}{|N|!} \; [v(S \cup i) - v(S)],

the mean, over all orders in which parts could be revealed, of what revealing *i* adds. The values of all parts add up to
:math:`v(N) - v(\emptyset)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np

from casewise.errors import StatisticsError
from casewise.stats.agreeing.estimates import Estimate, difference_of
from casewise.stats.core.measured import Measured
from casewise.stats.core.raters import PerVote

__all__ = ["Parts", "shapley_values", "weighted_mean"]

Parts = frozenset[str]
"""Which parts are shown."""


def shapley_values(values: Mapping[Parts, Measured]) -> dict[str, Estimate]:
    """The Shapley value of each part, with its interval over clusters as `difference_of` draws it.

    `values`: the metric for every subset of the parts, measured on the same items. For two parts worth 1 and 3 apart and
    6 together, each gets its own and half of what only both bring: (1 + (6 - 3)) / 2 = 2 and (3 + (6 - 1)) / 2 = 4.

    Raises StatisticsError: a subset is missing, or they were not measured on the same clusters.

    Source: Shapley (1953), A Value for n-Person Games, Contributions to the Theory of Games II, 307-317.
    """
    players = sorted(frozenset().union(*values)) if values else []
    if missing := [subset for subset in subsets(players) if subset not in values]:
        shown = ", ".join(sorted(missing[0])) or "none"
        raise StatisticsError(
            f"a Shapley value needs every subset of {', '.join(players)}; this one is missing: {shown}"
        )
    return {player: value_of(player, players, values) for player in players}


def subsets(players: Sequence[str]) -> list[Parts]:
    return [frozenset(chosen) for size in range(len(players) + 1) for chosen in combinations(players, size)]


def value_of(player: str, players: Sequence[str], values: Mapping[Parts, Measured]) -> Estimate:
    others = [other for other in players if other != player]
    weighted = [(1 / (len(players) * comb(len(others), len(without))), without) for without in subsets(others)]
    shown = weighted_mean([(weight, values[without | {player}]) for weight, without in weighted])
    hidden = weighted_mean([(weight, values[without]) for weight, without in weighted])
    return difference_of(shown, hidden)


def weighted_mean(parts: Sequence[tuple[float, Measured]]) -> Measured:
    """The weighted mean of numbers measured on the same clusters, as a number measured on them.

    Raises StatisticsError: they were not measured on the same clusters.
    """
    first = parts[0][1]
    if len({len(part.influence) for _, part in parts}) > 1:
        raise StatisticsError("these numbers were measured on different queries, so they have no mean with an interval")
    return Measured(
        name=first.name,
        value=float(sum(weight * part.value for weight, part in parts)),
        n=min(part.n for _, part in parts),
        n_unscored=max(part.n_unscored for _, part in parts),
        influence=np.sum([weight * part.influence for weight, part in parts], axis=0),
        at_risk=min(part.at_risk for _, part in parts),
        votes=PerVote.weighted([(weight, part.votes) for weight, part in parts]),
        domain=first.domain,
        undefined=next((part.undefined for _, part in parts if np.isnan(part.value)), first.undefined),
    )
