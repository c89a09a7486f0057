"""The sections of a report on actions, from made-up decisions."""

from dataclasses import replace
from typing import Any

import pytest

from casewise.evaluate.actions import ActionGroup, ActionInContexts, ActionNumbers, OverCalls
from casewise.reports.actions import action_sections, cell, sentence
from casewise.reports.document import Figure, Folded, Prose, Table
from casewise.stats.estimates import Estimate
from casewise.stats.repeats import HarmOverCalls
from casewise.stats.thresholds import Measurement, Requirements
from casewise.text import Text


def share(value, name="share"):
    return Estimate(name, value, value - 0.1, value + 0.1, 40.0, 0, "made up")


MEASURED = Measurement(share(0.2), share(0.3), share(0.0), share(0.1), share(0.0), share(0.5, "cost"))
ASKING = replace(MEASURED, asked=share(0.15), needless_ask=share(0.1))
ALL = ActionGroup(Text("gpt"), "all", None, 40, MEASURED)
INWARD = replace(ALL, part="inward", items=10)
MAIL = replace(ALL, part="mail", criterion="wrong_recipient", items=12)
MOVED = ActionInContexts(
    "q1", "mail the report", (0.9, 0.25, None, 0.0), (20, 8, 0, 5), "the recipient", ("allow", "deny", "ask", "–")
)
NUMBERS = ActionNumbers(Requirements(ratio=5, ask_cost=0.25), (ALL, INWARD), (MAIL,), (), ())


def blocks(numbers: ActionNumbers) -> dict[str, Any]:
    return {
        block.name: block
        for part in action_sections(numbers)
        for block in part.blocks
        if isinstance(block, (Table, Figure))
    }


def test_without_actions_there_is_no_section():
    assert [*action_sections(None)] == []
    assert [part.anchor for part in action_sections(NUMBERS)] == ["actions"]


def test_a_judge_of_actions_is_said_to_allow_and_to_deny_and_to_ask_where_it_does():
    allows = "gpt allows 20.0 % [10.0, 30.0] of the actions that the labels refuse, and denies 30.0 % [20.0, 40.0] of those that they allow."
    asks = " It asks the user first about 15.0 % [5.0, 25.0] of all actions, and about 10.0 % [0.0, 20.0] of those that the labels allow."

    assert sentence(ALL) == allows
    assert sentence(replace(ALL, measured=ASKING)) == allows + asks
    assert sentence(replace(ALL, measured=replace(ASKING, needless_ask=None))) == allows


def test_decisions_have_a_row_for_each_direction_and_columns_for_questions_where_some_are_asked():
    asking = replace(NUMBERS, groups=(ALL, replace(INWARD, measured=ASKING)))
    table = blocks(NUMBERS)["decisions"]

    assert table.columns == ("Direction", "Items", "Harm", "Over-refusal", "Cost")
    assert table.rows[1] == ("inward", "10", "20.0 % [10.0, 30.0]", "30.0 % [20.0, 40.0]", "0.500 [0.400, 0.600]")
    assert blocks(asking)["decisions"].columns[4:6] == ("Asked", "Asked needlessly")


def test_the_costs_are_stated_under_the_table():
    (section,) = action_sections(replace(NUMBERS, groups=(ALL, replace(INWARD, measured=ASKING))))
    lead, costs = (block for block in section.blocks if isinstance(block, Prose))

    assert lead == Prose(sentence(ALL), lead=True)
    assert "that people refuse costs 5, and a question to the user costs 0.25 (--harm-cost, --ask-cost)." in costs.text


def test_harm_over_several_calls_stands_where_it_was_asked_for():
    over = OverCalls(Text("gpt"), HarmOverCalls(5, share(0.4), share(0.3)))
    table = blocks(replace(NUMBERS, over_calls=(over,)))["repeats"]

    assert "repeats" not in blocks(NUMBERS)
    assert table.rows == (("5", "40.0 % [30.0, 50.0]", "30.0 % [20.0, 40.0]"),)


@pytest.mark.parametrize(("tools", "folded"), [((MAIL,), False), ((MAIL, replace(MAIL, part="pay")), True)])
def test_tools_stand_in_a_fold_where_there_are_several(tools, folded):
    (section,) = action_sections(replace(NUMBERS, by_tool=tools))
    folds = [block for block in section.blocks if isinstance(block, Folded)]

    assert bool(folds) is folded
    if folded:
        table: Any = folds[0].blocks[0]
        assert table.columns[:3] == ("Tool", "Criterion", "Items")
        assert table.rows[0][:3] == ("mail", "wrong recipient", "12")


def test_an_action_in_four_contexts_has_peoples_share_their_number_and_the_decision_in_each():
    found = blocks(replace(NUMBERS, contexts=(MOVED,)))
    table = found["flows-table"]

    assert table.columns == ("Action", "Right", "Wrong recipient", "Wrong purpose", "Both wrong", "Depends on")
    assert table.rows == (
        ("mail the report", "90 % of 20, allow", "25 % of 8, deny", "–", "0 % of 5, –", "the recipient"),
    )
    assert found["flows"].svg.count("mail the report") >= 1
    assert cell(0.5, 4, "ask") == "50 % of 4, ask"


def test_actions_on_which_no_person_voted_have_no_chart():
    silent = replace(MOVED, rates=(None,) * 4)

    assert "flows" not in blocks(replace(NUMBERS, contexts=(silent,)))
    lead: Any = [*action_sections(replace(NUMBERS, contexts=(MOVED, silent)))][1].blocks[0]
    assert str(lead.text) == "People's votes on 2 actions depend on: the recipient: 2."
