"""Prompts as versioned values: what a judge is asked, and what a chatbot is sent."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from casewise.ask.elicitations import find_elicitation, names_asked
from casewise.ask.layouts import (
    ContextRole,
    Kind,
    Placement,
    ShownItem,
    conversation,
    filled,
    in_words,
    laid_out,
    turns_of_chat,
)
from casewise.errors import ConfigurationError, DataError, unknown_key
from casewise.models.protocol import Message
from casewise.records import ShownContext
from casewise.records.base import digest, read_toml, shipped_toml
from casewise.storage.files import read_text

AS_PROMPTED = Placement()


@dataclass(frozen=True)
class Prompt:
    """One elicitation's wording: with a context, and without (None: this set cannot ask without one)."""

    with_context: str
    without_context: str | None = None
    version: str | None = None
    """Its own; None: the set's."""
    in_system: str | None = None
    """The text that holds the context in the system message; None: as the set says."""


@dataclass(frozen=True)
class PromptSet:
    """The wording of all elicitations, under one name. Each elicitation has its own version and digest.

    `in_system` holds the context when it goes into the system message; `see_system` then stands where the user
    message would have held it. `doubled_braces` reads `{{` as `{`.
    """

    name: str
    version: str
    prompts: Mapping[str, Prompt]
    in_system: str = "{context}"
    see_system: str = "(It is given in the system message.)"
    context_as: Literal["text", "json"] = "text"
    doubled_braces: bool = False
    role: ContextRole = "user"
    bridge: str | None = None
    """The chat whose messages these are, but for the question: its id."""
    others: Mapping[tuple[Kind, str], Prompt] = field(default_factory=dict)
    """The prompts for what is no request by itself, by kind and elicitation. `{conversation}` holds what was said
    before."""

    def has(self, elicitation: str, kind: Kind = "request") -> bool:
        """Return whether there are words for it."""
        return (
            elicitation in self.prompts or find_elicitation(elicitation).with_context is not None
            if kind == "request" or self.in_turns(kind)
            else (kind, elicitation) in self.others
        )

    def in_turns(self, kind: Kind) -> bool:
        """Return True if a conversation stands in turns of the chat. The messages are then a chatbot's own, or there
        are no words for it."""
        in_conversation = any(asked_about == "conversation" for asked_about, _ in self.others)
        return kind == "conversation" and (self.bridge is not None or not in_conversation)

    def wording_id(self, elicitation: str, *, kind: Kind = "request") -> str:
        """Return name, version and a digest of one elicitation's wording: an edited text is another, whatever the rest says."""
        prompt = self.prompt(elicitation, kind)
        words = [prompt.with_context, prompt.without_context, *([prompt.in_system] if prompt.in_system else [])]
        return f"{self.name}@{prompt.version or self.version}+{digest({'prompt': words} | self.layout())[:8]}"

    def layout(self) -> dict[str, Any]:
        """Return what decides how a prompt is filled in, as JSON values."""
        return {
            "in_system": self.in_system if self.role == "system" else None,
            "see_system": self.see_system if self.role == "system" else None,
            "context_as": self.context_as,
            "doubled_braces": self.doubled_braces,
            "role": self.role,
        }

    def render(
        self, elicitation: str, query: str, shown: ShownContext, *, placement: Placement = AS_PROMPTED
    ) -> tuple[Message, ...]:
        """Return the messages that ask about the request `query`: see `render_item`."""
        return self.render_item(elicitation, ShownItem(query, shown, placement))

    def render_item(self, elicitation: str, item: ShownItem) -> tuple[Message, ...]:
        """Return the messages that ask about an item in its context (empty: none), each part where its placement says.

        Raises ConfigurationError: the set has no prompt for `elicitation` or for what is judged, or none without a context.
        """
        shown, placement = item.context, item.placement
        prompt = self.prompt(elicitation, item.kind)
        context = self.written(shown, placement) if shown else ""
        in_system = bool(shown) and (placement.context_role or self.role) == "system"
        values = {"query": item.query, "context": context}
        if item.kind != "request" and not self.in_turns(item.kind):
            values["query"] = without_tags(item.query)
            values["conversation"] = without_tags(conversation(item.before)) or NOTHING_BEFORE
        system = (
            (self._filled(prompt.in_system or self.in_system, values), *placement.system)
            if in_system
            else placement.system
        )
        first = (Message("system", "\n\n".join(system)),) if system else ()
        template = prompt.with_context if shown else prompt.without_context
        if template is None:
            raise ConfigurationError(
                f"the prompts {self.name!r} say nothing about asking without a context; "
                "add `without_context` to the file, or leave the arm 'none' out"
            )
        question = self._filled(template, values | ({"context": self.see_system} if in_system else {}))
        turns = turns_of_chat(item.before) if self.in_turns(item.kind) else ()
        return (*first, *turns, *placement.earlier, Message("user", question))

    def prompt(self, elicitation: str, kind: Kind = "request") -> Prompt:
        """Return the wording for `elicitation` about that kind of text."""
        if kind != "request" and not self.in_turns(kind):
            if (kind, elicitation) not in self.others:
                raise ConfigurationError(
                    f"the prompts {self.name!r} cannot ask about {KINDS[kind]} by {elicitation}: add a table "
                    f"[{kind}.{elicitation}] with with_context and without_context to the file, or ask with --prompts casewise"
                )
            return self.others[kind, elicitation]
        if elicitation not in self.prompts:
            own = find_elicitation(elicitation)
            if own.with_context is not None:
                return Prompt(own.with_context, own.without_context, own.version)
            raise ConfigurationError(
                f"the prompts {self.name!r} cannot ask for {elicitation!r}; they have {', '.join(self.prompts)}"
            )
        return self.prompts[elicitation]

    def written(self, shown: ShownContext, placement: Placement = AS_PROMPTED) -> str:
        """Return a context as the judge reads it: one parameter a line, or as JSON, or as an arm's transforms lay it out."""
        if placement.layout is not None:
            return laid_out(shown, placement.layout)
        return json.dumps(shown) if self.context_as == "json" else in_words(shown)

    def _filled(self, template: str, values: Mapping[str, str]) -> str:
        used = values if "{conversation}" in template else {name: values[name] for name in ("query", "context")}
        return filled(template, used, doubled_braces=self.doubled_braces)


def bridge_prompts(chat: Chat) -> PromptSet:
    """Return the judge's question in a chatbot's own messages: what it says and what it does then differ by the question alone."""
    words = chat.bridge
    with_context = words if chat.role == "system" else filled(words, {"query": chat.in_user})
    return PromptSet(
        f"bridge-{chat.name}",
        chat.version,
        {"binary": Prompt(with_context, words)},
        in_system=chat.system,
        role=chat.role,
        bridge=chat.id,
    )


@cache
def default_prompts() -> PromptSet:
    """Return the wording written for this project. What is no request by itself is asked about in one frame (`[frame]`)."""
    words = shipped_toml("casewise.ask", "prompts.toml")
    frame = words.pop("frame")
    kinds = {kind: words.pop(kind) for kind in KINDS}
    return prompt_set(
        words
        | {
            kind: {
                name: {
                    "version": frame["version"],
                    "in_system": frame["in_system"],
                    **{
                        form: filled(
                            frame[form], parts | {part: filled(text, parts) for part, text in frame[name].items()}
                        ).strip()
                        for form in ("with_context", "without_context")
                    },
                }
                for name in names_asked()
                if name in frame
            }
            for kind, parts in kinds.items()
        }
    )


def read_prompts(path: Path) -> PromptSet:
    """Return a prompt set from a TOML file: `name`, `version`, and tables `[binary]`, `[score]`, `[probability]`, each with
    `with_context` and perhaps `without_context` and a `version` of its own; `docs/how-to/prompts-and-arms.md` shows one. Tables
    `[conversation.binary]`, `[reply.binary]`, `[action.binary]` and so on ask about what is no request by itself.

    Raises DataError: the file is not TOML, or a template is missing, misspelt or without its placeholders.
    """
    table = read_toml(path, "prompts")
    try:
        return prompt_set(table)
    except ValueError as error:
        raise DataError(path, None, f"no prompts can be read: {error}") from error


KINDS: dict[Kind, str] = {"conversation": "a request after a conversation", "reply": "a reply", "action": "an action"}
"""The kinds that are no request by themselves: the tables of a file, and what they are about."""

TAG = re.compile(r"<(\s*/?\s*(?:conversation|steps|request|reply|action|circumstances)\s*)>", re.IGNORECASE)


def without_tags(text: str) -> str:
    """Return `text` in which no tag of the frame begins or ends: a stranger's words stay between those that hold them."""
    return TAG.sub(r"(\1)", text)


NOTHING_BEFORE = "(nothing before it is known)"

KNOWN_KEYS = {"name", "version", "in_system", "see_system", "context_as", *KINDS}


def prompt_set(values: Mapping[str, Any]) -> PromptSet:
    elicitations = names_asked()
    known_keys = KNOWN_KEYS.union(elicitations)
    if problem := unknown_key(values, known_keys):
        raise ValueError(f"{problem}; there are {', '.join(sorted(known_keys))}")
    if missing := sorted({"name", "version"} - set(values)):
        raise ValueError(f"{missing[0]!r} is missing")
    if values.get("context_as", "text") not in ("text", "json"):
        raise ValueError(f"'context_as' is {values['context_as']!r}, not 'text' or 'json'")
    prompts: dict[str, Prompt] = {name: checked_prompt(name, values[name]) for name in elicitations if name in values}
    if not prompts:
        raise ValueError(f"there is no prompt in it: add one of {', '.join(f'[{name}]' for name in elicitations)}")
    by_kind: dict[tuple[Kind, str], Prompt] = {}
    for kind in KINDS:
        tables = values.get(kind, {})
        if not isinstance(tables, Mapping):
            raise ValueError(f"{kind!r} is no table")  # noqa: TRY004 - it becomes a DataError
        if problem := unknown_key(tables, elicitations, within=f"{kind}."):
            raise ValueError(problem)
        by_kind |= {
            (kind, name): checked_prompt(f"{kind}.{name}", table, about_turns=True) for name, table in tables.items()
        }
    wordings: dict[str, Any] = {name: str(values[name]) for name in ("in_system", "see_system") if name in values}
    if "{context}" not in wordings.get("in_system", "{context}"):
        raise ValueError("'in_system' does not hold {context}")
    context_as = values.get("context_as", "text")
    return PromptSet(
        str(values["name"]), str(values["version"]), prompts, context_as=context_as, others=by_kind, **wordings
    )


def checked_prompt(name: str, table: Any, *, about_turns: bool = False) -> Prompt:
    needed = ("{query}", "{conversation}") if about_turns else ("{query}",)
    placeholders = {"with_context": (*needed, "{context}"), "without_context": needed, "in_system": ("{context}",)}
    if isinstance(table, Mapping) and (problem := unknown_key(table, (*placeholders, "version"), within=f"{name}.")):
        raise ValueError(problem)
    if not isinstance(table, Mapping) or "with_context" not in table:
        raise ValueError(f"[{name}] has no text called 'with_context'")
    for key in filter(table.__contains__, placeholders):
        if not isinstance(table[key], str):
            raise ValueError(f"[{name}] has no text called {key!r}")  # noqa: TRY004 - it becomes a DataError
        if missing := [placeholder for placeholder in placeholders[key] if placeholder not in table[key]]:
            raise ValueError(f"{key!r} of [{name}] does not hold {missing[0]}")
    version = str(table["version"]) if "version" in table else None
    return Prompt(table["with_context"], table.get("without_context"), version, table.get("in_system"))


PUBLISHED_NAMES = {"judge": "binary", "judgescore": "score", "judgelogits": "probability"}
"""The constants of the release's `scripts/template.py`, and what they ask for."""


def published_prompts(path: Path) -> PromptSet:
    """Return the paper's own wording, out of the release's `scripts/template.py`, which is read and never run.

    It inserts the context as `json.dumps` gives it, which leaves an empty object, `{}`, where nothing is shown. Raises
    DataError: the file is not Python, or lacks one of the three constants.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise DataError(path, None, f"not the release's scripts/template.py: {error}") from error
    constants: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            with suppress(ValueError):
                constants[node.targets[0].id] = ast.literal_eval(node.value)
    constants = {name: value for name, value in constants.items() if isinstance(value, str)}
    if missing := [name for name in PUBLISHED_NAMES if name not in constants]:
        raise DataError(path, None, f"there is no string constant called {missing[0]!r} in it")
    prompts = {
        elicitation: Prompt(constants[name], constants[name].replace("{context}", "{{}}"))
        for name, elicitation in PUBLISHED_NAMES.items()
    }
    return PromptSet("published", "135f221", prompts, context_as="json", doubled_braces=True)


STAND_IN = "stand-in"
"""The name of prompts that stand in for the paper's where these are not at hand."""


def stand_in_prompts() -> PromptSet:
    """Return casewise's own wording with the context as JSON, to rehearse the paper's protocol without the release's prompts."""
    return replace(default_prompts(), name=STAND_IN, context_as="json")


# The messages that a chatbot is sent: the user's message unchanged, and the circumstances as its deployer would know them.

UNKNOWN = "Nothing is known of the circumstances."
"""The text in place of the context in a deployer's own prompt where none is shown."""


@dataclass(frozen=True)
class Chat:
    """The wording and the message in which a context reaches a chatbot.

    `system` holds `{context}`; `in_user` holds `{context}` and `{query}`, for a context in the user's own turn.
    """

    name: str
    version: str
    system: str
    in_user: str
    bridge: str
    role: ContextRole = "system"
    always_system: bool = False
    """True if the system message is sent where no context is shown too, as a deployer's own is."""

    @property
    def id(self) -> str:
        """Name, version and a digest of the wording."""
        used = self.system if self.role == "system" else self.in_user
        return f"{self.name}@{self.version}+{digest([used, self.role, self.always_system])[:8]}"

    def messages(self, query: str, shown: ShownContext, *, placement: Placement = AS_PROMPTED) -> tuple[Message, ...]:
        """Return the conversation that the chatbot is to go on with; without a context it is the query alone.

        `placement`: where an arm's transforms put the context, the turns before, and further text of the system message.
        """
        context, system = laid_out(shown, placement.layout or "list"), placement.system
        in_system = shown and (placement.context_role or self.role) == "system"
        if in_system or self.always_system:
            system = (filled(self.system, {"context": context if in_system else UNKNOWN}), *system)
        first = (Message("system", "\n\n".join(system)),) if system else ()
        said = query if not shown or in_system else filled(self.in_user, {"context": context, "query": query})
        return (*first, *placement.earlier, Message("user", said))


def chat_with(*, role: ContextRole = "system", verified: bool = False, system: Path | None = None) -> Chat:
    """Return the wording that tells a chatbot of the circumstances.

    `verified`: say that the circumstances have been verified, as judges are told.
    `system`: a deployer's own system prompt, a text file that holds `{context}`.

    Raises ConfigurationError: options contradict each other; DataError: the file cannot be read, or does not hold
    `{context}`.
    """
    words = chat_wording()
    before = "verified_" if verified else ""
    name = f"{words['name']}{'-verified' if verified else ''}"
    chat = Chat(name, words["version"], words[f"{before}system"], words[f"{before}in_user"], words["bridge"], role)
    if system is None:
        return chat
    if verified or role == "user":
        raise ConfigurationError(
            "a system prompt of your own says itself what is verified, and holds the context itself"
        )
    text = read_text(system).strip()
    if "{context}" not in text:
        raise DataError(system, None, "does not hold {context}: write it where the circumstances are to stand")
    return Chat(system.name, "own", text, chat.in_user, chat.bridge, always_system=True)


@cache
def chat_wording() -> dict[str, str]:
    return {name: value.strip("\n") for name, value in shipped_toml("casewise.ask", "chat.toml").items()}
