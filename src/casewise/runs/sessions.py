"""Where a run goes, and how one stretch of work on it was done."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from casewise.runs.limits import Limits
from casewise.storage.runs.run_folder import Session

__all__ = ["default_folder", "session_now"]


def default_folder(name: str) -> Path:
    """Where a run of this name goes unless the user says otherwise."""
    return Path("runs") / "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name)


def session_now(limits: Limits, *, command: str | None = None) -> Session:
    """A session that begins now: the versions that matter, its limits, and what was typed."""
    versions = {name: version(name) for name in ("casewise", "numpy", "polars", "pydantic", "aiohttp")}
    return Session(
        started=datetime.now(UTC),
        versions={"python": platform.python_version(), **versions},
        options=vars(limits),
        command=command,
    )
