"""What stands on a comparison's page, on small worlds whose answers are laid down."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.support.pages import prose, sections_of, table_named
from tests.support.worlds import BY_NAME, CLEAR, MIXED, World, always

from casewise.evaluate.comparison import ComparisonNumbers
from casewise.reports.comparison import accuracies, comparison_page, every_difference, matrix
from casewise.reports.document import Forest, Prose, Table


def compared(folder, world):
    return ComparisonNumbers.from_runs([*world.runs(folder).values()], benchmark=world.benchmark)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("two"), MIXED.only("cautious", "kind"))


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("four"), MIXED)


def right_and_wrong(folder, *, queries):
    judges = {"right": ("s", "u") * queries, "wrong": ("u", "s") * queries, "bold": always("s", 2 * queries)}
    return compared(folder, World("w", CLEAR * queries, judges))


@pytest.fixture(scope="module")
def told_apart(tmp_path_factory):
    return right_and_wrong(tmp_path_factory.mktemp("apart"), queries=10)


@pytest.fixture(scope="module")
def one_told_apart(tmp_path_factory):
    """Of the best judge and two others; the third may be as good."""
    return right_and_wrong(tmp_path_factory.mktemp("one apart"), queries=8)


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    judges = {f"j{right}": ("s", "u") * right + ("u", "s") * (4 - right) for right in (0, 1, 2, 3)}
    judges |= {"bold": always("s", 8), "cautious": always("u", 8), "other": ("s", "s", "u", "u") * 2}
    return compared(tmp_path_factory.mktemp("seven"), World("w", CLEAR * 4, judges))


@pytest.fixture(scope="module")
def scalars(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("scalars"), BY_NAME["values without a threshold"])


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    judges = {"good": ("s", "u") * 4, "fair": ("s", "u", "u", "s") * 2, "silent": always("?", 8)}
    world = World("w", CLEAR * 4, judges)
    return world.benchmark, world.runs(tmp_path_factory.mktemp("silent"))


def among(numbers, n):
    """The comparison of the first `n` judges alone."""
    comparison = numbers.comparison
    names = comparison.names[:n]
    pairs = tuple(pair for pair in comparison.pairs if {pair.first, pair.second} <= {*names})
    of_names = {name: comparison.estimates[name] for name in names}
    return replace(numbers, comparison=replace(comparison, names=names, pairs=pairs, estimates=of_names))


def with_pairs(numbers, *pairs):
    return replace(numbers, comparison=replace(numbers.comparison, pairs=pairs))


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

        assert [block.lead for block in blocks if isinstance(block, Prose)] == [True] + [False] * (
            len(numbers.sentences) > 1
        ) + [False]
        assert table_named(blocks, "first-errors").caption == f"Errors of {best} (binary)"
        assert [str(row.label) for row in chart.rows] == [f"{name} (binary)" for name in names]
        assert all(row.key for row in chart.rows)
        assert [str(name) for name, _ in accuracies(numbers)] == [f"{name} (binary)" for name in names]
    assert table_named(sections(two)["answer"].blocks, "first-errors").rows[0] == ("Harm", "0.0 %", "[0.0, 100.0]", "4")


def test_of_more_judges_than_a_page_has_room_for_five_are_drawn_and_pairs_stand_in_files(seven):
    (chart,) = (block for block in sections(seven)["answer"].blocks if isinstance(block, Forest))
    six = among(seven, 6)

    assert [row.key for row in chart.rows] == [True] * 5 + [False] * 2
    assert [*folds(seven)] == ["Every metric of every judge"]
    assert prose(matrix(seven))[0].endswith(
        "With more than 6 judges, --json and --tables have every metric and test of every pair."
    )
    assert len(folds(six)) == 4
    assert "With more than 6 judges" not in prose(matrix(six))[0]


def test_the_next_step_is_more_queries_until_the_best_is_told_from_every_other(two, told_apart, one_told_apart):
    for numbers in (two, one_told_apart):
        assert prose(sections(numbers)["answer"].blocks)[-1].startswith("Next: casewise power judges --from")
    assert table_named(matrix(one_told_apart), "differences-table").rows == (
        ("right (binary)", "50.0 [-5.4, 68.5]", "100.0 [26.1, 100.0]*"),
        ("bold (binary)", "", "50.0 [-5.4, 68.5]"),
    )
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


def test_a_judge_that_is_never_right_is_ranked_last(told_apart):
    ranked = [(str(name), accuracy.estimate) for name, accuracy in accuracies(told_apart)]

    assert ranked == [("right (binary)", 1.0), ("bold (binary)", 0.5), ("wrong (binary)", 0.0)]


def test_a_pair_without_a_test_or_a_ratio_has_no_row_of_it(four):
    first, second, *others = four.comparison.pairs
    alike = replace(second.turning_point, cheaper_below=None, cheaper_above=None)
    lacking = replace(first, test=None, turning_point=None)
    page = folds(with_pairs(four, lacking, replace(second, turning_point=alike), *others))

    tested = table_named(page["Items on which only one judge is right"], "tests-table")
    ratios = table_named(page["The cost ratio at which the cheaper judge changes"], "turning-table")
    assert (len(tested.rows), len(tested.frame), len(ratios.rows)) == (5, 5, 5)
    assert ratios.rows[0][-2:] == ("neither", "neither")
    none = folds(with_pairs(four, *(replace(pair, test=None, turning_point=None) for pair in four.comparison.pairs)))
    assert [*none] == ["Every metric of every judge", "Every difference"]


def test_judges_of_values_alone_have_no_matrix_of_accuracies_and_nothing_decided(scalars):
    blocks = sections(scalars)["answer"].blocks

    assert prose(blocks)[-1].startswith("Next: casewise compare ")
    assert prose(blocks)[-1].endswith(" --fit-thresholds derives verdicts from values, and compares their accuracy.")
    assert not [block for block in blocks if isinstance(block, Forest | Table)]
    table = table_named(matrix(scalars), "differences-table")
    assert (table.columns, table.rows) == (("Judge", "level (scalar)"), (("good (scalar)", "–"),))


def test_a_judge_without_verdicts_is_reread_where_no_pair_is_left_to_compare(silent):
    benchmark, runs = silent

    def found(*judges):
        return ComparisonNumbers.from_runs([runs[judge] for judge in judges], benchmark=benchmark)

    alone, three = found("good", "silent"), found("good", "fair", "silent")
    assert [*sections(alone)] == ["answer"]
    assert not [block for block in sections(alone)["answer"].blocks if isinstance(block, Forest | Table)]
    assert re.search(r"^Next: casewise reread \S*silent shows", prose(sections(alone)["answer"].blocks)[-1])
    assert not [words for words in prose(sections(three)["answer"].blocks) if "casewise reread" in words]
    assert len(sections(three)) == 5


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
    assert [row[0] for row in table.rows[::2]] == [row[0] for row in table.rows[1::2]]
    assert [row[1] for row in table.rows] == ["cautious (binary)", "kind (binary)"] * (len(table.rows) // 2)
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
