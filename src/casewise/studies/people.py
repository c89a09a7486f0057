"""The people of a round: admission, checks of their attention, pay and privacy."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Literal

from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import ColumnElement, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError
from casewise.studies.answers import finish_batch, locked_annotator
from casewise.studies.freeze import most_taken
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import LiveRound, Round, RoundState, closed_conditions, round_state
from casewise.studies.slots import assign, lease_has_ended, lock_round
from casewise.studies.wording import Question


def derived_key(secret: str, purpose: str) -> bytes:
    """Return 32 bytes for one `purpose`, so that no two uses of the server's secret share a key (HMAC-SHA256)."""
    return hmac.new(secret.encode(), f"casewise study {purpose}".encode(), hashlib.sha256).digest()


class Vault:
    """Seals and opens recruiter ids.

    Every annotator's ids are encrypted under a key of their own, which is itself kept encrypted under the server's.
    Deleting that key (`forget`) makes every copy of the ids unreadable, also those in old backups of other tables.
    """

    def __init__(self, secret: str) -> None:
        self._wrap = Fernet(base64.urlsafe_b64encode(derived_key(secret, "wrapping of keys")))
        self._hash = derived_key(secret, "exclusion of returners")

    def seal(self, person: RecruiterIds) -> tuple[str, str]:
        """Return `person` encrypted under a new key, and that key, wrapped."""
        key = Fernet.generate_key()
        return Fernet(key).encrypt(json.dumps(asdict(person)).encode()).decode(), self._wrap.encrypt(key).decode()

    def open(self, sealed: str, wrapped_key: str) -> RecruiterIds:
        """Return the person in `sealed`.

        Raises ConfigurationError: the server's secret is not the one under which this was sealed.
        """
        try:
            key = Fernet(self._wrap.decrypt(wrapped_key.encode()))
            return RecruiterIds(**json.loads(key.decrypt(sealed.encode())))
        except InvalidToken as error:
            raise ConfigurationError("recruiter ids cannot be read: the server's secret has changed") from error

    def fingerprint(self, study: str, person: str) -> str:
        """Return a keyed hash of a person within a study of this name (all versions, pilots included)."""
        return hmac.new(self._hash, json.dumps([study, person]).encode(), hashlib.sha256).hexdigest()


# An annotator's way in the database: consent, tutorial, quiz, batch, end. The stage is the server's, never the
# page's.


Stage = Literal["tutorial", "quiz", "rating", "done"]
QuizResult = Literal["passed", "again", "screened_out", "no_room"]

ANNOTATORS, FINGERPRINTS, KEYS = tables.annotators, tables.fingerprints, tables.keys


STANDING = ("id", "study_id", "stage", "outcome", "condition", "step", "quiz_attempts", "lapsed")

Annotator = Row[*tuple[Any, ...]]
"""The standing of an annotator: a row with the columns of `STANDING`."""


def annotator(study: LiveRound, annotator_id: str) -> Annotator | None:
    """Return the annotator with this id, or None."""
    return first_annotator(study, ANNOTATORS.c.id == annotator_id)


def find_returner(study: LiveRound, fingerprint: str) -> Annotator | None:
    """Return the annotator who arrived in this round with the same recruiter id before: they continue where they were."""
    return first_annotator(study, ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.fingerprint == fingerprint)


def first_annotator(study: LiveRound, *where: ColumnElement[bool]) -> Annotator | None:
    return study.execute(select(*(ANNOTATORS.c[name] for name in STANDING)).where(*where)).first()


def take_step(study: LiveRound, annotator_id: str, step: int) -> bool:
    """Count one more step of an annotator; return False, and change nothing, where it is not the one after `step`.

    Every form that a person sends passes through here first, so that a form sent twice, or one from an older page, takes
    effect at most once.
    """
    next_step = update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id, ANNOTATORS.c.step == step)
    return study.execute(next_step.values(step=ANNOTATORS.c.step + 1)).rowcount == 1


def pass_tutorial(study: LiveRound, annotator_id: str) -> None:
    """Move an annotator from the tutorial to the quiz; from any other stage nothing happens."""
    study.execute(
        update(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id, ANNOTATORS.c.stage == "tutorial").values(stage="quiz")
    )


def unanswered(quiz: Sequence[Question], chosen: Sequence[int | None]) -> tuple[int, ...]:
    """Return the places of the questions whose choice is none of their options. A form with such a question is no attempt."""
    pairs = enumerate(zip(quiz, chosen, strict=True))
    return tuple(place for place, (question, choice) in pairs if choice not in range(len(question.options)))


def answer_quiz(study: LiveRound, annotator_id: str, chosen: Sequence[int | None]) -> QuizResult:
    """Count an attempt: on to the rating, another attempt, or screened out. An incomplete form counts for nothing."""
    if unanswered(study.round.wording.quiz, chosen):
        return "again"
    row = study.execute(select(ANNOTATORS).where(ANNOTATORS.c.id == annotator_id).with_for_update(key_share=True)).one()
    if row.stage != "quiz":
        return "passed" if row.stage == "rating" else "again"
    attempts = row.quiz_attempts + 1
    right = [question.right for question in study.round.wording.quiz]
    pairs = zip(chosen, right, strict=True)
    missed = [place for place, (answer, expected) in enumerate(pairs) if answer != expected]
    study.set_annotator(annotator_id, quiz_attempts=attempts)
    detail = {"attempt": attempts, "missed": len(missed), "wrong": missed}
    study.note("quiz", by="annotator", annotator_id=annotator_id, detail=detail)
    if len(missed) <= study.design.quiz.may_miss:
        if assign(study, annotator_id):
            return "passed"
        end(study, annotator_id, outcome="no_room")
        return "no_room"
    if attempts < study.design.quiz.attempts:
        return "again"
    end(study, annotator_id, outcome="screened_out")
    return "screened_out"


def missed_before(study: LiveRound, annotator_id: str) -> tuple[int, ...]:
    """Return which questions the last attempt at the quiz missed; none before the first."""
    table = tables.events
    attempts = select(table.c.detail).where(table.c.annotator_id == annotator_id, table.c.kind == "quiz")
    return tuple((study.scalars(attempts.order_by(table.c.id.desc()).limit(1)).first() or {}).get("wrong", ()))


def stop_participation(study: LiveRound, annotator_id: str) -> None:
    """End the part of a person who stops, wherever they are; before the batch their time is paid as a screen-out's is."""
    row = locked_annotator(study, annotator_id)
    if row is not None and row.stage in {"tutorial", "quiz"}:
        end(study, annotator_id, outcome="left_early")
    finish_batch(study, annotator_id, outcome="stopped")


def halt(study: LiveRound, annotator: Annotator) -> RoundState:
    """Return the state of the round, for a person without a batch: they wait while it is paused.

    In a closed round they never get one: they end here, and are paid as those who found no item left.
    """
    state = round_state(study)
    if state == "closed":
        end(study, annotator.id, outcome="no_room")
    return state


def end(study: LiveRound, annotator_id: str, *, outcome: str) -> None:
    study.set_annotator(annotator_id, stage="done", outcome=outcome, finished_at=study.now)
    study.note(outcome, annotator_id=annotator_id)


def person_of(study: LiveRound, annotator_id: str, *, vault: Vault) -> RecruiterIds | None:
    """Return the recruiter's ids of an annotator; None once they are deleted."""
    row = study.execute(
        select(ANNOTATORS.c.sealed, KEYS.c.wrapped)
        .join(KEYS, KEYS.c.annotator_id == ANNOTATORS.c.id)
        .where(ANNOTATORS.c.id == annotator_id)
    ).first()
    return None if row is None or row.sealed is None else vault.open(row.sealed, row.wrapped)


def count_stages(study: LiveRound) -> dict[str, int]:
    """Count the people at each stage, and those who ended with each outcome."""
    counts = Counter[str]()
    for (stage, outcome), count in study.counts(ANNOTATORS.c.stage, ANNOTATORS.c.outcome).items():
        counts[outcome or stage] += count
    return dict(counts)


# Admission: while the round is open and there is a place, once, and only after consent.
#
# A place is held for a person who consented and has no batch yet, for as long as a lease lasts, so that their time in the
# tutorial and the quiz is not lost. Nothing here writes before a person consents.


NotAdmitted = Literal["already", "closed", "paused", "full"]
"""The reason why a person is not let in: they took part, or the round is closed, paused, or has no place."""
ITEMS, PAGES, SLOTS = tables.items, tables.pages, tables.slots


def admission_refusal(study: LiveRound, fingerprint: str, *, lock: bool = False) -> NotAdmitted | None:
    """Return why a new person with this fingerprint is not let in now; None where they are.

    With `lock`, other arrivals wait until this transaction ends, so that one place is not promised to two.
    """
    if lock:
        lock_round(study)
    if has_taken_part(study, fingerprint):
        return "already"
    state = round_state(study)
    if state != "open":
        return state
    return None if has_room(study) else "full"


def has_room(study: LiveRound) -> bool:
    """Return whether an item is left for one more, when everybody who consented before has taken the most that they can.

    Near the end that is less than a whole batch each. Slots of those whose lease has ended count: the next batch that
    is given takes them. What moves on while this is read is counted twice rather than not at all, for slots go from expired
    to open to held, and people out of those who wait: only with the study held is the answer yes a promise.
    """
    batch_size = study.design.ratings.per_annotator
    whole_batches = waiting_people(study) * batch_size
    open_slots = (SLOTS.c.study_id == study.id, SLOTS.c.condition.not_in(closed_conditions(study)))
    is_open = select(SLOTS.c.id).where(*open_slots, SLOTS.c.holder_id.is_(None))
    counted = select(func.count()).select_from(is_open.limit(whole_batches + 1).subquery())
    if study.scalars(counted).one() > whole_batches:
        return True
    free = expired_slots(study) + open_slots_by_query(study)
    waiting = waiting_people(study)
    return free.total() > most_taken(by_condition(free), people=waiting, size=batch_size)


def by_condition(free: Mapping[tuple[str, str], int]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for (condition, _), slots in free.items():
        places.setdefault(condition, []).append(slots)
    return places


def people_needed(study: LiveRound, free: Mapping[tuple[str, str], int] | None = None) -> int:
    """Return how many people, beside those who wait for a batch, it takes to fill the open slots, or those of `free`.

    By condition and query: a batch each, and one item of a query each.
    """
    size = study.design.ratings.per_annotator
    slots = by_condition(open_slots_by_query(study) if free is None else free)
    needed = sum(max(-(-sum(of_queries) // size), *of_queries) for of_queries in slots.values())
    return max(0, needed - waiting_people(study))


def open_slots_by_query(study: LiveRound) -> Counter[tuple[str, str]]:
    """Open slots of each query in each condition that is not closed."""
    query = (
        select(SLOTS.c.condition, ITEMS.c.query_id, func.count())
        .join(ITEMS, (ITEMS.c.study_id == SLOTS.c.study_id) & (ITEMS.c.item_id == SLOTS.c.item_id))
        .where(SLOTS.c.study_id == study.id, SLOTS.c.holder_id.is_(None))
        .where(SLOTS.c.condition.not_in(closed_conditions(study)))
        .group_by(SLOTS.c.condition, ITEMS.c.query_id)
    )
    return Counter({(row[0], row[1]): row[2] for row in study.execute(query)})


def expired_slots(study: LiveRound) -> Counter[tuple[str, str]]:
    """Return the slots of each query in each condition whose holders' lease has ended."""
    query = (
        select(PAGES.c.condition, PAGES.c.query_id, func.count())
        .join(ANNOTATORS, ANNOTATORS.c.id == PAGES.c.annotator_id)
        .where(*lease_has_ended(study), PAGES.c.state == "waiting", PAGES.c.kind == "item")
        .where(PAGES.c.condition.not_in(closed_conditions(study)))
        .group_by(PAGES.c.condition, PAGES.c.query_id)
    )
    return Counter({(row[0], row[1]): row[2] for row in study.execute(query)})


def waiting_people(study: LiveRound) -> int:
    """Count those who consented within the length of a lease and have no batch yet."""
    since = study.now - timedelta(minutes=study.design.ratings.lease_minutes)
    begins = ANNOTATORS.c.stage.in_(("tutorial", "quiz"))
    return study.count(ANNOTATORS.c.study_id == study.id, begins, ANNOTATORS.c.consented_at > since)


def has_taken_part(study: LiveRound, fingerprint: str) -> bool:
    """Return whether this person took part in another round of the study, and is to be kept out."""
    table = FINGERPRINTS
    own_entry = (table.c.study_name == exclusion_scope(study.round), table.c.fingerprint == fingerprint)
    return bool(study.count(*own_entry, table.c.expires_on >= study.now.date(), table.c.study_id != study.id))


def exclusion_scope(study: Round) -> str:
    """Return the rounds whose people are excluded. Rehearsals and previews exclude no person from the study itself."""
    return study.name if study.phase in {"pilot", "main"} else f"{study.id} {study.phase}"


def admit(study: LiveRound, person: RecruiterIds, *, vault: Vault) -> Annotator | None:
    """Add a person who consented: only now are their ids kept, sealed. The same person again is the same annotator.

    None when the person took part in another round of this study.
    """
    fingerprint = vault.fingerprint(study.round.name, person.person)
    returner = find_returner(study, fingerprint)
    if returner is not None or has_taken_part(study, fingerprint):
        return returner
    annotator_id, (sealed, wrapped) = f"a{secrets.token_hex(12)}", vault.seal(person)
    identity = {"study_id": study.id, "fingerprint": fingerprint}
    begun = {"stage": "tutorial", "step": 0, "quiz_attempts": 0, "lapsed": False}
    excluded = {"study_name": exclusion_scope(study.round), "expires_on": study.design.privacy.exclude_until}
    expired = (FINGERPRINTS.c.fingerprint == fingerprint) & (FINGERPRINTS.c.expires_on < study.now.date())
    try:
        with study.connection.begin_nested():
            study.execute(
                insert(ANNOTATORS).values(id=annotator_id, **identity, **begun, consented_at=study.now, sealed=sealed)
            )
            study.execute(delete(FINGERPRINTS).where(expired))
            study.execute(insert(FINGERPRINTS).values(**identity, **excluded))
    except IntegrityError:  # the same person consented in another tab just now
        return find_returner(study, fingerprint)
    study.execute(insert(KEYS).values(annotator_id=annotator_id, wrapped=wrapped))
    study.note("consented", by="annotator", annotator_id=annotator_id)
    return annotator(study, annotator_id)
