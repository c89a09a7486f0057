"""Recruiting at Prolific: create the study, add places, approve submissions, exclude returning people. casewise rejects no
submission."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import TypeVar

from cyclopts.types import PositiveInt

from casewise.api.studies import Study, StudyRound
from casewise.errors import CasewiseError, ConfigurationError, RecruiterRefused, StudyError
from casewise.runs.limits import run_sync
from casewise.studies.answers import take_returned
from casewise.studies.ledger import (
    APPROVAL,
    Payment,
    PaymentState,
    Purpose,
    due_of,
    note_payment,
    payments,
    refuse_second,
    settle,
)
from casewise.studies.monitor import maintain_round
from casewise.studies.owner import ASKED_TO_RETURN, Standing, round_account, standings
from casewise.studies.people import annotator as find_annotator
from casewise.studies.people import people_needed, person_of, stop_participation
from casewise.studies.prolific import (
    BUSY,
    RETURN_REASON,
    FittedPlaces,
    ProlificClient,
    ReconciliationLine,
    Submission,
    can_be_reached,
    client,
    filters_of,
    fit_study,
    manual_filters,
    reconcile,
    seen_payments,
    study_request,
)
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import (
    last_object_at_recruiter,
    note_at_recruiter,
    objects_at_recruiter,
    refuse_second_object,
    round_state,
)
from casewise.studies.slots import lock_round

T = TypeVar("T")


def call(work: Callable[[ProlificClient], Awaitable[T]]) -> T:
    """Return the result of calls to Prolific."""

    async def talk() -> T:
        async with client() as prolific:
            return await work(prolific)

    return run_sync(talk())


@dataclass(frozen=True)
class NewProlificStudy:
    """Options of a study that is created at Prolific."""

    places: PositiveInt | None = None
    """Number of places. Default: the number of people in the estimate."""
    keep_out: str | None = None
    """Exclude a participant group: its id, or pilot, which puts the people of the pilot into a group of --workspace."""
    workspace: str | None = None
    """The workspace's id at Prolific. Default: the workspace of your account."""
    project: str | None = None
    """The project's id at Prolific. Default: the only project of the workspace."""
    again: bool = False
    """Create another study, even if one was created or begun for this round."""


@dataclass(frozen=True)
class StudyAtProlific(Study):
    """A study whose people come from Prolific."""

    prolific_study: str | None = None
    """The study's id there; by default what `create` put on record."""

    def create(self, wanted: NewProlificStudy = NewProlificStudy()) -> tuple[str, str | None]:
        """Create the study there, unpublished; return its id, and what is left to choose on Prolific's page."""
        plan = self.plan()
        if plan.design.recruiter.kind != "prolific":
            raise ConfigurationError(f"{self.file}: [recruiter] kind is {plan.design.recruiter.kind!r}, not 'prolific'")
        with self.round() as study_round:
            if not can_be_reached(study_round.url):
                raise ConfigurationError(
                    f"people at Prolific cannot safely reach {study_round.url}: serve the app at an https:// address that is not "
                    "this machine's own, and name it with --site-url"
                )
            people, minutes = wanted.places or plan.estimate.annotators, plan.estimate.minutes_per_annotator
            workspace, project = wanted.workspace, wanted.project
            if workspace:
                project = call(lambda prolific: prolific.project_in(workspace, project))
            request = study_request(
                plan.design, url=study_round.url, places=people, minutes=minutes, group=wanted.keep_out, project=project
            )
            study_id = make_once(
                study_round, "study", lambda prolific: prolific.create("/studies/", request), again=wanted.again
            )
        return study_id, manual_filters(plan.design)

    def ids(self) -> list[str]:
        """Return the ids that the round has there: the one given, or all that `create` put on record.

        Raises StudyError: there is neither.
        """
        if self.prolific_study:
            return [self.prolific_study]
        with self.round() as study_round, study_round.read() as live:
            ids = [name for name in objects_at_recruiter(live, "study") if name]
        if not ids:
            raise StudyError(
                f"no study at Prolific is recorded for the {self.phase} round of {self.file}; make one with casewise prolific "
                "create, or name yours with --prolific-study"
            )
        return ids

    def publish(self) -> str:
        """Publish the study to participants; return the study's id there. From here on it costs money."""
        study_id = self.ids()[-1]
        call(lambda prolific: prolific.transition(f"/studies/{study_id}", "PUBLISH"))
        return study_id

    def fit_places(self) -> FittedPlaces:
        """Raise or lower the places there to those taken and as many more as the round needs now.

        Where Prolific lets none be taken away, and no person is needed, the study is paused there; one that is paused is
        started again once a person is needed. A closed round needs none.

        Raises StudyError: the round is paused.
        """
        study_id, now = self.ids()[-1], datetime.now(UTC)
        with self.round() as study_round, study_round.write(now) as live:
            state = round_state(live)
            if state == "paused":
                raise StudyError("the round is paused, and people cannot begin; resume it: casewise study set open")
            maintain_round(live)
            # people in the tutorial or the quiz already have a place
            needed = 0 if state == "closed" else people_needed(live)
        return call(lambda prolific: fit_study(prolific, study_id, needed))

    def reconcile(self) -> list[ReconciliationLine]:
        """Compare every submission at Prolific with the annotators in the database, and propose an action for each.

        Nothing is changed there. Here leases end that have run out, and payments that Prolific shows are confirmed.
        """
        ids = self.ids()

        async def list_submissions(prolific: ProlificClient) -> list[Submission]:
            return [submission for study_id in ids for submission in await prolific.submissions(study_id)]

        submissions = call(list_submissions)
        with self.round() as study_round:
            design = study_round.round.design
            with study_round.write() as live:
                maintain_round(live)
                account = round_account(live, vault=study_round.vault)
            lines = reconcile(submissions, account, design, vault=study_round.vault)
            if doubted := {line.submission.id for line in lines if line.doubtful and line.submission}:
                submissions = call(lambda prolific: prolific.with_bonuses(submissions, doubted))
            with study_round.write() as live:
                account = round_account(live, vault=study_round.vault)
                for payment in seen_payments(
                    reconcile(submissions, account, design, vault=study_round.vault), account, design
                ):
                    note_payment(live, payment)
                account = round_account(live, vault=study_round.vault)
            return reconcile(submissions, account, design, vault=study_round.vault)

    def carry_out(self, lines: Sequence[ReconciliationLine]) -> list[CasewiseError | None]:
        """Perform the action of each line, and return the error of each, or None. An error stops no other action.

        After a `RecruiterRefused` or a `ConfigurationError` nothing was done there. After another error that is not known.
        """
        errors: list[CasewiseError | None] = []
        for line in lines:
            try:
                self._carry_out(line)
                errors.append(None)
            except CasewiseError as error:
                errors.append(error)
        return errors

    def in_doubt(self) -> list[Payment]:
        """Return the payments of which it is not known whether they were made."""
        with self.round() as study_round, study_round.read() as live:
            return [payment for made in payments(live).values() for payment in made if not payment.settled]

    def _carry_out(self, line: ReconciliationLine) -> None:
        submission, standing = line.submission, line.standing
        if line.action == "pay" and standing:
            self.bonus(standing.annotator, line.amount, purpose="pay")
        elif line.action in ("approve", "decide") and submission and standing:
            self.approve(standing.annotator, submission, line.amount)
        elif line.action == "ask return" and submission:
            try:
                call(lambda prolific: prolific.request_return(submission.id, RETURN_REASON))
            except RecruiterRefused as error:  # asked there before: it is not asked again
                if error.status == BUSY:
                    raise
                self._note_asked(submission, standing)
                raise
            self._note_asked(submission, standing)
        elif line.action == "leave out" and standing:
            with self.round() as study_round, study_round.write() as live:
                take_returned(live, standing.annotator, by="owner")
        elif line.action == "end" and standing:
            self._end(line, standing)

    def _note_asked(self, submission: Submission, standing: Standing | None) -> None:
        with self.round() as study_round, study_round.write() as live:
            asked = {"submission": study_round.vault.fingerprint(study_round.round.name, submission.id)}
            live.note(ASKED_TO_RETURN, by="owner", annotator_id=standing.annotator if standing else None, detail=asked)

    def _end(self, line: ReconciliationLine, standing: Standing) -> None:
        """End the participation of a person who left, and pay for its outcome if that can be paid."""
        with self.round() as study_round, study_round.write() as live:
            stop_participation(live, standing.annotator)
            ended, pay = find_annotator(live, standing.annotator), study_round.round.design.pay
        outcome = ended.outcome if ended is not None else None
        if not line.amount or line.submission is None:
            return
        if outcome == "stopped":
            self.approve(standing.annotator, line.submission, pay.per_batch)
        elif due_of(outcome, rated=standing.rated) == "screen-out":
            self.bonus(standing.annotator, pay.screen_out, purpose="pay")

    def approve(self, number: str, submission: Submission, amount: float) -> None:
        """Approve a submission there; one that timed out and is refused is paid as a bonus instead."""
        payment = Payment(number, APPROVAL, amount, "pay", "begun")
        with self.round() as study_round:
            with study_round.write() as live:
                note_payment(live, payment)
            try:
                pay(
                    study_round,
                    payment,
                    lambda prolific: prolific.transition(f"/submissions/{submission.id}", "APPROVE"),
                )
            except RecruiterRefused as error:
                if submission.status != "TIMED-OUT" or error.status == BUSY:
                    raise
            else:
                return
        self.bonus(number, amount, purpose="pay")

    def eligible(self) -> int:
        """Return how many people there pass the design's filters, except filters to choose by hand; 0 if under 25."""
        request = {"filters": filters_of(self.plan().design)}
        return round(float(call(lambda prolific: prolific.create("/eligibility-count/", request, field="count"))))

    @contextmanager
    def _annotator(self, number: str) -> Iterator[tuple[StudyRound, RecruiterIds]]:
        """Yield the round and an annotator's ids there.

        Raises StudyError: no annotator in the round has that number, or the ids were deleted.
        """
        with self.round() as study_round:
            with study_round.read() as live:
                row = find_annotator(live, number)
                in_round = row is not None and row.study_id == study_round.round.id
                person = person_of(live, number, vault=study_round.vault) if in_round else None
            if person is None:
                raise StudyError(f"no person in this round has the number {number!r}, or the ids were deleted")
            yield study_round, person

    def message(self, number: str, text: str) -> None:
        """Send a message to an annotator at Prolific. The log records the message without its text."""
        with self._annotator(number) as (study_round, person):
            body = {"recipient_id": person.person, "study_id": person.study, "body": text}
            call(lambda prolific: prolific.call("POST", "/messages/", body))
            study_round.note("messaged", number)

    def ask_return(self, number: str, why: str) -> None:
        """Ask an annotator to return their submission; they may decline."""
        with self._annotator(number) as (study_round, person):
            call(lambda prolific: prolific.request_return(person.session, why))
            study_round.note("asked to return", number, why=why)

    def bonus(self, number: str, amount: float, *, again: bool = False, purpose: Purpose = "bonus") -> None:
        """Pay an annotator a bonus in the study's currency, to two decimals; with `purpose` "pay" it is what they are owed.

        Prolific pays as often as it is told to, so one that was begun here, whether or not its answer came, is not paid a
        second time but with `again`. One that Prolific refused was not begun.

        Raises StudyError: a bonus was begun for this annotator before, or their ids are deleted by now.
        """
        amount = round(amount, 2)
        if not (isfinite(amount) and amount > 0):
            raise StudyError(f"a bonus is an amount of 0.01 or more, not {amount}")
        with self._annotator(number) as (study_round, person):
            if not again:
                with study_round.read() as live:
                    refuse_second(live, number)
            body = {"study_id": person.study, "csv_bonuses": f"{person.session},{amount:.2f}"}
            prepared = call(lambda prolific: prolific.create("/submissions/bonus-payments/", body))
            payment = Payment(number, prepared, amount, purpose, "begun")
            with study_round.write() as live:
                lock_round(live)
                if not again:
                    refuse_second(live, number)
                note_payment(live, payment)
            # Prolific pays again each time it is told so: never repeat this on a doubtful answer.
            pay(
                study_round,
                payment,
                lambda prolific: prolific.call("POST", f"/bulk-bonus-payments/{prepared}/pay/", {}),
            )

    def settle(self, number: str, *, paid: bool, payment: str | None = None) -> float:
        """Record whether a payment in doubt was `paid`, as seen at Prolific. Return its amount.

        One that was not is not spent, and can be paid. `payment` is Prolific's id of it, where several are in doubt.

        Raises StudyError: none is in doubt, or more than one.
        """
        with self.round() as study_round, study_round.write() as live:
            lock_round(live)
            return settle(live, number, payment, paid=paid)

    def keep_out(self, workspace: str, *, again: bool = False) -> tuple[int, str]:
        """Put the round's people into a participant group there, to be kept out of a later round; return how many, and the group.

        The group is made once; later those are added who came since.
        """
        with self.round() as study_round:
            study, kind = study_round.round, f"group in {workspace}"
            with study.read(study_round.store) as live:
                people = [standing.ids for standing in standings(live, vault=study_round.vault)]
                group = None if again else last_object_at_recruiter(live, kind)
            body = {"workspace_id": workspace, "name": f"{study.name} {study.version} {study.phase}"}
            group = group or make_once(
                study_round, kind, lambda prolific: prolific.create("/participant-groups/", body), again=again
            )
        members = {"participant_ids": [person.person for person in people]}
        call(lambda prolific: prolific.call("POST", f"/participant-groups/{group}/participants/", members))
        return len(people), group


def pay(study_round: StudyRound, payment: Payment, work: Callable[[ProlificClient], Awaitable[object]]) -> None:
    """Make a payment that was begun, and record whether it was confirmed or refused, or is in doubt."""

    def record(state: PaymentState, why: str = "") -> None:
        with study_round.write() as live:
            note_payment(live, replace(payment, state=state, why=why))

    try:
        call(work)
    except (RecruiterRefused, ConfigurationError):  # a token that is not accepted: nothing was done
        record("refused")
        raise
    except StudyError:
        record("doubtful", "the answer was lost")
        raise
    record("confirmed")


def make_once(
    study_round: StudyRound, kind: str, make: Callable[[ProlificClient], Awaitable[str]], *, again: bool = False
) -> str:
    """Make one thing for a round at Prolific and return its id. It is recorded first, and made once unless `again`."""

    def record(state: str, name: str = "") -> None:
        with study_round.write() as live:
            if state == "begun":
                lock_round(live)
                refuse_second_object(live, kind, again=again)
            note_at_recruiter(live, kind, state, name)

    record("begun")
    try:
        name = call(make)
    except (RecruiterRefused, ConfigurationError):  # nothing was made
        record("refused")
        raise
    record("made", name)
    return name
