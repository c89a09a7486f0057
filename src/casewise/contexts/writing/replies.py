"""Reading a model's reply as the words of a context: valid, or a reason why not. A bad reply is data, not an error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from casewise.contexts.checking.wording import Wording
from casewise.models.protocol import Reply
from casewise.prompting.json_in_reply import top_objects
from casewise.prompting.refusals import refuses
from casewise.records import ParameterSet, paper_parameters

__all__ = ["Failed", "FailedReason", "Read", "read_reply"]


class FailedReason(StrEnum):
    """Why a reply is no context."""

    REFUSED = "refused"
    PROSE = "no JSON"
    MISSING = "parameters missing"
    WRONG_KIND = "not a text"
    TRUNCATED = "truncated"
    REPEATS = "repeats itself"
    SEVERAL = "several contexts"
    CONTENT_FILTER = "content filter"
    BAD_REQUEST = "bad request"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True)
class Read:
    """A valid context. `ignored` are keys that nobody asked for."""

    wording: Wording
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """No context, and why."""

    reason: FailedReason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


POLICY = re.compile(r"\bagainst my (?:guidelines|policies)\b", re.IGNORECASE)
LONGEST_TEXT = 4000
LOOPS = 4
"""As often as a phrase of `PHRASE` words may stand in one text before it counts as a loop."""
PHRASE = 6


def read_reply(reply: Reply, parameters: ParameterSet = paper_parameters()) -> Read | Failed:
    """The context in `reply`, which was to state all of `parameters`, or why there is none.

    The reply may wrap its one JSON object in prose or a code fence. A parameter that is missing, empty or no text
    makes it fail; keys that nobody asked for are left out and named.
    """
    if reply.finish_reason == "length":
        return Failed(FailedReason.TRUNCATED, "the reply was cut off at its longest allowed length")
    if reply.finish_reason == "content_filter":
        return Failed(FailedReason.CONTENT_FILTER, "the endpoint filtered the reply")
    objects = list(top_objects(reply.text))
    if not objects:
        return without_json(reply)
    if any(other != objects[0] for other in objects[1:]):
        return Failed(FailedReason.SEVERAL, f"there are {len(objects)} different JSON objects in the reply")
    if (declined := next((text for text in texts_in(objects[0]) if declines(text)), None)) is not None:
        return Failed(FailedReason.REFUSED, " ".join(declined.split())[:200])
    return as_wording(objects[0], parameters)


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, in its order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def declines(text: str) -> bool:
    """Whether the model speaks of itself and declines, where the words of a context should stand."""
    return refuses(text) or POLICY.search(text) is not None


def without_json(reply: Reply) -> Failed:
    said = " ".join((reply.refusal or reply.text).split())[:200]
    if reply.refusal or declines(reply.text):
        return Failed(FailedReason.REFUSED, said)
    if reply.text.count("{") > reply.text.count("}"):
        return Failed(FailedReason.TRUNCATED, "the JSON object does not end")
    return Failed(FailedReason.PROSE, said or "the reply is empty")


def as_wording(value: dict[str, Any], parameters: ParameterSet) -> Read | Failed:
    said, ignored = flattened(value, parameters.names)
    wrong = [name for name, text in said.items() if not isinstance(text, str)]
    if wrong:
        return Failed(FailedReason.WRONG_KIND, f"{', '.join(wrong)}: not a text")
    missing = [name for name in parameters.names if not said.get(name, "").strip()]
    if missing:
        return Failed(FailedReason.MISSING, ", ".join(missing))
    if (problem := repeats(said)) is not None:
        return Failed(FailedReason.REPEATS, problem)
    return Read(Wording.from_fields(said, parameters), tuple(ignored))


def flattened(value: dict[str, Any], wanted: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    """Dotted names to what stands there, and the names of what nobody asked for."""
    said: dict[str, Any] = {}
    ignored: list[str] = []
    for group, inner in value.items():
        parts = inner if isinstance(inner, dict) else {"": inner}
        for key, text in parts.items():
            name = ".".join(part for part in (plain(group), plain(key)) if part)
            if name in wanted:
                said[name] = text
            else:
                ignored.append(name)
    return said, ignored


def plain(key: str) -> str:
    """`Transmission Principle` and `transmission-principle` are `transmission_principle`."""
    return re.sub(r"[\s_-]+", "_", key.strip().lower())


def repeats(said: dict[str, str]) -> str | None:
    """What is said over and over, or None."""
    for name, text in said.items():
        if len(text) > LONGEST_TEXT:
            return f"{name} has {len(text)} characters"
        words = text.lower().split()
        phrases = Counter(" ".join(words[at : at + PHRASE]) for at in range(len(words) - PHRASE + 1))
        if phrases and (most := phrases.most_common(1)[0])[1] >= LOOPS:
            return f"{name} says {most[1]} times {most[0]!r}"
    texts = Counter(" ".join(text.lower().split()) for text in said.values())
    text, count = texts.most_common(1)[0]
    return f"{count} parameters say {text[:80]!r}" if count > 2 else None
