"""JSON objects as language models write them: inside prose, in code fences, with single quotes or trailing commas.

`find_objects` mends the usual slips, where a word or a number is all that is wanted; `top_objects` takes only what is
JSON, where every word of the reply is going to be kept.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from casewise.records.base import all_writable

Found = dict[str, Any]


def without_contradiction(pairs: list[tuple[str, Any]]) -> Found:
    """An object, unless a key stands twice in it with two values: then nobody knows which is meant."""
    value = dict(pairs)
    if len(value) < len(pairs) and any(value[key] != repeated for key, repeated in pairs):
        raise ValueError("a key stands twice with two values")
    return value


DECODER = json.JSONDecoder(object_pairs_hook=without_contradiction)
LONGEST_SCAN = 200
"""Opening braces that are looked at; a reply with more of them is no JSON that we asked for."""


def find_objects(text: str, answers: tuple[str, ...] = ()) -> tuple[list[Found], str]:
    """The objects in `text`, in order and with those nested in them, and the rest of the text without them.

    An object that holds words or nothing under a key of `answers` speaks for itself: what is nested in it, as an example
    or a part, is left out.
    """
    objects: list[Found] = []
    rest: list[str] = []
    at = 0
    for _ in range(LONGEST_SCAN):
        start = text.find("{", at)
        if start < 0:
            break
        value, end = read_object(text, start)
        if value is None:
            rest.append(text[at : start + 1])
            at = start + 1
        else:
            rest.append(text[at:start])
            objects.extend(nested(value, answers))
            at = end
    rest.append(text[at:])
    return objects, "".join(rest)


def read_object(text: str, start: int) -> tuple[Found | None, int]:
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        end = closing_brace(text, start)
        value = repaired(text[start:end])
    return (all_writable(value), end) if isinstance(value, dict) else (None, end)


def closing_brace(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


STRAIGHT = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'"})
TRAILING_COMMA = re.compile(r",\s*([}\]])")
MISSING_COMMA = re.compile(r'("|\d|true|false|null)(\s*\n\s*)(?=")')
BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)")


def repaired(text: str) -> Any:
    """`text` as JSON or as a Python literal after the usual slips are mended; None if it still is neither."""
    for candidate in repairs(text):
        try:
            return json.loads(candidate, strict=False, object_pairs_hook=without_contradiction)
        except (ValueError, RecursionError):
            pass
        try:
            return literal(candidate)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            pass
    return None


def literal(text: str) -> Any:
    """`text` as a Python literal in which no key stands twice."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(keys)) < len(keys):
                raise ValueError("a key stands twice")
    return ast.literal_eval(tree)


def repairs(text: str) -> Iterator[str]:
    yield text
    if '\\"' in text:
        yield text.replace('\\"', '"')
    text = TRAILING_COMMA.sub(r"\1", text.translate(STRAIGHT))
    yield text
    text = MISSING_COMMA.sub(r"\1,\2", text)
    yield text
    yield BARE_KEY.sub(r'\1"\2"\3', text)


def nested(value: Any, answers: tuple[str, ...]) -> Iterator[Found]:
    if isinstance(value, dict):
        yield value
        key = closest_key(value, answers)
        if key is not None and (value[key] is None or isinstance(value[key], str)):
            return
        for inner in value.values():
            yield from nested(inner, answers)
    elif isinstance(value, list):
        for inner in value:
            yield from nested(inner, answers)


def top_objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in `text`; none of those inside one that is cut off."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            if text.count("{", at) > text.count("}", at):
                return  # cut off: what is whole inside is only a part
            at = text.find("{", at + 1)
            continue
        yield all_writable(value)
        at = text.find("{", end)


def closest_key(value: Found, names: tuple[str, ...]) -> str | None:
    """The key of `value` that is one of `names`, or nearly: `judgment` and `judgemnt` are `judgement`."""
    for name in names:
        if name in value:
            return name
    for name in names:
        for key in value:
            if nearly(str(key).strip().lower(), name):
                return key
    return None


@lru_cache(maxsize=1024)
def nearly(key: str, name: str) -> bool:
    """Return whether a key is all but `name`. Replies of one model have the same keys again and again."""
    return bool(get_close_matches(key, [name], n=1, cutoff=0.8))
