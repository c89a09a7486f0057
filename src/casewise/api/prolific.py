"""Recruiting at Prolific: create the study there, add places, approve, keep returners out. Nobody is ever rejected."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import ip_address
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from sqlalchemy import Connection

from casewise.api.studies import study_round
from casewise.errors import ConfigurationError, RecruiterRefused, StudyError
from casewise.runs.waiting import finished
from casewise.settings import from_environment
from casewise.studies.recruiters.prolific_client import (
    API,
    BUSY,
    Approval,
    ProlificClient,
    filters_of,
    study_request,
    to_set_by_hand,
)
from casewise.studies.recruiters.prolific_hooks import SUBMISSION_EVENT
from casewise.studies.recruiters.protocol import RecruiterIds
from casewise.studies.running.admission import people_needed
from casewise.studies.running.annotators import annotator as find_annotator
from casewise.studies.running.annotators import person_of
from casewise.studies.running.events import note
from casewise.studies.running.further import FURTHER, further_pay
from casewise.studies.running.owner import Payable, everybody, to_be_paid
from casewise.studies.running.paying import begun_bonuses
from casewise.studies.running.plan import read_plan
from casewise.studies.running.rounds import Round, round_state
from casewise.studies.running.slots import hold_study
from casewise.studies.watching.upkeep import keep_up

__all__ = [
    "FittedPlaces",
    "FurtherPaid",
    "approve",
    "ask_return",
    "bonus",
    "create",
    "eligible",
    "fit_places",
    "hook",
    "keep_out",
    "message",
    "pay_further",
    "payable",
    "publish",
    "set_places",
]

HOOKS = "/prolific/hooks"
"""Where the app listens (`casewise.web.security.csrf.HOOKS_PATH`)."""

PAID_FURTHER = {"completed", "stopped"}
BEGUN = "a bonus was begun before; see at Prolific whether it was paid"

T = TypeVar("T")
BonusCheck = Callable[[Connection, Round, str, str], None]


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
    """
    plan = read_plan(Path(study))
    with study_round(study, phase, database=database, site_url=site_url) as there:
        url = there.url
    if plan.design.recruiter.kind != "prolific":
        raise ConfigurationError(f"{study}: [recruiter] kind is {plan.design.recruiter.kind!r}, not 'prolific'")
    if not can_be_reached(url):
        raise ConfigurationError(
            f"people at Prolific cannot safely reach {url}: serve the app at an https:// address that is not this "
            "machine's own, and name it with --site-url"
        )
    needed = plan.estimate
    request = study_request(
        plan.design, url=url, places=places or needed.annotators, minutes=needed.minutes_per_annotator, group=keep_out
    )
    return talked(lambda prolific: prolific.create_study(request)), to_set_by_hand(plan.design)


def can_be_reached(url: str) -> bool:
    """Whether strangers come to `url` over TLS."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        public = not ip_address(host).is_private
    except ValueError:
        public = host != "localhost" and not host.endswith(".localhost")
    return parts.scheme == "https" and bool(host) and public


def publish(prolific_study: str) -> None:
    """Let people in. From here on it costs money."""
    talked(lambda prolific: prolific.publish(prolific_study))


def set_places(prolific_study: str, total: int) -> None:
    """Set the number of places to `total`."""
    talked(lambda prolific: prolific.set_places(prolific_study, total))


@dataclass(frozen=True)
class FittedPlaces:
    """What became of the places there."""

    before: int
    taken: int
    needed: int
    """More people whom the round needs now, beside those in the tutorial or the quiz."""
    after: int
    paused: bool
    """Whether people are kept out there instead, since nobody is needed and places could not be taken away."""
    why: str = ""
    """Prolific's words where it let nothing be taken away."""
    started: bool = False
    """Whether the study was paused there and people are let in again, since more are needed."""


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

    async def fit(prolific: ProlificClient) -> FittedPlaces:
        places = await prolific.places(prolific_study)
        wanted = places.taken + needed
        found = FittedPlaces(places.total, places.taken, needed, wanted, paused=False)
        try:
            if wanted != places.total:
                await prolific.set_places(prolific_study, wanted)
        except RecruiterRefused as error:
            if wanted > places.total or error.status == BUSY:
                raise
            if not needed:
                await prolific.pause(prolific_study)
            found = replace(found, after=places.total, paused=not needed, why=str(error))
        if places.paused and needed:
            await prolific.start(prolific_study)
            found = replace(found, started=True)
        return found

    return talked(fit)


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


def hook(workspace: str, *, site_url: str | None = None) -> tuple[str, str | None]:
    """Have Prolific tell the app what becomes of submissions: the subscription's id, and the secret if it is a new one.

    A workspace has one secret: what `CASEWISE_PROLIFIC_HOOK_SECRET` names is kept, and else one is made.
    """
    settings = from_environment(site_url=site_url)
    url = settings.site_url + HOOKS
    if not can_be_reached(url):
        raise ConfigurationError(f"Prolific tells only https:// addresses that everybody can reach, not {url}")

    async def subscribe(prolific: ProlificClient) -> tuple[str, str | None]:
        secret = None if settings.hook_secret else await prolific.create_secret(workspace)
        return await prolific.subscribe(workspace, SUBMISSION_EVENT, url), secret

    return talked(subscribe)


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
                none_begun(connection, there.round, annotator, why)
        made = talked(lambda prolific: prolific.set_up_bonus(who.study, who.session, amount))
        keep("bonus begun", {"amount": amount, "payment": made, "for": why}, None if again else none_begun)
        try:
            talked(lambda prolific: prolific.pay_bonus(made))
        except RecruiterRefused:
            keep("bonus refused", {"amount": amount, "payment": made})
            raise
        keep("bonus paid", {"amount": amount, "payment": made})


@dataclass(frozen=True)
class FurtherPaid:
    """What became of what somebody is owed for further batches."""

    annotator: str
    amount: float
    state: Literal["paid", "not paid", "in doubt"]
    """In doubt: Prolific was told to pay, and did not answer that it does."""
    why: str = ""


def pay_further(study: str | Path, *, phase: str = "main", database: str | None = None) -> list[FurtherPaid]:
    """Pay a bonus to all who ended and rated more than one batch, once each; one that is not paid stops no other.

    Whoever was paid before is not listed. Who is in doubt is, each time, and is not paid again from here.
    """
    with study_round(study, phase, database=database) as there, there.store.read() as connection:
        owed = further_pay(connection, there.round)
        ended = {name for name in owed if (who := find_annotator(connection, name)) and who.outcome in PAID_FURTHER}
        begun = {one.annotator_id: one.paid for one in begun_bonuses(connection, there.round.id) if one.why == FURTHER}
        known = {name for name in ended - begun.keys() if person_of(connection, name, vault=there.vault) is not None}
    done = [
        FurtherPaid(name, owed[name], "in doubt", BEGUN) for name in sorted(ended & begun.keys()) if not begun[name]
    ]
    for name in sorted(known):
        try:
            bonus(name, owed[name], study=study, phase=phase, why=FURTHER, database=database)
            done.append(FurtherPaid(name, owed[name], "paid"))
        except StudyError as error:
            with study_round(study, phase, database=database) as there, there.store.read() as connection:
                told = any(one.why == FURTHER for one in begun_bonuses(connection, there.round.id, name))
            done.append(FurtherPaid(name, owed[name], "in doubt" if told else "not paid", str(error)))
    return done


def none_begun(connection: Connection, study: Round, annotator: str, why: str) -> None:
    """Nothing, unless a bonus was begun for somebody: any, or for further batches one for these.

    Raises StudyError: there was.
    """
    if any(why != FURTHER or one.why == FURTHER for one in begun_bonuses(connection, study.id, annotator)):
        raise StudyError(f"{annotator}: {BEGUN}, and say --again for another")


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
                    check(connection, there.round, annotator, detail["for"])
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


def keep_out(project: str, study: str | Path, *, phase: str = "pilot", database: str | None = None) -> tuple[int, str]:
    """Put a round's people into a participant group there, to be kept out of a later round; how many, and the group."""
    with study_round(study, phase, database=database) as there, there.store.read() as connection:
        people = everybody(connection, there.round, vault=there.vault)
    found = there.round

    async def group(prolific: ProlificClient) -> str:
        made = await prolific.create_group(project, f"{found.name} {found.version} {found.phase}")
        await prolific.add_to_group(made, [person.person for person in people])
        return made

    return len(people), talked(group)
