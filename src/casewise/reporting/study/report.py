"""The report of a study's ratings: numbers first, then every face, written to a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from casewise.errors import ConfigurationError, DataError
from casewise.evaluation.study.rates_with_judge import RatesWithJudge, rates_with_judge
from casewise.evaluation.study.worth_of_revision import WorthOfRevision, worth_of_revision
from casewise.reporting.charts.drawing import standalone
from casewise.reporting.document import Document
from casewise.reporting.faces.as_json import plain
from casewise.reporting.faces.html import html
from casewise.reporting.faces.latex import latex
from casewise.reporting.faces.markdown import markdown
from casewise.reporting.study.judges_beside import revision_section, with_judge_section
from casewise.reporting.study.mixed_model import mixed_model_section, write_mixed_model
from casewise.reporting.study.of_replies import of_replies
from casewise.reporting.study.page import study_page
from casewise.reporting.study.page_own import own_json
from casewise.stats.people.coded_ratings import CodedRatings, code_ratings
from casewise.storage.benchmarks.parquet import write_table
from casewise.storage.files.atomic import read_text, write_text
from casewise.storage.files.jsonl import json_text
from casewise.storage.files.strict_json import parse
from casewise.studies.analysing.analysis import PAPER_LEVEL, StudyAnalysis, analyse
from casewise.studies.analysing.contrast_table import default_contrasts
from casewise.studies.analysing.exported_study import ExportedStudy
from casewise.studies.analysing.options import AnalysisOptions, ChosenOptions, settle
from casewise.studies.analysing.own_questions import OwnFound, own_questions
from casewise.studies.analysing.ratings_source import RatingsSource, read_ratings

__all__ = ["StudyReport", "study_report", "write_exported_model"]

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
    revision: WorthOfRevision | None = None
    """Generated against revised contexts, where people rated both of a query."""
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
    def round(self) -> list[str]:
        """Version and phase of the study's round; empty where the ratings are no exported study's."""
        return list(self.study.round) if self.study else []

    @cached_property
    def document(self) -> Document:
        """The report laid out."""
        revision = [revision_section(self.revision)] if self.revision else []
        more = (mixed_model_section(self.mixed_model), *revision, with_judge_section(self.with_judges))
        page = study_page(self.analysis, name=self.name, notes=self.notes, case_studies=self.case_studies, more=more)
        return of_replies(page) if self.study and self.study.rates == "replies" else page

    def as_json(self) -> dict[str, Any]:
        """Every number, unrounded, as plain JSON values; what is not available is null and explained."""
        a = self.analysis
        tables = {
            "conditions": a.conditions,
            "contrasts": a.contrasts,
            "contrasts_of_completers": a.contrasts_of_completers,
            "labels": a.labels,
            "rates_with_judge": with_judges_table(self.with_judges),
            "worth_of_revision": self.revision and self.revision.table,
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
            "oracle_accuracy": a.oracle,
            "panel": a.panel,
            "attrition": a.attrition,
            "strata": a.strata,
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
            "options": {**plain(asdict(a.options)), "bonferroni_level": a.bonferroni_level, "paper_level": PAPER_LEVEL},
            "ratings": len(a.ratings),
            "anonymous": a.anonymous,
            **{key: plain(table) for key, table in tables.items()},
            **{key: plain(value) for key, value in numbers.items()},
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
        revision = {"revision": self.revision.table} if self.revision else {}
        for name, table in (frames(self.analysis) | revision).items():
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
    `judges`: runs over the whole benchmark. Where people rated a random part of it, rates are given with their help;
        where they rated generated and revised contexts, each judge stands beside them in the worth of revision.
    `**wanted`: options of the analysis (see `AnalysisOptions`). An exported study has its own, which hold where nothing
        else is wanted; what differs from what it froze is a departure, and the report says so.

    Raises DataError, StatisticsError, StudyError: the ratings cannot be read, or cannot be what they say; the message
    says where.
    """
    found = source if isinstance(source, RatingsSource) else read_ratings(source)
    study = found.study
    if study is not None and wanted.get("flow") is None:
        wanted["flow"] = study.flow
    if "language" in found.frame.columns and study is not None:
        wanted["strata"] = tuple(dict.fromkeys((*wanted.get("strata", ()), "language")))
    options, departures = settle(wanted, study.planned if study else {}, frozen=bool(study and study.frozen))
    kept, left_out = found.split(options.exclude)
    options, unmade = without_unrated(options, study, kept) if study else (options, ())
    exported = None if isinstance(source, RatingsSource) or not Path(source).is_dir() else Path(source)
    code = partial(code_ratings, strata=options.strata, crossed=crossed, source=found.name)
    analysis = analyse(
        code(kept),
        options,
        all_ratings=code(pl.concat([kept, left_out.drop("reason")])) if len(left_out) else None,
        reasons=dict(left_out.group_by("reason", maintain_order=True).len().iter_rows()),
        own=partial(_own, study=study, options=options),
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
        worth_of_revision(analysis.ratings, runs, level=options.level),
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
        "labels": analysis.labels,
        "tasks": None if tasks is None else tasks.tasks,
        "post_hoc": None if tasks is None else tasks.post_hoc,
        "categories": None if tasks is None else tasks.categories,
        "shares": None if tasks is None else tasks.shares,
        "annotators": None if analysis.annotators is None else analysis.annotators.table,
    }
    return {name: table for name, table in candidates.items() if table is not None and len(table)}
