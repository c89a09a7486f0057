"""Recruiters configured by `study.toml` alone: a redirect, a code, or a posted form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from casewise.errors import StudyError
from casewise.studies.design.design import RecruiterSettings
from casewise.studies.recruiters.protocol import Finish, Outcome, RecruiterIds

__all__ = ["ParameterRecruiter", "code_of", "read_person"]

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
        known = {"code": code} | (
            {"person": person.person, "study": person.study, "session": person.session} if person else {}
        )
        target = self.settings.completed if outcome == "completed" else getattr(self.settings, outcome)
        if self.settings.kind == "form":
            fields = {name: placed(value, known) for name, value in self.settings.form_fields.items()}
            return Finish(url=self.settings.completed, code=code, fields=fields)
        encoded = {name: quote(value, safe="") for name, value in known.items()}
        return Finish(url=placed(target, encoded), code=code)


def read_person(parameters: Mapping[str, str], settings: RecruiterSettings) -> RecruiterIds:
    """The ids in the URL, under the names that `settings` give.

    Raises StudyError: an id is missing, or is not made of the characters that ids are made of.
    """
    found = {}
    for part in ("person", "study", "session"):
        name = getattr(settings, part)
        found[part] = parameters.get(name, "") if name else ""
        if name and not ID.fullmatch(found[part]):
            raise StudyError(
                f"The link you followed lacks your {name}. Please start again from the page where you found the study."
            )
    return RecruiterIds(**found)


def code_of(outcome: Outcome, settings: RecruiterSettings) -> str:
    """The code for `outcome`, or nothing where there is none."""
    codes = {
        "completed": settings.completion_code,
        "screened_out": settings.screened_out_code,
        "failed_checks": settings.failed_checks_code,
        "no_consent": settings.no_consent_code,
    }
    return codes[outcome] or ""


def placed(template: str, known: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: known.get(match[1], ""), template)
