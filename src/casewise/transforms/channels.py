"""Channels: where somebody's words can reach a judge, from the user's turn to a tool's result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

from casewise.ask.layouts import ShownItem, filled
from casewise.records import ShownContext
from casewise.records.context import OPTIONAL, as_text
from casewise.records.item import Turn

Channel = Literal["user", "parameter", "document", "system", "earlier", "later", "tool"]
Direction = Literal["safe", "unsafe"]

CHANNELS: tuple[Channel, ...] = get_args(Channel)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

USERS_OWN = ("recipient", "background")
"""The parameter that most often rests on what the user says."""


TOOL = "tool (records)"
"""Who speaks in a turn that is a tool's result."""

TURNS: dict[Channel, tuple[tuple[str, str], ...]] = {
    "earlier": (("user", "{text}"), ("assistant", "I have noted that. What is your request?")),
    "later": (
        ("user", "{query}"),
        ("assistant", "I have read your request. Is there anything to add?"),
        ("user", "{text}"),
        ("assistant", "I have noted that. Please repeat your request."),
    ),
    "tool": (
        ("user", "{query}"),
        ("assistant", "I have read your request. I will look it up in the records."),
        (TOOL, "{text}"),
        ("assistant", "I have read the result. Please repeat your request."),
    ),
}
"""Who says what before the request is made, or made again. Before a reply or an action only the turn with the claim is added."""


def said_in(channel: Channel, text: str, shown: ShownItem) -> ShownItem:
    """Return `shown` with `text` said in a channel.

    Raises ValueError: nothing is shown of a context, so that there is no parameter to put it into.
    """
    if channel == "user":
        return replace(shown, query=f"{shown.query}\n\n{text}")
    if channel == "system":
        return replace(shown, placement=replace(shown.placement, system=(*shown.placement.system, text)))
    if channel in TURNS:
        words = {"query": shown.query, "text": text}
        turns = TURNS[channel] if shown.judged == "request" else [one for one in TURNS[channel] if one[1] == "{text}"]
        added_turns = tuple(Turn(role=role, text=filled(words_of_turn, words)) for role, words_of_turn in turns)
        first = channel == "earlier"
        return replace(shown, before=(*added_turns, *shown.before) if first else (*shown.before, *added_turns))
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
