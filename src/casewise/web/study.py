"""The pages of annotators: arrival, rating, the end."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Self, get_args

from fastapi import APIRouter, Depends, HTTPException, Request
from markdown_it import MarkdownIt
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from casewise.api.studies import certificate_of
from casewise.ask.layouts import FOR_ANNOTATORS, groups
from casewise.database.engine import RateLimit, take
from casewise.errors import StudyError
from casewise.notation import whole_number
from casewise.studies.answers import (
    Decision,
    DisplayedPage,
    SubmittedAnswer,
    answered_items,
    chosen_demographics,
    decision_of_reply,
    finish_batch,
    missing_answers,
    next_page,
    progress,
    read_own_answers,
    take_answer,
    undo,
)
from casewise.studies.design import OwnAnswer
from casewise.studies.ledger import ENDINGS
from casewise.studies.monitor import count_arrival
from casewise.studies.owner import ARRIVAL_LIMIT, forget
from casewise.studies.people import (
    Annotator,
    NotAdmitted,
    Stage,
    Vault,
    admission_refusal,
    admit,
    annotator,
    answer_quiz,
    derived_key,
    find_returner,
    halt,
    missed_before,
    pass_tutorial,
    person_of,
    stop_participation,
    take_step,
    unanswered,
)
from casewise.studies.recruiters import Finish, Recruiter, RecruiterIds, make_recruiter
from casewise.studies.rounds import LiveRound, Round, load_round, read_sight
from casewise.studies.slots import resume
from casewise.web.pages import Now, Redirection, check_request, database_of, now, redirect, render
from casewise.web.security import SentForm, read_cookie, sent_form, set_cookie

# Markdown for annotators, made into HTML once: raw HTML in it is shown as text, never as HTML.


@lru_cache(maxsize=256)
def markdown(text: str) -> Markup:
    """Return `text` as HTML that may be put into a page; headings begin at the second level."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        token.tag = "h2" if token.tag == "h3" else token.tag
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - raw HTML is off


def panel(context: dict[str, dict[str, str] | str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return a shown context as groups of labelled texts, in reading order."""
    label = FOR_ANNOTATORS.get
    return [
        (
            label(group.name, group.name),
            [(label(f"{group.name}.{name}", name), str(text)) for name, text in group.statements],
        )
        for group in groups(context)
    ]


# Who is at the study's door: rounds kept in memory, the annotator's cookie, and the tokens that pages carry.


ANNOTATOR_COOKIE = "casewise_study"
ARRIVAL_COOKIE = "casewise_arrival"
COOKIE_LIFETIME_S = 60 * 60 * 24 * 14

ARRIVALS = RateLimit(burst=120, per_s=600)
"""Rate limit of arrivals from one address; a lecture hall behind one address still gets in."""
ATTEMPTS = RateLimit(burst=40, per_s=600)
"""Quiz attempts and undos of one annotator."""


async def round_of(request: Request, study_id: str) -> Round:
    """Return the round with this id; a dependency. A round is read once, and anew each minute."""
    rounds: dict[str, Round] = request.app.state.rounds

    def read() -> Round | None:
        with database_of(request).read() as connection:
            return load_round(connection, study_id)

    if study_id not in rounds:
        study = await run_in_threadpool(read)
        if study is None:
            raise HTTPException(404)
        rounds[study_id], request.app.state.translators[study_id] = study, study.translator
    return rounds[study_id]


ThisRound = Annotated[Round, Depends(round_of)]
"""The round that the address names."""


def vault_of(request: Request) -> Vault:
    vault: Vault = request.app.state.vault
    return vault


def recruiter_of(request: Request, study: Round) -> Recruiter:
    key = derived_key(request.app.state.settings.secret_key, f"invitations {study.id}")
    return make_recruiter(study.design.recruiter, invitation_key=key)


def visitor_id(request: Request, study: Round) -> str | None:
    """Return the id in this browser's cookie, if it is one of this round."""
    study_id, _, annotator_id = (read_cookie(request, ANNOTATOR_COOKIE) or "").partition(":")
    return annotator_id if study_id == study.id else None


def visitor(request: Request, study: LiveRound) -> Annotator | None:
    """Return the annotator who continues in this browser, or None."""
    annotator_id = visitor_id(request, study.round)
    return None if annotator_id is None else annotator(study, annotator_id)


def read_arrival(request: Request, study: Round) -> RecruiterIds | None:
    """Return the ids that this browser arrived with, if it arrived at this round."""
    value = json.loads(read_cookie(request, ARRIVAL_COOKIE) or "{}")
    if value.pop("round", None) != study.id:
        return None
    return RecruiterIds(**value)


@dataclass(frozen=True, slots=True)
class StepToken:
    """The content of a token in an annotator's form: the step at which its page was shown, and when.

    It lets this annotator alone make the next step, once: pass the tutorial, send the quiz, answer the page at
    `position`, take an answer back, stop, or end.
    """

    step: int
    shown_at: datetime
    position: int = 0

    def signed(self, request: Request, annotator_id: str) -> str:
        """Return the token as the form carries it."""
        body = f"{self.step}.{self.position}.{int(self.shown_at.timestamp() * 1000)}"
        return f"{body}.{signature(request, annotator_id, body)}"

    @classmethod
    def read(cls, request: Request, annotator_id: str, form: Mapping[str, str]) -> Self | None:
        """Return the token that a form carried; None when it is not this annotator's."""
        body, _, signed = form.get("step", "").rpartition(".")
        if not hmac.compare_digest(signed.encode(), signature(request, annotator_id, body).encode()):
            return None
        step, position, shown_ms = (int(part) for part in body.split("."))
        return cls(step, datetime.fromtimestamp(shown_ms / 1000, UTC), position)


def signature(request: Request, annotator_id: str, body: str) -> str:
    mac: str = request.app.state.signing.mac(f"{annotator_id}\0{body}", use="study step")
    return mac[:32]


def check_limit(request: Request, study: LiveRound, *, annotator_id: str | None) -> None:
    """Count an arrival (`annotator_id` is None) or an annotator's attempt; refuse when there were too many.

    Arrivals are counted under a keyed hash of the address that changes every day; the address itself is not kept.
    Rehearsals come from one address and are not limited.
    """
    if study.round.phase in {"rehearsal", "preview"}:
        return
    host = request.client.host if request.client else "unknown"
    hashed = request.app.state.signing.mac(f"{host}\0{study.now:%Y-%m-%d}", use="limit:arrival")
    key = f"study:{annotator_id}" if annotator_id else f"{ARRIVAL_LIMIT}{hashed}"
    if not take(study.connection, key, ATTEMPTS if annotator_id else ARRIVALS, now=study.now):
        raise HTTPException(429, "There were too many attempts from here. Please wait a few minutes and try again.")


def count_attempt(request: Request, study: Round, at: datetime) -> None:
    """Count an attempt of the annotator in this browser, whether or not it takes effect; refuse when there were too many."""
    if (annotator_id := visitor_id(request, study)) is not None:
        with study.write(database_of(request), at) as live:
            check_limit(request, live, annotator_id=annotator_id)


# Where an annotator belongs: the page of their stage.


STAGE_PAGES: dict[Stage, str] = {"tutorial": "tutorial", "quiz": "quiz", "rating": "rate", "done": "end"}


def study_path(study: Round, page: str = "") -> str:
    return f"/study/{study.id}/{page}".rstrip("/")


def show(
    request: Request,
    study: Round,
    template: str,
    *,
    status: int = 200,
    annotator: Annotator | None = None,
    **values: object,
) -> Response:
    """Return a page for annotators: with the study's title, its help lines and whom to write to.

    Its forms carry the token of the next step of `annotator`, the annotator who reads it.
    """
    t = study.translator
    if annotator is not None:
        values = {"step": StepToken(annotator.step, request.app.state.clock()).signed(request, annotator.id)} | values
    return render(
        request,
        f"study/{template}.html",
        status=status,
        study=study,
        help=markdown(study.wording.help),
        t=t,
        lang=t.language,
        study_path=study_path(study),
        who=annotator,
        **values,
    )


def to_stage(study: Round, annotator: Annotator) -> Response:
    return redirect(study_path(study, STAGE_PAGES[annotator.stage]))


def annotator_at(request: Request, study: LiveRound, *stages: Stage) -> Annotator:
    """Return the annotator who continues in this browser, at one of `stages` (any, if none is named).

    Raises Redirection: there is none, or they stand at another stage: the browser is sent there.
    """
    annotator = visitor(request, study)
    if annotator is None:
        raise Redirection(study_path(study.round))
    if stages and annotator.stage not in stages:
        raise Redirection(study_path(study.round, STAGE_PAGES[annotator.stage]))
    return annotator


def make_step(request: Request, study: LiveRound, form: Mapping[str, str], *stages: Stage, back: str = "") -> Annotator:
    """Return the annotator who makes a step with `form`, at one of `stages`; it is counted, and made once.

    Raises Redirection: the form was sent before, or its page is not the newest; the browser is sent to where the annotator
    stands, or to the page `back`, and nothing is changed.
    """
    annotator = annotator_at(request, study, *stages)
    token = StepToken.read(request, annotator.id, form)
    if token is None or not take_step(study, annotator.id, token.step):
        page = back if back and annotator.stage == "rating" else STAGE_PAGES[annotator.stage]
        raise Redirection(study_path(study.round, page))
    return annotator


# Arriving at a study: the warning, consent, tutorial and quiz.


arrival_router = APIRouter(prefix="/study/{study_id}")


NO_LINK = "The link you followed lacks your id. Please start again from the page where you found the study."


@arrival_router.get("")
def arrive(request: Request, study: ThisRound, at: Now) -> Response:
    """Show the warning, the first page. A person who was here before continues where they were."""
    try:
        if study.phase == "preview" and not request.query_params:  # every visitor may come in
            person = RecruiterIds(secrets.token_hex(12))
        else:
            person = recruiter_of(request, study).arrive(request.query_params)
    except StudyError:  # a link without ids: the same browser may have been here before
        with study.read(database_of(request)) as live:
            earlier = visitor(request, live)
        if earlier is not None and not request.query_params:
            return to_stage(study, earlier)
        return show(request, study, "closed", status=400, why="link", problem=NO_LINK, finish=Finish())
    fingerprint = vault_of(request).fingerprint(study.name, person.person)
    with study.read(database_of(request), at) as live:
        returner = find_returner(live, fingerprint)
        refusal = None if returner else admission_refusal(live, fingerprint)
    if returner is not None:
        return continue_as(request, study, returner)
    with study.write(database_of(request), at) as live:
        visit = request.app.state.signing.mac(f"{fingerprint}\0{study.id}\0{at:%Y-%m-%d}", use="arrival")
        count_arrival(live, "turned away" if refusal else "arrived", visit=visit)
    if refusal is not None:
        return show_refusal(request, study, refusal, person)
    warning = markdown(study.wording.warning)
    response = show(request, study, "warning", warning=warning, categories=study.categories)
    # Before consent a person's ids are kept nowhere but in their own browser.
    set_cookie(request, response, ARRIVAL_COOKIE, json.dumps({"round": study.id, **asdict(person)}))
    return response


def continue_as(request: Request, study: Round, annotator: Annotator) -> Response:
    """Redirect to the annotator's stage; the cookie of this browser, which is signed, says who that is and nothing else."""
    response = to_stage(study, annotator)
    set_cookie(request, response, ANNOTATOR_COOKIE, f"{annotator.study_id}:{annotator.id}", lasts_s=COOKIE_LIFETIME_S)
    return response


def show_refusal(request: Request, study: Round, refusal: NotAdmitted, person: RecruiterIds | None) -> Response:
    """Return why not, and the way back to the recruiter."""
    finish = recruiter_of(request, study).finish("no_consent", person)
    return show(request, study, "closed", why=refusal, finish=finish)


@arrival_router.get("/consent")
def consent_page(request: Request, study: ThisRound) -> Response:
    person = read_arrival(request, study)
    if person is None:
        return redirect(study_path(study))
    return show(request, study, "consent", text=markdown(study.wording.consent), problem=False)


@arrival_router.post("/consent")
def consent(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Store the ids of a person who agrees; of others nothing is kept."""
    person = read_arrival(request, study)
    if person is None:
        return redirect(study_path(study))
    if form.get("agree") != "yes":
        return decline(request, study, person)
    if form.get("adult") != "yes":
        text = markdown(study.wording.consent)
        return show(request, study, "consent", status=400, text=text, problem=True)
    vault = vault_of(request)
    fingerprint = vault.fingerprint(study.name, person.person)
    with study.write(database_of(request), at) as live:
        check_limit(request, live, annotator_id=None)
        annotator = find_returner(live, fingerprint)
        refusal = None if annotator else admission_refusal(live, fingerprint, lock=True)
        if annotator is None and refusal is None:
            annotator = admit(live, person, vault=vault)
    if annotator is None:
        return show_refusal(request, study, refusal or "already", person)
    return continue_as(request, study, annotator)


def decline(request: Request, study: Round, person: RecruiterIds | None) -> Response:
    finish = recruiter_of(request, study).finish("no_consent", person)
    return show(request, study, "end", outcome="no_consent", text=None, finish=finish)


@arrival_router.get("/leave")
def leave_page(request: Request, study: ThisRound) -> Response:
    """End participation before anything was stored; who has consented finds their way out where they are."""
    with study.read(database_of(request)) as live:
        annotator = visitor(request, live)
    return decline(request, study, read_arrival(request, study)) if annotator is None else to_stage(study, annotator)


@arrival_router.get("/tutorial")
def tutorial_page(request: Request, study: ThisRound) -> Response:
    with study.read(database_of(request)) as live:
        annotator = annotator_at(request, live)
    text = markdown(study.wording.tutorial)
    return show(request, study, "tutorial", text=text, categories=study.categories, annotator=annotator)


@arrival_router.post("/tutorial")
def finish_tutorial(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Redirect to the quiz, or to the annotator's present stage."""
    with study.write(database_of(request), at) as live:
        if (halted := halted_page(request, live, "tutorial")) is not None:
            return halted
        pass_tutorial(live, make_step(request, live, form, "tutorial").id)
    return redirect(study_path(study, "quiz"))


def halted_page(request: Request, study: LiveRound, stage: Stage) -> Response | None:
    """Return the page for an annotator at `stage` who gets no batch now, because the round is paused or closed; else None."""
    annotator = annotator_at(request, study)
    if annotator.stage != stage or (state := halt(study, annotator)) == "open":
        return None
    if state == "paused":
        return show(request, study.round, "closed", why="paused", finish=Finish())
    return redirect(study_path(study.round, "end"))


@arrival_router.get("/quiz")
def quiz_page(request: Request, study: ThisRound) -> Response:
    """Return the questions; after an attempt with what it missed, and why."""
    with study.read(database_of(request)) as live:
        annotator = annotator_at(request, live, "quiz")
        missed = missed_before(live, annotator.id)
    keeps = study.design.quiz.keep_right and annotator.quiz_attempts > 0
    quiz = study.wording.quiz
    chosen = [question.right if keeps and place not in missed else None for place, question in enumerate(quiz)]
    return show_quiz(request, study, annotator, missed=missed, chosen=chosen)


def show_quiz(
    request: Request,
    study: Round,
    annotator: Annotator,
    *,
    missed: Sequence[int],
    chosen: Sequence[int | None],
    lacks: Sequence[int] = (),
) -> Response:
    """Return the quiz with what was chosen; `missed` by the last attempt, and `lacks` an answer in a form that was no attempt."""
    left = study.design.quiz.attempts - annotator.quiz_attempts
    values = {"questions": study.wording.quiz, "missed": missed, "chosen": chosen, "lacks": lacks, "left": left}
    return show(request, study, "quiz", status=400 if lacks else 200, annotator=annotator, **values)


@arrival_router.post("/quiz")
def quiz(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Count an attempt, and go on to wherever it leads; a form that lacks an answer is shown again, and is no attempt."""
    chosen = [whole_number(form.get(f"question-{index}")) for index in range(len(study.wording.quiz))]
    count_attempt(request, study, at)
    with study.write(database_of(request), at) as live:
        if (halted := halted_page(request, live, "quiz")) is not None:
            return halted
        if lacks := unanswered(study.wording.quiz, chosen):
            annotator = annotator_at(request, live, "quiz")
            missed = missed_before(live, annotator.id)
            return show_quiz(request, study, annotator, missed=missed, chosen=chosen, lacks=lacks)
        annotator = make_step(request, live, form, "quiz")
        answer_quiz(live, annotator.id, chosen)
        annotator = annotator_at(request, live)
    return to_stage(study, annotator)


# Rating: one item a page, pause, stop, a few questions, and the end.


rating_router = APIRouter(prefix="/study/{study_id}")


DECISIONS: tuple[Decision, ...] = get_args(Decision)
LONGEST_REMARK = 4000

SCRIPT_HEADER = "X-Casewise-Script"
"""Our script asks for the next page at once; a form without a script is sent on, so that reloading sends nothing twice."""


@rating_router.get("/rate")
def rating_page(request: Request, study: ThisRound, at: Now) -> Response:
    """Show the next item. An annotator whose lease ran out gets back what is still open."""
    with study.read(database_of(request), at) as live:
        annotator = annotator_at(request, live, "rating")
        page = None if annotator.lapsed else next_page(live, annotator.id)
    if annotator.lapsed:
        with study.write(database_of(request), at) as live:
            resume(live, annotator.id)
            page = next_page(live, annotator.id)
    if page is None:
        return redirect(study_path(study, "questions"))
    return show_item(request, study, annotator.id, page, now=at)


@dataclass(frozen=True, slots=True)
class IncompletePage:
    """A page that still lacks an answer to a question of the owner's: it is shown again as it was sent."""

    page: DisplayedPage
    token: str
    decision: Decision
    own: dict[str, OwnAnswer]
    missing: tuple[str, ...]


def show_item(
    request: Request,
    study: Round,
    annotator_id: str,
    page: DisplayedPage,
    *,
    now: datetime,
    before: IncompletePage | None = None,
) -> Response:
    return show(
        request,
        study,
        "rate",
        status=400 if before else 200,
        shown=page,
        panel=panel(page.context),
        progress=page.progress,
        skips_left=study.design.attention.most_skips(page.progress.pages) - page.progress.skipped,
        before=before,
        step=before.token if before else StepToken(page.step, now, page.position).signed(request, annotator_id),
    )


async def rate(request: Request) -> Response:
    """Store an answer, once, and go to the next page, which is shown when the answer is committed.

    This is nine requests in ten: FastAPI's routing and dependencies took longer than all that it does. On SQLite
    answers that wait for a commit are written together.
    """
    await check_request(request)
    study = await round_of(request, request.path_params["study_id"])
    form, at = await sent_form(request), await now(request)
    annotator_id = visitor_id(request, study)
    if annotator_id is None:
        return redirect(study_path(study))
    answer = submitted_answer(request, study, annotator_id, form, now=at)
    by_script, token = SCRIPT_HEADER in request.headers, form.get("step", "")

    def taken_in(connection: Connection) -> DisplayedPage | IncompletePage | None:
        """Return the next page, once the answer is taken; this one again where it lacks something; None to send the browser on.

        It may be taken in another's transaction, and twice if that fails.
        """
        live = study.at(connection, at)
        if answer is not None and (lacks := incomplete_page(live, annotator_id, answer, token)):
            return lacks
        outcome = "again" if answer is None else take_answer(live, annotator_id, answer)
        return next_page(live, annotator_id) if outcome != "over" and by_script else None

    outcome = await asyncio.wrap_future(database_of(request).write_together(taken_in))
    if outcome is None:
        return redirect(study_path(study, "rate"))
    page, before = (outcome.page, outcome) if isinstance(outcome, IncompletePage) else (outcome, None)
    return show_item(request, study, annotator_id, page, now=at, before=before)


ANSWER_ROUTE = Route("/study/{study_id}/rate", rate, methods=["POST"])


def incomplete_page(study: LiveRound, annotator_id: str, answer: SubmittedAnswer, token: str) -> IncompletePage | None:
    """Return the page that `answer` is about, where an answer is still missing on it."""
    if answer.decision == "skip" or not study.design.questions:
        return None
    page, own_answers = next_page(study, annotator_id), answer.own or {}
    if page is None or (page.position, page.step) != (answer.position, answer.step):
        return None
    missing = missing_answers(study.design.questions, own_answers)
    return IncompletePage(page, token, answer.decision, own_answers, missing) if missing else None


def submitted_answer(
    request: Request, study: Round, annotator_id: str, form: dict[str, str], *, now: datetime
) -> SubmittedAnswer | None:
    """Return the answer in a form; None when it is none, or the page was another annotator's."""
    token = StepToken.read(request, annotator_id, form)
    decision = next((choice for choice in DECISIONS if choice == form.get("decision")), None)
    if token is None or decision is None:
        return None
    sight = read_sight(form.get("sight", ""))
    seconds = answering_time((now - token.shown_at).total_seconds(), by_page=(sight or {}).get("shown_s"))
    answers, scripted = read_own_answers(study.design.questions, form), form.get("hand") == "no"
    if study.design.rates == "replies":
        decision = decision_of_reply(decision, answers)
    if decision == "ask" and not study.design.words.asks_first:
        return None
    return SubmittedAnswer(token.position, token.step, decision, seconds, scripted=scripted, sight=sight, own=answers)


CLOCKS_DIFFER_S = 2.0
"""Seconds by which a page's clock may be ahead of the server's over one page."""


def answering_time(by_server: float, *, by_page: float | None) -> float | None:
    """Return the seconds for an answer: by the page's own clock where it was sent, else by the server's.

    The server's clock can be set, and counts a lost connection. None where the two contradict each other, or where the
    server's clock was set back: then it was not observed.
    """
    if by_page is not None:
        return by_page if by_page <= by_server + CLOCKS_DIFFER_S else None
    return by_server if by_server >= 0 else None


@rating_router.post("/undo")
def undo_last(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Show the last item again."""
    count_attempt(request, study, at)
    with study.write(database_of(request), at) as live:
        annotator = make_step(request, live, form, "rating")
        undo(live, annotator.id)
    return redirect(study_path(study, "rate"))


@rating_router.get("/pause")
def pause_page(request: Request, study: ThisRound) -> Response:
    """Return a page without an item on it."""
    with study.read(database_of(request)) as live:
        annotator = annotator_at(request, live, "rating")
        values: dict[str, Any] = {
            "progress": progress(live, annotator.id),
            "nothing": not answered_items(live, annotator.id),
        }
    return show(request, study, "pause", annotator=annotator, **values)


@rating_router.post("/stop")
def stop(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Stop for good; what was rated counts, the rest re-opens."""
    with study.write(database_of(request), at) as live:
        annotator = make_step(request, live, form, "tutorial", "quiz", "rating", back="pause")
        stop_participation(live, annotator.id)
    return redirect(study_path(study, "end"))


@rating_router.get("/questions")
def questions_page(request: Request, study: ThisRound) -> Response:
    """Show the closing questions after the last item."""
    with study.read(database_of(request)) as live:
        annotator = annotator_at(request, live, "rating")
        if annotator.lapsed or next_page(live, annotator.id) is not None:
            return redirect(study_path(study, "rate"))
        lost = progress(live, annotator.id).lost
        unanswered = not answered_items(live, annotator.id)
    questions_asked = () if unanswered else study.design.demographics
    remarks = study.phase in {"pilot", "preview"}
    values: dict[str, Any] = {"questions": questions_asked, "remarks": remarks, "lost": lost, "nothing": unanswered}
    return show(request, study, "questions", annotator=annotator, **values)


@rating_router.post("/questions")
def questions(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Store the answers that a person chose to give, and end."""
    with study.write(database_of(request), at) as live:
        annotator = make_step(request, live, form, "rating")
        if next_page(live, annotator.id) is not None:
            raise Redirection(study_path(study, "rate"))
        remarks = form.get("remarks", "").strip()[:LONGEST_REMARK] if study.phase in {"pilot", "preview"} else ""
        about = chosen_demographics(study.design.demographics, form)
        live.set_annotator(annotator.id, demographics=about or None, feedback=remarks or None)
        finish_batch(live, annotator.id)
    return redirect(study_path(study, "end"))


@rating_router.get("/data")
def data_page(request: Request, study: ThisRound, at: Now) -> Response:
    """Show the data kept about an annotator, and how to have them deleted."""
    return show_data(request, study, at, problem=False)


def show_data(request: Request, study: Round, at: datetime, *, problem: bool) -> Response:
    with study.read(database_of(request), at) as live:
        annotator = annotator_at(request, live)
    values = {"withdraws": at.date() <= study.design.privacy.withdraw_until, "certificate": None, "problem": problem}
    return show(request, study, "data", status=400 if problem else 200, annotator=annotator, **values)


@rating_router.post("/data")
def delete_data(request: Request, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Erase what is known of the annotator in this browser; show the certificate, and the way back to the recruiter."""
    if form.get("delete") != "yes":
        return show_data(request, study, at, problem=True)
    with study.write(database_of(request), at) as live:
        annotator = make_step(request, live, form)
        stop_participation(live, annotator.id)
        finish = way_to_recruiter(request, live, annotator_at(request, live, "done"))
        vault, erasures = vault_of(request), request.app.state.erasures
        erasure = forget(live, annotator.id, vault=vault, by="annotator", erasures=erasures)
    database_of(request).scrub()
    return show(request, study, "data", certificate=certificate_of(study, erasure), finish=finish)


def way_to_recruiter(request: Request, study: LiveRound, annotator: Annotator) -> Finish:
    """Return the way back to the recruiter for a person whose part has ended; empty where the recruiter knows it already."""
    outcome = annotator.outcome or "completed"
    if outcome in {"withdrawn", "returned"}:
        return Finish()
    person = person_of(study, annotator.id, vault=vault_of(request))
    return recruiter_of(request, study.round).finish(ENDINGS[outcome].code, person)


@rating_router.get("/end")
def end_page(request: Request, study: ThisRound) -> Response:
    """Show thanks, the purpose of the study, and the way back to the recruiter."""
    with study.read(database_of(request)) as live:
        annotator = annotator_at(request, live, "done")
        finish = way_to_recruiter(request, live, annotator)
    wording = study.wording.screened_out if annotator.outcome == "screened_out" else study.wording.debriefing
    return show(
        request, study, "end", outcome=annotator.outcome, text=markdown(wording), finish=finish, annotator=annotator
    )
