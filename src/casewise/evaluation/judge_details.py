"""What a report says of each judge beside agreement: pairs, refusals, calibration, costs, and the judge's own noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from casewise.evaluation.judged_runs import JudgedRuns, Series
from casewise.records import ShortRepr
from casewise.stats.agreeing.calibration import Calibration, calibration
from casewise.stats.agreeing.cost_of_thresholds import CostCurve, cost_curve
from casewise.stats.agreeing.estimates import Estimate, estimate
from casewise.stats.agreeing.labels_and_ties import LabelPolicy
from casewise.stats.agreeing.metrics import FLOORS
from casewise.stats.agreeing.over_refusal import Refusals, refusals
from casewise.stats.agreeing.pairs import PairResults, find_pairs, pair_results
from casewise.stats.agreeing.sample import UnscoredPolicy

__all__ = ["Details", "details_of"]


@dataclass(frozen=True, repr=False)
class Details(ShortRepr):
    """One series in detail."""

    series: Series
    pairs: PairResults | None
    """Under the report's label policy; None where the items asked form no pair, or the judge gives no verdicts."""
    refusals: Refusals | None
    """By people's votes alone, whatever the policy of the labels; None where the judge gives no verdicts."""
    calibration: Calibration | None
    """Against people's votes alone; None for an elicitation without values on [0, 1]."""
    floors: tuple[Estimate, ...]
    """What no judge can fall below on these items: for cross entropy and for the Brier score."""
    costs: CostCurve

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        noise = self.series.noise
        return {
            "judge": self.series.judge,
            "elicitation": self.series.elicitation,
            "arm": self.series.arm,
            "pairs": asdict(self.pairs) if self.pairs is not None else None,
            "refusals": asdict(self.refusals) if self.refusals is not None else None,
            "calibration": asdict(self.calibration) if self.calibration is not None else None,
            "floors": [asdict(found) for found in self.floors],
            "costs": asdict(self.costs),
            "noise": asdict(noise) if noise is not None else None,
        }


def details_of(runs: JudgedRuns, *, labels: LabelPolicy, unscored: UnscoredPolicy) -> Iterator[Details]:
    """The details of every series of `runs`."""
    votes = LabelPolicy("votes", overrides=labels.overrides)
    for series in runs.series:
        sample = runs.sample(series, policy=labels, unscored=unscored)
        by_votes = sample if votes == labels else runs.sample(series, policy=votes, unscored=unscored)
        asked = runs.items.select("pair_id", "intended_safe").filter(series.asked)
        has_values = bool(by_votes.in_rate_metrics.any())
        yield Details(
            series=series,
            pairs=pair_results(sample, find_pairs(asked)) if sample.gives_verdicts else None,
            refusals=refusals(by_votes) if sample.gives_verdicts else None,
            calibration=calibration(by_votes) if has_values else None,
            floors=estimate(by_votes, metrics=FLOORS),
            costs=cost_curve(sample),
        )
