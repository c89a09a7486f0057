import asyncio
import sys
from functools import partial

import numpy as np
import pytest

import casewise
from casewise.errors import ConfigurationError, JudgeError
from casewise.judging.judge import Ask, CallableJudge, ConstantJudge
from casewise.judging.judges.named import judge_named
from casewise.records import ELICITATIONS, Item, Scored, Unscored, UnscoredReason

DEMO = casewise.load("demo")


def ask(place=0, *, elicitation="binary"):
    item = DEMO.items[place]
    return Ask(item, DEMO.query[item.query_id], DEMO.context_of(item), elicitation=elicitation)


def answered(function, elicitation="binary"):
    return asyncio.run(CallableJudge(function, name="mine").answer(ask(elicitation=elicitation)))


class Odd:
    def __float__(self):
        raise TypeError("no number")


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("returned", "value"),
    [("safe", 1.0), (" Unsafe\n", 0.0), (True, 1.0), (False, 0.0), (np.True_, 1.0), (np.bool_(False), 0.0)],
)
def test_words_and_booleans_are_verdicts(returned, value):
    assert answered(lambda query, context: returned).outcome == Scored(value=value)


@pytest.mark.parametrize("returned", ["yes", "", 1, 0.3, None, [], {}, np.array([1, 2]), "\ud800", Odd()])
def test_what_is_no_verdict_is_unscored_and_kept(returned):
    answer = answered(lambda query, context: returned)

    assert answer.outcome.reason == UnscoredReason.UNPARSED
    assert "--elicit probability or score" in answer.outcome.detail
    assert answer.raw_reply is not None
    answer.raw_reply.encode()


@pytest.mark.parametrize(
    ("elicitation", "returned", "value"),
    [
        ("probability", 0.25, 0.25),
        ("probability", np.float64(0.25), 0.25),
        ("probability", np.float32(0.25), 0.25),
        ("probability", np.array([0.25]).sum(), 0.25),
        ("probability", 1, 1.0),
        ("score", 7, 7.0),
        ("score", np.int64(7), 7.0),
        ("scalar", -1e6, -1e6),
    ],
)
def test_numbers_are_values(elicitation, returned, value):
    assert answered(lambda query, context: returned, elicitation).outcome == Scored(value=value)


@pytest.mark.parametrize(
    ("elicitation", "returned", "reason"),
    [
        ("probability", 1.01, UnscoredReason.OUT_OF_RANGE),
        ("probability", -1e-9, UnscoredReason.OUT_OF_RANGE),
        ("probability", float("nan"), UnscoredReason.OUT_OF_RANGE),
        ("score", 0, UnscoredReason.OUT_OF_RANGE),
        ("score", np.float64("nan"), UnscoredReason.OUT_OF_RANGE),
        ("scalar", float("inf"), UnscoredReason.OUT_OF_RANGE),
        ("scalar", float("nan"), UnscoredReason.OUT_OF_RANGE),
        ("probability", True, UnscoredReason.UNPARSED),
        ("probability", np.True_, UnscoredReason.UNPARSED),
        ("score", "7", UnscoredReason.UNPARSED),
        ("score", None, UnscoredReason.UNPARSED),
        ("score", 1j, UnscoredReason.UNPARSED),
        ("score", Odd(), UnscoredReason.JUDGE_FAILED),
        ("score", np.array([1, 2]), UnscoredReason.JUDGE_FAILED),
        ("scalar", 10**400, UnscoredReason.JUDGE_FAILED),
    ],
)
def test_numbers_that_are_none_are_unscored(elicitation, returned, reason):
    assert answered(lambda query, context: returned, elicitation).outcome.reason == reason


class Later:
    """Returns a coroutine without being a coroutine function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, query, context):
        return self.function(query, context)


@pytest.mark.parametrize(
    "error", [ValueError("no\ud800"), StopIteration(), SystemExit(3), AssertionError(), KeyError(1)]
)
@pytest.mark.parametrize("how", ["sync", "async", "later"])
def test_a_callable_that_raises_leaves_that_item_unscored_with_the_reason(error, how):
    def sync(query, context):
        raise error

    async def asynchronous(query, context):
        raise error

    function = {"sync": sync, "async": asynchronous, "later": Later(asynchronous)}[how]
    outcome = answered(function).outcome

    assert outcome.reason == UnscoredReason.JUDGE_FAILED
    assert type(error).__name__ in outcome.detail


def test_a_value_without_words_is_unscored():
    assert answered(lambda query, context: Unspeakable()).outcome.reason == UnscoredReason.JUDGE_FAILED


async def slowly(query, context):
    await asyncio.sleep(0)
    return "safe" if context else "unsafe"


class Asynchronous:
    async def __call__(self, query, context):
        return True


def test_callables_may_be_async():
    assert answered(slowly).outcome == Scored(value=1.0)
    assert answered(partial(slowly)).outcome == Scored(value=1.0)
    assert answered(Later(slowly)).outcome == Scored(value=1.0)
    assert answered(Asynchronous()).outcome == Scored(value=1.0)


def test_a_callable_gets_the_query_and_the_context_as_nested_texts():
    seen = []
    answered(lambda query, context: seen.append((query, context)))

    item = DEMO.items[0]
    context = DEMO.context_of(item)
    assert context is not None
    assert seen == [(DEMO.query[item.query_id].text, context.shown())]


def test_constant_judges_are_constant():
    intended = [asyncio.run(ConstantJudge("intended").answer(ask(place))).outcome for place in range(4)]

    assert intended == [Scored(value=value) for value in (1.0, 0.0, 1.0, 0.0)]
    assert asyncio.run(ConstantJudge("unsafe").answer(ask())).outcome == Scored(value=0.0)


def test_an_item_without_a_context_has_no_intent_to_repeat():
    query = DEMO.queries[0]
    bare = Ask(Item(query_id=query.id, condition="no_context"), query, None)

    outcome = asyncio.run(ConstantJudge("intended").answer(bare)).outcome
    assert isinstance(outcome, Unscored)


@pytest.mark.parametrize("name", ["gpt", "", "Linear", "constant", "lineer:query"])
def test_a_judge_that_does_not_exist_is_an_error_that_lists_those_that_do(name):
    with pytest.raises(JudgeError) as raised:
        judge_named(name, DEMO)
    assert "constant:safe" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("constant:maybe", "it can be constant:safe, constant:unsafe or constant:intended"),
        ("linear:words", "it reads context, query, query"),
        ("python:", "is not python:MODULE:FUNCTION"),
        ("python:json", "is not python:MODULE:FUNCTION"),
        ("python:nowhere.at.all:f", "cannot import 'nowhere.at.all': ModuleNotFoundError"),
        ("python:json:nothing", "module 'json' has no function 'nothing'"),
        ("python:json:__name__", "module 'json' has no function '__name__'"),
        ("python:quits:f", "cannot import 'quits': SystemExit"),
        ("python:fails:f", "cannot import 'fails': AttributeError: module 'sys' has no attribute 'nothing'"),
        ("python:confused:judge", "says its elicitation is 'rubbish'"),
    ],
)
def test_judges_that_cannot_be_made_say_why(name, problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quits.py").write_text("import sys\nsys.exit(1)\n")
    (tmp_path / "fails.py").write_text("import sys\nsys.nothing\n")
    (tmp_path / "confused.py").write_text("def judge(query, context): ...\njudge.elicitation = 'rubbish'\n")

    with pytest.raises(JudgeError, match=problem):
        judge_named(name, DEMO)
    assert str(tmp_path) not in sys.path


def test_a_callable_in_the_working_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules_of_mine.py").write_text(
        "def judge(query, context): return 0.5\njudge.elicitation = 'probability'\n"
    )

    found = judge_named("python:rules_of_mine:judge", DEMO)
    assert found.elicitations == ("probability",)
    assert asyncio.run(found.answer(ask(elicitation="probability"))).outcome == Scored(value=0.5)


def test_a_judge_cannot_be_asked_for_what_it_does_not_give():
    with pytest.raises(ConfigurationError, match="constant:safe cannot be asked for 'score'; it gives binary"):
        casewise.judge(DEMO, "constant:safe", elicitations=("score",))
    assert set(ELICITATIONS) == {"binary", "probability", "score", "scalar"}
