"""Recruiting at Prolific: create the study there, add places, approve, keep returners out. Nobody is ever rejected."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from casewise.api.studies import StudyRound, study_round
from casewise.errors import ConfigurationError, RecruiterRefused, StudyError
from casewise.runs.limits import finished
from casewise.studies.answers import INSTEAD, finish_batch, none_begun, settle_bonus, take_returned
from casewise.studies.monitor import keep_up
from casewise.studies.owner import known_here, standings
from casewise.studies.people import annotator as find_annotator
from casewise.studies.people import leave_before_batch, people_needed, person_of
from casewise.studies.prolific import (
    BUSY,
    RETURN_REASON,
    SETTLED,
    FittedPlaces,
    ProlificClient,
    Reconciled,
    Submission,
    can_be_reached,
    client,
    filters_of,
    fit_study,
    study_request,
    to_set_by_hand,
)
from casewise.studies.prolific import (
    reconcile as reconciled,
)
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import (
    Round,
    all_made_at_recruiter,
    made_at_recruiter,
    none_made,
    note,
    note_at_recruiter,
    read_plan,
    round_state,
)
from casewise.studies.slots import hold_study

__all__ = [
    "SETTLED",
    "Done",
    "FittedPlaces",
    "Reconciled",
    "ask_return",
    "bonus",
    "carry_out",
    "create",
    "eligible",
    "fit_places",
    "keep_out",
    "message",
    "publish",
    "reconcile",
    "set_places",
    "settle",
]

T = TypeVar("T")
BonusCheck = Callable[[Connection, Round, str], None]


def talked(work: Callable[[ProlificClient], Awaitable[T]]) -> T:
    """Return the result of calls to Prolific."""

    async def talk() -> T:
        async with client() as prolific:
            return await work(prolific)

    return finished(talk())


def create(
    study: str | Path,
    *,
    phase: str = "main",
    places: int | None = None,
    keep_out: str | None = None,
    workspace: str | None = None,
    project: str | None = None,
    again: bool = False,
    database: str | None = None,
    site_url: str | None = None,
) -> tuple[str, str | None]:
    """Create the study there, unpublished: its id, and what is left to choose on Prolific's page.

    Parameters
    ----------
    places
        People; by default as many as the estimate needs.
    keep_out
        A participant group to keep out.
    workspace, project
        Where it is put there: the workspace's project of this id, or its only one. By default where Prolific puts the
        account's studies.
    again
        Even if one was made for this round before, or begun.
    """
    plan = read_plan(Path(study))
    if plan.design.recruiter.kind != "prolific":
        raise ConfigurationError(f"{study}: [recruiter] kind is {plan.design.recruiter.kind!r}, not 'prolific'")
    with study_round(study, phase, database=database, site_url=site_url) as there:
        if not can_be_reached(there.url):
            raise ConfigurationError(
                f"people at Prolific cannot safely reach {there.url}: serve the app at an https:// address that is not this "
                "machine's own, and name it with --site-url"
            )
        people, minutes = places or plan.estimate.annotators, plan.estimate.minutes_per_annotator
        if workspace:
            project = talked(lambda prolific: prolific.project_in(workspace, project))
        request = study_request(
            plan.design, url=there.url, places=people, minutes=minutes, group=keep_out, project=project
        )
        made = made_once(there, "study", lambda prolific: prolific.create_study(request), again=again)
    return made, to_set_by_hand(plan.design)


def made_once(
    there: StudyRound, what: str, make: Callable[[ProlificClient], Awaitable[str]], *, again: bool = False
) -> str:
    """Make one thing for a round at Prolific and return its id. It is recorded first, and made once unless `again`."""

    def keep(state: str, made: str = "") -> None:
        with there.store.write() as connection:
            if state == "begun":
                hold_study(connection, there.round)
                none_made(connection, there.round.id, what, again=again)
            note_at_recruiter(connection, there.round.id, what, state, made, at=datetime.now(UTC))

    keep("begun")
    try:
        made = talked(make)
    except (RecruiterRefused, ConfigurationError):  # nothing was made
        keep("refused")
        raise
    keep("made", made)
    return made


def publish(
    study: str | Path, *, phase: str = "main", prolific_study: str | None = None, database: str | None = None
) -> str:
    """Let people in; the study's id there. From here on it costs money."""
    there = at_prolific(study, phase, prolific_study, database=database)[-1]
    talked(lambda prolific: prolific.publish(there))
    return there


def at_prolific(study: str | Path, phase: str, prolific_study: str | None, *, database: str | None) -> list[str]:
    """The ids that the round has there: the one given, or all that `create` put on record.

    Raises
    ------
    StudyError
        None is given, and none is on record.
    """
    if prolific_study:
        return [prolific_study]
    with study_round(study, phase, database=database) as there, there.store.read() as connection:
        made = [name for name in all_made_at_recruiter(connection, there.round.id, "study") if name]
    if not made:
        raise StudyError(
            f"no study at Prolific is on record for the {phase} round of {study}: make one with casewise prolific create, or "
            "name yours with --prolific-study"
        )
    return made


def set_places(
    total: int,
    study: str | Path,
    *,
    phase: str = "main",
    prolific_study: str | None = None,
    database: str | None = None,
) -> str:
    """Set the number of places to `total`; the study's id there."""
    there = at_prolific(study, phase, prolific_study, database=database)[-1]
    talked(lambda prolific: prolific.set_places(there, total))
    return there


def fit_places(
    study: str | Path, *, phase: str = "main", prolific_study: str | None = None, database: str | None = None
) -> FittedPlaces:
    """Raise or lower the places there to those taken and as many more as the round needs now.

    Where Prolific lets none be taken away, and nobody is needed, the study is paused there; one that is paused is
    started again once somebody is needed. A closed round needs nobody.

    Raises
    ------
    StudyError
        The round is paused, or no study there is on record.
    """
    name = at_prolific(study, phase, prolific_study, database=database)[-1]
    with study_round(study, phase, database=database) as there, there.store.write() as connection:
        needed = needed_now(connection, there.round, now=datetime.now(UTC))
    return talked(lambda prolific: fit_study(prolific, name, needed))


def reconcile(
    study: str | Path, *, phase: str = "main", prolific_study: str | None = None, database: str | None = None
) -> list[Reconciled]:
    """Every submission there against everybody here, and what is to be done about each; changes nothing there."""
    names = at_prolific(study, phase, prolific_study, database=database)

    async def listed(prolific: ProlificClient) -> list[Submission]:
        return [submission for name in names for submission in await prolific.submissions(name)]

    submissions = talked(listed)
    with study_round(study, phase, database=database) as there:
        now = datetime.now(UTC)
        with there.store.write() as connection:
            keep_up(connection, there.round, now=now)
        with there.store.read() as connection:
            _, people, paid, all_known = known_here(connection, there.round, vault=there.vault, now=now)
        design = there.round.design
    return reconciled(submissions, people, design, bonuses=paid, all_known=all_known)


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of one line; `refused` is the reason if Prolific refused the action."""

    line: Reconciled
    refused: str = ""


def carry_out(
    lines: Sequence[Reconciled], study: str | Path, *, phase: str = "main", database: str | None = None
) -> list[Done]:
    """Do what each line's action says; one that is refused stops none of the others."""
    done = []
    for line in lines:
        try:
            carry_out_one(line, study, phase=phase, database=database)
            done.append(Done(line))
        except StudyError as error:
            done.append(Done(line, str(error)))
    return done


def carry_out_one(line: Reconciled, study: str | Path, *, phase: str, database: str | None) -> None:
    submission, standing = line.submission, line.standing

    def pay(annotator: str) -> None:
        bonus(annotator, line.amount, study=study, phase=phase, why=INSTEAD, database=database)

    if line.action == "pay" and standing:
        pay(standing.annotator)
    elif line.action in ("approve", "decide") and submission and standing:
        try:
            talked(lambda prolific: prolific.approve(submission.id))
        except RecruiterRefused as error:
            if submission.status != "TIMED-OUT" or error.status == BUSY:
                raise
            pay(standing.annotator)
    elif line.action == "ask return" and submission:
        talked(lambda prolific: prolific.request_return(submission.id, RETURN_REASON))
    elif line.action in {"end", "leave out"} and standing:
        with study_round(study, phase, database=database) as there, there.store.write() as connection:
            now, who = datetime.now(UTC), standing.annotator
            if line.action == "leave out":
                take_returned(connection, there.round, who, by="owner", now=now)
            else:
                leave_before_batch(connection, there.round, who, now=now)
                finish_batch(connection, there.round, who, outcome="stopped", now=now)


def needed_now(connection: Connection, study: Round, *, now: datetime) -> int:
    """Return how many more people the round needs. People in the tutorial or the quiz already have a place."""
    state = round_state(connection, study.id)
    if state == "paused":
        raise StudyError("the round is paused, so it lets nobody in; resume it first: casewise study set open")
    keep_up(connection, study, now=now)
    return 0 if state == "closed" else people_needed(connection, study, now=now)


def eligible(study: str | Path) -> int:
    """Return how many people at Prolific pass the design's filters, except filters to choose by hand; 0 if under 25."""
    filters = filters_of(read_plan(Path(study)).design)
    return talked(lambda prolific: prolific.eligible(filters))


def message(annotator: str, text: str, *, study: str | Path, phase: str = "main", database: str | None = None) -> None:
    """Write to an annotator at Prolific. That it was done stands in the log; the words do not."""
    with of_annotator(study, phase, annotator, database=database) as (who, keep):
        talked(lambda prolific: prolific.message(who.person, who.study, text))
        keep("messaged", {})


def ask_return(
    annotator: str, why: str, *, study: str | Path, phase: str = "main", database: str | None = None
) -> None:
    """Ask an annotator to return their submission; they may decline."""
    with of_annotator(study, phase, annotator, database=database) as (who, keep):
        talked(lambda prolific: prolific.request_return(who.session, why))
        keep("asked to return", {"why": why})


def bonus(
    annotator: str,
    amount: float,
    *,
    study: str | Path,
    phase: str = "main",
    again: bool = False,
    why: str = "",
    database: str | None = None,
) -> None:
    """Pay an annotator a bonus in the study's currency, to two decimals; `why` stands in the log.

    Prolific pays as often as it is told to, so one that was begun here, whether or not its answer came, is not paid a
    second time but with `again`. One that Prolific refused was not begun.

    Raises
    ------
    StudyError
        A bonus was begun for this annotator before.
    """
    amount = round(amount, 2)
    if not (isfinite(amount) and amount > 0):
        raise StudyError(f"a bonus is an amount of 0.01 or more, not {amount}")
    with of_annotator(study, phase, annotator, database=database) as (who, keep):
        if not again:
            with study_round(study, phase, database=database) as there, there.store.read() as connection:
                none_begun(connection, there.round, annotator)
        made = talked(lambda prolific: prolific.set_up_bonus(who.study, who.session, amount))
        keep("bonus begun", {"amount": amount, "payment": made, "for": why}, None if again else none_begun)
        try:
            talked(lambda prolific: prolific.pay_bonus(made))
        except RecruiterRefused:
            keep("bonus refused", {"amount": amount, "payment": made})
            raise
        keep("bonus paid", {"amount": amount, "payment": made})


def settle(
    annotator: str,
    *,
    paid: bool,
    study: str | Path,
    payment: str | None = None,
    phase: str = "main",
    database: str | None = None,
) -> float:
    """Put on record whether a bonus in doubt was `paid`, as somebody saw at Prolific; its amount.

    One that was not is not spent, and can be paid. `payment` is Prolific's id of it, where several are in doubt.

    Raises
    ------
    StudyError
        None is in doubt, or more than one.
    """
    with study_round(study, phase, database=database) as there, there.store.write() as connection:
        hold_study(connection, there.round)
        return settle_bonus(connection, there.round.id, annotator, payment, paid=paid, at=datetime.now(UTC))


@contextmanager
def of_annotator(
    study: str | Path, phase: str, annotator: str, *, database: str | None
) -> Iterator[tuple[RecruiterIds, Callable[..., None]]]:
    """An annotator's ids at Prolific, and what puts on record what is done with them.

    Raises
    ------
    StudyError
        Nobody in the round has that number, or the ids are deleted by now.
    """
    with study_round(study, phase, database=database) as there:
        with there.store.read() as connection:
            known = find_annotator(connection, annotator)
            mine = known is not None and known.study_id == there.round.id
            person = person_of(connection, annotator, vault=there.vault) if mine else None
        if person is None:
            raise StudyError(f"nobody in this round has the number {annotator!r}, or the ids are deleted by now")

        def keep(kind: str, detail: dict[str, Any], check: BonusCheck | None = None) -> None:
            with there.store.write() as connection:
                if check is not None:
                    hold_study(connection, there.round)
                    check(connection, there.round, annotator)
                note(
                    connection,
                    there.round.id,
                    kind,
                    at=datetime.now(UTC),
                    by="owner",
                    annotator_id=annotator,
                    detail=detail,
                )

        yield person, keep


def keep_out(
    workspace: str, study: str | Path, *, phase: str = "pilot", again: bool = False, database: str | None = None
) -> tuple[int, str]:
    """Put a round's people into a participant group there, to be kept out of a later round; how many, and the group.

    The group is made once; later those are added who came since.
    """
    with study_round(study, phase, database=database) as there:
        found, what = there.round, f"group in {workspace}"
        with there.store.read() as connection:
            people = [person.ids for person in standings(connection, found, vault=there.vault, now=datetime.now(UTC))]
            group = None if again else made_at_recruiter(connection, found.id, what)
        name = f"{found.name} {found.version} {found.phase}"
        group = group or made_once(there, what, lambda prolific: prolific.create_group(workspace, name), again=again)
    talked(lambda prolific: prolific.add_to_group(group, [person.person for person in people]))
    return len(people), group
