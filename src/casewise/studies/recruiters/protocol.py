"""What a recruiter is: people arrive with ids in the URL, and leave with a redirect, a code or a posted form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

__all__ = ["Finish", "Outcome", "Recruiter", "RecruiterIds"]

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
    """Where to go; posted to if there are `fields`."""
    code: str = ""
    """A completion code to be shown."""
    fields: dict[str, str] = field(default_factory=dict)


class Recruiter(Protocol):
    """Where people come from."""

    def arrive(self, parameters: Mapping[str, str]) -> RecruiterIds:
        """The person that the URL's `parameters` name.

        Raises StudyError: an id is missing or cannot be one; the message is shown to the person.
        """

    def finish(self, outcome: Outcome, person: RecruiterIds | None) -> Finish:
        """How someone leaves; `person` is None where the ids were deleted or never stored."""
