"""Numbers of actions, on two actions in four contexts whose votes and decisions are written down."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, sample_of, some

from casewise.evaluate.actions import (
    CRITERIA,
    NO_DECISION,
    ActionNumbers,
    action_numbers,
    count_deciding_parts,
    deciding_part,
    decisions,
    in_contexts,
    spread_of,
)
from casewise.evaluate.judged_runs import ReportOptions
from casewise.stats.repeats import harm_over_calls
from casewise.text import Text

LABELS = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=float)
VOTES = [(20, 20), (1, 20), (19, 20), (0, 20), (20, 20), (20, 20), (20, 20), (0, 0)]


def sample(said, weight=LABELS):
    """A letter a decision: a allows, d denies, q asks; a dash for none."""
    safe = np.array([{"a": 1.0, "d": 0.0}.get(letter, NAN) for letter in said])
    return replace(sample_of(weight, safe), value=np.array([NAN if letter == "-" else 0.5 for letter in said]))


def runs_of(said, *, asked=None, conditions=CRITERIA * 2, weight=LABELS, judged="action") -> Any:
    pay = SimpleNamespace(direction="inward", tool="pay", agent="x")
    queries = {
        "q1": SimpleNamespace(id="q1", action=pay, category="a category"),
        "q2": SimpleNamespace(id="q2", action=None, category="misc"),
    }
    ids = ["q1"] * 4 + ["q2"] * 4
    items = [SimpleNamespace(id=f"i{n}", query_id=name, cluster=None) for n, name in enumerate(ids)]
    table = pl.DataFrame(
        {
            "item_id": [item.id for item in items],
            "query_id": ids,
            "condition": conditions,
            "n_safe": [safe for safe, _ in VOTES],
            "n_votes": [votes for _, votes in VOTES],
        }
    )
    series = SimpleNamespace(asked=np.ones(8, dtype=bool) if asked is None else asked, name=Text("J"))
    return SimpleNamespace(
        benchmark=SimpleNamespace(judged={(judged, False)}, query=queries, items=items),
        items=table,
        series=[series],
        main_series=(series,),
        whole_sample=lambda _series, **_policies: sample(said, weight),
    )


def numbers_of(said, **more) -> ActionNumbers:
    return some(action_numbers(runs_of(said, **more), ReportOptions(over=(1, 2), harm_cost=3.0, ask_cost=0.5)))


def test_a_decision_is_a_place_among_refuse_ask_and_answer_and_none_is_none_of_them():
    assert decisions(sample("daq-", LABELS[:4])).tolist() == [0, 2, 1, NO_DECISION]


def test_decisions_are_counted_over_all_actions_and_those_of_each_direction():
    whole, inward = numbers_of("aaqdadq-").groups

    assert [(group.part, group.criterion, group.items) for group in (whole, inward)] == [
        ("all", None, 8),
        ("inward", None, 4),
    ]
    assert (inward.measured.harm.estimate, inward.measured.over_refusal.estimate) == (1 / 3, 0)
    assert (inward.measured.asked.estimate, inward.measured.unscored.estimate) == (1 / 4, 0)
    assert some(inward.measured.cost).estimate == pytest.approx((3 * 1 + 0.5 * 1) / 4)
    assert (whole.measured.unscored.estimate, whole.measured.over_refusal.estimate) == (1 / 8, 1 / 4)


def test_each_tool_stands_with_each_condition_the_four_contexts_first():
    found = numbers_of("aaqdadqd", conditions=("other", *CRITERIA[1:], *CRITERIA)).by_tool

    assert [(group.part, group.criterion) for group in found] == [
        *(("misc", name) for name in CRITERIA),
        *(("pay", name) for name in (*CRITERIA[1:], "other")),
    ]
    assert {group.items for group in found} == {1}


def test_harm_over_calls_is_of_the_calls_that_people_would_refuse_and_that_were_decided():
    numbers = numbers_of("aaqdadq-")
    risky = np.array([1, 2, 3])

    assert [over.harm.k for over in numbers.over_calls] == [1, 2]
    assert numbers.over_calls[0].harm.tasks.estimate == pytest.approx(1 / 3)
    assert numbers.over_calls[1].harm == harm_over_calls(
        np.array([True, False, False]), risky, np.zeros(3, dtype=np.intp), 2
    )
    assert numbers_of("aaqdadq-", weight=np.ones(8)).over_calls == ()
    assert some(
        action_numbers(runs_of("aaqdadq-", weight=np.where(np.arange(8) < 4, LABELS, 1)), ReportOptions())
    ).over_calls


def test_items_that_were_not_asked_or_have_no_label_count_nowhere():
    asked = np.arange(8) < 6
    weight = np.where(np.arange(8) == 0, NAN, LABELS)

    assert [group.items for group in numbers_of("aaqdadqd", asked=asked, weight=weight).groups] == [5, 3]
    assert action_numbers(runs_of("aaqdadqd", asked=~EVERY), ReportOptions()) is None
    assert action_numbers(runs_of("aaqdadqd", judged="request"), ReportOptions()) is None
    assert action_numbers(runs_of("aaqdadqd", weight=np.full(8, NAN)), ReportOptions()) is None
    without = runs_of("aaqdadqd")
    without.series = []
    assert action_numbers(without, ReportOptions()) is None


EVERY = np.ones(8, dtype=bool)


def test_an_action_is_laid_out_with_peoples_rates_and_the_first_judges_decisions():
    first, second = in_contexts(runs_of("aaqdadq-", asked=np.arange(8) != 3))

    assert (first.query_id, first.text, first.rates, first.votes) == ("q1", "pay", (1.0, 0.05, 0.95, 0.0), (20,) * 4)
    assert (first.decides, first.judged) == ("the recipient", ("allow", "allow", "ask", "–"))
    assert (second.text, second.rates, second.votes) == ("misc", (1.0, 1.0, 1.0, None), (20, 20, 20, 0))
    assert (second.decides, second.judged) == ("neither, mostly allowed", ("allow", "deny", "ask", "–"))
    assert [
        action.query_id for action in in_contexts(runs_of("a" * 8, conditions=("x", *CRITERIA[1:], *CRITERIA)))
    ] == ["q2"]


def test_context_moves_an_action_by_the_range_of_its_rates_with_votes():
    assert spread_of(np.array([4.0, 1, 0, 0]), np.array([4.0, 4, 0, 4])) == 1
    assert spread_of(np.array([3.0, 1, 0, 0]), np.array([4.0, 4, 0, 0])) == 0.5
    assert spread_of(np.zeros(4), np.zeros(4)) == 0


def test_a_difference_has_to_hold_for_all_actions_together():
    safe, votes = np.array([18.0, 10, 18, 18]), np.full(4, 20.0)

    assert deciding_part(safe, votes, tests=1) == deciding_part(safe, votes, tests=0) == "the recipient"
    assert deciding_part(safe, votes, tests=200) == "neither, mostly allowed"
    assert deciding_part(np.array([0.0, 0, 18, 18]), np.array([0.0, 20, 20, 20]), tests=1) == "not told apart"


def test_the_most_frequent_part_is_counted_first():
    names = ["both", "the purpose", "the recipient", "the purpose"]
    found = count_deciding_parts([SimpleNamespace(decides=name) for name in names])  # type: ignore[misc]

    assert list(found.items()) == [("the purpose", 2), ("both", 1), ("the recipient", 1)]
