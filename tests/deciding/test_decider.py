from __future__ import annotations

import asyncio
import dataclasses
import math

import pytest
from tests.support.deciders import mostly_right

import casewise
from casewise.api.deciding import Decider, DecisionRequest, FitOptions, Requirements, fit_decider, from_messages
from casewise.errors import ConfigurationError
from casewise.records import Arm


def demo_context(place: int) -> dict[str, object]:
    return casewise.load("demo").contexts[place].shown()


def test_a_decider_decides_as_the_judge_judged(path, decider_folder):
    """Every item of the benchmark, asked as a request, gets the value that the run holds."""
    decider, demo = Decider.load(path), casewise.load("demo")
    limits = decider.file.thresholds
    contexts = [context for item in demo.items if (context := demo.context_of(item)) is not None]
    said = [
        decider.decide(demo.query[item.query_id].text, context.shown())
        for item, context in zip(demo.items, contexts, strict=True)
    ]
    held = casewise.Run(decider_folder / "run", demo, None).judgements  # type: ignore[arg-type]  # no summary is asked for
    value = dict(zip(held["item_id"], held["value"], strict=True))

    assert [one.value for one in said] == [value[item.id] for item in demo.items]
    assert {one.decision for one in said} == {"answer", "refuse", "ask"}
    for one in said:
        assert one.value is not None
        expected = (
            "answer" if one.value > limits.answer_above else "refuse" if one.value <= limits.refuse_up_to else "ask"
        )
        assert one.decision == expected
        assert one.p_safe == pytest.approx(float(decider.calibrator(one.value)))
        assert f"the judge's value, {one.value:.4g} on its scale from 0 to 1, " in one.why
        assert one.unmeasured == ()


def test_a_decider_that_answers_nothing_says_so_and_names_no_infinity(path):
    decider = Decider.load(path)
    never = dataclasses.replace(decider.file.thresholds, answer_above=math.inf, refuse_up_to=math.inf)
    closed = Decider(decider.file.model_copy(update={"thresholds": never}), decider.judge, file_hash=decider.hash)

    assert closed.decide("Which dose is dangerous?").why == "this decider refuses everything"


@pytest.mark.slow
def test_sync_async_and_chats_say_the_same(path):
    decider = Decider.load(path)
    requests = [DecisionRequest("What now?", demo_context(place)) for place in range(12)]
    one_by_one = [decider.decide(request).value for request in requests]

    async def inside():
        return decider.decide(requests[1]), await asyncio.gather(*map(decider.decide_async, requests))

    single, many = asyncio.run(inside())
    assert [one.value for one in many] == one_by_one
    assert single.value == one_by_one[1]
    chat = decider.decide_chat([{"role": "user", "content": "What now?"}], demo_context(1))
    assert (chat.value, chat.decision) == (one_by_one[1], decider.decide("What now?", demo_context(1)).decision)


def test_an_async_function_is_asked_from_code_that_cannot_wait(tmp_path):
    async def judge(query, context):
        await asyncio.sleep(0)
        return mostly_right(query, context)

    run = casewise.judge("demo", judge, elicitations="probability")
    path = tmp_path / "d.json"
    fit_decider(run, Requirements(ratio=1), judge=judge, options=FitOptions(elicitation="probability")).save(path)
    decider = Decider.load(path, judge=judge)

    assert decider.decide("a", demo_context(0)).failed is None
    assert decider.decide("a", demo_context(0)).failed is None
    decider.close()


def test_what_was_not_measured_is_said_in_each_answer(path):
    decider = Decider.load(path)
    context = {"recipient": {"type": "a nurse", "background": "unknown", "shoe_size": 43}}

    said = decider.decide("What now?", context).unmeasured
    assert any("does not state recipient.background" in one for one in said)
    assert decider.decide("What now?\U000e0061", {"recipient": {"type": "a nurse"}}).unmeasured[-1] == (
        "it has characters that are not displayed (U+E0061)"
    )
    assert any("states recipient.shoe_size" in one for one in said)
    assert decider.decide("What now?").unmeasured == (
        "it has no context, but only requests with a context were measured",
    )


@pytest.mark.parametrize(
    ("context", "category", "refused"),
    [
        ({"recipient": {"type": "a nurse"}}, None, None),
        ({"recipient": {"type": "a nurse"}}, "Weapons", "category"),
        ({"situation": {"description": "A nurse asks, on a ward."}}, None, None),
        ({"recipient": {"shoe_size": 43}}, None, "shoe_size"),
        (None, None, "unlike the requests that were measured: it has no context"),
    ],
)
def test_only_what_can_be_compared_makes_a_request_unmeasured(tmp_path, decider_folder, context, category, refused):
    """Traffic states some of a benchmark's parameters, or a free text: that alone is said, and refuses nothing."""
    fit = fit_decider(decider_folder / "run", Requirements(ratio=1), options=FitOptions(refuse_unmeasured=True))
    fit.save(tmp_path / "strict.json")

    request = DecisionRequest("What now?", context, category=category)
    found = Decider.load(tmp_path / "strict.json").decide(request)
    assert found.unmeasured
    assert (found.value is None) == (refused is not None)
    assert refused is None or refused in found.why
    assert casewise.load("demo").queries[0].category in fit.decider.measured_on.query_categories


@pytest.mark.parametrize("fail", ["refuse", "answer", "ask"])
def test_a_judge_that_fails_is_decided_as_the_file_says(path, fail):
    decider = Decider.load(path)
    none = dataclasses.replace(decider.file.thresholds, promised=())
    decider = Decider(decider.file.model_copy(update={"thresholds": none}), decider.judge).with_failure_decision(fail)

    def broken(query, context):
        raise ValueError("no")

    decider.judge.own.function = broken  # type: ignore[attr-defined]  # the judge of this decider is a function
    found = decider.decide("What now?", demo_context(0))

    assert (found.decision, found.failed, found.p_safe) == (fail, "judge_failed", None)


@pytest.mark.parametrize(
    ("raised", "code"), [(RuntimeError("a secret word"), "judge_failed"), (TimeoutError(), "timeout")]
)
def test_a_judge_object_that_raises_anything_is_decided_as_the_file_says(path, raised, code, monkeypatch):
    decider = Decider.load(path)

    async def broken(_ask):
        raise raised

    monkeypatch.setattr(decider.judge, "answer", broken)
    found = decider.decide("What now?", demo_context(0))

    assert (found.decision, found.failed) == ("refuse", code)
    assert "secret" not in str(found)


def test_a_promise_is_not_broken_by_what_is_done_where_the_judge_fails(path):
    decider = Decider.load(path)

    with pytest.raises(ConfigurationError, match="--fail answer breaks the promise of harm"):
        decider.with_failure_decision("answer")
    assert decider.with_failure_decision("refuse").file.requirements.fail == "refuse"
    with pytest.raises(ConfigurationError, match="--fail refuse breaks the promise of over-refusal"):
        decider.with_failure_decision("ask").with_failure_decision("refuse")


def test_a_reply_is_refused_by_a_judge_of_requests(path):
    with pytest.raises(ConfigurationError, match="cannot be shown a reply"):
        Decider.load(path).decide("What now?", reply="This.")


def test_a_chat_is_taken_apart():
    chat = [
        {"role": "system", "content": "You work at a clinic."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "What dose?"},
        {"role": "assistant", "content": "Ten."},
    ]
    found = from_messages(chat, {"recipient": {"type": "a nurse"}})

    assert (found.query, found.reply) == ("What dose?", "Ten.")
    assert [one.content for one in found.earlier] == ["Hello", "Hello!"]
    assert found.known == {"recipient": {"type": "a nurse"}, "system_prompt": {"text": "You work at a clinic."}}


def test_several_replies_are_judged_together_and_a_context_is_not_overwritten_by_the_system():
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "What dose?"},
        {"role": "assistant", "content": "Ten."},
        {"role": "assistant", "content": "Of each."},
    ]

    assert from_messages(chat).reply == "Ten.\n\nOf each."
    for said, shown in (("Be strict.", "Be strict."), ("unknown", "Be kind.")):
        found = from_messages(chat, {"system_prompt": {"text": said, "by": "a clinic"}})
        assert found.known == {"system_prompt": {"text": shown, "by": "a clinic"}}


@pytest.mark.parametrize(
    "chat",
    [
        [],
        ["hi"],
        [{"role": "assistant", "content": "x"}],
        [{"role": "user", "content": None}],
        [{"role": "tool", "content": "x"}],
    ],
)
def test_a_chat_without_a_request_is_refused(chat):
    with pytest.raises(ConfigurationError):
        from_messages(chat)


@pytest.mark.parametrize("query", ["", "  ", None, 3])
def test_a_request_that_says_nothing_is_refused(query):
    with pytest.raises(ConfigurationError, match="needs a query"):
        DecisionRequest(query)


@pytest.mark.parametrize("context", [[1], {"secret": "a secret word"}])
def test_a_context_that_is_none_is_refused_and_not_repeated(context):
    with pytest.raises(ConfigurationError, match="context") as refused:
        DecisionRequest("What now?", context)
    assert "secret" not in str(refused.value)


def test_what_an_arm_leaves_out_is_not_shown():
    request = DecisionRequest("What now?", {"recipient": {"type": "a nurse"}, "subject": "a patient"})

    assert request.shown(Arm.parse("without:recipient")).context == {"subject": "a patient"}
    assert request.shown(Arm.parse("none")).context == {}


SAME = [
    {"recipient": {"type": "a nurse", "background": "on a ward"}, "subject": "a patient"},
    {"recipient.type": "a nurse", "recipient.background": "on a ward", "subject": "a patient"},
    {"recipient": {"type": "a nurse"}, "recipient.background": "on a ward", "subject": "a patient"},
]


@pytest.mark.parametrize("context", SAME)
def test_a_context_comes_by_group_or_by_dotted_name(context):
    assert DecisionRequest("What now?", context).known == SAME[0]
    chat = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "What now?"}]
    assert from_messages(chat, context).known == {**SAME[0], "system_prompt": {"text": "Be kind."}}


def test_a_context_comes_as_a_text():
    assert DecisionRequest("What now?", "A nurse asks.").known == {"situation": {"description": "A nurse asks."}}


@pytest.mark.parametrize(
    "context", ["unknown", " ", "", {"recipient": {"type": "unknown"}}, {"recipient.type": None}, {}]
)
def test_a_context_of_which_nothing_is_known_is_none(context):
    assert DecisionRequest("query", context).known == {}
