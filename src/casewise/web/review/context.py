"""One page for a context: reading it, revising it, deciding on it; and keeping what is typed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from casewise.contexts.checking.wording import Wording, WordingProblem
from casewise.contexts.review import Act, Action, NotAllowed
from casewise.contexts.reviewing.autosave import Typed, discard, save
from casewise.contexts.reviewing.queue import has_read_warning
from casewise.contexts.reviewing.store import ROLE_OF, Overtaken, ReviewPlace, act
from casewise.database.staff import Person, Role
from casewise.web.frame.identity import Now, Worker, database_of
from casewise.web.frame.pages import redirect, render
from casewise.web.review.rooms import ReviewRoom, draft_of, place_with
from casewise.web.review.view import allowed_acts, view_of
from casewise.web.security.forms import SentForm, whole_number

__all__ = ["router"]

router = APIRouter(prefix="/review/contexts/{place_id}")


WORDED = frozenset({Act.SUBMIT, Act.OFFER, Act.REWRITE})
UNCHANGED = "submit unchanged"
"""A button that submits the words as they are, whatever was typed."""
SAVE, DISCARD = "save", "discard"
"""Buttons for browsers without scripts, and for typed words nobody wants."""
STAY = frozenset({Act.COMMENT, Act.TAKE, Act.TAKE_BACK, Act.RESTART, Act.REWRITE})
"""After these the same context is shown again; after others, the next one."""


@router.get("")
def context_page(request: Request, place_id: str, person: ReviewRoom) -> Response:
    return shown(request, place_id, person)


def shown(
    request: Request,
    place_id: str,
    person: Person,
    *,
    status: int = 200,
    problem: str | None = None,
    form: dict[str, str] | None = None,
) -> Response:
    """The page; where an action could not be taken, with the reason and with all that was typed."""
    with database_of(request).read() as connection:
        place = place_with(connection, place_id)
        typed = words_typed(form, place) if form else None
        draft = draft_of(connection, place)
        if person.has(Role.REVIEWER, Role.EXPERT) and not has_read_warning(connection, draft, person.id):
            return redirect(f"/review/drafts/{draft.name}/warning")
        view = view_of(connection, place, person, typed=typed)
    return render(
        request,
        "review/context.html",
        status=status,
        view=view,
        place=place,
        draft=draft,
        works=person.has(Role.REVIEWER, Role.EXPERT),
        category=draft.category(place.query.category),
        problem=problem,
        reason=(form or {}).get("reason", ""),
        did=request.query_params.get("did"),
        last=last if (last := request.query_params.get("last", "")).isalnum() else None,
    )


def words_typed(form: dict[str, str], place: ReviewPlace) -> dict[str, str]:
    """What of a form are parameters of the context."""
    return {name: form[name] for name in place.parameters.every if name in form}


@dataclass(frozen=True)
class Sent:
    """A form that somebody sent about a context."""

    request: Request
    place_id: str
    person: Person
    form: dict[str, str]
    at: datetime

    def refused(self, status: int, problem: str) -> Response:
        """The page again, with the reason and all that was typed."""
        return shown(self.request, self.place_id, self.person, status=status, problem=problem, form=self.form)


@router.post("")
def decide(request: Request, place_id: str, person: ReviewRoom, form: SentForm, at: Now) -> Response:
    """Do what a button of the page says, and go on to the next context."""
    sent = Sent(request, place_id, person, form, at)
    wanted = form.get("act", "")
    if wanted in {SAVE, DISCARD}:
        return save_without_script(sent)
    try:
        place = taken(sent)
    except Overtaken as error:
        return sent.refused(409, str(error))
    except (NotAllowed, WordingProblem) as error:
        return sent.refused(400, str(error))
    return onward(sent, place)


def taken(sent: Sent) -> ReviewPlace:
    form, person = sent.form, sent.person
    chosen = Act.SUBMIT if form.get("act") == UNCHANGED else form.get("act", "")
    if chosen not in ROLE_OF:
        raise HTTPException(400, f"Nothing is called {chosen!r} here.")
    if not person.has(*ROLE_OF[Act(chosen)]):
        raise HTTPException(403, f"That takes the role {' or '.join(ROLE_OF[Act(chosen)])}.")
    with database_of(sent.request).write() as connection:
        place = place_with(connection, sent.place_id)
        words = place.state.wording if form.get("act") == UNCHANGED else None
        if chosen in WORDED and words is None:
            words = Wording.from_fields(form, place.parameters)
        action = Action(by=person.id, act=Act(chosen), wording=words, reason=form.get("reason", "").strip() or None)
        return act(connection, sent.place_id, action, seen=number_in(form, "seen"), now=sent.at)


def number_in(form: dict[str, str], name: str) -> int:
    number = whole_number(form.get(name))
    if number is None:
        raise HTTPException(400, f"The form does not say a number for {name!r}; reload the page.")
    return number


def onward(sent: Sent, place: ReviewPlace) -> Response:
    wanted = sent.form["act"]
    did = urlencode({"did": wanted})
    if wanted in STAY or not sent.person.has(Role.REVIEWER, Role.EXPERT):
        return redirect(f"/review/contexts/{place.id}?{did}")
    with database_of(sent.request).read() as connection:
        draft = draft_of(connection, place)
    return redirect(f"/review/drafts/{draft.name}/next?after={place.position}&{did}&last={place.id}")


def save_without_script(sent: Sent) -> Response:
    with database_of(sent.request).write() as connection:
        place = place_with(connection, sent.place_id)
        if sent.form["act"] == DISCARD:
            discard(connection, place.id, person_id=sent.person.id)
            return redirect(f"/review/contexts/{place.id}?did=discard")
        typed = Typed(words_typed(sent.form, place), saved=number_in(sent.form, "saved"), version=place.state.version)
        saved = save(connection, place.id, person_id=sent.person.id, typed=typed, now=sent.at)
    if saved.newer is not None:
        return sent.refused(
            409, "Another tab or device of yours saved other words since. Yours are in the form, not yet saved."
        )
    return redirect(f"/review/contexts/{place.id}?did=save")


class TypedSoFar(BaseModel):
    """What the page's script sends while somebody types."""

    model_config = ConfigDict(extra="forbid")

    fields: dict[str, str] = Field(max_length=200)
    saved: int = Field(ge=0, le=10**9)
    """The number of the last save that this tab knows."""
    version: int = Field(ge=0, le=10**9)


@router.post("/autosave")
def autosave(request: Request, place_id: str, typed: TypedSoFar, person: Worker, at: Now) -> Response:
    """Keep what was typed; 409 with the other words when another tab was faster."""
    with database_of(request).write() as connection:
        place = place_with(connection, place_id)
        if not allowed_acts(connection, place, person) & WORDED:
            raise HTTPException(409, "This context is not yours to revise any more. Reload the page.")
        words = Typed(words_typed(typed.fields, place), saved=typed.saved, version=typed.version)
        saved = save(connection, place_id, person_id=person.id, typed=words, now=at)
    if saved.newer is not None:
        newer: dict[str, Any] = {"saved": saved.newer.saved, "fields": saved.newer.fields}
        return JSONResponse({"problem": "Another tab of yours saved other words.", "newer": newer}, 409)
    return JSONResponse({"saved": saved.saved})
