"""Runs that are looked at while they may still be under way: opened once, and brought up to date by what was appended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock

import polars as pl

from casewise.evaluation.judged_runs import JudgedRun, Series, distinct, opened, read_series
from casewise.evaluation.viewing.table import Judged, ViewedTable, of_people, with_series
from casewise.replying.logs import replies_in
from casewise.stats.agreeing.labels_and_ties import VOTES, LabelPolicy
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table
from casewise.storage.runs.item_notes import ItemNote, add_item_note, read_item_notes
from casewise.storage.runs.judgement_table import GrowingLog

__all__ = ["Viewed", "view_runs"]

UNDER_WAY_S = 30.0
"""A log that was added to so recently belongs to a run that is under way."""


class Viewed:
    """Runs over one benchmark, as they are now. Nothing of them is changed; notes are kept in a file of their own.

    `logs`: for each run the log that grows, or None where a run is read once (a chatbot's graded replies).
    """

    def __init__(self, table: ViewedTable, logs: Sequence[GrowingLog | None]) -> None:
        self._table, self._logs, self._lock = table, tuple(logs), Lock()
        self.notes = read_item_notes(self.paths)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The run folders, in the order given."""
        return tuple(dict.fromkeys(one.run.path for one in self._table.judged))

    @property
    def under_way(self) -> bool:
        """Whether judgements came in a moment ago."""
        files = [log.path for log in self._logs if log is not None and log.path.is_file()]
        return any(time.time() - file.stat().st_mtime < UNDER_WAY_S for file in files)

    def now(self) -> ViewedTable:
        """The table with all that was appended to the logs until now.

        Raises DataError: a line of a log is no judgement.
        """
        with self._lock:
            grown = [log is not None and log.grown() for log in self._logs]
            if any(grown):
                self._table = brought_up(self._table, self._logs, grown)
            return self._table

    def note(self, note: ItemNote) -> None:
        """Keep a note on an item, in the folder of the first run."""
        with self._lock:
            add_item_note(self.paths[0], note)
            self.notes = read_item_notes(self.paths)


def view_runs(
    paths: Sequence[Path], *, benchmark: str | Path | Benchmark | None = None, policy: LabelPolicy = VOTES
) -> Viewed:
    """Open runs to look around in them; one that has just begun and holds nothing yet may be among them.

    Raises DataError: a folder is no run. BenchmarkError: the runs are over different benchmarks, or the benchmark found
    is not theirs. ConfigurationError: an override of the policy names a category that no item has.
    """
    runs, found = opened(paths, benchmark)
    names = distinct([run.manifest.judge_name for run in runs])
    logs = [GrowingLog(run.log) if run.behaviour is None else None for run in runs]
    for log in logs:
        if log is not None:
            log.grown()
    judged = tuple(
        Judged(run, name, graded(run) if log is None else log.table)
        for run, name, log in zip(runs, names, logs, strict=True)
    )
    items = of_people(item_table(found), policy)
    series = tuple(one for of_run in judged for one in series_in(of_run, items))
    return Viewed(ViewedTable(found, policy, with_series(items, judged, series), judged, series), logs)


def brought_up(table: ViewedTable, logs: Sequence[GrowingLog | None], grown: Sequence[bool]) -> ViewedTable:
    """`table` with the series of the runs whose logs have grown made anew."""
    judged, series = [], []
    for one, log, more in zip(table.judged, logs, grown, strict=True):
        now = replace(one, every=log.table) if more and log is not None else one
        judged.append(now)
        series += series_in(now, table.items) if more else [old for old in table.series if old.run is one.run]
    people = table.items.select(pl.exclude(r"^(value|verdict|outcome|reason)_\d+$"))
    items = with_series(people, judged, series)
    made = ViewedTable(table.benchmark, table.policy, items, tuple(judged), tuple(series), table.version + 1)
    made.keep_from(table)
    return made


def series_in(judged: Judged, items: pl.DataFrame) -> list[Series]:
    return read_series(judged.run, judged.judge, items, judgements=judged.every) if len(judged.every) else []


def graded(run: JudgedRun) -> pl.DataFrame:
    """What a grader makes of a chatbot's replies, with the replies themselves."""
    texts: Iterator[tuple[str, str, int, str | None]] = (
        (one.item_id, one.arm, one.repeat, one.text or one.refusal) for one in replies_in(run.path)
    )
    schema = {"item_id": pl.String, "arm": pl.String, "repeat": pl.Int32, "raw_reply": pl.String}
    said = pl.DataFrame(list(texts), schema=schema, orient="row")
    return run.judgements().join(said, on=["item_id", "arm", "repeat"], how="left", maintain_order="left")
