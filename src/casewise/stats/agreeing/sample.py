"""What a judge said beside what people said: the arrays that every metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from casewise.records import SCALES, Elicitation, ShortRepr
from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray, renumbered
from casewise.stats.core.raters import Raters

__all__ = ["Sample", "UnscoredPolicy", "as_probability", "constant_accuracy", "right"]

UnscoredPolicy = Literal["miss", "exclude", "published"]
"""What an item without a verdict is worth.

`miss` (default): it counts against the judge in label metrics and is left out of rate metrics. `exclude`: it is left
out of both. `published`: as the release's scripts have it, a value of 1.0, which is "unsafe" as a score and "safe" as a
probability, and a miss in a binary answer.
"""


@dataclass(frozen=True, repr=False)
class Sample(ShortRepr):
    """One judge, one elicitation and one arm over items: parallel arrays with one entry an item."""

    weight: FloatArray
    """People's label as the weight of "safe": 0, ½, 1; nan where there is none."""
    rate: FloatArray
    """People's safe rate; nan where there is none."""
    safe: FloatArray
    """The judge's verdict: 1 safe, 0 unsafe; nan where unscored."""
    probability: FloatArray
    """The judge's value on [0, 1], the higher the safer; nan where unscored or where the elicitation gives none."""
    value: FloatArray
    """The judge's value in its own units, for ranks; nan where unscored or where the elicitation is binary."""
    cluster: NDArray[np.intp]
    """The query of each item, as an integer from 0."""
    n_votes: FloatArray
    """How many people rated each item."""
    unscored_policy: UnscoredPolicy = "miss"
    """What unscored items are worth."""
    raters: Raters | None = None
    """Who gave which vote; None where votes are anonymous. Errors then know that people differ, too."""
    without: tuple[Sample, Sample] | None = None
    """The same with one safe vote fewer on every item, and with one unsafe vote fewer."""

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def n_clusters(self) -> int:
        return int(self.cluster.max()) + 1 if len(self) else 0

    @property
    def labelled(self) -> BoolArray:
        """Items with a label."""
        return ~np.isnan(self.weight)

    @property
    def scored(self) -> BoolArray:
        """Items with a verdict."""
        return ~np.isnan(self.safe)

    @property
    def unscored(self) -> BoolArray:
        """Items with neither a verdict nor a value. A scalar without a threshold is a value without a verdict."""
        return np.isnan(self.safe) & np.isnan(self.value)

    @property
    def gives_verdicts(self) -> bool:
        """Whether the judge decides at all: a scalar does not until it has a threshold."""
        return bool(self.scored.any() or self.unscored.all())

    @property
    def in_label_metrics(self) -> BoolArray:
        """Items that label metrics count: those with a label, and under `exclude` with a verdict."""
        return self.labelled & (self.scored if self.unscored_policy == "exclude" else True)

    @property
    def in_rate_metrics(self) -> BoolArray:
        """Items that rate metrics count: those with a rate and a value."""
        return ~np.isnan(self.rate) & ~np.isnan(self.probability)

    @property
    def in_rank_metrics(self) -> BoolArray:
        """Items that rank metrics count: those with a rate, a label and a value."""
        return ~np.isnan(self.rate) & self.labelled & ~np.isnan(self.value)

    def where(self, mask: BoolArray) -> Self:
        """The items of `mask`, their queries numbered anew."""
        return type(self)(
            weight=self.weight[mask],
            rate=self.rate[mask],
            safe=self.safe[mask],
            probability=self.probability[mask],
            value=self.value[mask],
            cluster=renumbered(self.cluster[mask]),
            n_votes=self.n_votes[mask],
            unscored_policy=self.unscored_policy,
            raters=None if self.raters is None else self.raters.where(mask),
            without=None if self.without is None else (self.without[0].where(mask), self.without[1].where(mask)),
        )

    def with_votes_of(self, other: Self, places: IntArray) -> Self:
        """The same with what `other` has of people on the items at `places`."""
        taken = {name: getattr(self, name).copy() for name in ("weight", "rate", "n_votes")}
        for name, column in taken.items():
            column[places] = getattr(other, name)[places]
        return replace(self, raters=None, without=None, **taken)

    @property
    def lost(self) -> Self:
        """The judge with everything that it gets right turned about, values within the judge's own range."""
        known = self.value[~np.isnan(self.value)]
        ends = float(known.min() + known.max()) if len(known) else 0.0
        wrong = np.where(np.isin(self.weight, (0, 1)) & self.scored, 1 - self.weight, self.safe)
        return replace(
            self,
            safe=wrong,
            probability=turned_about(self.probability, 1.0, self.rate),
            value=turned_about(self.value, ends, self.rate),
        )


def turned_about(values: FloatArray, ends: float, rate: FloatArray) -> FloatArray:
    """`ends` less the value, where the value lies on the side of its range on which people are."""
    return np.where((values - ends / 2) * (rate - 0.5) > 0, ends - values, values)


def as_probability(value: FloatArray, elicitation: Elicitation) -> FloatArray:
    """A judge's values on [0, 1]: probabilities as they are, a score *s* as (*s* − 0.5)/10, as the paper's scripts do.

    Binary verdicts and scalars are no probabilities: nan.
    """
    if (scale := SCALES[elicitation].probability) is None:
        return np.full_like(value, np.nan)
    offset, width = scale
    return np.asarray((value - offset) / width, dtype=np.float64)


def right(
    verdict: FloatArray | BoolArray, weight: FloatArray, *, of: FloatArray | BoolArray | float = 1.0
) -> FloatArray:
    """How much of each item a verdict gets right: its weight of "safe" where that is said, the rest `of` it where unsafe is.

    `verdict`: 1 safe, 0 unsafe; nan where there is none, which is never right.
    `weight`: people's label as the weight of "safe".
    `of`: how much the item counts.
    """
    return np.where(verdict == 1, weight, np.where(verdict == 0, of - weight, 0.0))


def constant_accuracy(weight: FloatArray) -> float:
    """The accuracy of the better of the two constant verdicts on items with these labels; nan without any."""
    share = float(weight.mean()) if len(weight) else float("nan")
    return max(share, 1 - share)
