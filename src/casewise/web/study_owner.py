"""The pages of a study's owner."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from casewise.database.staff import may_see_study
from casewise.errors import CasewiseError
from casewise.notation import whole_number
from casewise.storage.load import load
from casewise.studies.answers import DisplayedPage, Progress, restore, void
from casewise.studies.export import export
from casewise.studies.monitor import SORTS, PeopleQuery, Sort, alerts, find_by_submission, find_people, machine, monitor
from casewise.studies.owner import check_rows, item_states, pages_in_order, path_of
from casewise.studies.people import Annotator, annotator, count_stages, person_of
from casewise.studies.quality import FlagKind
from casewise.studies.rounds import (
    LiveRound,
    Round,
    RoundState,
    all_rounds,
    round_state,
    seconds_to_wait,
    set_condition,
    set_state,
    shown_items,
)
from casewise.web.pages import Now, Owner, database_of, redirect, render
from casewise.web.security import FIXED_HEADERS, SentForm
from casewise.web.study import ThisRound, markdown, show_item, vault_of

# The owner's pages of rounds: how far each is, how fast, what it costs; pausing and closing.


async def owned_round(request: Request, owner: Owner, study: ThisRound) -> Round:
    """Return the round that the address names, if the owner belongs to its study; else there is no such page."""

    def sees() -> bool:
        with database_of(request).read() as connection:
            return may_see_study(connection, owner.id, study.name)

    if not await run_in_threadpool(sees):
        raise HTTPException(404)
    return study


OwnedRound = Annotated[Round, Depends(owned_round)]


router = APIRouter(prefix="/studies")

STATES: tuple[RoundState, ...] = get_args(RoundState)


@router.get("")
def studies(request: Request, owner: Owner) -> Response:
    """Return the rounds of the owner's studies, the newest first."""
    with database_of(request).read() as connection:
        rounds = [row for row in all_rounds(connection) if may_see_study(connection, owner.id, row.name)]
    return render(request, "study/owner_list.html", rounds=rounds)


@router.get("/{study_id}")
def dashboard(request: Request, _owner: Owner, study: OwnedRound, at: Now) -> Response:
    """Show the progress of a round by condition, its pace, its cost and what needs a look."""
    with study.read(database_of(request), at) as live:
        state, numbers = round_state(live), monitor(live)
    return render(
        request,
        "study/owner_round.html",
        study=study,
        state=state,
        monitor=numbers,
        seen=numbers.overview,
        at=at,
        alerts=alerts(numbers, study, now=at) if state == "open" else {},
        machine=machine(database_of(request), now=at),
        link=f"{request.app.state.settings.site_url}/study/{study.id}",
    )


@router.post("/{study_id}/state")
def change_state(request: Request, owner: Owner, study: OwnedRound, form: SentForm, at: Now) -> Response:
    """Pause, open again, or close."""
    new_state: RoundState | None = next((state for state in STATES if state == form.get("state")), None)
    if new_state is None:
        raise HTTPException(400, f"A study can be {', '.join(STATES)}.")
    with study.write(database_of(request), at) as live:
        if new_state == "open" and (wait_s := seconds_to_wait(live)):
            raise HTTPException(409, f"The study was just amended. Open it again in {wait_s:.0f} seconds.")
        set_state(live, new_state, by=owner.id)
    return redirect(f"/studies/{study.id}")


@router.post("/{study_id}/conditions")
def change_condition(request: Request, owner: Owner, study: OwnedRound, form: SentForm, at: Now) -> Response:
    """Close one condition while others go on, or open it again."""
    with study.write(database_of(request), at) as live:
        set_condition(live, form.get("condition", ""), closed=form.get("state") == "closed", by=owner.id)
    return redirect(f"/studies/{study.id}")


@router.get("/{study_id}/checks")
def checks_page(request: Request, _owner: Owner, study: OwnedRound) -> Response:
    """Show attention checks and speed, a row an annotator."""
    with study.read(database_of(request)) as live:
        rows = check_rows(live)
    return render(request, "study/owner_checks.html", study=study, rows=rows)


# What people see and what they did: the design, items, one person's answers; and the round's export.


ITEMS_A_PAGE = 100
SECTIONS_NOT_SHOWN = {"contact", "texts", "recruiter", "simulation", "crowd"}
PREVIEW_POLICY = f"{FIXED_HEADERS['Content-Security-Policy']}; sandbox allow-same-origin"
"""Content policy of a page as annotators see it: no form on it can be sent, and no script runs."""


@router.get("/{study_id}/design")
def design_page(request: Request, _owner: Owner, study: OwnedRound) -> Response:
    """Return the settings with which the round runs, and every text that people read."""
    plain = study.design.model_dump(mode="json")
    facts = {name: plain[name] for name in ("conditions", "contrasts", "rates", "language", "seed", "benchmark")}
    facts["contrasts"] = [f"{first} − {second}" for first, second in study.design.contrasts]
    tables = {name: table for name, table in plain.items() if isinstance(table, dict)}
    sections = {name: tables[name] for name in tables if name not in SECTIONS_NOT_SHOWN}
    names = ("warning", "consent", "tutorial", "debriefing", "screened_out", "help")
    texts = {name: markdown(getattr(study.wording, name)) for name in names}
    return render(request, "study/owner_design.html", study=study, facts=facts, sections=sections, texts=texts)


@router.get("/{study_id}/items")
def items_page(request: Request, _owner: Owner, study: OwnedRound) -> Response:
    """Return every item; once the round is closed those first on which people disagree most."""
    page = whole_number(request.query_params.get("page", "")[:9]) or 1
    with study.read(database_of(request)) as live:
        state, states = round_state(live), item_states(live)
    pages = max(1, ceil(len(states) / ITEMS_A_PAGE))
    page = min(page, pages)
    items, closed = states[(page - 1) * ITEMS_A_PAGE : page * ITEMS_A_PAGE], state == "closed"
    return render(request, "study/owner_items.html", study=study, items=items, closed=closed, page=page, pages=pages)


@router.get("/{study_id}/items/{item_id}")
def item_page(request: Request, _owner: Owner, study: OwnedRound, item_id: str) -> Response:
    """Return the item's page as people see it; nothing on it can be sent."""
    with study.read(database_of(request)) as live:
        item = next((item for item in shown_items(live) if item.item_id == item_id), None)
    if item is None:
        raise HTTPException(404)
    pages = study.design.ratings.per_annotator + study.design.attention.checks_per_batch
    page = DisplayedPage.from_item(item.shown, Progress(0, pages))
    response = show_item(request, study, "", page, now=study.created_at)
    response.headers["Content-Security-Policy"] = PREVIEW_POLICY
    return response


@router.get("/{study_id}/export.zip")
def export_round(request: Request, _owner: Owner, study: OwnedRound) -> Response:
    """Return what `casewise export` of a study writes; with the ratings as a table where the benchmark is not on this machine."""
    benchmark = None
    with suppress(CasewiseError):
        loaded = load(study.design.benchmark)
        benchmark = loaded if loaded.digest == study.benchmark["digest"] else None
    with tempfile.TemporaryDirectory(prefix="casewise-export-") as place:
        folder = Path(place) / f"{study.name}-{study.phase}"
        with study.read(database_of(request)) as live:
            export(live, benchmark=benchmark, design=study.design, folder=folder)
        packed = Path(shutil.make_archive(str(folder), "zip", place, folder.name)).read_bytes()
    named = {"Content-Disposition": f'attachment; filename="{folder.name}.zip"'}
    return Response(packed, media_type="application/zip", headers=named)


# The owner's page of people: found, sorted, left out and taken in again, many at once, with a reason.


people_router = APIRouter(prefix="/studies/{study_id}/people")

PEOPLE_A_PAGE = 100
FLAGS: tuple[FlagKind, ...] = get_args(FlagKind)
ACTIONS = {"void": void, "restore": restore}
TICK_PREFIX = "who-"
LONGEST_REASON = 500
LONGEST_WORD = 200
NOTHING_TICKED = "Tick at least one person and choose an action."
REASON_MISSING = "Give a reason: it is kept, and every report shows results with and without these people."
UNKNOWN_SUBMISSION = "No person in this round has that submission or id, or the ids were deleted."


async def people_query(request: Request) -> PeopleQuery:
    """Return the people that the address asks for; values that make no sense are left out."""
    query = {name: value.strip()[:LONGEST_WORD] for name, value in request.query_params.items()}
    words = {name: query.get(name, "") for name in ("search", "condition", "status", "flag")}
    sort: Sort = next((sort_name for sort_name in SORTS if sort_name == query.get("sort")), "flags")
    return PeopleQuery(**words, sort=sort, page=whole_number(query.get("page", "")[:9]) or 1)


People = Annotated[PeopleQuery, Depends(people_query)]
"""The people that the address asks for. It is in the address of each action, so that the owner comes back to the same list."""


def link_to(query: PeopleQuery, *, page: bool = True) -> str:
    """Return the part of an address that asks for these people."""
    return urlencode({name: value for name, value in asdict(query).items() if value and (page or name != "page")})


@people_router.get("")
def people(request: Request, _owner: Owner, study: OwnedRound, query: People) -> Response:
    """Show everybody under a random id, with flags and their evidence; those with most flags first."""
    return people_page(request, study, query)


def people_page(
    request: Request, study: Round, query: PeopleQuery, *, status: int = 200, problem: str = "", **typed: Any
) -> Response:
    """Return the page; where an action was refused, with the reason and with all that was `typed`."""
    with study.read(database_of(request)) as live:
        people, stages = find_people(live, query, limit=PEOPLE_A_PAGE), count_stages(live)
    return render(
        request,
        "study/owner_people.html",
        status=status,
        study=study,
        found=people,
        asked=asdict(query),
        sorts=tuple(SORTS),
        flags=FLAGS,
        stages=sorted((stages.keys() | {query.status}) - {"", "left out"}),
        done=request.query_params.get("done"),
        slots=request.query_params.get("slots", ""),
        link=link_to(query, page=False),
        back=link_to(query),
        problem=problem,
        typed={"why": "", "submission": "", "ticked": ()} | typed,
    )


def annotator_of(study: LiveRound, annotator_id: str) -> Annotator:
    """Return the annotator of this round; a page that does not exist where it has none of this id."""
    person = annotator(study, annotator_id)
    if person is None or person.study_id != study.id:
        raise HTTPException(404)
    return person


@people_router.post("")
def act(request: Request, owner: Owner, study: OwnedRound, form: SentForm, query: People, at: Now) -> Response:
    """Exclude, or include again, all ticked annotators; the reason stays in the log of each."""
    reason, action = form.get("why", "").strip()[:LONGEST_REASON], ACTIONS.get(form.get("action", ""))
    chosen = sorted(name.removeprefix(TICK_PREFIX) for name in form if name.startswith(TICK_PREFIX))
    if action is None or not chosen or not reason:
        problem = REASON_MISSING if action and chosen else NOTHING_TICKED
        return people_page(request, study, query, status=400, problem=problem, why=reason, ticked=chosen)
    slots = 0
    with study.write(database_of(request), at) as live:
        for annotator_id in chosen:
            annotator_of(live, annotator_id)
            slots += action(live, annotator_id, reason=reason, by=owner.id)
    done = urlencode({"done": form["action"], "slots": slots})
    return redirect(f"/studies/{study.id}/people?{link_to(query)}&{done}")


@people_router.post("/find")
def find_submission(request: Request, _owner: Owner, study: OwnedRound, form: SentForm, query: People) -> Response:
    """Redirect from the recruiter's submission, or a person's id there, to the annotator. It is sent, so that no address holds it."""
    submission = form.get("submission", "").strip()[:LONGEST_WORD]
    with study.read(database_of(request)) as live:
        annotator_id = find_by_submission(live, submission, vault=vault_of(request))
    if annotator_id is None:
        return people_page(request, study, query, status=404, problem=UNKNOWN_SUBMISSION, submission=submission)
    return redirect(f"/studies/{study.id}/people?search={annotator_id}")


@people_router.get("/{annotator_id}")
def answers_page(request: Request, _owner: Owner, study: OwnedRound, annotator_id: str, query: People) -> Response:
    """Return one person's pages, in the order in which they were shown."""
    with study.read(database_of(request)) as live:
        person = annotator_of(live, annotator_id)
        pages, way = pages_in_order(live, annotator_id), path_of(live, annotator_id)
    return render(
        request,
        "study/owner_answers.html",
        study=study,
        who=person,
        pages=pages,
        way=way,
        expected={check.name: check.expected for check in study.wording.checks},
        own={question.name: question for question in study.design.questions},
        link=link_to(query),
    )


@people_router.post("/{annotator_id}/recruiter")
def recruiter_ids(
    request: Request, owner: Owner, study: OwnedRound, annotator_id: str, query: People, at: Now
) -> Response:
    """Show the recruiter's ids of an annotator; the look is put on record."""
    with study.write(database_of(request), at) as live:
        person = annotator_of(live, annotator_id)
        live.note("looked up", by=owner.id, annotator_id=annotator_id)
        ids = person_of(live, annotator_id, vault=vault_of(request))
    at_prolific = study.design.recruiter.kind == "prolific" and ids is not None and ids.session
    submission = f"https://app.prolific.com/submissions/{ids.session}" if ids and at_prolific else None
    values: dict[str, Any] = {"ids": ids, "submission": submission, "link": link_to(query)}
    return render(request, "study/owner_person.html", study=study, who=person, **values)
