"""The review room: the drafts, the queue, one page for a context, its history."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Request
from sqlalchemy import Connection
from starlette.responses import Response

from casewise.contexts.drafts import Draft, all_drafts, find_draft, progress
from casewise.contexts.review import Phase
from casewise.contexts.reviewing.difference import wording_difference
from casewise.contexts.reviewing.queue import (
    Filter,
    count_waiting,
    has_read_warning,
    list_contexts,
    next_for,
    pass_on,
    passed_categories,
    read_warning,
)
from casewise.contexts.reviewing.statistics import review_statistics
from casewise.contexts.reviewing.store import ReviewPlace, events_of, find_place
from casewise.contexts.reviewing.translations import sets_for
from casewise.database.staff import Person, Role, everyone
from casewise.errors import ConfigurationError
from casewise.prompting.context_words import labels_of
from casewise.web.frame.identity import Now, Worker, database_of, require
from casewise.web.frame.pages import redirect, render
from casewise.web.review.view import allowed_acts, names_of, seen_events
from casewise.web.security.forms import whole_number

__all__ = ["ReviewRoom", "draft_named", "draft_of", "place_with", "router"]

router = APIRouter(prefix="/review")

ReviewRoom = Annotated[Person, Depends(require(Role.REVIEWER, Role.EXPERT, Role.ADMINISTRATOR))]


def draft_named(connection: Connection, name: str) -> Draft:
    """The draft called `name`; a page that does not exist if there is none."""
    try:
        return find_draft(connection, name)
    except ConfigurationError as error:
        raise HTTPException(404) from error


def place_with(connection: Connection, place_id: str) -> ReviewPlace:
    """The place with this id; a page that does not exist if there is none."""
    place = find_place(connection, place_id)
    if place is None:
        raise HTTPException(404)
    return place


@router.get("")
def drafts_page(request: Request, person: ReviewRoom) -> Response:
    """All drafts, how far they are and how much waits for this person."""
    with database_of(request).read() as connection:
        drafts = [
            (draft, progress(connection, draft), count_waiting(connection, draft, person))
            for draft in all_drafts(connection)
        ]
        sets = sets_for(connection, person.id) if person.has(Role.REVIEWER, Role.EXPERT) else []
    return render(
        request, "review/drafts.html", drafts=drafts, translations=sum(one.waiting for one in sets), sets=sets
    )


@router.get("/drafts/{name}")
def queue_page(request: Request, name: str, person: ReviewRoom) -> Response:
    """The contexts of a draft, filtered, a page at a time."""
    asked = request.query_params
    chosen = filter_of(dict(asked), works=person.has(Role.REVIEWER, Role.EXPERT))
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        if person.has(Role.REVIEWER, Role.EXPERT) and not has_read_warning(connection, draft, person.id):
            return redirect(f"/review/drafts/{name}/warning")
        page = list_contexts(connection, draft, person, chosen)
        counts = progress(connection, draft)
        waiting = count_waiting(connection, draft, person)
    more = urlencode({**asked, "after": page.next_after}) if page.next_after is not None else None
    return render(
        request,
        "review/queue.html",
        draft=draft,
        page=page,
        counts=counts,
        works=person.has(Role.REVIEWER, Role.EXPERT),
        total=sum(counts.values()),
        waiting=waiting,
        chosen=chosen,
        phases=list(Phase),
        more=more,
        done=asked.get("done"),
    )


def filter_of(asked: dict[str, str], *, works: bool) -> Filter:
    """The filter in a query string; what makes no sense in it filters nothing."""
    phase = asked.get("phase", "")
    intent = {"safe": True, "unsafe": False}.get(asked.get("intent", ""))
    asked_anything = bool(asked.keys() & {"phase", "category", "intent", "mine", "all"})
    return Filter(
        mine=asked.get("mine") == "yes" or (works and not asked_anything),
        phase=Phase(phase) if phase in set(Phase) else None,
        category=asked.get("category") or None,
        intended_safe=intent,
        after=whole_number(asked.get("after")),
    )


@router.get("/drafts/{name}/next")
def next_page(request: Request, name: str, person: Worker) -> Response:
    """On to the next context that waits for this person; to the queue when there is none."""
    asked = request.query_params
    did = asked.get("did", "")
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        if not has_read_warning(connection, draft, person.id):
            return redirect(f"/review/drafts/{name}/warning")
        found = next_for(connection, draft, person, after=whole_number(asked.get("after")))
    if found is None:
        return redirect(f"/review/drafts/{name}?done=all")
    last = {"did": did, "last": asked.get("last", "")}
    return redirect(f"/review/contexts/{found}" + (f"?{urlencode(last)}" if did else ""))


@router.get("/drafts/{name}/warning")
def warning_page(request: Request, name: str, person: ReviewRoom) -> Response:
    """What reviewers will read, before they read it, and which categories they would rather not."""
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        passed = passed_categories(connection, person.id)
    return render(
        request, "review/warning.html", draft=draft, passed=passed, works=person.has(Role.REVIEWER, Role.EXPERT)
    )


@router.post("/drafts/{name}/warning")
async def warning_read(request: Request, name: str, person: Worker, at: Now) -> Response:
    chosen = [str(category) for category in (await request.form()).getlist("pass")]
    with database_of(request).write() as connection:
        draft = draft_named(connection, name)
        others = passed_categories(connection, person.id) - set(draft.taxonomy.names)
        pass_on(connection, person.id, others | (set(chosen) & set(draft.taxonomy.names)))
        read_warning(connection, draft, person.id, now=at)
    return redirect(f"/review/drafts/{name}")


@router.get("/drafts/{name}/progress")
def progress_page(request: Request, name: str, _person: ReviewRoom) -> Response:
    """Where the contexts of a draft stand, how well reviewers agree, and who did how much."""
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        found = review_statistics(connection, draft)
        names = {person.id: person.name for person in everyone(connection)}
    return render(request, "review/progress.html", draft=draft, found=found, names=names)


@router.get("/contexts/{place_id}/history")
def history_page(request: Request, place_id: str, person: ReviewRoom) -> Response:
    """Every step of a context's way: who, when, from where to where, why, and what they wrote."""
    with database_of(request).read() as connection:
        place = place_with(connection, place_id)
        events = events_of(connection, place_id)
        names = names_of(connection, events)
        draft = draft_of(connection, place)
        seen = seen_events(place, person, allowed_acts(connection, place, person), events)
    steps, before = [], None
    for event in seen:
        changes = wording_difference(before, event.wording, place.parameters) if event.wording else None
        steps.append((event, changes))
        before = event.wording or before
    return render(
        request,
        "review/history.html",
        place=place,
        draft=draft,
        steps=steps,
        names=names,
        labels=labels_of(place.parameters),
    )


def draft_of(connection: Connection, place: ReviewPlace) -> Draft:
    return next(draft for draft in all_drafts(connection) if draft.id == place.draft_id)
