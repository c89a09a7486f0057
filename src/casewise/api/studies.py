"""Studies: planned, opened, watched, exported, forgotten. The pages that annotators see are in `casewise.web`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import numpy as np
from sqlalchemy import Connection

from casewise.api.benchmarks import Source
from casewise.api.databases import opened
from casewise.database import Database
from casewise.errors import ConfigurationError, StudyError, one_of
from casewise.evaluate.judged_runs import find_benchmark
from casewise.replies.behaviour import read_replies
from casewise.replies.grade import replies_to_label
from casewise.reports.study import write_exported_model
from casewise.settings import Settings, from_environment
from casewise.storage import write_benchmark
from casewise.storage.files import for_owner_alone
from casewise.studies.answers import restore as take_in_again
from casewise.studies.answers import void as leave_out
from casewise.studies.design import NOBODY, PRESETS, Contact, Design, RatedThing, read_design
from casewise.studies.export import Exported
from casewise.studies.export import deposit as write_deposit
from casewise.studies.export import export as write_export
from casewise.studies.monitor import Monitor, keep_up, monitor
from casewise.studies.owner import Amendment, Overview, amend, amendment_of
from casewise.studies.owner import forget as forget_person
from casewise.studies.people import Vault, derived_key
from casewise.studies.people import annotator as find_annotator
from casewise.studies.recruiters import new_invitation
from casewise.studies.rounds import (
    Phase,
    Round,
    RoundState,
    StudyPlan,
    find_round,
    freeze_plan,
    init_study,
    open_plan,
    pilot_of,
    read_plan,
    round_state,
    seconds_to_wait,
    set_state,
)

__all__ = [
    "NOBODY",
    "Amendment",
    "Contact",
    "Monitor",
    "OpenRound",
    "Overview",
    "RoundState",
    "RoundStatus",
    "StudyPlan",
    "StudyRound",
    "amending",
    "change_state",
    "check",
    "deposit",
    "export",
    "forget",
    "freeze",
    "init",
    "init_replies",
    "invite",
    "open_main",
    "pilot",
    "restore",
    "status",
    "study_round",
    "void",
]


def init_replies(
    replies: str | Path,
    *,
    to: Path,
    sample: int = 200,
    seed: int = 1,
    benchmark: Source | None = None,
    preset: str = "experts",
    name: str | None = None,
    contact: Contact = NOBODY,
) -> Design:
    """Write a study in which people say what a random, stratified sample of a chatbot's replies does.

    The sample lies beside `to`, as a benchmark folder that only its owner may read. The study's export is what
    `casewise report --grader-labels` takes.

    Raises
    ------
    ConfigurationError
        There is something at `to`, or beside it where the sample should lie.
    DataError
        There are no replies with words.
    StudyError
        There is no such preset.
    """
    folder = to.with_name(f"{to.stem}-replies")
    if to.exists() or folder.exists():
        raise ConfigurationError(f"{to if to.exists() else folder} exists; choose another place with --to")
    known = one_of(preset, PRESETS, "--preset", error=StudyError)
    whole = find_benchmark(read_replies(Path(replies)), benchmark)
    drawn = replies_to_label(Path(replies), whole, n=sample, rng=np.random.default_rng(seed))
    with for_owner_alone():
        write_benchmark(drawn, folder)
    return init(str(folder), preset=known, to=to, name=name, contact=contact, rates="replies")


def init(
    benchmark: str,
    *,
    preset: str = "lab",
    to: Path,
    name: str | None = None,
    contact: Contact = NOBODY,
    rates: RatedThing = "requests",
    people: int | None = None,
) -> Design:
    """Write a commented `study.toml`; `contact` is whom annotators can write to, `people` how many there are.

    Raises
    ------
    StudyError
        There is no such preset, or so few people cannot rate every item once.
    """
    known, today = one_of(preset, PRESETS, "--preset", error=StudyError), datetime.now(UTC).date()
    return init_study(
        benchmark, preset=known, name=name, path=to, today=today, contact=contact, rates=rates, people=people
    )


def check(study: str | Path) -> StudyPlan:
    """Validate a study. The plan's `estimate` holds its needs and costs."""
    return read_plan(Path(study))


def freeze(study: str | Path) -> Path:
    """Fix contrasts, exclusions, stopping and label policy; reports mark every later departure."""
    return freeze_plan(read_plan(Path(study)), at=datetime.now(UTC))


def deposit(study: str | Path, to: str | Path) -> Path:
    """Write a package for a registry: preregistration, frozen plan, texts, codebook and analysis, as a folder or `.zip`.

    Raises
    ------
    StudyError
        The study is not frozen.
    ConfigurationError
        There is something at `to` already.
    """
    return write_deposit(read_plan(Path(study)), Path(to))


@dataclass(frozen=True)
class OpenRound:
    """A round that was opened: its plan, its phase, and where people arrive."""

    plan: StudyPlan
    phase: Phase
    url: str


def pilot(
    study: str | Path,
    *,
    queries: int = 10,
    per_item: int = 2,
    database: str | None = None,
    site_url: str | None = None,
) -> OpenRound:
    """Open a small round with a box for remarks; its people are kept out of the main study."""
    plan = pilot_of(read_plan(Path(study)), queries=queries, per_item=per_item)
    return open_round(plan, "pilot", database=database, site_url=site_url)


def open_main(study: str | Path, *, database: str | None = None, site_url: str | None = None) -> OpenRound:
    """Open the main round of a frozen study."""
    return open_round(read_plan(Path(study)), "main", database=database, site_url=site_url)


def open_round(plan: StudyPlan, phase: Phase, *, database: str | None, site_url: str | None) -> OpenRound:
    settings = from_environment(database=database, site_url=site_url)
    with opened(settings.database) as store, store.write() as connection:
        study_id = open_plan(connection, plan, phase=phase, now=datetime.now(UTC))
    return OpenRound(plan, phase, f"{settings.site_url}/study/{study_id}")


@dataclass(frozen=True)
class StudyRound:
    """A round, the database that it is in, and the settings of the app that people reach it by."""

    settings: Settings
    store: Database
    round: Round

    @property
    def url(self) -> str:
        """The address at which people arrive."""
        return f"{self.settings.site_url}/study/{self.round.id}"

    @property
    def vault(self) -> Vault:
        """The key to the recruiter's ids of people."""
        return Vault(self.settings.secret_key)


@contextmanager
def study_round(
    study: str | Path, phase: str, *, database: str | None = None, site_url: str | None = None
) -> Iterator[StudyRound]:
    """The round of this phase of the study whose file is given.

    Raises
    ------
    StudyError
        There is no such phase, or no such round in the database.
    """
    known: Phase = one_of(phase, get_args(Phase), "--phase", error=StudyError)
    settings = from_environment(database=database, site_url=site_url)
    with opened(settings.database) as store:
        name = read_design(Path(study)).name
        with store.read() as connection:
            found = find_round(connection, name, phase=known)
        if found is None:
            kept = f"--database {shlex.quote(database or 'rehearsal.db')}"
            begun = {
                "main": f"; begin one with: casewise study open {study}",
                "pilot": f"; begin one with: casewise study open --pilot {study}",
                "rehearsal": f": one stays only where a database is given. Type: casewise study rehearse {study} {kept}, and "
                f"then this command with --phase rehearsal {kept}",
            }
            raise StudyError(f"{name} has no {phase} round in this database{begun[phase]}")
        yield StudyRound(settings, store, found)


def invite(
    study: str | Path,
    *,
    people: int = 1,
    phase: str = "main",
    database: str | None = None,
    site_url: str | None = None,
) -> Iterator[str]:
    """Invitation links, one for each person."""
    with study_round(study, phase, database=database, site_url=site_url) as there:
        key = derived_key(there.settings.secret_key, f"invitations {there.round.id}")
        yield from (f"{there.url}?participant={new_invitation(key)}" for _ in range(people))


@dataclass(frozen=True)
class RoundStatus:
    """The progress of a round."""

    round: Round
    state: RoundState
    monitor: Monitor

    @property
    def overview(self) -> Overview:
        """The progress of each condition."""
        return self.monitor.overview


def status(study: str | Path, *, phase: str = "main", database: str | None = None) -> RoundStatus:
    """Return the progress of each condition, after expired leases have ended and due data has been deleted."""
    with study_round(study, phase, database=database) as there:
        now = datetime.now(UTC)
        with there.store.write() as connection:
            keep_up(connection, there.round, now=now)
        with there.store.read() as connection:
            state, seen = round_state(connection, there.round.id), monitor(connection, there.round, now=now)
    return RoundStatus(there.round, state, seen)


@contextmanager
def amending(
    study: str | Path, *, why: str, phase: str = "main", database: str | None = None
) -> Iterator[tuple[Amendment, Callable[[], None]]]:
    """Yield the effect of the changed `study.toml` on the running round, and a function that applies it.

    Raises
    ------
    StudyError
        There are not more ratings an item, something else is changed, or the round is not paused.
    """
    plan = read_plan(Path(study))
    with study_round(study, phase, database=database) as there:
        with there.store.write() as connection:
            keep_up(connection, there.round, now=datetime.now(UTC))  # as `status`: both count the same slots as open
            found = amendment_of(connection, there.round, plan, now=datetime.now(UTC))

        def go_on() -> None:
            with there.store.write() as connection:
                amend(connection, there.round, found, why=why, by="owner", now=datetime.now(UTC))

        yield found, go_on


def change_state(
    study: str | Path,
    state: RoundState,
    *,
    phase: str = "main",
    database: str | None = None,
    wait: Callable[[float], object] = time.sleep,
) -> Round:
    """Pause or close a round (nobody new begins, whoever has a batch may finish), or open it again.

    After an amendment, opening waits until every server has read it: `wait` is called with the seconds.
    """
    with study_round(study, phase, database=database) as there:
        if state == "open":
            with there.store.read() as connection:
                wait_s = seconds_to_wait(connection, there.round.id, now=datetime.now(UTC))
            if wait_s:
                wait(wait_s)
        with there.store.write() as connection:
            set_state(connection, there.round.id, state, by="owner", now=datetime.now(UTC))
    return there.round


def void(annotator: str, *, why: str, study: str | Path, phase: str = "main", database: str | None = None) -> int:
    """Leave out an annotator's ratings; how many slots are open again.

    Raises
    ------
    StudyError
        Nobody in this round has that number.
    """
    with study_round(study, phase, database=database) as there, there.store.write() as connection:
        somebody(connection, there.round, annotator)
        return leave_out(connection, there.round, annotator, why=why, by="owner", now=datetime.now(UTC))


def restore(annotator: str, *, why: str, study: str | Path, phase: str = "main", database: str | None = None) -> int:
    """Take in again somebody who was left out; how many of their ratings count, for their items still have room.

    Raises
    ------
    StudyError
        Nobody in this round has that number.
    """
    with study_round(study, phase, database=database) as there, there.store.write() as connection:
        somebody(connection, there.round, annotator)
        return take_in_again(connection, there.round, annotator, why=why, by="owner", now=datetime.now(UTC))


def somebody(connection: Connection, study: Round, annotator: str) -> None:
    who = find_annotator(connection, annotator)
    if who is None or who.study_id != study.id:
        raise StudyError(f"nobody in {study.name} ({study.phase}) has the number {annotator!r}")


def forget(who: str, *, study: str | Path, phase: str = "main", database: str | None = None) -> bool:
    """Delete what is known about a person; whether their ratings went with it, as they do until the stated date."""
    with study_round(study, phase, database=database) as there, there.store.write() as connection:
        return forget_person(connection, there.round, who, vault=there.vault, by="owner", now=datetime.now(UTC))


def export(folder: str | Path, *, study: str | Path, phase: str = "main", database: str | None = None) -> Exported:
    """Write the ratings as a benchmark folder, with a mixed model's script for R; one with replies only its owner may read."""
    plan = read_plan(Path(study))
    whose = for_owner_alone() if plan.design.rates == "replies" else nullcontext()
    with whose, study_round(study, phase, database=database) as there, there.store.read() as connection:
        made = write_export(connection, there.round, benchmark=plan.benchmark, design=plan.design, folder=Path(folder))
        write_exported_model(made.folder)
    return made
