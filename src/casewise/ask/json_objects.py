"""JSON as language models write it: inside prose, in code fences, with single quotes, comments or trailing commas.

`find_objects` mends the usual slips, where a word or a number is all that is wanted; `top_objects` takes only what is JSON, where
every word of the reply is going to be kept. Both are total: no text raises, and none takes long.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from casewise.records.base import escape_all_surrogates

Found = dict[str, Any]

LONGEST_SCAN = 100
"""Opening braces that are looked at; a reply with more of them is no JSON that we asked for."""
LONGEST_REPAIRED = 20_000
"""Characters of the longest text in which slips are mended."""
DEEPEST = 40
"""Levels of brackets; a text with more of them is no JSON that we asked for."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """An object or list in a text, and where it stands."""

    value: Any
    """The object or list; None where it begins like one and cannot be read."""
    start: int
    end: int
    as_written: bool
    """True if it is JSON without any mending."""


def without_contradiction(pairs: list[tuple[str, Any]]) -> Found:
    """Return an object, unless a key stands twice in it with two values: then its meaning is unknown."""
    value = dict(pairs)
    if any(value[key] != repeated for key, repeated in pairs):
        raise ValueError("a key stands twice with two values")
    return value


def finite(number: str) -> float | None:
    """Return a number, or None where it is too large for one: a value that no scale has."""
    value = float(number)
    return value if math.isfinite(value) else None


def integer(number: str) -> int | None:
    """Return an integer, or None where it has more digits than any that is asked for."""
    return int(number) if len(number) <= 18 else None


DECODER, LENIENT = (
    json.JSONDecoder(
        object_pairs_hook=without_contradiction,
        parse_float=finite,
        parse_int=integer,
        parse_constant=lambda _name: None,  # NaN and the infinities
        strict=strict,
    )
    for strict in (True, False)
)


def values_in(text: str, *, opening: str = "{[") -> Iterator[JsonValue]:
    """Yield the objects and lists anywhere in `text`, in a sentence too, without those nested in them."""
    at, starts = 0, re.compile(f"[{re.escape(opening)}]")
    for _ in range(LONGEST_SCAN):
        if (match := starts.search(text, at)) is None:
            return
        candidate = read_value(text, match.start())
        at = match.start() + 1 if candidate.value is None else candidate.end
        if candidate.value is not None:
            yield candidate


def objects_in(text: str) -> Iterator[Found]:
    """Yield the objects anywhere in `text`, without those nested in them."""
    return (candidate.value for candidate in values_in(text, opening="{") if isinstance(candidate.value, dict))


def find_objects(text: str) -> list[Found]:
    """Return the objects anywhere in `text`, in order, each before those nested in it."""
    return [inner for value in objects_in(text) for inner in nested(value)]


def nested(value: Any) -> Iterator[Found]:
    """Yield an object and those within it; depth is bounded by `read_value`."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from nested(inner)


def read_value(text: str, start: int) -> JsonValue:
    """Return the object or list that begins at a bracket; its value is None where it cannot be mended."""
    end = extent(text, start)
    if end is None:
        return JsonValue(None, start, len(text), as_written=False)
    try:
        value, stop = DECODER.raw_decode(text[:end], start)
    except (ValueError, RecursionError):
        value = repaired(text[start:end]) if end - start <= LONGEST_REPAIRED else None
        value = escape_all_surrogates(value) if isinstance(value, (dict, list)) else None
        return JsonValue(value, start, end, as_written=False)
    return JsonValue(escape_all_surrogates(value), start, stop, as_written=True)


BRACKET = re.compile(r"""[\[\]{}]|"(?:[^"\\\n]|\\.)*(?:"(?=\s*[,:}\]])|\n)""")
ANY_BRACKET = re.compile(r"[\[\]{}]")


def extent(text: str, start: int) -> int | None:
    """Return the end of the brackets that open at `start`: those in strings left out, or, where that does not close them,
    all. None where they never close, or are nested too deep to be JSON that was asked for."""
    for brackets in (BRACKET, ANY_BRACKET):
        depth = 0
        for match in brackets.finditer(text, start):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
            if depth == 0:
                return match.end()
            if depth > DEEPEST:
                return None
    return None


STRAIGHT = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
COMMENT = re.compile(r"(?<!:)//[^\n\"]*(?=\n|\Z)|/\*[^\"]{0,500}?\*/")
TRAILING_COMMA = re.compile(r",\s*([}\]])")
MISSING_COMMA = re.compile(r'("|\d|true|false|null)(\s*\n\s*)(?=")')
BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)")


def repaired(text: str) -> Any:
    """Return `text` as JSON or as a Python literal after the usual slips are mended; None if it still is neither."""
    for candidate in repairs(text):
        for parse in (LENIENT.decode, literal):
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                return parse(candidate)
    return None


def literal(text: str) -> Any:
    """Return `text` as a Python literal of JSON's types in which no key stands twice."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(keys)) < len(keys):
                raise ValueError("a key stands twice")
    return DECODER.decode(json.dumps(ast.literal_eval(tree), allow_nan=False))


def repairs(text: str) -> Iterator[str]:
    yield text
    if '\\"' in text:
        yield text.replace('\\"', '"')
    text = TRAILING_COMMA.sub(r"\1", COMMENT.sub("", text.translate(STRAIGHT)))
    yield text
    text = MISSING_COMMA.sub(r"\1,\2", text)
    yield text
    yield BARE_KEY.sub(r'\1"\2"\3', text)


def top_objects(text: str) -> Iterator[Found]:
    """Yield the outermost JSON objects in `text`; none of those inside one that is cut off."""
    at = text.find("{")
    for _ in range(LONGEST_SCAN):
        if at < 0:
            return
        candidate = read_value(text, at)
        if candidate.as_written:
            yield candidate.value
        elif text.count("{", at) > text.count("}", at):
            return  # cut off: what is whole inside is only a part
        at = text.find("{", candidate.end if candidate.as_written else at + 1)


def closest_key(value: Found, names: tuple[str, ...]) -> str | None:
    """Return the key of `value` that is one of `names`, or nearly: `judgment` and `judgemnt` are `judgement`."""
    exact = (name for name in names if name in value)
    near = (key for name in names for key in value if nearly(str(key).strip().lower(), name))
    return next(exact, None) or next(near, None)


@lru_cache(maxsize=1024)
def nearly(key: str, name: str) -> bool:
    """Return whether a key is all but `name`. Replies of one model have the same keys again and again."""
    return len(key) <= 2 * len(name) and bool(get_close_matches(key, [name], n=1, cutoff=0.8))
