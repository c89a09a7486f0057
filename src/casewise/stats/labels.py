"""Labels of items from people's votes, by a policy that also settles ties and unsure votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError, one_of
from casewise.stats.arrays import FloatArray

# A label is a weight of "safe" in {0, ½, 1}; metrics are weighted sums over it, so a tie is half safe and half unsafe,
# which is the same, on average, as drawing one vote out at random.


LabelBase = Literal["votes", "published", "intended", "mean"]
Ties = Literal["half", "drop", "safe", "unsafe"]
Unsure = Literal["drop", "half", "unsafe"]

UNSURE_WEIGHT: dict[Unsure, float] = {"half": 0.5, "unsafe": 0.0}
"""Weight of "safe" of an unsure vote; one that is dropped counts nowhere."""

TIE_WEIGHT: dict[Ties, float] = {"half": 0.5, "drop": np.nan, "safe": 1.0, "unsafe": 0.0}
"""Weight of "safe" of a tie; nan for no label."""


@dataclass(frozen=True)
class LabelPolicy:
    """A policy that turns votes into labels."""

    base: LabelBase = "votes"
    """`votes`: the majority of people's votes alone; of a benchmark of shares without numbers of votes, the share. `published`: as
    the release's scripts have it, for comparing with the paper: the author's intent counts as one more vote, and the rate must
    exceed one half. `intended`: the author's intent. `mean`: the side of the scale's cut on which the mean rating lies; a mean at
    the cut is unsafe."""
    ties: Ties = "half"
    """The label of a tie under `votes`: half of each class, none, or one of the two."""
    unsure: Unsure = "drop"
    """What an unsure vote, or a vote to ask the user first, counts as: no vote, half a safe and half an unsafe vote, or an unsafe
    vote."""
    overrides: tuple[tuple[str, Literal["safe", "unsafe"]], ...] = ()
    """Categories with a fixed label, and the label. `published` has one: child-related crimes are unsafe."""

    @property
    def name(self) -> str:
        """The policy in words that `parse` reads back."""
        ties = f",ties:{self.ties}" if self.base == "votes" and self.ties != "half" else ""
        unsure = f",unsure:{self.unsure}" if self.unsure != "drop" else ""
        laid_down = "".join(f",override:{category}={verdict}" for category, verdict in self.overrides)
        return f"{self.base}{ties}{unsure}{laid_down}"

    @property
    def is_majority_of_votes(self) -> bool:
        """True where labels are the majority of people's votes, with ties half and half, and nothing else."""
        return self.base == "votes" and self.ties == "half" and not self.overrides

    @classmethod
    def parse(cls, text: str, *, ties: Ties = "half") -> Self:
        """Return the policy that `text` names, such as `votes`, `votes,unsure:half` or `votes,override:terrorism=unsafe`.

        Raises ConfigurationError: a part of `text` is no policy; the message lists what there is.
        """
        base, *laid_down = text.split(",override:")
        base, *words = base.split(",")
        settings: dict[str, str] = {"ties": ties, "unsure": "drop"}
        for name, colon, word in (part.partition(":") for part in words):
            if not colon or name not in settings:
                raise ConfigurationError(
                    f"{name!r} is no part of a label policy; there are ties:, unsure: and override:CATEGORY="
                )
            settings[name] = word
        if base not in get_args(LabelBase):
            raise ConfigurationError(
                f"no label policy is called {base!r}; there are {', '.join(get_args(LabelBase))}, each with ,unsure:half or "
                "=unsafe and with ,override:CATEGORY=safe or =unsafe after it where wanted"
            )
        overrides = []
        for part in laid_down:
            category, _, verdict = part.rpartition("=")
            if not category or verdict not in ("safe", "unsafe"):
                raise ConfigurationError(f"the override {part!r} is not CATEGORY=safe or CATEGORY=unsafe")
            overrides.append((category, verdict))
        return cls(
            base=base,  # type: ignore[arg-type]  # checked above
            ties=one_of(settings["ties"], get_args(Ties), "ties"),
            unsure=one_of(settings["unsure"], get_args(Unsure), "unsure"),
            overrides=tuple(overrides),  # type: ignore[arg-type]
        )


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
    """Return the labels of `items` under `policy`.

    `items`: one row an item, with `n_safe`, `n_votes`, `intended_safe` (null without a context), `published_rate` (null
        where no file states one) and `category`; and where there are any, `n_unsure` and `mean_is_safe`.

    Raises ConfigurationError: an override names a category that no item has.
    """
    safe, votes = counted_votes(items, policy.unsure)
    intended = column(items, "intended_safe")
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = safe / votes
        if policy.base == "published":
            stated = column(items, "published_rate")
            rate = np.where(np.isnan(stated), (safe + intended) / (votes + 1), stated)
        elif policy.base == "votes" and not votes.any():
            rate = column(items, "published_rate")  # shares without numbers of votes are all that people left
    rate = rate.astype(np.float64)
    if policy.base in ("intended", "mean"):
        weight = intended.copy() if policy.base == "intended" else column(items, "mean_is_safe").copy()
    else:
        weight = np.where(np.isnan(rate), np.nan, np.where(rate > 0.5, 1.0, 0.0))
        if policy.base == "votes":
            weight[rate == 0.5] = TIE_WEIGHT[policy.ties]
    of_release = RELEASE_OVERRIDES if policy.base == "published" else ()
    present = set(items["category"].unique()) if policy.overrides or of_release else set()
    for name, verdict in (*policy.overrides, *((n, v) for n, v in of_release if n in present)):
        if name not in present:
            raise ConfigurationError(f"the override names {name!r}, a category that no item has")
        rows = (items["category"] == name).to_numpy()
        for array in (weight, rate):
            array[rows & ~np.isnan(array)] = float(verdict == "safe")
    return Labels(weight, rate)


def column(items: pl.DataFrame, name: str) -> FloatArray:
    """Return a column as numbers; nan where it is null."""
    return items[name].cast(pl.Float64).to_numpy().astype(np.float64)


def counted_votes(items: pl.DataFrame, unsure: Unsure) -> tuple[FloatArray, FloatArray]:
    """Return the safe votes and all votes of each item, with unsure votes counted as `unsure` says."""
    safe, votes = column(items, "n_safe"), column(items, "n_votes")
    if unsure == "drop" or "n_unsure" not in items.columns:
        return safe, votes
    undecided = column(items, "n_unsure") + (column(items, "n_ask") if "n_ask" in items.columns else 0.0)
    return safe + UNSURE_WEIGHT[unsure] * undecided, votes + undecided
