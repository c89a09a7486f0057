"""What a detector holds back: attacks that it finds, and false alarms on contexts as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from casewise.evaluation.robustness.paired import ArmVerdicts, AttackedRun
from casewise.showing import arm_named, show_item
from casewise.stats.agreeing.estimates import Estimate
from casewise.stats.core.arrays import BoolArray
from casewise.stats.core.measured import Measured, TotalsByCluster, share
from casewise.stats.robustness.flips import mean_of

__all__ = ["HeldBack", "held_back", "holds_back"]


@dataclass(frozen=True)
class HeldBack:
    """How many items a defence holds back: refuses, or asks the user about."""

    defence: str
    shown: str
    """`as they are` (a false alarm each), `attacked`, or `perturbed` (false alarms too), in the mean of so many arms."""
    arms: int
    share: Estimate


def holds_back(defence: str) -> bool:
    """Whether under that defence some items never come to the judge."""
    return defence.startswith("detect")


def held_back(run: AttackedRun) -> tuple[HeldBack, ...]:
    """Of each defence that a model's detection is part of."""
    found = []
    for defence in run.defences:
        if not holds_back(defence):
            continue
        under = [one.attacked for one in run.pairings() if one.attacked.setting.defence == defence]
        plain = run.plain(defence)
        for shown, arms in (
            ("as they are", [plain] if plain else []),
            ("perturbed", [one for one in under if one.setting.role == "perturbation"]),
            ("attacked", [one for one in under if one.setting.role != "perturbation"]),
        ):
            mean = mean_of([measured(run, arm) for arm in arms])
            if mean is not None:
                found.append(HeldBack(defence, shown, len(arms), mean.estimate))
    return tuple(found)


def measured(run: AttackedRun, arm: ArmVerdicts) -> Measured:
    held, cluster = items_held_back(run, arm), arm.sample.cluster
    terms = {"held": (held & arm.counts).astype(np.float64), "asked": arm.counts.astype(np.float64)}
    totals = TotalsByCluster.of(terms, cluster)
    return totals.measure(share("held back", "held", "asked"))


def items_held_back(run: AttackedRun, arm: ArmVerdicts) -> BoolArray:
    benchmark, named = run.benchmark, arm_named(arm.arm.name)
    items = [benchmark.item[one] for one in run.runs.items["item_id"].to_list()]
    held = [show_item(named, benchmark, one, made=run.made).held_back is not None for one in items]
    return np.array(held, dtype=np.bool_)
