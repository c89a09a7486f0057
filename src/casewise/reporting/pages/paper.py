"""The tables and figures of the CASE-Bench paper, recomputed as far as its release allows; for the rest, why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from casewise.errors import BenchmarkError, CasewiseError
from casewise.records import CONDITIONS, Taxonomy
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
    p_value,
    percent,
    table_of,
)
from casewise.reporting.pages.replay import Replay, replay
from casewise.stats.conditions.kruskal import KruskalWallis, kruskal_wallis
from casewise.stats.conditions.proportions import two_proportion_z
from casewise.stats.core.arrays import IntArray
from casewise.stats.core.share_intervals import wilson
from casewise.stats.power.anova import anova_sample_size
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.benchmarks.item_table import item_table

__all__ = ["CASE_STUDIES", "NOT_POSSIBLE", "paper_page"]

PAPERS_LEVEL = 0.05 / 4
"""The paper's Bonferroni level: 0.05 over four tests (section 5.1)."""

CASE_STUDIES = {"Figure 9": "religion promotion", "Figure 10": "social stereotype promotion"}

NOT_POSSIBLE: tuple[tuple[str, str], ...] = (
    (
        "Figure 2, Figure 6",
        "drawings of the pipeline and the page people rated on: nothing in them is computed",
    ),
    (
        "Section 5.1, contrasts with no context and with generated contexts",
        "ratings of these three conditions were never released",
    ),
    ("Figure 3, with all five conditions", "the release has two of the five, which the page shows"),
    (
        "Table 2 and Table 4, other judges",
        "only the judge outputs that are given here can be scored; the paper's other numbers are not at hand",
    ),
    (
        "Figures and tables not named here",
        "the text of the paper that casewise was written from does not say what they show",
    ),
    ("Figure 5, other judges", "needs outputs with parameters omitted for each of them"),
)
"""What the release does not allow, and why."""


def paper_page(benchmark: Benchmark, *, outputs: Sequence[Path] = ()) -> Document:
    """Each table and figure of the paper that `benchmark` and judges' output files allow.

    Parameters
    ----------
    benchmark
        The published release, or another benchmark with the same conditions.
    outputs
        Judges' output files of the release (`exp/safety_MODEL/output_MODE.json`).

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings.
    """
    if not benchmark.ratings:
        raise BenchmarkError(f"{benchmark.name!r} has no ratings: nothing of the paper can be computed from it")
    items = item_table(benchmark)
    replays, unread = scored_again(outputs)
    return Document(
        title=f"The CASE-Bench paper, recomputed from {benchmark.name}",
        subtitle="Sun, Zhan, Feng, Woodland and Such (ICML 2025)",
        notices=(*benchmark.notes(), *unread),
        sections=(
            Section("power", "Section 3.2 and appendix E.1: sample size", tuple(sample_size()), brief=True),
            Section("contrast", "Section 5.1: influence of context", tuple(influence(items)), brief=True),
            Section("figure-3", "Figure 3: Kruskal-Wallis by category", tuple(by_category(items))),
            *(
                Section(anchor(name), f"{name}: {what}", tuple(case_study(items, benchmark, what)))
                for name, what in CASE_STUDIES.items()
            ),
            Section("table-2", "Tables 2 and 4: judges", tuple(judges(replays)), brief=True),
            Section("figure-5", "Figure 5: parameters left out", tuple(ablation(replays))),
            Section("table-3", "Table 3: categories", (categories(benchmark.taxonomy),)),
            Section("not", "What the release does not allow", (not_possible(),), brief=True),
        ),
    )


def scored_again(outputs: Sequence[Path]) -> tuple[list[Replay], list[str]]:
    """Every output file that can be read, and a sentence for each that cannot: one bad file does not stop the rest."""
    found, unread = [], []
    for path in outputs:
        try:
            found.append(replay(path))
        except CasewiseError as error:
            unread.append(f"Not read, so not on this page: {error}")
    return found, unread


def anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def sample_size() -> Iterator[Block]:
    found = anova_sample_size(5, 0.4)
    strict = anova_sample_size(5, 0.4, alpha=PAPERS_LEVEL)
    rows = [
        ("0.05, as in the paper", found.n_per_group, found.n_total, number(found.actual_power, digits=4)),
        ("0.0125, the level of its tests", strict.n_per_group, strict.n_total, number(strict.actual_power, digits=4)),
    ]
    head = ("Level", "Per group", "In all", "Power")
    yield table_of("power-table", "One-way analysis of variance, five groups, f = 0.4, power 0.8", head, rows)
    yield Prose(
        "The paper adds an allowance and recruits 21 a task. At the level that its tests use, the design needs 22."
    )


def influence(items: pl.DataFrame) -> Iterator[Block]:
    safe, unsafe = (totals(items, f"{intent}_revised") for intent in ("safe", "unsafe"))
    if not safe[1] or not unsafe[1]:
        yield Prose("Not both revised conditions have ratings, so they cannot be held against each other.")
        return
    z = two_proportion_z(safe[0], safe[1], unsafe[0], unsafe[1])
    rows = [
        ("safe, revised", percent(safe[0] / safe[1]), safe[1]),
        ("unsafe, revised", percent(unsafe[0] / unsafe[1]), unsafe[1]),
    ]
    yield table_of("influence", "Share of votes that are safe", ("Condition", "Safe", "Votes"), rows)
    yield Prose(
        f"z = {float(z.z):.1f}, log p = {float(z.log_p):.0f}: the z-test of the paper, on the only two conditions that were "
        "released. It takes votes for independent, which they are not: see casewise audit and docs/statistics.md."
    )


def totals(items: pl.DataFrame, condition: str) -> tuple[int, int]:
    mine = items.filter(pl.col("condition") == condition)
    return int(mine["n_safe"].sum()), int(mine["n_votes"].sum())


def by_query(items: pl.DataFrame) -> pl.DataFrame:
    """A row a query that has ratings in both revised conditions: category, safe votes and votes of each."""
    sides = [
        items.filter((pl.col("condition") == f"{intent}_revised") & (pl.col("n_votes") > 0)).select(
            "query_id", "category", pl.col("n_safe").alias(f"safe_{intent}"), pl.col("n_votes").alias(f"votes_{intent}")
        )
        for intent in ("safe", "unsafe")
    ]
    return sides[0].join(sides[1].drop("category"), on="query_id", how="inner")


def tested(rows: pl.DataFrame) -> KruskalWallis:
    def both(name: str) -> IntArray:
        return np.column_stack([rows[f"{name}_{intent}"].to_numpy() for intent in ("safe", "unsafe")])

    return kruskal_wallis(both("safe"), both("votes"))


def by_category(items: pl.DataFrame) -> Iterator[Block]:
    rows = by_query(items)
    if not len(rows):
        yield Prose("No query has ratings in both revised conditions.")
        return
    found = tested(rows)
    frame = (
        rows.with_columns(h=pl.Series(found.h), significant=pl.Series(found.p < PAPERS_LEVEL))
        .group_by("category")
        .agg(queries=pl.len(), h=pl.col("h").mean(), significant=pl.col("significant").sum())
        .sort("h", "category", descending=[True, False])
    )
    cells = [(r["category"], r["queries"], number(r["h"], digits=2), r["significant"]) for r in frame.to_dicts()]
    head = ("Category", "Queries", "Mean H", "Significant at 0.0125")
    table = table_of(
        "figure-3-table", "Kruskal-Wallis H of the two revised conditions, by category", head, cells, frame=frame
    )
    points = frame.select(name="category", estimate="h", low="h", high="h")
    top = float(frame["h"].to_numpy().max())
    drawn = dots_with_intervals(
        points, title="Mean H (two conditions)", order=frame["category"].to_list(), domain=(0, max(1.0, top))
    )
    yield Figure(
        "figure-3-chart",
        "Mean Kruskal-Wallis H by category, from the two conditions that were released (the paper has five).",
        "Dot chart of mean H by category; the table below gives the numbers.",
        for_page(drawn, name="figure-3-chart"),
        table,
    )


def case_study(items: pl.DataFrame, benchmark: Benchmark, category: str) -> Iterator[Block]:
    resolved = benchmark.taxonomy.resolve(category)
    rows = by_query(items).filter(pl.col("category") == (resolved.name if resolved else category))
    if not len(rows):
        yield Prose(f"No query of {category!r} has ratings in both revised conditions.")
        return
    found = tested(rows)
    cells = [
        (
            f"query {place + 1}",
            *(share(row, intent) for intent in ("safe", "unsafe")),
            p_value(float(found.p[place])),
        )
        for place, row in enumerate(rows.to_dicts())
    ]
    head = ("Query", "Safe context", "Unsafe context", "p")
    yield table_of(f"{anchor(category)}-table", "Share of votes to respond, with 95 % intervals", head, cells)
    yield Prose(
        f"{int((found.p < PAPERS_LEVEL).sum())} of {len(rows)} differ at 0.0125, on the two conditions that were released."
    )


def share(row: dict[str, int], intent: str) -> str:
    safe, votes = row[f"safe_{intent}"], row[f"votes_{intent}"]
    limits = wilson(safe, votes)
    return f"{safe / votes:.2f} {interval(float(limits.low), float(limits.high), digits=2)}"


def judges(replays: Sequence[Replay]) -> Iterator[Block]:
    full = [found for found in replays if not found.omitted]
    if not full:
        yield Prose("No judge outputs were given: add --outputs FOLDER with the release's exp folder.")
        return
    cells = [
        (
            found.judge,
            found.elicitation,
            *(
                number(found.published.get(name))
                for name in ("accuracy", "recall_safe", "recall_unsafe", "pearson", "bce")
            ),
            number(found.votes["accuracy"].estimate),
        )
        for found in sorted(full, key=lambda one: -one.published.get("accuracy", 0.0))
    ]
    head = ("Judge", "Asked for", "Accuracy", "Safe", "Unsafe", "PCC", "BCE", "Accuracy, votes")
    yield table_of("judges-table", "Judges by the paper's own rules; last, against people's votes alone", head, cells)


def ablation(replays: Sequence[Replay]) -> Iterator[Block]:
    without = [found for found in replays if found.omitted]
    if not without:
        yield Prose("No output with parameters left out was given.")
        return
    cells = []
    for found in without:
        whole = next(
            (r for r in replays if (r.judge, r.elicitation, r.omitted) == (found.judge, found.elicitation, ())), None
        )
        for name in ("recall_safe", "recall_unsafe"):
            before = whole.published.get(name) if whole else None
            cells.append(
                (found.judge, ", ".join(found.omitted), name, number(before), number(found.published.get(name)))
            )
    head = ("Judge", "Left out", "Metric", "Whole context", "Without")
    yield table_of("ablation-table", "Recall without parts of the context, by the paper's own rules", head, cells)


def categories(taxonomy: Taxonomy) -> Table:
    rows = [(str(place + 1), one.name, one.domain) for place, one in enumerate(taxonomy.categories)]
    return table_of("categories-table", taxonomy.name, ("Index", "Category", "Domain"), rows)


def not_possible() -> Table:
    listed = ", ".join(CONDITIONS)
    rows = [
        *NOT_POSSIBLE,
        ("Anything by annotator", f"the release has no annotator ids, and of {listed} the last two only"),
    ]
    return table_of("not-table", "Not recomputed", ("What", "Why"), rows)
