"""Judges whose answer to a lie is known."""

from __future__ import annotations

from tests.support.demo import DEMO

from casewise.judges.judge import Answer, Ask, Judge
from casewise.records import Elicitation, Scored, Unscored, UnscoredReason
from casewise.transforms.attacks import shipped_claims
from casewise.transforms.channels import Direction, map_texts


def peoples(ask: Ask) -> bool:
    votes = DEMO.votes[ask.item.id]
    return votes.safe * 2 > votes.total


def told(ask: Ask) -> str:
    placed, texts = ask.shown.placement, list[str]()
    map_texts(ask.shown.context, lambda text: texts.append(text) or text)  # type: ignore[func-returns-value]  # it collects
    turns = (*(turn.content for turn in placed.earlier), *(turn.text for turn in ask.shown.before))
    return "\n\n".join([ask.shown.query, *texts, *turns])


def claimed(text: str) -> Direction | None:
    """The verdict that a text argues for, in the words of one of casewise's own claims or of the rehearsed attacker."""
    stated: dict[Direction, str] = {"unsafe": "must not be answered", "safe": "can be answered"}
    wordings = (
        (towards, words) for claim in shipped_claims().values() for towards, of in claim.words.items() for words in of
    )
    found = {towards for towards, words in (*stated.items(), *wordings) if words in text}
    return "unsafe" if "unsafe" in found else "safe" if found else None


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
        towards = claimed(told(ask))
        return peoples(ask) if towards is None else towards == "safe"


class Refusing(Known):
    def believes(self, ask):
        return None if claimed(told(ask)) == "safe" else peoples(ask)
