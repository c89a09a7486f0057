"""The gate and the leaderboard from Python, with frames out."""

import pytest

import casewise
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.reports.document import from_document_folder


@pytest.fixture(scope="module")
def runs():
    return [casewise.judge("demo", name) for name in ("constant:safe", "constant:intended")]


@pytest.mark.slow
def test_a_gate_has_its_decision_and_a_frame_of_metrics(runs):
    safe, intended = runs

    found = casewise.gate(safe, intended, max_drop={"accuracy": 0.05})

    assert (found.decision, found.exit_code) == ("fail", 1)
    assert found.tables["gate-table"].select("name", "decision").rows() == [("accuracy", "fail")]
    assert casewise.gate(safe, intended, max_drop="accuracy=0.05").as_json() == found.as_json()
    with pytest.raises(ConfigurationError, match="no metric is called 'speed'"):
        casewise.gate(*runs, max_drop={"speed": 0.1})


@pytest.mark.slow
def test_a_leaderboard_has_a_frame_with_a_row_a_judge(runs):
    board = casewise.leaderboard(*runs)

    rows = board.rows
    assert rows["judge"].to_list() == ["constant:intended (binary)", "constant:safe (binary)"]
    assert (rows["accuracy_ci_low"] <= rows["accuracy"]).all()
    assert "Errors of constant:intended" in board._repr_html_()
    assert board.tables["board"].height == 2


@pytest.mark.parametrize("make", [casewise.report, casewise.compare, casewise.leaderboard])
def test_without_a_run_there_is_nothing_to_evaluate(make):
    with pytest.raises(BenchmarkError, match="give at least one run"):
        make()


@pytest.mark.slow
def test_a_page_says_how_to_make_it_again_without_the_path_of_a_machine(tmp_path, monkeypatch):
    run = casewise.judge("demo", "constant:safe", out=tmp_path / "runs" / "one").path
    monkeypatch.chdir(tmp_path)
    page = casewise.report(run).to_html()

    assert "casewise report runs/one" in page
    assert str(tmp_path) not in page
    assert from_document_folder(tmp_path.parent / "elsewhere") == "elsewhere"
