"""What attacking a chatbot's replies takes besides the replies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from casewise.api.benchmarks import Source
from casewise.api.replying import CollectOptions, making_for, prepared
from casewise.judging.running.plan import Selection
from casewise.models.load import LoadedModel
from casewise.models.protocol import Model
from casewise.records import Arm
from casewise.runs.estimate import CallEstimate
from casewise.showing.made_before import estimate_before

__all__ = ["before_collecting"]


def before_collecting(
    benchmark: Source,
    model: str | Model | LoadedModel,
    *,
    arms: str | Arm | Sequence[Arm | str] = (),
    selection: Selection = Selection(),
    options: CollectOptions = CollectOptions(),
) -> dict[str, CallEstimate]:
    """What the models would take that make texts for the arms, by maker. Nobody is called."""
    loaded, plan, found = prepared(benchmark, model, arms, 1, selection, options.batch is not None)
    return estimate_before(plan.arms, partial(plan.asks_given, found), making_for(options, loaded))
