"""Rating: one item a page, pause, stop, a few questions, and the end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import get_args
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from sqlalchemy import Connection
from starlette.responses import Response
from starlette.routing import Route

from casewise.studies.design.languages import LanguageCode
from casewise.studies.design.own_questions import OwnAnswer
from casewise.studies.recruiters import Finish, Outcome
from casewise.studies.running.annotators import Annotator, keep_questions, leave_before_batch, person_of
from casewise.studies.running.answers import (
    Decision,
    Given,
    Shown,
    answered_items,
    finish_batch,
    next_page,
    progress,
    take_answer,
    undo,
)
from casewise.studies.running.further import further_pay, may_take_another, take_another
from casewise.studies.running.own_answers import chosen_demographics, counted_as, missing_answers, read_own_answers
from casewise.studies.running.rounds import Round
from casewise.studies.running.sight import read_sight
from casewise.studies.running.slots import resume
from casewise.web.frame.identity import Now, database_of, now
from casewise.web.frame.pages import redirect
from casewise.web.security.checks import check_request
from casewise.web.security.forms import SentForm, sent_form
from casewise.web.security.headers import content_policy
from casewise.web.study.language import language_of, page_language
from casewise.web.study.session import (
    ThisRound,
    check_limit,
    drawn_token,
    read_token,
    recruiter_of,
    round_of,
    vault_of,
    visitor_id,
)
from casewise.web.study.stage import here, show, standing_at
from casewise.web.study.texts import markdown, panel

__all__ = ["TAKES_ANSWERS", "router"]

router = APIRouter(prefix="/study/{study_id}")


DECISIONS: tuple[Decision, ...] = get_args(Decision)
LONGEST_REMARK = 4000

CODES: dict[str, Outcome] = {
    "completed": "completed",
    "stopped": "completed",
    "no_room": "completed",
    "failed_checks": "failed_checks",
    "screened_out": "screened_out",
    "left_early": "screened_out",
    "too_many_skips": "completed",
}
"""Who stops early, or finds no item left, is paid too, and whoever answered no item for their time; the owner sees which it was."""


SCRIPT_HEADER = "X-Casewise-Script"
"""Our script asks for the next page at once; a form without a script is sent on, so that reloading sends nothing twice."""


@router.get("/rate")
def rating_page(request: Request, study: ThisRound, at: Now) -> Response:
    """The next item. Somebody whose lease ran out gets back what is still open."""
    with database_of(request).read() as connection:
        who = standing_at(request, study, connection, "rating")
        if not who.lapsed:
            return rating(request, study, who, connection, now=at)
    with database_of(request).write() as connection:
        resume(connection, study, who.id, now=at)
        return rating(request, study, who, connection, now=at)


def rating(request: Request, study: Round, who: Annotator, connection: Connection, *, now: datetime) -> Response:
    page = next_page(connection, study, who.id, language_of(request, study))
    if page is None:
        return redirect(here(study, "questions"))
    return show_item(request, study, who.id, page, now=now)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A page that still lacks an answer to a question of the owner's: it is shown again as it was sent."""

    page: Shown
    token: str
    decision: Decision
    own: dict[str, OwnAnswer]
    missing: tuple[str, ...]


def show_item(
    request: Request,
    study: Round,
    annotator_id: str,
    page: Shown,
    *,
    now: datetime,
    before: Unfinished | None = None,
) -> Response:
    asked = [question for question in study.design.questions if question.asked_of(has_context=bool(page.context))]
    return show(
        request,
        study,
        "rate",
        status=400 if before else 200,
        shown=page,
        panel=panel(page.context),
        progress=page.progress,
        skips_left=study.design.attention.most_skips(page.progress.pages) - page.progress.skipped,
        asked=asked,
        before=before,
        token=before.token
        if before
        else drawn_token(request, annotator_id, position=page.position, revision=page.revision, now=now),
    )


async def rate(request: Request) -> Response:
    """Take an answer, once, and go to the next page, which is shown when the answer is committed.

    This is nine requests in ten: FastAPI's routing and dependencies took longer than all that it does. On SQLite
    answers that wait for a commit are written together.
    """
    await check_request(request)
    study = await round_of(request, request.path_params["study_id"])
    form, at = await sent_form(request), await now(request)
    annotator_id = visitor_id(request, study)
    if annotator_id is None:
        return redirect(here(study))
    answer = SentAnswer(
        study,
        annotator_id,
        given_answer(request, study, annotator_id, form, now=at),
        language=language_of(request, study),
        token=form.get("page", ""),
        by_script=SCRIPT_HEADER in request.headers,
        at=at,
    )
    found = await asyncio.wrap_future(database_of(request).write_together(answer.taken))
    if found is None:
        return redirect(here(study, "rate"))
    page, before = (found.page, found) if isinstance(found, Unfinished) else (found, None)
    return show_item(request, study, annotator_id, page, now=at, before=before)


TAKES_ANSWERS = Route("/study/{study_id}/rate", rate, methods=["POST"])


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """What was sent, apart from the request: it may be taken in another's transaction, and twice if that fails."""

    study: Round
    annotator_id: str
    given: Given | None
    language: LanguageCode
    token: str
    by_script: bool
    at: datetime

    def taken(self, connection: Connection) -> Shown | Unfinished | None:
        """The next page, once the answer is taken; this one again where it lacks something; None to send the browser on."""
        study, who, given = self.study, self.annotator_id, self.given
        if given is not None and (lacks := unfinished(connection, study, who, given, self.token)):
            return lacks
        taken = "again" if given is None else take_answer(connection, study, who, given, now=self.at)
        return next_page(connection, study, who, self.language) if taken != "over" and self.by_script else None


def unfinished(connection: Connection, study: Round, annotator_id: str, given: Given, token: str) -> Unfinished | None:
    """The page that `given` is about, where an answer is still missing on it."""
    if given.decision == "skip" or not study.design.questions:
        return None
    page, own = next_page(connection, study, annotator_id, given.language), given.own or {}
    if page is None or (page.position, page.revision) != (given.position, given.revision):
        return None
    missing = missing_answers(study.design.questions, own, has_context=bool(page.context))
    return Unfinished(page, token, given.decision, own, missing) if missing else None


def given_answer(
    request: Request, study: Round, annotator_id: str, form: dict[str, str], *, now: datetime
) -> Given | None:
    """The answer in a form; None when it is none, or the page was another annotator's."""
    token = read_token(request, annotator_id, form.get("page", ""))
    decision = next((known for known in DECISIONS if known == form.get("decision")), None)
    if token is None or decision is None:
        return None
    seconds = max(0.0, (now - token.shown_at).total_seconds())
    sight = read_sight(form.get("sight", ""))
    own = read_own_answers(study.design.questions, form)
    if study.design.rates == "replies":
        decision = counted_as(decision, own)
    by_script = form.get("hand") == "no"
    return Given(
        token.position,
        token.revision,
        decision,
        seconds,
        scripted=by_script,
        sight=sight,
        own=own,
        language=page_language(request, study),
    )


@router.post("/undo")
def undo_last(request: Request, study: ThisRound, at: Now) -> Response:
    """Show the last item again."""
    with database_of(request).write() as connection:
        who = standing_at(request, study, connection)
        check_limit(request, connection, study, who=who.id, now=at)
        undo(connection, study, who.id, now=at)
    return redirect(here(study, "rate"))


@router.get("/pause")
def pause_page(request: Request, study: ThisRound) -> Response:
    """A page without an item on it."""
    with database_of(request).read() as connection:
        who = standing_at(request, study, connection, "rating")
        nothing = not answered_items(connection, who.id)
        return show(request, study, "pause", progress=progress(connection, who.id), nothing=nothing)


@router.post("/stop")
def stop(request: Request, study: ThisRound, at: Now) -> Response:
    """Stop for good; what was rated counts, the rest re-opens."""
    with database_of(request).write() as connection:
        who = standing_at(request, study, connection)
        leave_before_batch(connection, study, who.id, now=at)
        finish_batch(connection, study, who.id, outcome="stopped", now=at)
    return redirect(here(study, "end"))


@router.get("/questions")
def questions_page(request: Request, study: ThisRound, at: Now) -> Response:
    """Nothing is left to answer: another batch where there is one, or a few questions and the end."""
    with database_of(request).read() as connection:
        who = standing_at(request, study, connection, "rating")
        if who.lapsed or next_page(connection, study, who.id) is not None:
            return redirect(here(study, "rate"))
        another, lost = may_take_another(connection, study, who, now=at), progress(connection, who.id).lost
        nothing = not answered_items(connection, who.id)
    asked = () if nothing else study.design.demographics
    remarks = study.phase in {"pilot", "preview"}
    return show(
        request, study, "questions", questions=asked, remarks=remarks, another=another, lost=lost, nothing=nothing
    )


@router.post("/another")
def another(request: Request, study: ThisRound, at: Now) -> Response:
    """Another batch, if there still is one; pressing twice gives one."""
    with database_of(request).write() as connection:
        take_another(connection, study, standing_at(request, study, connection, "rating"), now=at)
    return redirect(here(study, "rate"))


@router.post("/questions")
def questions(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Keep what was chosen to be said, and end."""
    with database_of(request).write() as connection:
        who = standing_at(request, study, connection, "rating")
        if next_page(connection, study, who.id) is not None:
            return redirect(here(study, "rate"))
        remarks = form.get("remarks", "").strip()[:LONGEST_REMARK] if study.phase in {"pilot", "preview"} else ""
        about = chosen_demographics(study.design.demographics, form)
        keep_questions(connection, who.id, demographics=about, feedback=remarks)
        finish_batch(connection, study, who.id, now=at)
    return redirect(here(study, "end"))


@router.get("/end")
def end_page(request: Request, study: ThisRound) -> Response:
    """Thanks, what it was about, and the way back to the recruiter."""
    with database_of(request).read() as connection:
        who = standing_at(request, study, connection, "done")
        person = person_of(connection, who.id, vault=vault_of(request))
        further = further_pay(connection, study, who.id).get(who.id)
    # Who withdrew has no ids left to be sent back by, and did not complete: whoever deleted them settles it with them.
    back = None if who.outcome == "withdrawn" else CODES.get(who.outcome or "completed", "completed")
    finish = recruiter_of(request, study).finish(back, person) if back else Finish()
    there = study.worded(language_of(request, study))
    wording = there.screened_out if who.outcome == "screened_out" else there.debriefing
    response = show(
        request, study, "end", outcome=who.outcome, text=markdown(wording), finish=finish, who=who, further=further
    )
    if finish.fields:
        response.headers["Content-Security-Policy"] = content_policy(form_targets=(origin(finish.url),))
    return response


def origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
