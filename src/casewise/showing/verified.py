"""Facts as a defence: only what they support is shown, or each claim with what they say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

from casewise.errors import ConfigurationError
from casewise.records import ShownContext
from casewise.records.context import OPTIONAL
from casewise.showing.defences import without_marks
from casewise.showing.of_file import read_as_named
from casewise.showing.shown import Scene, ShownItem
from casewise.verifying.decided import KnownByFile, read_decided
from casewise.verifying.facts import day
from casewise.verifying.known import Known, read_known
from casewise.verifying.structured import HeldClaim, subjects_of, verify

__all__ = ["annotated", "known", "known_facts", "known_systems", "spelt_out", "verified"]

TOLD = (
    "Each statement of the circumstances ends with what could be found out about it: [supported], [contradicted], [expired] or "
    "[not stated], which means that nobody knows."
)
ONLY_KNOWN = "Of the circumstances only those are described that the deployer's own systems know."
ONLY_VERIFIED = "Of the circumstances only those are described that a source outside the conversation supports."


def spelt_out(kind: str, path: str, *, at: date | str | None) -> str:
    """The whole name of the defence `kind:FILE`: with a digest of what decides, and the day.

    That is `at`, else the day of a verification that was written down, else today.

    Raises DataError: the file cannot be read.
    """
    found = read_decided(Path(path))
    return f"{kind}:{path}@{found.fingerprint}@{(day(at) if at or not found.at else found.at).isoformat()}"


@cache
def known_facts(rest: str) -> KnownByFile:
    """What `FILE@DIGEST@DAY` names, on that day.

    Raises ConfigurationError: it is written otherwise, or the file holds other facts now. DataError: the file cannot be read.
    """
    parts = rest.rsplit("@", 2)
    try:
        path, mark, written = parts
        at = date.fromisoformat(written)
    except ValueError:
        raise ConfigurationError(f"{rest!r} is not FILE@DIGEST@DAY; --defences verified:FILE spells it out") from None
    found = read_decided(Path(path))
    if found.fingerprint != mark:
        raise ConfigurationError(
            f"{path} holds other facts now than when the arm was named; name it anew: verified:{path}"
        )
    return replace(found, at=at)


@cache
def known_systems(rest: str) -> Known:
    """What `FILE@DIGEST` names. Raises as `read_as_named`."""
    return read_as_named("known", rest, read_known)


def known(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Only what one's own systems know of the context, in their words, whatever it states."""
    return told(replace(shown, context=known_systems(rest).about(subjects_of(scene.context))), ONLY_KNOWN)


def verified(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """What is left when only claims are shown that facts support."""

    def only_supported(claim: HeldClaim) -> str | None:
        return claim.claim.text if claim.status == "supported" else None

    return told(replace(shown, context=rewritten(shown, scene, rest, only_supported)), ONLY_VERIFIED)


def annotated(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """Every claim with what facts say of it. What looks like such a mark in a claim is taken out."""

    def marked(claim: HeldClaim) -> str:
        return f"{without_marks(claim.claim.text, STATUS_MARKS)} [{claim.status}]"

    return told(replace(shown, context=rewritten(shown, scene, rest, marked)), TOLD)


STATUS_MARKS = ("[supported]", "[contradicted]", "[expired]", "[not stated]")


def told(shown: ShownItem, text: str) -> ShownItem:
    return replace(shown, placement=replace(shown.placement, system=(*shown.placement.system, text)))


def rewritten(shown: ShownItem, scene: Scene, rest: str, write: Callable[[HeldClaim], str | None]) -> ShownContext:
    """The context with each claim written anew; a parameter of which nothing is left is left out."""
    known = known_facts(rest)
    by_parameter: dict[str, list[str]] = {}
    for one in verify(shown.context, subjects_of(scene.context), known.facts, at=day(known.at), steps=known.steps):
        text = write(one)
        if text is not None:
            heading = f"{without_marks(one.claim.heading, STATUS_MARKS)}: " if one.claim.heading else ""
            by_parameter.setdefault(one.claim.parameter, []).append(f"{heading}{text}")
    left: ShownContext = {}
    for group, value in shown.context.items():
        if group in OPTIONAL:
            if group in by_parameter:
                left[group] = " ".join(by_parameter[group])
            continue
        kept = {name: " ".join(by_parameter[f"{group}.{name}"]) for name in value if f"{group}.{name}" in by_parameter}
        if kept:
            left[group] = kept
    return left
