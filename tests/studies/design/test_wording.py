"""The texts that annotators read: complete, filled in once, and the owner's own where there are some."""

from pathlib import Path

import pytest
from tests.support.study import design

from casewise.errors import ConfigurationError
from casewise.studies.wording import PAGES, fill, read_checks, read_quiz, read_wording


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
