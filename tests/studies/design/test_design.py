import re
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.support.study import design, material, preset

from casewise.errors import ConfigurationError, StudyError
from casewise.records.base import digest
from casewise.studies.design import PRESETS, contrasts, read_design
from casewise.studies.freeze import (
    Frozen,
    Material,
    StudyItem,
    as_panel,
    departures,
    estimate,
    plain,
    policy_of,
    read_frozen,
)
from casewise.studies.wording import PAGES, fill, read_checks, read_quiz, read_wording

PAPER = ("no_context", "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised")


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_study(tmp_path, name):
    found = read_design(written(tmp_path, preset(name)))

    assert (found.ratings.per_item, found.ratings.per_annotator) == ((3, 20) if name == "experts" else (21, 25))
    assert not found.sensitive.child_related
    assert found.privacy.withdraw_until > date(2026, 11, 20)


def test_the_papers_preset_is_the_papers(tmp_path):
    found = read_design(written(tmp_path, preset("paper")))

    assert (found.eligibility.approval_rate, found.eligibility.approved_count) == (98, 10_000)
    assert (found.quiz.attempts, found.quiz.may_miss) == (1, 0)


def test_codes_are_drawn_anew_for_each_study():
    codes = [re.findall(r'code = "(\w{8})"', preset("prolific")) for _ in range(2)]

    assert len(set(codes[0])) == 4
    assert not set(codes[0]) & set(codes[1])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("per_item = 21", "per_item = 0"), "ratings.per_item: .*greater than or equal to 1.*it is 0"),
        (("per_item = 21", "per_itme = 21"), "ratings.per_itme is not known \\(did you mean 'per_item'\\?\\)"),
        (("minimum_age = 18", "minimum_age = 16"), "eligibility.minimum_age"),
        (("child_related = false", "child_related = true"), "sensitive: .*say why"),
        (('"no_context", "safe_revised"]\n', '"no_context", "no_context"]\n'), "a condition twice"),
        (('contrasts = [["no_context"', 'contrasts = [["nowhere"'), "'nowhere', which is not one of the conditions"),
        (('kind = "invitation"', 'kind = "redirect"'), "'redirect', which needs completed and screened_out"),
        (("may_fail = 0", "may_fail = 3"), "no person could fail"),
        (("keep_ids_until = 2027", "keep_ids_until = 2026"), "before withdraw_until"),
        (('name = "tea"', 'name = "Tea Study!"'), "name"),
        (("[contact]", "[contact"), "not a study in TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_setting(tmp_path, change, problem):
    text = preset("lab")
    assert change[0] in text

    with pytest.raises(ConfigurationError, match=f"(?s)study.toml: .*{problem}"):
        read_design(written(tmp_path, text.replace(*change)))


def test_prolific_needs_two_attempts_before_a_screen_out(tmp_path):
    text = re.sub(r"attempts = 2", "attempts = 1", preset("prolific"))

    with pytest.raises(ConfigurationError, match="at least 2 with Prolific"):
        read_design(written(tmp_path, text))


def test_a_missing_file_says_how_to_get_one(tmp_path):
    with pytest.raises(ConfigurationError, match="casewise study init"):
        read_design(tmp_path / "study.toml")


def test_contrasts_are_safe_against_unsafe_and_each_against_no_context():
    assert contrasts(PAPER) == [
        ["safe_generated", "unsafe_generated"],
        ["safe_revised", "unsafe_revised"],
        *(["no_context", condition] for condition in PAPER[1:]),
    ]


@pytest.mark.slow
def test_the_papers_design_needs_1890_annotators():
    plan = design(
        conditions=list(PAPER), ratings={"per_item": 21, "per_annotator": 25}, attention={"checks_per_batch": 2}
    )
    items = tuple(
        StudyItem(f"{condition}{query}", f"q{query}", condition, {}) for condition in PAPER for query in range(450)
    )
    found = estimate(plan, Material(items, ()))

    assert found.ratings == 47_250
    assert found.annotators == 1890
    assert found.short_batches == 0
    assert found.screened_out == 810
    assert found.minutes_per_annotator == pytest.approx(6 + 27 * 20 / 60)
    assert found.pay == pytest.approx(1890 * 3.5 + 810 * 0.5)
    assert found.hourly == pytest.approx(14)


def test_a_short_last_batch_is_paid_in_full():
    plan = design(
        ratings={"per_item": 1, "per_annotator": 3}, conditions=["no_context"], quiz={"expected_pass_rate": 1.0}
    )
    found = estimate(plan, material(plan, queries=4))

    assert (found.annotators, found.short_batches) == (2, 1)
    assert found.pay == 7.0


def test_pay_below_the_floor_is_a_problem_that_says_what_to_pay():
    plan = design(pay={"per_batch": 1.0})
    found = estimate(plan, material(plan))

    assert found.problem is not None
    assert "below pay.hourly_floor = 12.00" in found.problem
    assert "pay at least 1.47 a batch" in found.problem


def test_all_texts_of_ours_are_complete():
    wording = read_wording(design(), Path())

    assert len(wording.quiz) == 6
    assert all(question.explanation for question in wording.quiz)
    assert {check.expected for check in wording.checks} == {"safe", "unsafe"}
    for page in set(PAGES) - {"quiz", "checks"}:
        assert "{{" not in getattr(wording, page)


def test_the_consent_says_what_an_ethics_board_asks():
    text = read_wording(design(), Path()).consent

    for part in ("1 January 2027", "1 February 2027", "1 November 2027", "18 or older", "stop altogether", "3.50 USD"):
        assert part in text
    assert "not been reviewed by an ethics board" in text


def test_an_owners_text_replaces_ours(tmp_path):
    (tmp_path / "warning.md").write_text("Beware of {{ title }}.", encoding="utf-8")
    plan = design(texts={"warning": "warning.md"})

    assert read_wording(plan, tmp_path).warning == "Beware of When should a chatbot answer?."


def test_a_text_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"texts\.warning: .*cannot be read"):
        read_wording(design(texts={"warning": "warning.md"}), tmp_path)


def test_what_is_filled_in_is_never_filled_again():
    assert fill("{{ a }}", {"a": "{{ b }}", "b": "no"}) == "{{ b }}"
    with pytest.raises(ConfigurationError, match="'c'; available: a"):
        fill("{{ c }}", {"a": ""})


def test_more_checks_than_written_are_refused():
    with pytest.raises(ConfigurationError, match=r"4 checks, but attention\.checks_per_batch is 9"):
        read_wording(design(attention={"checks_per_batch": 9}), Path())


@pytest.mark.parametrize(
    "text", ["", "## One?\n- [ ] a\n- [ ] b\n", "## One?\n- [x] a\n- [x] b\n", "## One?\n- [x] alone\n"]
)
def test_a_question_needs_options_and_one_right_answer(text):
    with pytest.raises(ConfigurationError, match=r"quiz\.md"):
        read_quiz(text, source="quiz.md")


@pytest.mark.parametrize("text", ["## a\nno answer\n", "## a\nAnswer: refuse\n", "## a\nx\nAnswer: refuse\n" * 2])
def test_a_check_needs_a_text_an_answer_and_a_name_of_its_own(text):
    with pytest.raises(ConfigurationError, match=r"checks\.md"):
        read_checks(text, source="checks.md")


def policy(plan=design(), *, wording=None, items=None):
    return policy_of(plan, wording or read_wording(plan, Path()), items or material(plan).items)


def freeze(policy):
    return Frozen(policy, digest(policy), datetime(2026, 11, 20, tzinfo=UTC))


def test_departures_from_what_was_frozen_are_named(tmp_path):
    frozen = freeze(policy())
    changed = design(ratings={"per_item": 3}, analysis={"alpha": 0.01})

    assert departures(policy(), frozen) == ()
    assert {"seed", "quiz.may_miss", "quality.too_fast_share", "items", "texts.checks"} <= set(frozen.policy)
    assert [str(departure) for departure in departures(policy(changed), frozen)] == [
        "ratings.per_item: frozen as 2, now 3",
        "analysis.alpha: frozen as 0.05, now 0.01",
    ]


def test_what_people_read_and_rate_is_frozen_too():
    frozen = freeze(policy())
    plan = design()
    wording = read_wording(plan, Path())
    easier = replace(wording, quiz=wording.quiz[1:])
    fewer = material(plan).items[1:]

    assert [one.setting for one in departures(policy(wording=easier), frozen)] == ["texts.quiz"]
    assert [one.setting for one in departures(policy(items=fewer), frozen)] == ["items"]
    assert departures(policy(items=tuple(reversed(material(plan).items))), frozen) == ()
    for changes in ({"quiz": {"may_miss": 3}}, {"seed": 7}, {"quality": {"too_fast_share": 0.9}}):
        assert len(departures(policy(design(**changes)), frozen)) == 1


@pytest.mark.parametrize(
    ("email", "blank"), [("ada@uni.edu", False), ("you@example.org", True), ("x@lab.invalid", True), ("nobody", True)]
)
def test_an_address_that_is_for_examples_only_is_a_placeholder(email, blank):
    assert bool(design(contact={"email": email}).contact.placeholders) == blank


def test_a_frozen_policy_cannot_be_edited():
    frozen = freeze(policy())
    edited = plain(frozen) | {"policy": frozen.policy | {"analysis.alpha": 0.2}}
    with pytest.raises(StudyError, match="was changed"):
        read_frozen(edited, source="study.frozen.json")


def test_parameters_of_a_benchmarks_own_are_shown_by_their_titles_or_in_words():
    shown = {"caller": {"home_town": "Leeds", "role": "a nurse"}, "recipient": {"type": "x"}, "subject": "a neighbour"}
    assert as_panel(shown, {"caller": "Who calls", "caller.role": "Their role"}) == {
        "Who calls": {"Home town": "Leeds", "Their role": "a nurse"},
        "recipient": {"type": "x"},
        "subject": "a neighbour",
    }
