"""What a service writes down of its traffic, where it is told to: a line a decision, without texts or with them sealed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from casewise.deciding.decider import Decided
from casewise.deciding.requests import DecisionRequest
from casewise.errors import ConfigurationError, DataError
from casewise.records.base import Record
from casewise.stats.deciding.fitted_thresholds import Decision
from casewise.storage.files.jsonl import read_jsonl

__all__ = ["Sealer", "TrafficLine", "read_traffic", "traffic_line"]


class TrafficLine(Record):
    """One decision of a service."""

    format: Literal[1] = 1
    at: datetime
    decider: str
    """The hash of the decider's file."""
    decision: Decision
    shadow: bool = False
    """Whether it was let through whatever was decided."""
    value: float | None = None
    p_safe: float | None = None
    failed: str | None = None
    unmeasured: tuple[str, ...] = ()
    categories: tuple[str, ...] | None = None
    latency_s: float = 0.0
    query_characters: int = 0
    stated: tuple[str, ...] = ()
    """Which parameters of a context were stated, by dotted name; not what they state."""
    sealed: str | None = None
    """The texts, encrypted; absent where they are not kept."""


class Sealer:
    """Encrypts texts with one key (Fernet: AES-128-CBC with HMAC-SHA256), and opens them again.

    Raises ConfigurationError: the key is none, or the extra is not installed.
    """

    def __init__(self, key: str) -> None:
        try:
            from cryptography.fernet import Fernet
        except ImportError as error:
            raise ConfigurationError("texts are encrypted with cryptography: pip install 'casewise[web]'") from error
        try:
            self._fernet = Fernet(key)
        except ValueError as error:
            raise ConfigurationError(
                "CASEWISE_CAPTURE_KEY is no key: make one with python -c 'from cryptography.fernet import Fernet; "
                "print(Fernet.generate_key().decode())'"
            ) from error

    def seal(self, request: DecisionRequest) -> str:
        """The texts of a request, encrypted."""
        said = {
            "query": request.query,
            "context": request.known,
            "earlier": [[one.role, one.content] for one in request.earlier],
            "reply": request.reply,
        }
        return self._fernet.encrypt(json.dumps(said, ensure_ascii=False).encode()).decode()

    def opened(self, line: TrafficLine) -> dict[str, Any] | None:
        """The texts of a line; None where none were kept.

        Raises ConfigurationError: they were encrypted with another key.
        """
        from cryptography.fernet import InvalidToken

        if line.sealed is None:
            return None
        try:
            found: dict[str, Any] = json.loads(self._fernet.decrypt(line.sealed.encode()))
        except InvalidToken as error:
            raise ConfigurationError(
                "this log's texts were encrypted with another key than CASEWISE_CAPTURE_KEY"
            ) from error
        return found


def traffic_line(
    request: DecisionRequest, decided: Decided, *, decider: str, shadow: bool, sealer: Sealer | None
) -> TrafficLine:
    """What is written down of a decision."""
    known = request.known
    stated = tuple(
        f"{group}.{name}" for group, said in known.items() for name in (said if isinstance(said, dict) else ("",))
    )
    return TrafficLine(
        at=datetime.now(UTC),
        decider=decider,
        decision=decided.decision,
        shadow=shadow,
        value=decided.value,
        p_safe=decided.p_safe,
        failed=decided.failed,
        unmeasured=decided.unmeasured,
        categories=decided.categories,
        latency_s=round(decided.latency_s, 5),
        query_characters=len(request.query),
        stated=tuple(name.rstrip(".") for name in stated),
        sealed=sealer.seal(request) if sealer else None,
    )


def read_traffic(path: Path) -> Iterator[TrafficLine]:
    """The lines of a service's log, in their order. Raises DataError: a line is none; the message names it."""
    if not path.is_file():
        raise DataError(path, None, "there is no such log; casewise decider serve --capture writes one")
    return read_jsonl(path, TrafficLine)
