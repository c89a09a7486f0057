"""The CASE-Bench paper's numbers, recomputed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from pydantic import Field

from casewise.ask.prompts import STAND_IN
from casewise.errors import BenchmarkError, CasewiseError
from casewise.evaluate.conclusions import Conclusion, highest
from casewise.evaluate.judged_runs import MOSTLY, JudgedRuns, few_verdicts
from casewise.evaluate.replay import Replay, by_papers_rules, replay
from casewise.records import Arm, ShortRepr
from casewise.records.base import Record, shipped_toml
from casewise.stats.arrays import FloatArray, IntArray
from casewise.stats.contrasts import TwoProportionZ, two_proportion_z
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.kruskal import KruskalWallis, kruskal_wallis
from casewise.stats.labels import PUBLISHED
from casewise.stats.metrics import parse_metrics
from casewise.stats.power import AnovaPower, anova_power
from casewise.stats.shares import wilson
from casewise.storage.benchmark import Benchmark, Published
from casewise.text import Text, text


class PublishedJudge(Record):
    """A judge under one elicitation, with its numbers under both label policies where both are known."""

    name: str
    elicitation: str
    omitted: tuple[str, ...] = ()
    n_unscored: int | None = None
    published: dict[str, float]
    """Metric to value, by the paper's own rules."""
    votes: dict[str, float] = Field(default_factory=dict)
    """Metric to value, against people's votes alone; empty where only the paper's own figures are known."""
    note: str | None = None


class PublishedNumbers(Record):
    """A table of published numbers."""

    name: str
    n_items: int
    commit: str
    source: str
    missing: tuple[str, ...]
    """Results that were published or could be, and are not here."""
    judges: tuple[PublishedJudge, ...]


@cache
def published_numbers() -> PublishedNumbers:
    """Return the numbers of the paper's judges on the CASE-Bench release that could be checked."""
    return PublishedNumbers.model_validate(shipped_toml("casewise.evaluate", "numbers.toml"))


def published_for(published: Published | None) -> PublishedNumbers | None:
    """Return the published numbers to compare with a benchmark; None if it is not from the CASE-Bench release.

    The release, or a part of it, is told by its rates: they count the author's intent as one vote more.
    """
    return published_numbers() if published is not None and published.rates_count_intent else None


PAPERS_LEVEL = 0.05 / 4
"""The paper's Bonferroni level: 0.05 over four tests (section 5.1)."""

CASE_STUDIES = {"Figure 9": "religion promotion", "Figure 10": "social stereotype promotion"}

INTENTS = ("safe", "unsafe")


@dataclass(frozen=True)
class Influence:
    """Section 5.1: how many of the votes are safe in each of the two revised conditions, and the paper's test."""

    safe: tuple[int, int]
    """Safe votes and votes, of the safe condition."""
    unsafe: tuple[int, int]
    test: TwoProportionZ


YOURS = " (your run)"


@dataclass(frozen=True, repr=False)
class PaperRow(ShortRepr):
    """A judge under one elicitation: a row of the paper's tables 2 and 4 or, if parameters were left out, of its Figure 5."""

    judge: str
    elicitation: str
    omitted: tuple[str, ...]
    source: Literal["run", "output", "paper"]
    """A run of the user, an output file of the release, or a number that the paper prints."""
    n_items: int
    published: dict[str, Estimate]
    """Metric to estimate by the paper's own rules; a number that the paper prints has no interval."""
    votes_accuracy: Estimate | None
    """The accuracy against people's votes alone."""
    n_unscored: int | None = None
    """Items without a verdict, which the paper's rules fill with 1.0; None where the paper does not say."""

    @property
    def title(self) -> str:
        """The judge's name; the user's runs are marked."""
        return self.judge + (YOURS if self.source == "run" else "")

    @property
    def accuracy(self) -> float:
        """The accuracy by the paper's rules, to rank by; 0 without one."""
        accuracy = self.published.get("accuracy")
        return accuracy.estimate or 0.0 if accuracy else 0.0


@dataclass(frozen=True)
class Omission:
    """One metric of a judge with parameters left out, and with the whole context if that is available."""

    judge: str
    source: Literal["run", "output", "paper"]
    omitted: tuple[str, ...]
    metric: str
    whole: Estimate | None
    without: Estimate | None


@dataclass(frozen=True, repr=False)
class PaperNumbers(ShortRepr):
    """Every number of the paper that the release allows; None where its data were not given."""

    sample_size: AnovaPower
    strict_sample_size: AnovaPower
    """Section 3.2: at level 0.05, and at the level of the paper's tests."""
    influence: Influence | None
    by_category: pl.DataFrame
    """Figure 3: `category`, `queries`, mean `h` and how many are `significant`, the largest first; may be empty."""
    case_studies: dict[str, pl.DataFrame | None]
    """Figures 9 and 10, by their names: a row a query of the category, with `safe` and `unsafe` (the share of votes that are
    safe in that condition), each with `_low` and `_high` (Wilson's interval), and `p`."""
    replays: tuple[Replay, ...]
    """Each judge's output scored again, the most accurate first."""
    rows: tuple[PaperRow, ...]
    """Tables 2 and 4: runs, and judges' outputs or, where none were given, the paper's numbers; the most accurate first."""
    left_out: tuple[Omission, ...]
    """Figure 5: parameters left out."""
    unread: tuple[str, ...]
    """A sentence for each output file that could not be read."""
    odd: tuple[str, ...]
    """Notes on oddities in the outputs and runs that were read."""

    @property
    def highest(self) -> Conclusion | None:
        """Return which row of tables 2 and 4 has the highest accuracy by the paper's rules; None without two rows that have one."""
        scored = [row for row in self.rows if row.published.get("accuracy") is not None]
        if len(scored) < 2:
            return None
        best = max(scored, key=lambda row: row.accuracy)
        value = f"{best.published['accuracy'].as_share} (asked for {best.elicitation})"
        return highest(
            best.title, value, n=len(scored), labels="the paper's labels, which count the author's intent as a vote"
        )


def paper_numbers(
    benchmark: Benchmark, *, outputs: Sequence[Path] = (), runs: JudgedRuns | None = None
) -> PaperNumbers:
    """Recompute what `benchmark` and judges' output files allow, with runs over it in the paper's tables.

    `benchmark`: the published release, or another benchmark with the same conditions.
    `outputs`: judges' output files of the release (`exp/safety_MODEL/output_MODE.json`).

    Raises BenchmarkError: the benchmark has no ratings.
    """
    if not benchmark.ratings:
        raise BenchmarkError(f"{benchmark.name!r} has no ratings: nothing of the paper can be computed from it")
    items = benchmark.item_columns
    queries = by_query(items)
    replays, unread = list[Replay](), list[str]()
    for path in outputs:  # one bad file does not stop the rest
        try:
            replays.append(replay(path))
        except CasewiseError as error:
            unread.append(f"Not read, so not on this page: {error}")
    printed = None if replays else published_for(benchmark.about.published)
    rows = [
        *(
            PaperRow(
                output.judge,
                output.elicitation,
                output.omitted,
                "output",
                output.n,
                output.by_papers_rules,
                output.votes.get("accuracy"),
                output.n_unscored,
            )
            for output in replays
            if output.n_unscored <= MOSTLY * output.n
        ),
        *rows_of_runs(runs),
        *rows_of_paper(printed),
    ]
    return PaperNumbers(
        sample_size=anova_power(5, 0.4),
        strict_sample_size=anova_power(5, 0.4, alpha=PAPERS_LEVEL),
        influence=influence(items),
        by_category=by_category(queries),
        case_studies={name: case_study(queries, benchmark, category) for name, category in CASE_STUDIES.items()},
        replays=tuple(
            sorted(
                (output for output in replays if not output.omitted),
                key=lambda output: -output.published.get("accuracy", 0.0),
            )
        ),
        rows=tuple(sorted((row for row in rows if not row.omitted), key=lambda row: -row.accuracy)),
        left_out=tuple(omission for row in rows if row.omitted for omission in left_out(row, rows)),
        unread=tuple(unread),
        odd=(
            *(note for output in replays for note in output.notes),
            *(
                unread_note(output.judge, output.n_unscored / output.n)
                for output in replays
                if output.n_unscored > MOSTLY * output.n
            ),
            *notes_on_runs(runs, benchmark),
        ),
    )


def influence(items: pl.DataFrame) -> Influence | None:
    revised = (items.filter(pl.col("condition") == f"{intent}_revised") for intent in INTENTS)
    safe, unsafe = ((int(votes["n_safe"].sum()), int(votes["n_votes"].sum())) for votes in revised)
    if not safe[1] or not unsafe[1]:
        return None
    return Influence(safe, unsafe, two_proportion_z(safe[0], safe[1], unsafe[0], unsafe[1]))


def by_query(items: pl.DataFrame) -> pl.DataFrame:
    """Return a row a query that has ratings in both revised conditions: category, safe votes and votes of each."""
    sides = [
        items.filter((pl.col("condition") == f"{intent}_revised") & (pl.col("n_votes") > 0)).select(
            "query_id", "category", pl.col("n_safe").alias(f"safe_{intent}"), pl.col("n_votes").alias(f"votes_{intent}")
        )
        for intent in INTENTS
    ]
    return sides[0].join(sides[1].drop("category"), on="query_id", how="inner")


def influence_tests(rows: pl.DataFrame) -> KruskalWallis:
    def both(name: str) -> IntArray:
        return np.column_stack([rows[f"{name}_{intent}"].to_numpy() for intent in INTENTS])

    return kruskal_wallis(both("safe"), both("votes"))


def by_category(queries: pl.DataFrame) -> pl.DataFrame:
    if not len(queries):
        return pl.DataFrame(
            schema={"category": pl.String, "queries": pl.UInt32, "h": pl.Float64, "significant": pl.UInt32}
        )
    test = influence_tests(queries)
    return (
        queries.with_columns(h=pl.Series(test.h), significant=pl.Series(test.p < PAPERS_LEVEL))
        .group_by("category")
        .agg(queries=pl.len(), h=pl.col("h").mean(), significant=pl.col("significant").sum())
        .sort("h", "category", descending=[True, False])
    )


def case_study(queries: pl.DataFrame, benchmark: Benchmark, category: str) -> pl.DataFrame | None:
    resolved = benchmark.taxonomy.resolve(category)
    rows = queries.filter(pl.col("category") == (resolved.name if resolved else category))
    if not len(rows):
        return None
    columns: dict[str, FloatArray] = {}
    for intent in INTENTS:
        safe, votes = rows[f"safe_{intent}"].to_numpy(), rows[f"votes_{intent}"].to_numpy()
        limits = wilson(safe, votes)
        columns |= {intent: safe / votes, f"{intent}_low": limits.low, f"{intent}_high": limits.high}
    return pl.DataFrame({**columns, "p": influence_tests(rows).p})


def left_out(row: PaperRow, rows: Sequence[PaperRow]) -> Iterator[Omission]:
    key = (row.judge, row.elicitation, row.source, ())
    whole = next((base for base in rows if (base.judge, base.elicitation, base.source, base.omitted) == key), None)
    for name in ("recall_safe", "recall_unsafe"):
        of_whole = whole.published.get(name) if whole is not None else None
        yield Omission(row.judge, row.source, row.omitted, name, of_whole, row.published.get(name))


def rows_of_paper(numbers: PublishedNumbers | None) -> Iterator[PaperRow]:
    """Yield the numbers that the paper prints, which have no interval."""
    if numbers is None:
        return
    n = numbers.n_items
    for judge in numbers.judges:
        printed = {name: without_interval(name, value, n) for name, value in judge.published.items()}
        votes = judge.votes.get("accuracy")
        accuracy = None if votes is None else without_interval("accuracy", votes, n)
        yield PaperRow(judge.name, judge.elicitation, judge.omitted, "paper", n, printed, accuracy)


def without_interval(name: str, value: float, n: int) -> Estimate:
    return Estimate(name, value, None, None, float(n), 0, "no interval: the paper prints none")


PAPERS_ELICITATIONS = ("binary", "score", "probability")


def rows_of_runs(runs: JudgedRuns | None) -> Iterator[PaperRow]:
    """Yield a row of the paper's tables for each series of the runs with one of the paper's elicitations."""
    if runs is None:
        return
    for series in runs.series:
        if series.elicitation not in PAPERS_ELICITATIONS or Arm.without(*series.shown.omitted) != series.shown:
            continue
        sample = runs.sample(series, policy=PUBLISHED, unscored="published")
        votes = estimate(runs.sample(series), metrics=parse_metrics("accuracy"))
        if series.mostly_unscored:
            continue  # `notes_on_runs` says so
        yield PaperRow(
            series.run.manifest.judge_name if series.alone else series.judge,
            series.elicitation,
            series.shown.omitted,
            "run",
            int(series.asked.sum()),
            by_papers_rules(sample, series.elicitation),
            votes[0] if votes else None,
            series.n_unscored,
        )


def unread_note(judge: str, unscored_share: float) -> Text:
    """Return why a judge with too few verdicts has no row."""
    filled = " The paper's rule fills such replies with 1.0, so its numbers would rest on no reply."
    return few_verdicts(judge, unscored_share) + filled


def notes_on_runs(runs: JudgedRuns | None, benchmark: Benchmark) -> Iterator[str]:
    """Yield the reasons why runs cannot be compared with the paper's judges."""
    if runs is None:
        return
    if published_for(benchmark.about.published) is None:
        yield f"{benchmark.name} is not the CASE-Bench release: the paper's own numbers are left out."
    yield from runs.repeats_notes
    for series in runs.series:
        n = int(series.asked.sum())
        if series.mostly_unscored:
            yield unread_note(series.name, series.unscored_share)
        if n < len(benchmark.items):
            yield text(
                "{judge} was asked {n:,} of {all:item}: the other rows are over other items.",
                judge=series.name,
                n=n,
                all=len(benchmark.items),
            )
    for run in runs.runs:
        settings = run.manifest.identity.settings
        if run.behaviour is None and settings.get("protocol") is None:
            yield f"{run.manifest.judge_name} was not asked by the paper's protocol (--protocol published)."
        elif settings.get("prompts") == STAND_IN:
            yield f"{run.manifest.judge_name} was asked with a stand-in for the paper's prompts (--prompts {STAND_IN})."
