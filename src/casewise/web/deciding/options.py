"""How a decider is served."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from casewise.errors import ConfigurationError
from casewise.storage.files.atomic import read_text

__all__ = ["ServiceOptions", "key_digest", "keys_in"]

SHORTEST_KEY = 20


@dataclass(frozen=True)
class ServiceOptions:
    """How a decider is served."""

    keys: frozenset[str] = frozenset()
    """Digests of the keys of which one must come with a request; without any, whoever reaches the port is answered."""
    per_minute: int | None = None
    """Requests a minute that a key (or, without keys, an address) may make; None for no limit."""
    timeout_s: float = 10.0
    """How long the judge is waited for; then it counts as having given no value."""
    ask_as: Literal["flagged", "passed"] = "flagged"
    """What `ask` is in the form of a moderation endpoint, which has two answers: `flagged` or `passed`."""
    shadow: bool = False
    """Decide, count and write down, and let everything through."""
    capture: Path | None = None
    """A file to which a line a decision is written; None writes nothing."""
    capture_key: str | None = field(default=None, repr=False)
    """Encrypts the texts in it; without it they are left out."""

    def knows(self, key: str) -> bool:
        """Whether a request with this key is answered."""
        if not self.keys:
            return True
        given = key_digest(key)
        found = [hmac.compare_digest(given, known) for known in self.keys]  # all of them: no time tells which
        return True in found


def key_digest(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def keys_in(path: Path) -> frozenset[str]:
    """Digests of the keys in a file, one a line; lines that begin with # are left out.

    Raises DataError: it cannot be read. ConfigurationError: it holds none, or one that is short.
    """
    lines = [line.strip() for line in read_text(path).splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys or any(len(key) < SHORTEST_KEY for key in keys):
        raise ConfigurationError(f"{path}: write keys of at least {SHORTEST_KEY} random characters, one a line")
    return frozenset(map(key_digest, keys))
