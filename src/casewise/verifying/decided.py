"""What arms go by: facts alone, or a verification that was written down, with what its verifiers said of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from casewise.errors import DataError
from casewise.records.base import Record, digest
from casewise.storage.files.atomic import read_text
from casewise.storage.files.strict_json import parse, what_is_wrong
from casewise.verifying.by_model import ModelStep, Said, pair_in_words, pair_texts
from casewise.verifying.facts import Facts, SourcedFact, read_facts

__all__ = ["KnownByFile", "WrittenVerification", "read_decided"]


class SaidOfPair(Record):
    """A verifier's word on a fact and a claim."""

    fact: str
    claim: str
    verdict: Said


class StepFile(Record):
    """All that one verifier said."""

    verifier: str
    asked: int
    said: tuple[SaidOfPair, ...]


class WrittenVerification(BaseModel):
    """What of the JSON that `casewise contexts verify --out` writes an arm goes by: nobody has to be asked again."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    verification: Literal[1] = 1
    at: date
    every_fact: tuple[SourcedFact, ...]
    verifiers: tuple[StepFile, ...]

    @classmethod
    def of(cls, facts: Facts, steps: Iterable[ModelStep], *, at: date) -> WrittenVerification:
        """Facts, and what verifiers said."""
        files = (
            StepFile(
                verifier=one.name,
                asked=one.asked,
                said=tuple(SaidOfPair(**pair_texts(pair), verdict=word) for pair, word in one.said.items()),
            )
            for one in steps
        )
        return cls(at=at, every_fact=facts.facts, verifiers=tuple(files))


@dataclass(frozen=True)
class KnownByFile:
    """Facts, what verifiers said besides, and the day on which that was asked; None where only facts are given."""

    facts: Facts
    steps: tuple[ModelStep, ...] = ()
    at: date | None = None

    @property
    def fingerprint(self) -> str:
        """A digest of all that can decide."""
        if not self.steps:
            return self.facts.fingerprint
        return digest([self.facts.fingerprint, [[one.name, dict(one.said)] for one in self.steps]])[:8]


def read_decided(path: Path) -> KnownByFile:
    """What a file of facts says, or, where it is called `.json`, a verification that was written down.

    Raises DataError: it cannot be read, or is neither.
    """
    if path.suffix != ".json":
        return KnownByFile(read_facts(path))
    try:
        found = WrittenVerification.model_validate(parse(read_text(path), path=path))
    except ValidationError as error:
        raise DataError(
            path, None, f"is no verification that casewise contexts verify --out wrote: {what_is_wrong(error)}"
        ) from error
    steps = (
        ModelStep(one.verifier, {pair_in_words(s.fact, s.claim): s.verdict for s in one.said}, one.asked)
        for one in found.verifiers
    )
    return KnownByFile(Facts.of(found.every_fact), tuple(steps), found.at)
