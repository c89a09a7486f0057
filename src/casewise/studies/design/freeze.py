"""What is promised before the data are seen, hashed, and every later departure from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from casewise.errors import StudyError
from casewise.records.base import digest
from casewise.studies.design.design import Design
from casewise.studies.design.languages import LanguageCode
from casewise.studies.design.material import StudyItem
from casewise.studies.design.translating import Translated
from casewise.studies.design.wording import StudyWording

__all__ = [
    "Departure",
    "Frozen",
    "Promise",
    "departures",
    "freeze",
    "plain",
    "read_frozen",
    "unflattened",
    "write_frozen",
]


@dataclass(frozen=True, slots=True)
class Frozen:
    """The policy as it was frozen."""

    policy: dict[str, Any]
    digest: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Departure:
    """A setting that is no longer what was frozen."""

    setting: str
    frozen: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.setting}: frozen as {self.frozen!r}, now {self.now!r}"


PROMISED = {
    *("conditions", "contrasts", "rates", "seed", "ratings", "attention", "quiz"),
    *("eligibility", "sensitive", "quality", "analysis", "questions", "demographics"),
}
"""The settings that decide what is shown to whom, who counts, and how it is analysed."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Everything that freezing fixes: the design, and the digests of what people read and rate."""

    design: Design
    wording: StudyWording
    items: tuple[StudyItem, ...]
    translated: Mapping[LanguageCode, Translated] = field(default_factory=dict)

    @property
    def policy(self) -> dict[str, Any]:
        """Settings, texts (`texts.…`) and items, by dotted name; texts and items by their digests."""
        flat: dict[str, Any] = {}
        for name, value in self.design.model_dump(mode="json", include=PROMISED).items():
            flat |= {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
        texts = asdict(self.wording)
        flat |= {f"texts.{page}": digest({"text": text}) for page, text in texts.items()}
        for language, there in self.translated.items():
            flat[f"languages.{language}"] = digest({"texts": asdict(there.wording), "words": dict(there.words)})
        shown = sorted([item.item_id, item.condition, item.query_id, item.shown] for item in self.items)
        return flat | {"items": digest({"shown": shown})}


def unflattened(policy: dict[str, Any]) -> dict[str, Any]:
    """A policy's dotted names as tables, the way a design has them."""
    nested: dict[str, Any] = {}
    for name, value in policy.items():
        table, dot, key = name.partition(".")
        if dot:
            nested.setdefault(table, {})[key] = value
        else:
            nested[table] = value
    return nested


def freeze(promise: Promise, *, at: datetime) -> Frozen:
    """Freeze what is promised."""
    promised = promise.policy
    return Frozen(promised, digest(promised), at)


def departures(promise: Promise, frozen: Frozen) -> tuple[Departure, ...]:
    """Each setting, text or set of items that differs from what was frozen, in the order of `study.toml`.

    A setting that there was not when it was frozen could not be promised, and is none.
    """
    now = promise.policy
    names = [*(name for name in now if name in frozen.policy), *(name for name in frozen.policy if name not in now)]
    return tuple(
        Departure(name, frozen.policy[name], now.get(name)) for name in names if frozen.policy[name] != now.get(name)
    )


def write_frozen(frozen: Frozen, path: Path) -> None:
    """Write the frozen policy beside `study.toml`.

    Raises StudyError: there is one already: freezing again would hide departures.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(plain(frozen), file, indent=2, ensure_ascii=False)
            file.write("\n")
    except FileExistsError as error:
        raise StudyError(
            f"{path} exists: the study is frozen already. Change study.toml if you must; reports mark the departure"
        ) from error


def plain(frozen: Frozen) -> dict[str, Any]:
    """The frozen policy as JSON values."""
    return {"digest": frozen.digest, "at": frozen.at.isoformat(), "policy": frozen.policy}


def read_frozen(value: dict[str, Any], *, source: str) -> Frozen:
    """A frozen policy from its JSON values.

    Raises StudyError: the policy does not have the digest it claims: it was changed after freezing.
    """
    frozen = Frozen(value["policy"], value["digest"], datetime.fromisoformat(value["at"]))
    if digest(frozen.policy) != frozen.digest:
        raise StudyError(f"{source}: the frozen policy was changed: its digest is not {frozen.digest!r}")
    return frozen
