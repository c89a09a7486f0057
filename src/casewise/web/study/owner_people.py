"""The owner's page of people: found, sorted, left out and taken in again, many at once, with a reason."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request
from starlette.responses import Response

from casewise.studies.running.annotators import annotator, count_stages
from casewise.studies.running.answers import void
from casewise.studies.running.quality import FlagKind
from casewise.studies.running.restoring import restore
from casewise.studies.running.rounds import Round
from casewise.studies.watching.people import SORTS, PeopleQuery, Sort, find_people, look_up, with_submission
from casewise.web.frame.identity import Now, Owner, database_of
from casewise.web.frame.pages import redirect, render
from casewise.web.security.forms import SentForm
from casewise.web.study.session import ThisRound, vault_of

__all__ = ["router"]

router = APIRouter(prefix="/studies/{study_id}/people")

Asked = Annotated[str, Query(max_length=200)]

PEOPLE_A_PAGE = 100
FLAGS: tuple[FlagKind, ...] = get_args(FlagKind)
ACTIONS = {"void": void, "restore": restore}
CHOSEN = "who-"
LONGEST_REASON = 500


@router.get("")
def people(
    request: Request,
    _owner: Owner,
    study: ThisRound,
    search: Asked = "",
    condition: Asked = "",
    status: Asked = "",
    flag: Asked = "",
    sort: Asked = "flags",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Response:
    """Everybody under a random id, with flags and their evidence; those with most flags first."""
    chosen_sort: Sort = next((known for known in SORTS if known == sort), "flags")
    wanted = PeopleQuery(search=search, condition=condition, status=status, flag=flag, sort=chosen_sort)
    with database_of(request).read() as connection:
        vault, offset = vault_of(request), (page - 1) * PEOPLE_A_PAGE
        found = find_people(connection, study, wanted, vault=vault, limit=PEOPLE_A_PAGE, offset=offset)
        stages = count_stages(connection, study.id)
    asked = {"search": search, "condition": condition, "status": status, "flag": flag, "sort": chosen_sort}
    values: dict[str, Any] = {
        "study": study,
        "found": found,
        "asked": asked,
        "sorts": tuple(SORTS),
        "flags": FLAGS,
        "stages": sorted(stages),
        "page": page,
        "done": request.query_params.get("done"),
        "slots": request.query_params.get("slots", ""),
        "pages": max(1, ceil(found.total / PEOPLE_A_PAGE)),
        "link": urlencode({name: value for name, value in asked.items() if value}),
    }
    return render(request, "study/owner_people.html", **values)


@router.post("")
def act(request: Request, owner: Owner, study: ThisRound, form: SentForm, at: Now) -> Response:
    """Leave out, or take in again, all who are ticked; the reason stays in the log of each."""
    why, action = form.get("why", "").strip()[:LONGEST_REASON], ACTIONS.get(form.get("action", ""))
    chosen = sorted(name.removeprefix(CHOSEN) for name in form if name.startswith(CHOSEN))
    if action is None or not chosen:
        raise HTTPException(400, "Tick whom it is about, and say what is to be done.")
    if not why:
        raise HTTPException(400, "Say why: the reason is kept, and every report shows results with and without.")
    slots = 0
    with database_of(request).write() as connection:
        for annotator_id in chosen:
            who = annotator(connection, annotator_id)
            if who is None or who.study_id != study.id:
                raise HTTPException(404)
            slots += action(connection, study, annotator_id, why=why, by=owner.id, now=at)
    return redirect(f"/studies/{study.id}/people?done={form['action']}&slots={slots}")


@router.post("/find")
def find_submission(request: Request, _owner: Owner, study: ThisRound, form: SentForm) -> Response:
    """From the recruiter's submission to the annotator. It is sent, so that no address holds it."""
    with database_of(request).read() as connection:
        found = with_submission(connection, study, form.get("submission", "").strip(), vault=vault_of(request))
    if found is None:
        raise HTTPException(404, "Nobody in this round came with that submission, or the ids are deleted by now.")
    return redirect(f"/studies/{study.id}/people?search={found}")


@router.post("/{annotator_id}/recruiter")
def recruiter_ids(request: Request, owner: Owner, study: ThisRound, annotator_id: str, at: Now) -> Response:
    """From the annotator to the recruiter's ids; that somebody looked is put on record."""
    with database_of(request).write() as connection:
        who = annotator(connection, annotator_id)
        if who is None or who.study_id != study.id:
            raise HTTPException(404)
        person = look_up(connection, study, annotator_id, vault=vault_of(request), by=owner.id, now=at)
    submission = submission_page(study, person.session) if person else None
    values: dict[str, Any] = {"study": study, "who": who, "ids": person, "submission": submission}
    return render(request, "study/owner_person.html", **values)


def submission_page(study: Round, submission: str) -> str | None:
    """Where the recruiter shows a submission, if it does."""
    if study.design.recruiter.kind != "prolific" or not submission:
        return None
    return f"https://app.prolific.com/submissions/{submission}"
