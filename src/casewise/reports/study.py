"""The report of a study."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError, DataError
from casewise.evaluate.study import RatesWithJudge, rates_with_judge
from casewise.notation import count, interval, number, p_value, percent, points, share
from casewise.reports import charts as study_charts
from casewise.reports.charts import dots_with_intervals, for_page, standalone
from casewise.reports.document import (
    Block,
    Document,
    Figure,
    Forest,
    ForestRow,
    Notice,
    Prose,
    Section,
    all_numbers,
    table_of,
)
from casewise.reports.formats import html, json_value, latex, markdown
from casewise.reports.study_parts import (
    group_blocks,
    methods,
    mixed_model_section,
    of_replies,
    own_blocks,
    own_json,
    people_sections,
    with_judge_section,
    write_mixed_model,
)
from casewise.stats.ratings import CodedRatings, code_ratings
from casewise.storage.benchmark_folder import write_table
from casewise.storage.files import json_text, parse, read_text, write_text
from casewise.studies.analysis import (
    PAPER_LEVEL,
    AnalysisOptions,
    ChosenOptions,
    OwnFound,
    StudyAnalysis,
    analyse,
    default_contrasts,
    own_questions,
    settle,
)
from casewise.studies.ratings_source import ExportedStudy, RatingsSource, read_ratings


def contrast_name(row: dict[str, Any]) -> str:
    """A pair of conditions, in words that a narrow table can break."""
    return f"{row['first']} − {row['second']}".replace("_", " ")


# The headline numbers with and without the ratings that were left out, side by side.


NO_RATE = dict.fromkeys(("ratings", "safe_rate", "ci_low", "ci_high"))
NO_CONTRAST = dict.fromkeys(("like_estimate", "like_ci_low", "like_ci_high", "recommended_p_corrected", "differs"))


def left_out(analysis: StudyAnalysis) -> Iterator[Block]:
    """Why ratings were left out, and what they would change; nothing where none were."""
    found = analysis.left_out
    if found is None:
        return
    contrasts = [*_beside(found.contrasts, analysis.contrasts, by=("first", "second"))]
    turned = [contrast_name(row) for row, kept in contrasts if kept and kept["differs"] != row["differs"]]
    if contrasts:
        yield Prose(
            f"With the {found.ratings - len(analysis.ratings):,} ratings that were left out, "
            + (f"the decision changes for {', '.join(turned)}." if turned else "every contrast has the same decision.")
        )
    yield table_of("left-out", "Ratings left out, by reason", ("Reason", "Ratings"), list(found.reasons.items()))
    rates = [
        (row["condition"], *_rate(kept or NO_RATE), *_rate(row))
        for row, kept in _beside(found.conditions, analysis.conditions, by=("condition",))
    ]
    heads = ("Condition", "Ratings without", "Safe, 95 % interval", "Ratings with", "Safe, 95 % interval")
    yield table_of("left-out-conditions", "Safe rates without and with them", heads, rates, frame=found.conditions)
    differences = [
        (
            contrast_name(row),
            *(cell for one in (kept or NO_CONTRAST, row) for cell in (in_points(one, best(one)), p_of(one))),
        )
        for row, kept in contrasts
    ]
    heads = ("Contrast", "Points without, 95 % interval", "p", "Points with, 95 % interval", "p")
    caption = "Differences of safe rates without and with them, p corrected alike"
    yield table_of("left-out-contrasts", caption, heads, differences, frame=found.contrasts)


def _beside(
    rows: pl.DataFrame, others: pl.DataFrame, *, by: tuple[str, ...]
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Each row with the one of `others` that has the same names."""
    known = {tuple(row[name] for name in by): row for row in others.to_dicts()}
    for row in rows.to_dicts():
        yield row, known.get(tuple(row[name] for name in by))


def _rate(row: dict[str, Any]) -> tuple[str, str]:
    return count(row["ratings"]), share(row["safe_rate"], row["ci_low"], row["ci_high"])


def best(row: dict[str, Any]) -> str:
    """Which difference is quoted: that for queries like these, or the average per query where there is none."""
    return "query" if row["like_estimate"] is None and "query_estimate" in row else "like"


def in_points(row: dict[str, Any], prefix: str) -> str:
    return points(*(row[f"{prefix}_{name}"] for name in ("estimate", "ci_low", "ci_high"))).replace(" points", "")


def p_of(row: dict[str, Any]) -> str:
    return p_value(row["recommended_p_corrected"])


# The report of a study, laid out: which number to quote first, what the paper would have said beside it.


MOST_QUERIES = 20
"""Queries drawn one by one for a category; all of them stand in `tables/shares.parquet`."""

QUOTE_THIS = (
    "Each interval is for other queries of the kind and other people: errors are clustered by query across conditions and by "
    "annotator."
)

ANONYMOUS = (
    "Each interval is over queries only: votes are anonymous, so it leaves out how annotators differ and is too narrow."
)

CORRECTED = {
    "holm": "corrected by Holm",
    "bonferroni": "corrected by Bonferroni",
    "benjamini-hochberg": "corrected by Benjamini and Hochberg",
    "none": "not corrected",
}

POOLED = (
    "The pooled z test takes every rating for independent. With annotators who differ as much as people do, it finds a "
    "difference in a quarter to a half of simulated studies where there is none, so its p values are "
    "for comparison with the paper only."
)


def study_page(
    analysis: StudyAnalysis,
    *,
    name: str,
    notes: tuple[str, ...] = (),
    case_studies: tuple[str, ...] = (),
    more: tuple[Section, ...] = (),
    planned: str = "no frozen plan",
    of_replies: bool = False,
) -> Document:
    """`analysis` as a document for any face: the contrasts first, `more` behind them, all other numbers in folds.

    `planned`: whether the contrasts were frozen before the data were seen, in words.
    """
    ratings = analysis.ratings
    people = "anonymous votes" if ratings.annotator is None else f"{len(ratings.annotator):,} annotators"
    numbers = (
        Section("conditions", "Each condition", tuple(conditions(analysis))),
        Section("other-tests", "Other tests of the contrasts", tuple(other_tests(analysis))),
        Section("labels", "What people call the items", tuple(label_counts(analysis))),
        Section("tasks", "Query by query: where conditions differ", tuple(tasks(analysis))),
        Section("categories", "By category", tuple(categories(analysis))),
        Section("cases", "The queries of some categories", tuple(cases(analysis, case_studies))),
        *people_sections(analysis),
        Section("own-questions", "The study's own questions", tuple(own_blocks(analysis))),
        Section("methods", "Methods, to be copied", (Prose(methods(analysis)),)),
        Section("missing", "What these ratings cannot tell", tuple(missing(analysis))),
    )
    sections = (
        Section(
            "answer", "What was found", tuple(answer(analysis, planned=planned, of_replies=of_replies)), first=True
        ),
        Section("contrasts", "The contrasts", tuple(contrasts(analysis)), brief=True),
        *more,
        Section("groups", "Groups of annotators", tuple(group_blocks(analysis)), brief=True),
        Section("left-out", "With and without what was left out", tuple(left_out(analysis)), brief=True),
        all_numbers(numbers),
    )
    return Document(
        title=f"What people say: {name}",
        subtitle=f"{len(ratings):,} ratings of {len(ratings.item):,} items ({len(ratings.query):,} queries) under "
        f"{len(ratings.condition)} conditions; {people}",
        notices=notes,
        sections=tuple(section for section in sections if section.blocks),
    )


MOST_SENTENCES = 6
"""Contrasts that have a sentence each; all stand in the table."""


def answer(analysis: StudyAnalysis, *, planned: str, of_replies: bool) -> Iterator[Block]:
    """Each contrast in a sentence with its decision, and the conditions on one axis."""
    rows = analysis.contrasts.to_dicts() if len(analysis.contrasts) else []
    if not rows:
        yield Notice(analysis.not_available["contrasts"])
    for row in rows[:MOST_SENTENCES]:
        yield Prose(
            contrast_sentence(row, analysis.options, of=len(rows), planned=planned, of_replies=of_replies), lead=True
        )
    if rows:
        yield Prose(ANONYMOUS if analysis.anonymous else QUOTE_THIS)
    said = f"{'Rate of answering' if of_replies else 'Safe rate'} of each condition"
    drawn = tuple(
        ForestRow(row["condition"].replace("_", " "), row["safe_rate"], row["ci_low"], row["ci_high"], strong=True)
        for row in analysis.conditions.to_dicts()
    )
    over = f"intervals over queries{'' if analysis.anonymous else ' and people'}"
    yield Forest("condition-rates", f"{said}; {over}", (("", drawn),), heads=("Condition", "", "Rate"))


def contrast_sentence(
    row: dict[str, Any], options: AnalysisOptions, *, of: int, planned: str, of_replies: bool = False
) -> str:
    """What a contrast shows: which condition has the higher rate, no more than the margin apart, or neither; and how it was tested."""
    first, second = (row[name].replace("_", " ") for name in ("first", "second"))
    estimate, low, high = (row[f"{best(row)}_{name}"] for name in ("estimate", "ci_low", "ci_high"))
    if estimate is None or row["differs"] is None:
        return f"{first} and {second} cannot be compared: too few queries or people."
    who, margin = "Replies answer" if of_replies else "People allow", 100 * options.margin
    if row["differs"]:
        if estimate < 0:
            first, second, low, high = second, first, None if high is None else -high, None if low is None else -low
        said = f"{who} {points(abs(estimate), low, high)} more under {first} than under {second}"
        if row["equivalent"]:
            said += f", and the difference is smaller than {margin:g} points"
    elif row["equivalent"]:
        said = f"{first} and {second} differ by less than {margin:g} points: {points(estimate, low, high)}"
    else:
        said = f"A difference between {first} and {second} is not shown: {points(estimate, low, high)}"
    p = p_of(row) if not (row["equivalent"] and not row["differs"]) else p_value(row["equivalent_p_corrected"])
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    corrected = CORRECTED[options.correction]
    how = f", {corrected} over {of} contrasts" if of > 1 else ""
    return f"{said} ({planned}; {p}{how})."


def conditions(analysis: StudyAnalysis) -> Iterator[Block]:
    cells = [
        (
            row["condition"],
            count(row["items"]),
            "–" if row["annotators"] is None else count(row["annotators"]),
            count(row["ratings"]),
            share(row["safe_rate"], row["ci_low"], row["ci_high"]),
        )
        for row in analysis.conditions.to_dicts()
    ]
    head = ("Condition", "Items", "Annotators", "Ratings", "Safe, 95 % interval")
    caption = f"Safe rate of each condition; intervals over queries{'' if analysis.anonymous else ' and people'}"
    yield table_of("conditions", caption, head, cells, frame=analysis.conditions)


def contrasts(analysis: StudyAnalysis) -> Iterator[Block]:
    if not len(analysis.contrasts):
        return
    options = analysis.options
    said = "Differences of safe rates in points with 95 % intervals, the first condition less the second, as randomised"
    yield recommended(analysis.contrasts, analysis, name="contrasts", caption=said)
    yield Prose(
        f"p is {CORRECTED[options.correction]} over the contrasts, at the level {options.alpha:g}; intervals are not corrected. "
        f"Alike: the difference lies within ±{100 * options.margin:g} points (two one-sided tests, corrected in the same way)."
    )


def other_tests(analysis: StudyAnalysis) -> Iterator[Block]:
    if not len(analysis.contrasts):
        return
    if analysis.contrasts_of_completers is not None and len(analysis.contrasts_of_completers):
        caption = "The same among those who finished"
        yield recommended(analysis.contrasts_of_completers, analysis, name="completers", caption=caption)
    yield other_errors(analysis)
    yield as_in_paper(analysis)
    yield Prose(POOLED)


def recommended(table: pl.DataFrame, analysis: StudyAnalysis, *, name: str, caption: str) -> Block:
    options = analysis.options

    def decision(value: bool | None) -> str:
        return "–" if value is None else "yes" if value else "not shown"

    cells = [
        (
            contrast_name(row),
            in_points(row, best(row)),
            p_of(row),
            decision(row["differs"]),
            p_value(row["equivalent_p_corrected"]),
            decision(row["equivalent"]),
        )
        for row in table.to_dicts()
    ]
    p = "p" if options.correction == "none" else f"p ({options.correction.title()})"
    heads = ("Contrast", "Queries like these", p, f"Differs at {options.alpha:g}", "p, alike", "Alike")
    return table_of(name, caption, heads, cells, frame=table)


def other_errors(analysis: StudyAnalysis) -> Block:
    """The same differences for these very queries, and as an average over queries."""
    cells = [
        (
            contrast_name(row),
            "anonymous votes" if analysis.anonymous else in_points(row, "these"),
            in_points(row, "query"),
        )
        for row in analysis.contrasts.to_dicts()
    ]
    heads = ("Contrast", "These queries", "Average per query")
    caption = "The differences in points, with other 95 % intervals: for these very queries and other people, and over queries"
    return table_of("other-errors", caption, heads, cells)


def as_in_paper(analysis: StudyAnalysis) -> Block:
    cells = [
        (
            contrast_name(row),
            number(row["z"], digits=2),
            p_value(row["p"]),
            p_value(row["p_bonferroni"]),
            p_value(row["p_holm"]),
            p_value(row["p_benjamini_hochberg"]),
            interval(100 * row["ci_low"], 100 * row["ci_high"], digits=1),
        )
        for row in analysis.contrasts.to_dicts()
    ]
    heads = ("Contrast", "z", "p", "Bonferroni", "Holm", "BH", "95 % Wald, points")
    caption = f"As in the paper: pooled z test, level {analysis.bonferroni_level:.4g} (Bonferroni)"
    return table_of("z-tests", caption, heads, cells)


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
            f"≤ {row['p']:.3f}" if row["p_at_floor"] else p_value(row["p"]),
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
    yield Prose(
        f"Permutation p values of the mean H rest on {found.category_draws}; ≤ marks the smallest that so many can show."
    )


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
                share(r["share"], r["ci_low"], r["ci_high"]),
            )
            for r in rows.to_dicts()
        ]
        heads = ("Query", "Condition", "Respond", "Share, 95 % Wilson interval")
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


# The report of a study's ratings: numbers first, then every face, written to a folder.


MIXED_MODEL = "mixed_model"
OWN_NAME = re.compile(r"(figures|tables)/[\w-]+\.(svg|parquet)")


@dataclass(frozen=True)
class StudyReport:
    """One study's analysis and how it is written."""

    analysis: StudyAnalysis
    name: str
    notes: tuple[str, ...] = ()
    case_studies: tuple[str, ...] = ()
    """Categories whose queries are shown one by one; empty: those with the largest and the smallest mean H."""
    study: ExportedStudy | None = None
    """Plan and people, where the ratings are an exported study's."""
    departures: tuple[str, ...] = ()
    """From what was frozen; `notes` say them too."""
    with_judges: tuple[RatesWithJudge, ...] = ()
    """Rates with a judge on every item, for each run given."""
    exported: Path | None = None
    """The benchmark's folder, such as a study was exported to, where the ratings are from there."""
    mixed_model: pl.DataFrame | None = None
    """What R's mixed model found, where it was run on what an earlier report of these ratings wrote."""

    def __repr__(self) -> str:
        return f"<StudyReport: {self.name}, {len(self.analysis.ratings):,} ratings>"

    @property
    def frozen(self) -> str | None:
        """The hash of what the study froze; None where it did not."""
        return self.study.frozen.digest if self.study and self.study.frozen else None

    @property
    def planned(self) -> str:
        """Whether the contrasts were frozen before the data were seen, in words."""
        if self.frozen is None:
            return "no frozen plan"
        if any(departure.startswith("analysis.contrasts") for departure in self.departures):
            return "not the planned contrasts"
        return "planned, with departures" if self.departures else "planned"

    @property
    def round(self) -> list[str]:
        """Version and phase of the study's round; empty where the ratings are no exported study's."""
        return list(self.study.round) if self.study else []

    @cached_property
    def document(self) -> Document:
        """The report laid out."""
        more = (mixed_model_section(self.mixed_model), with_judge_section(self.with_judges))
        replies = bool(self.study and self.study.rates == "replies")
        page = study_page(
            self.analysis,
            name=self.name,
            notes=self.notes,
            case_studies=self.case_studies,
            more=more,
            planned=self.planned,
            of_replies=replies,
        )
        return of_replies(page) if replies else page

    def as_json(self) -> dict[str, Any]:
        """Every number, unrounded, as plain JSON values; what is not available is null and explained."""
        a = self.analysis
        tables = {
            "conditions": a.conditions,
            "contrasts": a.contrasts,
            "contrasts_of_completers": a.contrasts_of_completers,
            "groups": a.groups,
            "labels": a.labels,
            "rates_with_judge": with_judges_table(self.with_judges),
            **({} if self.mixed_model is None else {"mixed_model": self.mixed_model}),
            **(
                {}
                if a.tasks is None
                else {"tasks": a.tasks.tasks, "pairs": a.tasks.pairs, "categories": a.tasks.categories}
            ),
        }
        numbers = {
            "left_out": a.left_out,
            "agreement": a.agreement,
            "reliability": a.reliability,
            "ceilings": a.ceilings,
            "panel": a.panel,
            "attrition": a.attrition,
            "own_questions": [own_json(found) for found in a.own],
            "annotators": None
            if a.annotators is None
            else {
                **{k: v for k, v in vars(a.annotators).items() if k != "table"},
                "flagged": {name: int(a.annotators.table[name].sum()) for name in ("unresponsive", "constant")},
            },
        }
        return {
            "name": self.name,
            "notes": list(self.notes),
            "frozen": self.frozen,
            "round": self.round,
            "departures": list(self.departures),
            "not_available": a.not_available,
            "options": {
                **json_value(asdict(a.options)),
                "bonferroni_level": a.bonferroni_level,
                "paper_level": PAPER_LEVEL,
            },
            "ratings": len(a.ratings),
            "anonymous": a.anonymous,
            **{key: json_value(table) for key, table in tables.items()},
            **{key: json_value(value) for key, value in numbers.items()},
        }

    def write(self, folder: Path) -> None:
        """Everything: `report.html`, `.md`, `.json`, `tables.tex`, `figures/*.svg` and `tables/*.parquet`.

        Where it is known who rated, `mixed_model/` has the ratings and a script for R; where that was run on the same
        ratings, here or where the study was exported to, what it found stands in the report.

        Raises ConfigurationError: there is something else at `folder` than an earlier report of the same study.
        """
        self.check_place(folder)
        a, found = self.analysis, None
        if not a.anonymous and len(a.contrasts):
            pairs = list(a.contrasts.select("first", "second").iter_rows())
            found = write_mixed_model(
                folder / MIXED_MODEL,
                a.ratings,
                pairs,
                correction=a.options.correction,
                level=a.options.level,
                ran_in=() if self.exported is None else (self.exported / MIXED_MODEL,),
            )
        replace(self, mixed_model=found).write_faces(folder)

    def check_place(self, folder: Path) -> None:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        there = folder / "report.json"
        said = parse(read_text(there), path=there) if there.is_file() else {}
        now = {"name": self.name, "frozen": self.frozen, "round": self.round}
        differs = [part for part, value in now.items() if said.get(part) != value]
        if differs:
            if not said:
                why = "it holds other things"
            elif "round" not in said:
                why = "an earlier version of casewise wrote it, and did not say of which round it is"
            else:
                why = "it is of " + ", ".join(f"{part} {said.get(part)!r}" for part in differs)
            which = f"{self.name!r}" + (f" {self.round[0]} ({self.round[-1]})" if self.round else "")
            raise ConfigurationError(
                f"{folder} exists and is no report of {which}: {why}; nothing is overwritten, so choose another place or "
                "remove it"
            )

    def write_faces(self, folder: Path) -> None:
        """The report as it is, without R's part; what an earlier one wrote and this one does not have is removed."""
        for name in ("figures", "tables"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        write_text(folder / "report.html", html(self.document))
        write_text(folder / "report.md", markdown(self.document))
        write_text(folder / "report.json", json_text(self.as_json()))
        write_text(folder / "tables.tex", latex(self.document))
        written: list[str] = []
        for figure in self.document.figures():
            written.append(f"figures/{figure.name}.svg")
            write_text(folder / written[-1], standalone(figure.svg))
        for name, table in frames(self.analysis).items():
            written.append(f"tables/{name}.parquet")
            write_table(table, folder / written[-1])
        remove_earlier(folder, written)


WRITTEN = "written.json"
"""The figures and tables of a report's folder that are the report's own, so that the next one can tell them from others."""


def remove_earlier(folder: Path, written: Sequence[str]) -> None:
    """Remove the figures and tables that the earlier report listed and this one did not write, and list this one's."""
    path = folder / WRITTEN
    listed = parse(read_text(path), path=path) if path.is_file() else []
    for name in listed if isinstance(listed, list) else ():
        if name not in written and OWN_NAME.fullmatch(str(name)):
            (folder / name).unlink(missing_ok=True)
    write_text(path, json_text(list(written)))


def study_report(
    source: Path | str | RatingsSource,
    *,
    crossed: bool = False,
    case_studies: tuple[str, ...] = (),
    judges: Sequence[Path | str] = (),
    **wanted: Unpack[ChosenOptions],
) -> StudyReport:
    """Read ratings, analyse them, and give the report.

    `source`: CSV, Parquet, a benchmark, or ratings read already.
    `crossed`: whether annotators may rate under several conditions.
    `case_studies`: categories to show query by query.
    `judges`: runs over the whole benchmark. Where people rated a random part of it, rates are given with their help.
    `**wanted`: options of the analysis (see `AnalysisOptions`). An exported study has its own, which hold where nothing
        else is wanted; what differs from what it froze is a departure, and the report says so.

    Raises DataError, StatisticsError, StudyError: the ratings cannot be read, or cannot be what they say; the message
    says where.
    """
    found = source if isinstance(source, RatingsSource) else read_ratings(source)
    study = found.study
    if study is not None and wanted.get("flow") is None:
        wanted["flow"] = study.flow
    options, departures = settle(wanted, study.planned if study else {}, frozen=bool(study and study.frozen))
    kept, left_out = found.split(options.exclude)
    options, unmade = without_unrated(options, study, kept) if study else (options, ())
    exported = None if isinstance(source, RatingsSource) or not Path(source).is_dir() else Path(source)
    code = partial(code_ratings, crossed=crossed, source=found.name)
    analysis = analyse(
        code(kept),
        options,
        all_ratings=code(pl.concat([kept, left_out.drop("reason")])) if len(left_out) else None,
        reasons=dict(left_out.group_by("reason", maintain_order=True).len().iter_rows()),
        own=partial(_own, study=study, options=options),
        traits=study.traits if study else None,
    )
    runs = [Path(judge) for judge in judges]
    with_judges = tuple(rates_with_judge(analysis.ratings, run, level=options.level) for run in runs)
    departed = (*(study.departures if study else ()), *map(str, departures))
    return StudyReport(
        analysis,
        found.name,
        (*found.notes, *unmade, *_said(study, departed)),
        case_studies,
        study,
        departed,
        with_judges,
        exported,
    )


def without_unrated(
    options: AnalysisOptions, study: ExportedStudy, ratings: pl.DataFrame
) -> tuple[AnalysisOptions, tuple[str, ...]]:
    """The options without the contrasts of the study's plan that nobody's ratings can tell yet, and a note on each.

    Where none can be told, or one was asked for that is not of the plan, all stay: that is an error.
    """
    planned, rated = study.planned["contrasts"] or (), {*ratings["condition"]}
    unmade = [pair for pair in options.contrasts or () if pair in planned and not {*pair} <= rated]
    told = tuple(pair for pair in options.contrasts or () if pair not in unmade)
    if not told:
        return options, ()
    said = "The planned contrast of {} and {} cannot be made: one of them has no ratings that count. p is corrected over the others."
    return replace(options, contrasts=told), tuple(said.format(*pair) for pair in unmade)


def write_exported_model(exported: Path) -> bool:
    """Write `mixed_model/` into an exported study, as its report would; whether there are contrasts and ratings for it."""
    try:
        found = read_ratings(exported)
    except DataError:  # nobody has rated anything yet
        return False
    options, _ = settle({}, found.study.planned if found.study else {}, frozen=bool(found.study and found.study.frozen))
    kept, _ = found.split(options.exclude)
    if kept.is_empty():
        return False
    ratings = code_ratings(kept, crossed=True, source=found.name)
    planned = options.contrasts or default_contrasts(ratings.condition.names)
    if ratings.annotator is None or not planned or not {*chain(*planned)} <= {*ratings.condition.names}:
        return False
    write_mixed_model(exported / MIXED_MODEL, ratings, planned, correction=options.correction, level=options.level)
    return True


def with_judges_table(found: Sequence[RatesWithJudge]) -> pl.DataFrame | None:
    """The rates of all judges, each row with its judge."""
    tables = [one.table.with_columns(judge=pl.lit(one.judge)) for one in found if len(one.table)]
    return pl.concat(tables) if tables else None


def _own(ratings: CodedRatings, *, study: ExportedStudy | None, options: AnalysisOptions) -> tuple[OwnFound, ...]:
    if study is None or not study.questions:
        return ()
    return own_questions(ratings, study.questions, study.own_answers, level=options.level)


def _said(study: ExportedStudy | None, departures: Sequence[str]) -> Iterator[str]:
    """What readers must know of how the study went, before its numbers."""
    yield from (f"Departs from what was frozen: {departure}" for departure in departures)
    if study is not None:
        yield from (f"Amended while it ran: {amendment}" for amendment in study.amendments)
    if study is not None and not study.exact:
        yield f"The study had not come to its end ({study.stopping}) when it was exported."


def frames(analysis: StudyAnalysis) -> dict[str, pl.DataFrame]:
    """The tables worth keeping whole."""
    tasks = analysis.tasks
    candidates = {
        "conditions": analysis.conditions,
        "contrasts": analysis.contrasts,
        "groups": analysis.groups,
        "labels": analysis.labels,
        "tasks": None if tasks is None else tasks.tasks,
        "post_hoc": None if tasks is None else tasks.post_hoc,
        "categories": None if tasks is None else tasks.categories,
        "shares": None if tasks is None else tasks.shares,
        "annotators": None if analysis.annotators is None else analysis.annotators.table,
    }
    return {name: table for name, table in candidates.items() if table is not None and len(table)}
