"""Studies: planned, opened, watched, exported, forgotten. The pages that annotators see are in `casewise.web`."""

from __future__ import annotations

import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
from sqlalchemy import Connection, func, select

from casewise import database as databases
from casewise.database import Database
from casewise.database import backup as backups
from casewise.database.erasures import FILE_NAME, Erasure, ErasureList, certificate, erasures_file
from casewise.database.staff import set_study_owner, study_owners
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError, one_of
from casewise.evaluate.judged_runs import find_benchmark
from casewise.replies.behaviour import REPLIES
from casewise.replies.grade import replies_to_label
from casewise.settings import Settings, from_environment
from casewise.storage import write_benchmark
from casewise.storage.files import owner_only_files
from casewise.storage.load import Source
from casewise.storage.run_folder import read_manifest
from casewise.studies import answers, owner
from casewise.studies.design import NO_CONTACT, PRESETS, Contact, Design, read_design
from casewise.studies.export import Export, deposit, export
from casewise.studies.ledger import LedgerLine, ledger
from casewise.studies.monitor import Monitor, maintain_round, monitor
from casewise.studies.people import Vault, annotator, derived_key
from casewise.studies.recruiters import new_invitation
from casewise.studies.rounds import (
    LiveRound,
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
    set_condition,
    set_state,
)


def init_replies(
    replies: str | Path,
    *,
    path: Path,
    sample: int = 200,
    seed: int = 1,
    benchmark: Source | None = None,
    preset: str = "experts",
    name: str | None = None,
    contact: Contact = NO_CONTACT,
) -> Design:
    """Write a study in which people say what a random, stratified sample of a chatbot's replies does.

    The sample lies beside `path`, as a benchmark folder that only its owner may read. The study's export is what
    `casewise report --grader-labels` takes.

    Raises ConfigurationError: there is something at `path`, or beside it where the sample should lie; DataError: there are no
    replies with words; StudyError: there is no such preset.
    """
    folder = path.with_name(f"{path.stem}-replies")
    if path.exists() or folder.exists():
        raise ConfigurationError(f"{path if path.exists() else folder} exists; choose another place with --to")
    one_of(preset, PRESETS, "--preset", error=StudyError)
    whole = find_benchmark(read_manifest(Path(replies), REPLIES), benchmark)
    sampled = replies_to_label(Path(replies), whole, n=sample, rng=np.random.default_rng(seed))
    with owner_only_files():
        write_benchmark(sampled, folder)
    return init_study(str(folder), preset=preset, path=path, name=name, contact=contact, rates="replies")


@dataclass(frozen=True)
class OpenRound:
    """A round that was opened: its plan, its phase, and where people arrive."""

    plan: StudyPlan
    phase: Phase
    url: str


@dataclass(frozen=True)
class RoundStatus:
    """The progress of a round."""

    round: Round
    state: RoundState
    monitor: Monitor


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

    def note(self, kind: str, annotator_id: str, **detail: Any) -> None:
        """Record an action of the owner that concerns an annotator."""
        with self.write() as live:
            live.note(kind, by="owner", annotator_id=annotator_id, detail=detail)

    def read(self, now: datetime | None = None) -> AbstractContextManager[LiveRound]:
        """Return the round bound to a transaction that changes nothing."""
        return self.round.read(self.store, now)

    def write(self, now: datetime | None = None) -> AbstractContextManager[LiveRound]:
        """Return the round bound to a transaction whose changes are made at its end, or none of them."""
        return self.round.write(self.store, now)

    @property
    def vault(self) -> Vault:
        """The key to the recruiter's ids of people."""
        return Vault(self.settings.secret_key)

    @property
    def erasures(self) -> ErasureList:
        """The list of erasures, outside the database."""
        return erasures_of(self.settings, self.store)


def erasures_of(settings: Settings, store: Database) -> ErasureList:
    """Return the list of erasures of a database, signed with the server's key."""
    return ErasureList(
        erasures_file(store.url, settings.erasures), derived_key(settings.secret_key, "list of erasures")
    )


def certificate_of(study: Round, erasure: Erasure) -> str:
    """Return the certificate of an erasure in a round."""
    contact = study.design.contact
    facts = {"Round": f"{study.phase} ({study.id})", "Contact": f"{contact.researcher}, {contact.institution}"}
    return certificate(erasure, study=f"{study.name} {study.version}", facts=facts)


@dataclass(frozen=True)
class RestoredBackup:
    """A backup that was read back."""

    rows: int
    erased_again: int
    """People whom the backup brought back and who were erased again."""
    database: str


def restore_backup(file: Path, database: str | None, *, erasures: Path | None = None) -> RestoredBackup:
    """Read a backup into a new, empty database, and erase again each person who was erased after it was written.

    `erasures`: the list of erasures; by default the one of the database, or one beside the backup.

    Raises ConfigurationError: the backup holds people of a study, and the list is not there: whether a person was erased
    is then not known; DataError: the backup or the list was changed.
    """
    settings = from_environment(database=database)
    with Database(settings.database) as store:
        listed = erasures_of(settings, store)
        erasure_file = file.absolute().parent / FILE_NAME
        chosen = erasures or (listed.path if listed.path.exists() or not erasure_file.exists() else erasure_file)
        backup = replace(listed, path=chosen)
        earlier = backup.read() if chosen.exists() else None
        again: list[int] = []

        def replay(connection: Connection) -> None:
            if earlier is None and connection.scalar(select(func.count()).select_from(tables.annotators)):
                raise ConfigurationError(
                    f"{chosen}: this backup holds people of a study, and there is no list of erasures. casewise cannot know which of them were erased later. Copy the list from beside the database that was backed up, or name it "
                    "with --erasures or CASEWISE_ERASURES; if no person was ever erased, name an empty file"
                )
            again.append(owner.replay_erasures(connection, earlier or (), now=datetime.now(UTC)))

        rows = backups.restore(store, file, replay=replay)
        if again[0]:
            store.scrub()
        if earlier and chosen != listed.path and not listed.path.exists():
            shutil.copyfile(chosen, listed.path)
        return RestoredBackup(rows, again[0], store.url.render_as_string())


@dataclass(frozen=True)
class Study:
    """A study by its file, and its round of one phase in a database.

    Each method about the round raises `StudyError` where there is no such phase, no such round in the database, or no person
    of a given number in it.
    """

    file: str | Path = "study.toml"
    phase: str = "main"
    """`pilot`, `main`, `rehearsal` or `preview`."""
    database: str | None = None
    """An SQLite file or `postgresql://…`; by default `CASEWISE_DATABASE`, else `casewise.db` here."""
    site_url: str | None = None
    """The web app's address in a browser; by default `CASEWISE_SITE_URL`."""

    def plan(self) -> StudyPlan:
        """Return the validated study. The plan's `estimate` holds its needs and costs."""
        return read_plan(Path(self.file))

    def freeze(self) -> Path:
        """Fix contrasts, exclusions, stopping and label policy; reports mark every later departure."""
        return freeze_plan(self.plan(), at=datetime.now(UTC))

    def deposit(self, to: str | Path) -> Path:
        """Write a package for a registry, a folder: preregistration, frozen plan, texts and codebook.

        Raises StudyError: the study is not frozen; ConfigurationError: there is something at `to` already.
        """
        return deposit(self.plan(), Path(to))

    def open(self) -> OpenRound:
        """Open the main round of a frozen study."""
        return self._open(self.plan(), "main")

    def pilot(self, *, queries: int = 10, per_item: int = 2) -> OpenRound:
        """Open a small round with a box for remarks; its people are kept out of the main study."""
        return self._open(pilot_of(self.plan(), queries=queries, per_item=per_item), "pilot")

    def _open(self, plan: StudyPlan, phase: Phase) -> OpenRound:
        settings = from_environment(database=self.database, site_url=self.site_url)
        with databases.open(settings.database) as store, store.write() as connection:
            erasures_of(settings, store).create()
            opened = open_plan(connection, plan, phase=phase, now=datetime.now(UTC))
        return OpenRound(plan, phase, f"{settings.site_url}/study/{opened.id}")

    @contextmanager
    def round(self) -> Iterator[StudyRound]:
        """Open the database and yield the round of this phase."""
        phase: Phase = one_of(self.phase, get_args(Phase), "--phase", error=StudyError)
        settings = from_environment(database=self.database, site_url=self.site_url)
        with databases.open(settings.database) as store:
            name = read_design(Path(self.file)).name
            with store.read() as connection:
                study = find_round(connection, name, phase=phase)
            if study is None:
                option = f"--database {shlex.quote(self.database or 'rehearsal.db')}"
                advice = {
                    "main": f"; begin one with: casewise study open {shlex.quote(str(self.file))}",
                    "pilot": f"; begin one with: casewise study open --pilot {shlex.quote(str(self.file))}",
                    "rehearsal": f": one stays only where a database is given. Type: casewise study rehearse {shlex.quote(str(self.file))} {option}, "
                    f"and then this command with --phase rehearsal {option}",
                }
                raise StudyError(f"{name} has no {phase} round in this database{advice[phase]}")
            yield StudyRound(settings, store, study)

    def invite(self, people: int = 1) -> list[str]:
        """Return invitation links, one for each person."""
        with self.round() as study_round:
            key = derived_key(study_round.settings.secret_key, f"invitations {study_round.round.id}")
            return [f"{study_round.url}?participant={new_invitation(key)}" for _ in range(people)]

    def status(self) -> RoundStatus:
        """Return the progress of each condition, after expired leases have ended and due data has been deleted."""
        with self.round() as study_round:
            now = datetime.now(UTC)
            with study_round.write(now) as live:
                maintain_round(live)
            with study_round.read(now) as live:
                state = round_state(live)
                return RoundStatus(study_round.round, state, monitor(live))

    def currency(self) -> str:
        """Return the currency of the round's pay."""
        with self.round() as study_round:
            return study_round.round.design.pay.currency

    def ledger(self) -> list[LedgerLine]:
        """Return what each person is owed, and what of it was begun, confirmed, or is in doubt."""
        with self.round() as study_round, study_round.read() as live:
            return ledger(live)

    def amendment(self) -> owner.Amendment:
        """Return the effect of the changed `study.toml` on the running round.

        Raises StudyError: there are not more ratings an item, something else is changed, or the round is not paused.
        """
        plan = self.plan()
        with self.round() as study_round, study_round.write() as live:
            maintain_round(live)  # as `status`: both count the same slots as open
            return owner.amendment_of(live, plan)

    def amend(self, agreed: owner.Amendment, *, reason: str) -> None:
        """Amend the round as agreed: the same link, the same people, and all that was rated.

        Raises StudyError: as `amendment`, or `study.toml` says something else by now.
        """
        plan = self.plan()
        with self.round() as study_round, study_round.write() as live:
            amendment = owner.amendment_of(live, plan)
            if amendment.change != agreed.change:
                raise StudyError(f"study.toml changed in the meantime ({amendment.change}); give the command again")
            owner.amend(live, amendment, reason=reason, by="owner")

    def set_state(self, state: RoundState, *, wait: Callable[[float], object] = time.sleep) -> Round:
        """Pause or close a round, or open it again. While it is closed no new person begins, and people with a batch may
        finish.

        After an amendment, opening waits until every server has read it: `wait` is called with the seconds.
        """
        with self.round() as study_round:
            if state == "open":
                with study_round.read() as live:
                    wait_s = seconds_to_wait(live)
                if wait_s:
                    wait(wait_s)
            with study_round.write() as live:
                set_state(live, state, by="owner")
        return study_round.round

    def set_condition(self, condition: str, *, closed: bool) -> Round:
        """Stop or restart new batches in one condition. Other conditions continue."""
        with self.round() as study_round, study_round.write() as live:
            set_condition(live, condition, closed=closed, by="owner")
        return study_round.round

    def owners(self, *, add: str | None = None, remove: str | None = None) -> list[str]:
        """Return who sees this study on the owners' pages, by e-mail address, after adding or removing one of them.

        Raises ConfigurationError: no owner has that address.
        """
        with self.round() as study_round, study_round.store.write() as connection:
            for email, belongs in ((add, True), (remove, False)):
                if email is not None:
                    set_study_owner(connection, study_round.round.name, email, belongs=belongs)
            return study_owners(connection, study_round.round.name)

    @contextmanager
    def _person(self, number: str) -> Iterator[LiveRound]:
        """Yield a transaction about an annotator. Raises StudyError: no annotator in this round has that number."""
        with self.round() as study_round, study_round.write() as study:
            person = annotator(study, number)
            if person is None or person.study_id != study.id:
                raise StudyError(f"no person in {study.round.name} ({study.round.phase}) has the number {number!r}")
            yield study

    def void(self, number: str, *, reason: str) -> int:
        """Exclude an annotator's ratings; return how many slots are open again."""
        with self._person(number) as study:
            return answers.void(study, number, reason=reason, by="owner")

    def restore(self, number: str, *, reason: str) -> int:
        """Include an excluded annotator again. Return the number of ratings that count, because their items still have room."""
        with self._person(number) as study:
            return answers.restore(study, number, reason=reason, by="owner")

    def forget(self, number: str) -> tuple[Erasure, str]:
        """Delete what is known about a person; return the erasure and its certificate.

        Their ratings go with it until the date that the study states. The erasure is on a list outside the database first,
        and nothing of what was deleted stays in the database's files afterwards.
        """
        with self.round() as study_round:
            with study_round.write() as live:
                erasure = owner.forget(live, number, vault=study_round.vault, by="owner", erasures=study_round.erasures)
            study_round.store.scrub()
            return erasure, certificate_of(study_round.round, erasure)

    def export(self, folder: str | Path) -> Export:
        """Write the ratings as a benchmark folder; one with replies only its owner may read.

        Raises StudyError: no annotator has begun to rate.
        """
        plan = self.plan()
        access = owner_only_files() if plan.design.rates == "replies" else nullcontext()
        with access, self.round() as study_round, study_round.read() as live:
            if not live.count(tables.pages.c.study_id == live.id):
                raise StudyError(
                    f"no person has begun to rate in the {self.phase} round of {live.round.name} yet; nothing was written"
                )
            return export(live, benchmark=plan.benchmark, design=plan.design, folder=Path(folder))
