"""Before a run begins: every text that an arm needs of a model is made, round by round, within the run's own limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from casewise.models.load import ModelOptions, names_model
from casewise.records import Arm
from casewise.runs.estimate import CallEstimate
from casewise.runs.limits import Limits, Spend
from casewise.runs.made_texts import MadeText, Maker, estimate_made, made_in, make_texts, spent_making, text_key
from casewise.runs.progress import Watch
from casewise.showing.by_model import MadeTexts, by_models, maker_named
from casewise.showing.shown import ShownItem

__all__ = ["MadeBefore", "MakingOptions", "estimate_before", "makers_of", "making"]


class Shows(Protocol):
    """An ask, as far as it is looked at here."""

    @property
    def shown(self) -> ShownItem: ...


AsksGiven = Callable[[MadeTexts], Iterable[Shows]]
"""The asks of a plan, shown with what is known so far."""


@dataclass(frozen=True)
class MakingOptions:
    """How the models are reached, what they may take, and who watches."""

    model: ModelOptions = field(default_factory=ModelOptions)
    asked: str = ""
    """The model that is asked afterwards: for it, and for names that say no provider, address and prices are the user's own."""
    limits: Limits = field(default_factory=Limits)
    watch: Watch | None = None
    command: str | None = None


@dataclass(frozen=True)
class MadeBefore:
    """What was made, and why it is not all, in words, where it is not."""

    made: MadeTexts
    stopped: str | None = None


def makers_of(arms: Iterable[Arm], options: MakingOptions) -> dict[str, Maker]:
    """Who has to be asked before such arms can be shown, by name.

    Raises ConfigurationError: there is no such model, or its key is not set.
    """
    found = {}
    for name in by_models(arms):
        model, bare = name.partition(":")[2], replace(options.model.local, adapter=None)
        live = replace(options.model, batch=False)
        elsewhere = replace(live, base_url=None, prices=None, local=bare)
        own = model == options.asked or not names_model(model, elsewhere)
        found[name] = maker_named(name, live if own else elsewhere)
    return found


async def making(
    within: Path, arms: Sequence[Arm], asks: AsksGiven, options: MakingOptions, *, spent: Callable[[], Spend] = Spend
) -> MadeBefore:
    """Have all made that the asks of a plan need. What a model makes of another's text waits for that.

    `within`: the run's folder; what is made is kept in one of its own.
    `spent`: what the run itself took before: limits are of all together.
    """
    makers = makers_of(arms, options)
    if not makers:
        return MadeBefore(MadeTexts())
    try:
        for _ in range(max(len(arm.transforms) for arm in arms)):
            missing = missing_texts(asks, made_in(within))
            for name, texts in missing.items():
                limits = options.limits.less(spent() + spent_making(within, but=name))
                summary = await make_texts(
                    within, makers[name], texts, limits=limits, watch=options.watch, command=options.command
                )
                if summary.stopped:
                    return MadeBefore(MadeTexts(made_in(within)), f"{name}: {summary.stopped}")
                known = made_in(within)
                if failed := sum(known[name, text_key(text)].passing for text in texts):
                    return MadeBefore(MadeTexts(known), f"{name} did not answer about {failed:,} texts")
    finally:
        for maker in makers.values():
            await maker.loaded.model.close()
    return MadeBefore(MadeTexts(made_in(within)))


def missing_texts(asks: AsksGiven, known: Mapping[tuple[str, str], MadeText]) -> dict[str, dict[str, None]]:
    planned = MadeTexts(known, planning=True)
    for ask in asks(planned):
        _ = ask.shown
    return planned.missing


def estimate_before(arms: Sequence[Arm], asks: AsksGiven, options: MakingOptions) -> dict[str, CallEstimate]:
    """What making it all would take, by maker. No call is made."""
    makers = makers_of(arms, options)
    if not makers:
        return {}
    planned = MadeTexts(planning=True, guessing=True)
    for ask in asks(planned):
        _ = ask.shown
    return {name: estimate_made(makers[name], texts) for name, texts in planned.missing.items()}
