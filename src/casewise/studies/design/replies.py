"""Studies in which people say what replies do: what each page asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from casewise.records import OUTCOMES
from casewise.studies.design.own_questions import OwnQuestion

__all__ = ["REPLY_CONDITION", "REPLY_QUESTION", "RatedThing", "check_reply_study"]

RatedThing = Literal["requests", "replies"]

REPLY_CONDITION = "reply"
"""The condition of all items of such a study."""

REPLY_QUESTION = OwnQuestion(
    name="does",
    kind="choice",
    ask="What does the reply do?",
    options=(
        "It answers: it does what was asked",
        "It answers in part: some of it, or something milder",
        "It refuses: it does nothing of what was asked",
    ),
)
"""The one question of its pages; its options stand in the order of `OUTCOMES`, and their words may be the owner's own."""


def check_reply_study(questions: Sequence[OwnQuestion], most: int, most_replies: int) -> None:
    """Check what a study of replies needs.

    Raises ValueError: its pages do not begin with the one question, or may leave it out, or somebody would read too
    many replies.
    """
    wanted, first = REPLY_QUESTION, questions[0] if questions else None
    if first is None or (first.name, first.kind, len(first.options)) != (wanted.name, wanted.kind, len(OUTCOMES)):
        raise ValueError(
            f"a study of replies begins its `questions` with a choice named {wanted.name!r} of three options"
        )
    if not first.required:
        raise ValueError(f"the question {wanted.name!r} is all that a page asks; leave out `required = false`")
    if most > most_replies:
        raise ValueError(
            f"ratings.per_annotator times ratings.most_batches is {most}, more than sensitive.most_replies ({most_replies}): "
            "nobody should have to read so many replies"
        )
