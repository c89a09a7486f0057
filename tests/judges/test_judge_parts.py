"""Asks and answers of judges, one by one: what becomes a judgement, and what a user's own judge may state."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.support.demo import DEMO

from casewise.errors import JudgeError, Unavailable
from casewise.judges.baselines import ConstantJudge
from casewise.judges.judge import (
    Answer,
    Ask,
    Judge,
    UserJudge,
    call_key,
    failed_answer,
    is_unseen,
    make_judgement,
    unscored_answer,
    unseen_sentence,
)
from casewise.models.prices import Prices
from casewise.models.protocol import Rejected
from casewise.records import FULL, NO_CONTEXT, Arm, Judgement, Scored, Transform, Unscored, UnscoredReason
from casewise.transforms.catalogue import parse_arm

ITEM = DEMO.items[0]
ASK = Ask(ITEM, DEMO.query[ITEM.query_id], DEMO.context_of(ITEM))


class Certain(Judge):
    """Says safe of everything, and counts what it is asked."""

    id, name = "certain@1", "certain"

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    async def answer(self, ask: Ask, /) -> Answer:
        self.asked.append(ask)
        return Answer(Scored(value=1.0), "Safe.", 0.5, "v", 3, 2, 0.25, None, "whole", ("a",), {"x": 1})

    def shared_key(self, ask: Ask) -> str:
        return f"all {ask.repeat}"


def judgement_of(ask: Ask, judge: Judge | None = None) -> Judgement:
    return asyncio.run(make_judgement(judge or Certain(), ask))


def test_a_judgement_has_the_key_of_its_ask_and_all_of_its_answer():
    judgement = judgement_of(replace(ASK, arm=NO_CONTEXT, elicitation="score", repeat=2, attempt=1))

    assert (judgement.item_id, judgement.judge_id, judgement.elicitation) == (ITEM.id, "certain@1", "score")
    assert (judgement.arm, judgement.repeat, judgement.attempt) == ("none", 2, 1)
    assert (judgement.outcome, judgement.raw_reply, judgement.latency_s) == (Scored(value=1.0), "Safe.", 0.5)
    assert (judgement.model_version, judgement.input_tokens, judgement.output_tokens) == ("v", 3, 2)
    assert (judgement.cost_usd, judgement.read_as, judgement.categories, judgement.detail) == (
        0.25,
        "whole",
        ("a",),
        {"x": 1},
    )
    assert judgement.at is not None


def shown_as(**shown: Any) -> Ask:
    """An ask whose item is shown so."""
    ask = replace(ASK)
    ask.__dict__["shown"] = replace(ASK.shown, **shown)
    return ask


@pytest.mark.parametrize(
    ("shown", "elicitation", "outcome"),
    [
        ({"problem": "no twin"}, "binary", Unscored(reason=UnscoredReason.NOT_SHOWN, detail="no twin")),
        ({"held_back": "refused"}, "binary", Scored(value=0.0)),
        ({"held_back": "refused"}, "score", Scored(value=1.0)),
        ({"held_back": "asked about"}, "binary", Unscored(reason=UnscoredReason.ASKED_ABOUT, detail="a defence held it back")),
        ({"held_back": "refused"}, "scalar", Unscored(reason=UnscoredReason.ASKED_ABOUT, detail="a defence held it back")),
    ],
)  # fmt: skip
def test_an_item_that_is_not_shown_is_not_asked_about(shown, elicitation, outcome):
    judge, ask = Certain(), shown_as(**shown)
    object.__setattr__(ask, "elicitation", elicitation)
    judgement = judgement_of(ask, judge)

    assert judgement.outcome == outcome
    assert judge.asked == []
    assert judgement.read_as == ("held_back" if isinstance(outcome, Scored) else None)


def test_an_attack_that_a_judge_cannot_see_is_not_asked_about_and_takes_no_call():
    blind = ConstantJudge("safe")
    attacked = replace(ASK, arm=Arm.parse("format:xml"), attack=Transform.parse("format:xml"))
    seen, unseen = judgement_of(attacked), judgement_of(attacked, blind)

    assert (seen.outcome, is_unseen(Certain(), attacked)) == (Scored(value=1.0), False)
    assert unseen.outcome == Unscored(reason=UnscoredReason.NOT_SHOWN, detail=unseen_sentence(blind))
    assert unseen_sentence(blind) == "constant:safe receives the same as without the attack"
    assert (is_unseen(blind, attacked), is_unseen(blind, ASK)) == (True, False)
    assert (call_key(Certain(), attacked), call_key(blind, attacked)) == ("all 0", None)


def test_a_defence_that_takes_an_attack_out_has_not_made_it_unseen():
    attack = parse_arm("claim:test/system/safe").transforms[0]

    assert not is_unseen(Certain(), replace(ASK, arm=Arm(transforms=(attack,)), attack=attack))


def test_a_failed_call_is_unscored_for_its_own_reason():
    rejected, away = failed_answer(Rejected("bad_request", "too long")), failed_answer(Unavailable("away"))

    assert rejected.outcome == Unscored(reason=UnscoredReason.BAD_REQUEST, detail="too long")
    assert away.outcome == Unscored(reason=UnscoredReason.UNAVAILABLE, detail="away")
    assert unscored_answer("empty").outcome == Unscored(reason=UnscoredReason.EMPTY)


def test_an_ask_is_known_by_its_item_elicitation_arm_and_repeat():
    assert ASK.key == (ITEM.id, "binary", "full", 0)
    assert replace(ASK, attempt=3).key == ASK.key
    assert (
        len(
            {
                each.key
                for each in (
                    ASK,
                    replace(ASK, repeat=1),
                    replace(ASK, arm=NO_CONTEXT),
                    replace(ASK, elicitation="score"),
                )
            }
        )
        == 4
    )


def test_a_judge_is_told_the_reply_apart_from_what_is_shown():
    judge = Certain()

    assert judge.received_input(ASK) != judge.received_input(replace(ASK, reply="Yes."))
    assert (judge.wordings(("binary",)), judge.endpoint, judge.elicitations, judge.arms) == (
        {},
        None,
        ("binary",),
        (FULL,),
    )


# A user's own judge.


class Own:
    """All that a user's judge may state."""

    name, id = "own", "own@2"
    prices, counts_tokens = Prices(1.0, 1.0), True
    elicitations, arms = ("score",), (NO_CONTEXT,)
    concurrency, reads_replies = 9, True

    async def answer(self, _ask: Ask) -> Answer:
        return Answer(Scored(value=7.0))


class Bare:
    """All that a user's judge must state."""

    name = "bare"

    async def answer(self, _ask: Ask) -> Answer:
        return Answer(Scored(value=7.0))


def test_a_users_judge_is_what_it_states():
    own, bare = UserJudge(Own()), UserJudge(Bare())

    assert (own.name, own.id, own.prices, own.counts_tokens) == ("own", "own@2", Prices(1.0, 1.0), True)
    assert (own.elicitations, own.arms, own.concurrency, own.reads_replies) == (("score",), (NO_CONTEXT,), 9, True)
    assert (bare.name, bare.id, bare.prices, bare.counts_tokens) == ("bare", "bare", None, False)
    assert (bare.elicitations, bare.arms, bare.concurrency, bare.reads_replies) == (("binary",), (FULL,), 1, False)
    assert (own.is_priced, bare.is_priced) == (True, False)
    assert asyncio.run(own.answer(ASK)).outcome == Scored(value=7.0)


def test_an_object_with_methods_of_a_judge_has_to_be_one():
    class Noted(Bare):
        def notes(self) -> tuple[str, ...]:
            return ()

        def settings(self) -> dict[str, Any]:
            return {}

    with pytest.raises(JudgeError, match=r"has settings, notes: make its class a subclass of casewise\.Judge"):
        UserJudge(Noted())
    with pytest.raises(JudgeError, match="is no judge: it has no answer and no name"):
        UserJudge(object())
