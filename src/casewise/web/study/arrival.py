"""Arriving at a study: the warning, consent, tutorial and quiz."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from casewise.errors import StudyError
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.running.annotators import (
    Annotator,
    admit,
    answer_quiz,
    find_returner,
    has_room,
    pass_tutorial,
    took_part,
)
from casewise.studies.running.rounds import Round, round_state
from casewise.web.frame.identity import database_of, now, sent_form
from casewise.web.frame.pages import redirect
from casewise.web.study.session import (
    ThisRound,
    check_limit,
    read_arrival,
    recruiter_of,
    remember,
    remember_arrival,
    vault_of,
    visitor,
)
from casewise.web.study.stage import here, show, standing_at, to_stage
from casewise.web.study.texts import markdown

__all__ = ["here", "router", "show", "to_stage"]

router = APIRouter(prefix="/study/{study_id}")

Now = Annotated[datetime, Depends(now)]
SentForm = Annotated[dict[str, str], Depends(sent_form)]


@router.get("")
def arrive(request: Request, study: ThisRound, at: Now) -> Response:
    """The first page: what would be read here. Whoever was here before continues where they were."""
    try:
        person = arriving_person(request, study)
    except StudyError as error:
        return no_link(request, study, str(error))
    fingerprint = vault_of(request).fingerprint(study.name, person.person)
    with database_of(request).read() as connection:
        known = find_returner(connection, study, fingerprint)
        elsewhere = took_part(connection, study, fingerprint, now=at)
        let_in = round_state(connection, study.id) == "open"
        room = has_room(connection, study)
    if known is not None:
        response = to_stage(study, known)
        remember(request, response, known)
        return response
    if elsewhere or not let_in or not room:
        return show(request, study, "closed", why="already" if elsewhere else "full" if let_in else "paused")
    response = show(request, study, "warning", warning=markdown(study.wording.warning), categories=study.categories)
    remember_arrival(request, response, study, person)
    return response


def arriving_person(request: Request, study: Round) -> RecruiterIds:
    """In a preview anybody may come in; elsewhere the recruiter's ids are in the URL."""
    if study.phase == "preview" and not request.query_params:
        return RecruiterIds(secrets.token_hex(12))
    return recruiter_of(request, study).arrive(request.query_params)


def no_link(request: Request, study: Round, problem: str) -> Response:
    """A link without ids: the same browser may have been here before."""
    with database_of(request).read() as connection:
        known = visitor(request, study, connection)
    if known is not None and not request.query_params:
        return to_stage(study, known)
    return show(request, study, "closed", status=400, why="link", problem=problem)


@router.get("/consent")
def consent_page(request: Request, study: ThisRound) -> Response:
    if read_arrival(request, study) is None:
        return redirect(here(study))
    return show(request, study, "consent", text=markdown(study.wording.consent), problem=None)


@router.post("/consent")
def consent(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Keep the ids of those who agree, and of nobody else."""
    person = read_arrival(request, study)
    if person is None:
        return redirect(here(study))
    if form.get("agree") != "yes":
        finish = recruiter_of(request, study).finish("no_consent", person)
        return show(request, study, "end", outcome="no_consent", text=None, finish=finish, who=None)
    if form.get("adult") != "yes":
        problem = f"Please tick that you are {study.design.eligibility.minimum_age} or older and want to take part."
        text = markdown(study.wording.consent)
        return show(request, study, "consent", status=400, text=text, problem=problem)
    with database_of(request).write() as connection:
        check_limit(request, connection, study, who=None, now=at)
        who = admit(connection, study, person, vault=vault_of(request), now=at)
    if who is None:
        return show(request, study, "closed", why="already")
    response = to_stage(study, who)
    remember(request, response, who)
    return response


@router.get("/tutorial")
def tutorial_page(request: Request, study: ThisRound) -> Response:
    with database_of(request).read() as connection:
        who = standing_at(request, study, connection)
    text = markdown(study.wording.tutorial)
    return show(request, study, "tutorial", text=text, categories=study.categories, who=who)


@router.post("/tutorial")
def tutorial_read(request: Request, study: ThisRound) -> Response:
    """On to the quiz, or to wherever the annotator is by now."""
    with database_of(request).write() as connection:
        pass_tutorial(connection, standing_at(request, study, connection).id)
        who = standing_at(request, study, connection)
    return to_stage(study, who)


@router.get("/quiz")
def quiz_page(request: Request, study: ThisRound) -> Response:
    with database_of(request).read() as connection:
        who = standing_at(request, study, connection, "quiz")
    return show_quiz(request, study, who)


def show_quiz(request: Request, study: Round, who: Annotator, *, missed: tuple[int, ...] = ()) -> Response:
    left = study.design.quiz.attempts - who.quiz_attempts
    return show(request, study, "quiz", questions=study.wording.quiz, missed=missed, left=left)


@router.post("/quiz")
def quiz(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Count an attempt. Who misses something and may try again is told what, and why."""
    chosen = [as_number(form.get(f"question-{index}")) for index in range(len(study.wording.quiz))]
    with database_of(request).write() as connection:
        who = standing_at(request, study, connection)
        check_limit(request, connection, study, who=who.id, now=at)
        result = answer_quiz(connection, study, who.id, chosen, now=at)
        who = standing_at(request, study, connection)
    if result == "again" and who.stage == "quiz":
        missed = tuple(i for i, question in enumerate(study.wording.quiz) if chosen[i] != question.right)
        return show_quiz(request, study, who, missed=missed)
    return to_stage(study, who)


def as_number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 4 else None
