"""The review room's pages of translations: a study's texts in another language, written by one and read by another."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from casewise.contexts.reviewing.translations import (
    RoomText,
    confirm_text,
    find_text,
    leave_out_text,
    next_text,
    sets_for,
    translate_text,
)
from casewise.database.staff import Person
from casewise.studies.design.languages import LANGUAGES, Speech
from casewise.web.frame.identity import Worker, database_of
from casewise.web.frame.pages import redirect, render
from casewise.web.security.forms import SentForm

__all__ = ["router"]

router = APIRouter(prefix="/review/translations")

LONGEST_TEXT = 20_000
CHANGED = "Somebody has changed this text meanwhile. It is shown as it is now; yours is below it."


@router.get("")
def sets_page(request: Request, person: Worker) -> Response:
    """All sets, how far they are, and how much waits for this person."""
    with database_of(request).read() as connection:
        sets = sets_for(connection, person.id)
    return render(request, "review/translations.html", sets=sets)


@router.get("/{study}/{language}/next")
def next_page(request: Request, study: str, language: str, person: Worker) -> Response:
    """On to the next text that waits for this person."""
    with database_of(request).read() as connection:
        found = next_text(connection, study, language, person.id)
    return redirect(f"/review/translations/{study}/{language}/{found}" if found else "/review/translations")


@router.get("/{study}/{language}/{text_id}")
def text_page(request: Request, study: str, language: str, text_id: str, person: Worker) -> Response:
    """One text beside its translation."""
    return shown(request, RoomText(study, language, text_id), person)


@router.post("/{study}/{language}/{text_id}")
def act(request: Request, study: str, language: str, text_id: str, person: Worker, form: SentForm) -> Response:
    """Write the translation, or say that it says the same; of what a model wrote, that it does not."""
    key, said, seen = (
        RoomText(study, language, text_id),
        form.get("text", "").strip()[:LONGEST_TEXT],
        form.get("seen", ""),
    )
    version = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else -1
    with database_of(request).write() as connection:
        there = find_text(connection, key)
        reads = there is not None and form.get("act") == "confirm" and said == there.text
        if form.get("act") == "leave out":
            done = leave_out_text(connection, key, by=person.id, seen=version)
        elif not said:
            done = False
        elif reads:
            done = confirm_text(connection, key, by=person.id, seen=version)
        else:
            done = translate_text(connection, key, said, by=person.id, seen=version)
    if not done:
        return shown(request, key, person, said=said, problem=CHANGED if said else "Write a translation first.")
    return redirect(f"/review/translations/{study}/{language}/next")


def shown(request: Request, key: RoomText, person: Person, *, said: str = "", problem: str = "") -> Response:
    with database_of(request).read() as connection:
        there = find_text(connection, key)
    if there is None:
        raise HTTPException(404)
    speech = next((Speech(known) for known in LANGUAGES if known == key.language), None)
    return render(
        request,
        "review/translation.html",
        status=409 if problem else 200,
        there=there,
        here=f"/review/translations/{key.study}/{key.language}",
        mine=there.translator_id == person.id,
        spoken=speech.name if speech else key.language,
        runs=speech.direction if speech else "ltr",
        said=said,
        problem=problem,
    )
