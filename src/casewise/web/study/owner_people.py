"""The owner's page of people: found, sorted, left out and taken in again, many at once, with a reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import Annotated, Any, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.responses import Response

from casewise.studies.running.annotators import annotator, count_stages
from casewise.studies.running.answers import void
from casewise.studies.running.quality import FlagKind
from casewise.studies.running.restoring import restore
from casewise.studies.running.rounds import Round
from casewise.studies.watching.people import SORTS, PeopleQuery, Sort, find_people, look_up, with_submission
from casewise.web.frame.identity import Now, Owner, database_of
from casewise.web.frame.pages import redirect, render
from casewise.web.security.forms import SentForm, whole_number
from casewise.web.study.session import ThisRound, vault_of

__all__ = ["router"]

router = APIRouter(prefix="/studies/{study_id}/people")

PEOPLE_A_PAGE = 100
FLAGS: tuple[FlagKind, ...] = get_args(FlagKind)
ACTIONS = {"void": void, "restore": restore}
CHOSEN = "who-"
LONGEST_REASON = 500
LONGEST_WORD = 200
TICK = "Tick whom it is about, and say what is to be done."
SAY_WHY = "Say why: the reason is kept, and every report shows results with and without."
UNKNOWN = "Nobody in this round came with that submission or id, or the ids are deleted by now."


@dataclass(frozen=True, slots=True)
class Listing:
    """Whom the owner's page lists: in the address of all that is done on it, so that one comes back to the same."""

    query: PeopleQuery
    page: int

    @property
    def link(self) -> str:
        return urlencode({name: value for name, value in asdict(self.query).items() if value})


async def listing(request: Request) -> Listing:
    """What the address asks for; what makes no sense in it asks for nothing."""
    asked = {name: value.strip()[:LONGEST_WORD] for name, value in request.query_params.items()}
    words = {name: asked.get(name, "") for name in ("search", "condition", "status", "flag")}
    sort: Sort = next((known for known in SORTS if known == asked.get("sort")), "flags")
    return Listing(PeopleQuery(**words, sort=sort), whole_number(asked.get("page", "")[:9]) or 1)


Listed = Annotated[Listing, Depends(listing)]


@router.get("")
def people(request: Request, _owner: Owner, study: ThisRound, listed: Listed) -> Response:
    """Everybody under a random id, with flags and their evidence; those with most flags first."""
    return shown(request, study, listed)


def shown(
    request: Request, study: Round, listed: Listing, *, status: int = 200, problem: str = "", **typed: Any
) -> Response:
    """The page; where something could not be done, with the reason and with all that was `typed`."""
    with database_of(request).read() as connection:
        offset = (listed.page - 1) * PEOPLE_A_PAGE
        found = find_people(connection, study, listed.query, limit=PEOPLE_A_PAGE, offset=offset)
        stages = count_stages(connection, study.id)
    values: dict[str, Any] = {
        "study": study,
        "found": found,
        "asked": asdict(listed.query),
        "sorts": tuple(SORTS),
        "flags": FLAGS,
        "stages": sorted((stages.keys() | {listed.query.status}) - {"", "left out"}),
        "page": found.offset // PEOPLE_A_PAGE + 1,
        "done": request.query_params.get("done"),
        "slots": request.query_params.get("slots", ""),
        "pages": max(1, ceil(found.total / PEOPLE_A_PAGE)),
        "link": listed.link,
        "problem": problem,
        "typed": {"why": "", "submission": "", "ticked": ()} | typed,
    }
    return render(request, "study/owner_people.html", status=status, **values)


@router.post("")
def act(request: Request, owner: Owner, study: ThisRound, form: SentForm, listed: Listed, at: Now) -> Response:
    """Leave out, or take in again, all who are ticked; the reason stays in the log of each."""
    why, action = form.get("why", "").strip()[:LONGEST_REASON], ACTIONS.get(form.get("action", ""))
    chosen = sorted(name.removeprefix(CHOSEN) for name in form if name.startswith(CHOSEN))
    if action is None or not chosen or not why:
        problem = SAY_WHY if action and chosen else TICK
        return shown(request, study, listed, status=400, problem=problem, why=why, ticked=chosen)
    slots = 0
    with database_of(request).write() as connection:
        for annotator_id in chosen:
            who = annotator(connection, annotator_id)
            if who is None or who.study_id != study.id:
                raise HTTPException(404)
            slots += action(connection, study, annotator_id, why=why, by=owner.id, now=at)
    done = urlencode({"page": listed.page, "done": form["action"], "slots": slots})
    return redirect(f"/studies/{study.id}/people?{listed.link}&{done}")


@router.post("/find")
def find_submission(request: Request, _owner: Owner, study: ThisRound, form: SentForm, listed: Listed) -> Response:
    """From the recruiter's submission, or a person's id there, to the annotator. It is sent, so that no address holds it."""
    submission = form.get("submission", "").strip()[:LONGEST_WORD]
    with database_of(request).read() as connection:
        found = with_submission(connection, study, submission, vault=vault_of(request))
    if found is None:
        return shown(request, study, listed, status=404, problem=UNKNOWN, submission=submission)
    return redirect(f"/studies/{study.id}/people?search={found}")


@router.get("/find")
@router.get("/{annotator_id}/recruiter")
def back_to_people(_owner: Owner, study: ThisRound, listed: Listed) -> Response:
    """The address of what was sent before, opened anew: the list it came from."""
    return redirect(f"/studies/{study.id}/people?{listed.link}&page={listed.page}")


@router.post("/{annotator_id}/recruiter")
def recruiter_ids(
    request: Request, owner: Owner, study: ThisRound, annotator_id: str, listed: Listed, at: Now
) -> Response:
    """From the annotator to the recruiter's ids; that somebody looked is put on record."""
    with database_of(request).write() as connection:
        who = annotator(connection, annotator_id)
        if who is None or who.study_id != study.id:
            raise HTTPException(404)
        person = look_up(connection, study, annotator_id, vault=vault_of(request), by=owner.id, now=at)
    submission = submission_page(study, person.session) if person else None
    link = f"{listed.link}&page={listed.page}"
    values: dict[str, Any] = {"study": study, "who": who, "ids": person, "submission": submission, "link": link}
    return render(request, "study/owner_person.html", **values)


def submission_page(study: Round, submission: str) -> str | None:
    """Where the recruiter shows a submission, if it does."""
    if study.design.recruiter.kind != "prolific" or not submission:
        return None
    return f"https://app.prolific.com/submissions/{submission}"
