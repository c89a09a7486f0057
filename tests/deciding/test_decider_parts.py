"""A decider by its parts: the request, the differences from what was measured, the judge that is made anew, and each decision."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import pytest
from tests.support.deciders import partial_decider

from casewise.deciding.decider import (
    LONGEST_ID,
    Decider,
    DecisionNumbers,
    DecisionRequest,
    NotDeployable,
    check_deployable,
    check_same_judge,
    from_messages,
    group_context,
    live_options,
    message_text,
    rebuild_judge,
)
from casewise.deciding.decider_file import FittedCalibration, MeasuredJudge, MeasuredOn
from casewise.errors import ConfigurationError, JudgeError, Unavailable
from casewise.judges.baselines import CallableJudge, ConstantJudge
from casewise.judges.judge import unscored_answer
from casewise.models.endpoints import ExtraOptions
from casewise.models.load import ModelOptions
from casewise.models.protocol import Message
from casewise.records import Arm, Scored, UnscoredReason
from casewise.records.item import Turn
from casewise.stats.calibrators import Platt
from casewise.stats.thresholds import FittedThresholds, KeptPromise, Requirements, RiskPromise

FREE = (
    "the context is free text, but contexts with parameters were measured: they cannot be compared. Give {0} by name, such as "
    "--parameter {0}=…"
)
NURSE = {"recipient": {"type": "a nurse"}}
PART = MeasuredJudge(name="python:value", id="python:value", elicitation="probability", arm="full")
KINDS = MeasuredOn(always=("recipient.type",), sometimes=("subject",), kinds=("request",), query_categories=("drugs",))


def decider(judge=None, *, on=KINDS, **options):
    """A decider that answers above 0.6 and refuses up to 0.4; its judge gives 0.5 unless another is given."""
    file = partial_decider(
        judge=PART,
        thresholds=options.pop("thresholds", FittedThresholds(0.6, 0.4)),
        calibration=FittedCalibration(curve=Platt(1.0, 0.0)),
        requirements=Requirements(ratio=1, fail=options.pop("fail", "refuse")),
        measured_on=on,
        refuse_unmeasured=options.pop("refuse_unmeasured", False),
    )
    function = judge or (lambda query, context: 0.5)
    return Decider(file, CallableJudge(function, name="python:value", elicitation="probability"), file_hash="h")


@pytest.mark.parametrize(
    ("value", "decision", "why"),
    [
        (0.61, "answer", "the judge's value, 0.61 on its scale from 0 to 1, is above 0.6"),
        (0.6, "ask", "the judge's value, 0.6 on its scale from 0 to 1, lies between 0.4 and 0.6"),
        (0.41, "ask", "the judge's value, 0.41 on its scale from 0 to 1, lies between 0.4 and 0.6"),
        (0.4, "refuse", "the judge's value, 0.4 on its scale from 0 to 1, is not above 0.4"),
    ],
)
def test_a_value_above_the_upper_threshold_is_answered_and_one_up_to_the_lower_is_refused(value, decision, why):
    found = decider(lambda query, context: value).decide("What now?", NURSE)

    assert (found.decision, found.value, found.why) == (decision, value, why)
    assert found.p_safe == pytest.approx(1 / (1 + math.exp(-value)))
    assert (found.failed, found.unmeasured) == (None, ())
    assert 0 < found.latency_s < 60


@pytest.mark.parametrize("fail", ["answer", "ask", "refuse"])
def test_without_a_value_the_decision_is_the_one_of_the_file_and_has_the_reason(fail):
    found = decider(lambda query, context: None, fail=fail).decide("What now?", NURSE)

    assert (found.decision, found.failed, found.value, found.p_safe) == (fail, "unparsed", None, None)
    assert found.why == f"the judge gave no value (unparsed); for such requests the decider says {fail}"
    assert 0 < found.latency_s < 60


def test_a_request_unlike_those_that_were_measured_is_refused_without_asking_where_the_file_says_so():
    calls = []
    strict = decider(lambda query, context: calls.append(query), refuse_unmeasured=True)
    found = strict.decide("What now?")

    assert (found.decision, found.failed, calls) == ("refuse", None, [])
    assert found.why == (
        "unlike the requests that were measured: it has no context, but only requests with a context were measured"
    )
    assert decider(refuse_unmeasured=True).decide("What now?", NURSE).decision == "ask"


def test_a_function_that_awaits_and_is_not_async_is_refused():
    async def later():
        await asyncio.sleep(0)
        return 0.5

    with pytest.raises(ConfigurationError, match="python:value uses await; make it an async function"):
        decider(lambda query, context: later()).decide("What now?", NURSE)


def test_for_display_what_is_wrong_with_a_judge_is_raised():
    def broken(query, context):
        raise ValueError("no")

    assert decider().ask(DecisionRequest("What now?", NURSE)).decision == "ask"
    with pytest.raises(JudgeError, match="python:value failed on its first item"):
        decider(broken).ask(DecisionRequest("What now?", NURSE))


def test_for_display_a_model_that_gives_no_answer_is_named(monkeypatch):
    closed = decider()

    async def unreachable(_ask):
        raise Unavailable("no route")

    monkeypatch.setattr(closed.judge, "answer", unreachable)
    assert closed.decide("What now?", NURSE).failed == "unavailable"
    with pytest.raises(Unavailable, match="no route"):
        closed.ask(DecisionRequest("What now?", NURSE))


@pytest.mark.parametrize(
    ("reason", "error", "problem"),
    [
        (
            UnscoredReason.UNAVAILABLE,
            Unavailable,
            r"python:value gave no answer: the judge gave no value \(unavailable\)",
        ),
        (
            UnscoredReason.JUDGE_FAILED,
            JudgeError,
            "python:value failed on this request; casewise judge shows the details",
        ),
    ],
)
def test_for_display_a_judge_that_gave_no_value_for_a_fault_is_an_error(monkeypatch, reason, error, problem):
    failing = decider()

    async def unscored(_ask):
        return unscored_answer(reason)

    monkeypatch.setattr(failing.judge, "answer", unscored)
    assert failing.decide("What now?", NURSE).failed == reason.value
    with pytest.raises(error, match=problem):
        failing.ask(DecisionRequest("What now?", NURSE))


def test_the_reason_that_a_judge_gives_is_part_of_the_answer():
    found = decider(lambda query, context: Scored(value=0.9, explanation="A nurse may know.")).decide("q", NURSE)

    assert found.why.endswith("is above 0.6; the judge says: A nurse may know.")


def test_a_decider_of_a_judge_that_answers_at_once_needs_no_loop_of_its_own():
    constant = Decider(decider().file, ConstantJudge("safe"), file_hash="h")

    assert constant.decide("What now?", NURSE).decision == "answer"
    assert constant.hung_calls == decider().hung_calls == 0
    assert "loop" not in vars(constant)
    constant.close()


def test_a_decider_of_an_async_judge_has_a_loop_until_it_is_closed():
    async def value(query, context):
        return 0.9

    waiting = decider(value)
    assert waiting.decide("What now?", NURSE).decision == "answer"
    loop = waiting.loop
    waiting.close()

    assert loop.is_closed()
    assert "loop" not in vars(waiting)


def test_from_code_with_a_loop_of_its_own_a_decider_decides_in_another_thread():
    threads = []

    def value(query, context):
        threads.append(threading.current_thread())
        return 0.9

    async def inside():
        return found.decide("What now?", NURSE)

    found = decider(value)
    assert asyncio.run(inside()).decision == "answer"
    assert threads[0] is not threading.current_thread()
    found.close()


def test_the_numbers_of_a_decision_that_was_not_timed_take_no_time():
    assert DecisionNumbers(decision="ask", id="x").latency_s == 0


def test_a_failure_that_errs_in_a_way_that_was_promised_against_is_refused():
    promise = KeptPromise(RiskPromise("harm", 0.3), 0.5, 0.1, 100)
    careful = decider(thresholds=FittedThresholds(0.6, 0.4, (promise,)))

    assert careful.with_failure_decision("ask").file.requirements.fail == "ask"
    with pytest.raises(
        ConfigurationError, match="--fail answer breaks the promise of harm: it was fitted with --fail refuse"
    ):
        careful.with_failure_decision("answer")
    answering = decider(thresholds=FittedThresholds(0.6, 0.4, (promise,)), fail="answer")
    assert answering.with_failure_decision("answer").file.requirements.fail == "answer"
    assert decider().with_failure_decision("answer").hash == "h"


def test_a_decider_prints_its_judge_and_its_thresholds():
    assert repr(decider()) == "<Decider python:value: answers above 0.6, refuses up to 0.4>"


@pytest.mark.parametrize("id_", ["", "x" * (LONGEST_ID + 1), "a\nb", "\ud800"])
def test_an_id_of_a_request_is_short_and_printable(id_):
    with pytest.raises(ConfigurationError, match="the id of a request is 1 to 200 printable characters"):
        DecisionRequest("What now?", id=id_)
    assert DecisionRequest("What now?", id="x" * LONGEST_ID).id == "x" * LONGEST_ID
    assert len(DecisionRequest("What now?").id) == 24


def test_earlier_turns_without_words_are_not_shown():
    earlier = (Message("user", "Hello."), Message("assistant", " "))

    assert DecisionRequest("What now?", earlier=earlier).shown(Arm()).before == (Turn(role="user", text="Hello."),)


@pytest.mark.parametrize(
    ("request_", "differences"),
    [
        (DecisionRequest("q", NURSE), ()),
        (DecisionRequest("q", {**NURSE, "subject": "a patient"}, category="drugs"), ()),
        (DecisionRequest("q", {"subject": "a patient"}), ("the context does not state recipient.type",)),
        (
            DecisionRequest("q", {**NURSE, "sender": {"role": "a clinic"}}),
            ("the context states sender.role, which no measured context did",),
        ),
        (DecisionRequest("q", NURSE, category="locks"), ("its category is none of those that were measured",)),
        (DecisionRequest("q", NURSE, judged="action"), ("it is an action, and requests were measured",)),
        (
            DecisionRequest("q", NURSE, earlier=(Message("user", "Hi."),)),
            ("it has earlier turns, and single requests were measured",),
        ),
        (DecisionRequest("q", NURSE, reply="Ten."), ("it has a reply, and requests were measured",)),
        (
            DecisionRequest("q", "A nurse asks."),
            (
                "the context does not state recipient.type",
                FREE.format("recipient.type"),
            ),
        ),
    ],
)
def test_each_difference_from_what_was_measured_is_a_sentence(request_, differences):
    assert request_.unmeasured(KINDS) == differences


@pytest.mark.parametrize(
    ("on", "request_", "difference"),
    [
        (MeasuredOn(kinds=("action",)), DecisionRequest("q"), "it is a request, and actions were measured"),
        (MeasuredOn(), DecisionRequest("q"), "it has no context, but only requests with a context were measured"),
        (MeasuredOn(without_context=True), DecisionRequest("q"), None),
        (
            MeasuredOn(),
            DecisionRequest("q", "A nurse."),
            "the context states situation.description, which no measured context did",
        ),
        (
            MeasuredOn(sometimes=("subject",)),
            DecisionRequest("q", "A nurse."),
            FREE.format("subject"),
        ),
        (
            MeasuredOn(always=("situation.description",)),
            DecisionRequest("q", NURSE),
            "the context states recipient.type, which no measured context did",
        ),
        (MeasuredOn(always=("situation.description",)), DecisionRequest("q", "A nurse."), None),
        (
            MeasuredOn(without_context=True, kinds=("conversation",)),
            DecisionRequest("q", earlier=(Message("user", "Hi."),)),
            None,
        ),
        (MeasuredOn(without_context=True, kinds=("reply",)), DecisionRequest("q", reply="Ten."), None),
        (MeasuredOn(without_context=True), DecisionRequest("q", category="locks"), None),
    ],
)
def test_a_difference_goes_by_what_was_measured(on, request_, difference):
    differences = request_.unmeasured(on)

    assert (difference in differences) if difference else differences == ()


def test_hidden_characters_are_found_in_any_text_of_a_request():
    hidden = "a\u200bb"
    requests = [
        DecisionRequest(hidden, NURSE),
        DecisionRequest("q", {"recipient": {"type": hidden}}),
        DecisionRequest("q", NURSE, reply=hidden),
        DecisionRequest("q", NURSE, earlier=(Message("user", hidden),)),
    ]

    assert all("(U+200B)" in request.unmeasured(KINDS)[-1] for request in requests)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello.", "Hello."),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\n\nb"),
    ],
)
def test_the_text_of_a_message_is_that_of_its_parts(content, text):
    assert message_text(content) == text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([{"type": "image_url"}], "a message holds an image"),
        ([{"type": "text", "text": "a"}, {"type": "input_image"}], "a message holds an image"),
        ([{"type": "audio"}], "or a list of parts of the type 'text'"),
        ([{"type": "text", "text": 3}], "or a list of parts of the type 'text'"),
        ([{"type": "text", "text": "a"}, "b"], "or a list of parts of the type 'text'"),
        ([], "or a list of parts of the type 'text'"),
        (3, "or a list of parts of the type 'text'"),
    ],
)
def test_a_message_with_anything_but_text_is_refused(content, problem):
    with pytest.raises(ConfigurationError, match=problem):
        message_text(content)


def test_a_developers_message_is_a_system_message():
    chat = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "q"}]

    assert from_messages(chat).known == {"system_prompt": {"text": "Be brief."}}
    assert from_messages(chat[1:]).known == {}
    assert from_messages(chat[1:]).reply is None


@pytest.mark.parametrize(
    ("context", "grouped"),
    [
        ({"recipient": {"type": "a nurse", "age": "unknown"}}, {"recipient": {"type": "a nurse"}}),
        ({"recipient": {"type": "Unknown"}, "subject": "unknown"}, None),
        ({"subject": "a patient"}, {"subject": "a patient"}),
        ({"recipient": None}, None),
        ({"recipient.age": 40, "recipient.adult": True}, {"recipient": {"age": 40, "adult": True}}),
    ],
)
def test_what_is_unknown_is_left_out_of_a_context(context, grouped):
    assert group_context(context) == grouped


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("linear", "knows only the words of a new request"),
        ("recorded:runs/a", "repeats recorded answers"),
        ("constant:intended", "what a context's author meant"),
    ],
)
def test_a_judge_without_meaning_outside_the_benchmark_is_not_deployed(name, reason):
    with pytest.raises(NotDeployable, match=f"{name} cannot be a decider: .*{reason}") as refused:
        check_deployable(name, "full")
    assert reason in refused.value.reason
    assert not refused.value.reason.startswith(name)


def test_an_arm_that_changes_a_context_is_not_deployed_and_one_that_omits_is():
    for arm in ("full", "none", "without:recipient"):
        check_deployable("constant:safe", arm)
    with pytest.raises(NotDeployable, match="the arm 'datamark' cannot be deployed: it changes what a context says"):
        check_deployable("constant:safe", "datamark")
    check_deployable("linear-model", "full")


def judge_of(name="python:value", **settings):
    """A judge with these settings, which is asked in no words."""
    judge: Any = CallableJudge(lambda query, context: 0.5, name=name, elicitation="probability")
    judge.settings = lambda: settings
    return judge


def test_a_judge_is_the_same_with_the_same_id_and_settings_whatever_is_none():
    check_same_judge(judge_of(a=1, b=None), PART.model_copy(update={"settings": {"a": 1, "c": None}}))


@pytest.mark.parametrize(
    ("judge", "settings", "difference"),
    [
        (judge_of(a=2), {"a": 1}, "a was '1' and is '2'"),
        (judge_of(a=2, b=3), {"a": 1}, "a was '1' and is '2'; b was None and is '3'"),
        (judge_of("other"), {}, "its id is other"),
    ],
)
def test_another_judge_is_refused_with_each_difference(judge, settings, difference):
    with pytest.raises(
        JudgeError, match=f"python:value is not the judge that was measured: {difference}. Judge the benchmark with it"
    ):
        check_same_judge(judge, PART.model_copy(update={"settings": settings}))


def test_a_judge_with_a_second_reader_is_judged_again_without_it():
    with pytest.raises(JudgeError, match="Judge the benchmark without --reader, which no decider has, and fit again"):
        check_same_judge(judge_of(), PART.model_copy(update={"settings": {"reader": {"model": "m"}}}))


def test_a_judge_with_another_wording_is_another_judge():
    judge = judge_of()
    judge.wordings = lambda elicitations: dict.fromkeys(elicitations, "w@2")

    check_same_judge(judge, PART.model_copy(update={"wording": "w@2"}))
    with pytest.raises(JudgeError, match="wording was 'w@1' and is 'w@2'"):
        check_same_judge(judge, PART.model_copy(update={"wording": "w@1"}))


def test_a_judge_that_its_name_does_not_find_is_asked_for():
    with pytest.raises(JudgeError, match="no_such:f is not found again by its name: in Python, give the function"):
        rebuild_judge(PART.model_copy(update={"name": "python:no_such:f"}))


def part(name="openai/m", **settings):
    return PART.model_copy(update={"name": name, "settings": settings})


@pytest.mark.parametrize(
    ("given", "kept", "noted", "address"),
    [
        ("http://given", "http://kept", "http://noted", "http://given"),
        (None, "http://kept", "http://noted", "http://kept"),
        (None, None, "http://noted", "http://noted"),
        (None, None, None, None),
    ],
)
def test_the_address_is_the_one_given_that_of_the_file_or_that_of_the_run(given, kept, noted, address):
    described = part(base_url=noted).model_copy(update={"base_url": kept})

    assert live_options(described, ModelOptions(base_url=given)).model.base_url == address


def test_a_decider_is_loaded_with_the_address_that_is_given(path, monkeypatch):
    addresses = []

    def rebuilt(part, *, model):
        addresses.append(model.base_url)
        return judge_of(part.name)

    monkeypatch.setattr("casewise.deciding.decider.rebuild_judge", rebuilt)
    options = ModelOptions(base_url="http://usual")
    for given in ({}, {"model": options}, {"model": options, "base_url": "http://given"}):
        Decider.load(path, **given)

    assert addresses == [None, "http://usual", "http://given"]


def test_a_run_that_does_not_say_where_its_model_was_needs_the_address():
    with pytest.raises(
        ConfigurationError, match="the run does not record where on this machine the model own-model was"
    ):
        live_options(part("own-model", base_url="this machine"), ModelOptions())
    assert live_options(part("openai/m", base_url="this machine"), ModelOptions()).model.base_url is None


def test_the_options_of_asking_are_those_of_the_run():
    options = live_options(
        part(temperature=0.5, structured=True, context_role="system", policy_text="p", body_fields={"a": 1}),
        ModelOptions(),
    )

    assert (options.ask.temperature, options.ask.structured) == (0.5, True)
    assert (options.context_role, options.policy) == ("system", "p")
    assert options.model.extra == ExtraOptions(body_field=("a=1",))
    assert not live_options(part(), ModelOptions()).ask.structured
    assert live_options(part(), ModelOptions()).context_role == "user"
    own = ModelOptions(extra=ExtraOptions(body_field=("b=2",)))
    assert live_options(part(body_fields={"a": 1}), own).model.extra == own.extra


def test_a_chat_is_decided_as_its_last_message_and_a_decision_is_plain_json():
    decides = decider(lambda query, context: 0.9 if query == "What dose?" and context == NURSE else 0.1)
    chat = [{"role": "user", "content": "Hello"}, {"role": "user", "content": "What dose?"}]
    found = decides.decide_chat(chat, NURSE)

    assert (found.decision, decides.decide_chat(chat).decision) == ("answer", "refuse")
    content = found.as_json()
    assert (content["decision"], content["value"], content["failed"]) == ("answer", 0.9, None)
    assert content["unmeasured"] == ["it has earlier turns, and single requests were measured"]


def test_a_decider_is_saved_as_it_was_and_states_what_was_measured(path, tmp_path):
    loaded = Decider.load(path)

    assert loaded.save(tmp_path / "again.json") == loaded.hash
    assert Decider.load(tmp_path / "again.json").hash == loaded.hash
    assert {"harm", "over_refusal", "asked"} <= set(loaded.measured)
    assert (
        loaded.measured["harm"]["ci_low"] <= loaded.measured["harm"]["estimate"] <= loaded.measured["harm"]["ci_high"]
    )
