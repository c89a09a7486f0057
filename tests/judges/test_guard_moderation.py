import asyncio
import json

import pytest
from tests.judges.test_llm import ask
from tests.support.fault_server import FaultServer, share_of

from casewise.errors import ConfigurationError
from casewise.judges.guard import ModerationJudge, read_scores
from casewise.models.load import ModelOptions
from casewise.models.wire import InvalidResponse
from casewise.records import NO_CONTEXT, Scored


def answers(*asks, name="moderation:vllm/mod"):
    async def go():
        async with FaultServer() as server:
            judge = ModerationJudge(
                name, name.removeprefix("moderation:"), options=ModelOptions(server.url), environment={}
            )
            try:
                return judge, [await judge.answer(question) for question in asks]
            finally:
                await judge.close()

    return asyncio.run(go())


def moderation_of(name):
    return ModerationJudge(
        name, name.removeprefix("moderation:"), environment={"OPENAI_API_KEY": "sk-x", "MISTRAL_API_KEY": "sk-y"}
    )


def test_the_value_is_minus_the_highest_score():
    judge, (answer,) = answers(ask(elicitation="scalar"))
    score = share_of(judge.text(ask(elicitation="scalar")))

    assert answer.outcome == Scored(value=-score)
    assert answer.model_version == "mod-1"
    assert answer.detail == {"scores": {"violence": score, "illicit": score / 2}}


def test_one_category_can_be_asked_for():
    judge, (answer,) = answers(ask(elicitation="scalar"), name="moderation:vllm/mod#illicit")

    assert answer.outcome == Scored(value=-share_of(judge.text(ask())) / 2)
    with pytest.raises(ConfigurationError, match="has no category 'nonsense'; it has illicit, violence"):
        answers(ask(elicitation="scalar"), name="moderation:vllm/mod#nonsense")


def test_the_arm_decides_what_is_moderated():
    judge, _ = answers()

    assert "locksmith" in judge.text(ask())
    assert "locksmith" not in judge.text(ask(arm=NO_CONTEXT))


def test_the_categories_that_the_endpoint_flags_come_with_the_score():
    scores = {"violence": 0.9, "illicit": 0.1}
    flagged = {"violence": True, "illicit": False}

    def found(**result):
        return read_scores(json.dumps({"results": [{"category_scores": scores, **result}]}))[2]

    assert found(categories=flagged) == ("violence",)
    assert found(categories=dict.fromkeys(flagged, False)) == ()
    assert found() is None


RESULT = '{"category_scores": {"x": 0.1}}'


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"results": []}',
        '{"results": [{"category_scores": {}}]}',
        '{"results": [{"category_scores": {"x": "much"}}]}',
        '{"results": [{"category_scores": {"x": 1e999}}]}',
        f'{{"results": [{RESULT}, {RESULT}]}}',
        "<html>",
    ],
)
def test_what_holds_no_scores_is_said_to_hold_none(text):
    with pytest.raises(InvalidResponse):
        read_scores(text)
