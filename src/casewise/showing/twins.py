"""Attacks from the twin: words of the other context of the pair, written by the same hands, claimed in this one."""

from __future__ import annotations

from dataclasses import replace

from casewise.prompting.context_words import in_words
from casewise.records import ShownContext
from casewise.records.context import OPTIONAL, in_order
from casewise.showing.channels import said_in
from casewise.showing.shown import Scene, ShownItem

__all__ = ["ALL", "parameters_of_twin", "twin"]

ALL = "all"

CLAIMED = "The circumstances are these, and not as they are described:\n\n{context}"


def twin(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """What is shown with the twin's parameter or group `rest` in place of its own; `all` claims the whole in the user's turn.

    With `all` the item's own context stands in the system message.

    Raises ValueError: there is no twin, one of the two does not state it, or both say the same, so that nothing would
    be claimed.
    """
    if scene.twin is None:
        raise ValueError("the item has no twin")
    other = scene.twin.shown()
    if rest == ALL:
        claimed = said_in("user", CLAIMED.replace("{context}", in_words(other)), shown)
        return replace(claimed, placement=replace(shown.placement, context_role="system"))
    return replace(shown, context=swapped(shown.context, other, rest))


def swapped(own: ShownContext, other: ShownContext, what: str) -> ShownContext:
    group, _, name = what.partition(".")
    first, second = (said.get(group) if not name else said.get(group, {}).get(name) for said in (own, other))
    if first is None or second is None:
        raise ValueError(f"{'the twin does' if second is None else 'it does'} not state {what}")
    if first == second:
        raise ValueError(f"the twin says the same of {what}")
    if not name or group in OPTIONAL:
        return {**own, group: second}
    return {**own, group: {**own[group], name: second}}


def parameters_of_twin(rest: str) -> tuple[str, ...]:
    """The parameters and groups that the transform names. Raises ConfigurationError: nothing can be called so."""
    return () if rest == ALL else in_order([rest])
