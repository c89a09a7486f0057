"""Consent to send harmful text: no text leaves this machine for a receiver that the user did not agree to.

Every connection to a model's server, and every call by another library, asks `require_consent` first. So the rule holds for each
command and each function of Python, whichever model it is: judge, second reader, grader, attacker, maker of texts or chatbot.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import platformdirs

from casewise.errors import ConfigurationError
from casewise.storage.files import write_text

VARIABLE = "CASEWISE_MAY_SEND_TO"
"""Environment variable with receivers, separated by commas, for programs that no person watches."""


def agreed_receivers(*, remembered: bool = True) -> frozenset[str]:
    """Return the receivers that the user agreed to: those in `VARIABLE`, and with `remembered` those of `allow_sending`."""
    named = {host.strip() for host in os.environ.get(VARIABLE, "").split(",")} - {""}
    return frozenset(named | (remembered_receivers() if remembered else set()))


def remembered_receivers() -> set[str]:
    """Return the receivers of `allow_sending`; none where the file cannot be read."""
    try:
        entries = json.loads(consent_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {host for host in entries if isinstance(host, str) and host} if isinstance(entries, list) else set()


def consent_file() -> Path:
    """Return the file of the receivers that are remembered."""
    return Path(platformdirs.user_config_dir("casewise")) / "may-send-to.json"


def allow_sending(to: str) -> None:
    """Agree, now and later, that harmful text is sent to a receiver.

    Parameters
    ----------
    to
        The host of the model's server, such as `api.openai.com`; of a model of Inspect AI its provider.
    """
    write_text(consent_file(), json.dumps(sorted({*remembered_receivers(), to}), indent=1) + "\n")


def require_consent(to: str | None) -> None:
    """Refuse to send text to a receiver without consent. `to`: None where the text stays on this machine.

    Raises ConfigurationError: the user did not agree.
    """
    if to is not None and to not in agreed_receivers():
        raise ConfigurationError(
            f"nothing was sent to {to}: texts here may be harmful by design. If its terms and yours allow that, agree once with "
            f"casewise.allow_sending({to!r}), or set {VARIABLE}={to}"
        )
