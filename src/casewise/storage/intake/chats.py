"""Chats as lists of messages, in the forms that model providers and data sets write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ROLES = ("role", "from", "speaker")
TEXTS = ("content", "text", "value")

SPEAKERS = {"human": "user", "gpt": "assistant", "ai": "assistant", "bot": "assistant", "developer": "system"}
"""Names of roles in data sets, and what they are called here. https://github.com/lm-sys/FastChat (ShareGPT): human, gpt."""


def turns_of(cell: Any) -> list[dict[str, str]] | None:
    """Return the turns of a chat, each with `role` and `text`; None where the cell is no chat.

    A message has a role (`role`, `from` or `speaker`) and a text (`content`, `text` or `value`), which may be a list of
    parts with texts. Messages without a text, such as calls of tools, are left out.
    """
    if isinstance(cell, Mapping) and isinstance(cell.get("messages"), list):
        cell = cell["messages"]
    if not isinstance(cell, list) or not cell:
        return None
    turns = []
    for message in cell:
        if not isinstance(message, Mapping):
            return None
        role = next((message[name] for name in ROLES if isinstance(message.get(name), str)), None)
        if role is None or not any(name in message for name in TEXTS):
            return None
        text = next((text_of(message[name]) for name in TEXTS if name in message), "")
        if text.strip():
            turns.append({"role": SPEAKERS.get(role, role), "text": text})
    return turns


def text_of(content: Any) -> str:
    """Return the text of a message: a text, or the texts among its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = (
            part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, Mapping))
        )
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def system_apart(turns: list[dict[str, str]]) -> tuple[str | None, list[dict[str, str]]]:
    """Return the system message with which a chat begins, or None, and the other turns."""
    if turns and turns[0]["role"] == "system":
        return turns[0]["text"], turns[1:]
    return None, turns
