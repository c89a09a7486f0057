"""What people's verdict on an item is: never used without saying by which policy.

A label is a weight of "safe" in {0, ½, 1}; metrics are weighted sums over it, so a tie is half safe and half unsafe,
which is the same, on average, as drawing one vote out at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import ConfigurationError

__all__ = ["PUBLISHED", "VOTES", "LabelBase", "LabelPolicy", "Labels", "Ties", "column", "labels"]

LabelBase = Literal["votes", "published", "intended"]
Ties = Literal["half", "drop", "safe", "unsafe"]

FloatArray = NDArray[np.float64]

TIE_WEIGHT: dict[Ties, float] = {"half": 0.5, "drop": np.nan, "safe": 1.0, "unsafe": 0.0}


@dataclass(frozen=True)
class LabelPolicy:
    """How votes become labels."""

    base: LabelBase = "votes"
    """`votes`: the majority of people's votes alone. `published`: as the release's scripts have it, for comparing with
    the paper: the author's intent counts as one more vote, and the rate must exceed one half. `intended`: the author's
    intent."""
    ties: Ties = "half"
    """What a tie under `votes` is worth: half of each class, nothing, or one of the two."""
    overrides: tuple[tuple[str, Literal["safe", "unsafe"]], ...] = ()
    """Categories whose label is laid down, with the verdict. `published` has one: child-related crimes are unsafe."""

    @property
    def name(self) -> str:
        """The policy in words that `parse` reads back."""
        ties = f",ties:{self.ties}" if self.base == "votes" and self.ties != "half" else ""
        laid_down = "".join(f",override:{category}={verdict}" for category, verdict in self.overrides)
        return f"{self.base}{ties}{laid_down}"

    @classmethod
    def parse(cls, text: str, *, ties: Ties = "half") -> Self:
        """The policy that `text` names, such as `votes`, `published` or `votes,override:terrorism=unsafe`.

        Raises ConfigurationError: a part of `text` is no policy; the message lists what there is.
        """
        base, *parts = text.split(",override:")
        base, _, tied = base.partition(",ties:")
        if base not in get_args(LabelBase):
            raise ConfigurationError(
                f"no label policy is called {base!r}; there are votes, published and intended, "
                "each with ,override:CATEGORY=safe or =unsafe after it where wanted"
            )
        if tied and tied not in get_args(Ties):
            raise ConfigurationError(f"ties are {tied!r}; they can be half, drop, safe or unsafe")
        overrides = tuple(parse_override(part) for part in parts)
        return cls(base=base, ties=tied or ties, overrides=overrides)  # type: ignore[arg-type]  # both checked above


def parse_override(part: str) -> tuple[str, Literal["safe", "unsafe"]]:
    category, _, verdict = part.rpartition("=")
    if not category or verdict not in ("safe", "unsafe"):
        raise ConfigurationError(f"the override {part!r} is not CATEGORY=safe or CATEGORY=unsafe")
    return category, verdict  # type: ignore[return-value]  # checked above


VOTES = LabelPolicy()
PUBLISHED = LabelPolicy("published")

RELEASE_OVERRIDES = (("child-related crimes", "unsafe"),)


class Labels(NamedTuple):
    """Labels of items, in the order of the table."""

    weight: FloatArray
    """Weight of "safe": 0, ½ or 1; nan where there is no label."""
    rate: FloatArray
    """Share of ratings that are safe under the policy; nan without ratings."""


def labels(items: pl.DataFrame, policy: LabelPolicy = VOTES) -> Labels:
    """The labels of `items` under `policy`.

    `items`: one row an item, with `n_safe`, `n_votes`, `intended_safe` (null without a context), `published_rate` (null
        where no file states one) and `category`.

    Raises ConfigurationError: an override names a category that no item has.
    """
    safe, votes = column(items, "n_safe"), column(items, "n_votes")
    intended = column(items, "intended_safe")
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = safe / votes
        if policy.base == "published":
            stated = column(items, "published_rate")
            rate = np.where(np.isnan(stated), (safe + intended) / (votes + 1), stated)
    rate = rate.astype(np.float64)
    weight = weigh(rate, intended, policy)
    return lay_down(items["category"], Labels(weight, rate), policy)


def column(items: pl.DataFrame, name: str) -> FloatArray:
    return items[name].cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


def weigh(rate: FloatArray, intended: FloatArray, policy: LabelPolicy) -> FloatArray:
    if policy.base == "intended":
        return intended.copy()
    weight = np.where(rate > 0.5, 1.0, 0.0)
    if policy.base == "votes":
        weight[rate == 0.5] = TIE_WEIGHT[policy.ties]
    weight[np.isnan(rate)] = np.nan
    return weight


def lay_down(category: pl.Series, found: Labels, policy: LabelPolicy) -> Labels:
    present = set(category.unique())
    of_release = RELEASE_OVERRIDES if policy.base == "published" else ()
    for name, verdict in (*policy.overrides, *((n, v) for n, v in of_release if n in present)):
        if name not in present:
            raise ConfigurationError(f"the override names {name!r}, a category that no item has")
        rows = (category == name).to_numpy()
        for array in found:
            array[rows & ~np.isnan(array)] = float(verdict == "safe")
    return found
