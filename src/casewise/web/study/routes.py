"""The study's part of the app: annotators' pages, the JSON route of their script, and the owner's pages."""

from __future__ import annotations

from fastapi import FastAPI

from casewise.database.staff import Role
from casewise.studies.running.privacy import Vault
from casewise.web.frame.pages import NAVIGATION
from casewise.web.study import arrival as study_arrival
from casewise.web.study import hooks as study_hooks
from casewise.web.study import owner as study_owner
from casewise.web.study import owner_people as study_people
from casewise.web.study import rating as study_rating

__all__ = ["install"]

OWNERS = ("/studies", "Studies", frozenset({Role.OWNER}))


def install(app: FastAPI) -> None:
    """Add the study's routes and state to `app`."""
    app.state.rounds = {}
    app.state.vault = Vault(app.state.settings.secret_key)
    for part in (study_arrival, study_rating, study_owner, study_people, study_hooks):
        app.include_router(part.router)
    app.router.routes.insert(0, study_rating.TAKES_ANSWERS)
    if OWNERS not in NAVIGATION:
        NAVIGATION.append(OWNERS)
