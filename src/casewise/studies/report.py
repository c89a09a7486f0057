"""The report of a study."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError
from casewise.evaluate.conclusions import Contrast, conclusions_json, contrast
from casewise.evaluate.study import RatesWithJudge, rates_with_judge
from casewise.notation import NOTHING, interval, number, p_equation, p_value, percent, points, share, spoken
from casewise.records import ShortRepr
from casewise.reports.document import (
    Block,
    Columns,
    Document,
    Forest,
    ForestRow,
    IntervalHead,
    LargeFigure,
    Prose,
    Section,
    all_numbers,
    large_figures,
    next_step,
    table_by,
    table_of,
)
from casewise.reports.formats import Report, drawings, latex
from casewise.stats.estimates import Estimate
from casewise.stats.ratings import code_ratings
from casewise.stats.study_tables import AnalysisOptions
from casewise.storage.benchmark_folder import write_table
from casewise.storage.files import json_text, json_value, parse, read_text, write_text
from casewise.studies.analysis import PAPER_LEVEL, StudyAnalysis, analyse, own_questions, resolve_options
from casewise.studies.ratings_source import ExportedStudy, RatingsSource, read_ratings
from casewise.studies.report_parts import (
    CORRECTED,
    ITEM_WORDS,
    REPLY_WORDS,
    VerdictNames,
    contrast_name,
    group_blocks,
    group_found,
    methods,
    own_blocks,
    own_json,
    people_sections,
    with_judge_section,
    write_mixed_model,
)
from casewise.text import QUERY, Noun, SyntheticNote, capitalised, count_of, join, text

# The headline numbers with and without the ratings that were left out, side by side.


def left_out(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[Block]:
    """Yield the reasons for leaving ratings out, and the change that they would make; nothing where none were left out."""
    excluded = analysis.left_out
    if excluded is None:
        return
    row_of_pair = {(row["first"], row["second"]): row for row in analysis.contrasts.to_dicts()}
    contrasts = [(row, row_of_pair.get((row["first"], row["second"]))) for row in excluded.contrasts.to_dicts()]
    decisions = [(row["differs"], without["differs"] if without else None) for row, without in contrasts]
    turned = [
        contrast_name(row) for (row, _), (with_all, kept) in zip(contrasts, decisions, strict=True) if with_all != kept
    ]
    if set(decisions) - {(None, None)}:
        yield Prose(
            f"With the {count_of(excluded.ratings - len(analysis.ratings), 'rating')} that this report leaves out, "
            + (f"the decision changes for {', '.join(turned)}." if turned else "every contrast has the same decision.")
        )
    yield table_of("left-out", "Ratings left out, by reason", ("Reason", "Ratings"), excluded.reasons.items())
    columns: Columns = {
        "Contrast": (contrast_name, "0"),
        IntervalHead("Points without"): (quoted_points, "1"),
        "p": (p_value, "1.recommended_p_corrected"),
        IntervalHead("Points with"): (quoted_points, "0"),
        "p ": (p_value, "0.recommended_p_corrected"),
    }
    caption = f"Differences of {words.rates} without and with these ratings, p corrected in the same way"
    yield table_by("left-out-contrasts", caption, contrasts, columns, frame=excluded.contrasts)


Row = dict[str, Any]


def quoted_prefix(row: Row) -> str:
    """Return the prefix of the columns of the difference to quote: for queries like these, or else the average per query."""
    return "query" if row["like_estimate"] is None and "query_estimate" in row else "like"


def quoted_points(row: Row | None) -> str:
    return NOTHING if row is None else in_points(row, quoted_prefix(row))


def in_points(row: Row, prefix: str) -> str:
    return points(*(row[f"{prefix}_{name}"] for name in ("estimate", "ci_low", "ci_high")), unit="")


# The report of a study, laid out: which number to quote first, what the paper would have said beside it.


OVER_QUERIES_AND_PEOPLE = text("The intervals hold for other {queries} of the same kind and for other people.")

OVER_QUERIES_ALONE = text(
    "A condition has one annotator, so the intervals are over {queries} only. They hold for these annotators and for no other people."
)

OVER_QUERIES_OF_ANONYMOUS_VOTES = text(
    "The votes are anonymous, so the intervals are over {queries} only. They ignore how annotators differ, "
    "and are too narrow."
)

POOLED_TEST_NOTE = (
    "Use the pooled z test for comparison with the paper only. It treats every rating as independent. If annotators differ as "
    "much as people do, it finds a difference in a quarter to a half of simulated studies without one."
)


def study_page(study: StudyNumbers) -> Document:
    """Return the study's page: the contrasts first, all other numbers in folds."""
    made_up = [f"{note}." for note in study.notes if isinstance(note, SyntheticNote)]
    analysis, words = study.analysis, study.words
    ratings = analysis.ratings
    people = "anonymous votes" if ratings.annotator is None else f"{count_of(len(ratings.annotator), 'annotator')}"
    heads = ("Condition", "Items", words.safe, words.unsafe, "Half of each", "No label")
    caption = f"Items by their label, under the policy {analysis.options.label_policy.name}"
    labels = table_of("labels", caption, heads, analysis.labels.iter_rows(), frame=analysis.labels)
    caption, reasons = "Not available from these ratings", analysis.not_available.items()
    missing = table_of("not-available", caption, ("Part", "Reason"), reasons)
    numbers = (
        Section("other-tests", "Other tests of the contrasts", tuple(other_tests(analysis))),
        Section("labels", "Labels of the items", (labels,)),
        Section("tasks", text("Tests of each {query}"), tuple(tasks(analysis))),
        Section("categories", "By category", tuple(categories(analysis))),
        *people_sections(analysis, words),
        Section("own-questions", "The study's own questions", tuple(own_blocks(analysis))),
        Section("methods", "Methods paragraph for a paper", (Prose(join(" ", (*made_up, *methods(analysis, words)))),)),
        Section("missing", caption, (missing,) if analysis.not_available else ()),
    )
    sections = (
        Section("answer", "The answer", tuple(answer(study)), first=True),
        Section("contrasts", "The contrasts", (*more_contrasts(study), *contrasts(analysis, words)), brief=True),
        with_judge_section(study.with_judges, words),
        Section("groups", "Groups of annotators", tuple(group_blocks(analysis, words)), brief=True),
        Section("left-out", "With and without excluded ratings", tuple(left_out(analysis, words)), brief=True),
        all_numbers(numbers),
    )
    return Document(
        title=f"Study: {study.name}",
        subtitle=text(
            "{n_ratings:rating} of {n_item:item} ({n_query:query}) under {n_condition:condition}; {people}",
            n_ratings=len(ratings),
            n_item=len(ratings.item),
            n_query=len(ratings.query),
            n_condition=len(ratings.condition),
            people=people,
        ),
        notices=(*words.notices, *study.notes),
        sections=tuple(section for section in sections if section.blocks),
        noun=study.noun,
    )


def answer(study: StudyNumbers) -> Iterator[Block]:
    """Yield whether the conditions differ, the three numbers that say most, how far they hold, what to do, and every rate."""
    analysis = study.analysis
    rows = analysis.contrasts.to_dicts() if len(analysis.contrasts) else []
    yield Prose(verdict(study, rows), lead=True)
    yield large_figures("study-figures", "Ratings of people", key_figures(study, rows), counted="Ratings")
    if rows:
        has_reason = any(row["why"] for row in rows)
        yield Prose(
            OVER_QUERIES_OF_ANONYMOUS_VOTES
            if analysis.anonymous
            else OVER_QUERIES_ALONE
            if has_reason
            else OVER_QUERIES_AND_PEOPLE
        )
    yield next_step(after_study(study, rows))
    rate = f"{study.words.rate.capitalize()} of each condition"
    drawn = tuple(
        ForestRow(spoken(row["condition"]), row["safe_rate"], row["ci_low"], row["ci_high"], strong=True)
        for row in analysis.conditions.to_dicts()
    )
    over_people = not analysis.anonymous and analysis.conditions["annotators"].min() != 1
    caption = text("{rate}; intervals over {queries}{people}", rate=rate, people=" and people" * over_people)
    columns: Columns = {
        "Condition": "condition",
        "Items": "items",
        "Annotators": "annotators",
        "Ratings": "ratings",
        IntervalHead(study.words.safe): (share, "safe_rate", "ci_low", "ci_high"),
    }
    table = table_by("conditions", caption, analysis.conditions, columns)
    yield Forest("condition-rates", caption, (("", drawn),), ("Condition", "", "Rate"), behind=table)


def verdict(study: StudyNumbers, rows: Sequence[Row]) -> str:
    """Return the result of the only contrast, how many of several differ, or why there is none."""
    if not rows:
        return text("No conditions can be compared: {why}.", why=study.analysis.not_available["contrasts"])
    if len(rows) == 1:
        return contrast_sentence(
            rows[0], study.analysis.options, n_contrasts=1, planned=study.planned, words=study.words
        )
    contrasts = [contrast_found(row, study.analysis.options, words=study.words) for row in rows]
    n_differ, n_alike = sum(pair.differ.holds for pair in contrasts), sum(pair.alike.holds for pair in contrasts)
    return text(
        "Of {n:contrast}, {differ} and {alike} alike within {margin:g} points ({planned}; {corrected}).",
        n=len(rows),
        differ=f"{n_differ:,} {'differs' if n_differ == 1 else 'differ'}",
        alike=f"{n_alike:,} {'is' if n_alike == 1 else 'are'}",
        margin=100 * study.analysis.options.margin,
        planned=study.planned,
        corrected=CORRECTED[study.analysis.options.correction],
    )


def key_figures(study: StudyNumbers, rows: Sequence[Row]) -> Iterator[LargeFigure]:
    """Yield the largest difference, how often two people agree, and the share of ratings that were left out."""
    analysis = study.analysis
    known = [row for row in rows if row[f"{quoted_prefix(row)}_estimate"] is not None]
    if not known:
        yield (
            "Difference",
            ("not known", analysis.not_available.get("contrasts", "too few ratings")),
            len(analysis.ratings),
        )
    else:
        largest = max(known, key=lambda row: abs(row[f"{quoted_prefix(row)}_estimate"]))
        value, low, high = (largest[f"{quoted_prefix(largest)}_{part}"] for part in ("estimate", "ci_low", "ci_high"))
        title = "Difference" if len(rows) == 1 else f"Largest difference: {contrast_name(largest)}"
        limits = interval(*(None if end is None else 100 * end for end in (low, high)), digits=1)
        if len(known) > 1:
            limits += ", uncorrected"
        yield title, (points(value), limits), largest["n1"] + largest["n2"]
    if (agreement := analysis.agreement.get("all")) is not None:
        low, high = agreement.raw_interval or (None, None)
        raw = Estimate("agreement", agreement.raw, low, high, agreement.items, 0, "no interval")
        yield "Two people agree", raw, len(analysis.ratings)
    else:
        yield "Two people agree", ("not known", "no item has two ratings"), len(analysis.ratings)
    n = analysis.left_out.ratings if analysis.left_out else len(analysis.ratings)
    yield "Left out", (percent(1 - len(analysis.ratings) / n if n else None), "of all ratings"), n


def after_study(study: StudyNumbers, rows: Sequence[Row]) -> str:
    """Return what to do next: plan more, freeze the plan, or judge the same items."""
    differs = [row["differs"] for row in rows]
    if rows and not any(differs):
        return text(
            "casewise power study --from RATINGS --conditions A:B says how many {queries} would show a difference."
        )
    if study.study is not None and study.frozen is None:
        return "freeze the plan before the main round, so that its contrasts count as planned: casewise study check --freeze."
    return "measure judges on these labels: casewise judge BENCHMARK --judge NAME."


def more_contrasts(study: StudyNumbers) -> Iterator[Prose]:
    """Yield a sentence for each of several contrasts."""
    rows = study.analysis.contrasts.to_dicts() if len(study.analysis.contrasts) > 1 else []
    for row in rows:
        yield Prose(
            contrast_sentence(
                row, study.analysis.options, n_contrasts=len(rows), planned=study.planned, words=study.words
            )
        )


def contrast_sentence(
    row: dict[str, Any], options: AnalysisOptions, *, n_contrasts: int, planned: str, words: VerdictNames = ITEM_WORDS
) -> str:
    """Return the result of a contrast and its test in a sentence: a higher rate, equivalence, or neither."""
    result = contrast_found(row, options, words=words)
    stated = result.outcome
    if row["differs"] is None:
        return capitalised(stated.sentence)
    margin = f"{100 * options.margin:g} points"
    also = f", and the difference is smaller than {margin}" if result.differ.holds and result.alike.holds else ""
    p = p_equation(row[f"{'equivalent' if stated.kind == 'alike' else 'recommended'}_p_corrected"])
    corrected = CORRECTED[options.correction]
    correction = f", {corrected} over {count_of(n_contrasts, 'contrast')}" if n_contrasts > 1 else ""
    return capitalised(text("{subject} {predicate}", **vars(stated))) + f"{also} ({planned}; {p}{correction})."


def contrast_found(row: dict[str, Any], options: AnalysisOptions, *, words: VerdictNames = ITEM_WORDS) -> Contrast:
    """Return whether the two conditions of a contrast differ, and whether by less than the margin."""
    estimate, low, high = (row[f"{quoted_prefix(row)}_{name}"] for name in ("estimate", "ci_low", "ci_high"))
    reason = row.get("why") or text("too few {queries} or people")
    known = estimate is not None and row["differs"] is not None
    return contrast(
        spoken(row["first"]),
        spoken(row["second"]),
        Estimate("safe_rate", estimate, low, high, row["n1"] + row["n2"], 0, reason),
        p=row["recommended_p_corrected"] if known else None,
        p_alike=row["equivalent_p_corrected"] if known else None,
        margin=options.margin,
        level=options.alpha,
        more=words.allow,
    )


def contrasts(analysis: StudyAnalysis, words: VerdictNames) -> Iterator[Block]:
    if not len(analysis.contrasts):
        return
    options = analysis.options
    caption = f"Differences of {words.rates} in points with 95 % intervals, the first condition less the second, as randomised"
    yield recommended(analysis.contrasts, analysis, name="contrasts", caption=caption)
    yield Prose(
        f"p values are {CORRECTED[options.correction]} over the contrasts and tested at {options.alpha:g}; intervals are not "
        f"corrected. “Alike” means that the difference lies within ±{100 * options.margin:g} points (two one-sided tests, "
        "corrected in the same way)."
    )


def recommended(table: pl.DataFrame, analysis: StudyAnalysis, *, name: str, caption: str) -> Block:
    options = analysis.options

    def decision(value: bool | None) -> str:
        return NOTHING if value is None else "yes" if value else "not shown"

    p = "p" if options.correction == "none" else f"p ({options.correction.title()})"
    columns: Columns = {
        "Contrast": contrast_name,
        text("{Queries} like these"): quoted_points,
        p: (p_value, "recommended_p_corrected"),
        f"Differs at {options.alpha:g}": (decision, "differs"),
        "p, alike": (p_value, "equivalent_p_corrected"),
        "Alike": (decision, "equivalent"),
    }
    return table_by(name, caption, table, columns)


def other_tests(analysis: StudyAnalysis) -> Iterator[Block]:
    """Yield the same contrasts among the completers, and by the paper's test."""
    if not len(analysis.contrasts):
        return
    if analysis.contrasts_of_completers is not None and len(analysis.contrasts_of_completers):
        caption = "The same among those who finished"
        yield recommended(analysis.contrasts_of_completers, analysis, name="completers", caption=caption)
    columns: Columns = {
        "Contrast": contrast_name,
        "z": lambda row: number(row["z"], digits=2),
        "p": (p_value, "p"),
        "Bonferroni": (p_value, "p_bonferroni"),
        "Holm": (p_value, "p_holm"),
        "BH": (p_value, "p_benjamini_hochberg"),
        "95 % Wald, points": lambda row: interval(100 * row["ci_low"], 100 * row["ci_high"], digits=1),
    }
    caption = f"As in the paper: pooled z test, level {analysis.bonferroni_level:.4g} (Bonferroni)"
    yield table_by("z-tests", caption, analysis.contrasts.to_dicts(), columns)
    yield Prose(POOLED_TEST_NOTE)


def tasks(analysis: StudyAnalysis) -> Iterator[Block]:
    tests = analysis.tasks
    if tests is None:
        return
    table, alpha, level = tests.tasks, analysis.options.alpha, PAPER_LEVEL
    testable = table.filter(pl.col("testable"))
    rows: list[tuple[Any, ...]] = [
        (text("Tasks ({queries} with ratings under two conditions at least)"), len(table)),
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
    yield table_of("tasks", text("Kruskal-Wallis on each {query}"), ("", "Tasks"), rows)
    yield Prose(
        f"Permutation p values: {tests.exact_method}. Where everyone agrees, p is 1 by definition and the task counts as "
        "untestable. Different people rated each task, so the ratings of one task are independent."
    )
    columns: Columns = {
        "Pair": contrast_name,
        "Tasks": "tasks",
        "Dunn, Bonferroni": "dunn_bonferroni",
        "Dunn, Holm": "dunn_holm",
        "Dunn, BH": "dunn_benjamini_hochberg",
        "Proportions, Holm": "proportions_holm",
    }
    caption = f"Tasks on which two conditions differ at {alpha:g}, corrected within the task"
    yield table_by("pairs", caption, tests.pairs.to_dicts(), columns)


def categories(analysis: StudyAnalysis) -> Iterator[Block]:
    tests = analysis.tasks
    if tests is None or tests.categories is None:
        return
    columns: Columns = {
        "Category": "category",
        "Tasks": "queries",
        "Mean H": lambda row: number(row["mean_h"], digits=2),
        "Permutation p": lambda row: f"≤ {row['p']:.3f}" if row["p_at_floor"] else p_value(row["p"]),
        "After BH": lambda row: percent(row["significant_after_correction"], digits=0),
        f"p ≤ {PAPER_LEVEL:.4g}": lambda row: percent(row["significant_at_paper_level"], digits=0),
    }
    caption = "Mean Kruskal-Wallis H and share of significant tasks by category"
    rows = tests.categories.to_dicts()
    bars = tuple(
        ForestRow(row["category"], row["mean_h"], None, None, words=f"{row['mean_h']:.2f}, {significant} significant")
        for row in rows
        for significant in [percent(row["significant_after_correction"], digits=0)]
    )
    ends = (0.0, 4.0 * math.ceil(max(row["mean_h"] for row in rows) / 4))
    behind = table_by("categories", caption, tests.categories, columns)
    yield Forest("category-h", caption, (("", bars),), ("Category", "", "Mean H"), ends=ends, behind=behind)
    yield Prose(
        f"Permutation p values of the mean H rest on {tests.category_draws}; ≤ marks the smallest value that they can show."
    )


# The report of a study's ratings: numbers first, then every face, written to a folder.


@dataclass(frozen=True, repr=False)
class StudyNumbers(ShortRepr):
    """One study's analysis, and what a reader must know with it."""

    analysis: StudyAnalysis
    name: str
    notes: tuple[str, ...] = ()
    study: ExportedStudy | None = None
    """Plan and people, where the ratings are an exported study's."""
    departures: tuple[str, ...] = ()
    """Departures from the frozen plan; `notes` say them too."""
    with_judges: tuple[RatesWithJudge, ...] = ()
    """Rates with a judge on every item, for each run given."""
    noun: Noun = QUERY
    """The noun for what was rated."""

    @property
    def words(self) -> VerdictNames:
        """The words for what people said."""
        return REPLY_WORDS if self.study and self.study.rates == "replies" else ITEM_WORDS

    @property
    def frozen(self) -> str | None:
        """The hash of what the study froze; None where it did not."""
        return self.study.frozen.digest if self.study and self.study.frozen else None

    @property
    def planned(self) -> str:
        """The plan of the contrasts, in words: planned, with departures, changed, or not frozen."""
        if self.frozen is None:
            return "no frozen plan"
        if any(departure.startswith("analysis.contrasts") for departure in self.departures):
            return "not the planned contrasts"
        return "planned, with departures" if self.departures else "planned"

    @property
    def round(self) -> list[str]:
        """Version and phase of the study's round; empty where the ratings are no exported study's."""
        return list(self.study.round) if self.study else []

    def as_json(self) -> dict[str, Any]:
        """Return every number, unrounded, as plain JSON values; what is not available is null and explained."""
        a, annotators = self.analysis, None
        if a.annotators is not None:
            flagged = {name: int(a.annotators.table[name].sum()) for name in ("unresponsive", "constant")}
            annotators = {name: value for name, value in vars(a.annotators).items() if name != "table"}
            annotators["flagged"] = flagged
        by_query = (
            {} if a.tasks is None else {name: getattr(a.tasks, name) for name in ("tasks", "pairs", "categories")}
        )
        names = ("conditions", "contrasts", "contrasts_of_completers", "groups", "labels")
        tables = {name: getattr(a, name) for name in names} | by_query
        with_judges = [
            rates.table.with_columns(judge=pl.lit(rates.judge)) for rates in self.with_judges if len(rates.table)
        ]
        numbers = {
            "rates_with_judge": pl.concat(with_judges) if with_judges else None,
            "left_out": a.left_out,
            "agreement": a.agreement,
            "reliability": a.reliability,
            "ceilings": a.ceilings,
            "panel": a.panel,
            "attrition": a.attrition,
            "own_questions": [own_json(question) for question in a.own],
            "annotators": annotators,
        }
        return {
            "name": self.name,
            "notes": list(self.notes),
            "frozen": self.frozen,
            "round": self.round,
            "departures": list(self.departures),
            "not_available": a.not_available,
            "conclusions": conclusions_json(
                (
                    *chain(*(contrast_found(row, a.options, words=self.words) for row in a.contrasts.to_dicts())),
                    *(
                        group_found(row, a.options.alpha, self.words)
                        for row in ([] if a.groups is None else a.groups.to_dicts())
                    ),
                )
            ),
            "options": {
                **json_value(asdict(a.options)),
                "bonferroni_level": a.bonferroni_level,
                "paper_level": PAPER_LEVEL,
            },
            "ratings": len(a.ratings),
            "anonymous": a.anonymous,
            **{name: json_value(value) for name, value in (tables | numbers).items()},
        }


class StudyReport(Report[StudyNumbers]):
    """A study's report, and how it is written to a folder."""

    @property
    def analysis(self) -> StudyAnalysis:
        """The analysis of the ratings: conditions, contrasts, tasks and annotators."""
        return self.numbers.analysis

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks that a reader of the numbers needs."""
        return self.numbers.notes

    def write(self, folder: Path) -> None:
        """Write the whole report: `report.html`, `.md`, `.json`, `tables.tex`, `figures/*.svg` and `tables/*.parquet`.

        Where it is known who rated, `mixed_model/` has the ratings and a script for R. Figures and tables of an earlier
        report that this one does not have are removed.

        Raises ConfigurationError: there is something else at `folder` than an earlier report of the same study.
        """
        self.check_place(folder)
        analysis, drawn = self.numbers.analysis, drawings(self.document)
        for name in ("figures", "tables"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        if not analysis.anonymous and len(analysis.contrasts):
            pairs = list(analysis.contrasts.select("first", "second").iter_rows())
            write_mixed_model(
                folder / "mixed_model", analysis.ratings, pairs, analysis.options, notices=self.document.notices
            )
        write_text(folder / "report.html", self.to_html())
        write_text(folder / "report.md", self.to_markdown())
        write_text(folder / "report.json", json_text(self.as_json()))
        write_text(folder / "tables.tex", latex(self.document))
        for name, figure in drawn.items():
            write_text(folder / "figures" / f"{name}.svg", figure)
        for name in FIGURES - drawn.keys():
            (folder / "figures" / f"{name}.svg").unlink(missing_ok=True)
        for name, frame in frames(analysis).items():
            table = folder / "tables" / f"{name}.parquet"
            if frame is None or frame.is_empty():
                table.unlink(missing_ok=True)
            else:
                write_table(frame, table)

    def check_place(self, folder: Path) -> None:
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        study, file = self.numbers, folder / "report.json"
        earlier = parse(read_text(file), path=file) if file.is_file() else {}
        now = {"name": study.name, "frozen": study.frozen, "round": study.round}
        differs = [f"{part} {earlier.get(part)!r}" for part, value in now.items() if earlier.get(part) != value]
        if differs:
            reason = f"it is about {', '.join(differs)}" if earlier else "it holds other files"
            study_name = f"{study.name!r}" + (f" {study.round[0]} ({study.round[-1]})" if study.round else "")
            raise ConfigurationError(
                f"{folder} exists and is not a report of {study_name}: {reason}; choose another place or remove it"
            )


FIGURES = {"condition-rates", "category-h", "panel-curve"}
"""The figures that an earlier report may have left."""


def study_report(
    source: Path | str | RatingsSource, *, crossed: bool = False, judges: Sequence[Path | str] = (), **chosen: Any
) -> StudyReport:
    """Read ratings, analyse them, and give the report.

    `source`: CSV, Parquet, a benchmark, or ratings read already.
    `crossed`: whether annotators may rate under several conditions.
    `judges`: runs over the whole benchmark. Where people rated a random part of it, rates are given with their help.
    `**chosen`: options of the analysis, by the names of `AnalysisOptions`. An exported study has its own, which hold where
        nothing else is wanted (None); what differs from what it froze is a departure, and the report says so.

    Raises ConfigurationError: an option is none of those that there are. DataError, StatisticsError, StudyError: the
    ratings cannot be read, or cannot be what they say; the message says where.
    """
    ratings = source if isinstance(source, RatingsSource) else read_ratings(source)
    study = ratings.study
    if study is not None and chosen.get("flow") is None:
        chosen["flow"] = study.flow
    options, departures = resolve_options(chosen, study.planned if study else {}, frozen=bool(study and study.frozen))
    counted, left_out = ratings.split(options.exclude)
    options, unmade = without_unrated_contrasts(options, study, counted) if study else (options, ())
    code = partial(code_ratings, crossed=crossed, source=ratings.name)
    coded = code(counted)
    analysis = analyse(
        coded,
        options,
        all_ratings=code(pl.concat([counted, left_out.drop("reason")])) if len(left_out) else None,
        reasons=dict(left_out.group_by("reason", maintain_order=True).len().iter_rows()),
        own=own_questions(coded, study.questions, study.own_answers, level=options.level) if study else (),
        traits=study.traits if study else None,
    )
    with_judges = tuple(rates_with_judge(analysis.ratings, Path(judge), level=options.level) for judge in judges)
    departed = (*(study.departures if study else ()), *map(str, departures))
    numbers = StudyNumbers(
        analysis,
        ratings.name,
        (*ratings.notes, *unmade, *remarks(study, departed)),
        study,
        departed,
        with_judges,
        ratings.noun,
    )
    return StudyReport(numbers, study_page)


def without_unrated_contrasts(
    options: AnalysisOptions, study: ExportedStudy, ratings: pl.DataFrame
) -> tuple[AnalysisOptions, tuple[str, ...]]:
    """Return the options without the planned contrasts that have too few ratings, and a note on each of these.

    Where none can be told, or one was asked for that is not of the plan, all stay: that is an error.
    """
    planned, rated = study.planned["contrasts"] or (), {*ratings["condition"]}
    unmade = [pair for pair in options.contrasts or () if pair in planned and not {*pair} <= rated]
    possible = tuple(pair for pair in options.contrasts or () if pair not in unmade)
    if not possible:
        return options, ()
    notes = (
        f"The planned contrast of {first} and {second} is not available: one of them has no ratings that count. p is corrected "
        "over the others."
        for first, second in unmade
    )
    return replace(options, contrasts=possible), tuple(notes)


def remarks(study: ExportedStudy | None, departures: Sequence[str]) -> Iterator[str]:
    """Yield the remarks on the course of the study that readers need before its numbers."""
    yield from (f"Departs from the frozen plan: {departure}" for departure in departures)
    if study is not None:
        yield from (f"Amended while it ran: {amendment}" for amendment in study.amendments)
        if not study.exact:
            yield f"The study was exported before it ended ({study.stopping})."


def frames(analysis: StudyAnalysis) -> dict[str, pl.DataFrame | None]:
    """Return every table worth keeping whole; None where the study has none."""
    tables = {name: getattr(analysis, name) for name in ("conditions", "contrasts", "groups", "labels")}
    tables |= {name: getattr(analysis.tasks, name, None) for name in ("tasks", "post_hoc", "categories", "shares")}
    return tables | {"annotators": None if analysis.annotators is None else analysis.annotators.table}
