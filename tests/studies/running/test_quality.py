from collections import Counter
from dataclasses import replace

import pytest
from tests.support.study import design

from casewise.records import Verdict
from casewise.studies.quality import SAME_ANSWER, TOO_FAST, AnsweredPage, disagreement, flags, reason_to_void

VARIED = [5.0, 9.0, 14.0, 7.0, 22.0, 11.0, 6.5, 30.0, 8.0, 12.0, 17.0, 10.0]


def answers(*, verdicts="su" * 6, seconds=VARIED, scripted=0, failed=0, checks=2):
    items = [
        AnsweredPage(f"i{n}", "safe" if letter == "s" else "unsafe", time, scripted=n < scripted)
        for n, (letter, time) in enumerate(zip(verdicts, seconds, strict=True))
    ]
    asked = [
        AnsweredPage(f"check-{n}", "unsafe" if n < failed else "safe", 8.0, expected="safe") for n in range(checks)
    ]
    return items + asked


def test_a_skipped_check_is_a_failed_one_and_says_so():
    skipped = AnsweredPage("check-0", None, None, expected="safe")
    found = flags([*answers(checks=1), skipped], design())

    assert kinds(found) == ["failed_checks"]
    assert found[0].evidence == "failed 1 of 2 attention checks: check-0 (skipped)"
    assert reason_to_void([skipped], design(attention={"void": True}))


@pytest.mark.parametrize(("skipped", "raised"), [(5, False), (6, True)])
def test_more_skips_than_were_allowed_are_a_flag(skipped, raised):
    found = flags(answers(), design(attention={"may_skip": 0.2}), skipped=skipped, pages=27)

    assert ("many_skips" in kinds(found)) == raised


def test_at_least_one_page_may_be_skipped_unless_none_may():
    assert design(attention={"may_skip": 0.01}).attention.most_skips(27) == 1
    assert design(attention={"may_skip": 0.0}).attention.most_skips(27) == 0


def kinds(found):
    return [flag.kind for flag in found]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"failed": 1}, "failed_checks"),
        ({"seconds": [0.5] * 6 + VARIED[:6]}, "too_fast"),
        ({"verdicts": "s" * 12}, "same_answer"),
        ({"scripted": 4}, "scripted_input"),
    ],
)
def test_each_sign_raises_its_flag_alone_with_evidence(change, kind):
    found = flags(answers(**change), design())

    assert kinds(found) == [kind]
    assert found[0].value > found[0].threshold or kind == "same_answer"
    assert any(digit.isdigit() for digit in found[0].evidence)


def test_times_that_are_too_even_for_a_person_are_flagged_and_never_as_zero_per_cent():
    flag = next(flag for flag in flags(answers(seconds=[8.0] * 12), design()) if flag.kind == "even_timing")
    assert flag.evidence == "14 answering times vary by less than 0.1 % of their mean 8.0 s"


@pytest.mark.parametrize("careful", [{}, {"verdicts": "ss", "seconds": [0.1, 0.1]}, {"seconds": [None] * 12}])
def test_a_careful_annotator_few_answers_and_times_that_were_not_measured_raise_nothing(careful):
    assert flags(answers(**careful), design()) == ()


def test_only_failed_checks_void_and_only_where_the_design_says_so():
    everything = answers(verdicts="s" * 12, seconds=[0.1] * 12, scripted=12)

    assert reason_to_void(answers(failed=1), design(attention={"void": True}))
    assert not reason_to_void(answers(failed=1), design())
    assert not reason_to_void(answers(failed=1), design(attention={"void": True, "may_fail": 1}))
    assert not reason_to_void(everything, design(attention={"void": True}))


RULES = {"least_seconds": 1.0, "seconds_per_100_words": 5.0, "fast_share": 0.25, "same_answer_share": 1.0}


@pytest.mark.parametrize(
    ("words", "seconds", "verdicts", "why"),
    [
        (100, [5.9] * 4 + [8.0] * 8, "su" * 6, TOO_FAST),
        (100, [5.9] * 3 + [8.0] * 9, "su" * 6, None),
        (40, [5.9] * 12, "su" * 6, None),
        (40, [5.9] * 12, "s" * 12, SAME_ANSWER),
        (40, [5.9] * 9, "s" * 9, None),
        (40, [None] * 12, "su" * 6, None),
    ],
)
def test_rules_of_exclusion_leave_out_whoever_breaks_them(words, seconds, verdicts, why):
    read = [replace(page, words=words) for page in answers(verdicts=verdicts, seconds=seconds)]

    assert reason_to_void(read, design(exclusion=RULES)) == why
    assert reason_to_void(read, design()) is None


def test_disagreement_is_counted_against_the_majority_and_is_no_flag():
    own: dict[str, Verdict] = {"a": "safe", "b": "safe", "c": "safe", "d": "safe"}
    others: dict[str, list[Verdict]] = {
        "a": ["unsafe", "unsafe", "safe"],
        "b": ["safe"],
        "c": ["safe", "unsafe"],
        "d": [],
    }
    found = disagreement(own, {item: Counter([own[item], *said]) for item, said in others.items()})

    assert (found.differs, found.compared) == (1, 2)
