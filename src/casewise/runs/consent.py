"""To whom this user has agreed to send harmful text: asked once for each provider, whatever is to be sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import platformdirs

from casewise.errors import ConfigurationError
from casewise.storage.files.atomic import write_text

__all__ = ["allow_sending"]


def allow_sending(what: str, to: str | None, *, agreed: bool, ask: Callable[[str], bool] | None = None) -> None:
    """Make sure that the user agrees to send harmful text to a provider; asked once for each.

    Parameters
    ----------
    what
        What is sent, in words and in the plural: `the benchmark's queries`.
    to
        Whom it is sent to; None where it does not leave this machine.
    agreed
        The user has said so already.
    ask
        Tells the person what is to be sent, and asks; None where nobody can be asked.

    Raises
    ------
    ConfigurationError
        The user does not agree, or cannot be asked.
    """
    if to is None or to in known_hosts():
        return
    said = f"This sends {what}, which are harmful by design, to {to}."
    if not agreed:
        if ask is None:
            raise ConfigurationError(f"{said} If its terms and yours allow that, add --yes.")
        if not ask(said):
            raise ConfigurationError("nothing was sent")
    note_consent(to)


def consent_file() -> Path:
    return Path(platformdirs.user_config_dir("casewise")) / "may-send-to.json"


def note_consent(host: str) -> None:
    file = consent_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, json.dumps(sorted({*known_hosts(), host}), indent=1) + "\n")


def known_hosts() -> set[str]:
    try:
        found = json.loads(consent_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {host for host in found if isinstance(host, str)} if isinstance(found, list) else set()
