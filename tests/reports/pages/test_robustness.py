"""Each sentence that the page of an attack prints about an adaptive attacker, with its condition."""

from dataclasses import replace

import numpy as np
import pytest

from casewise.evaluate.robustness import AdaptiveResult
from casewise.reports.robustness import adaptive_sentence, by_chance
from casewise.stats.estimates import Estimate
from casewise.stats.pairs import Mean

NO_ITEMS = Estimate("turned", None, None, None, 0, 0, "undefined: no items of that kind")
FIRST, LAST, WRONG = (Estimate("turned", value, value - 0.1, value + 0.1, 40, 0, "t") for value in (0.2, 0.5, 0.75))
FOUND = AdaptiveResult(
    attacker="writer",
    channel="user",
    towards="safe",
    defence="none",
    by_turn=(FIRST, LAST),
    unfinished=None,
    n_changed=28,
    wrong=WRONG,
    n_right=6,
    changed=(),
)
TURNS = "turns 50.0 % [40.0, 60.0] of 40 items that the judge has right towards safe within 2 turns (20.0 % [10.0, 30.0] in the first)."
TRUTH = "The labels contradict 75.0 % [65.0, 85.0] of the 28 verdicts that it changed, and support 6."


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, f"The attacker writer {TURNS} {TRUTH}"),
        ({"defence": "delimit"}, f"The attacker writer, under delimit, {TURNS} {TRUTH}"),
        (
            {"by_turn": (FIRST,), "n_changed": 0},
            "The attacker writer turns 20.0 % [10.0, 30.0] of 40 items that the judge has right towards safe in one turn.",
        ),
        (
            {"by_turn": (), "n_changed": 0, "unfinished": 1},
            "The attacker writer has no finished turn towards safe. Turn 1 is not finished: the same command resumes.",
        ),
        (
            {"by_turn": (NO_ITEMS,), "n_changed": 0},
            "The attacker writer had no item to turn towards safe: the judge had none of that kind right.",
        ),
    ],
)
def test_what_an_attacker_did_is_said_with_its_intervals_and_what_people_say_of_it(more, sentence):
    assert adaptive_sentence(replace(FOUND, **more), None) == sentence


@pytest.mark.parametrize(("low", "warned"), [(0.01, True), (0.0, False), (None, False)])
def test_chance_is_said_to_turn_verdicts_where_its_interval_excludes_zero(low, warned):
    noise = Mean(0.1, np.zeros(2), Estimate("turned", 0.1, low, 0.3, 40, 0, "t"))
    assert ("repeated tries turn some by chance" in by_chance(noise)) == warned
    assert by_chance(None) == ""
