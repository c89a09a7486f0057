"""A leaderboard laid out: one table, one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from casewise.evaluate.conclusions import corrected_for_picking
from casewise.evaluate.judged_runs import few_verdicts
from casewise.evaluate.leaderboard import INTENT, Leaderboard, LeaderboardRow, Leaderboards
from casewise.notation import NOTHING, number, percent
from casewise.reports.document import (
    MOST_DRAWN,
    Block,
    Columns,
    Document,
    Forest,
    ForestRow,
    IntervalHead,
    Prose,
    Section,
    Table,
    all_numbers,
    error_figures,
    estimate_cell,
    next_for_judges,
    next_without_verdicts,
    paragraph,
    table_by,
    table_of,
)
from casewise.stats.estimates import Estimate
from casewise.stats.metrics import is_share
from casewise.stats.sample import UNSCORED_WORDS
from casewise.storage.wording import noun_of
from casewise.text import Text, count_of, join, synthetic_notes, text


def rank(row: LeaderboardRow | None) -> str:
    if row is None or row.best_rank is None:
        return NOTHING
    return str(row.best_rank) if row.best_rank == row.worst_rank else f"{row.best_rank} to {row.worst_rank}"


def metrics(**titles: str) -> Columns:
    """Return a column for each metric: shares in per cent, all else as numbers."""
    return {
        title: (percent if is_share(name) else number, f"numbers.{name}.estimate") for name, title in titles.items()
    }


COLUMNS: Columns = {
    "Rank": rank,
    "Judge": "name",
    IntervalHead("Accuracy"): "numbers.accuracy",
    **metrics(recall_safe="Recall of safe", recall_unsafe="Recall of unsafe"),
    **metrics(right_flips="Right flips", false_flips="False flips", pearson="Pearson's r", auroc="AUROC"),
    **metrics(cross_entropy_above_floor="Cross-entropy above floor", harm="Harm", over_refusal="Over-refusal"),
    "Unscored": "n_unscored",
    "US$": lambda row: number(row.cost_usd, digits=2),
}


def leaderboard_page(board: Leaderboard, reports: Mapping[str, str] | None = None) -> Document:
    """Return `board` as a document for any face: who may be first, all on one axis, one table; all other numbers in folds.

    `reports`: where the reports of runs stand, by the run's folder, for a page beside them.
    """
    about = board.benchmark.notes()
    return Document(
        title=f"Leaderboard on {board.benchmark.title}",
        subtitle=counted(board) + f", {count_of(board.n_items, 'item')}, labels: {board.label_policy}",
        notices=tuple(note for note in board.notes if note in about),
        sections=(
            *brief_sections(board, reports or {}),
            all_numbers([Section("all", "Every number", tuple(everything(board)))]),
        ),
        noun=noun_of(board.benchmark),
    )


def leaderboards_page(leaderboards: Leaderboards) -> Document:
    """Return judges over several benchmarks: a row a judge and a column a benchmark, then what takes no judging on the same items."""
    head = ("Judge", *leaderboards.names)
    boards = list(zip(leaderboards.names, leaderboards.boards, strict=True))
    rows = [(name, *map(accuracy, row)) for name, row in {**leaderboards.rows, **leaderboards.baselines}.items()]
    people = [board.people for board in leaderboards.boards]
    for name, cells in (
        ("One person, against the others", [on.one_person or NOTHING for on in people]),
        ("A second study (predicted)", [on.same_again or NOTHING for on in people]),
    ):
        rows += [(name, *cells)] if {*cells} != {NOTHING} else []
    ranks = [(name, *map(rank, row)) for name, row in leaderboards.rows.items()]
    caption = "Accuracy by benchmark, 95 % interval of each cell alone"
    answer = (
        Prose(first_everywhere(leaderboards), lead=True),
        table_of("boards", caption, head, rows),
        Prose(
            "Judges with an accuracy on every benchmark come first, by their mean accuracy. Then come the other judges, by the "
            f"mean of the accuracies that they have, and baselines that judge nothing. {NOTHING}: not asked, or "
            "not possible on that benchmark. Benchmarks differ in difficulty: compare within a column."
        ),
    )
    rank_table = table_of("ranks", "Rank intervals, 95 % within a benchmark", head, ranks)
    notes = (
        Section(f"notes-{place}", f"Notes on {name}", tuple(map(Prose, board_notes)))
        for place, (name, board) in enumerate(boards)
        if (board_notes := dict.fromkeys((*board.benchmark.notes(), *board.notes)))
    )
    policies = ", ".join(dict.fromkeys(board.label_policy for board in leaderboards.boards))
    return Document(
        title=f"Leaderboard over {count_of(len(leaderboards.boards), 'benchmark')}",
        subtitle=f"{count_of(len(leaderboards.rows), 'judge')}, labels: {policies}",
        notices=tuple(
            note for name, board in boards for note in synthetic_notes(board.benchmark.about.synthetic, of=f"{name}: ")
        ),
        sections=(
            Section("brief", "The answer", answer, first=True),
            all_numbers([Section("ranks", "Ranks", (rank_table,)), *notes]),
        ),
    )


def first_everywhere(boards: Leaderboards) -> str:
    """Return the sentence on who is, or may be, first on every benchmark, by the ranks' simultaneous intervals."""
    benchmarks = f"of the {count_of(len(boards.boards), 'benchmark')}."
    candidates = [name for name, rows in boards.rows.items() if all(row and row.best_rank == 1 for row in rows)]
    always_first = [name for name in candidates if all(row and row.worst_rank == 1 for row in boards.rows[name])]
    if len(boards.rows) == 1:
        return next(iter(boards.rows)) + " is the only judge: compare it with the baselines below it."
    if always_first:
        return always_first[0] + f" is first on each {benchmarks}"
    if candidates:
        return "Within the rank intervals, " + join(" or ", candidates) + f" may be first on each {benchmarks}"
    return f"Each judge was outranked, or not asked, on at least one {benchmarks}"


def accuracy(row: LeaderboardRow | None) -> Estimate | str:
    """Return an accuracy; why there is none."""
    return NOTHING if row is None else row.numbers.get("accuracy", "no verdicts")


def counted(board: Leaderboard) -> Text:
    chatbots = sum(row.kind == "replies" for row in board.rows)
    judges = [count_of(len(board.rows) - chatbots, board.noun)] if len(board.rows) > chatbots else []
    return join(", ", judges + ([text("replies of {n:chatbot}", n=chatbots)] if chatbots else []))


def brief_sections(board: Leaderboard, reports: Mapping[str, str]) -> Iterator[Section]:
    """Yield the judges and, separately, the chatbots: verdicts and replies have ranks of their own."""
    judges = [row for row in board.rows if row.kind != "replies"]
    chatbots = [row for row in board.rows if row.kind == "replies"]
    top = board.people.ceilings
    ceiling = f" The highest Pearson's r that people's votes allow is {top.pearson_in_words}." if top else ""
    how_to_read = (
        "Each rank is an interval: with 95 % confidence, the intervals of all judges hold together. A judge is shown to be more "
        "accurate than the judges below its interval, and less accurate than those above it. These items do not tell judges with "
        f"overlapping intervals apart.{ceiling}"
    )
    about = board.benchmark.notes()
    method_blocks: list[Block] = [Prose(how_to_read), *(Prose(note) for note in board.notes if note not in about)]
    if judges:
        yield Section("answer", "The answer", tuple(first_screen(board, judges)), first=True)
        blocks = (*brief(board, judges, reports), *unranked(judges, board.n_items), *method_blocks)
        yield Section("ranks", "Ranks", blocks, brief=True)
    if chatbots:
        replies = Prose(
            "Chatbots are ranked among themselves, by their replies. A reply is right if it answers where the label is respond (the "
            "column “Safe”) or refuses where the label is refuse. Strict counts a partial answer as a refusal, lenient as an "
            "answer."
        )
        table = brief(board, chatbots, reports, name="chatbots", head="Chatbot")
        blocks = (
            *best_judge_sentence(board, chatbots),
            *table,
            *unranked(chatbots, board.n_items),
            *(() if judges else method_blocks),
            replies,
        )
        yield Section("does", "Chatbots: replies that do what the labels ask for", blocks, first=not judges, brief=True)


def first_screen(board: Leaderboard, judges: Sequence[LeaderboardRow]) -> Iterator[Block]:
    """Yield who agrees most with people, its errors in large figures, what to do next, and every judge on one axis."""
    yield from best_judge_sentence(board, judges)
    runs = [row for row in judges if row.kind == "run"]
    if not any(row.best_rank for row in judges):
        yield Prose("No judge can be ranked.", lead=True)
        yield from unranked(judges[:1], board.n_items)
        yield from map(next_without_verdicts, [Path(row.source) for row in runs[:1]])
        return
    first = next((row for row in judges if row.best_rank == 1), None)
    if first is not None:
        yield error_figures("first-errors", text("Errors of {judge}", judge=first.name), first.numbers)
    conclusion = board.conclusion(chatbots=False)
    if runs:
        decided = conclusion is None or conclusion.holds
        yield next_for_judges([Path(row.source) for row in runs], judge=runs[0].judge, decided=decided)
    yield from forest(board, judges)


def forest(board: Leaderboard, judges: Sequence[LeaderboardRow]) -> Iterator[Forest]:
    """Yield every ranked judge and the baselines, best first; beside published judges, one's own runs are marked."""
    published = any(row.kind == "output" for row in judges)
    beaten = [row for row in board.baselines if row.name != INTENT and row.value("accuracy") is not None]
    drawn = (*judges[:MOST_DRAWN], max(beaten, key=lambda row: row.value("accuracy") or 0.0, default=None))
    rows = [
        ForestRow.from_estimate(
            row.name + (" (your run)" if published and row.kind == "run" else ""),
            accuracy,
            strong=row.kind in ("run", "replies"),
            key=row in drawn or (published and row.kind == "run"),
        )
        for row in (*judges, *board.baselines)
        if (accuracy := row.numbers.get("accuracy")) is not None and accuracy.estimate is not None
    ]
    if board.people.same_again is not None:
        rows.append(ForestRow.from_estimate("A second study (predicted)", board.people.same_again))
    if rows:
        rows.sort(key=lambda row: -(row.estimate or 0.0))
        yield Forest("accuracies", "Accuracy, 95 % intervals of each alone", (("", tuple(rows)),))


def unranked(rows: Sequence[LeaderboardRow], n_items: int) -> Iterator[Prose]:
    """Yield judges without a rank, and why."""
    for row in rows:
        if row.best_rank is None:
            auroc = row.value("auroc")
            reason = (
                row.name + f" gives values and no verdicts (AUROC {number(auroc)})."
                if auroc is not None
                else few_verdicts(row.name, row.n_unscored / n_items)
            )
            yield Prose(reason + " It is not ranked.")


def best_judge_sentence(board: Leaderboard, rows: Sequence[LeaderboardRow]) -> Iterator[Prose]:
    """Yield which of these agrees most with people, or which may, and the highest accuracy corrected for having been picked."""
    with_rank = [row for row in rows if row.best_rank is not None]
    if len(with_rank) == 1 and len(rows) > 1:
        yield Prose(with_rank[0].name + " alone has a rank: there is no other judge to compare it with.", lead=True)
    conclusion = board.conclusion(chatbots=any(row.kind == "replies" for row in rows))
    if conclusion is None:
        return
    yield Prose(conclusion.sentence, lead=True)
    for picked in board.winners:
        for row in with_rank:
            if row.name == picked.name:
                value = f"accuracy {percent(row.value('accuracy'))}"
                yield Prose(corrected_for_picking(row.name, picked.corrected, value=value))


def brief(
    board: Leaderboard,
    rows_of: Sequence[LeaderboardRow],
    reports: Mapping[str, str],
    *,
    name: str = "board",
    head: str = "Judge",
) -> Iterator[Table]:
    """Yield a row a judge that has a rank: best rank first, and of those the one that can fall least."""
    ranked = [row for row in rows_of if row.best_rank is not None]
    if ranked:
        ranked.sort(key=lambda row: (row.best_rank or float("inf"), row.worst_rank or float("inf")))
        others = {f"Against {board.people.others_in_words}": (percent, "against_others.estimate")}
        columns: Columns = {
            "Rank": rank,
            head: "name",
            "Accuracy": (lambda rate: percent(rate.estimate) if rate else "no verdicts", "numbers.accuracy"),
            **metrics(harm="Harm", over_refusal="Over-refusal"),
            "Unscored": lambda row: percent(row.n_unscored / board.n_items),
            **(others if board.people.others else {}),
        }
        table = table_by(name, "Ranks by accuracy, best first", ranked, columns)
        links = {row.name: reports[row.source] for row in rows_of if row.source in reports}
        yield replace(table, links=links)


def everything(board: Leaderboard) -> Iterator[Block]:
    rows = (*board.rows, *board.baselines)
    yield table_by("board-all", "All numbers, best accuracy first", rows, COLUMNS)
    if (person := board.people.one_person) is not None:
        words, others = (
            "One person agrees with the majority of {others} on {share} of items.",
            board.people.others_in_words,
        )
        yield paragraph(words, others=others, share=estimate_cell(person))
    yield Prose(f"In accuracy and recall an item without a verdict {UNSCORED_WORDS[board.unscored]}.")
