"""What is decided before the data are seen: as frozen, unless somebody asks for something else, which is a departure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, cast, get_args

from casewise.errors import ConfigurationError
from casewise.stats.agreeing.labels_and_ties import LabelBase, LabelPolicy, Ties
from casewise.stats.core.arrays import checked_share
from casewise.stats.people.attrition import Flow
from casewise.studies.design.freeze import Departure

__all__ = ["AnalysisOptions", "ChosenOptions", "choose_options", "read_contrasts", "settle"]

PlannedCorrection = Literal["holm", "bonferroni", "none", "benjamini-hochberg"]
Ground = Literal["failed_checks"]


CHOICES = {"correction": PlannedCorrection, "labels": LabelBase, "ties": Ties, "exclude": Ground}


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """How a study's ratings are analysed."""

    contrasts: tuple[tuple[str, str], ...] | None = None
    """Planned contrasts; None: the first condition against each other."""
    alpha: float = 0.05
    correction: PlannedCorrection = "holm"
    """Of the contrasts' p values."""
    labels: LabelBase = "votes"
    ties: Ties = "half"
    exclude: tuple[Ground, ...] = ("failed_checks",)
    """Grounds on which ratings are left out, where the ratings say who failed."""
    margin: float = 0.05
    """Largest difference of safe rates that would not matter."""
    level: float = 0.95
    strata: tuple[str, ...] = ()
    reference_size: int = 10
    """People in the reference of the panel curve."""
    flow: Flow | None = None
    """How many took part at each step, where known."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("alpha", "level", "margin"):
            checked_share(getattr(self, name), name)

    @property
    def label_policy(self) -> LabelPolicy:
        """How votes become labels."""
        return LabelPolicy(self.labels, self.ties)


class ChosenOptions(TypedDict, total=False):
    """Those of `AnalysisOptions` that somebody asks for; what is not here is as the study froze it."""

    contrasts: tuple[tuple[str, str], ...] | None
    alpha: float
    correction: PlannedCorrection
    labels: LabelBase
    ties: Ties
    exclude: tuple[Ground, ...]
    margin: float
    level: float
    strata: tuple[str, ...]
    reference_size: int
    flow: Flow | None
    seed: int


def choose_options(**values: object) -> ChosenOptions:
    """Those of `values` that are not None, checked against what each can be.

    Raises
    ------
    ConfigurationError
        A value is none of those that there are; the message lists them.
    """
    for name, kind in CHOICES.items():
        value, there = values.get(name), get_args(kind)
        wrong = [
            one for one in (value if isinstance(value, tuple) else (value,)) if one is not None and one not in there
        ]
        if wrong:
            raise ConfigurationError(f"--{name} is {wrong[0]!r}; it can be {', '.join(there)}")
    return cast(ChosenOptions, {name: value for name, value in values.items() if value is not None})


def settle(
    wanted: ChosenOptions, planned: Mapping[str, Any], *, frozen: bool
) -> tuple[AnalysisOptions, tuple[Departure, ...]]:
    """The options that hold, and where `wanted` departs from what was frozen.

    `planned`: the study's own settings, by the names of `AnalysisOptions`.
    `frozen`: whether they were frozen: a departure needs a promise.

    Raises StatisticsError: an option lies outside its range.
    """
    options = AnalysisOptions(**{**planned, **wanted})
    asked = {name: value for name, value in wanted.items() if name in planned and value != planned[name]}
    if not frozen:
        return options, ()
    return options, tuple(Departure(f"analysis.{name}", planned[name], value) for name, value in asked.items())


def read_contrasts(written: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`FIRST:SECOND` as pairs of conditions.

    Raises
    ------
    ConfigurationError
        One has no colon, or compares a condition with itself.
    """
    pairs = []
    for text in written:
        first, colon, second = (part.strip() for part in text.partition(":"))
        if not colon or not first or not second or first == second:
            raise ConfigurationError(f"--contrast is {text!r}; write two conditions as no_context:safe_revised")
        pairs.append((first, second))
    return tuple(pairs)
