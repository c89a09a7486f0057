from typing import Any

import pytest
from tests.judges.test_guard_moderation import moderation_of
from tests.support.demo import DEMO

import casewise
from casewise.api import RunOptions, plan_run, try_connection
from casewise.errors import ConfigurationError, JudgeError
from casewise.judges.judge import Answer
from casewise.judges.llm import LLMJudge
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel
from casewise.records import Scored
from casewise.runs.limits import Limits


def test_a_judge_cannot_be_asked_for_what_it_does_not_give():
    with pytest.raises(ConfigurationError, match="constant:safe cannot be asked for 'score'; it gives binary"):
        casewise.judge(DEMO, "constant:safe", elicitations=("score",))


class Bare:
    """All that a user's judge must have."""

    name = "bare"

    async def answer(self, ask):
        return Answer(Scored(value=1.0))


class Priced(Bare):
    prices = Prices(1.0, 1.0)
    concurrency = 3
    model = "not a model of ours"


BARE: Any = Bare()
PRICED: Any = Priced()


def test_a_judge_of_the_users_own_needs_no_more_than_a_name_and_an_answer():
    run = casewise.judge("demo", BARE)

    assert run.summary.n_judged == run.summary.n_calls == 90


def test_what_cannot_answer_or_has_no_name_is_no_judge():
    class Nameless:
        async def answer(self, ask): ...

    for judge, problem in [(Nameless(), "it has no name"), (object(), "is not a judge")]:
        with pytest.raises(JudgeError, match=problem):
            casewise.make_judge(judge, DEMO)  # type: ignore[arg-type]  # what the test is about


def always(query, context):
    return "safe"


COSTS, TOKENS = Limits(max_cost=1.0), Limits(max_tokens_total=9)
UNKNOWN = "the price of .* is unknown, so a cost limit cannot be enforced; "


@pytest.mark.parametrize(
    ("judge", "limits", "problem"),
    [
        (BARE, COSTS, f"{UNKNOWN}remove --max-cost"),
        (always, COSTS, f"{UNKNOWN}remove --max-cost"),
        (LLMJudge(FakeModel()), COSTS, f"{UNKNOWN}give --price-in"),
        (BARE, TOKENS, "does not report its tokens, so a limit on them cannot be enforced"),
        (always, TOKENS, "does not report its tokens, so a limit on them cannot be enforced"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused_before_the_first_call(judge, limits, problem):
    with pytest.raises(ConfigurationError, match=problem):
        casewise.judge("demo", judge, options=RunOptions(limits=limits))


def test_a_judge_that_says_its_prices_is_held_to_a_cost_limit():
    run = casewise.judge("demo", PRICED, options=RunOptions(limits=Limits(max_cost=1.0)))

    assert run.summary.n_judged == 90


@pytest.mark.parametrize("name", ["constant:safe", "constant:intended"])
def test_a_judge_that_takes_nothing_keeps_every_limit_and_costs_nothing(name):
    limits = Limits(max_cost=0.0, max_tokens_total=1)

    assert casewise.judge("demo", name, options=RunOptions(limits=limits)).summary.n_judged == 90
    assert plan_run("demo", name).estimate().calls.cost_usd == 0.0


@pytest.mark.parametrize(("where", "known"), [("openai/omni", True), ("mistral/mod", False), ("vllm/mod", True)])
def test_a_cost_limit_holds_for_moderation_where_it_is_not_billed_and_is_refused_elsewhere(where, known):
    judge = moderation_of(f"moderation:{where}")

    assert (judge.prices is not None) == known
    with pytest.raises(ConfigurationError, match="does not report its tokens"):
        casewise.judge("demo", judge, options=RunOptions(limits=Limits(max_tokens_total=9)))
    if not known:
        with pytest.raises(ConfigurationError, match="the price of moderation:mistral/mod is unknown"):
            casewise.judge("demo", judge, options=RunOptions(limits=Limits(max_cost=9.0)))


@pytest.mark.parametrize("judge", [BARE, PRICED])
def test_a_judge_that_asks_no_model_has_no_connection_to_test(judge):
    with pytest.raises(ConfigurationError, match="asks no model"):
        try_connection(casewise.make_judge(judge, DEMO))
