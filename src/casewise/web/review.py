"""The review room: drafts, queue, contexts, history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection
from starlette.responses import JSONResponse, Response

from casewise.ask.layouts import labels_of
from casewise.contexts.checks import Wording, WordingProblem, compare_pair, is_same, wording_difference
from casewise.contexts.drafts import BenchmarkDraft, all_drafts, find_draft, progress
from casewise.contexts.queue import (
    Filter,
    count_waiting,
    decline_categories,
    declined_categories,
    has_read_warning,
    list_contexts,
    next_for,
    read_warning,
)
from casewise.contexts.record import read_record
from casewise.contexts.review import QUERY_ACTS, Act, NotAllowed, Phase, ReviewAction, possible_acts
from casewise.contexts.statistics import review_statistics
from casewise.contexts.store import (
    ROLE_OF,
    ConflictingAction,
    Event,
    ReviewPlace,
    UnsubmittedText,
    act,
    act_on_query,
    discard,
    events_of,
    find_autosave,
    find_place,
    is_left_to_others,
    save,
    sibling,
    steps_of,
)
from casewise.database.staff import Person, Role, everyone, find_person
from casewise.errors import ConfigurationError
from casewise.notation import whole_number
from casewise.web.pages import Now, Redirection, Worker, database_of, redirect, render, require
from casewise.web.security import SentForm

# What the page of a context shows to whom: never another reviewer's words before one's own are submitted.


TURNING_ACTS = frozenset({Act.RETURN, Act.OBJECT, Act.GIVE_UP, Act.RESTART, Act.WITHDRAW, Act.RESTORE})
COMMENTED_ACTS = TURNING_ACTS | {Act.COMMENT, Act.SUBMIT, Act.OFFER, Act.REWRITE}
JUDGED_ALONE = frozenset({Phase.GENERATED, Phase.UNDER_REVIEW})
ABOUT_WORDS = COMMENTED_ACTS - {Act.RESTART, Act.WITHDRAW, Act.RESTORE}
"""Acts on a context that the other reviewer does not read before judging it. All read the reason for a new review."""
EDITING = frozenset({Act.SUBMIT, Act.OFFER, Act.REWRITE})


def allowed_acts(connection: Connection, place: ReviewPlace, person: Person) -> frozenset[Act]:
    """Return the acts open to this person on this context now, by its state, their roles and its author."""
    acts = frozenset(act for act in possible_acts(place.state, person.id) if person.has(*ROLE_OF[act]))
    return acts - {Act.SUBMIT} if is_left_to_others(connection, place, person.id) else acts


def view_of(
    connection: Connection, place: ReviewPlace, person: Person, *, typed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the view of `place` for `person`, as its template takes it; `typed` are words that were sent but could not be
    taken.
    """
    acts, state = allowed_acts(connection, place, person), place.state
    editing = next((act for act in Act if act in acts & EDITING), None)
    autosave = find_autosave(connection, place.id, person_id=person.id) if editing else None
    events = events_of(connection, place.id)
    begin = state.positions.get(person.id) or state.wording
    words = typed or (autosave.fields if autosave else None) or (begin.fields() if begin else {})
    # the event that last sent the context back, in the present review; its reason stands among the comments
    turns = [event for event in events if event.act in TURNING_ACTS and event.seq >= beginning_of(events)]
    labels = labels_of(place.parameters)
    originals, current = (wording.fields() if wording else {} for wording in (state.root, state.wording))
    changes = wording_difference(state.root, state.wording, place.parameters)
    contrast = sibling(connection, place)
    other = contrast.state.wording if contrast else None
    fields = []
    groups: dict[str, list[dict[str, Any]]] = {}
    for name in place.parameters.all_names:
        group, _, inside = name.partition(".")
        field = {
            "id": name.replace(".", "-"),
            "name": name,
            "label": labels[name],
            "now": current.get(name, ""),
            "original": originals.get(name, ""),
            "typed": words.get(name, ""),
            "changes": changes.get(name, []),
            "changed": not is_same(changes.get(name, [])),
            "findings": [finding for finding in place.findings if finding.parameter == name],
            "required": name in place.parameters.required,
        }
        fields.append(field)
        groups.setdefault(labels[group] if inside else "Also", []).append(field)
    return {
        "acts": acts,
        "fields": fields,
        "groups": groups,
        "labels": labels,
        "editing": editing,
        "proposals": proposals_for(connection, place, person),
        "comments": [
            event for event in seen_events(place, person, acts, events) if event.act in COMMENTED_ACTS and event.reason
        ],
        "turned": turns[-1] if turns and state.phase != Phase.APPROVED else None,
        "general_findings": [finding for finding in place.findings if not finding.parameter],
        "contrast": contrast,
        "pair": compare_pair(state.wording, other, vary=place.vary) if state.wording and other else None,
        "began": next((FIRST_TEXTS[event.act] for event in reversed(events) if event.act in FIRST_TEXTS), None),
        "autosave": autosave,
        "source_id": next((event.source_id for event in events if event.source_id), None),
        "names": names_of(connection, events),
        "submitted": state.phase == Phase.UNDER_REVIEW and person.id in state.reviewers,
        # a person may review what they rewrote only where there are too few others
        "own_words": state.phase in JUDGED_ALONE and person.id == state.author,
    }


FIRST_TEXTS = {
    Act.GENERATE: "Generated",
    Act.IMPORT: "Imported",
    Act.ADOPT: "Imported",
    Act.REWRITE: "As it was written",
}
"""Name of the text that the review began with."""


def proposals_for(connection: Connection, place: ReviewPlace, person: Person) -> list[dict[str, Any]]:
    """Return both positions while they are discussed; only one's own while the other has not submitted."""
    state = place.state
    if state.phase not in {Phase.UNDER_REVIEW, Phase.IN_DISCUSSION}:
        return []
    shown_reviewers = [
        reviewer for reviewer in state.reviewers if state.phase == Phase.IN_DISCUSSION or reviewer == person.id
    ]
    return [
        {
            "who": name_of(connection, reviewer),
            "mine": reviewer == person.id,
            "changes": wording_difference(state.wording, state.positions[reviewer], place.parameters),
        }
        for reviewer in sorted(shown_reviewers, key=lambda reviewer: reviewer != person.id)
        if reviewer in state.positions
    ]


def beginning_of(events: list[Event]) -> int:
    """Return where the review that goes on now began."""
    return max((event.seq for event in events if event.to_phase == Phase.GENERATED), default=0)


def seen_events(place: ReviewPlace, person: Person, acts: frozenset[Act], events: list[Event]) -> list[Event]:
    """Return the history without what `person`, who may do `acts`, must not see yet.

    Submitted words are for their author alone until both reviewers have submitted. Who still judges alone sees nothing
    that others said or wrote in earlier rounds either: it would be one review given twice.
    """
    beginning, judges = beginning_of(events), bool(acts & {Act.SUBMIT, Act.TAKE_BACK})

    def hidden(event: Event) -> bool:
        unsubmitted = place.state.phase == Phase.UNDER_REVIEW and event.seq > beginning
        return event.by != person.id and (unsubmitted or (judges and event.act in ABOUT_WORDS))

    def seen(event: Event) -> Event:
        if not hidden(event):
            return event
        # the text under review is there for all to read; why it was written is not
        unseen = {"reason": None} if event.act == Act.REWRITE else {"reason": None, "wording": None}
        return event.model_copy(update=unseen)

    return [seen(event) for event in events]


def names_of(connection: Connection, events: list[Event]) -> dict[str, str]:
    """Return the names of those who acted; programs go by their own."""
    return {person_id: name_of(connection, person_id) for person_id in {event.by for event in events}}


def name_of(connection: Connection, person_id: str) -> str:
    person = find_person(connection, person_id)
    return person.name if person else person_id


# The review room: the drafts, the queue, one page for a context, its history.


router = APIRouter(prefix="/review")

ReviewRoom = Annotated[Person, Depends(require(Role.REVIEWER, Role.EXPERT, Role.ADMINISTRATOR))]


def draft_named(connection: Connection, name: str) -> BenchmarkDraft:
    """Return the draft called `name`; a page that does not exist if there is none."""
    try:
        return find_draft(connection, name)
    except ConfigurationError as error:
        raise HTTPException(404) from error


def place_with(connection: Connection, place_id: str) -> ReviewPlace:
    """Return the place with this id; a page that does not exist if there is none."""
    place = find_place(connection, place_id)
    if place is None:
        raise HTTPException(404)
    return place


def works_on_contexts(person: Person) -> bool:
    """Return whether a person works on contexts; others only look."""
    return person.has(Role.REVIEWER, Role.EXPERT)


def warn_first(connection: Connection, draft: BenchmarkDraft, person: Person) -> None:
    """Send a person who works on contexts to the warning until they have read it."""
    if works_on_contexts(person) and not has_read_warning(connection, draft, person.id):
        raise Redirection(f"/review/drafts/{draft.name}/warning")


@router.get("")
def drafts_page(request: Request, person: ReviewRoom) -> Response:
    """Return all drafts, how far they are and how much waits for this person."""
    with database_of(request).read() as connection:
        every = all_drafts(connection)
        drafts = [(draft, progress(connection, draft), count_waiting(connection, draft, person)) for draft in every]
    return render(request, "review/drafts.html", drafts=drafts)


@router.get("/drafts/{name}")
def queue_page(request: Request, name: str, person: ReviewRoom) -> Response:
    """Return the contexts of a draft, filtered, a page at a time."""
    parameters = request.query_params
    chosen = filter_of(dict(parameters), works_on_contexts=works_on_contexts(person))
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        warn_first(connection, draft, person)
        page = list_contexts(connection, draft, person, chosen)
        counts = progress(connection, draft)
        waiting = count_waiting(connection, draft, person)
    more = urlencode({**parameters, "after": page.next_after}) if page.next_after is not None else None
    return render(
        request,
        "review/queue.html",
        draft=draft,
        page=page,
        counts=counts,
        works_on_contexts=works_on_contexts(person),
        waiting=waiting,
        chosen=chosen,
        phases=list(Phase),
        more=more,
        done=parameters.get("done"),
    )


def filter_of(parameters: dict[str, str], *, works_on_contexts: bool) -> Filter:
    """Return the filter in a query string; what makes no sense in it filters nothing."""
    phase = parameters.get("phase", "")
    intent = {"safe": True, "unsafe": False}.get(parameters.get("intent", ""))
    filtered = bool(parameters.keys() & {"phase", "category", "intent", "mine", "all"})
    return Filter(
        mine=parameters.get("mine") == "yes" or (works_on_contexts and not filtered),
        phase=Phase(phase) if phase in set(Phase) else None,
        category=parameters.get("category") or None,
        intended_safe=intent,
        after=whole_number(parameters.get("after")),
    )


@router.get("/drafts/{name}/next")
def next_page(request: Request, name: str, person: Worker) -> Response:
    """Redirect to the next context that waits for this person; to the queue when there is none."""
    parameters = request.query_params
    did = parameters.get("did", "")
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        warn_first(connection, draft, person)
        place_id = next_for(connection, draft, person, after=whole_number(parameters.get("after")))
    if place_id is None:
        return redirect(f"/review/drafts/{name}?done=all")
    last = {"did": did, "last": parameters.get("last", "")}
    return redirect(f"/review/contexts/{place_id}" + (f"?{urlencode(last)}" if did else ""))


@router.get("/drafts/{name}/warning")
def warning_page(request: Request, name: str, person: ReviewRoom) -> Response:
    """Return what reviewers will read, before they read it, and which categories they would rather not."""
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        passed = declined_categories(connection, person.id)
    return render(
        request, "review/warning.html", draft=draft, passed=passed, works_on_contexts=works_on_contexts(person)
    )


@router.post("/drafts/{name}/warning")
async def warning_read(request: Request, name: str, person: Worker, at: Now) -> Response:
    chosen = [str(category) for category in (await request.form()).getlist("pass")]
    with database_of(request).write() as connection:
        draft = draft_named(connection, name)
        passed = declined_categories(connection, person.id) - set(draft.taxonomy.names)
        decline_categories(connection, person.id, passed | (set(chosen) & set(draft.taxonomy.names)))
        read_warning(connection, draft, person.id, now=at)
    return redirect(f"/review/drafts/{name}")


@router.get("/drafts/{name}/progress")
def progress_page(request: Request, name: str, _person: ReviewRoom) -> Response:
    """Return where the contexts of a draft stand, how well reviewers agree, and who did how much."""
    with database_of(request).read() as connection:
        draft = draft_named(connection, name)
        statistics = review_statistics(read_record(connection, draft))
        names = {person.id: person.name for person in everyone(connection)}
    return render(request, "review/progress.html", draft=draft, found=statistics, names=names)


@router.get("/contexts/{place_id}/history")
def history_page(request: Request, place_id: str, person: ReviewRoom) -> Response:
    """Return every step of a context's way: who, when, from where to where, why, and what they wrote."""
    with database_of(request).read() as connection:
        place = place_with(connection, place_id)
        events = events_of(connection, place_id)
        names = names_of(connection, events)
        draft = draft_of(connection, place)
        events_seen = seen_events(place, person, allowed_acts(connection, place, person), events)
    labels = labels_of(place.parameters)
    steps = [
        (
            event,
            wording_difference(step.before.wording, event.wording, place.parameters) if event.wording else None,
            event.act == Act.SUBMIT and event.by == step.before.author,
        )
        for event, step in zip(events_seen, steps_of(events), strict=True)
    ]
    return render(request, "review/history.html", place=place, draft=draft, steps=steps, names=names, labels=labels)


def draft_of(connection: Connection, place: ReviewPlace) -> BenchmarkDraft:
    return next(draft for draft in all_drafts(connection) if draft.id == place.draft_id)


# One page for a context: reading it, revising it, deciding on it; and keeping what is typed meanwhile.


context_router = APIRouter(prefix="/review/contexts/{place_id}")


UNCHANGED = "submit unchanged"
"""A button that submits the words as they are, whatever was typed."""
DISCARD_TYPED = "discard"
"""A button that discards typed words."""
ACTS_ON_THE_SAME_PAGE = frozenset({Act.COMMENT, Act.TAKE, Act.TAKE_BACK, Act.RESTART, Act.REWRITE, *QUERY_ACTS})
"""Actions after which the same context is shown again; after others, the next one is."""


@context_router.get("")
def context_page(request: Request, place_id: str, person: ReviewRoom) -> Response:
    return context_response(request, place_id, person)


def context_response(
    request: Request,
    place_id: str,
    person: Person,
    *,
    status: int = 200,
    problem: str | None = None,
    form: dict[str, str] | None = None,
) -> Response:
    """Return the page; where an action could not be taken, with the reason and with all that was typed."""
    with database_of(request).read() as connection:
        place = place_with(connection, place_id)
        typed = words_typed(form, place) if form else None
        draft = draft_of(connection, place)
        warn_first(connection, draft, person)
        view = view_of(connection, place, person, typed=typed)
    return render(
        request,
        "review/context.html",
        status=status,
        view=view,
        place=place,
        draft=draft,
        works_on_contexts=works_on_contexts(person),
        category=draft.taxonomy.resolve(place.query.category),
        problem=problem,
        reason=(form or {}).get("reason", ""),
        did=request.query_params.get("did"),
        last=last if (last := request.query_params.get("last", "")).isalnum() else None,
    )


def words_typed(form: dict[str, str], place: ReviewPlace) -> dict[str, str]:
    """Return what of a form are parameters of the context."""
    return {name: form[name] for name in place.parameters.all_names if name in form}


@context_router.post("")
def decide(request: Request, place_id: str, person: ReviewRoom, form: SentForm, at: Now) -> Response:
    """Perform the action of a button of the page, and go on to the next context; the page again where it cannot be done."""
    button = form.get("act", "")
    if button == DISCARD_TYPED:
        with database_of(request).write() as connection:
            discard(connection, place_with(connection, place_id).id, person_id=person.id)
        return redirect(f"/review/contexts/{place_id}?did=discard")
    chosen = Act.SUBMIT if button == UNCHANGED else button
    if chosen not in ROLE_OF:
        raise HTTPException(400, f"Unknown step: {chosen!r}.")
    if not person.has(*ROLE_OF[Act(chosen)]):
        raise HTTPException(403, f"This step needs the role {' or '.join(ROLE_OF[Act(chosen)])}.")
    try:
        with database_of(request).write() as connection:
            place = place_with(connection, place_id)
            words = place.state.wording if button == UNCHANGED else None
            if words is not None:
                Wording.from_fields(words.fields(), place.parameters)  # imported words may lack a parameter
            elif chosen in EDITING:
                words = Wording.from_fields(form, place.parameters)
            action = ReviewAction(
                by=person.id, act=Act(chosen), wording=words, reason=form.get("reason", "").strip() or None
            )
            seen = whole_number(form.get("seen"))
            if seen is None:
                raise HTTPException(400, "The form does not state which version it shows; reload the page.")
            do = act_on_query if action.act in QUERY_ACTS else act
            place = do(connection, place_id, action, seen=seen, now=at)
            draft = draft_of(connection, place)
    except ConflictingAction as error:
        return context_response(request, place_id, person, status=409, problem=str(error), form=form)
    except (NotAllowed, WordingProblem) as error:
        return context_response(request, place_id, person, status=400, problem=str(error), form=form)
    did = urlencode({"did": button})
    if button in ACTS_ON_THE_SAME_PAGE or not works_on_contexts(person):
        return redirect(f"/review/contexts/{place.id}?{did}")
    return redirect(f"/review/drafts/{draft.name}/next?after={place.position}&{did}&last={place.id}")


class AutosavedWords(BaseModel):
    """The words that the page's script sends while a person types."""

    model_config = ConfigDict(extra="forbid")

    fields: dict[str, str] = Field(max_length=200)
    saved: int = Field(ge=0, le=10**9)
    """The number of the last save that this tab knows."""
    version: int = Field(ge=0, le=10**9)


@context_router.post("/autosave")
def autosave(request: Request, place_id: str, typed: AutosavedWords, person: Worker, at: Now) -> Response:
    """Keep what was typed; 409 with the other words when another tab was faster."""
    with database_of(request).write() as connection:
        place = place_with(connection, place_id)
        if not allowed_acts(connection, place, person) & EDITING:
            raise HTTPException(409, "You can no longer revise this context. Reload the page.")
        words = UnsubmittedText(words_typed(typed.fields, place), saved=typed.saved, version=typed.version)
        saved = save(connection, place_id, person_id=person.id, typed=words, now=at)
    if saved.newer is not None:
        newer = {"saved": saved.newer.saved, "fields": saved.newer.fields}
        return JSONResponse({"problem": "Another tab saved another text.", "newer": newer}, 409)
    return JSONResponse({"saved": saved.saved})
