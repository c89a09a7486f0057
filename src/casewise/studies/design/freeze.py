"""What is promised before the data are seen, hashed, and every later departure from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from casewise.errors import StudyError
from casewise.records.ids import digest
from casewise.studies.design.design import Design

__all__ = [
    "Departure",
    "Frozen",
    "departures",
    "freeze",
    "plain",
    "policy",
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


def policy(design: Design) -> dict[str, Any]:
    """Conditions, contrasts, quota, exclusions, stopping and label policy, by dotted name."""
    plain = design.model_dump(mode="json", include={"conditions", "contrasts", "ratings", "attention", "analysis"})
    flat: dict[str, Any] = {}
    for name, value in plain.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            flat[name] = value
    return flat


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


def freeze(design: Design, *, at: datetime) -> Frozen:
    """Freeze the policy of `design`."""
    promised = policy(design)
    return Frozen(promised, digest(promised), at)


def departures(design: Design, frozen: Frozen) -> tuple[Departure, ...]:
    """Each setting of `design` that differs from what was frozen, in the order of `study.toml`.

    A setting that there was not when it was frozen could not be promised, and is none.
    """
    now = policy(design)
    names = [*(name for name in now if name in frozen.policy), *(name for name in frozen.policy if name not in now)]
    return tuple(
        Departure(name, frozen.policy[name], now.get(name)) for name in names if frozen.policy[name] != now.get(name)
    )


def write_frozen(frozen: Frozen, path: Path) -> None:
    """Write the frozen policy beside `study.toml`.

    Raises
    ------
    StudyError
        There is one already: freezing again would hide departures.
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

    Raises
    ------
    StudyError
        The policy does not have the digest it claims: it was changed after freezing.
    """
    frozen = Frozen(value["policy"], value["digest"], datetime.fromisoformat(value["at"]))
    if digest(frozen.policy) != frozen.digest:
        raise StudyError(f"{source}: the frozen policy was changed: its digest is not {frozen.digest!r}")
    return frozen
