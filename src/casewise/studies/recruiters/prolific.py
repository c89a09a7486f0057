"""Prolific: its three URL parameters, and its completion links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from casewise.studies.design.design import RecruiterSettings
from casewise.studies.recruiters.protocol import Finish, Outcome, RecruiterIds
from casewise.studies.recruiters.redirect import code_of, read_person

__all__ = ["PARAMETERS", "Prolific"]

PARAMETERS = {"person": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}

COMPLETE = "https://app.prolific.com/submissions/complete?cc="


@dataclass(frozen=True, slots=True)
class Prolific:
    """People arrive with `PROLIFIC_PID`, `STUDY_ID`, `SESSION_ID` and leave by a completion link.

    Those who do not consent are asked to return their submission, unless there is a code for them.
    """

    settings: RecruiterSettings

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        found = read_person(parameters, self.settings.model_copy(update=PARAMETERS))
        return replace(found, person=found.person.lower())  # its ids are: another case would be another person

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        del person
        code = code_of(outcome, self.settings)
        if not code:
            return Finish(url="https://app.prolific.com/submissions")
        return Finish(url=COMPLETE + quote(code, safe=""), code=code)
