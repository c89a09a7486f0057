"""The records of one call: what settles an ask, what may pass, and how many requests it took."""

import pytest
from pydantic import ValidationError

from casewise.errors import ConfigurationError
from casewise.records import (
    CollectedReply,
    Grade,
    Judgement,
    Scored,
    Unanswered,
    Ungraded,
    Unscored,
    UnscoredReason,
    scale_of,
)
from casewise.records.base import digest
from casewise.records.call import Call, text_digest


def judgement(outcome, **more):
    return Judgement(item_id="i", judge_id="j", elicitation="binary", arm="full", outcome=outcome, **more)


def reply(text="No.", **more):
    return CollectedReply(item_id="i", arm="full", text=text, text_digest=text_digest(text or ""), **more)


def no_reply(unanswered, detail=None):
    return CollectedReply(item_id="i", arm="full", unanswered=unanswered, detail=detail)


def grade(**outcome):
    return Grade(item_id="i", arm="full", text_digest="0" * 16, **outcome)


def test_a_call_as_such_settles_its_ask_with_one_request():
    assert (Call().failure, Call().may_pass, Call().tries) == (None, False, 1)


@pytest.mark.parametrize("name", ["attempt", "input_tokens", "output_tokens", "assumed_tokens"])
def test_what_is_counted_is_neither_negative_nor_longer_than_32_bits(name):
    assert getattr(Call.model_validate({name: 2**31 - 1}), name) == 2**31 - 1
    for number in (-1, 2**31):
        with pytest.raises(ValidationError, match=name):
            Call.model_validate({name: number})


def test_a_judgement_with_a_value_settles_its_ask():
    assert (judgement(Scored(value=0.0)).failure, judgement(Scored(value=0.0)).may_pass) == (None, False)


def test_a_judgement_without_a_verdict_says_why_on_one_line():
    outcome = Unscored(reason=UnscoredReason.LITTLE_LABEL_MASS, detail="only\n 3 %")

    assert judgement(outcome).failure == outcome.failure == "little label mass: only 3 %"
    assert Unscored(reason=UnscoredReason.EMPTY).failure == "empty"


@pytest.mark.parametrize("reason", UnscoredReason)
def test_only_an_endpoint_that_was_not_there_may_be_there_later(reason):
    assert judgement(Unscored(reason=reason)).may_pass is (reason is UnscoredReason.UNAVAILABLE)


def test_a_judgement_took_the_requests_that_it_recorded_and_none_where_nothing_was_shown():
    assert judgement(Scored(value=1.0)).tries == 1
    assert judgement(Scored(value=1.0), detail={"mass": 0.9}).tries == 1
    assert judgement(Unscored(reason=UnscoredReason.EMPTY), detail={"tries": 3}).tries == 3
    assert judgement(Unscored(reason=UnscoredReason.NOT_SHOWN), detail={"tries": 3}).tries == 0


def test_an_elicitation_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(ValidationError, match="no elicitation is called 'guess'; there are binary, score, "):
        Judgement(item_id="i", judge_id="j", elicitation="guess", arm="full", outcome=Scored(value=1.0))
    with pytest.raises(
        ConfigurationError, match=r"no elicitation is called 'guess'; there are .*: is its package installed\?"
    ):
        scale_of("guess")


@pytest.mark.parametrize("settled", [Unanswered.CONTENT_FILTER, Unanswered.ASKED_ABOUT])
def test_a_refusal_by_the_providers_filter_and_a_question_settle_an_ask(settled):
    assert no_reply(settled, "blocked").failure is None


@pytest.mark.parametrize("unanswered", sorted(set(Unanswered) - {Unanswered.CONTENT_FILTER, Unanswered.ASKED_ABOUT}))
def test_another_reason_leaves_the_ask_open(unanswered):
    words = unanswered.value.replace("_", " ")

    assert no_reply(unanswered, "code 7").failure == f"{words}: code 7"
    assert no_reply(unanswered).failure == words
    assert no_reply(unanswered).may_pass is (unanswered is Unanswered.UNAVAILABLE)


def test_a_reply_has_a_digest_or_says_why_there_is_none():
    assert (reply().failure, reply().may_pass) == (None, False)
    for parts in ({}, {"text_digest": "0" * 16, "unanswered": "internal"}):
        with pytest.raises(ValidationError, match="a reply has a text's digest, or says why there is no text"):
            CollectedReply.model_validate({"item_id": "i", "arm": "full"} | parts)


@pytest.mark.parametrize(
    ("made", "declined", "has_words"),
    [
        (reply(), False, True),
        (reply(" \n"), False, False),
        (reply(None), False, True),
        (reply("", refusal="I cannot."), True, False),
        (reply(None, refusal="I cannot."), True, False),
        (reply("But yes.", refusal="I cannot."), False, True),
        (reply("", refusal=""), False, False),
        (no_reply("internal"), False, False),
    ],
)
def test_a_grader_reads_a_reply_with_words(made, declined, has_words):
    """A text that is None was discarded after it was graded: its digest says that there was one."""
    assert (made.declined, made.has_words) == (declined, has_words)


def test_a_text_is_known_by_the_first_half_of_its_digest():
    assert text_digest("No.") == digest("No.")[:16]


def test_a_grade_has_an_outcome_or_says_why_it_has_none():
    assert (grade(outcome="refuses").failure, grade(outcome="refuses").may_pass) == (None, False)
    for parts in ({}, {"outcome": "answers", "ungraded": Ungraded.EMPTY}):
        with pytest.raises(ValidationError, match="a grade has an outcome, or says why it has none"):
            grade(**parts)


@pytest.mark.parametrize("reason", Ungraded)
def test_a_grade_that_is_missing_says_why(reason):
    words = reason.value.replace("_", " ")

    assert grade(ungraded=reason, detail="code 7").failure == f"{words}: code 7"
    assert grade(ungraded=reason).failure == words
    assert grade(ungraded=reason).may_pass is (reason is Ungraded.UNAVAILABLE)
