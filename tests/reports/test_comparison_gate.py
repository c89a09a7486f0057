"""The pages of a gate and of bounds on attacks, and what continuous integration reads, from made-up decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from casewise.errors import ConfigurationError
from casewise.evaluate.comparison import GateReport
from casewise.evaluate.robustness import Bound, RequiredRobustness
from casewise.reports.comparison import (
    CIReport,
    GateDecision,
    bounds_suite,
    gate_page,
    gate_subject,
    gate_suite,
    required_page,
    what_would_decide,
)
from casewise.stats.comparison import Gate, GatedMetric, MetricGate
from casewise.stats.estimates import Estimate

ACCURACY = MetricGate(GatedMetric("accuracy"), 0.9, 0.85, 0.05, 0.02, 0.08, 0.1, 0.03, 90, "made up")
AUROC = MetricGate(GatedMetric("auroc"), 0.95, 0.9, 0.05, 0.03, 0.07, 0.01, 0.03, 90, "made up")
STRICT = MetricGate(GatedMetric("harm", "strict"), 0.1, 0.2, 0.1, -0.05, 0.25, 0.1, 0.2, 90, "made up")


def share(value, low=None, high=None):
    return Estimate("share", value, low, high, 40.0, 0, "made up")


def report(*metrics, **more):
    usual: dict[str, Any] = {
        "run": "new",
        "baseline": "old",
        "benchmark": "demo",
        "digest": "d",
        "labels": "votes",
        "unscored": "miss",
        "gate": Gate(metrics or (ACCURACY, AUROC, STRICT), 90, 45),
        "left_out": 0,
        "missing": 0,
        "unfinished": (),
        "nothing_scored": False,
        "unscored_shares": (0.0, 0.1),
        "max_unscored": 0.5,
        "errors": {GatedMetric("harm"): (share(0.1, 0.0, 0.2), share(0.2, 0.1, 0.3))},
        "notes": ("A note.",),
    }
    return CIReport(GateReport(**usual | more), gate_page, gate_suite)


def test_a_gate_has_a_row_for_each_metric_with_its_drop_and_what_is_allowed():
    page = report().document
    metrics, errors = page.tables()

    assert (page.title, str(page.subtitle), page.notices) == (
        "Gate: FAIL",
        "new against old on demo, 90 items",
        ("A note.",),
    )
    assert metrics.columns == ("Metric", "Baseline", "Run", "Drop, with bounds", "Allowed", "Decision")
    assert metrics.rows[0][1:] == ("90.0 %", "85.0 %", "5.0 points [2.0, 8.0]", "10.0 points", "pass")
    assert metrics.rows[1][1:] == ("0.950", "0.900", "0.050 [0.030, 0.070]", "0.010", "fail")
    assert metrics.rows[2] == (
        "Harm (strict)",
        "10.0 %",
        "20.0 %",
        "10.0 points [-5.0, 25.0]",
        "10.0 points",
        "inconclusive",
    )
    assert metrics.frame["decision"].to_list() == ["pass", "fail", "inconclusive"]
    (answer,) = page.sections
    lead: Any = answer.blocks[0]
    assert (answer.brief, lead.lead, lead.text) == (True, True, report().numbers.sentence())
    assert errors.rows == (("Harm", "10.0 % [0.0, 20.0]", "20.0 % [10.0, 30.0]"), ("Unscored", "0.0 %", "10.0 %"))


@pytest.mark.parametrize(
    ("metrics", "decision", "code"),
    [((ACCURACY,), "pass", 0), ((ACCURACY, AUROC), "fail", 1), ((STRICT,), "inconclusive", 3)],
)
def test_the_decision_is_the_exit_code(metrics, decision, code):
    assert (report(*metrics).decision, int(report(*metrics).exit_code)) == (decision, code)


def test_junit_has_a_case_for_each_decision_a_failure_for_what_fails_and_an_error_for_what_is_not_told():
    suite = ET.fromstring(report().to_junit())
    cases = {case.get("name"): [(child.tag, child.get("message")) for child in case] for case in suite}

    assert suite.attrib == {"name": "new against old on demo", "tests": "3", "failures": "1", "errors": "1"}
    assert cases["accuracy"] == []
    assert cases["auroc"] == [
        ("failure", "auroc is 0.900, and 0.950 in the baseline: a drop of 0.050 [0.030, 0.070]; allowed: 0.010")
    ]
    assert [kind for kind, _ in cases["harm (strict)"]] == ["error"]
    assert {case.get("classname") for case in suite} == {"casewise.gate"}


def test_a_run_that_has_not_finished_is_a_decision_of_its_own():
    found = report(ACCURACY, missing=4)

    assert [decided.name for decided in gate_suite(found.numbers)[1]] == ["finished", "accuracy"]
    assert found.decision == "inconclusive"


def test_annotations_are_lines_that_githubs_log_can_read():
    first, second, third = report().annotations

    assert first == (
        "::notice title=casewise gate%2C accuracy%3A pass::accuracy is 85.0 %25, and 90.0 %25 in the baseline: "
        "a drop of 5.0 points [2.0, 8.0]; allowed: 10.0 points"
    )
    assert second.startswith("::error title=")
    assert third.startswith("::warning title=")


def test_a_summary_is_added_to_the_end_of_a_file(tmp_path):
    (tmp_path / "summary.md").write_text("before\n")
    report().add_summary(tmp_path / "summary.md")

    assert (tmp_path / "summary.md").read_text() == f"before\n{report().to_markdown()}\n"
    with pytest.raises(ConfigurationError, match="summary"):
        report().add_summary(tmp_path / "none" / "summary.md")


BROKEN = Bound("safe", 0.1, "claim:a", share(0.3, 0.2, 0.4), 12)
KEPT = Bound("unsafe", 0.5, "claim:b", share(0.1, 0.05, 0.15), 12)
OPEN = Bound("silenced", 0.2, "claim:c", share(0.1, 0.02, 0.3), 12)


def required(*bounds):
    return RequiredRobustness("judge", "demo", "none", bounds, ("A note.",))


@pytest.mark.parametrize(
    ("bounds", "title", "lead"),
    [
        ((BROKEN, KEPT), "fail: judge under attack", "Under at least one attack the lower limit is above the bound."),
        ((KEPT,), "pass: judge under attack", "Under every attack the upper limit is at most the bound."),
        (
            (OPEN, KEPT),
            "inconclusive: judge under attack",
            "Undecided: an upper limit is above a bound, and no lower limit is.",
        ),
    ],
)
def test_bounds_are_decided_by_the_attack_with_the_largest_limit(bounds, title, lead):
    page = required_page(required(*bounds))
    first: Any = page.sections[0].blocks[0]

    assert (page.title, page.subtitle, page.notices) == (title, "demo; defence: none", ("A note.",))
    assert (first.text, first.lead, page.sections[0].brief) == (lead, True, True)


def test_each_bound_has_a_row_and_a_decision_for_continuous_integration():
    (table,) = required_page(required(BROKEN, OPEN)).tables()
    subject, decisions = bounds_suite(required(BROKEN))

    assert table.rows[0] == ("turned towards safe", "10.0 %", "claim:a", "30.0 % [20.0, 40.0]", "12", "fail")
    assert table.rows[1][-1] == "inconclusive"
    assert subject == "judge under attack on demo; defence: none"
    assert decisions[0].text == "turned towards safe: 30.0 % [20.0, 40.0] under claim:a; allowed: 10.0 %"


def test_an_open_bound_says_how_many_queries_and_repeats_would_decide_it():
    few, repeats, meaning = what_would_decide(required(OPEN))

    assert few == (
        "If the share verdicts silenced stays the same, about 4.0 times as many queries show that it is within the bound."
    )
    assert "casewise attack with a higher --repeats" in repeats
    assert meaning.startswith("Each share is what exceeds noise")
    assert len([*what_would_decide(required(replace(OPEN, at_most=0.11)))]) == 2
    assert len([*what_would_decide(required(KEPT))]) == 1


FAR = Bound("silenced", 0.1, "claim:c", share(0.0, 0.0, 0.324), 12)
UNKNOWN = Bound("silenced", 0.2, "claim:d", share(None), 12)


@pytest.mark.parametrize(
    ("bounds", "repeats", "queries"),
    [((OPEN, UNKNOWN), 1, 1), ((FAR,), 1, 0), ((UNKNOWN,), 0, 0), ((OPEN, BROKEN), 0, 1), ((OPEN, KEPT, OPEN), 1, 2)],
)
def test_queries_are_said_of_each_bound_within_reach_and_repeats_where_a_share_is_known_and_none_fails(
    bounds, repeats, queries
):
    words = [*what_would_decide(required(*bounds))]

    assert sum("--repeats" in sentence for sentence in words) == repeats
    assert sum("times as many queries" in sentence for sentence in words) == queries
    assert len(words) == repeats + queries + 1


def test_what_xml_or_a_line_cannot_hold_is_replaced():
    odd = CIReport(
        GateReport(**vars(report().numbers) | {"run": "a\0b", "benchmark": "100 %\r\nof"}), gate_page, gate_suite
    )
    finished = GateDecision("a:b,c", "fail", "50 %\nof\x01")
    suite = replace(odd, suite=lambda numbers: (gate_subject(numbers), [finished]))

    assert suite.to_junit().splitlines() == [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<testsuite name="a\ufffdb against old on 100 %&#13;&#10;of" tests="1" failures="1" errors="0">',
        '  <testcase classname="casewise.gate" name="a:b,c">',
        '    <failure message="50 %&#10;of\ufffd" />',
        "  </testcase>",
        "</testsuite>",
    ]
    assert suite.annotations == ("::error title=casewise gate%2C a%3Ab%2Cc%3A fail::50 %25%0Aof\x01",)
