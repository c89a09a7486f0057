"""Where an annotator belongs: the page of their stage, and nobody on another one."""

from __future__ import annotations

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from casewise.studies.design.languages import Speech
from casewise.studies.running.annotators import Annotator, Stage
from casewise.studies.running.rounds import Round
from casewise.web.frame.pages import Elsewhere, redirect, render
from casewise.web.study.language import speech_of
from casewise.web.study.session import visitor
from casewise.web.study.texts import markdown

__all__ = ["here", "show", "standing_at", "to_stage"]

STAGE_PAGES: dict[Stage, str] = {"tutorial": "tutorial", "quiz": "quiz", "rating": "rate", "done": "end"}


def here(study: Round, page: str = "") -> str:
    """The address of one of the study's pages."""
    return f"/study/{study.id}/{page}".rstrip("/")


def show(request: Request, study: Round, template: str, *, status: int = 200, **values: object) -> Response:
    """A page for annotators: with the study's title, its help lines and whom to write to."""
    t = speech_of(request, study)
    return render(
        request,
        f"study/{template}.html",
        status=status,
        study=study,
        help=markdown(study.worded(t.language).help),
        t=t,
        lang=t.language,
        direction=t.direction,
        others=[(code, Speech(code).name) for code in study.design.languages if code != t.language],
        here=here(study),
        **values,
    )


def to_stage(study: Round, who: Annotator) -> Response:
    """On to where an annotator stands."""
    return redirect(here(study, STAGE_PAGES[who.stage]))


def standing_at(request: Request, study: Round, connection: Connection, *stages: Stage) -> Annotator:
    """Who continues in this browser, at one of `stages` (any, if none is named).

    Raises Elsewhere: nobody does, or they stand at another stage: the browser is sent there.
    """
    who = visitor(request, study, connection)
    if who is None:
        raise Elsewhere(here(study))
    if stages and who.stage not in stages:
        raise Elsewhere(here(study, STAGE_PAGES[who.stage]))
    return who
