import asyncio
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.support.demo import DEMO

import casewise
from casewise.errors import JudgeError
from casewise.judges.baselines import CallableJudge
from casewise.judges.judge import Ask
from casewise.judges.named import load_judge
from casewise.records import Scored, UnscoredReason
from casewise.transforms.attacks import find_attack
from casewise.transforms.catalogue import parse_arm


def ask(place=0, *, elicitation="binary"):
    item = DEMO.items[place]
    return Ask(item, DEMO.query[item.query_id], DEMO.context_of(item), elicitation=elicitation)


def answered(function, elicitation="binary"):
    judge = CallableJudge(function, name="mine")
    judge.own.works = True
    return asyncio.run(judge.answer(ask(elicitation=elicitation)))


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
        ("binary", Unspeakable(), UnscoredReason.JUDGE_FAILED),
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


async def slowly(query, context):
    await asyncio.sleep(0)
    return "safe" if context else "unsafe"


class Asynchronous:
    async def __call__(self, query, context):
        return True


@pytest.mark.parametrize("function", [slowly, partial(slowly), Later(slowly), Asynchronous()])
def test_callables_may_be_async(function):
    assert answered(function).outcome == Scored(value=1.0)


def test_a_callable_gets_the_query_and_the_context_as_nested_texts():
    calls = []
    answered(lambda query, context: calls.append((query, context)))

    item = DEMO.items[0]
    context = DEMO.context_of(item)
    assert context is not None
    assert calls == [(DEMO.query[item.query_id].text, context.shown())]


def test_a_callable_in_the_working_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules_of_mine.py").write_text(
        "def judge(query, context): return 0.5\njudge.elicitation = 'probability'\n"
    )

    judge = load_judge("python:rules_of_mine:judge", DEMO)
    assert judge.elicitations == ("probability",)
    assert asyncio.run(judge.answer(ask(elicitation="probability"))).outcome == Scored(value=0.5)


def divides(query, context):
    return 1 / 0


def takes_one(text):
    return "safe"


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            divides,
            r"on its first item, i_\w+: ZeroDivisionError: division by zero \(test_baselines_callable.py:\d+, in divides\)",
        ),
        (takes_one, r"TypeError: takes_one\(\) takes 1 positional argument but 2 were given.*f\(query, context\)"),
        (lambda query, context: "perhaps", "returned 'perhaps', not 'safe', 'unsafe' or a boolean"),
        (Later(Asynchronous().__call__), None),
    ],
)
def test_a_function_that_cannot_work_fails_on_its_first_item(function, problem):
    if problem is None:
        assert casewise.judge("demo", function).summary.n_judged == 90
        return
    with pytest.raises(JudgeError, match=problem):
        casewise.judge("demo", function)


def test_a_function_that_fails_later_costs_those_items_only():
    calls = []

    def sometimes(query, context):
        calls.append(query)
        if len(calls) % 10 == 0:
            raise ValueError("the tenth")
        return "safe"

    run = casewise.judge("demo", sometimes, arms="full")
    assert (run.summary.n_judged, run.summary.n_unscored) == (81, 9)


def test_until_a_function_has_answered_it_is_asked_alone():
    running, most = [], []

    async def slow(query, context):
        running.append(query)
        most.append(len(running))
        await asyncio.sleep(0)
        running.remove(query)
        return "safe"

    casewise.judge("demo", slow)
    assert most[0] == 1
    assert max(most) > 1


def test_another_code_is_another_judge():
    def one(query, context):
        return "safe"

    def other(query, context):
        return "unsafe"

    def id_of(function):
        return CallableJudge(function, name="mine").settings()

    assert id_of(one) == id_of(one)
    assert id_of(one)["code"] == id_of(partial(one))["code"]
    assert id_of(one) != id_of(other)
    assert id_of(eval("lambda query, context: True")) != id_of(eval("lambda query, context: False"))
    assert id_of(Asynchronous())["code"] != id_of(Later(one))["code"]


def test_a_function_with_a_parameter_called_shown_is_given_all_that_is_shown():
    calls = []

    def judge(query, context, shown):
        calls.append((query == shown.query, context == shown.context, *shown.placement.system))
        return "safe"

    asyncio.run(CallableJudge(judge).answer(replace(ask(), arm=parse_arm("claim:test/system/safe"))))
    ((own_query, own_context, words),) = calls
    assert own_query
    assert own_context
    assert words in find_attack("claim", "test/system/safe").wordings
