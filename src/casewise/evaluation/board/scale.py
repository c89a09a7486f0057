"""Judges and items on one scale: abilities, hard items, labels that good judges contradict, items that place a new judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import StatisticsError
from casewise.stats.agreeing.sample import Sample, right
from casewise.stats.core.arrays import FloatArray, IntArray
from casewise.stats.items.response_model import Placing, ResponseModel, fit_responses, items_that_place, left_out_errors

__all__ = ["SUSPECT", "JudgeScale", "judge_scale"]

SUSPECT = 0.5
"""A label is suspect where it is likelier to be the other one."""


@dataclass(frozen=True)
class JudgeScale:
    """Judges and the items that all of them answered, but for ties."""

    judges: pl.DataFrame
    """A row a judge: `ability` and its 95 % interval, and `accuracy` on these items."""
    items: pl.DataFrame
    """A row an item: `difficulty`, `discrimination`, their errors, `right` (how many judges) and `reversed_label`."""
    chosen: tuple[str, ...]
    """Ids of the items that place a new judge, the most telling first."""
    tried: Placing | None
    """What placing by so many items came to at each judge when it was left out; None with fewer than three judges."""

    @property
    def suspects(self) -> pl.DataFrame:
        """Items whose label good judges contradict, the surest first."""
        return self.items.filter(pl.col("reversed_label") > SUSPECT).sort(
            "reversed_label", "item_id", descending=[True, False]
        )

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        tried = self.tried and {"within_0_03": self.tried.within, "rms_error": self.tried.typical}
        return {
            "judges": self.judges.to_dicts(),
            "items": self.items.to_dicts(),
            "items_that_place": list(self.chosen),
            "left_out": tried,
        }


def judge_scale(names: Sequence[str], samples: Sequence[Sample], items: pl.DataFrame, *, n: int) -> JudgeScale:
    """Fit the scale and choose `n` items, or as many as there are.

    Items without a majority are left out. A judge without verdicts cannot be on it; one without a verdict on an item is
    wrong there.

    Raises StatisticsError: fewer than two judges give verdicts.
    """
    given = [place for place, sample in enumerate(samples) if sample.gives_verdicts]
    if len(given) < 2:
        raise StatisticsError("judges and items are put on one scale with two judges that give verdicts at least")
    weight = samples[given[0]].weight
    used = np.isin(weight, (0.0, 1.0))
    answers = np.stack([right(samples[place].safe, weight)[used] for place in given])
    model = fit_responses(answers, clusters=samples[given[0]].cluster[used])
    shown = items.filter(pl.Series(used))
    # Discriminations are known too poorly from some tens of judges to choose better by them.
    alike = fit_responses(answers, clusters=samples[given[0]].cluster[used], rasch=True)
    chosen = items_that_place(alike, min(n, answers.shape[1]))
    tried = left_out_errors(answers, len(chosen)) if len(given) > 2 else None
    ids = shown["item_id"].to_list()
    judges = judge_rows([names[place] for place in given], model, answers)
    return JudgeScale(judges, item_rows(shown, model, answers), tuple(ids[place] for place in chosen), tried)


def judge_rows(names: Sequence[str], model: ResponseModel, answers: FloatArray) -> pl.DataFrame:
    half = 1.96 * model.ability_error
    return pl.DataFrame(
        {
            "judge": names,
            "ability": model.ability,
            "ci_low": model.ability - half,
            "ci_high": model.ability + half,
            "accuracy": answers.mean(1),
        }
    ).sort("ability", descending=True)


def item_rows(shown: pl.DataFrame, model: ResponseModel, answers: FloatArray) -> pl.DataFrame:
    correct: IntArray = answers.sum(0).astype(np.int64)
    return shown.select("item_id", "category", "n_safe", "n_votes").with_columns(
        pl.Series("right", correct),
        pl.Series("difficulty", model.difficulty),
        pl.Series("difficulty_error", model.difficulty_error),
        pl.Series("discrimination", model.discrimination),
        pl.Series("discrimination_error", model.discrimination_error),
        pl.Series("reversed_label", model.reversed_label),
    )
