"""Compares two recordings of `behaviour.py`: equal but for times, places, random ids and the last bits of numbers."""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["compare"]

NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
VOLATILE = re.compile(r"(^|_)(at|seconds|latency_s|median_seconds|calls_per_second|steps_per_s|p50_ms|p99_ms)$")
"""Keys whose values are times: only whether there is one is compared."""
MASKS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?", "<time>"),
        (r"\d{4}-\d\d-\d\d", "<date>"),
        (
            r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) \d{4}",
            "<date>",
        ),
        (r"\b20\d{6}-\d{6}\b", "<stamp>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}\b", "<uuid>"),
        (r"(_code = )\"[A-Z0-9]{8}\"", r"\1<code>"),
        (r"(/study/|participant=|/join/)[\w.-]+", r"\1<token>"),
        (r"\bin \d[\d,.]* s\b", "in <seconds>"),
        (r"\bcasewise \d+\.\d+\.\d+\S*|(?<=\"casewise\": \")[^\"]*|(?<=\"casewise\":\")[^\"]*", "<version>"),
    )
]


SUM = re.compile(r"\b[0-9a-f]{64}\b")
"""Checksums, which say nothing where a file holds a random canary."""


class Difference(NamedTuple):
    """One place where two recordings are not the same."""

    scenario: str
    where: str
    text: str


def masked(words: str) -> str:
    for pattern, name in MASKS:
        words = pattern.sub(name, words)
    return words


def near(before: float, after: float) -> bool:
    return math.isclose(before, after, rel_tol=1e-12, abs_tol=0.0) or (math.isnan(before) and math.isnan(after))


def alike(before: str, after: str) -> bool:
    """Equal words, and equal numbers but for the last bits."""
    if before == after:
        return True
    if NUMBER.sub("#", before) != NUMBER.sub("#", after):
        return False
    pairs = zip(NUMBER.findall(before), NUMBER.findall(after), strict=True)
    return all(one == other or near(number(one), number(other)) for one, other in pairs)


def number(words: str) -> float:
    return float(words.replace(",", "").replace("−", "-"))


def as_values(words: str, name: str) -> Any:
    """What JSON or JSONL says, else None; the log of judgements in an order that does not hang on who was first."""
    try:
        if not name.endswith(".jsonl"):
            found = json.loads(words)
            return found if isinstance(found, dict | list) else None
        lines = [json.loads(line) for line in words.splitlines() if line.strip()]
    except json.JSONDecodeError:
        return None
    if name.endswith("judgements.jsonl"):
        order = ("item_id", "arm", "elicitation", "repeat", "attempt")
        lines.sort(key=lambda line: [str(line.get(key)) for key in order])
    return lines


def value_differences(before: Any, after: Any, where: str) -> Iterator[tuple[str, str]]:
    if VOLATILE.search(where.rpartition(".")[2]) and (before is None) == (after is None):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key not in before or key not in after:
                yield f"{where}.{key}", "is new" if key in after else "is gone"
            else:
                yield from value_differences(before[key], after[key], f"{where}.{key}")
        if list(before) != list(after) and set(before) == set(after):
            yield where, f"keys in another order: {list(before)} -> {list(after)}"
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield where, f"{len(before)} values -> {len(after)}"
        for at, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from value_differences(one, other, f"{where}[{at}]")
    elif not same_leaf(before, after):
        yield where, f"{before!r} -> {after!r}"


def same_leaf(before: Any, after: Any) -> bool:
    if isinstance(before, str) and isinstance(after, str):
        return alike(masked(before), masked(after))
    if isinstance(before, float) and isinstance(after, float):
        return near(before, after)
    return type(before) is type(after) and bool(before == after)


def shape(value: Any) -> Any:
    """Keys and types alone, equal ones of a list once."""
    if isinstance(value, dict):
        return {key: shape(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(inside), sort_keys=True) for inside in value})
    return "number" if isinstance(value, int | float) else type(value).__name__


def unordered(words: str) -> str:
    """The lines without numbers and ids, in alphabetical order."""
    return "\n".join(sorted(re.sub(r"[\d.,]+|\b[0-9a-f]{20,}\b|  +", " ", words).splitlines()))


def text_differences(before: str, after: str, where: str) -> Iterator[tuple[str, str]]:
    old, new = masked(before).splitlines(), masked(after).splitlines()
    if len(old) == len(new):
        new = [one if alike(one, other) else other for one, other in zip(old, new, strict=True)]
    hunk: list[str] = []
    for line in [*list(difflib.unified_diff(old, new, lineterm="", n=1))[2:], "@@"]:
        if line.startswith("@@") and hunk:
            yield where, "\n".join(hunk)
            hunk = []
        hunk.append(line)


def differences_of(before: str | None, after: str | None, where: str, *, loose: bool) -> Iterator[tuple[str, str]]:
    if before is None or after is None:
        if before is not after:
            yield where, "text on one side only"
        return
    if where.endswith("SHA256SUMS") or '"canary": "' in before:
        before, after = (SUM.sub("<sum>", words) for words in (before, after))
    old, new = as_values(before, where), as_values(after, where)
    if loose and where.endswith((".html", ".md", ".tex")):
        return
    if loose:
        old, new = (shape(value) if value is not None else None for value in (old, new))
        before, after = (unordered(masked(words)) for words in (before, after))
    if old is not None and new is not None:
        yield from value_differences(old, new, f"{where} $")
    else:
        yield from text_differences(before, after, where)


def compared(scenario: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Exit code, output and files of one scenario."""
    loose = before["loose"]
    if before["code"] != after["code"]:
        yield Difference(scenario, "exit code", f"{before['code']} -> {after['code']}")
    for stream in ("stdout", "stderr"):
        for found in differences_of(before[stream], after[stream], stream, loose=loose):
            yield Difference(scenario, *found)
    old, new = before["files"], after["files"]
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield Difference(scenario, f"file {name}", "is new" if name in new else "is gone")
            continue
        for found in differences_of(old[name], new[name], f"file {name}", loose=loose):
            yield Difference(scenario, *found)


def recording(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in sorted(folder.glob("*.json")):
        found |= json.loads(file.read_text(encoding="utf-8"))
    return found


def compare(arguments: argparse.Namespace) -> int:
    """Print each difference that is not allowed, and what was allowed in vain."""
    before, after = recording(arguments.before), recording(arguments.after)
    allowed = tomllib.loads(arguments.allow.read_text(encoding="utf-8"))["difference"] if arguments.allow else []
    used: Counter[int] = Counter()
    count = 0
    for scenario in dict.fromkeys([*before, *after]):
        if scenario not in before or scenario not in after:
            found = [Difference(scenario, "scenario", "is new" if scenario in after else "is gone")]
        else:
            found = list(compared(scenario, before[scenario], after[scenario]))
        for one in found:
            covers = [at for at, entry in enumerate(allowed) if covered(one, entry)]
            used.update(covers)
            if not covers:
                count += 1
                print(f"{one.scenario}\n  {one.where}\n    " + one.text.replace("\n", "\n    "))
    for at, entry in enumerate(allowed):
        if not used[at]:
            print(f"allowed, but not there: {entry}")
    print(f"{len(before)} and {len(after)} scenarios, {used.total()} differences allowed, {count} not")
    return int(count > 0)


def covered(one: Difference, entry: dict[str, str]) -> bool:
    named = fnmatch.fnmatchcase(one.scenario, entry["scenario"])
    return named and re.search(entry["where"], f"{one.where}\n{one.text}") is not None
