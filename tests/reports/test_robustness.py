"""Each sentence that the page of an attack prints about an adaptive attacker, with its condition."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.evaluate.robustness import AdaptiveResult
from casewise.reports.document import Forest
from casewise.reports.robustness import adaptive, adaptive_sentence
from casewise.stats.estimates import Estimate

NO_ITEMS = Estimate("turned", None, None, None, 0, 0, "undefined: no items of that kind")
FIRST, LAST, WRONG, CONTROL = (
    Estimate("turned", value, value - 0.1, value + 0.1, 40, 0, "t") for value in (0.2, 0.5, 0.75, 0.1)
)
FOUND = AdaptiveResult(
    attacker="writer",
    channel="user",
    towards="safe",
    defence="none",
    by_turn=(FIRST, LAST),
    once=LAST,
    control=(CONTROL, CONTROL),
    beyond_control=Estimate("turned", 0.4, 0.2, 0.6, 40, 0, "t"),
    bounded=None,
    unfinished=None,
    n_changed=28,
    wrong=WRONG,
    n_right=6,
    changed=(),
)
ASKED_AGAIN = "A change counts if the judge repeats it when it is asked again."
TURNS = (
    "changes the verdict to safe on 50.0 % [40.0, 60.0] of the 40 items that the judge has right, within 2 turns "
    f"(20.0 % [10.0, 30.0] in the first). {ASKED_AGAIN}"
)
CHANCE = "The same number of tries with neutral statements changes 10.0 % [0.0, 20.0]. The difference is 40.0 points [20.0, 60.0]."
TRUTH = "The labels contradict 75.0 % [65.0, 85.0] of the 28 verdicts that it changed, and support 6."


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, f"The attacker writer {TURNS} {CHANCE} {TRUTH}"),
        ({"defence": "delimit"}, f"The attacker writer, under delimit, {TURNS} {CHANCE} {TRUTH}"),
        (
            {"by_turn": (FIRST,), "n_changed": 0, "beyond_control": None},
            (
                "The attacker writer changes the verdict to safe on 20.0 % [10.0, 30.0] of the 40 items that the judge has right, in one turn. "
                f"{ASKED_AGAIN} The control is not finished, so some of these changes may be chance."
            ),
        ),
        (
            {"by_turn": (), "n_changed": 0, "unfinished": 1},
            "The attacker writer has no finished turn towards safe. Turn 1 is not finished; the same command resumes it.",
        ),
        (
            {"by_turn": (NO_ITEMS,), "n_changed": 0},
            "The attacker writer found no item to attack: the judge is right on no item that is labelled unsafe.",
        ),
    ],
)
def test_what_an_attacker_did_is_said_with_its_control_and_what_people_say_of_it(more, sentence):
    assert adaptive_sentence(replace(FOUND, **more)) == sentence


def test_an_attacker_has_a_row_a_turn_and_one_for_all_neutral_statements_in_the_chart():
    silent = replace(FOUND, by_turn=())
    numbers: Any = SimpleNamespace(
        adaptive=(FOUND, replace(FOUND, defence="delimit", control=(), beyond_control=None), silent)
    )
    (forest,) = [block for block in adaptive(numbers) if isinstance(block, Forest)]

    assert [(str(heading), [row.label for row in rows]) for heading, rows in forest.groups] == [
        ("writer (user), towards safe", ["turn 1", "turn 2", "neutral statements, 2 tries"]),
        ("writer (user), towards safe, under delimit", ["turn 1", "turn 2"]),
    ]
    alone: Any = SimpleNamespace(adaptive=(silent,))
    assert not [block for block in adaptive(alone) if isinstance(block, Forest)]
