"""Recruiting at Prolific: create the study there, add places, approve, keep returners out. Nobody is ever rejected."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from casewise.api.studies import StudyRound, study_round
from casewise.errors import ConfigurationError, RecruiterRefused, StudyError
from casewise.runs.limits import finished
from casewise.studies.answers import (
    none_begun,
    settle_bonus,
)
from casewise.studies.monitor import keep_up
from casewise.studies.owner import Payable, everybody, to_be_paid
from casewise.studies.people import annotator as find_annotator
from casewise.studies.people import people_needed, person_of
from casewise.studies.prolific import (
    API,
    Approval,
    FittedPlaces,
    ProlificClient,
    can_be_reached,
    filters_of,
    fit_study,
    study_request,
    to_set_by_hand,
)
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import Round, made_at_recruiter, none_made, note, note_at_recruiter, read_plan, round_state
from casewise.studies.slots import hold_study

__all__ = [
    "FittedPlaces",
    "approve",
    "ask_return",
    "bonus",
    "create",
    "eligible",
    "fit_places",
    "keep_out",
    "message",
    "payable",
    "publish",
    "set_places",
    "settle",
]

T = TypeVar("T")
BonusCheck = Callable[[Connection, Round, str], None]


def client() -> ProlificClient:
    """The client with the token in the environment.

    Raises
    ------
    ConfigurationError
        There is none.
    """
    token = os.environ.get("CASEWISE_PROLIFIC_TOKEN")
    if not token:
        raise ConfigurationError("set CASEWISE_PROLIFIC_TOKEN to your API token from Prolific's settings")
    return ProlificClient(token, api=os.environ.get("CASEWISE_PROLIFIC_API", API))


def talked(work: Callable[[ProlificClient], Awaitable[T]]) -> T:
    """What came of talking to Prolific."""

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
        request = study_request(plan.design, url=there.url, places=people, minutes=minutes, group=keep_out)
        made = made_once(there, "study", lambda prolific: prolific.create_study(request), again=again)
    return made, to_set_by_hand(plan.design)


def made_once(
    there: StudyRound, what: str, make: Callable[[ProlificClient], Awaitable[str]], *, again: bool = False
) -> str:
    """What is made for a round there, its id: on record before it is, and once, unless `again`."""

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


def publish(prolific_study: str) -> None:
    """Let people in. From here on it costs money."""
    talked(lambda prolific: prolific.publish(prolific_study))


def set_places(prolific_study: str, total: int) -> None:
    """Set the number of places to `total`."""
    talked(lambda prolific: prolific.set_places(prolific_study, total))


def fit_places(
    prolific_study: str, study: str | Path, *, phase: str = "main", database: str | None = None
) -> FittedPlaces:
    """Raise or lower the places there to those taken and as many more as the round needs now.

    Where Prolific lets none be taken away, and nobody is needed, the study is paused there; one that is paused is
    started again once somebody is needed. A closed round needs nobody.

    Raises
    ------
    StudyError
        The round is paused.
    """
    with study_round(study, phase, database=database) as there, there.store.write() as connection:
        needed = needed_now(connection, there.round, now=datetime.now(UTC))
    return talked(lambda prolific: fit_study(prolific, prolific_study, needed))


def needed_now(connection: Connection, study: Round, *, now: datetime) -> int:
    """How many more people the round needs; who is in the tutorial or the quiz has a place there already."""
    state = round_state(connection, study.id)
    if state == "paused":
        raise StudyError("the round is paused, so it lets nobody in; resume it first: casewise study resume")
    keep_up(connection, study, now=now)
    return 0 if state == "closed" else people_needed(connection, study, now=now)


def eligible(study: str | Path) -> int:
    """How many people there pass the design's filters, but for those to be chosen by hand; 0 for fewer than 25."""
    filters = filters_of(read_plan(Path(study)).design)
    return talked(lambda prolific: prolific.eligible(filters))


def payable(study: str | Path, *, phase: str = "main", database: str | None = None) -> Payable:
    """Who is to be paid: those who finished, stopped early or found no item, and apart those of whom somebody decides."""
    with study_round(study, phase, database=database) as there, there.store.read() as connection:
        return to_be_paid(connection, there.round, vault=there.vault)


def approve(people: Sequence[RecruiterIds]) -> list[Approval]:
    """Pay these people, each by their own submission: repeatable, and one that is refused stops none of the others."""
    return talked(lambda prolific: prolific.approve_each([person.session for person in people]))


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
            people = everybody(connection, found, vault=there.vault)
            group = None if again else made_at_recruiter(connection, found.id, what)
        name = f"{found.name} {found.version} {found.phase}"
        group = group or made_once(there, what, lambda prolific: prolific.create_group(workspace, name), again=again)
    talked(lambda prolific: prolific.add_to_group(group, [person.person for person in people]))
    return len(people), group
