"""Where people come from, over one small protocol."""

from __future__ import annotations

from casewise.studies.design.design import RecruiterSettings
from casewise.studies.recruiters.invitations import Invitations, new_invitation
from casewise.studies.recruiters.prolific import Prolific
from casewise.studies.recruiters.protocol import Finish, Outcome, Recruiter, RecruiterIds
from casewise.studies.recruiters.redirect import ParameterRecruiter

__all__ = ["Finish", "Outcome", "Recruiter", "RecruiterIds", "make_recruiter", "new_invitation"]


def make_recruiter(settings: RecruiterSettings, *, invitation_key: bytes) -> Recruiter:
    """The recruiter that `settings` describe."""
    if settings.kind == "prolific":
        return Prolific(settings)
    if settings.kind == "invitation":
        return Invitations(invitation_key)
    return ParameterRecruiter(settings)
