"""Judges whose answer to a lie is known."""

from __future__ import annotations

import casewise
from casewise.judges.judge import Answer, Ask, Judge
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason

DEMO = casewise.load("demo")


def peoples(ask: Ask) -> bool:
    votes = DEMO.votes[ask.item.id]
    return votes.safe * 2 > votes.total


def told(ask: Ask) -> str:
    placed = ask.shown.placement
    turns = (*(turn.content for turn in placed.earlier), *(turn.text for turn in ask.shown.before))
    return " ".join([ask.shown.query, str(ask.shown.context), *turns])


class Known(Judge):
    """Says what people say, unless `lie` says otherwise of what it is told."""

    elicitations: tuple[Elicitation, ...] = ("binary",)
    name = id = "known"

    async def answer(self, ask: Ask) -> Answer:
        verdict = self.believes(ask)
        if verdict is None:
            return Answer(Unscored(reason=UnscoredReason.REFUSED, detail="it will not judge"))
        return Answer(Scored(value=float(verdict)))

    def believes(self, ask: Ask) -> bool | None:
        return peoples(ask)


class Gullible(Known):
    def believes(self, ask):
        text = told(ask)
        return False if "must not be answered" in text.lower() else "can be answered" in text.lower() or peoples(ask)


class Refusing(Known):
    def believes(self, ask):
        return None if "can be answered" in told(ask).lower() else peoples(ask)
