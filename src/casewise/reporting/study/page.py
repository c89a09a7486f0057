"""The report of a study, laid out: which number to quote first, what the paper would have said beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from casewise.reporting.charts import study as study_charts
from casewise.reporting.charts.drawing import dots_with_intervals, for_page
from casewise.reporting.document import (
    Block,
    Document,
    Figure,
    Notice,
    Prose,
    Section,
    count,
    interval,
    number,
    percent,
    table_of,
)
from casewise.reporting.study.methods import methods
from casewise.reporting.study.page_own import own_blocks
from casewise.reporting.study.page_people import people_sections
from casewise.reporting.study.without import left_out
from casewise.reporting.study.written import contrast_name, p_value
from casewise.studies.analysing.analysis import PAPER_LEVEL, StudyAnalysis

__all__ = ["study_page"]

MOST_QUERIES = 20
"""Queries drawn one by one for a category; all of them stand in `tables/shares.parquet`."""

QUOTE_THIS = (
    "Quote the first interval: it holds for other queries of the kind and other people, with errors clustered by query "
    "across conditions and by annotator. The second speaks of these very queries and other people. Both are of the first "
    "condition less the second."
)

ANONYMOUS = (
    "The interval knows that queries differ, but not that annotators do, because votes are anonymous: it is too narrow by "
    "what annotators have in common."
)

CORRECTED = {
    "holm": "corrected by Holm",
    "bonferroni": "corrected by Bonferroni",
    "benjamini-hochberg": "corrected by Benjamini and Hochberg",
    "none": "not corrected",
}

POOLED = (
    "The pooled z test takes every rating for independent. With annotators who differ as much as people do, it finds a "
    "difference in a quarter to a half of simulated studies where there is none (docs/statistics.md), so its p values are "
    "for comparison with the paper only."
)


def study_page(
    analysis: StudyAnalysis,
    *,
    name: str,
    notes: tuple[str, ...] = (),
    case_studies: tuple[str, ...] = (),
    more: tuple[Section, ...] = (),
) -> Document:
    """`analysis` as a document for any face; `more` stands behind the conditions."""
    ratings = analysis.ratings
    people = "anonymous votes" if ratings.annotator is None else f"{len(ratings.annotator):,} annotators"
    return Document(
        title=f"What people say: {name}",
        subtitle=f"{len(ratings):,} ratings of {len(ratings.item):,} items ({len(ratings.query):,} queries) under "
        f"{len(ratings.condition)} conditions; {people}",
        notices=notes,
        sections=tuple(
            section
            for section in (
                Section("conditions", "Conditions", tuple(conditions(analysis)), brief=True),
                *more,
                Section("contrasts", "Condition against condition", tuple(contrasts(analysis)), brief=True),
                Section("left-out", "With and without what was left out", tuple(left_out(analysis)), brief=True),
                Section("labels", "What people call the items", tuple(label_counts(analysis))),
                Section("tasks", "Task by task", tuple(tasks(analysis)), brief=True),
                Section("categories", "By category", tuple(categories(analysis))),
                Section("cases", "Query by query", tuple(cases(analysis, case_studies))),
                *people_sections(analysis),
                Section("own-questions", "The study's own questions", tuple(own_blocks(analysis))),
                Section("methods", "Methods, to be copied", (Prose(methods(analysis)),)),
                Section("missing", "Not available", tuple(missing(analysis)), brief=True),
            )
            if section.blocks
        ),
    )


def conditions(analysis: StudyAnalysis) -> Iterator[Block]:
    rows = analysis.conditions.to_dicts()
    cells = [
        (
            row["condition"],
            count(row["items"]),
            "–" if row["annotators"] is None else count(row["annotators"]),
            count(row["ratings"]),
            percent(row["safe_rate"]),
            interval(row["ci_low"], row["ci_high"]),
        )
        for row in rows
    ]
    head = ("Condition", "Items", "Annotators", "Ratings", "Safe", "95 % interval over queries")
    caption = "Safe rate of each condition"
    table = table_of("conditions", caption, head, cells, frame=analysis.conditions)
    points = analysis.conditions.select(name="condition", estimate="safe_rate", low="ci_low", high="ci_high")
    drawn = dots_with_intervals(points, title="Safe rate")
    yield table
    yield Figure("condition-rates", caption, f"{caption}, as in the table.", for_page(drawn, name="condition-rates"))


def contrasts(analysis: StudyAnalysis) -> Iterator[Block]:
    if not len(analysis.contrasts):
        yield Notice(analysis.not_available["contrasts"])
        return
    options = analysis.options
    said = "Differences of safe rates, as randomised"
    if analysis.anonymous:
        said += "; errors over queries only, since votes are anonymous"
    yield recommended(analysis.contrasts, analysis, name="contrasts", caption=said)
    corrected = f" p is {CORRECTED[options.correction]} over the planned contrasts, at the level {options.alpha:g}."
    yield Prose((ANONYMOUS if analysis.anonymous else QUOTE_THIS) + corrected)
    if analysis.contrasts_of_completers is not None and len(analysis.contrasts_of_completers):
        caption = "The same among those who finished"
        yield recommended(analysis.contrasts_of_completers, analysis, name="completers", caption=caption)
    yield as_in_paper(analysis)
    yield Prose(POOLED)
    yield equivalents(analysis)
    yield contrast_figure(analysis)


def recommended(table: pl.DataFrame, analysis: StudyAnalysis, *, name: str, caption: str) -> Block:
    options, cells = analysis.options, []
    for row in table.to_dicts():
        first = "like" if row["like_error"] is not None else "query"
        cells.append(
            (
                contrast_name(row),
                number(row[f"{first}_estimate"]),
                interval(row[f"{first}_ci_low"], row[f"{first}_ci_high"]),
                p_value(row["recommended_p_corrected"]),
                "–" if row["differs"] is None else "yes" if row["differs"] else "not shown",
                "anonymous votes" if analysis.anonymous else interval(row["these_ci_low"], row["these_ci_high"]),
                number(row["query_estimate"]),
            )
        )
    p = "p" if options.correction == "none" else f"p ({options.correction.title()})"
    heads = (
        *("Contrast", "Difference", "Queries like these", p),
        *(f"Differs at {options.alpha:g}", "These queries", "Average per query"),
    )
    return table_of(name, caption, heads, cells, frame=table)


def as_in_paper(analysis: StudyAnalysis) -> Block:
    cells = [
        (
            contrast_name(row),
            number(row["z"], digits=2),
            p_value(row["p"], row["log_p"]),
            p_value(row["p_bonferroni"]),
            p_value(row["p_holm"]),
            p_value(row["p_benjamini_hochberg"]),
            interval(row["ci_low"], row["ci_high"]),
        )
        for row in analysis.contrasts.to_dicts()
    ]
    heads = ("Contrast", "z", "p", "Bonferroni", "Holm", "BH", "95 % Wald")
    caption = f"As in the paper: pooled z test, level {analysis.bonferroni_level:.4g} (Bonferroni)"
    return table_of("z-tests", caption, heads, cells)


def equivalents(analysis: StudyAnalysis) -> Block:
    margin = analysis.options.margin
    cells = [
        (
            contrast_name(row),
            p_value(row["equivalent_p"]),
            "yes" if row["equivalent"] else "not shown" if row["equivalent_p"] is not None else "–",
        )
        for row in analysis.contrasts.to_dicts()
    ]
    return table_of("equivalence", f"Alike within ±{margin:g} (TOST)?", ("Contrast", "p", "Equivalent"), cells)


def contrast_figure(analysis: StudyAnalysis) -> Figure:
    kinds = {
        "like": "queries like these (query, annotator)",
        "these": "these queries (annotator)",
        "query": "average per query",
        "z": "pooled, as in the paper",
    }
    rows = []
    for row in analysis.contrasts.to_dicts():
        for prefix, series in kinds.items():
            low, high = ("ci_low", "ci_high") if prefix == "z" else (f"{prefix}_ci_low", f"{prefix}_ci_high")
            if row[low] is not None:
                estimate = row["difference"] if prefix == "z" else row[f"{prefix}_estimate"]
                rows.append(
                    {
                        "name": contrast_name(row),
                        "series": series,
                        "estimate": estimate,
                        "low": row[low],
                        "high": row[high],
                    }
                )
    frame = pl.DataFrame(rows)
    drawn = dots_with_intervals(frame, title="Difference of safe rates", zero=True)
    return Figure(
        "contrast-intervals",
        "What each kind of error makes of a difference: 95 % intervals",
        "Intervals of each contrast under four kinds of error; the numbers stand in the tables above.",
        for_page(drawn, name="contrast-intervals"),
    )


def label_counts(analysis: StudyAnalysis) -> Iterator[Block]:
    heads = ("Condition", "Items", "Safe", "Unsafe", "Half of each", "No label")
    cells = [tuple(row.values()) for row in analysis.labels.to_dicts()]
    caption = f"Items by their label, under the policy {analysis.options.label_policy.name}"
    yield table_of("labels", caption, heads, cells, frame=analysis.labels)


def tasks(analysis: StudyAnalysis) -> Iterator[Block]:
    found = analysis.tasks
    if found is None:
        return
    table, alpha, level = found.tasks, analysis.options.alpha, PAPER_LEVEL
    testable = table.filter(pl.col("testable"))
    rows: list[tuple[Any, ...]] = [
        ("Tasks (queries with ratings under two conditions at least)", len(table)),
        ("Testable (not everyone agrees)", len(testable)),
        (f"p ≤ {level:.4g}, as in the paper (chi-square)", int((testable["p"] <= level).sum())),
        (f"p ≤ {level:.4g}, permutation", int((testable["p_exact"] <= level).sum())),
        (
            f"p ≤ {alpha:g} after Benjamini-Hochberg, permutation",
            int((testable["p_benjamini_hochberg"] <= alpha).sum()),
        ),
    ]
    if len(testable):
        rows.append(("Median Cramér's V", number(float(np.median(testable["cramers_v"].to_numpy())))))
    yield table_of("tasks", "Kruskal-Wallis on each query", ("", "Tasks"), rows)
    yield Prose(
        f"Permutation p values: {found.exact_method}. Where everyone agrees p is 1 by definition and the task counts as "
        "untestable. Ratings of one task come from different people, so here they are independent."
    )
    cells = [
        (
            contrast_name(row),
            row["tasks"],
            *(row[name] for name in ("dunn_bonferroni", "dunn_holm", "dunn_benjamini_hochberg", "proportions_holm")),
        )
        for row in found.pairs.to_dicts()
    ]
    heads = ("Pair", "Tasks", "Dunn, Bonferroni", "Dunn, Holm", "Dunn, BH", "Proportions, Holm")
    yield table_of(
        "pairs", f"Tasks on which two conditions differ at {alpha:g}, corrected within the task", heads, cells
    )


def categories(analysis: StudyAnalysis) -> Iterator[Block]:
    found = analysis.tasks
    if found is None or found.categories is None:
        return
    cells = [
        (
            row["category"],
            row["queries"],
            number(row["mean_h"], digits=2),
            p_value(row["p"]),
            percent(row["significant_after_correction"], digits=0),
            percent(row["significant_at_paper_level"], digits=0),
        )
        for row in found.categories.to_dicts()
    ]
    heads = ("Category", "Tasks", "Mean H", "Permutation p", "After BH", f"p ≤ {PAPER_LEVEL:.4g}")
    caption = "Where context matters most: mean Kruskal-Wallis H and share of significant tasks"
    behind = table_of("categories", caption, heads, cells, frame=found.categories)
    rows = found.categories.select("category", "mean_h", significant="significant_after_correction")
    drawn = study_charts.category_bars(rows)
    alt = f"Bars of {len(rows)} categories by falling mean H; the table gives them."
    yield Figure("category-h", caption, alt, for_page(drawn, name="category-h"), behind)
    yield Prose(f"Permutation p values of the mean H rest on {found.category_draws}.")


def cases(analysis: StudyAnalysis, chosen: tuple[str, ...]) -> Iterator[Block]:
    found = analysis.tasks
    if found is None or found.categories is None:
        return
    names = found.categories["category"].to_list()
    picked = chosen or tuple(dict.fromkeys((names[0], names[-1])))
    for index, category in enumerate(picked):
        rows = found.shares.filter(pl.col("category") == category)
        if not len(rows):
            yield Notice(f"No category is called {category!r}.")
            continue
        names = rows["query"].unique(maintain_order=True).to_list()
        queries = {name: f"query {i + 1}" for i, name in enumerate(names[:MOST_QUERIES])}
        rows = rows.filter(pl.col("query").is_in(list(queries))).with_columns(pl.col("query").replace_strict(queries))
        cells = [
            (
                r["query"],
                r["condition"],
                f"{r['safe']}/{r['ratings']}",
                percent(r["share"]),
                interval(r["ci_low"], r["ci_high"]),
            )
            for r in rows.to_dicts()
        ]
        heads = ("Query", "Condition", "Respond", "Share", "95 % Wilson")
        some = "each query" if len(names) <= MOST_QUERIES else f"the first {MOST_QUERIES} of {len(names)} queries"
        caption = f'{category}: share of "respond" to {some} under each condition'
        points = rows.select(name="query", series="condition", estimate="share", low="ci_low", high="ci_high")
        drawn = dots_with_intervals(points, title='Share of "respond"')
        yield Figure(
            f"case-{index + 1}",
            caption,
            f"Dots with intervals for {len(queries)} queries; the table gives them.",
            for_page(drawn, name=f"case-{index + 1}"),
            table_of(f"case-{index + 1}-shares", caption, heads, cells, frame=rows),
        )


def missing(analysis: StudyAnalysis) -> Iterator[Block]:
    rows = list(analysis.not_available.items())
    if rows:
        yield table_of("not-available", "What these ratings cannot tell", ("Part", "Why"), rows)
