"""Answers to the owner's own questions: read from a form, and no other than those that were offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from casewise.records import OUTCOMES
from casewise.studies.design.own_questions import LONGEST_TEXT, Demographic, OwnAnswer, OwnQuestion
from casewise.studies.design.replies import REPLY_QUESTION
from casewise.studies.running.answers import Decision

__all__ = ["chosen_demographics", "counted_as", "field_of", "missing_answers", "read_own_answers"]


def field_of(question: OwnQuestion) -> str:
    """The name of a question's field in a form; each of several `reasons` adds its place."""
    return f"own-{question.name}"


def read_own_answers(questions: Sequence[OwnQuestion], form: Mapping[str, str]) -> dict[str, OwnAnswer]:
    """The answers in `form`, by the names of their questions; what was not offered is none."""
    found = {question.name: read_answer(question, form) for question in questions}
    return {name: answer for name, answer in found.items() if answer is not None}


def read_answer(question: OwnQuestion, form: Mapping[str, str]) -> OwnAnswer | None:
    sent, offered = form.get(field_of(question), ""), range(len(question.offered))
    if question.kind == "text":
        return sent.strip()[:LONGEST_TEXT] or None
    if question.kind == "reasons":
        return [place for place in offered if f"{field_of(question)}-{place}" in form] or None
    place = int(sent) if sent.isdecimal() and len(sent) < 4 else -1
    if question.is_scale:
        return place if 1 <= place <= question.points else None
    return place if place in offered else None


def missing_answers(
    questions: Sequence[OwnQuestion], given: Mapping[str, OwnAnswer], *, has_context: bool
) -> tuple[str, ...]:
    """The names of questions that need an answer and have none."""
    asked = (question for question in questions if question.required and question.asked_of(has_context=has_context))
    return tuple(question.name for question in asked if question.name not in given)


def counted_as(decision: Decision, own: Mapping[str, OwnAnswer]) -> Decision:
    """What an answer to the question about a reply counts as: one that answers, if only in part, responds."""
    if decision == "skip":
        return decision
    return "refuse" if own.get(REPLY_QUESTION.name) == OUTCOMES.index("refuses") else "respond"


def chosen_demographics(questions: Sequence[Demographic], form: Mapping[str, str]) -> dict[str, str]:
    """What somebody chose to say about themselves, of what was offered."""
    chosen = {question.name: form.get(f"about-{question.name}", "") for question in questions}
    offered = {question.name: question.options for question in questions}
    places = {name: int(place) for name, place in chosen.items() if place.isdecimal() and len(place) < 4}
    return {name: offered[name][place] for name, place in places.items() if place < len(offered[name])}
