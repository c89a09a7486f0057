"""What a guard's reply comes to: its label word, or the probability of the tokens that begin one; its categories."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from casewise.judging.asking.elicitation import without_thoughts
from casewise.judging.asking.probability import LabelMass, mass_outcome, most_unlisted
from casewise.judging.guards.profile import GuardProfile, HowRead
from casewise.models.local.label_tokens import MARKS, SHORTEST_BEGINNING
from casewise.models.protocol import Position, Reply
from casewise.prompting.json_in_reply import find_objects
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason

__all__ = ["GuardRead", "read_guard"]

VALUES = {"safe": 1.0, "middle": 0.5, "unsafe": 0.0}

LONGEST_DETAIL = 120


@dataclass(frozen=True)
class GuardRead:
    """What a reply comes to, and what else it says."""

    outcome: Scored | Unscored
    categories: tuple[str, ...] | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def read_guard(profile: GuardProfile, elicitation: Elicitation, reply: Reply) -> GuardRead:
    """What a guard's reply comes to.

    A middle class is 0.5 as a scalar, and as a verdict it is unsafe: never silently safe. It is kept as the detail `class`.
    """
    if reply.finish_reason == "content_filter":
        return GuardRead(
            Unscored(reason=UnscoredReason.CONTENT_FILTER, detail="the endpoint's filter cut the reply off")
        )
    text = without_thoughts(reply.text.removeprefix(profile.prefill or ""))
    said = set(kinds_said(profile.read, text))
    detail: dict[str, Any] = {"class": next(iter(said))} if len(said) == 1 else {}
    if profile.read.refusal_after and (refuses := word_behind(profile.read.refusal_after, text)):
        detail["refusal_said"] = refuses
    categories = categories_in(profile.read, text)
    if elicitation == "probability":
        outcome, mass = by_tokens(profile.read, reply)
        return GuardRead(outcome, categories, detail | (mass.as_detail() if mass else {}))
    return GuardRead(by_word(said, elicitation, text, reply), categories, detail)


def by_word(said: set[str], elicitation: Elicitation, text: str, reply: Reply) -> Scored | Unscored:
    shortened = " ".join(text.split())[:LONGEST_DETAIL] or None
    if len(said) > 1:
        return Unscored(reason=UnscoredReason.CONFLICTING, detail=shortened)
    if not said:
        why = UnscoredReason.TRUNCATED if reply.finish_reason == "length" else UnscoredReason.UNPARSED
        return Unscored(reason=why if text.strip() else UnscoredReason.EMPTY, detail=shortened)
    (kind,) = said
    return Scored(value=VALUES[kind] if elicitation == "scalar" else float(kind == "safe"))


def pattern(read: HowRead) -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in sorted(read.words, key=len, reverse=True))
    word = rf"[\s\"'*`]*({words})(?![A-Za-z0-9]|\.\d)"
    marker = re.escape(read.marker)
    before = {"first": r"\A", "after": marker, "tag": rf"<{marker}>", "json": rf"[\"']{marker}[\"']\s*:"}[read.where]
    return re.compile(before + word, re.IGNORECASE)


def kinds_said(read: HowRead, text: str) -> Iterator[str]:
    """What each label word in its place means."""
    if read.where == "json":
        objects, _ = find_objects(text)
        told = [str(one[read.marker]).strip().lower() for one in objects if read.marker in one]
        told = [word.removesuffix(".0") for word in told]
        yield from (read.words[word] for word in told if word in read.words)
        if told:
            return
    yield from (read.words[match[1].lower()] for match in pattern(read).finditer(text))


def word_behind(marker: str, text: str) -> str | None:
    found = re.search(rf"{re.escape(marker)}\s*(\w+)", text, re.IGNORECASE)
    return found[1] if found else None


def categories_in(read: HowRead, text: str) -> tuple[str, ...] | None:
    """The categories that a reply lists; None where the guard lists none or this reply does not say."""
    if read.categories_after is None:
        return None
    found = re.search(rf"{re.escape(read.categories_after)}[ \t]*([^\n]*)", text, re.IGNORECASE)
    if found is None:
        return None
    names = (name.strip(" .[]\"'") for name in found[1].split(","))
    return tuple(name for name in names if name and name.lower() not in ("none", "n/a"))


def by_tokens(read: HowRead, reply: Reply) -> tuple[Scored | Unscored, LabelMass | None]:
    """P(safe) from the token with which the label begins: the share of safe among all labels; a middle class is not safe."""
    if not reply.token_logprobs:
        return Unscored(reason=UnscoredReason.NO_LOGPROBS, detail="the endpoint gave no log probabilities"), None
    position = label_position(read, reply.token_logprobs)
    if position is None:
        detail = f"no label stands where it should; the reply begins {reply.text[:40]!r}"
        return Unscored(reason=UnscoredReason.NO_LABEL_TOKEN, detail=detail), None
    mass = dict.fromkeys(VALUES, 0.0)
    listed = [(one.token, one.logprob) for one in position.top] or [(position.token, position.logprob)]
    for token, logprob in listed:
        if (kind := kind_of(token, read.words)) is not None:
            mass[kind] += math.exp(logprob)
    found = LabelMass(mass["safe"], mass["unsafe"] + mass["middle"], most_unlisted(position))
    return mass_outcome(found, position, reply), found


def label_position(read: HowRead, positions: tuple[Position, ...]) -> Position | None:
    """The token that begins the label, wherever the profile says it stands; the last such: a guard that thinks may name one before."""
    pieces = [one.token.replace("Ġ", " ").replace("▁", " ").replace("Ċ", "\n") for one in positions]
    text = "".join(pieces)
    thoughts = len(text) - len(without_thoughts(text))
    found = list(pattern(read).finditer(text[thoughts:]))
    if not found:
        return first_that_begins(positions) if read.where == "first" and not thoughts else None
    start, so_far = thoughts + found[-1].start(1), 0
    for piece, position in zip(pieces, positions, strict=True):
        so_far += len(piece)
        if start < so_far:
            return position
    return None


def first_that_begins(positions: tuple[Position, ...]) -> Position | None:
    """Of a reply that was cut off in its first word, its first token that is more than white space."""
    said = [one for one in positions if one.token.strip(MARKS)]
    return said[0] if said else None


def kind_of(token: str, words: Mapping[str, str]) -> str | None:
    """What the label means that a token says or begins; None where it begins none, or labels of two meanings."""
    bare = token.strip(MARKS).casefold()
    if bare in words:
        return words[bare]
    begun = (
        {kind for word, kind in words.items() if word.startswith(bare)} if len(bare) >= SHORTEST_BEGINNING else set()
    )
    return begun.pop() if len(begun) == 1 else None
