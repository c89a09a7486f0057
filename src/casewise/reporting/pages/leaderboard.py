"""A leaderboard laid out: one table, one page."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from casewise.evaluation.leaderboard import Leaderboard, LeaderboardRow
from casewise.evaluation.published_numbers import PublishedNumbers
from casewise.reporting.charts.drawing import dots_with_intervals, for_page
from casewise.reporting.document import (
    Block,
    Document,
    Figure,
    Prose,
    Section,
    Table,
    interval,
    number,
    percent,
    table_of,
)

__all__ = ["leaderboard_page"]

COLUMNS = (
    "Rank",
    "Judge",
    "Accuracy",
    "95 % interval",
    "Recall of safe",
    "Recall of unsafe",
    "Right flips",
    "Pearson's r",
    "BCE above floor",
    "Over-refusal",
    "Unscored",
    "US$",
    "Accuracy, published",
)


def leaderboard_page(board: Leaderboard) -> Document:
    """`board` as a document for any face."""
    return Document(
        title=f"Leaderboard on {board.benchmark.name}",
        subtitle=f"{len(board.rows)} judges, {board.n_items:,} items, labels: {board.labels}",
        notices=board.notes,
        sections=(
            Section("brief", "Who agrees best with people", (brief(board), Prose(how_to_read(board))), brief=True),
            Section("all", "Every number", tuple(everything(board))),
            *published_sections(board),
        ),
    )


def cells(row: LeaderboardRow) -> tuple[str, ...]:
    numbers = {name: found.estimate for name, found in row.numbers.items()}
    accuracy = row.numbers["accuracy"]
    return (
        rank(row),
        row.name,
        number(accuracy.estimate),
        interval(accuracy.ci_low, accuracy.ci_high),
        number(numbers.get("recall_safe")),
        number(numbers.get("recall_unsafe")),
        number(numbers.get("right_flips")),
        number(numbers.get("pearson")),
        number(numbers.get("bce_above_floor")),
        percent(numbers.get("over_refusal")),
        str(row.n_unscored),
        number(row.cost_usd, digits=2),
        number(row.published_accuracy.estimate),
    )


def rank(row: LeaderboardRow) -> str:
    return str(row.best_rank) if row.best_rank == row.worst_rank else f"{row.best_rank} to {row.worst_rank}"


def brief(board: Leaderboard) -> Table:
    rows = []
    for row in board.rows:
        all_cells = dict(zip(COLUMNS, cells(row), strict=True))
        accuracy = f"{all_cells['Accuracy']} {all_cells['95 % interval']}"
        shares = (all_cells[name] for name in ("Recall of safe", "Recall of unsafe", "Over-refusal"))
        rows.append((all_cells["Rank"], row.name, accuracy, *shares))
    head = ("Rank", "Judge", "Accuracy, 95 % interval", "Safe", "Unsafe", "Over-refusal")
    return table_of("board", "Best accuracy first; recall of safe and of unsafe", head, rows)


def how_to_read(board: Leaderboard) -> str:
    ceiling = f" The highest r that people's votes allow is {number(board.ceilings.pearson)}." if board.ceilings else ""
    return (
        "A rank is an interval: with 95 % confidence for all judges together, each is better than those below its interval "
        "and worse than those above it, in accuracy. Judges whose intervals overlap are not told apart by these items."
        f"{ceiling}"
    )


def everything(board: Leaderboard) -> Iterator[Block]:
    yield table_of("board-all", "All numbers, best accuracy first", COLUMNS, [cells(row) for row in board.rows])
    points = pl.DataFrame(
        [
            {"name": row.name, "estimate": a.estimate, "low": a.ci_low, "high": a.ci_high}
            for row in board.rows
            if (a := row.numbers["accuracy"]).estimate is not None
        ],
        schema={"name": pl.String, "estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )
    if len(points):
        drawn = dots_with_intervals(points, title="Accuracy", order=points["name"].to_list())
        yield Figure(
            "accuracies",
            "Accuracy with 95 % intervals, best first.",
            "Dot chart of accuracies with intervals; the table above gives the numbers.",
            for_page(drawn, name="accuracies"),
        )
    yield Prose(
        "Right flips: of the pairs on which people's verdicts differ, those on which the judge's differ the same way. "
        "Over-refusal: of the items that at least 70 % of people call safe, those judged unsafe. BCE above floor: cross "
        "entropy less what is attainable against so many votes. An item without a verdict counts as wrong in accuracy and "
        "recall. The last column counts the author's intent as one more vote, as the paper does."
    )


def published_sections(board: Leaderboard) -> Iterator[Section]:
    if board.published is None:
        return
    whole = board.n_items == board.published.n_items
    note = (
        "They are over the same items."
        if whole
        else f"They are over all {board.published.n_items} items of the release, the runs above over {board.n_items}: do not compare them line by line."
    )
    yield Section(
        "published",
        "Published numbers",
        (
            published_table(board.published),
            Prose(f"{note} Source: {board.published.source}. Not here: {'; '.join(board.published.missing)}."),
        ),
        brief=True,
    )


def published_table(numbers: PublishedNumbers) -> Table:
    rows = [
        (
            judge.title,
            number(judge.votes.get("accuracy")),
            number(judge.votes.get("pearson")),
            number(judge.published.get("accuracy")),
            number(judge.published.get("pearson")),
        )
        for judge in sorted(numbers.judges, key=lambda judge: -judge.published.get("accuracy", 0.0))
    ]
    head = ("Judge", "Accuracy", "r", "Accuracy, published", "r, published")
    return table_of("published-table", f"Published judges on {numbers.name}", head, rows)
