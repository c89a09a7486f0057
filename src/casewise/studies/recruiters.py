"""Recruiters: invitations, redirects and Prolific."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol
from urllib.parse import quote

from casewise.errors import StudyError
from casewise.plugins import plugin
from casewise.studies.design import RecruiterSettings

# What a recruiter is: people arrive with ids in the URL, and leave with a redirect or a code.


Outcome = Literal["completed", "screened_out", "failed_checks", "no_consent"]


@dataclass(frozen=True, slots=True)
class RecruiterIds:
    """The ids that a recruiter gave a person. Stored only after consent, and encrypted."""

    person: str
    study: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """How a person leaves. What is empty does not apply."""

    url: str = ""
    """Where to go."""
    code: str = ""
    """A completion code to be shown."""


class Recruiter(Protocol):
    """Where people come from."""

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        """The person that the URL's `parameters` name.

        Raises StudyError: an id is missing or cannot be one; the message is shown to the person.
        """

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        """How someone leaves; `person` is None where the ids were deleted or never stored."""


# Invitation links for a lab's own people: signed, one for each person, nothing personal in them.


NAME_LENGTH = 24
"""Of a token, the digits that name a person; its signature follows them."""


def new_invitation(key: bytes) -> str:
    """A new token for one person: 96 random bits and their signature under `key`."""
    name = secrets.token_hex(NAME_LENGTH // 2)
    return f"{name}{signature(name, key)}"


def signature(name: str, key: bytes) -> str:
    return hmac.new(key, name.encode(), hashlib.sha256).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Invitations:
    """People arrive with `?participant=TOKEN` and leave with thanks."""

    key: bytes

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        token = parameters.get("participant", "").lower()  # some mail programs write links in capitals
        name, signed = token[:NAME_LENGTH], token[NAME_LENGTH:]
        if not hmac.compare_digest(signed.encode(), signature(name, self.key).encode()):
            raise StudyError("This is not a complete invitation link. Please copy it again from your invitation.")
        return RecruiterIds(person=name)

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        del outcome, person
        return Finish()


# Recruiters configured by `study.toml` alone: a redirect or a code.


PLACEHOLDER = re.compile(r"\{(person|study|session|code)\}")
ID = re.compile(r"[\w.:@+=-]{1,200}")


@dataclass(frozen=True, slots=True)
class ParameterRecruiter:
    """A recruiter that names people in the URL, and takes them back as `settings` say."""

    settings: RecruiterSettings

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        return read_person(parameters, self.settings)

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        code = code_of(outcome, self.settings)
        values = {"code": code} | (
            {"person": person.person, "study": person.study, "session": person.session} if person else {}
        )
        target = self.settings.completed if outcome == "completed" else getattr(self.settings, outcome)
        encoded = {name: quote(value, safe="") for name, value in values.items()}
        return Finish(url=placed(target, encoded), code=code)


def read_person(parameters: Mapping[str, str], settings: RecruiterSettings) -> RecruiterIds:
    """The ids in the URL, under the names that `settings` give.

    Raises StudyError: an id is missing, or is not made of the characters that ids are made of.
    """
    ids = {}
    for part in ("person", "study", "session"):
        name = getattr(settings, part)
        ids[part] = parameters.get(name, "") if name else ""
        if name and not ID.fullmatch(ids[part]):
            raise StudyError(
                f"The link you followed lacks your {name}. Please start again from the page where you found the study."
            )
    return RecruiterIds(**ids)


def code_of(outcome: Outcome, settings: RecruiterSettings) -> str:
    """The code for `outcome`, or nothing where there is none."""
    codes = {
        "completed": settings.completion_code,
        "screened_out": settings.screened_out_code,
        "failed_checks": settings.failed_checks_code,
        "no_consent": settings.no_consent_code,
    }
    return codes[outcome] or ""


def placed(template: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values.get(match[1], ""), template)


# Prolific: its three URL parameters, and its completion links.


PARAMETERS = {"person": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}

COMPLETE = "https://app.prolific.com/submissions/complete?cc="


@dataclass(frozen=True, slots=True)
class Prolific:
    """People arrive with `PROLIFIC_PID`, `STUDY_ID`, `SESSION_ID` and leave by a completion link.

    Those who do not consent are asked to return their submission, unless there is a code for them.
    """

    settings: RecruiterSettings

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        ids = read_person(parameters, self.settings.model_copy(update=PARAMETERS))
        return replace(ids, person=ids.person.lower())  # its ids are: another case would be another person

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        del person
        code = code_of(outcome, self.settings)
        if not code:
            return Finish(url="https://app.prolific.com/submissions")
        return Finish(url=COMPLETE + quote(code, safe=""), code=code)


# Where people come from, over one small protocol.


def make_recruiter(settings: RecruiterSettings, *, invitation_key: bytes) -> Recruiter:
    """The recruiter that `settings` describe."""
    if settings.kind == "prolific":
        return Prolific(settings)
    if settings.kind == "invitation":
        return Invitations(invitation_key)
    if make := plugin("recruiters", settings.kind):
        recruiter: Recruiter = make(settings)
        return recruiter
    return ParameterRecruiter(settings)


def known_as(text: str, settings: RecruiterSettings) -> str:
    """The id that somebody typed or pasted as it was kept on arrival; capitals tell people apart where they may."""
    whole = "".join(text.split())
    if settings.kind == "invitation":
        return whole.lower()[:NAME_LENGTH]
    return whole.lower() if settings.kind == "prolific" else whole
