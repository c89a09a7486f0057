from itertools import combinations

import pytest
from tests.support.worlds import CLEAR, World

from casewise.api import judge, report
from casewise.evaluate.judge_numbers import arm_table
from casewise.evaluate.judged_runs import ReportOptions, read_runs
from casewise.judges.plan import ablation_arms
from casewise.records import FULL, NO_CONTEXT, Arm
from casewise.reports.document import Forest


def reads_the_recipient_only(query, context):
    """Safe exactly when a recipient is shown that the demo's safe contexts have: blind to all else."""
    return "recipient" in context


@pytest.fixture(scope="module")
def ablated():
    return report(judge("demo", "fake/rehearsal", arms=ablation_arms("groups")))


def values(folder, *arms):
    """The worths of a judge that answers where the recipient is a nurse, over four queries whose labels follow the recipient."""
    benchmark = World("few", CLEAR * 4, {}).benchmark
    run = judge(benchmark, lambda query, context: "nurse" in str(context), elicitations="binary", arms=arms, out=folder)
    table = arm_table(read_runs([run], benchmark=benchmark), ReportOptions())
    rows = table.filter(table["metric"] == "accuracy").select("worth", "part", "estimate").rows()
    return {(worth, part): pytest.approx(estimate) for worth, part, estimate in rows}


def test_the_worth_of_a_part_is_the_accuracy_that_is_lost_without_it(tmp_path):
    parts = ("sender", "recipient", "transmission_principle")
    whole = values(tmp_path / "all", *ablation_arms("groups"))

    assert {part: estimate for (worth, part), estimate in whole.items() if worth == "shapley"} == {
        "sender": 0.0,
        "recipient": 0.5,
        "transmission_principle": 0.0,
    }
    assert {part: estimate for (worth, part), estimate in whole.items() if worth == "left out"} == {
        "the whole context": 0.5,
        **{part: 0.5 if part == "recipient" else 0.0 for part in parts},
        **{", ".join(pair): 0.5 if "recipient" in pair else 0.0 for pair in combinations(parts, 2)},
    }
    some = values(tmp_path / "some", FULL, NO_CONTEXT, Arm.without("recipient"))
    assert some == {("left out", "recipient"): 0.5, ("left out", "the whole context"): 0.5}
    assert values(tmp_path / "one", NO_CONTEXT, Arm.without("recipient")) == values(tmp_path / "full", FULL) == {}


@pytest.mark.slow
def test_each_group_has_its_worth_and_shapley_values_add_up(ablated):
    table = ablated.arms
    accuracy = table.filter(table["metric"] == "accuracy")
    shapley = accuracy.filter(accuracy["worth"] == "shapley")
    whole = accuracy.filter(accuracy["part"] == "the whole context")["estimate"].item()

    assert set(shapley["part"]) == {"sender", "recipient", "transmission_principle"}
    assert shapley["estimate"].sum() == pytest.approx(whole)
    assert accuracy.filter(accuracy["worth"] == "left out").height == 7


@pytest.mark.slow
def test_a_judge_that_reads_one_group_gets_all_of_its_worth_from_there():
    found = report(judge("demo", reads_the_recipient_only, elicitations=("binary",), arms=ablation_arms("groups"))).arms
    shapley = found.filter((found["worth"] == "shapley") & (found["metric"] == "recall_safe"))
    by_part = dict(zip(shapley["part"], shapley["estimate"], strict=True))

    assert by_part["recipient"] == pytest.approx(1)
    assert by_part["sender"] == by_part["transmission_principle"] == pytest.approx(0)


@pytest.mark.slow
def test_without_all_subsets_there_is_no_shapley_value():
    found = report(judge("demo", "fake/rehearsal", arms=(FULL, NO_CONTEXT, Arm.without("recipient")))).arms

    assert set(found["worth"]) == {"left out"}
    assert set(found["part"]) == {"the whole context", "recipient"}


@pytest.mark.slow
def test_one_arm_alone_has_nothing_to_compare():
    assert not len(report(judge("demo", "fake/rehearsal")).arms)


@pytest.mark.slow
def test_the_page_says_against_what_the_numbers_are(ablated):
    page = ablated.to_markdown()

    assert "Value of each part of the context" in page
    assert page.count("against full-context labels") == 3
    assert ablated.as_json()["arms"]


@pytest.mark.slow
def test_arms_that_hide_something_are_named_in_one_note(ablated):
    (note,) = [note for note in ablated.notes if "full-context labels" in note]

    assert "fake/rehearsal (binary, none)" in note
    assert "fake/rehearsal (binary);" not in note


@pytest.mark.slow
def test_gains_of_arms_are_drawn_around_zero_with_their_table_behind(ablated):
    charts = [block for block in ablated.document.blocks if isinstance(block, Forest) and block.ends]

    assert len(charts) == 2
    for chart in charts:
        low, high = chart.ends or (0, 0)
        assert low == -high
        assert all(low <= (row.estimate or 0) <= high and "points" in row.written for row in chart.rows)
        assert chart.table.name.startswith("arms-")


@pytest.mark.slow
def test_arms_of_a_scalar_are_compared_by_its_fitted_verdicts():
    def value(query, context):
        return float(len(query)) + 100 * ("recipient" in context)

    run = judge("demo", value, elicitations=("scalar",), arms=(FULL, NO_CONTEXT))

    assert not len(report(run).arms)
    assert set(report(run, options=ReportOptions(fit_thresholds=True)).arms["metric"]) == {
        "accuracy",
        "recall_safe",
        "recall_unsafe",
    }


@pytest.mark.slow
def test_the_worst_disagreements_are_those_of_a_judge_that_was_shown_what_people_saw(tmp_path):
    run = judge("demo", "fake/rehearsal", arms="full without:recipient", out=tmp_path / "run")
    found = report(run).as_json()["disagreements"]

    assert len(found) == 10
    assert {one["judge"] for one in found} == {"fake/rehearsal (binary)"}
