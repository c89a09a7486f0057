import json

import pytest
from tests.support.published import output_rows, released_rows, write
from tests.support.samples import some

import casewise
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.leaderboard import leaderboard
from casewise.evaluate.replay import replay
from casewise.records import Arm
from casewise.reports.formats import html
from casewise.reports.leaderboard import leaderboard_page


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("safe", "unsafe", "intended"):
        casewise.judge("demo", f"constant:{name}", out=folder / name)
    return [folder / name for name in ("safe", "intended", "unsafe")]


@pytest.fixture(scope="module")
def board(folders):
    return leaderboard(folders)


@pytest.mark.slow
def test_the_best_comes_first_and_has_its_rank_alone(board):
    value = json.loads(json.dumps(board.as_json(), allow_nan=False))
    page = html(leaderboard_page(board))

    assert board.rows[0].name == "constant:intended (binary)"
    assert [row["rank"] for row in value["rows"]] == [[1, 1], [2, 3], [2, 3]]
    assert "SYNTHETIC" in page
    assert all(f"constant:{name}" in page for name in ("safe", "unsafe", "intended"))
    assert ">nan<" not in page
    assert not any("full-context labels" in note for note in board.notes)


@pytest.mark.slow
def test_the_numbers_are_those_of_the_report(board, folders):
    metrics = casewise.report(folders[0]).metrics
    expected = {row["metric"]: row for row in metrics.to_dicts() if row["label_policy"] == "votes"}
    (row,) = [row for row in board.rows if row.name.startswith("constant:safe")]
    for name in ("accuracy", "recall_safe", "recall_unsafe"):
        assert row.numbers[name].estimate == expected[name]["estimate"]
        assert row.numbers[name].ci_low == expected[name]["ci_low"]
    assert row.numbers["over_refusal"].estimate == 0


@pytest.mark.slow
def test_judges_that_were_shown_less_are_said_to_be_against_full_context_labels(tmp_path):
    casewise.judge("demo", "linear", arms=(Arm(), Arm.without("recipient")), out=tmp_path / "arms")

    board = leaderboard([tmp_path / "arms"], arms=True)
    (note,) = [note for note in board.notes if "full-context labels" in note]

    alone = leaderboard([tmp_path / "arms"])
    assert (len(board.rows), len(alone.rows)) == (2, 1)
    assert any("Left out: 1 arm" in note for note in alone.notes)
    assert note.endswith("labels: linear (probability, without:recipient).")


@pytest.mark.slow
def test_a_judge_without_verdicts_stands_last_by_what_it_gives_and_has_no_rank(folders, tmp_path):
    casewise.judge("demo", lambda query, context: len(str(context)) - 9.5, elicitations=("scalar",), out=tmp_path / "s")
    board = leaderboard([tmp_path / "s", *folders[:2]])

    assert board.rows[-1].name.endswith("(scalar)")
    assert board.rows[-1].best_rank is None
    assert "accuracy" not in board.rows[-1].numbers
    assert 0 < some(board.rows[-1].value("auroc")) < 1
    assert "no verdicts" in html(leaderboard_page(board))
    assert json.dumps(board.as_json(), allow_nan=False)


@pytest.mark.slow
def test_a_board_of_values_without_verdicts_alone_ranks_nobody(tmp_path):
    run = casewise.judge("demo", lambda query, context: len(str(context)) - 9.5, elicitations=("scalar",))

    assert [row.best_rank for row in leaderboard([run.path]).rows] == [None]
    fitted = leaderboard([run.path], options=ReportOptions(fit_thresholds=True))
    assert fitted.rows[0].best_rank == 1


@pytest.mark.slow
def test_what_needs_no_judge_stands_on_every_board(board):
    found = {row.name: row for row in board.baselines}
    judged = {row.name: row for row in board.rows}

    assert list(found) == ["Words alone", "The author's intent", "Always safe", "Always unsafe"]
    assert all(row.best_rank is None for row in board.baselines)
    for baseline, judge in (
        ("Always safe", "constant:safe (binary)"),
        ("The author's intent", "constant:intended (binary)"),
    ):
        assert found[baseline].value("accuracy") == judged[judge].value("accuracy")
        assert found[baseline].against_others == judged[judge].against_others
    person = some(board.people.one_person)
    assert 0.5 < some(person.ci_low) < some(person.estimate) < some(person.ci_high) < 1


@pytest.mark.slow
def test_on_a_subset_of_the_items_everyone_is_measured_there(board, folders):
    clear = leaderboard(folders, options=ReportOptions(items="clear"))

    assert clear.n_items < board.n_items
    assert {row.numbers["accuracy"].n for row in (*clear.rows, *clear.baselines)} == {clear.n_items}
    assert any("'clear'" in note for note in clear.notes)


@pytest.fixture
def released(tmp_path):
    return write(tmp_path / "release.json", released_rows())


def output(folder, mode, values, judge="some-model"):
    return write(folder / f"safety_{judge}" / f"output_{mode}.json", output_rows(values, judge=judge))


@pytest.mark.slow
def test_published_judges_are_ranked_with_the_runs_from_the_outputs_that_a_user_has(released, tmp_path):
    files = [output(tmp_path, "binary", ["safe"] * 90), output(tmp_path, "score", [7.0] * 45 + [2.0] * 44 + [""])]
    run = casewise.judge(released, "constant:safe", out=tmp_path / "run")
    board = leaderboard([run.path], outputs=files)
    rows = {row.name: row for row in board.rows}

    assert set(rows) == {"constant:safe (binary)", "some-model (binary)", "some-model (score)"}
    assert rows["some-model (binary)"].value("accuracy") == rows["constant:safe (binary)"].value("accuracy")
    assert rows["some-model (score)"].n_unscored == 1
    assert all(row.best_rank is not None for row in board.rows)


@pytest.mark.slow
def test_a_run_of_an_output_and_the_output_itself_have_two_names_on_the_page(released, tmp_path):
    file = output(tmp_path, "binary", ["safe"] * 90)
    run = casewise.judge(released, f"recorded:{file}", out=tmp_path / "run")
    board = leaderboard([run.path], outputs=[file])

    assert {row.name for row in board.rows} == {"recorded:some-model (binary)", "published:some-model (binary)"}
    assert "published:some-model (binary)" in html(leaderboard_page(board))


@pytest.mark.slow
def test_published_judges_need_no_run_beside_them(released, tmp_path):
    board = leaderboard([], benchmark=released, outputs=[output(tmp_path, "binary", ["safe", "unsafe"] * 45)])

    assert [row.kind for row in board.rows] == ["output"]
    with pytest.raises(BenchmarkError, match="give at least one run"):
        leaderboard([])


@pytest.mark.slow
def test_an_output_that_cannot_be_read_or_is_short_is_named_and_left_out(released, tmp_path):
    good = output(tmp_path, "binary", ["safe"] * 90)
    short = output(tmp_path, "binary", ["safe"] * 60, judge="half")
    broken = tmp_path / "output_binary.json"
    broken.write_text("{", encoding="utf-8")
    run = casewise.judge(released, "constant:safe", out=tmp_path / "run")
    board = leaderboard([run.path], outputs=[good, short, broken])

    assert len(board.rows) == 2
    assert any("half (binary) lacks" in note for note in board.notes)
    assert any("Not read" in note for note in board.notes)


@pytest.mark.slow
def test_the_folder_of_outputs_is_found_by_its_variable(released, tmp_path, monkeypatch):
    output(tmp_path / "exp", "binary", ["safe"] * 90)
    run = casewise.judge(released, "constant:safe", out=tmp_path / "run")
    monkeypatch.setenv("CASEWISE_OUTPUTS", str(tmp_path / "exp"))

    assert len(casewise.leaderboard(run).rows) == 2
    assert len(casewise.leaderboard(run, outputs=()).rows) == 1
    monkeypatch.setenv("CASEWISE_OUTPUTS", str(tmp_path / "gone"))
    with pytest.raises(ConfigurationError, match="CASEWISE_OUTPUTS"):
        casewise.leaderboard(run)


@pytest.mark.slow
def test_outputs_without_the_releases_words_are_matched_by_place(shared):
    files = sorted((shared / "data" / "published_outputs").rglob("*.json"))
    board = leaderboard([], benchmark=shared / "data" / "casebench_shapes.json", outputs=files, arms=True)
    rows = {row.name: row for row in board.rows}

    assert len(rows) == 6
    for path in files:
        found = replay(path)
        name = f"{found.judge} ({found.elicitation}{f', {omitted}' if (omitted := arm_of(found.omitted)) else ''})"
        assert rows[name].value("accuracy") == pytest.approx(found.votes["accuracy"].estimate)


def arm_of(omitted):
    return Arm.without(*omitted).name if omitted else ""


def test_where_each_item_has_one_vote_nothing_is_said_of_one_person(tmp_path):
    cases = [{"query": f"{n}?", "label": "safe" if n % 2 else "unsafe"} for n in range(6)]
    run = casewise.judge(casewise.load_frame(cases), "constant:safe", out=tmp_path / "run")
    page = casewise.leaderboard(run).to_markdown()

    assert "Against 1 person" not in page
    assert "person" not in page
