"""A run's arms as attacks and defences: each attacked verdict beside the same item's without the attack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from casewise.errors import BenchmarkError
from casewise.evaluation.judged_runs import JudgedRuns, Series, read_runs
from casewise.evaluation.options import ReportOptions
from casewise.evaluation.subsets import as_wanted
from casewise.records import Arm, ShortRepr
from casewise.runs.made_texts import made_in
from casewise.showing import MadeTexts
from casewise.showing.catalogue import Setting, own_defences, setting_of
from casewise.stats.agreeing.sample import Sample
from casewise.stats.core.arrays import BoolArray, FloatArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.runs.judgement_table import last_attempts

__all__ = ["ArmVerdicts", "AttackedRun", "Pairing", "read_attacked"]


@dataclass(frozen=True, repr=False)
class ArmVerdicts(ShortRepr):
    """One arm: what it is, and the verdict on each item of the benchmark (1 safe, 0 unsafe, nan for none)."""

    arm: Arm
    setting: Setting
    series: Series
    sample: Sample
    not_shown: BoolArray
    """Items that could not be shown in this arm: they were not attacked, and count nowhere."""

    @property
    def counts(self) -> BoolArray:
        """Items that were asked about, as this arm shows them."""
        return self.series.asked & ~self.not_shown


@dataclass(frozen=True, repr=False)
class Pairing(ShortRepr):
    """An attack under a defence, and the same defence without it."""

    attacked: ArmVerdicts
    plain: ArmVerdicts

    @property
    def of(self) -> BoolArray:
        """Items that were asked both ways."""
        return self.attacked.counts & self.plain.counts


@dataclass(frozen=True, repr=False)
class AttackedRun(ShortRepr):
    """A run with arms of attacks."""

    runs: JudgedRuns
    elicitation: str
    asked: tuple[ArmVerdicts, ...]
    weight: FloatArray
    """People's label of each item as the weight of "safe"."""
    twins_weight: FloatArray
    """That of the other item of its pair; nan where there is none."""
    made: MadeTexts
    """What models made of texts before the run."""

    @property
    def benchmark(self) -> Benchmark:
        return self.runs.benchmark

    @property
    def defences(self) -> tuple[str, ...]:
        """Those under which anything was asked, none first."""
        return tuple(dict.fromkeys(one.setting.defence for one in self.asked))

    def plain(self, defence: str) -> ArmVerdicts | None:
        """The arm of a defence without any attack."""
        found = (one for one in self.asked if one.setting.attack is None and one.setting.defence == defence)
        return next(found, None)

    def pairings(self) -> Iterator[Pairing]:
        """Every attack and perturbation with the arm that it is held against."""
        for one in self.asked:
            plain = self.plain(one.setting.defence)
            if one.setting.attack is not None and plain is not None:
                yield Pairing(one, plain)


def read_attacked(path: Path, *, benchmark: str | Path | Benchmark | None, options: ReportOptions) -> AttackedRun:
    """A run folder with arms of attacks. Raises BenchmarkError: it holds no attack, or no item without one."""
    runs = as_wanted(read_runs([path], benchmark=benchmark), options)
    elicitation = runs.series[0].elicitation
    own = own_defences(one.shown for one in runs.series)
    found = [
        (one, setting)
        for one in runs.series
        if one.elicitation == elicitation and one.run is runs.series[0].run and (setting := setting_of(one.shown, own))
    ]
    hidden, none = not_shown(runs), np.zeros(len(runs.items), dtype=np.bool_)
    asked = tuple(
        ArmVerdicts(
            one.shown,
            setting,
            one,
            runs.whole_sample(one, policy=options.labels, unscored="exclude"),
            hidden.get(one.arm, none),
        )
        for one, setting in found
    )
    weight = asked[0].sample.weight if asked else np.zeros(0)
    made = AttackedRun(runs, elicitation, asked, weight, twins_of(runs.items, weight), MadeTexts(made_in(path)))
    if not any(True for _ in made.pairings()):
        raise BenchmarkError(
            f"{path} was not asked under any attack, or not without one; make such a run with casewise attack"
        )
    return made


def twins_of(items: pl.DataFrame, weight: FloatArray) -> FloatArray:
    """The weight of the other item of each pair of two."""
    found = np.full(len(items), np.nan)
    if not len(weight):
        return found
    pairs = items.select("pair_id").with_row_index("place").drop_nulls().group_by("pair_id").agg("place")
    for places in pairs.filter(pl.col("place").list.len() == 2)["place"].to_list():
        first, second = places
        found[first], found[second] = weight[second], weight[first]
    return found


NEEDED = ("item_id", "judge_id", "elicitation", "arm", "repeat", "attempt", "unscored_reason")


def not_shown(runs: JudgedRuns) -> dict[str, BoolArray]:
    """Which items could not be shown, by arm; an arm in which all could is absent."""
    said = last_attempts(runs.series[0].run.judgements(NEEDED))
    hidden = said.filter(pl.col("unscored_reason").cast(pl.String) == "not_shown").with_columns(
        pl.col("arm").cast(pl.String)
    )
    ids = runs.items["item_id"]
    return {
        str(arm): ids.is_in(rows["item_id"].unique().implode()).to_numpy() for (arm,), rows in hidden.group_by("arm")
    }
