"""The page of a decider's traffic, from made-up tests of drift."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.pages import prose, sections_of, table_named

from casewise.deciding.monitor import DriftTest, Monitoring
from casewise.reports.decider import SMALLEST, detectable, monitoring_page
from casewise.reports.document import Prose

FILE: Any = SimpleNamespace(
    judge=SimpleNamespace(name="J"), benchmark=SimpleNamespace(name="demo", n_queries=45, synthetic="by a program")
)


def drift(quantity, adjusted, smallest=0.25):
    return DriftTest(quantity, {"answer": 0.5}, {"answer": 0.75, "refuse": 0.25}, adjusted / 2, adjusted, smallest)


MOVED, STILL = drift("decisions", 0.01), drift("scores", 0.5)


def monitored(*tests, **more):
    usual: dict[str, Any] = {"n": 200, "other_deciders": 0, "torn": 0, "failed": {}, "unmeasured": {}, "needed": 385}
    return monitoring_page(Monitoring(tests=tests, **usual | more), FILE, half_width=0.05).rendered()


@pytest.mark.parametrize(
    ("tests", "sentence"),
    [
        (
            (MOVED, STILL, drift("categories", 0.02)),
            "Traffic differs from the benchmark in decisions, categories: measurements and promises do not cover it.",
        ),
        (
            (STILL, drift("categories", 0.5, None)),
            (
                "No difference from the benchmark is shown (2 tests, corrected by Holm, at 0.05). With 200 requests and 45 queries of "
                "the benchmark, the tests find a shift in scores of 25.0 % of requests with a probability of 80 %. A smaller shift is "
                "possible."
            ),
        ),
        ((), "Too little traffic to compare with the benchmark: it takes 30 requests."),
    ],
)
def test_the_first_sentence_is_where_traffic_differs_or_what_the_tests_could_have_found(tests, sentence):
    first, *more = sections_of(monitored(*tests))["moved"].blocks

    assert isinstance(first, Prose)
    assert (first.text, first.notice) == (sentence, True)
    assert prose(more) == ([SMALLEST] if tests else [])


def test_tests_that_find_no_shift_show_nothing_and_each_shift_is_named():
    def words(*tests):
        return detectable(Monitoring(1, 0, 0, tests, {}, {}, 1), FILE)

    assert words(drift("scores", 0.5, None)) == (
        "With 1 request and 45 queries of the benchmark, the tests find no shift of any size with a probability of 80 %, so this result "
        "shows nothing."
    )
    assert "find a shift in scores of 25.0 %, or in decisions of 25.0 % of requests" in words(STILL, MOVED)


def test_each_value_has_its_share_in_traffic_and_in_the_benchmark():
    page = monitored(MOVED)

    assert table_named(page.sections[0].blocks, "drift").rows == (
        ("decisions", "answer", "50.0 %", "75.0 %", "0.0050", "0.0100", "25.0 %"),
        ("decisions", "refuse", "–", "25.0 %", "0.0050", "0.0100", "25.0 %"),
    )
    assert [(part.anchor, part.brief) for part in page.sections] == [("moved", True), ("kinds", True), ("next", True)]
    assert page.title == "A decider's traffic"
    assert page.subtitle == "200 decisions of the decider of J, fitted on demo."
    assert [notice.partition(":")[0] for notice in page.notices] == ["SYNTHETIC DATA"]


def test_lines_that_are_left_out_and_requests_that_were_not_measured_are_counted():
    page = monitored(
        STILL, other_deciders=3, torn=1, unmeasured={"a new category": 4}, failed={"unparsed": 2}, needed=1200
    )

    assert page.subtitle.endswith(
        "fitted on demo. Left out: 3 lines of other deciders. Left out as incomplete: 1 line."
    )
    assert table_named(page.sections[1].blocks, "kinds").rows == (("a new category", "4"), ("no value: unparsed", "2"))
    assert prose(page.sections[2].blocks)[0].startswith(
        "To know what share of this traffic is decided wrongly to within 5.0 points, have people rate 1,200 requests drawn at random."
    )
