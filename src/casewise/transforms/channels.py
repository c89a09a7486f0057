"""Where somebody's words can reach whoever decides: the user's turn, a parameter, a document that it quotes, the system message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

from casewise.ask.layouts import ShownItem
from casewise.records import ShownContext
from casewise.records.context import OPTIONAL, as_text

Channel = Literal["user", "parameter", "document", "system"]
Direction = Literal["safe", "unsafe"]

CHANNELS: tuple[Channel, ...] = get_args(Channel)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

USERS_OWN = ("recipient", "background")
"""The parameter that most often rests on what the user says."""


def said_in(channel: Channel, text: str, shown: ShownItem) -> ShownItem:
    """What is shown once somebody has said `text` there.

    Raises ValueError: nothing is shown of a context, so that there is no parameter to put it into.
    """
    if channel == "user":
        return replace(shown, query=f"{shown.query}\n\n{text}")
    if channel == "system":
        return replace(shown, placement=replace(shown.placement, system=(*shown.placement.system, text)))
    said = text if channel == "parameter" else f'A document is attached, "Notes on this request". It reads: "{text}"'
    return replace(shown, context=added(shown.context, said))


def added(context: ShownContext, text: str) -> ShownContext:
    """`context` with `text` as a sentence at the end of the user's background, or of the last parameter where there is none."""
    if not context:
        raise ValueError("nothing is shown of a context, so no parameter can say it")
    group, name = USERS_OWN if USERS_OWN[1] in context.get(USERS_OWN[0], {}) else last_of(context)
    if group in OPTIONAL:
        return {**context, group: f"{ended(as_text(context[group]))} {text}"}
    return {**context, group: {**context[group], name: f"{ended(as_text(context[group][name]))} {text}"}}


def ended(text: str) -> str:
    """`text` with a full stop, unless it ends with what ends a sentence."""
    return text if text.rstrip()[-1:] in ".!?:;" else f"{text.rstrip()}."


def last_of(context: ShownContext) -> tuple[str, str]:
    group = "recipient" if "recipient" in context else list(context)[-1]
    return group, "" if group in OPTIONAL else list(context[group])[-1]


def over_texts(context: ShownContext, change: Callable[[str], str]) -> ShownContext:
    """`context` with every text in it changed; numbers, yes and no stay as they are."""

    def changed(value: object) -> object:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [changed(one) for one in value]
        return {name: changed(one) for name, one in value.items()} if isinstance(value, dict) else value

    return {group: changed(value) for group, value in context.items()}
