"""Actions: a call of a tool by an agent, with the parameters of the flow of information that it makes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue

from casewise.records.base import Record
from casewise.records.context import Text

Direction = Literal["inward", "outward", "across"]
"""inward: to the agent's user; outward: from the user to others; across: from one other party to another."""


def one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


class Action(Record):
    """A call of a tool by an agent. An unstated part is None, which differs from an empty one."""

    tool: Text
    """The tool's name, as the agent calls it."""
    arguments: dict[str, JsonValue] | None = None
    """Arguments of the call; None where they were not recorded."""
    agent: Text | None = None
    """The agent, or the session of one, that calls."""
    recipient: Text | None = None
    """Recipient of the information: a person, a group, a server."""
    subject: Text | None = None
    """Whom the information is about."""
    information: Annotated[
        tuple[Text, ...], BeforeValidator(one_or_several), Field(exclude_if=lambda types: not types)
    ] = ()
    """The types of information that flow."""
    direction: Direction | None = None
    """The direction of the flow, seen from the agent's user."""
