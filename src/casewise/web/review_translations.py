"""The review room's pages of translations: a study's texts in another language, written by one and read by another."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from casewise.contexts.translations import (
    OWN_A_PAGE,
    RoomText,
    confirm_text,
    find_text,
    leave_out_text,
    next_text,
    own_texts,
    sets_for,
    translate_text,
)
from casewise.database.staff import Person
from casewise.studies.design import LANGUAGES, Speech, in_english
from casewise.web.pages import Worker, database_of, redirect, render
from casewise.web.security import SentForm, whole_number

router = APIRouter(prefix="/review/translations")

LONGEST_TEXT = 20_000
SAYING = {"save": "Saved; somebody else reads it.", "confirm": "Read: it says the same.", "leave out": "Left out."}
CHANGED = "Somebody has changed this text meanwhile. It is shown as it is now; yours is below it."


@router.get("")
def sets_page(request: Request, person: Worker) -> Response:
    """All sets, how far they are, and how much waits for this person."""
    with database_of(request).read() as connection:
        sets = sets_for(connection, person.id)
    return render(request, "review/translations.html", sets=sets, named=in_english, did=did_in(request))


def did_in(request: Request) -> str | None:
    return SAYING.get(request.query_params.get("did", ""))


@router.get("/{study}/{language}/next")
def next_page(request: Request, study: str, language: str, person: Worker) -> Response:
    """On to the next text that waits for this person."""
    asked = request.query_params
    with database_of(request).read() as connection:
        found = next_text(connection, study, language, person.id, after=whole_number(asked.get("after")) or 0)
    said = urlencode({name: asked[name] for name in ("did", "last") if name in asked})
    to = f"/review/translations/{study}/{language}/{found}" if found else "/review/translations"
    return redirect(f"{to}?{said}" if said else to)


@router.get("/{study}/{language}")
def own_page(request: Request, study: str, language: str, person: Worker) -> Response:
    """What this person translated, read or left out, to be looked at again."""
    offset = whole_number(request.query_params.get("from")) or 0
    with database_of(request).read() as connection:
        texts = own_texts(connection, study, language, person.id, offset=offset)
    return render(
        request,
        "review/translations_own.html",
        study=study,
        spoken=in_english(language),
        texts=texts[:OWN_A_PAGE],
        more=offset + OWN_A_PAGE if len(texts) > OWN_A_PAGE else None,
        here=f"/review/translations/{study}/{language}",
    )


@router.get("/{study}/{language}/{text_id}")
def text_page(request: Request, study: str, language: str, text_id: str, person: Worker) -> Response:
    """One text beside its translation."""
    return shown(request, RoomText(study, language, text_id), person)


@router.post("/{study}/{language}/{text_id}")
def act(request: Request, study: str, language: str, text_id: str, person: Worker, form: SentForm) -> Response:
    """Write the translation, or say that it says the same; of what a model wrote, that it does not."""
    key, said = RoomText(study, language, text_id), form.get("text", "").strip()[:LONGEST_TEXT]
    version = whole_number(form.get("seen"))
    version = -1 if version is None else version
    with database_of(request).write() as connection:
        there = find_text(connection, key)
        wanted = form.get("act", "")
        wanted = "save" if wanted == "confirm" and there is not None and said != there.text else wanted
        if wanted == "leave out":
            done = leave_out_text(connection, key, by=person.id, seen=version)
        elif not said:
            done = False
        elif wanted == "confirm":
            done = confirm_text(connection, key, by=person.id, seen=version)
        else:
            done = translate_text(connection, key, said, by=person.id, seen=version)
    if not done:
        return shown(request, key, person, said=said, problem=CHANGED if said else "Write a translation first.")
    done_here = urlencode({"after": there.position if there else 0, "did": wanted, "last": text_id})
    return redirect(f"/review/translations/{study}/{language}/next?{done_here}")


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
        spoken=in_english(key.language),
        did=did_in(request),
        last=last if (last := request.query_params.get("last", "")).isalnum() else None,
        runs=speech.direction if speech else "ltr",
        said=said,
        problem=problem,
    )
