"""Transforms that go by a file: a digest of what it says stands in the arm's name, so that another file is another arm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from casewise.errors import ConfigurationError

__all__ = ["read_as_named", "with_digest"]


class HasFingerprint(Protocol):
    """What a file says."""

    @property
    def fingerprint(self) -> str: ...


F = TypeVar("F", bound=HasFingerprint)


def with_digest(kind: str, path: str, read: Callable[[Path], HasFingerprint]) -> str:
    """The whole name of `kind:FILE`. Raises what reading it does."""
    return f"{kind}:{path}@{read(Path(path)).fingerprint}"


def read_as_named(kind: str, rest: str, read: Callable[[Path], F]) -> F:
    """What `FILE@DIGEST` names.

    Raises ConfigurationError: it is written otherwise, or the file says something else now. DataError: the file cannot be read.
    """
    path, _, mark = rest.rpartition("@")
    if not path:
        raise ConfigurationError(f"'{kind}:{rest}' is not {kind}:FILE@DIGEST; {kind}:FILE spells it out")
    found = read(Path(path))
    if found.fingerprint != mark:
        raise ConfigurationError(f"{path} says something else now than when the arm was named; name it anew")
    return found
