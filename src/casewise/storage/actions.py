"""Actions in words that a layperson understands, without the secrets that their arguments hold."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

from pydantic import Field, JsonValue, ValidationError

from casewise.records import Action, as_text
from casewise.records.base import Record, canonical_json, read_record, shipped_toml
from casewise.storage.files import first_problem
from casewise.text import count_of

# Words for an action: a template, which a user may replace.


class ToolWords(Record):
    """The words for one tool, with places in braces."""

    text: str


class ActionTemplate(Record):
    """The words for actions, under one name and version."""

    name: str
    version: str
    not_recorded: str
    """The text for arguments that were not recorded."""
    nothing: str
    """Stands in place of the arguments where there are none."""
    default: ToolWords
    tools: dict[str, ToolWords] = Field(default_factory=dict)
    """Words of tools by name, where a tool has words of its own."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a user's template. Raises DataError: the file is not TOML, or no template; the message says where."""
        return read_record(path, cls, "words for actions")

    def render(self, action: Action) -> str:
        """Return an action in words. A line with an unknown placeholder is left out. Values are never read as templates."""
        tool_template = self.tools.get(action.tool)
        known: dict[str, str] = {
            "tool": tool_in_words(action.tool),
            "arguments": self.arguments(action.arguments),
            "information": "; ".join(action.information),
            **{name: getattr(action, name) or "" for name in ("agent", "recipient", "subject")},
        }
        arguments = (
            {}
            if tool_template is None
            else {name: as_text(value) for name, value in (action.arguments or {}).items() if value}
        )
        lines = []
        for line in (tool_template or self.default).text.strip().split("\n"):
            parts = PLACE.split(line)  # every second one is the name of a place
            parts[1::2] = [known.get(name) or arguments.get(name, "") for name in parts[1::2]]
            if all(parts[1::2]):
                lines.append("".join(parts))
        return "\n".join(lines)

    def arguments(self, arguments: Mapping[str, JsonValue] | None) -> str:
        """Return the arguments of a call, one in each line."""
        if arguments is None:
            return self.not_recorded
        return (
            "\n".join(f"{tool_in_words(name)}: {argument_in_words(value)}" for name, value in arguments.items())
            or self.nothing
        )


PLACE = re.compile(r"\{(\w+)\}")

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


def tool_in_words(name: str) -> str:
    """Return the name of a tool or an argument in words.

    Examples
    --------
    >>> tool_in_words("send_email"), tool_in_words("FacebookManagerCreatePost"), tool_in_words("files.readURL")
    ('send email', 'Facebook manager create post', 'files read URL')
    """
    words = WORD.findall(name)
    return " ".join(word if not place or word.isupper() else word.lower() for place, word in enumerate(words)) or name


def argument_in_words(value: JsonValue) -> str:
    """Return a value in words. A text is unchanged, and a missing value is a dash."""
    return "–" if value in (None, "", [], {}) else as_text(value)


@cache
def action_words() -> ActionTemplate:
    """Return the words that casewise ships."""
    return ActionTemplate.model_validate(shipped_toml("casewise.storage", "actions.toml"))


# Secrets: keys, passwords and numbers of cards in what a call hands over, or in the conversation before it.


SECRET_NAMES = re.compile(
    r"(?i)(?:^|[_\-. ])(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_\- ]?key|private[_\- ]?key|access[_\- ]?key|authorization|"
    r"credentials?|cookies?|session[_\- ]?id|otp|pin|cvv|cvc|ssn)(?:$|[_\-. ])"
)
"""Names of arguments whose whole value is a secret. CamelCase is split before."""

SECRET_TEXTS: dict[str, re.Pattern[str]] = {
    "private key": re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
    ),
    "web token": re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    "access key": re.compile(
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}\b|\bgh[pousr]_[A-Za-z0-9]{30,}\b|"
        r"\bgithub_pat_\w{30,}\b|\bxox[abprs]-[\w-]{10,}\b|\bAIza[\w-]{35}\b|\bglpat-[\w-]{20,}\b"
    ),
    "bearer token": re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/_.~-]{16,}=*"),
    "password": re.compile(r"(?i)(?<=://)[^\s/:@]+:[^\s/@]+(?=@)|\b(?:password|passwd|pwd)\s*[:=]\s*[^\s,;&]+"),
    "card number": re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])"),
}
"""Texts that are secrets wherever they stand, by what they are."""


@dataclass
class Mask:
    """A mask that replaces secrets, and counts them by kind."""

    found: Counter[str] = field(default_factory=Counter)

    def text(self, text: str) -> str:
        """Return a text with each secret in it replaced by its kind in square brackets."""
        for kind, pattern in SECRET_TEXTS.items():
            text = pattern.sub(partial(self.hidden, kind), text)
        return text

    def hidden(self, kind: str, secret: re.Match[str]) -> str:
        if kind == "card number" and not passes_luhn(secret[0]):
            return secret[0]
        return self.counted(kind)

    def counted(self, kind: str) -> str:
        self.found[kind] += 1
        return f"[{kind} masked]"

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value with the secrets in it replaced; `name` is what it is called."""
        if isinstance(value, Mapping):
            return {key: self.value(part, str(key)) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(part, name) for part in value]
        if value not in (None, "", True, False) and SECRET_NAMES.search(" ".join(WORD.findall(name))):
            return self.counted(tool_in_words(name))
        return self.text(value) if isinstance(value, str) else value

    def turns(self, turns: Any) -> list[Any]:
        """Return the turns of a conversation with the secrets in their texts replaced."""
        return [
            {**turn, "text": self.text(turn["text"])}
            if isinstance(turn, Mapping) and isinstance(turn.get("text"), str)
            else turn
            for turn in turns
        ]

    def sentence(self) -> str | None:
        """Return a sentence about the masked values, or None if there are none."""
        if not self.found:
            return None
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.found.most_common())
        return f"{count_of(self.found.total(), 'secret')} masked ({kinds}). Patterns find the usual forms only: look through what you publish. --keep-secrets keeps them."


def passes_luhn(number: str) -> bool:
    """Return whether the digits of a number pass the check of payment cards (ISO/IEC 7812)."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    return (
        sum(digit if place % 2 == 0 else sum(divmod(2 * digit, 10)) for place, digit in enumerate(reversed(digits)))
        % 10
        == 0
    )


def action_of(cell: Any) -> Action:
    """Return the action that a cell states: an object with `tool`, and perhaps the other fields of `Action`.

    Raises ValueError: it states none; the message says what is wrong.
    """
    try:
        return Action.model_validate(cell)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from error


def arguments_digest(arguments: Mapping[str, JsonValue]) -> str:
    """Return `sha256:` and the digest of a call's arguments as JSON with sorted keys and no spaces (RFC 8785 for texts and whole numbers)."""
    return f"sha256:{hashlib.sha256(canonical_json(arguments).encode('utf-8', 'surrogatepass')).hexdigest()}"
