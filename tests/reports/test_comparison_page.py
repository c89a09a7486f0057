"""What stands on a comparison's page, on small worlds whose answers are laid down."""

from typing import Any

import pytest
from tests.support.pages import prose, sections_of, table_named
from tests.support.worlds import CLEAR, MIXED, World, always

from casewise.evaluate.comparison import ComparisonNumbers
from casewise.reports.comparison import accuracies, comparison_page, every_difference, matrix
from casewise.reports.document import Forest


def compared(folder, world):
    return ComparisonNumbers.from_runs([*world.runs(folder).values()], benchmark=world.benchmark)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("two"), MIXED.only("cautious", "kind"))


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("four"), MIXED)


@pytest.fixture(scope="module")
def told_apart(tmp_path_factory):
    judges = {"right": ("s", "u") * 30, "wrong": ("u", "s") * 30, "bold": always("s", 60)}
    return compared(tmp_path_factory.mktemp("apart"), World("w", CLEAR * 30, judges))


def sections(numbers) -> dict[str, Any]:
    return {**sections_of(comparison_page(numbers))}


def folds(numbers):
    return {fold.summary: fold.blocks for fold in sections(numbers)["all-numbers"].blocks}


def test_the_answer_comes_first_and_a_large_matrix_is_not_for_a_terminal(two, four, told_apart):
    assert [(name, part.first, part.brief) for name, part in sections(two).items()] == [
        ("answer", True, False),
        ("errors", False, True),
        ("differences", False, True),
        ("made", False, False),
        ("all-numbers", False, False),
    ]
    assert [sections(numbers)["differences"].brief for numbers in (told_apart, four)] == [True, False]
    assert str(comparison_page(four).title) == "4 judges compared on w"
    assert str(comparison_page(two).subtitle) == "16 items of 8 queries; labels: votes"


def test_the_answer_has_the_errors_of_the_most_accurate_judge_and_each_judge_best_first(two, four):
    for numbers, best, names in (
        (two, "kind", ["kind", "cautious"]),
        (four, "decided", ["decided", "kind", "cautious", "bold"]),
    ):
        blocks = sections(numbers)["answer"].blocks
        (chart,) = (block for block in blocks if isinstance(block, Forest))

        assert table_named(blocks, "first-errors").caption == f"Errors of {best} (binary)"
        assert [str(row.label) for row in chart.rows] == [f"{name} (binary)" for name in names]
        assert all(row.key for row in chart.rows)
        assert [str(name) for name, _ in accuracies(numbers)] == [f"{name} (binary)" for name in names]
    assert table_named(sections(two)["answer"].blocks, "first-errors").rows[0] == ("Harm", "0.0 %", "[0.0, 100.0]", "4")


def test_of_more_judges_than_a_page_has_room_for_five_are_drawn_and_pairs_stand_in_files(tmp_path):
    judges = {f"j{right}": ("s", "u") * right + ("u", "s") * (4 - right) for right in (0, 1, 2, 3)}
    judges |= {"bold": always("s", 8), "cautious": always("u", 8), "other": ("s", "s", "u", "u") * 2}
    seven = compared(tmp_path, World("w", CLEAR * 4, judges))
    (chart,) = (block for block in sections(seven)["answer"].blocks if isinstance(block, Forest))

    assert [row.key for row in chart.rows] == [True] * 5 + [False] * 2
    assert [*folds(seven)] == ["Every metric of every judge"]
    assert prose(matrix(seven))[0].endswith(
        "With more than 6 judges, --json and --tables have every metric and test of every pair."
    )


def test_the_next_step_is_more_queries_until_the_best_is_told_from_every_other(two, told_apart):
    assert "casewise power judges --from" in prose(sections(two)["answer"].blocks)[-1]
    assert "casewise power" not in prose(sections(told_apart)["answer"].blocks)[-1]


def test_differences_are_the_row_less_the_column_and_starred_where_the_interval_excludes_zero(four, told_apart):
    table = table_named(matrix(four), "differences-table")
    starred = table_named(matrix(told_apart), "differences-table")

    assert table.columns == ("Judge", "kind (binary)", "cautious (binary)", "bold (binary)")
    assert table.rows == (
        ("decided (binary)", "25.0 [-11.9, 45.7]", "50.0 [-5.4, 68.5]", "50.0 [-5.4, 68.5]"),
        ("kind (binary)", "", "25.0 [-14.1, 57.4]", "25.0 [-7.4, 52.6]"),
        ("cautious (binary)", "", "", "0.0 [-36.9, 36.9]"),
    )
    assert [row[0] for row in starred.rows] == ["right (binary)", "bold (binary)"]
    assert all(cell.endswith("]*") for cell in starred.rows[0][1:])
    assert prose(matrix(four))[0].endswith("all intervals of a metric contain the true difference.")
    assert "corrected for all 6 pairs" in prose(matrix(four))[0]


def test_one_pair_needs_no_correction(two):
    assert prose(matrix(two)) == [
        "The intervals are of differences on the same items. There is one pair, so they need no correction."
    ]


def test_each_metric_of_each_judge_stands_in_a_fold(two):
    every = folds(two)
    table = table_named(every["Every metric of every judge"], "side-by-side-table")

    assert [*every] == [
        "Every metric of every judge",
        "Every difference",
        "Items on which only one judge is right",
        "The cost ratio at which the cheaper judge changes",
    ]
    assert table.rows[:2] == (
        ("Accuracy", "cautious (binary)", "50.0 % [15.7, 84.3]", "16"),
        ("Accuracy", "kind (binary)", "75.0 % [29.1, 95.6]", "16"),
    )
    differences: Any = every_difference(two)
    assert differences.rows[0][1:] == ("Accuracy", "-25.0 points [-57.4, 14.1]")
    assert {row[1] for row in differences.rows if "lower is better" in row[1]} >= {"Unscored (lower is better)"}
    assert not [row for row in differences.rows if row[1] == "Accuracy (lower is better)"]


def test_items_that_one_judge_alone_has_right_and_the_ratio_at_which_the_cheaper_changes(two, four):
    right = table_named(folds(four)["Items on which only one judge is right"], "tests-table")
    ratios = table_named(folds(four)["The cost ratio at which the cheaper judge changes"], "turning-table")

    assert right.rows[1] == ("kind (binary)", "decided (binary)", "0", "4")
    assert ratios.rows[2][2:] == ("0.333 [0.000, 1.171]", "bold (binary)", "kind (binary)")
    assert ratios.rows[1][2:] == (
        "– (undefined: one is at least as good at both errors)",
        *("decided (binary)", "decided (binary)"),
    )
    assert table_named(folds(two)["Items on which only one judge is right"], "tests-table").rows == (
        ("cautious (binary)", "kind (binary)", "2", "6"),
    )


def test_the_errors_of_each_judge_are_over_the_items_that_all_were_asked(two):
    (table,) = sections(two)["errors"].blocks

    assert table.caption == "Errors of each judge on 16 items, 95 % intervals of each alone"
    assert table.rows[0] == ("cautious (binary)", "0.0 % [0.0, 60.2]", "100.0 % [39.8, 100.0]", "0.0 % [0.0, 36.9]")
