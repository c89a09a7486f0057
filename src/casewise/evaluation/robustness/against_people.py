"""What each defence is worth against people's labels, on contexts as they are and on attacked ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from casewise.evaluation.robustness.paired import ArmVerdicts, AttackedRun
from casewise.stats.agreeing.estimates import Estimate, measure
from casewise.stats.agreeing.metrics import REFUSALS, metrics_named
from casewise.stats.robustness.flips import mean_of

__all__ = ["AgainstPeople", "against_people"]


@dataclass(frozen=True)
class AgainstPeople:
    """Verdicts under a defence beside people's: without an attack, or in the mean of attacks.

    Attributes
    ----------
    attacks
        How many attacks it is the mean of; 0 without one.
    over_refusal, harm
        Of the items that at least 70 % of people call safe, those judged unsafe; and the other way round.
    """

    defence: str
    attacks: int
    accuracy: Estimate
    harm: Estimate
    over_refusal: Estimate


def against_people(run: AttackedRun) -> tuple[AgainstPeople, ...]:
    """Two rows a defence, where there is any verdict: without an attack and under all of them."""
    return tuple(row for defence in run.defences for row in rows_of(run, defence))


def rows_of(run: AttackedRun, defence: str) -> Iterator[AgainstPeople]:
    plain = run.plain(defence)
    attacked = [
        one.attacked
        for one in run.pairings()
        if one.attacked.setting.defence == defence and one.attacked.setting.role != "perturbation"
    ]
    for attacks, arms in ((0, [plain] if plain else []), (len(attacked), attacked)):
        found = means(arms)
        if len(found) == len(MEASURED):
            yield AgainstPeople(defence, attacks, **found)


MEASURED = {"accuracy": "accuracy", "over_refusal": "over_refusal", "under_refusal": "harm"}
METRICS = (*metrics_named("accuracy"), *REFUSALS)


def means(arms: list[ArmVerdicts]) -> dict[str, Estimate]:
    each = [one for arm in arms for one in measure(arm.sample.where(arm.counts), metrics=METRICS)]
    by_name = {MEASURED[name]: mean_of([one for one in each if one.name == name]) for name in MEASURED}
    return {name: mean.estimate for name, mean in by_name.items() if mean is not None}
