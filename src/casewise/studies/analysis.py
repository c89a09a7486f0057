"""The analysis of a study: planned contrasts, task tables and options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

import numpy as np
import polars as pl

from casewise.errors import ConfigurationError, StatisticsError
from casewise.records import ShortRepr
from casewise.stats import Agreement, Ceilings, Reliability, agreement_of_votes
from casewise.stats import ceilings as vote_ceilings
from casewise.stats import reliability as vote_reliability
from casewise.stats.agreement import KrippendorffAlpha, krippendorff_alpha
from casewise.stats.labels import LabelBase, Ties
from casewise.stats.panel import PanelCurve, panel_curve
from casewise.stats.ratings import AnnotatorTable, Attrition, CodedRatings, annotator_table, attrition
from casewise.stats.study_tables import (
    AnalysisOptions,
    Ground,
    PlannedCorrection,
    TaskTests,
    condition_table,
    contrast_table,
    default_contrasts,
    group_table,
    label_table,
    share_limits,
    task_tests,
)
from casewise.studies.design import OwnQuestion
from casewise.studies.freeze import Departure
from casewise.text import text

CHOICES = {"correction": PlannedCorrection, "labels": LabelBase, "ties": Ties, "exclude": Ground}


def resolve_options(
    chosen: Mapping[str, Any], planned: Mapping[str, Any], *, frozen: bool
) -> tuple[AnalysisOptions, tuple[Departure, ...]]:
    """Return the options that hold, and where those chosen depart from what was frozen.

    `chosen`: the options of `AnalysisOptions` asked for; None is as planned.
    `planned`: the study's own settings, by the same names.
    `frozen`: whether they were frozen: a departure needs a promise.

    Raises ConfigurationError: a value is none of those that there are. StatisticsError: an option lies outside its range.
    """
    chosen = {name: value for name, value in chosen.items() if value is not None}
    for name, kind in CHOICES.items():
        value, allowed = chosen.get(name, ()), get_args(kind)
        for unknown in {value} if isinstance(value, str) else value:
            if unknown not in allowed:
                raise ConfigurationError(f"--{name} is {unknown!r}; it can be {', '.join(allowed)}")
    options = AnalysisOptions(**{**planned, **chosen})
    changed = {name: value for name, value in chosen.items() if name in planned and value != planned[name]}
    if not frozen:
        return options, ()
    return options, tuple(Departure(f"analysis.{name}", planned[name], value) for name, value in changed.items())


def read_contrasts(written: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return `FIRST:SECOND` as pairs of conditions.

    Raises ConfigurationError: one has no colon, or compares a condition with itself.
    """
    pairs = []
    for words in written:
        first, colon, second = (part.strip() for part in words.partition(":"))
        if not colon or not first or not second or first == second:
            raise ConfigurationError(f"--contrast is {words!r}; write two conditions as no_context:safe_revised")
        pairs.append((first, second))
    return tuple(pairs)


@dataclass(frozen=True)
class QuestionAnswers:
    """The answers to one question."""

    question: OwnQuestion
    shares: pl.DataFrame
    """One row a condition and answer: `answers`, `of`, `share` and its interval over queries and annotators."""
    means: dict[str, float]
    """Means on a scale, by condition."""
    alphas: dict[str, KrippendorffAlpha]
    """Krippendorff's alpha of `all` and of each condition; where many may be chosen, of each option (chosen or not) over
    all."""


def own_questions(
    ratings: CodedRatings, questions: Sequence[OwnQuestion], lines: Iterable[dict[str, Any]], *, level: float = 0.95
) -> tuple[QuestionAnswers, ...]:
    """Return each question's analysis, over the ratings that count.

    `lines`: as the export has them: `item_id`, `annotator_id`, and `answers` by the names of questions.
    """
    if ratings.annotator is None:
        return ()
    counted_ratings = {
        (ratings.item.names[item], ratings.annotator.names[annotator])
        for item, annotator in zip(ratings.item.codes, ratings.annotator.codes, strict=True)
    }
    counted = [line for line in lines if (line["item_id"], line["annotator_id"]) in counted_ratings]
    return tuple(
        question_answers(ratings, question, answered, level=level)
        for question in questions
        if (answered := [line for line in counted if question.name in line["answers"]])
    )


def question_answers(
    ratings: CodedRatings, question: OwnQuestion, lines: list[dict[str, Any]], *, level: float
) -> QuestionAnswers:
    place = {name: index for index, name in enumerate(ratings.item.names)}
    item = np.array([place[line["item_id"]] for line in lines])
    annotator = np.unique([line["annotator_id"] for line in lines], return_inverse=True)[1]
    values = [line["answers"][question.name] for line in lines]
    # one row an answer, one column an option
    chosen = np.array(
        [
            [option in value if isinstance(value, list) else str(value) == option for option in question.choices]
            for value in values
        ]
    )
    condition, query = ratings.item_condition[item], ratings.item_query[item]
    in_condition = {
        name: condition == index for index, name in enumerate(ratings.condition.names) if (condition == index).any()
    }
    shares = [
        {
            "condition": name,
            "answer": option,
            "answers": int(chosen[rows, column].sum()),
            "of": int(rows.sum()),
            "share": float(chosen[rows, column].mean()),
            **share_limits(chosen[rows, column], query[rows], annotator[rows], level=level),
        }
        for column, option in enumerate(question.choices)
        for name, rows in in_condition.items()
    ]
    everywhere = np.ones(len(item), dtype=bool)
    parts = {"all": (chosen, everywhere)} | {name: (chosen, rows) for name, rows in in_condition.items()}
    if question.many:
        columns = enumerate(question.choices)
        parts = {option: (np.column_stack((~chosen[:, c], chosen[:, c])), everywhere) for c, option in columns}
    alphas: dict[str, KrippendorffAlpha] = {}
    for name, (answers, rows) in parts.items():
        counts = np.zeros((len(ratings.item), answers.shape[1]))
        np.add.at(counts, item[rows], answers[rows])
        with suppress(StatisticsError):  # too few answered
            scale = question.level if question.kind == "scale" else "nominal"
            alphas[name] = krippendorff_alpha(counts, level=scale, clusters=ratings.item_query)
    numbers = np.array(values, dtype=float) if question.kind == "scale" else np.empty(0)
    means = {name: float(numbers[rows].mean()) for name, rows in in_condition.items()} if len(numbers) else {}
    return QuestionAnswers(question, pl.DataFrame(shares, infer_schema_length=None), means, alphas)


Answer = TypeVar("Answer")

PAPER_LEVEL = 0.05 / 4
"""Level at which the paper calls a task significant (§5.1)."""

ANONYMOUS = "not available: anonymous votes"


@dataclass(frozen=True)
class ExcludedRatings:
    """The headline numbers with the ratings that were left out, to be set beside those without."""

    conditions: pl.DataFrame
    contrasts: pl.DataFrame
    ratings: int
    reasons: dict[str, int]
    """Ratings left out, by the reason given."""


@dataclass(frozen=True, repr=False)
class StudyAnalysis(ShortRepr):
    """Every number of a study report. What cannot be said is None, and `not_available` says why."""

    options: AnalysisOptions
    ratings: CodedRatings
    conditions: pl.DataFrame
    contrasts: pl.DataFrame
    """Contrasts as randomised: all valid ratings, those of people who left part-way included."""
    contrasts_of_completers: pl.DataFrame | None
    """Contrasts of the people who finished; None where all did, or it is not known."""
    left_out: ExcludedRatings | None
    """The numbers with the ratings that were left out; None where none were, or it is not known."""
    labels: pl.DataFrame
    """One row a condition: how many items people call safe and unsafe, by the label policy."""
    tasks: TaskTests | None
    agreement: dict[str, Agreement]
    """Agreement over all items, under `all`, and in each condition."""
    reliability: Reliability | None
    ceilings: Ceilings | None
    panel: PanelCurve | None
    annotators: AnnotatorTable | None
    attrition: Attrition | None
    own: tuple[QuestionAnswers, ...] = ()
    """The answers to the owner's own questions."""
    groups: pl.DataFrame | None = None
    """Annotators compared by what they said of themselves (`group_table`); None where that is not known."""
    not_available: dict[str, str] = field(default_factory=dict)

    @property
    def anonymous(self) -> bool:
        """True where votes have no annotators."""
        return self.ratings.annotator is None

    @property
    def bonferroni_level(self) -> float:
        """Alpha over the number of contrasts."""
        return self.options.alpha / max(1, len(self.contrasts))


def analyse(
    ratings: CodedRatings,
    options: AnalysisOptions = AnalysisOptions(),
    *,
    all_ratings: CodedRatings | None = None,
    reasons: Mapping[str, int] | None = None,
    own: tuple[QuestionAnswers, ...] = (),
    traits: Mapping[str, Mapping[str, str]] | None = None,
) -> StudyAnalysis:
    """Compute every analysis that these ratings allow.

    A part that the ratings cannot answer is left out and explained, never guessed.

    `all_ratings`: `ratings` and those that were left out of them, where there are some.
    `reasons`: how many were left out, by the reason given.
    `own`: the analysis of the owner's own questions over `ratings`, where there are some.
    `traits`: what annotators said of themselves, by their ids.

    Raises StudyError: a planned contrast names a condition without ratings. StatisticsError: an option lies outside its
    range.
    """
    rng = np.random.default_rng(options.seed)
    why: dict[str, str] = {}
    if not ((ratings.by_task.sizes > 0).sum(1) >= 2).any():
        why["tasks"] = text("not available: no {query} has ratings under two conditions")
    if ratings.annotator is None:
        why |= dict.fromkeys(("annotators", "two-way errors"), ANONYMOUS)
    if options.flow is None:
        why["flow"] = "not available: the ratings do not say who arrived and did not finish"
    counts, clusters = ratings.by_item, ratings.item_query

    def attempt(name: str, question: Callable[[], Answer]) -> Answer | None:
        try:
            return question()
        except StatisticsError as error:
            why[name] = "not available: " + error.words
            return None

    has_annotators, finished = ratings.annotator is not None, ratings.completers()
    return StudyAnalysis(
        options=options,
        ratings=ratings,
        conditions=condition_table(ratings, level=options.level),
        contrasts=_contrasts(ratings, options, why),
        contrasts_of_completers=None if finished is None else _contrasts(finished, options, {}),
        left_out=None
        if all_ratings is None
        else ExcludedRatings(
            condition_table(all_ratings, level=options.level),
            _contrasts(all_ratings, options, {}),
            len(all_ratings),
            dict(reasons or {}),
        ),
        labels=label_table(ratings, options.label_policy),
        tasks=task_tests(ratings, alpha=options.alpha, paper_level=PAPER_LEVEL, rng=rng),
        agreement=_agreement(ratings),
        reliability=attempt(
            "reliability", lambda: vote_reliability(*counts, rng=rng, clusters=clusters, raters=ratings.raters)
        ),
        ceilings=attempt(
            "ceilings",
            lambda: vote_ceilings(*counts, condition=ratings.item_condition, clusters=clusters, raters=ratings.raters),
        ),
        panel=attempt(
            "panel",
            lambda: panel_curve(
                *counts, clusters=clusters, reference_size=options.reference_size, raters=ratings.raters
            ),
        ),
        annotators=attempt("annotators", lambda: annotator_table(ratings, rng=rng)) if has_annotators else None,
        attrition=None if options.flow is None else attrition(options.flow),
        own=own,
        groups=group_table(ratings, traits or {}, options),
        not_available=why,
    )


def _contrasts(ratings: CodedRatings, options: AnalysisOptions, reasons: dict[str, str]) -> pl.DataFrame:
    if len(ratings.condition) < 2:
        reasons["contrasts"] = f"there is only one condition, {ratings.condition.names[0]!r}"
        return pl.DataFrame()
    planned: Sequence[tuple[str, str]] = options.contrasts or default_contrasts(ratings.condition.names)
    table = contrast_table(ratings, planned, options)
    if table["like_p"].is_null().any() and table["query_p"].is_null().any():
        reason = "not available for a contrast with fewer than two {queries}, or where nothing varies"
        reasons[text("errors over {queries}")] = text(reason)
    return table


def _agreement(ratings: CodedRatings) -> dict[str, Agreement]:
    counts, by_condition = ratings.by_item, {}
    parts = {"all": np.ones(len(ratings.item), dtype=bool)}
    parts |= {name: ratings.item_condition == index for index, name in enumerate(ratings.condition.names)}
    for name, chosen in parts.items():
        try:
            by_condition[name] = agreement_of_votes(
                counts.successes[chosen],
                counts.sizes[chosen],
                clusters=ratings.item_query[chosen],
                raters=None if ratings.raters is None else ratings.raters.where(chosen),
            )
        except StatisticsError:
            continue
    return by_condition
