"""To whom this user has agreed to send harmful text: asked once for each provider."""

from __future__ import annotations

import json
from pathlib import Path

import platformdirs

from casewise.storage.files.atomic import write_text

__all__ = ["consented", "note_consent"]


def consent_file() -> Path:
    return Path(platformdirs.user_config_dir("casewise")) / "may-send-to.json"


def consented(host: str) -> bool:
    """Whether the user has agreed to send texts to `host` before."""
    return host in known_hosts()


def note_consent(host: str) -> None:
    """Remember that the user agrees to send texts to `host`."""
    file = consent_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, json.dumps(sorted({*known_hosts(), host}), indent=1) + "\n")


def known_hosts() -> set[str]:
    try:
        found = json.loads(consent_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {host for host in found if isinstance(host, str)} if isinstance(found, list) else set()
