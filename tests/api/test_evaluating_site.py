"""The leaderboard as a static site."""

import json

import pytest

from casewise import api
from casewise.errors import ConfigurationError
from casewise.reports.document import Prose, Table
from casewise.storage.load import import_cases


@pytest.fixture
def gated(tmp_path):
    api.convert("demo", tmp_path / "gated")
    manifest = tmp_path / "gated" / "benchmark.json"
    said = json.loads(manifest.read_text())
    said["about"]["gated"] = True
    manifest.write_text(json.dumps(said))
    return tmp_path / "gated"


@pytest.mark.slow
def test_each_row_leads_to_its_report_without_gated_items_or_paths(gated, tmp_path):
    run = api.judge(str(gated), "constant:safe", out=tmp_path / "run")
    page = api.leaderboard(run).write_site(tmp_path / "site").read_text()

    assert '<a href="report-1.html">constant:safe (binary)</a>' in page
    report = (tmp_path / "site" / "report-1.html").read_text()
    assert "<h1>constant:safe (binary) on demo</h1>" in report
    assert 'class="exhibit"' in api.report(run).to_html()
    assert 'class="exhibit"' not in report
    written = "".join(path.read_text() for path in (tmp_path / "site").iterdir())
    assert str(tmp_path) not in written
    rows = json.loads((tmp_path / "site" / "leaderboard.json").read_text())["rows"]
    assert [row["run"] for row in rows] == ["report-1.html"]
    with pytest.raises(ConfigurationError, match="nothing is overwritten"):
        api.leaderboard(run).write_site(tmp_path / "site")


@pytest.mark.slow
def test_a_site_made_inside_a_run_folder_is_the_one_made_from_elsewhere(tmp_path, monkeypatch):
    run = api.judge("demo", "constant:safe", out=tmp_path / "run")
    elsewhere = api.leaderboard(run).write_site(tmp_path / "elsewhere").parent
    monkeypatch.chdir(tmp_path / "run")
    here = api.leaderboard(".").write_site(tmp_path / "here").parent

    def lines(page):
        return [line for line in page.read_text().splitlines() if "<svg" not in line]  # whose ids count on

    assert [lines(here / name) for name in ("index.html", "report-1.html")] == [
        lines(elsewhere / name) for name in ("index.html", "report-1.html")
    ]


def test_arms_that_omit_parameters_of_one_name_have_names_of_their_own(tmp_path):
    roles = {"sender": {"role": "a nurse"}, "recipient": {"role": "a ward's chatbot"}}
    rows = [{"query": f"Question {n}?", "label": ("safe", "unsafe")[n % 2], "context": roles} for n in range(6)]
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    benchmark = import_cases(tmp_path / "cases.jsonl")
    arms = ("full", "without:sender.role", "without:recipient.role")
    run = api.judge(benchmark, "constant:safe", out=tmp_path / "run", arms=arms)

    page = api.leaderboard(run, benchmark=benchmark, arms=True).to_markdown()
    assert "−sender.role" in page
    assert "−recipient.role" in page


@pytest.mark.slow
def test_rows_stand_by_their_rank_intervals_and_a_tie_for_first_is_said(tmp_path):
    names = ("constant:intended", "constant:intended", "constant:unsafe")
    board = api.leaderboard(*(api.judge("demo", name, out=tmp_path / str(place)) for place, name in enumerate(names)))
    blocks = [block for section in board.document.sections[:2] for block in section.blocks]
    ranks = [row[0] for block in blocks if isinstance(block, Table) and block.name == "board" for row in block.rows]
    intervals = sorted((row.best_rank, row.worst_rank) for row in board.numbers.rows)

    assert ranks == [str(a) if a == b else f"{a} to {b}" for a, b in intervals]
    (said,) = [block.text for block in blocks if isinstance(block, Prose) and "which judge agrees" in block.text]
    assert said == (
        "These items do not tell which judge agrees most with people: it may be constant:intended (binary) or constant:intended #2 (binary). One of these agrees more often than constant:unsafe (binary)."
    )
