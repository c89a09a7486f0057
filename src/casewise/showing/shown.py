"""What is shown, where it goes, and what a transform may look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from casewise.models.protocol import Message
from casewise.prompting.layouts import Layout
from casewise.records import Context, Query, ShownContext

__all__ = ["ContextRole", "LooksUp", "Placement", "Scene", "ShownItem"]

ContextRole = Literal["user", "system"]


@dataclass(frozen=True)
class Placement:
    """Where the parts of what is shown go, as far as a transform decides that."""

    context_role: ContextRole | None = None
    """The message that holds the context; None leaves it to the prompts."""
    earlier: tuple[Message, ...] = ()
    """Turns that went before, as if the conversation had begun with them."""
    system: tuple[str, ...] = ()
    """What else the system message says, behind the context where that stands in it."""
    layout: Layout | None = None
    """How the context is laid out; None leaves it to the prompts."""


@dataclass(frozen=True)
class ShownItem:
    """What a judge is shown of an item."""

    query: str
    context: ShownContext
    """Empty where nothing is shown of it."""
    placement: Placement = Placement()
    held_back: Literal["refused", "asked about"] | None = None
    """Whether it never comes to a judge, since a defence refuses it, or asks the user about it."""
    problem: str | None = None
    """Why a transform could not be done; then nothing is asked, and the item is unscored in that arm."""


class LooksUp(Protocol):
    """Knows what a model made of a text."""

    def of(self, maker: str, text: str) -> str: ...


@dataclass(frozen=True)
class Scene:
    """What a transform may look at besides what was shown before it."""

    query: Query
    context: Context | None
    twin: Context | None = None
    """The other context of the item's pair; None where there is none."""
    made: LooksUp | None = None
    """What models made of texts, where a transform needs that."""
