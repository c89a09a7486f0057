"""A request as a decider is given it, and as its judge is asked: what is shown is given, not derived from a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from casewise.deciding.decider_file import MeasuredOn
from casewise.errors import ConfigurationError
from casewise.judging.judge import Ask
from casewise.models.protocol import Message
from casewise.records import Arm, Elicitation, Item, Query, ShownContext
from casewise.records.context import OPTIONAL, omit
from casewise.showing import Placement, ShownItem

__all__ = ["DecisionRequest", "from_messages"]

UNKNOWN = (None, "", "unknown", "Unknown")
"""What a deployer writes for a parameter that nobody knows: it is then not shown."""

SUCH = '{"recipient": {"type": "a nurse"}}'

ITEM = Item.model_construct(id="request", query_id="request", context_id=None, condition="no_context")

QUERY = Query.model_construct(id="request", text="", category="")
"""Judges look at what is shown; making a record of each request would take as long as all else together."""

NO_TURNS = Placement()


@dataclass(frozen=True)
class DecisionRequest:
    """What is to be decided."""

    query: str
    """What the user asks."""
    context: Mapping[str, Any] | None = None
    """The circumstances as far as they are known: group to parameter to statement."""
    earlier: tuple[Message, ...] = ()
    """Turns that went before."""
    reply: str | None = None
    """A chatbot's reply, for a guard that judges replies."""

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise ConfigurationError("a request needs a query: a text that says something")
        if not isinstance(self.context, Mapping | None):
            raise ConfigurationError(f"a context is a mapping of groups, such as {SUCH}")
        for group, said in (self.context or {}).items():
            if group not in OPTIONAL and not isinstance(said, Mapping) and said not in UNKNOWN:
                raise ConfigurationError(f"a group of the context holds parameters by name, such as {SUCH}")

    @cached_property
    def known(self) -> ShownContext:
        """The context without what is unknown."""
        found: ShownContext = {}
        for group, said in (self.context or {}).items():
            if group in OPTIONAL or not isinstance(said, Mapping):
                kept = said if said not in UNKNOWN else None
            else:
                kept = {name: one for name, one in said.items() if one not in UNKNOWN}
            if kept:
                found[group] = kept
        return found

    def shown(self, arm: Arm) -> ShownItem:
        """What the judge sees of it."""
        known = self.known
        context = known if arm.shows_all else omit(known, arm.omitted) if arm.omitted != EVERYTHING else {}
        return ShownItem(self.query, context, NO_TURNS if not self.earlier else Placement(earlier=self.earlier))

    def ask(self, arm: Arm, elicitation: Elicitation) -> Ask:
        """The request as the judge is asked it."""
        return AskedNow(ITEM, QUERY, None, arm, elicitation, given=self.shown(arm), reply=self.reply)

    def unmeasured(self, on: MeasuredOn) -> tuple[str, ...]:
        """How this differs from what the decider was measured on; empty where it does not."""
        stated = tuple(
            group if group in OPTIONAL else f"{group}.{name}"
            for group, said in self.known.items()
            for name in ((group,) if group in OPTIONAL else said)
        )
        found = []
        if not stated and not on.without_context:
            found.append("it has no context, and was measured with one")
        if stated and (missing := [name for name in on.always if name not in stated]):
            found.append(f"the context does not state {', '.join(missing)}")
        if new := [name for name in stated if name not in on.always and name not in on.sometimes]:
            found.append(f"the context states {', '.join(new)}, which no measured context did")
        if self.earlier:
            found.append("it has earlier turns, and single requests were measured")
        if self.reply is not None:
            found.append("it has a reply, and requests were measured")
        return tuple(found)


NOTHING = ShownItem("", {})

EVERYTHING = Arm.named("none").omitted


@dataclass(frozen=True)
class AskedNow(Ask):
    """An ask of what no benchmark holds."""

    given: ShownItem = NOTHING

    @cached_property
    def shown(self) -> ShownItem:
        return self.given


ROLES = ("system", "developer", "user", "assistant")


def from_messages(messages: Sequence[Mapping[str, Any]], context: Mapping[str, Any] | None = None) -> DecisionRequest:
    """The request of a chat: the user's last message is the query, a reply behind it is judged, what went before is shown.

    What a system message says is shown as a parameter of its own, `system_prompt.text`, where the context says nothing
    of it. Several replies behind the last query are one. Raises ConfigurationError: there is no user's message, or one
    is no message.
    """
    said = []
    for message in messages:
        role, content = (message.get(name) if isinstance(message, Mapping) else None for name in ("role", "content"))
        if role not in ROLES or not isinstance(content, str):
            raise ConfigurationError(f"a message has a role ({', '.join(ROLES)}) and a text as its content")
        said.append((str(role), content))
    places = [place for place, (role, _) in enumerate(said) if role == "user"]
    if not places:
        raise ConfigurationError("the messages hold none of the user's: there is nothing to decide")
    last = places[-1]
    system = "\n\n".join(text for role, text in said if role in ROLES[:2])
    whole = context
    if system and isinstance(context, Mapping | None):
        own = (context or {}).get("system_prompt")
        known = {name: one for name, one in own.items() if one not in UNKNOWN} if isinstance(own, Mapping) else {}
        if isinstance(own, Mapping) or own in UNKNOWN:
            whole = {**(context or {}), "system_prompt": {"text": system, **known}}
    earlier = tuple(
        Message("user" if role == "user" else "assistant", text) for role, text in said[:last] if role not in ROLES[:2]
    )
    replies = [text for role, text in said[last + 1 :] if role == "assistant"]
    return DecisionRequest(said[last][1], whole or None, earlier, "\n\n".join(replies) if replies else None)
