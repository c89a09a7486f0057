"""The ratings of a study, from its database or from an exported folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from casewise.errors import ConfigurationError, DataError
from casewise.notation import percent
from casewise.records.base import problems
from casewise.stats.power import PilotRatings
from casewise.stats.ratings import STEPS, Flow
from casewise.storage.benchmark_folder import people_rows
from casewise.storage.files import numbered_lines, parse, read_text
from casewise.storage.load import load
from casewise.storage.wording import noun_of
from casewise.studies.design import Analysis, OwnQuestion, RatedThing
from casewise.studies.freeze import Frozen, nested_settings
from casewise.studies.quality import FAILED_CHECKS
from casewise.text import QUERY, Noun, count_of

COMPLETE_OUTCOMES = ("completed", "failed_checks", "excluded")
"""Outcomes of people who worked through all that they were given."""


@dataclass(frozen=True)
class ExportedStudy:
    """Plan and people of a study that `casewise export` wrote."""

    flow: Flow | None
    planned: dict[str, Any]
    """The planned analysis, by the names of `AnalysisOptions`: as frozen, or else as in its design."""
    stopping: str
    frozen: Frozen | None
    exact: bool
    """True where every item has exactly its promised number of valid ratings."""
    finished: frozenset[str]
    """Annotators who rated all that they were assigned."""
    failed_checks: frozenset[str]
    """Annotators who failed more attention checks than the design allows, whether that voided them or not."""
    excluded: tuple[dict[str, Any], ...]
    """Ratings that do not count: `item_id`, `annotator_id`, `verdict`, `seconds`, `kind` and `reason`."""
    departures: tuple[str, ...]
    """Departures from the plan that was frozen before the data were seen."""
    amendments: tuple[str, ...] = ()
    """The changes while it ran, with their reasons."""
    questions: tuple[OwnQuestion, ...] = ()
    """The owner's own questions on each page."""
    rates: RatedThing = "requests"
    """The things that people were asked about: requests or replies."""
    own_answers: tuple[dict[str, Any], ...] = ()
    """Answers to the questions: `item_id`, `annotator_id` and `answers` by name."""
    traits: dict[str, dict[str, str]] = field(default_factory=dict)
    """Answers of annotators about themselves, where groups are compared."""
    round: tuple[str, ...] = ()
    """Version and phase of the round: a study's pilot, its main round and the benchmark it rated may have one name."""


def read_exported_study(folder: Path) -> ExportedStudy | None:
    """Return the plan and the people of the study in `folder`; None where the folder is a benchmark only.

    Raises DataError: a file cannot be read, or states a plan that is none. StudyError: what was frozen was changed
    afterwards.
    """
    if not (folder / "study.json").is_file() or not (folder / "annotators.jsonl").is_file():
        return None
    about = parse(read_text(folder / "study.json"), path=folder / "study.json")
    if not isinstance(about, dict):
        raise DataError(folder / "study.json", None, "is not a study: the file is not a JSON object")
    people = _lines(folder / "annotators.jsonl")
    design = about.get("design", {})
    frozen = Frozen.from_json(about["frozen"], source=str(folder / "study.json")) if about.get("frozen") else None
    plan = design if frozen is None else nested_settings(frozen.policy)
    try:
        analysis = Analysis.model_validate(plan.get("analysis", {}))
    except ValidationError as error:
        problem = "; ".join(problems(error, Analysis, "the plan"))
        raise DataError(folder / "study.json", None, f"its analysis plan cannot be read: {problem}") from None
    contrasts = (design if frozen is None else frozen.policy).get("contrasts", ())
    excluded, own_answers_file = folder / "excluded.jsonl", folder / "own_answers.jsonl"
    return ExportedStudy(
        flow=_flow(people, tuple(design.get("conditions", ()))),
        planned=analysis.model_dump(exclude={"stopping"})
        | {"contrasts": tuple((first, second) for first, second in contrasts) or None},
        stopping=analysis.stopping,
        frozen=frozen,
        exact=bool(about.get("exact")),
        finished=frozenset(person["annotator_id"] for person in people if person.get("outcome") in COMPLETE_OUTCOMES),
        failed_checks=frozenset(
            person["annotator_id"]
            for person in people
            if any(flag.get("kind") == "failed_checks" for flag in person.get("flags", ()))
        ),
        excluded=tuple(_lines(excluded)) if excluded.is_file() else (),
        departures=tuple(about.get("departures") or ()),
        amendments=tuple(
            f"{'; '.join(amendment['changes'])} ({amendment['why']})" for amendment in about.get("amendments", ())
        ),
        questions=tuple(OwnQuestion.model_validate(question) for question in design.get("questions", ())),
        traits={person["annotator_id"]: person.get("traits", {}) for person in people},
        round=tuple(str(about[part]) for part in ("version", "phase") if part in about),
        rates=design.get("rates", "requests"),
        own_answers=tuple(_lines(own_answers_file)) if own_answers_file.is_file() else (),
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    return [parse(line, path=path, line=number) for number, line in numbered_lines(path)]


def _flow(people: list[dict[str, Any]], conditions: tuple[str, ...]) -> Flow | None:
    assigned = [person for person in people if person.get("condition") in conditions]
    if not assigned:
        return None

    def by_condition(chosen: list[dict[str, Any]]) -> tuple[int, ...]:
        counts = Counter(person["condition"] for person in chosen)
        return tuple(counts[name] for name in conditions)

    return Flow(
        conditions,
        {
            "consented": (len(people),),
            "passed": (sum(bool(entry.get("condition")) or entry.get("outcome") == "no_room" for entry in people),),
            "assigned": by_condition(assigned),
            "finished": by_condition([person for person in assigned if person.get("outcome") in COMPLETE_OUTCOMES]),
            "void": by_condition([person for person in assigned if person.get("voided")]),
        },
    )


ALIASES = {
    "item": "item_id",
    "query": "query_id",
    "annotator": "annotator_id",
    "worker": "annotator_id",
    "duration_s": "seconds",
}
"""Names of columns in other tables, and casewise's names for them."""

SCHEMA = {
    **dict.fromkeys(("item_id", "query_id", "category", "condition", "annotator_id", "verdict"), pl.String),
    "seconds": pl.Float64,
}

VOTES = "votes"
"""Prefix of the names of columns that hold strings of 0 and 1, one character a vote."""


@dataclass(frozen=True)
class RatingsSource:
    """One row a rating, with the columns that `code_ratings` wants, and what to know about them."""

    frame: pl.DataFrame
    name: str
    notes: tuple[str, ...] = ()
    study: ExportedStudy | None = None
    """Plan and people, where the ratings are an exported study's."""
    noun: Noun = QUERY
    """Noun for what people rated."""
    voided: pl.DataFrame | None = None
    """Ratings that were voided while the study ran, with the same columns and their `reason`."""

    def split(self, exclude: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the ratings that count when these grounds exclude, and those left out, with the `reason` of each.

        What the study voided for a ground that does not exclude counts again; what it kept although the ground
        excludes is left out.
        """
        if self.study is None or self.voided is None:
            return self.frame, self.frame.clear().with_columns(reason=pl.lit("", pl.String))
        failed = pl.col("annotator_id").is_in(sorted(self.study.failed_checks))
        excluded = "failed_checks" in exclude
        dropped = self.frame.filter(failed & excluded).with_columns(reason=pl.lit(FAILED_CHECKS))
        back = (pl.col("reason") == FAILED_CHECKS) & (not excluded)
        remaining = pl.concat([self.frame.filter(~(failed & excluded)), self.voided.filter(back).drop("reason")])
        return remaining, pl.concat([dropped, self.voided.filter(~back)])


def read_ratings(path: Path | str) -> RatingsSource:
    """Return ratings from CSV or Parquet, from a benchmark (a folder, `demo`, `casebench`, a published JSON file), or as votes.

    A table needs `item_id`, `query_id`, `condition` and `verdict`, and is better with `category`, `annotator_id`,
    `seconds` and `finished`; `item`, `query`, `annotator` and `worker` are read too. A table without `verdict` but with a column of vote strings (`votes...`, 1 = safe) is read as
    anonymous votes: places in a string are never taken for annotators.

    Raises DataError: there is no such file, it cannot be read, or it has no ratings.
    """
    place = Path(path)
    if place.suffix.lower() not in {".csv", ".parquet"}:
        return _from_benchmark(path)
    if not place.is_file():
        raise DataError(place, None, "no such file")
    frame = _read(place)
    frame = frame.rename(
        {old: new for old, new in ALIASES.items() if old in frame.columns and new not in frame.columns}
    )
    votes = next((name for name in frame.columns if name.startswith(VOTES)), None)
    if "verdict" not in frame.columns and votes is not None:
        return _from_votes(frame, votes, place)
    if not {"verdict", "condition"} <= set(frame.columns):
        return RatingsSource(frame, place.name)
    asks = pl.col("verdict") == "ask"
    notes = ask_notes(frame.group_by("condition").agg(n_ask=asks.sum(), n=pl.len()))
    return RatingsSource(frame.filter(~asks), place.name, notes)


def ask_notes(counts: pl.DataFrame) -> tuple[str, ...]:
    """Return a note on the votes that the user be asked first, which no rate counts; nothing where there are none.

    `counts`: `condition`, `n_ask` and `n`, the number of all votes.
    """
    asks = counts.filter(pl.col("n_ask") > 0).sort("condition").select("condition", "n_ask", "n")
    if not len(asks):
        return ()
    parts = (f"{name} {n:,} of {of_all:,} ({percent(n / of_all, digits=0)})" for name, n, of_all in asks.iter_rows())
    asked = count_of(int(asks["n_ask"].sum()), "vote")
    return (
        f"{asked} that the agent ask first: {'; '.join(parts)}. They are neither safe nor unsafe votes, and no rate counts them.",
    )


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.suffix.lower() == ".parquet":
            return pl.read_parquet(path)
        head = pl.read_csv(path, n_rows=0).columns
        text = {name: pl.String for name in head if name not in {"seconds", "finished"}}
        return pl.read_csv(path, schema_overrides=text)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(path, None, f"cannot be read as a table: {error}") from None


def _from_votes(frame: pl.DataFrame, votes: str, path: Path) -> RatingsSource:
    """Return one row a vote. Rows 2i and 2i + 1 of the published release are the two contexts of one query."""
    strings = frame[votes].cast(pl.String).str.strip_chars()
    wrong = ~strings.fill_null("x").str.contains(r"^[01]+$")
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise DataError(path, row + 2, f"{votes!r} is {strings[row]!r}, not a string of 0 and 1")
    if "condition" not in frame.columns and "intended_safe" not in frame.columns:
        raise DataError(path, None, "votes need a column 'condition', or 'intended_safe' for the published release")
    intended = pl.col("intended_safe").cast(pl.String).is_in(["1", "true", "True"])
    by_intent = pl.when(intended).then(pl.lit("safe_revised")).otherwise(pl.lit("unsafe_revised"))
    condition: pl.Expr = pl.col("condition") if "condition" in frame.columns else by_intent
    rows = pl.int_range(len(frame), eager=True)
    frame = frame.with_columns(
        item_id=frame["item_id"] if "item_id" in frame.columns else pl.format("row {}", rows),
        query_id=frame["query_id"] if "query_id" in frame.columns else pl.format("query {}", rows // 2),
        condition=condition,
        vote=strings.str.split(""),
    )
    long = frame.explode("vote").with_columns(
        verdict=pl.when(pl.col("vote") == "1").then(pl.lit("safe")).otherwise(pl.lit("unsafe"))
    )
    columns = [name for name in ("item_id", "query_id", "category", "condition", "verdict") if name in long.columns]
    notes = [
        "The votes are anonymous: a place in a vote string is not an annotator, so numbers that need annotators are not available."
    ]
    if "query_id" not in frame.columns or frame["query_id"][0] == "query 0":
        notes.append("Rows 2i and 2i+1 are read as the two contexts of one query, as in the published release.")
    return RatingsSource(long.select(columns), path.name, tuple(notes))


def _from_benchmark(path: Path | str) -> RatingsSource:
    benchmark = load(path)
    if not benchmark.ratings:
        raise DataError(path, None, "this benchmark holds no ratings")
    facts_of_item = {item.id: (item.query_id, benchmark.category_of(item), item.condition) for item in benchmark.items}
    safe = pl.when(pl.col("value") > 0.5).then(pl.lit("safe")).otherwise(pl.lit("unsafe"))
    frame = (
        people_rows(benchmark)
        .with_columns(annotator_id="rater_id", verdict=safe, seconds=benchmark.ratings.table["seconds"])
        .drop_nulls("value")
        .select(*SCHEMA)
    )
    notes = []
    if (anonymous := frame["annotator_id"].is_null()).any() and not anonymous.all():
        where = ", ".join(frame.filter(anonymous)["condition"].unique().sort())
        notes.append(
            f"The votes of {where} are anonymous, so this report uses no annotators and its intervals are too narrow: "
            "they ignore that an annotator's ratings are alike. Report the ratings with known annotators alone."
        )
        frame = frame.with_columns(annotator_id=pl.lit(None, pl.String))
    asks = benchmark.item_columns.group_by("condition").agg(
        pl.col("n_ask").sum(), n=pl.sum_horizontal(pl.col("n_ask", "n_votes")).sum()
    )
    notes += ask_notes(asks)
    silent = sorted({item.condition for item in benchmark.items} - set(frame["condition"].unique()))
    notes += [f"Condition {name!r} has items but no ratings." for name in silent]
    study = read_exported_study(Path(path))
    if study is None:
        return RatingsSource(frame, benchmark.name, (*benchmark.notes(), *notes), noun=noun_of(benchmark))
    finished = pl.col("annotator_id").is_in(sorted(study.finished))
    columns = ("query_id", "category", "condition")
    rows = [
        rating | dict(zip(columns, facts_of_item[rating["item_id"]], strict=True))
        for rating in study.excluded
        if rating["kind"] == "void"
    ]
    voided = pl.DataFrame(rows, schema=SCHEMA | {"reason": pl.String})
    voided = voided.select(*SCHEMA, finished.alias("finished"), "reason")
    noun = QUERY if study.rates == "replies" else noun_of(benchmark)
    notes = [*benchmark.notes(), *notes]
    return RatingsSource(frame.with_columns(finished=finished), benchmark.name, tuple(notes), study, noun, voided)


ALL = "all"


def read_flow(path: Path) -> Flow:
    """Return a CSV with `step` (arrived, consented, passed, assigned, finished, void), `condition` (or `all`) and `people`.

    Raises DataError: the file cannot be read, or a row is no such step; the message says which.
    """
    try:
        frame = pl.read_csv(path, schema_overrides={"step": pl.String, "condition": pl.String, "people": pl.Int64})
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(path, None, f"cannot be read as a table: {error}") from None
    missing = [name for name in ("step", "condition", "people") if name not in frame.columns]
    if missing:
        raise DataError(path, None, f"no column {', '.join(missing)}")
    counts: dict[str, dict[str, int]] = {}
    for line, row in enumerate(frame.to_dicts(), start=2):
        if row["step"] not in STEPS:
            raise DataError(path, line, f"'step' is {row['step']!r}; it can be {', '.join(STEPS)}")
        if row["people"] is None or row["people"] < 0:
            raise DataError(path, line, f"'people' is {row['people']!r}, not a number of people")
        counts.setdefault(row["step"], {})[row["condition"]] = row["people"]
    conditions = tuple(dict.fromkeys(name for step in counts.values() for name in step if name != ALL))
    return Flow(
        conditions,
        {
            step: (people[ALL],) if ALL in people else tuple(people.get(name, 0) for name in conditions)
            for step, people in counts.items()
        },
    )


def pilot_ratings(source: Path | str | RatingsSource, conditions: tuple[str, str]) -> PilotRatings:
    """Return the ratings of two conditions of an exported study.

    Raises ConfigurationError: the pilot has no ratings of one of the conditions, or no annotators.
    """
    frame = (source if isinstance(source, RatingsSource) else read_ratings(source)).frame
    rated = sorted(frame["condition"].unique())
    for condition in conditions:
        if condition not in rated:
            raise ConfigurationError(f"the pilot has no ratings of {condition!r}; it has: {', '.join(rated)}")
    if "annotator_id" not in frame.columns or frame["annotator_id"].null_count():
        raise ConfigurationError("the pilot's votes are anonymous; give ratings that name their annotators")
    chosen = frame.filter(pl.col("condition").is_in(conditions))
    return PilotRatings.from_ratings(
        safe=(chosen["verdict"] == "safe").to_numpy(),
        second=(chosen["condition"] == conditions[1]).to_numpy(),
        query=chosen["query_id"].to_numpy(),
        annotator=chosen["annotator_id"].to_numpy(),
    )
