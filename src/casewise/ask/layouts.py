"""Layouts of contexts in messages, and the items that a judge is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol
from xml.sax.saxutils import escape

from casewise.models.protocol import Message
from casewise.notation import spoken
from casewise.records import Context, ParameterSet, Query, ShownContext
from casewise.records.context import OPTIONAL, Statement, as_text
from casewise.records.item import Judged, Turn

# Filling in a template in a single pass: what a value says is never read as a placeholder.


def filled(template: str, values: Mapping[str, str], *, doubled_braces: bool = False) -> str:
    """Return `template` with each `{name}` replaced by its value; other braces are themselves.

    With `doubled_braces`, `{{` and `}}` stand for single ones.

    Examples
    --------
    >>> filled("{query} {other}", {"query": "What is {query}?"})
    'What is {query}? {other}'
    """
    places = places_of(tuple(values), doubled_braces)
    return places.sub(lambda match: values[match[1]] if match[1] else match[0][:1], template)


@lru_cache(maxsize=256)
def places_of(names: tuple[str, ...], doubled_braces: bool) -> re.Pattern[str]:
    named = "|".join(map(re.escape, names))
    return re.compile(rf"\{{({named})\}}" + (r"|\{\{|\}\}" if doubled_braces else ""))


# A context in words: what its groups and parameters are called, for whom, and how it is laid out.
#
# A judge and a report read the names themselves. Reviewers and annotators read labels: reviewers know the theory,
# annotators do not.


class Label(NamedTuple):
    """The name of a group or parameter on a page, by who reads it."""

    reviewers: str
    annotators: str


LABELS: dict[str, Label] = {
    "sender": Label("Sender: the chatbot", "The chatbot"),
    "sender.nature_of_the_interaction": Label("Nature of the interaction", "Kind of conversation"),
    "sender.platform_type": Label("Platform", "Platform"),
    "recipient": Label("Recipient: the user", "The person asking"),
    "recipient.type": Label("Who the user is", "Who they are here"),
    "recipient.background": Label("The user's background", "Background"),
    "transmission_principle": Label("Transmission principle", "The terms"),
    "transmission_principle.urgency": Label("Urgency", "Urgency"),
    "transmission_principle.sender_purpose": Label("Purpose of the chatbot", "What the chatbot is for"),
    "transmission_principle.confidentiality": Label("Confidentiality", "Who can see the conversation"),
    "transmission_principle.source_accountability": Label(
        "Accountability for the source", "Who is responsible for what is said"
    ),
    "subject": Label("Subject", "Whom it is about"),
    "information_type": Label("Type of information", "Kind of information"),
}
"""Labels of the parameters by dotted name, in reading order."""

FOR_REVIEWERS = {name: label.reviewers for name, label in LABELS.items()}

FOR_ANNOTATORS = {name: label.annotators for name, label in LABELS.items()}


@dataclass(frozen=True)
class Labelled:
    """A group of what is shown: its name, and its parameters by name. A statement without a group has no name inside."""

    name: str
    statements: tuple[tuple[str, Statement], ...]


def groups(shown: ShownContext) -> Iterator[Labelled]:
    """Yield what is shown of a context, group by group."""
    for group, value in shown.items():
        yield Labelled(group, (("", value),) if group in OPTIONAL else tuple(value.items()))


@lru_cache(maxsize=1024)
def heading(name: str) -> str:
    """Return `nature_of_the_interaction` as it stands before what is said of it."""
    return spoken(name).capitalize()


def labels_of(parameters: ParameterSet) -> dict[str, str]:
    """Return what reviewers read for each group and parameter: its title, the paper's label, or its name in words."""
    words = {name: heading(name.rpartition(".")[2]) for name in (*parameters.group_names, *parameters.all_names)}
    return {name: parameters.titles.get(name) or FOR_REVIEWERS.get(name, word) for name, word in words.items()}


def in_words(shown: ShownContext) -> str:
    """Return a context as a judge reads it: a group a paragraph, a parameter a line, what stands under headings as running text."""
    lines = []
    for group in groups(shown):
        for name, statement in group.statements:
            if not name:
                lines.append(f"{heading(group.name)}: {as_text(statement)}")
                continue
            if name == group.statements[0][0]:
                lines.append(f"{heading(group.name)}:")
            lines.append(f"- {heading(name)}: {as_text(statement)}")
    return "\n".join(lines)


# The layout of a context for its reader: a list, prose, JSON or XML. The statements are the same.

Layout = Literal["list", "prose", "json", "xml"]


def laid_out(shown: ShownContext, layout: Layout) -> str:
    """Return a context in this layout.

    Examples
    --------
    >>> laid_out({"recipient": {"type": "a nurse"}}, "prose")
    'The type of the recipient is: a nurse'
    >>> laid_out({"recipient": {"type": "a nurse"}}, "xml")
    '<context><recipient><type>a nurse</type></recipient></context>'
    """
    if layout == "json":
        return json.dumps(shown, ensure_ascii=False)
    if layout == "list":
        return in_words(shown)
    if layout == "prose":
        sentences = [
            f"The {f'{spoken(name)} of the ' if name else ''}{spoken(group.name)} is: {as_text(statement)}"
            for group in groups(shown)
            for name, statement in group.statements
        ]
        ended = [text if text.endswith((".", "!", "?")) else f"{text}." for text in sentences[:-1]]
        return " ".join([*ended, *sentences[-1:]])
    whole = []
    for group in groups(shown):
        texts = [(name, escape(as_text(statement))) for name, statement in group.statements]
        inner = "".join(f"<{name}>{text}</{name}>" if name else text for name, text in texts)
        whole.append(f"<{group.name}>{inner}</{group.name}>")
    return f"<context>{''.join(whole)}</context>"


# The conversation before what is judged. Its turns are strangers' texts: only the first line of a turn begins at the margin,
# so that no text can pretend to be another turn.

ASSISTANTS = frozenset({"assistant", "chatbot", "bot", "model", "ai", "agent"})


def conversation(before: Sequence[Turn]) -> str:
    """Return the turns of a conversation as a judge reads them: who speaks and what is said, numbered.

    Examples
    --------
    >>> print(conversation([Turn(role="user", text="Hi\\n2. user: yes"), Turn(role="assistant", text="Hello")]))
    1. user: Hi
       2. user: yes
    2. assistant: Hello
    """
    return "\n".join(
        f"{number}. {' '.join(turn.role.split())}: " + "\n   ".join(turn.text.splitlines())
        for number, turn in enumerate(before, 1)
    )


def turns_of_chat(before: Sequence[Turn]) -> tuple[Message, ...]:
    """Return the same as messages of a chat. Who is neither the user nor the assistant is named in a turn of the user's."""
    return tuple(
        Message("assistant", turn.text)
        if turn.role.lower() in ASSISTANTS
        else Message("user", turn.text if turn.role.lower() in {"user", "human"} else f"{turn.role}: {turn.text}")
        for turn in before
    )


# What is shown, where it goes, and what a transform may look at.

ContextRole = Literal["user", "system"]


@dataclass(frozen=True)
class Placement:
    """The places of the parts of what is shown, as far as a transform decides them."""

    context_role: ContextRole | None = None
    """The message that holds the context; None leaves it to the prompts."""
    earlier: tuple[Message, ...] = ()
    """Turns that went before, as if the conversation had begun with them."""
    system: tuple[str, ...] = ()
    """Further text of the system message, behind the context where that stands in it."""
    layout: Layout | None = None
    """The layout of the context; None leaves it to the prompts."""


Kind = Literal["request", "conversation", "reply", "action"]
"""The kind of what is judged: a request, a request after a conversation, a reply, an action."""


def kind_of(judged: Judged, before: Sequence[Turn]) -> Kind:
    """Return the kind of text that prompts have words for."""
    return "conversation" if judged == "request" and before else judged


@dataclass(frozen=True)
class ShownItem:
    """An item as a judge is shown it."""

    query: str
    context: ShownContext
    """Empty where nothing is shown of it."""
    placement: Placement = Placement()
    held_back: Literal["refused", "asked about"] | None = None
    """The reason why it never comes to a judge: a defence refuses it, or asks the user about it."""
    problem: str | None = None
    """The reason why a transform could not be done. Then nothing is asked, and the item is unscored in that arm."""
    judged: Judged = "request"
    """The kind of `query`: a user's request, a chatbot's reply or an action of an agent."""
    before: tuple[Turn, ...] = ()
    """The conversation before it."""

    @property
    def kind(self) -> Kind:
        """The kind of prompt text that asks about it."""
        return kind_of(self.judged, self.before)

    def as_json(self) -> dict[str, Any]:
        """Return JSON values, without what only some benchmarks have: it tells calls apart, also those of before."""
        chat = {"judged": self.judged, "before": [vars(turn) for turn in self.before]}
        rest = {name: value for name, value in vars(self).items() if name not in chat}
        return {**rest, **(chat if self.kind != "request" else {})}


class MadeTextLookup(Protocol):
    """Knows what a model made of a text, or wrote for a place."""

    def look_up(self, maker: str, text: str) -> str: ...

    def written(self, maker: str, place: str) -> str: ...


@dataclass(frozen=True)
class Scene:
    """All that a transform may look at besides what was shown before it."""

    query: Query
    context: Context | None
    twin: Context | None = None
    """The other context of the item's pair; None where there is none."""
    made: MadeTextLookup | None = None
    """Texts that models made, where a transform needs them."""
