"""Rows, ranks and notes of a leaderboard, of judges whose verdicts are written down."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.published import output_rows, released_rows, write
from tests.support.samples import some
from tests.support.worlds import World, always

import casewise
from casewise.api import RunOptions
from casewise.errors import BenchmarkError
from casewise.evaluate.judged_runs import ReportOptions, read_runs
from casewise.evaluate.leaderboard import (
    Leaderboard,
    LeaderboardRow,
    Leaderboards,
    accuracy_order,
    from_outputs,
    from_runs,
    leaderboard,
    leaderboards,
)
from casewise.judges.plan import Selection
from casewise.records import FULL, NO_CONTEXT
from casewise.stats.estimates import Estimate

# With fewer than ten queries there is no classifier on words, which takes a second.
WORLD = World(
    "board",
    ("ssssu", "uuuuu") * 8 + ("ssssu", "ssssu"),
    {
        "bold": always("s", 18),
        "good": ("s", "u") * 8 + ("s", "s"),
        "half": ("s", "?", "?", "?", "?", "?") * 3,
        "fair": ("s", "u") * 8 + ("?", "s"),
    },
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return WORLD.runs(tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="module")
def board(folders) -> Leaderboard:
    return leaderboard([*folders.values()], benchmark=WORLD.benchmark)


def row(accuracy=None, *, auroc=None, name="a", best=None, kind="run") -> LeaderboardRow:
    numbers = {
        metric: Estimate(metric, value, None, None, 90, 0, "made up")
        for metric, value in (("accuracy", accuracy), ("auroc", auroc))
        if value is not None
    }
    return LeaderboardRow(name, kind, "", numbers, None, 0, None, best, best)


def test_judges_stand_by_their_accuracy_and_one_that_is_mostly_unscored_has_no_rank(board, folders):
    good, fair, bold, half = board.rows

    assert [str(each.name) for each in board.rows] == [
        "good (binary)",
        "fair (binary)",
        "bold (binary)",
        "half (binary)",
    ]
    assert [each.value("accuracy") for each in (good, fair, bold)] == pytest.approx([1.0, 17 / 18, 10 / 18])
    assert [(each.best_rank, each.worst_rank) for each in (bold, half)] == [(2, 3), (None, None)]
    assert (good.best_rank, some(good.worst_rank) <= 2) == (1, True)
    assert (half.numbers, half.against_others, half.n_unscored, fair.n_unscored) == ({}, None, 15, 1)
    assert {each.kind for each in board.rows} == {"run"}
    assert (good.source, good.cost_usd, good.value("no such metric")) == (str(folders["good"]), None, None)


def test_a_judge_that_decides_half_of_the_items_is_ranked_and_one_that_decides_fewer_is_not(tmp_path):
    judges = {"half": ("s", "?") * 4, "fewer": ("s",) * 3 + ("?",) * 5}
    world = World("halves", ("sssss", "uuuuu") * 4, judges)
    rows = leaderboard([*world.runs(tmp_path).values()], benchmark=world.benchmark).rows

    assert {str(each.name): each.best_rank for each in rows} == {"half (binary)": 1, "fewer (binary)": None}


def test_a_row_has_the_errors_and_the_distance_from_the_lowest_cross_entropy(board):
    bold = board.rows[2]

    assert (bold.value("harm"), bold.value("over_refusal"), bold.value("unscored_rate")) == (1.0, 0.0, 0.0)
    assert (bold.value("right_flips"), bold.value("false_flips")) == (0.0, 0.0)
    assert "attainable_entropy" not in bold.numbers
    assert some(bold.against_others).estimate == pytest.approx(0.5, abs=0.1)
    assert bold.as_json()["rank"] == [2, 3]
    assert bold.as_json()["run"] == bold.source


def test_a_judge_of_probabilities_is_so_far_above_the_floor(tmp_path):
    guessed = World(
        "guessed", ("ssssu", "uuuuu") * 4, {"a": ("h", "l") * 4}, elicitation="probability", values={"h": 0.9, "l": 0.2}
    )
    (found,) = leaderboard([*guessed.runs(tmp_path).values()], benchmark=guessed.benchmark).rows
    entropy = -(0.8 * np.log(0.9) + 0.2 * np.log(0.1) + np.log(0.8)) / 2

    assert found.value("cross_entropy") == pytest.approx(entropy)
    assert 0 < some(found.value("cross_entropy_above_floor")) < entropy


def test_the_best_is_a_conclusion_of_judges_alone_or_of_chatbots_alone(board):
    found = some(board.conclusion())

    assert found.kind == "best"
    assert "good (binary)" in found.sentence
    assert board.conclusion(chatbots=True) is None
    assert [str(winner.name) for winner in board.winners] == ["good (binary)"]
    ranked = replace(
        board,
        rows=(row(0.9, best=1, name="a", kind="replies"), row(0.8, best=2, name="b", kind="replies"), row(0.9, best=1)),
    )
    assert some(ranked.conclusion(chatbots=True)).sentence == "a agrees most with people."
    assert ranked.conclusion() is None
    arms = replace(board, rows=(row(0.9, best=1), row(0.8, best=1, name="b"), row(0.7, best=2, name="c")), noun="arm")
    assert some(arms.conclusion()).sentence == (
        "These items do not tell which arm agrees most with people: it may be a or b. One of these agrees more often than c."
    )


@pytest.mark.slow
def test_only_the_items_that_all_were_asked_are_ranked(folders, tmp_path):
    few = casewise.judge(
        WORLD.benchmark, "constant:safe", out=tmp_path / "few",
        options=RunOptions(selection=Selection(limit=10)),
    )  # fmt: skip
    found = leaderboard([folders["good"], few], benchmark=WORLD.benchmark)

    assert found.n_items == 10
    assert "All numbers are over the 10 of 18 items that every run was asked." in found.notes
    exclude = leaderboard(
        [folders["good"], folders["fair"]], benchmark=WORLD.benchmark, options=ReportOptions(unscored="exclude")
    )
    assert exclude.n_items == 17
    assert "All numbers are over the 17 of 18 items that every run scored (--unscored exclude)." in exclude.notes
    clear = leaderboard([folders["good"]], benchmark=WORLD.benchmark, options=ReportOptions(items="clear"))
    assert clear.n_items == 18


@pytest.mark.slow
def test_arms_in_which_a_judge_saw_less_are_left_out_where_another_saw_all(tmp_path):
    run = casewise.judge(WORLD.benchmark, "constant:safe", arms=(FULL, NO_CONTEXT), out=tmp_path / "both")
    blind = casewise.judge(WORLD.benchmark, "constant:safe", arms=(NO_CONTEXT,), out=tmp_path / "blind")
    whole, every, alone = (
        leaderboard([runs], benchmark=WORLD.benchmark, arms=arms)
        for runs, arms in ((run, False), (run, True), (blind, False))
    )

    assert [len(each.rows) for each in (whole, every, alone)] == [1, 2, 1]
    assert (
        whole.notes[-1]
        == "Left out: 1 arm in which a judge saw less, or other content, than people; --arms includes them."
    )
    assert [any("Left out" in note for note in each.notes) for each in (every, alone)] == [False, False]
    assert any("full-context labels" in note for note in every.notes)
    assert every.noun == "arm"


def test_there_has_to_be_something_to_rank():
    with pytest.raises(BenchmarkError, match="there is nothing to rank"):
        leaderboard([])
    with pytest.raises(BenchmarkError, match="no item was asked of all of these judges"):
        leaderboard([], benchmark=WORLD.benchmark)


def test_judges_without_verdicts_come_last_by_how_well_they_order_items():
    rows = [row(auroc=0.6), row(0.5), row(auroc=0.9), row(0.8), row()]

    assert [rows.index(each) for each in sorted(rows, key=accuracy_order)] == [3, 1, 2, 0, 4]


# Published outputs.


def output(folder, values, *, judge="some-model"):
    return write(folder / f"safety_{judge}" / "output_binary.json", output_rows(values, judge=judge))


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return write(tmp_path_factory.mktemp("release") / "release.json", released_rows(20))


@pytest.mark.slow
def test_an_output_is_a_judge_of_the_items_that_it_answered(released, tmp_path):
    run = casewise.judge(released, "constant:safe", out=tmp_path / "run")
    runs = read_runs([run])
    whole, short = output(tmp_path, ["safe"] * 20), output(tmp_path, ["safe"] * 12, judge="short")
    judges, notes = from_outputs(runs, [whole, short], ReportOptions())

    assert ([judge.name for judge in judges], notes) == (["some-model (binary)", "short (binary)"], [])
    assert [(judge.kind, judge.source, int(judge.asked.sum()), judge.shows_all) for judge in judges] == [
        *(("output", str(whole), 20, True), ("output", str(short), 12, True)),
    ]
    assert judges[1].sample().unscored.sum() == 8
    board = leaderboard([run], outputs=[whole, short])
    assert {each.name: each.kind for each in board.rows} == {
        "constant:safe (binary)": "run",
        "some-model (binary)": "output",
    }
    assert "short (binary) lacks some of these items, so it is not on this board." in board.notes
    alone = leaderboard([], benchmark=released, outputs=[whole])
    assert [(each.name, each.kind, each.best_rank) for each in alone.rows] == [("some-model (binary)", "output", 1)]


def test_outputs_that_cannot_be_read_or_are_of_other_items_are_said(released, tmp_path):
    run = casewise.judge(released, "constant:safe", out=tmp_path / "run")
    broken = tmp_path / "output_binary.json"
    broken.write_text("{")
    others = write(
        tmp_path / "safety_other" / "output_binary.json",
        [each | {"query": f"other {place}"} for place, each in enumerate(output_rows(["safe"] * 4))],
    )
    good = output(tmp_path, ["safe"] * 20)
    _, notes = from_outputs(read_runs([run]), [broken, others, good], ReportOptions())
    none, alone = from_outputs(read_runs([run]), [broken, others], ReportOptions())

    assert notes[0].startswith("Not read, so not on this board: ")
    assert notes[1] == f"{others} holds no answer to any item of 'release', so it is not on this board."
    assert (none, alone) == ([], ["None of the 2 output files could be read as answers to the items of 'release'."])
    assert from_outputs(read_runs([run]), [], ReportOptions()) == ([], [])


def test_a_run_of_an_output_has_another_name_than_the_output(released, tmp_path):
    file = output(tmp_path, ["safe"] * 20)
    run = casewise.judge(released, f"recorded:{file}", out=tmp_path / "run")
    runs = read_runs([run])
    (recorded,), ((published,), _) = from_runs(runs, ReportOptions()), from_outputs(runs, [file], ReportOptions())

    assert (recorded.name, recorded.kind) == ("recorded:some-model (binary)", "run")
    assert published.name == "published:some-model (binary)"


# Several benchmarks.


def boards(*of_judges) -> Leaderboards:
    found: list[Any] = [
        SimpleNamespace(
            rows=tuple(row(accuracy, name=name) for name, accuracy in judges.items()),
            baselines=(row(0.5, name="Always safe"),) if place == 0 else (),
            benchmark=SimpleNamespace(title="demo"),
            nothing_scored=not judges,
            as_json=lambda: {"rows": []},
        )
        for place, judges in enumerate(of_judges)
    ]
    return Leaderboards(tuple(found))


def test_judges_on_every_benchmark_come_first_and_the_highest_mean_leads():
    both = boards({"a": 0.6, "b": 0.9, "c": 0.99}, {"a": 0.7, "b": 0.8, "d": None})

    assert list(both.rows) == ["b", "a", "c", "d"]
    assert [each and each.value("accuracy") for each in both.rows["c"]] == [0.99, None]
    assert [each and each.name for each in both.baselines["Always safe"]] == ["Always safe", None]
    assert (both.names, both.nothing_scored, boards({}, {}).nothing_scored) == (("demo", "demo #2"), False, True)
    assert list(both.as_json()["benchmarks"]) == ["demo", "demo #2"]


def test_runs_over_two_benchmarks_have_a_board_each(tmp_path):
    first, second = (
        World(name, (votes, "uuu") * 2, {"good": ("s", "u") * 2}).runs(tmp_path / name, kept=True)["good"]
        for name, votes in (("one", "sss"), ("two", "ssu"))
    )

    assert leaderboards([first, second, first]).names == ("one", "two")


# What a board of a few queries is over.

FEW = World(
    "few",
    ("sssss", "uuuuu", "ssssu", "suuuu", "sssuu", "ssuuu"),
    {"good": ("s", "u") * 3, "gap": ("s", "?", "s", "u", "s", "u"), "bold": always("s", 6)},
)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return FEW.runs(tmp_path_factory.mktemp("few"))


def board_of(*runs, **options):
    arms = options.pop("arms", False)
    return leaderboard([*runs], benchmark=FEW.benchmark, arms=arms, options=ReportOptions(**options))


def test_a_board_is_over_the_items_that_all_were_asked_or_scored_and_says_so(few):
    clear, scored, whole = (
        board_of(few["good"], few["gap"], **options) for options in ({"items": "clear"}, {"unscored": "exclude"}, {})
    )

    assert (clear.n_items, scored.n_items, whole.n_items) == (4, 5, 6)
    assert "All numbers are over the 5 of 6 items that every run scored (--unscored exclude)." in scored.notes
    assert "All numbers are over the 4 of 6 items that every run was asked." in clear.notes
    assert not any(note.startswith("All numbers are over") for note in whole.notes)
    assert [row.n_unscored for row in whole.rows] == [0, 1]
    assert [row.n_unscored for row in scored.rows] == [0, 0]
    assert (scored.unscored, whole.unscored, whole.labels) == ("exclude", "miss", "votes")
    assert (whole.label_policy, replace(whole, labels="votes,ties:safe").label_policy) == ("votes", "votes,ties:safe")
    assert {row.numbers["accuracy"].n for row in (*scored.rows, *scored.baselines)} == {5}


def test_baselines_stand_on_the_items_of_the_judges_and_have_no_rank(few):
    found = board_of(few["gap"], few["bold"], unscored="exclude")

    assert [(row.name, row.kind, row.best_rank, row.source, row.judge) for row in found.baselines] == [
        (name, "baseline", None, "", "") for name in ("The author's intent", "Always safe", "Always unsafe")
    ]
    # without the second item the labels are safe, safe, unsafe, safe, unsafe
    assert [row.value("accuracy") for row in found.baselines] == pytest.approx([1.0, 3 / 5, 2 / 5])
    assert [(row.name, row.judge) for row in found.rows] == [("gap (binary)", "gap"), ("bold (binary)", "bold")]
    assert (found.noun, found.agreed_with, found.nothing_scored) == ("judge", "people", False)
    assert replace(found, rows=(replace(found.rows[0], n_unscored=found.n_items),)).nothing_scored


def test_an_arm_that_shows_less_is_left_out_beside_one_that_shows_all_and_counted(tmp_path):
    def judge(query, context):
        return "safe" if context else "unsafe"

    both = casewise.judge(FEW.benchmark, judge, arms=(FULL, NO_CONTEXT), elicitations="binary", out=tmp_path / "both")
    blind = casewise.judge(FEW.benchmark, judge, arms=(NO_CONTEXT,), elicitations="binary", out=tmp_path / "blind")
    left_out = "Left out: 1 arm in which a judge saw less, or other content, than people; --arms includes them."

    whole, every, alone = board_of(both), board_of(both, arms=True), board_of(blind)
    assert [[row.name for row in board.rows] for board in (whole, every, alone)] == [
        ["python:judge (binary)"],
        ["python:judge (binary)", "python:judge (binary, none)"],
        ["python:judge (binary, none)"],
    ]
    assert [left_out in board.notes for board in (whole, every, alone)] == [True, False, False]
    assert [any("full-context labels" in note for note in board.notes) for board in (whole, every, alone)] == [
        False,
        True,
        True,
    ]
    assert (every.noun, whole.winners, [winner.name for winner in every.winners]) == (
        "arm",
        (),
        [every.rows[0].name],
    )


def test_the_json_of_a_board_has_its_people_its_picked_judge_and_its_policies(few):
    found = board_of(few["good"], few["bold"])
    content = found.as_json()

    assert (content["benchmark"], content["unscored_policy"], content["labels"], content["n_items"]) == (
        *("few", "miss", "votes", 6),
    )
    assert content["people"]["others"] == found.people.others == 4
    assert content["people"]["one_person"]["estimate"] == some(found.people.one_person).estimate
    assert list(content["picked"]) == ["good (binary)"]
    assert len(content["conclusions"]) == 1
    assert "winners" not in content
    assert [row["run"] for row in content["rows"]] == [str(few["good"]), str(few["bold"])]


def test_only_an_output_with_every_item_of_the_runs_is_on_the_board(tmp_path):
    release = write(tmp_path / "release.json", released_rows(6))
    whole, short = output(tmp_path, ["safe"] * 6), output(tmp_path, ["unsafe"] * 4, judge="short")
    run = casewise.judge(release, "constant:safe", out=tmp_path / "run")
    beside = leaderboard([run], outputs=[whole, short])
    alone = leaderboard([], benchmark=release, outputs=[whole, short])

    assert {row.name: (row.kind, row.source) for row in beside.rows} == {
        "constant:safe (binary)": ("run", str(run.path)),
        "some-model (binary)": ("output", str(whole)),
    }
    assert "short (binary) lacks some of these items, so it is not on this board." in beside.notes
    assert (beside.noun, beside.n_items, alone.n_items, len(alone.rows)) == ("judge", 6, 4, 2)
    assert not any("lacks some" in note for note in alone.notes)
    (_, cut), _ = from_outputs(read_runs([run]), [whole, short], ReportOptions())
    assert (cut.asked.tolist(), int(cut.sample().unscored.sum())) == ([True] * 4 + [False] * 2, 2)
