"""Answers of annotators: ratings taken, voided and restored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from sqlalchemy import Row, bindparam, func, literal_column, select, true, update

from casewise.database.tables import study as tables
from casewise.notation import whole_number
from casewise.records import OUTCOMES
from casewise.studies.design import REPLY_QUESTION, Demographic, Exclusion, OwnAnswer, OwnQuestion
from casewise.studies.quality import OUTCOMES as ENDED
from casewise.studies.quality import AnsweredPage, reason_to_void
from casewise.studies.rounds import LiveRound
from casewise.studies.slots import lapse_expired, lease_end, release, reserve_slot, resume

Decision = Literal["respond", "refuse", "ask", "skip"]
AnswerOutcome = Literal["rated", "skipped", "surplus", "again", "over"]
BatchOutcome = Literal["completed", "stopped", "left_early", "too_many_skips"]

PAGES, ANNOTATORS, ITEMS, SLOTS = tables.pages, tables.annotators, tables.items, tables.slots

ITEM_OF_PAGE = (ITEMS.c.study_id == PAGES.c.study_id) & (ITEMS.c.item_id == PAGES.c.item_id)

COUNTS_FOR_QUALITY = PAGES.c.verdict.is_not(None) | ((PAGES.c.kind == "check") & (PAGES.c.state == "skipped"))
"""Pages by which an annotator's care is judged: skipping a check is missing it."""

VERDICTS = {"respond": "safe", "refuse": "unsafe", "ask": "ask"}

ANSWER_COLUMNS = ("verdict", "seconds", "scripted", "sight", "own", "answered_at", "step")

ANNOTATOR_LOCKED = (
    select(*(ANNOTATORS.c[name] for name in ("study_id", "stage", "outcome", "lapsed", "voided_at")))
    .where(ANNOTATORS.c.id == bindparam("who"))
    .with_for_update(key_share=True)
)
PAGE_AT = select(PAGES).where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.position == bindparam("place"))
TAKE_ANSWER = (
    update(PAGES)
    .where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.position == bindparam("place"), PAGES.c.state == "waiting")
    .values(state="rated", **{name: bindparam(name) for name in ANSWER_COLUMNS})
)
PROGRESS_STATES = ("rated", "skipped", "surplus", "waiting")
STATE_COUNTS = [
    func.count().filter(PAGES.c.state == literal_column(f"'{state}'")).label(state) for state in PROGRESS_STATES
]
COUNTS = select(*STATE_COUNTS).where(PAGES.c.annotator_id == bindparam("who")).subquery()
NEXT_PAGE = (
    select(PAGES.c.position, ANNOTATORS.c.step, PAGES.c.check_name, ITEMS.c.shown, *COUNTS.c)
    .join(ANNOTATORS, ANNOTATORS.c.id == PAGES.c.annotator_id)
    .outerjoin(ITEMS, ITEM_OF_PAGE)
    .join(COUNTS, true())
    .where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.state == "waiting")
    .order_by(PAGES.c.position)
    .limit(1)
)
STATES = select(PAGES.c.state, func.count()).where(PAGES.c.annotator_id == bindparam("who")).group_by(PAGES.c.state)
CHANGE_PAGE = update(PAGES).where(PAGES.c.annotator_id == bindparam("who"), PAGES.c.position == bindparam("place"))
TAKE_STEP = (
    update(ANNOTATORS)
    .where(
        ANNOTATORS.c.id == bindparam("who"),
        ANNOTATORS.c.study_id == bindparam("round"),
        ANNOTATORS.c.stage == "rating",
        ANNOTATORS.c.step == bindparam("as_shown"),
    )
    .values(step=ANNOTATORS.c.step + 1, lease_until=bindparam("until"))
    .returning(ANNOTATORS.c.lapsed)
)
"""The write of `casewise.studies.people.take_step`, with the lease renewed: one write for nine steps in ten."""


@dataclass(frozen=True, slots=True)
class SubmittedAnswer:
    """An answer to one page, as a browser sent it."""

    position: int
    step: int
    """Number of steps that the annotator had made when the page was shown."""
    decision: Decision
    seconds: float | None = None
    scripted: bool = False
    sight: dict[str, float] | None = None
    """Measurements of the reading by the page's script (`casewise.studies.rounds.read_sight`)."""
    own: dict[str, OwnAnswer] | None = None
    """Answers to the owner's own questions."""

    def values(self, now: datetime) -> dict[str, Any]:
        """Return the columns of a page that hold an answer that is no skip."""
        verdict = VERDICTS[self.decision]
        values = (verdict, self.seconds, self.scripted, self.sight, self.own or None, now, self.step + 1)
        return dict(zip(ANSWER_COLUMNS, values, strict=True))


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an annotator in the batch."""

    answered: int
    pages: int
    skipped: int = 0
    lost: int = 0
    """Pages whose places others took while the annotator was away; known where all states are counted."""

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Self:
        """Return the progress from the number of pages in each state."""
        answered = sum(counts.get(state, 0) for state in ("rated", "skipped", "surplus"))
        return cls(answered, answered + counts.get("waiting", 0), counts.get("skipped", 0), counts.get("lapsed", 0))


@dataclass(frozen=True, slots=True)
class DisplayedPage:
    """A page as an annotator sees it: what is judged, the situation, and the progress."""

    text: str
    context: dict[str, Any]
    progress: Progress
    position: int
    step: int
    """Number of steps that the annotator had made."""
    before: tuple[tuple[str, str], ...]
    """The conversation before what is judged, as roles and texts."""

    @classmethod
    def from_item(cls, shown: Mapping[str, Any], progress: Progress, *, position: int = 0, step: int = 0) -> Self:
        """Return the page of an item, by what the item shows."""
        turns = tuple((role, text) for role, text in shown.get("before", ()))
        return cls(shown["query"], shown["context"], progress, position, step, turns)


def next_page(study: LiveRound, annotator_id: str) -> DisplayedPage | None:
    """Return the first page without an answer; None when the batch is done."""
    row = study.execute(NEXT_PAGE, {"who": annotator_id}).first()
    if row is None:
        return None
    progress, shown = Progress.from_counts({state: getattr(row, state) for state in PROGRESS_STATES}), row.shown
    if row.check_name is not None:
        text = next(check.text for check in study.round.wording.checks if check.name == row.check_name)
        shown = {"query": text, "context": situation_of_check(study, annotator_id)}
    return DisplayedPage.from_item(shown, progress, position=row.position, step=row.step)


CHECK_SITUATION = {
    "nature_of_the_interaction": "The chatbot answers questions that come up in everyday life, in short conversations.",
    "platform_type": "A website that anyone can open, without an account.",
    "type": "A visitor of the website.",
    "background": "Nothing is known about the person beyond what they write in this conversation.",
    "urgency": "There is no hurry: the person can read an answer whenever they like.",
    "sender_purpose": "The chatbot is there to give general information in plain words.",
    "confidentiality": "The person and the people who run the website can read the conversation.",
    "source_accountability": "The people who run the website are responsible for what the chatbot says.",
}
"""The situation of an attention check, by parameter. An item's own would be read twice, or with another request."""
OTHER_PARAMETER = "Nothing in particular is known about this."
CHECK_REPLY = "Thank you for your message. This text stands where other pages show the reply of a chatbot."


def situation_of_check(study: LiveRound, annotator_id: str) -> dict[str, Any]:
    """Return words of a check's own under the groups and parameters of an item of the same batch."""
    query = select(ITEMS.c.shown).join(PAGES, ITEM_OF_PAGE).where(PAGES.c.annotator_id == annotator_id)
    shown = study.scalars(query.order_by(PAGES.c.position).limit(1)).first()
    neutral = CHECK_REPLY if study.design.rates == "replies" else OTHER_PARAMETER

    def words(name: str) -> str:
        return study.round.translator(CHECK_SITUATION.get(name, neutral))

    return {
        group: {name: words(name) for name in texts} if isinstance(texts, dict) else words(group)
        for group, texts in (shown["context"] if shown else {}).items()
    }


def progress(study: LiveRound, annotator_id: str) -> Progress:
    """Return the pages answered or skipped, of those that are still the annotator's."""
    return Progress.from_counts(page_states(study, annotator_id))


def page_states(study: LiveRound, annotator_id: str) -> dict[str, int]:
    return {row[0]: row[1] for row in study.execute(STATES, {"who": annotator_id})}


def take_answer(study: LiveRound, annotator_id: str, answer: SubmittedAnswer) -> AnswerOutcome:
    """Record an answer, once. Return "rated", "skipped" or "surplus"; "again" where the annotator made another step since the page
    was shown, and nothing changes; "over" where the annotator is not rating (any more).
    """
    at = {"who": annotator_id, "round": study.id, "as_shown": answer.step, "until": lease_end(study)}
    annotator = study.execute(TAKE_STEP, at).first()
    if annotator is None:
        annotator = locked_annotator(study, annotator_id)
        rating = annotator is not None and annotator.stage == "rating" and annotator.study_id == study.id
        return "again" if rating else "over"
    skips = answer.decision == "skip"
    outcome: AnswerOutcome = "skipped" if skips else "rated"
    page_key = {"who": annotator_id, "place": answer.position}
    values = {} if skips else answer.values(study.now)
    # Nearly all answer a page that still waits for it, and whose slot is held already.
    if skips or not study.execute(TAKE_ANSWER, page_key | values).rowcount:
        page = study.execute(PAGE_AT, page_key).first()
        if page is None or page.state not in {"waiting", "lapsed"}:
            return "again"
        if skips:
            change_page(study, page, state="skipped", slot_id=None, answered_at=study.now, step=answer.step + 1)
            study.execute(update(SLOTS).where(SLOTS.c.id == page.slot_id).values(holder_id=None))
            detail = {"item_id": page.item_id, "condition": page.condition}
            study.note("skipped", by="annotator", annotator_id=annotator_id, detail=detail)
        else:  # the page's slot went when the lease ran out
            slot_id = reserve_slot(study, page)
            outcome = "rated" if slot_id is not None or page.kind == "check" else "surplus"
            change_page(study, page, state=outcome, slot_id=slot_id, **values)
    if skips:
        counts = page_states(study, annotator_id)
        if counts["skipped"] > study.design.attention.most_skips(sum(counts.values())):
            finish_batch(study, annotator_id, outcome="too_many_skips")
            return outcome
    if annotator.lapsed:
        resume(study, annotator_id)
    return outcome


def locked_annotator(study: LiveRound, annotator_id: str) -> Row[*tuple[Any, ...]] | None:
    return study.execute(ANNOTATOR_LOCKED, {"who": annotator_id}).first()


def change_page(study: LiveRound, page: Row[Any], **values: Any) -> None:
    where = {"who": page.annotator_id, "place": page.position}
    study.execute(CHANGE_PAGE.values({name: bindparam(name) for name in values}), where | values)


def undo(study: LiveRound, annotator_id: str) -> bool:
    """Undo the last answer if it is a rating or a check; return whether there was one. A skip cannot be undone.

    The steps say which was the last, for a clock can be set back.
    """
    annotator = locked_annotator(study, annotator_id)
    if annotator is None or annotator.stage != "rating" or annotator.lapsed:
        return False
    last = study.execute(
        select(PAGES)
        .where(PAGES.c.annotator_id == annotator_id, PAGES.c.step.is_not(None))
        .order_by(PAGES.c.step.desc())
        .limit(1)
    ).first()
    if last is None or last.state != "rated":
        return False
    cleared = dict.fromkeys(ANSWER_COLUMNS) | {"scripted": False}
    change_page(study, last, state="waiting", **cleared)
    detail = {"item_id": last.item_id, "condition": last.condition}
    study.note("undone", by="annotator", annotator_id=annotator_id, detail=detail)
    return True


def answers_of(study: LiveRound, annotator_id: str) -> list[AnsweredPage]:
    """Return an annotator's answers and skipped checks, in order, as the quality rules take them."""
    expected = {check.name: check.expected for check in study.round.wording.checks}
    query = (
        select(PAGES, ITEMS.c.shown)
        .outerjoin(ITEMS, ITEM_OF_PAGE)
        .where(PAGES.c.annotator_id == annotator_id, COUNTS_FOR_QUALITY)
        .order_by(PAGES.c.position)
    )
    return [as_answer(row, expected, words=words_in(row.shown)) for row in study.execute(query)]


def words_in(shown: Any) -> int:
    """Count the words that a page shows, in its request and in its situation."""
    if isinstance(shown, Mapping):
        return sum(words_in(statement) for statement in shown.values())
    if isinstance(shown, list):
        return sum(words_in(text) for text in shown)
    return len(shown.split()) if isinstance(shown, str) else 0


def as_answer(row: Row[Any], expected: dict[str, Any], *, words: int) -> AnsweredPage:
    return AnsweredPage(
        item_id=row.item_id or row.check_name,
        verdict=row.verdict,
        seconds=row.seconds,
        expected=expected.get(row.check_name),
        scripted=row.scripted,
        words=words,
    )


def finish_batch(study: LiveRound, annotator_id: str, *, outcome: BatchOutcome = "completed") -> None:
    """End a person's part and re-open what they did not answer.

    A person who lost pages to others has stopped and not completed. One who answered no item at all left early, and is paid
    as those who leave before the first request.
    """
    annotator = locked_annotator(study, annotator_id)
    if annotator is None or annotator.stage != "rating":
        return
    if outcome == "completed" and progress(study, annotator_id).lost:
        outcome = "stopped"
    if outcome != "too_many_skips" and not answered_items(study, annotator_id):
        outcome = "left_early"
    release(study, annotator_id, states={"waiting": "dropped", "lapsed": "dropped"})
    ended: str = outcome
    if reason := reason_to_void(answers_of(study, annotator_id), study.design):
        void(study, annotator_id, reason=reason, by="system")
        ended = ENDED[reason]
    study.set_annotator(annotator_id, stage="done", outcome=ended, finished_at=study.now, lease_until=None)
    study.note(ended, by="annotator", annotator_id=annotator_id)


def answered_items(study: LiveRound, annotator_id: str) -> int:
    """Count the items that an annotator rated or skipped."""
    return study.count(PAGES.c.annotator_id == annotator_id, PAGES.c.kind == "item", PAGES.c.answered_at.is_not(None))


def void(study: LiveRound, annotator_id: str, *, reason: str, by: str) -> int:
    """Exclude all ratings of an annotator, re-open the slots, and return how many slots that were.

    Voiding twice changes nothing. The ratings are kept apart, with the reason in the event log. A person who is voided in the
    middle has an outcome from then on, which says what they are told and paid when they come back.
    """
    annotator = locked_annotator(study, annotator_id)
    if annotator is None or annotator.voided_at is not None:
        return 0
    changes = {"waiting": "dropped", "lapsed": "dropped", "rated": "void", "surplus": "void"}
    reopened = release(study, annotator_id, states=changes)
    values: dict[str, Any] = {"voided_at": study.now, "lease_until": None, "stage": "done"}
    if annotator.outcome is None:
        values |= {"outcome": ENDED.get(reason, "stopped"), "finished_at": study.now}
    study.set_annotator(annotator_id, **values)
    detail = {"why": reason, "reopened": reopened}
    study.note("voided", by=by, annotator_id=annotator_id, detail=detail)
    return reopened


RETURNED = "returned at the recruiter"


def take_returned(study: LiveRound, annotator_id: str, *, by: str) -> int:
    """End the part of a person who returned their submission: they are not paid, so nothing of theirs counts. Return how many
    slots re-opened."""
    reopened = void(study, annotator_id, reason=RETURNED, by=by)
    study.set_annotator(annotator_id, stage="done", outcome="returned", lease_until=None)
    study.note("returned", by=by, annotator_id=annotator_id)
    return reopened


def lapse_and_void(study: LiveRound) -> int:
    """Re-open what expired leases hold, and void those who left and whom the design's rules leave out."""
    expired = lapse_expired(study)
    if study.design.exclusion == Exclusion() and not study.design.attention.void:
        return expired
    away = (ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.stage == "rating", ANNOTATORS.c.lapsed.is_(True))
    query = select(ANNOTATORS.c.id).join(PAGES, PAGES.c.annotator_id == ANNOTATORS.c.id)
    answered = query.where(*away, COUNTS_FOR_QUALITY).distinct().order_by(ANNOTATORS.c.id)
    for annotator_id in study.scalars(answered).all():
        if reason := reason_to_void(answers_of(study, annotator_id), study.design):
            void(study, annotator_id, reason=reason, by="system")
    return expired


def read_own_answers(questions: Sequence[OwnQuestion], form: Mapping[str, str]) -> dict[str, OwnAnswer]:
    """Read the answers in `form`, by the names of their questions; what was not offered is no answer.

    Each option of a choice of many has a field of its own.
    """
    answers: dict[str, OwnAnswer] = {}
    for question in questions:
        name, offered = f"own-{question.name}", range(len(question.choices))
        chosen = whole_number(form.get(name))
        if question.many:
            if places := [place for place in offered if f"{name}-{place}" in form]:
                answers[question.name] = places
        elif chosen is not None and chosen in (range(1, question.points + 1) if question.kind == "scale" else offered):
            answers[question.name] = chosen
    return answers


def missing_answers(questions: Sequence[OwnQuestion], answers: Mapping[str, OwnAnswer]) -> tuple[str, ...]:
    """Return the names of questions that need an answer and have none."""
    return tuple(question.name for question in questions if question.required and question.name not in answers)


def decision_of_reply(decision: Decision, own_answers: Mapping[str, OwnAnswer]) -> Decision:
    """Return the decision that an answer about a reply counts as: a reply that answers, if only in part, responds."""
    if decision == "skip":
        return decision
    return "refuse" if own_answers.get(REPLY_QUESTION.name) == OUTCOMES.index("refuses") else "respond"


def chosen_demographics(questions: Sequence[Demographic], form: Mapping[str, str]) -> dict[str, str]:
    """Return what an annotator chose to say about themselves, of the options offered."""
    places = {question: whole_number(form.get(f"about-{question.name}")) for question in questions}
    return {q.name: q.options[place] for q, place in places.items() if place is not None and place < len(q.options)}


def restore(study: LiveRound, annotator_id: str, *, reason: str, by: str) -> int:
    """Let a person's ratings count again where their items still have room; return how many do.

    The others stay apart as surplus: an item never gets more than it was promised. Restoring a person who is not left out
    changes nothing. One who ended by failing checks has stopped or completed from then on, and is paid as that.
    """
    annotator = locked_annotator(study, annotator_id)
    if annotator is None or annotator.voided_at is None:
        return 0
    query = select(PAGES).where(PAGES.c.annotator_id == annotator_id, PAGES.c.kind == "item", PAGES.c.state == "void")
    counted = surplus = 0
    for page in study.execute(query.order_by(PAGES.c.item_id)).all():
        slot_id = reserve_slot(study, page)
        counted, surplus = counted + (slot_id is not None), surplus + (slot_id is None)
        change_page(study, page, state="surplus" if slot_id is None else "rated", slot_id=slot_id)
    values: dict[str, Any] = {"voided_at": None}
    if annotator.outcome in ENDED.values():
        dropped = study.count(PAGES.c.annotator_id == annotator_id, PAGES.c.state == "dropped")
        values["outcome"] = "stopped" if dropped else "completed"
    study.set_annotator(annotator_id, **values)
    detail = {"why": reason, "counted": counted, "surplus": surplus}
    study.note("restored", by=by, annotator_id=annotator_id, detail=detail)
    return counted
