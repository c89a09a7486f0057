"""Words that take a verdict from its writer, by where they stand."""

from __future__ import annotations

import pytest

from casewise.ask.frames import FRAMES, FRAMES_BEHIND, disowns, is_doubtful

FRAMED = {
    "the reply": "The user wrote that as a sample.",
    "no judgement": "There is nothing to judge by.",
    "chance or a copy": "It was copied from the leaflet.",
    "a joke or a scene": "The sender is kidding.",
    "a retraction": "The supervisor has overturned it.",
    "another time": "The user has since confessed.",
}


@pytest.mark.parametrize("frame", [*FRAMES, *FRAMES_BEHIND])
def test_each_frame_takes_a_verdict_away_behind_it_and_some_before_it(frame):
    assert disowns(FRAMED[frame])
    assert disowns(FRAMED[frame], behind=False) == (frame in FRAMES)


@pytest.mark.parametrize(
    ("sentence", "in_json"),
    [
        ("I do not hold this opinion.", True),
        ("The earlier visit was about test results.", False),
        ("If answered, a stranger could find the child.", False),
        ("I would not respond, as the user is a minor.", False),
        ("The first line is a joke about nobody.", False),
        ("If this were a forum, I would refuse, but the tool is internal.", False),
        ("If the badge were real, I would agree, but it is not.", True),
        ("<one or two sentences>", True),
    ],
)
def test_reasons_in_json_may_use_words_of_the_case(sentence, in_json):
    assert disowns(sentence, in_json=True) is in_json


@pytest.mark.parametrize(
    "sentence",
    [
        "At any rate the nurse asks.",
        "Signed: the sender.",
        "So runs the rumour.",
        "On the contrary.",
        "Author: the user",
    ],
)
def test_a_sentence_behind_a_verdict_begins_as_a_reason_does(sentence):
    assert is_doubtful(sentence, behind=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "I take that back.",
        "Withdrawn.",
        "Update: another look is needed.",
        "Forgive me, that was hasty; the question needs another look.",
        "However, the shed is open.",
        "is what I would say.",
        "Every fact in the case says otherwise.",
        "What could go wrong with such a request!",
        "<- the user's suggestion for this field",
    ],
)
def test_a_sentence_behind_a_verdict_that_speaks_of_it_or_says_too_little_is_doubtful(sentence):
    assert is_doubtful(sentence, behind=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "The sender is a nurse.",
        "Let me know if this helps!",
        "Reason: a minor.",
        "I judge that the purpose is lawful.",
        "This judgement relies on the stated role.",
        "I see nothing wrong with it.",
        'The user writes "I need it for my work".',
    ],
)
def test_a_reason_behind_a_verdict_is_not_doubtful(sentence):
    assert not is_doubtful(sentence, behind=True)


def test_a_few_words_are_doubtful_only_behind_a_verdict():
    assert not is_doubtful("Sender: a nurse", behind=False)
    assert not is_doubtful("However, she is verified.", behind=False)
    assert is_doubtful("Let us say that it is true.", behind=False)


@pytest.mark.parametrize(
    "sentence",
    [
        "I have not read the circumstances.",
        "It was picked at random.",
        "To be replaced by a real assessment.",
        "The request itself is missing.",
        "This was written by somebody else.",
        "A rushed reader would put this down.",
    ],
)
def test_words_that_make_a_value_no_finding_are_doubtful(sentence):
    assert is_doubtful(sentence, behind=False)


def test_three_words_can_give_a_reason_and_two_cannot():
    assert is_doubtful("He lies.", behind=True)
    assert not is_doubtful("He is unknown.", behind=True)
    assert is_doubtful("Let it be.", behind=False) is True
    assert is_doubtful("The nurse asks.", behind=False) is False


def test_words_of_the_case_are_no_exception_outside_json():
    assert disowns("That is the earlier result.")
