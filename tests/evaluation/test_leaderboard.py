import json

import numpy as np
import pytest

import casewise
from casewise.evaluation.leaderboard import leaderboard
from casewise.evaluation.published_numbers import published_numbers
from casewise.evaluation.replay import replay
from casewise.reporting.faces.html import html
from casewise.reporting.pages.leaderboard import leaderboard_page
from casewise.stats.core.bootstrap import Resampling

FEW = Resampling(n_resamples=300)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("safe", "unsafe", "intended"):
        casewise.judge("demo", f"constant:{name}", out=folder / name)
    return [folder / name for name in ("safe", "intended", "unsafe")]


def test_the_best_comes_first_and_has_its_rank_alone(folders):
    board = leaderboard(folders, resampling=FEW)

    assert board.rows[0].name == "constant:intended (binary)"
    assert (board.rows[0].best_rank, board.rows[0].worst_rank) == (1, 1)
    assert all((row.best_rank, row.worst_rank) == (2, 3) for row in board.rows[1:])


def test_the_numbers_are_those_of_the_report(folders):
    board = leaderboard(folders, resampling=Resampling())

    metrics = casewise.report(folders[0]).metrics
    expected = {row["metric"]: row for row in metrics.to_dicts() if row["label_policy"] == "votes"}
    (row,) = [row for row in board.rows if row.name.startswith("constant:safe")]
    for name in ("accuracy", "recall_safe", "recall_unsafe"):
        assert row.numbers[name].estimate == expected[name]["estimate"]
        assert row.numbers[name].ci_low == expected[name]["ci_low"]
    assert row.numbers["over_refusal"].estimate == 0


def test_the_json_has_no_nan_and_names_the_runs(folders):
    value = json.loads(json.dumps(leaderboard(folders, resampling=FEW).as_json(), allow_nan=False))

    assert [row["rank"] for row in value["rows"]] == [[1, 1], [2, 3], [2, 3]]
    assert value["published"] is None


def test_the_page_says_that_the_data_are_synthetic_and_has_every_judge(folders):
    page = html(leaderboard_page(leaderboard(folders, resampling=FEW)))

    assert "SYNTHETIC" in page
    assert all(f"constant:{name}" in page for name in ("safe", "unsafe", "intended"))
    assert ">nan<" not in page


def test_published_numbers_are_those_of_the_released_outputs(shared):
    known = {(judge.name, judge.elicitation, bool(judge.omitted)): judge for judge in published_numbers().judges}
    for path in sorted((shared / "data" / "published_outputs").rglob("*.json")):
        found = replay(path, resampling=FEW)
        judge = known[found.judge, found.elicitation, bool(found.omitted)]
        assert judge.published == pytest.approx(found.published, abs=1e-6)
        assert judge.votes == pytest.approx({k: v.estimate for k, v in found.votes.items()}, abs=1e-6)


def test_what_is_missing_from_the_published_numbers_is_said():
    numbers = published_numbers()

    assert numbers.missing
    assert all(0 <= value <= 1 for judge in numbers.judges for value in (judge.published["accuracy"],))
    assert np.isfinite([v for judge in numbers.judges for v in judge.published.values()]).all()
