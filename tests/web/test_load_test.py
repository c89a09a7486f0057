"""Simulated people: how they answer, how they arrive, and what a rehearsal counts."""

import math
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.study import design, material

from casewise.errors import StudyError
from casewise.studies.recruiters import make_recruiter
from casewise.studies.rounds import RehearsalOptions
from casewise.studies.wording import read_wording
from casewise.web.load_test import (
    ASKS_OF_REPLY,
    NO_PLACE,
    TURNED_AWAY,
    Crowd,
    RehearsalPlan,
    RehearsalResult,
    arrivals,
    key_of,
    search_page,
    shown_key,
)

PLAN = design()
WORDING = read_wording(PLAN, Path())
ITEMS = material(PLAN).items


def crowd(people=400, **options: Any):
    plan = RehearsalPlan(
        url="http://127.0.0.1/study/1", options=RehearsalOptions(careless=0.0, **{"dropout": 0.0} | options)
    )
    return Crowd(material(PLAN), WORDING, plan=plan, people=people)


def said(crowd, text="How do I brew tea number 0?", context=(), **options):
    return Counter(crowd.decide(person, text, context, **options) for person in range(len(crowd.kinds)))


# What a rehearsal counts.


def test_people_who_passed_the_quiz_for_nothing_are_a_share_of_those_let_in():
    result = RehearsalResult(outcomes=Counter({NO_PLACE: 1, TURNED_AWAY: 2, "finished": 3}))

    assert (result.people, result.for_nothing) == (6, 0.25)
    assert math.isnan(RehearsalResult(outcomes=Counter({TURNED_AWAY: 2})).for_nothing)


def test_steps_are_timed_from_the_first_thousand_to_the_last():
    result = RehearsalResult(latencies_s=[1.0] * 1000 + [9.0] + [3.0] * 1000, seconds=4.0)

    assert (result.steps_per_s, result.slowdown, result.percentile_ms(50)) == (2001 / 4, 3.0, 3000.0)
    assert RehearsalResult(latencies_s=[1.0] * 1000 + [3.0] * 1000).slowdown == 3.0
    empty = RehearsalResult()
    assert empty.steps_per_s == 0.0
    assert math.isnan(RehearsalResult(latencies_s=[1.0] * 1999).slowdown)
    assert math.isnan(empty.percentile_ms(50))


# How simulated people answer.


def test_a_page_is_known_by_its_words_whatever_space_is_between_them():
    item = ITEMS[4]
    texts = [text for group in item.shown["context"].values() for text in group.values()]

    assert key_of(item) == shown_key("How do I brew  tea\nnumber 0?", texts)
    assert key_of(ITEMS[0]) == shown_key("How do I brew tea number 0?", ())
    whole = item.shown | {"context": {"reply": "A reply  of one text."}}
    assert key_of(type(item)(item.item_id, item.query_id, item.condition, whole)) == shown_key(
        "How do I brew tea number 0?", ["A reply of one text."]
    )


def test_people_decide_by_the_items_logit_and_follow_attention_checks():
    people = crowd()
    for logit, decision in ((99.0, "respond"), (-99.0, "refuse")):
        people.logits = dict.fromkeys(people.logits, logit)
        assert said(people) == {decision: 400}
    for check in WORDING.checks:
        assert set(said(people, check.text)) == {"respond" if check.expected == "safe" else "refuse"}
    with pytest.raises(
        StudyError, match="the page shows 'Something else', which is not in the benchmark that was given"
    ):
        people.decide(0, "Something else", ())


def test_conditions_of_safe_contexts_are_answered_more_often():
    means = crowd().logits
    alone = np.mean([value for key, value in means.items() if "\0" not in key])
    safe = np.mean([value for key, value in means.items() if "\0" in key])

    assert safe > alone


def test_one_in_ten_asks_first_where_that_is_offered():
    people = crowd(2000)
    people.logits = dict.fromkeys(people.logits, 99.0)

    asked = said(people, asks=True)
    assert asked["ask"] == pytest.approx(200, abs=60)
    assert asked["ask"] + asked["respond"] == 2000
    assert said(people)["ask"] == 0


def test_careless_people_answer_at_random_also_checks():
    people = crowd(2000)
    people.kinds = ["careless"] * 2000

    for text in (WORDING.checks[0].text, "How do I brew tea number 0?"):
        assert said(people, text)["respond"] == pytest.approx(1000, abs=150)


def test_so_many_people_leave_as_were_asked_to():
    assert crowd(2000, dropout=0.25).leaves.mean() == pytest.approx(0.25, abs=0.05)
    assert not crowd().leaves.any()


FORM = """
<input type="radio" name="own-sure" value="1"><input type="radio" name="own-sure" value="2">
<input type="checkbox" name="own-why-0" value="yes"><input type="checkbox" name="own-why-1" value="yes">
"""


def test_own_questions_get_a_point_that_is_offered_and_of_many_the_first():
    people = crowd(50)
    answers = [people.answers(person, FORM, "x", ()) for person in range(50)]

    assert {answer["own-why-0"] for answer in answers} == {"yes"}
    assert {answer["own-sure"] for answer in answers} == {"1", "2"}
    assert all(set(answer) == {"own-sure", "own-why-0"} for answer in answers)


@pytest.mark.parametrize(
    ("text", "reply", "place"),
    [
        ("How?", "I cannot help with that.", "2"),
        ("How?", "First, warm the pot.", "0"),
        *((check.text, "", "2" if check.expected == "unsafe" else "0") for check in WORDING.checks),
    ],
)
def test_of_a_reply_people_say_what_its_words_do_or_what_a_check_says(text, reply, place):
    page = f'<div {ASKS_OF_REPLY}></div><input type="radio" name="own-does" value="1">'
    people = crowd(1)

    assert people.answers(0, page, text, (reply,)) == {"own-does": place}
    assert people.answers(0, page.replace(ASKS_OF_REPLY, ""), text, (reply,)) == {"own-does": "1"}
    people.kinds = ["careless"]
    assert people.answers(0, page, text, (reply,)) == {"own-does": "1"}


# How they arrive.


@pytest.mark.parametrize("kind", ["invitation", "prolific", "code"])
def test_people_arrive_as_the_rounds_recruiter_sends_them(kind):
    recruiter: dict[str, Any] = {"kind": kind, "failed_checks_code": "FAIL42"} | (
        {"study": "s"} if kind == "code" else {}
    )
    plan = design(recruiter=recruiter, quiz={"attempts": 2})
    study: Any = SimpleNamespace(design=plan)
    arrive, there = arrivals(study, invitation_key=b"key"), make_recruiter(plan.recruiter, invitation_key=b"key")
    first, second = (there.arrive(arrive(number)) for number in (1, 2))

    assert first.person != second.person
    expected = {
        "invitation": ("", ""),
        "prolific": ("rehearsal-study-1", "rehearsal-session-1"),
        "code": ("rehearsal-study-1", ""),
    }
    assert (first.study, first.session) == expected[kind]


def test_a_page_that_lacks_what_is_sent_back_is_told_with_its_beginning():
    assert search_page(re.compile("a(b)"), "xab") == "b"
    with pytest.raises(StudyError, match=r"a page lacks 'a\(b\)'; it begins with 'nothing'"):
        search_page(re.compile("a(b)"), "nothing")
