"""The messages that a chatbot is sent: the user's message unchanged, and the circumstances as its deployer would know
them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from casewise.ask.layouts import Layout, filled, laid_out
from casewise.errors import ConfigurationError, DataError
from casewise.models.protocol import Message
from casewise.records import ShownContext
from casewise.records.base import digest, shipped_toml
from casewise.storage.files import read_text

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
    role: Literal["user", "system"] = "system"
    always_system: bool = False
    """True if the system message is sent where no context is shown too, as a deployer's own is."""

    @property
    def id(self) -> str:
        """Name, version and a digest of the wording."""
        used = self.system if self.role == "system" else self.in_user
        return f"{self.name}@{self.version}+{digest([used, self.role, self.always_system])[:8]}"

    def messages(
        self,
        query: str,
        shown: ShownContext,
        *,
        earlier: tuple[Message, ...] = (),
        role: Literal["user", "system"] | None = None,
        system: tuple[str, ...] = (),
        layout: Layout | None = None,
    ) -> tuple[Message, ...]:
        """The conversation that the chatbot is to go on with; without a context it is the query alone.

        `earlier`: turns that went before, by an arm's transform.
        `role`: the message that holds the context, where a transform decides it.
        `system`: what else the system message says, by an arm's transforms.
        `layout`: how the context is laid out, where a transform decides it.
        """
        context = laid_out(shown, layout or "list")
        in_system = shown and (role or self.role) == "system"
        if in_system or self.always_system:
            system = (filled(self.system, {"context": context if in_system else UNKNOWN}), *system)
        first = (Message("system", "\n\n".join(system)),) if system else ()
        if not shown or in_system:
            return (*first, *earlier, Message("user", query))
        return (*first, *earlier, Message("user", filled(self.in_user, {"context": context, "query": query})))


def chat_with(
    *, role: Literal["user", "system"] = "system", verified: bool = False, system: Path | None = None
) -> Chat:
    """Return the wording that tells a chatbot of the circumstances.

    `verified`: say that the circumstances have been verified, as judges are told.
    `system`: a deployer's own system prompt, a text file that holds `{context}`.

    Raises ConfigurationError: options contradict each other; DataError: the file cannot be read, or does not hold
    `{context}`.
    """
    words = wording()
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
def wording() -> dict[str, str]:
    return {name: value.strip("\n") for name, value in shipped_toml("casewise.ask", "chat.toml").items()}
