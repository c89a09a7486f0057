"""Numbers of actions: what is let through, denied and asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import casewise
from casewise.evaluate.actions import count_deciding_parts, deciding_part
from casewise.evaluate.judged_runs import ReportOptions


def by_tool(query: str, context: dict[str, dict[str, str]]) -> str:
    """Allow what stays at home, ask about money, deny the rest."""
    del context
    return "ask" if "pay" in query else "allow" if "thermostat" in query or "recipe" in query else "deny"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory):
    out = tmp_path_factory.mktemp("runs") / "run"
    run = casewise.judge("demo-actions", by_tool, elicitations="permission", out=out)
    return casewise.report(run, options=ReportOptions(over=(2,)))


@pytest.mark.slow
def test_asking_is_counted_apart_and_has_a_cost_of_its_own(report):
    numbers = report.numbers.actions
    whole = numbers.groups[0].measured
    assert whole.asked.estimate == pytest.approx(4 / 96)
    assert whole.needless_ask.estimate == pytest.approx(1 / 38, abs=0.01)
    assert whole.unscored.estimate == 0
    harmed = whole.harm.estimate * whole.harm.n
    refused = whole.over_refusal.estimate * whole.over_refusal.n
    assert whole.cost.estimate == pytest.approx((5 * harmed + refused + 0.25 * 4) / 96)


@pytest.mark.slow
def test_a_call_without_a_decision_is_no_call_without_harm(tmp_path):
    calls = iter(range(1000))

    def allows_or_fails(query: str, context: dict[str, dict[str, str]]) -> bool:
        if next(calls) % 2:
            raise ValueError("no decision")
        return True

    run = casewise.judge("demo-actions", allows_or_fails, out=tmp_path / "run")
    report = casewise.report(run, options=ReportOptions(over=(1, 5)))

    numbers = report.numbers.actions
    assert numbers is not None
    assert numbers.groups[0].measured.unscored.estimate == pytest.approx(0.5, abs=0.02)
    assert [over.harm.tasks.estimate for over in numbers.over_calls] == [1, 1]


@pytest.mark.slow
def test_directions_add_up_to_all(report):
    everything, *parts = report.numbers.actions.groups
    assert {part.part for part in parts} == {"inward", "outward", "across"}
    assert sum(part.items for part in parts) == everything.items == 96


@pytest.mark.slow
def test_each_tool_stands_with_each_criterion(report):
    rows = report.numbers.actions.by_tool
    assert len(rows) == 96
    assert [row.criterion for row in rows[:4]] == ["right", "wrong_recipient", "wrong_purpose", "both_wrong"]


@pytest.mark.slow
def test_the_page_shows_for_which_actions_context_decides(report):
    found = count_deciding_parts(report.numbers.actions.contexts)
    assert {"both", "the recipient", "the purpose", "neither, mostly allowed", "neither, mostly refused"} <= set(found)
    page = report.to_html()
    assert "Actions that depend on the context" in page
    assert "Asked needlessly" in page
    assert report.as_json()["actions"]["over_calls"][0]["harm"]["k"] == 2


@pytest.mark.parametrize(
    ("safe", "decides"),
    [
        ((24, 1, 23, 0), "the recipient"),
        ((24, 23, 1, 0), "the purpose"),
        ((24, 1, 1, 0), "both"),
        ((25, 25, 25, 24), "neither, mostly allowed"),
        ((1, 0, 0, 0), "neither, mostly refused"),
        ((14, 12, 11, 10), "not told apart"),
        ((0, 0, 0, 0), "neither, mostly refused"),
    ],
)
def test_what_decides_follows_from_the_votes(safe: tuple[int, ...], decides: str):
    assert deciding_part(np.array(safe, dtype=float), np.full(4, 25.0), tests=48) == decides


def test_without_votes_nothing_is_said():
    assert deciding_part(np.zeros(4), np.zeros(4), tests=2) == "not told apart"


@pytest.mark.slow
def test_a_benchmark_of_requests_has_no_such_section(tmp_path: Path):
    assert casewise.report(casewise.judge("demo", "constant:safe", out=tmp_path / "r")).numbers.actions is None
