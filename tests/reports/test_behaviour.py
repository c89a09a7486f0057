"""The pages of chatbots' replies, and of verdicts compared with replies."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.evaluate.behaviour import Gap
from casewise.reports.behaviour import apart, named, says_does_sentence, title
from casewise.stats.estimates import Estimate
from casewise.text import Text


def estimate(value, low=None, high=None, name="accuracy"):
    return Estimate(name, value, low, high, 90.0, 0, "made up")


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.01, 0.2, "its verdicts are right more often"), (0.0, 0.2, "not told apart"), (-0.2, 0.0, "not told apart"), (-0.2, -0.01, "its replies are right more often")],
)  # fmt: skip
def test_says_against_does_follows_from_the_interval_of_the_difference(low, high, told):
    assert told in apart(estimate((low + high) / 2, low, high))


def gap(policy, does, difference, refuses=0.1, answers=0.2):
    return Gap(policy, 40, estimate(0.8), estimate(does), estimate(*difference), estimate(refuses), estimate(answers))


@pytest.mark.parametrize(
    ("lenient", "sentence"),
    [
        (
            ("lenient", 0.7, (0.1, 0.05, 0.15)),
            ("gpt: its verdicts are right on 80.0 % of items, its replies on 70.0 %: its verdicts are right more often, 10.0 points "
            "[5.0, 15.0]. It refuses 10.0 % of the items that it calls safe, and answers 20.0 % of those that it calls unsafe."),
        ),
        (
            ("lenient", 0.75, (0.05, 0.01, 0.09), 0.05),
            ("gpt: its verdicts are right on 80.0 % of items, its replies on 70.0 % (strict) or 75.0 % (lenient): its verdicts are right "
            "more often, 10.0 points [5.0, 15.0] (strict) or 5.0 points [1.0, 9.0] (lenient). It refuses 10.0 % (strict) or 5.0 % "
            "(lenient) of the items that it calls safe, and answers 20.0 % of those that it calls unsafe."),
        ),
        (
            ("lenient", 0.8, (0.0, -0.1, 0.1)),
            ("gpt: its verdicts are right on 80.0 % of items, its replies on 70.0 % (strict) or 80.0 % (lenient): its verdicts are right "
            "more often, 10.0 points [5.0, 15.0] (strict) or the two are not told apart, 0.0 points [-10.0, 10.0] (lenient). It refuses "
            "10.0 % of the items that it calls safe, and answers 20.0 % of those that it calls unsafe."),
        ),
    ],
)  # fmt: skip
def test_verdicts_and_replies_are_compared_under_both_policies_and_said_once_where_these_agree(lenient, sentence):
    gaps = {"strict": gap("strict", 0.7, (0.1, 0.05, 0.15)), "lenient": gap(*lenient)}
    pair: Any = SimpleNamespace(overall=gaps.__getitem__)

    assert says_does_sentence(pair, Text("gpt")) == sentence


@pytest.mark.parametrize(("arm", "words"), [("full", "m, graded by g"), ("none", "m, none, graded by g")])
def test_a_chatbot_goes_by_its_model_its_grader_and_an_arm_that_shows_less(arm, words):
    chatbot: Any = SimpleNamespace(model="m", grader="g", arm=arm)

    assert title(chatbot) == words


def pair_of(**more):
    usual = {"model": "m", "asked": "alone", "how": "binary", "grader": "g", "does_in": Path("a"), "says_in": Path("b")}
    return SimpleNamespace(**usual | more)


@pytest.mark.parametrize(
    ("second", "names"),
    [
        ({"model": "n"}, ["m", "n"]),
        ({"model": "n", "how": "score"}, ["m, binary", "n, score"]),
        ({"grader": "h"}, ["m, by g", "m, by h"]),
        ({"does_in": Path("c")}, ["m, replies in a", "m, replies in c"]),
        ({"model": "n", "does_in": Path("c")}, ["m", "n"]),
        ({"asked": "in a chat", "says_in": Path("d")}, ["m, asked alone", "m, asked in a chat"]),
    ],
)
def test_pairs_are_named_by_what_tells_them_apart_and_by_folders_only_where_nothing_else_does(second, names):
    found: Any = SimpleNamespace(models=[pair_of(), pair_of(**second)])

    assert [str(name) for name, _ in named(found)] == names
