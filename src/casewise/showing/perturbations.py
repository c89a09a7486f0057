"""Perturbations: changes that say nothing new and should change nothing. What moves under them is the judge's own noise."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import get_args

from casewise.errors import ConfigurationError, did_you_mean
from casewise.prompting.layouts import Layout
from casewise.records import ShownContext
from casewise.records.context import OPTIONAL
from casewise.showing.shown import Scene, ShownItem

__all__ = ["LAYOUTS", "ORDERS", "check_layout", "check_order", "layout", "order"]

ORDERS = ("reversed", "shuffled")
LAYOUTS: tuple[Layout, ...] = get_args(Layout)


def order(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """What is shown with groups, and parameters within them, in another order: the same one for an item each time."""
    rng = random.Random(f"{scene.query.id} {scene.context.id if scene.context else ''}")  # noqa: S311 - no secret
    return replace(shown, context=reordered(shown.context, rest, rng))


def reordered(context: ShownContext, how: str, rng: random.Random) -> ShownContext:
    def arranged(names: list[str]) -> list[str]:
        return names[::-1] if how == "reversed" else rng.sample(names, len(names))

    return {
        group: context[group]
        if group in OPTIONAL
        else {name: context[group][name] for name in arranged([*context[group]])}
        for group in arranged([*context])
    }


def layout(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    """What is shown with the context laid out so. A function of a query and a context sees no layout."""
    return replace(shown, placement=replace(shown.placement, layout=check_layout(rest)))


def check_order(rest: str) -> str:
    """`rest`, if it is an order. Raises ConfigurationError: it is none."""
    return one_of(rest, ORDERS, "order")


def check_layout(rest: str) -> Layout:
    """`rest`, if it is a layout. Raises ConfigurationError: it is none."""
    return one_of(rest, LAYOUTS, "format")  # type: ignore[return-value]  # it is one of them


def one_of(rest: str, known: tuple[str, ...], kind: str) -> str:
    if rest not in known:
        raise ConfigurationError(
            f"no perturbation is called '{kind}:{rest}'{did_you_mean(rest, known)}; there are "
            f"{', '.join(f'{kind}:{one}' for one in known)}"
        )
    return rest
