"""With which options runs are evaluated from Python, what a frame holds, and what a site shows of gated texts."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import casewise
from casewise.api.evaluating import AuditReport, BoardReport
from casewise.audits.subject import AuditOptions
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import ReportOptions, policy_of

INTENDED = ReportOptions(labels=policy_of("intended"))


@pytest.fixture
def evaluated(monkeypatch):
    """What each computation was asked."""
    calls = dict[str, Any]()

    def computes(name, *given, **options):
        calls[name] = (given, options)
        return name

    for name in ("JudgeNumbers.from_runs", "ComparisonNumbers.from_runs", "MultiverseNumbers.from_runs", "gate_runs", "leaderboard_of", "leaderboards_of", "audit_of"):  # fmt: skip
        monkeypatch.setattr(f"casewise.api.evaluating.{name}", partial(computes, name))
    monkeypatch.setattr("casewise.api.evaluating.output_files", lambda outputs: ("files", outputs))
    monkeypatch.setattr("casewise.api.evaluating.loaded_benchmark", lambda source: f"loaded {source}")
    return calls


@pytest.mark.parametrize(
    ("given", "options"), [({}, ReportOptions()), ({"labels": "intended"}, INTENDED), ({"options": INTENDED}, INTENDED)]
)
def test_runs_are_evaluated_under_the_labels_that_are_named(evaluated, given, options):
    casewise.report("a", benchmark="demo", **given)
    casewise.compare("a", "b", benchmark="demo", **given)
    casewise.gate("a", "b", max_drop="accuracy=0.1", benchmark="demo", **given)
    casewise.leaderboard("a", benchmark="demo", outputs="out", arms=True, **given)
    casewise.leaderboards("a", arms=True, **given)

    assert evaluated == {
        "JudgeNumbers.from_runs": ((("a",),), {"benchmark": "demo", "options": options}),
        "ComparisonNumbers.from_runs": ((("a", "b"),), {"benchmark": "demo", "options": options}),
        "gate_runs": (("a", "b"), {"max_drop": "accuracy=0.1", "max_unscored": 0.05, "benchmark": "demo", "options": options}),
        "leaderboard_of": ((("a",),), {"benchmark": "demo", "outputs": ("files", "out"), "arms": True, "options": options}),
        "leaderboards_of": ((("a",),), {"arms": True, "options": options}),
    }  # fmt: skip


def test_a_gate_a_board_and_an_audit_have_their_defaults(evaluated):
    casewise.gate("a", "b", max_drop="accuracy=0.1", max_unscored=0.0)
    casewise.leaderboard("a")
    casewise.leaderboards("a")
    casewise.policies("a", options=INTENDED)
    casewise.audit("demo", seed=3)
    assert evaluated["gate_runs"][1]["max_unscored"] == 0.0
    assert not evaluated["leaderboard_of"][1]["arms"]
    assert not evaluated["leaderboards_of"][1]["arms"]
    assert evaluated["MultiverseNumbers.from_runs"][1]["options"] == INTENDED
    assert evaluated["audit_of"] == (("loaded demo",), {"options": AuditOptions(seed=3)})
    casewise.policies("a")
    casewise.audit("demo", options=AuditOptions(seed=5))
    assert evaluated["MultiverseNumbers.from_runs"][1]["options"] == ReportOptions()
    assert evaluated["audit_of"][1] == {"options": AuditOptions(seed=5)}


@dataclass(frozen=True)
class Estimate:
    estimate: float
    ci_low: float
    ci_high: float


NO_PAGE: Any = None
"""Nothing is shown here."""


def board(*, restricted=False) -> Any:
    def row(name, kind, source, **numbers):
        facts = {"name": name, "kind": kind, "source": source, "best_rank": 1, "worst_rank": 2, "n_unscored": 0}
        return SimpleNamespace(**facts, cost_usd=0.5, numbers=numbers)

    rows = [
        row("linear", "run", "runs/linear", accuracy=Estimate(0.8, 0.7, 0.9)),
        row("bot", "replies", "runs/bot", accuracy=Estimate(0.6, 0.5, 0.7)),
        row("linear again", "run", "runs/linear"),
        row("published", "output", "outputs/output_score.json"),
    ]
    as_json = {"rows": [{"run": each.source} for each in rows]}
    numbers: Any = SimpleNamespace(rows=rows, benchmark=SimpleNamespace(restricted=restricted), as_json=lambda: as_json)
    return BoardReport(numbers, NO_PAGE, INTENDED)


def test_a_board_is_a_frame_with_the_ends_of_its_intervals():
    first = board().rows.row(0, named=True)

    assert first == {
        "judge": "linear",
        "kind": "run",
        "run": "runs/linear",
        "best_rank": 1,
        "worst_rank": 2,
        "n_unscored": 0,
        "cost_usd": 0.5,
        "accuracy": 0.8,
        "accuracy_ci_low": 0.7,
        "accuracy_ci_high": 0.9,
    }


@pytest.fixture
def laid_out(monkeypatch):
    """Pages as the text of what they were made of."""
    reported = list[Any]()

    def from_runs(runs, *, benchmark, options):
        reported.append((*runs, options))
        return runs[0]

    monkeypatch.setattr("casewise.api.evaluating.JudgeNumbers.from_runs", from_runs)
    page = partial(SimpleNamespace, without_exhibits="without texts")
    monkeypatch.setattr("casewise.api.evaluating.judge_page", lambda run: page(name=f"texts of {run}"))
    monkeypatch.setattr("casewise.api.evaluating.leaderboard_page", lambda _numbers, reports: str(reports))
    monkeypatch.setattr(
        "casewise.api.evaluating.html",
        lambda shown, *, path: f"{getattr(shown, 'name', shown)} at {path(Path('deep/run'))}",
    )
    return reported


@pytest.mark.parametrize(("restricted", "with_texts"), [(False, False), (True, False), (True, True)])
def test_a_site_has_a_report_a_run_and_texts_of_a_gated_benchmark_only_on_request(
    laid_out, tmp_path, restricted, with_texts
):
    (tmp_path / "site").mkdir()
    index = board(restricted=restricted).write_site(tmp_path / "site", with_texts=with_texts)

    assert index == tmp_path / "site" / "index.html"
    assert laid_out == [(Path("runs/linear"), INTENDED), (Path("runs/bot"), INTENDED)]
    reports = {"runs/linear": "report-1.html", "runs/bot": "report-2.html"}
    assert index.read_text() == f"{reports} at run"
    for run, file in reports.items():
        text = "without texts" if restricted and not with_texts else f"texts of {run}"
        assert (index.parent / file).read_text() == f"{text} at run"
    rows = json.loads((index.parent / "leaderboard.json").read_text())["rows"]
    assert [row["run"] for row in rows] == [*reports.values(), "report-1.html", "output_score.json"]


def test_a_site_overwrites_nothing(laid_out, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").touch()
    for taken in ("file", "full"):
        with pytest.raises(ConfigurationError, match=f"{taken} exists, and nothing is overwritten"):
            board().write_site(tmp_path / taken)
    assert laid_out == []


def test_an_audit_is_a_frame_of_its_findings_with_conclusions_of_those_and_of_what_was_left_out(monkeypatch):
    finding = SimpleNamespace(code="ties", part="labels", weight=0.5, title="Labels tie", advice="Ask more people.")
    numbers: Any = SimpleNamespace(findings=[finding], left_out=["wording"], as_json=lambda: {"n": 1})
    monkeypatch.setattr("casewise.api.evaluating.finding_made", lambda made: ("made", made.code))
    monkeypatch.setattr("casewise.api.evaluating.unchecked_finding", lambda part: ("unchecked", part))
    monkeypatch.setattr("casewise.api.evaluating.conclusions_json", list)
    audit = AuditReport(numbers, NO_PAGE)

    assert audit.as_json() == {"n": 1, "conclusions": [("made", "ties"), ("unchecked", "wording")]}
    assert audit.findings.rows() == [("ties", "labels", 0.5, "Labels tie", "Ask more people.")]
