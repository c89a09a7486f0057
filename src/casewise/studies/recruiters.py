"""Recruiters: invitations, redirects and Prolific."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Protocol
from urllib.parse import quote

from casewise.errors import StudyError
from casewise.plugins import find_function
from casewise.studies.design import Outcome, RecruiterSettings


@dataclass(frozen=True, slots=True)
class RecruiterIds:
    """The ids that a recruiter gave a person. Stored only after consent, and encrypted."""

    person: str
    study: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """The way out for a person. An empty field does not apply."""

    url: str = ""
    """The address to go to."""
    code: str = ""
    """A completion code to be shown."""


class Recruiter(Protocol):
    """A source of people for a study."""

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        """Return the person that the URL's `parameters` name.

        Raises StudyError: an id is missing or cannot be one; the message is shown to the person.
        """

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        """Return the way out; `person` is None where the ids were deleted or never stored."""


NAME_LENGTH = 24
"""Number of a token's digits that name a person; its signature follows them."""
PLACEHOLDER = re.compile(r"\{(person|study|session|code)\}")
ID = re.compile(r"[\w.:@+=-]{1,200}")
PARAMETERS = {"person": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}


def new_invitation(key: bytes) -> str:
    """Return a new token for one person: 96 random bits and their signature under `key`."""
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


@dataclass(frozen=True, slots=True)
class ParameterRecruiter:
    """A recruiter that names people in the URL, and takes them back as `settings` say."""

    settings: RecruiterSettings

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        ids = {}
        for part in ("person", "study", "session"):
            name = getattr(self.settings, part)
            ids[part] = parameters.get(name, "") if name else ""
            if name and not ID.fullmatch(ids[part]):
                raise StudyError(
                    f"The link you followed lacks your {name}. Please start again from the page where you found the study."
                )
        return RecruiterIds(**ids)

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        code = self.code(outcome)
        values = {"code": code, **(asdict(person) if person else {})}
        encoded = {name: quote(value, safe="") for name, value in values.items()}
        target = getattr(self.settings, outcome)
        return Finish(PLACEHOLDER.sub(lambda match: encoded.get(match[1], ""), target), code)

    def code(self, outcome: Outcome) -> str:
        """Return the code for `outcome`; empty where there is none."""
        name = "completion_code" if outcome == "completed" else f"{outcome}_code"
        return getattr(self.settings, name) or ""


class Prolific(ParameterRecruiter):
    """People arrive with `PROLIFIC_PID`, `STUDY_ID`, `SESSION_ID` and leave by a completion link.

    Those who do not consent are asked to return their submission, unless there is a code for them.
    """

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        ids = ParameterRecruiter(self.settings.model_copy(update=PARAMETERS)).arrive(parameters)
        return replace(ids, person=ids.person.lower())  # its ids are: another case would be another person

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        del person
        if not (code := self.code(outcome)):
            return Finish(url="https://app.prolific.com/submissions")
        return Finish(f"https://app.prolific.com/submissions/complete?cc={quote(code, safe='')}", code)


def make_recruiter(settings: RecruiterSettings, *, invitation_key: bytes) -> Recruiter:
    """Return the recruiter that `settings` describe."""
    if settings.kind == "prolific":
        return Prolific(settings)
    if settings.kind == "invitation":
        return Invitations(invitation_key)
    if make := find_function("recruiters", settings.kind):
        recruiter: Recruiter = make(settings)
        return recruiter
    return ParameterRecruiter(settings)


def stored_id(text: str, settings: RecruiterSettings) -> str:
    """Return a typed id as it was kept on arrival; capitals count where they may tell people apart."""
    whole = "".join(text.split())
    if settings.kind == "invitation":
        return whole.lower()[:NAME_LENGTH]
    return whole.lower() if settings.kind == "prolific" else whole
