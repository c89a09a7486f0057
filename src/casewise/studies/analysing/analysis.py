"""The whole analysis of a study's ratings, as numbers. `reporting.study_report` writes it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import polars as pl

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats import Agreement, Ceilings, OracleAccuracy, Reliability, agreement_of_votes, oracle_accuracy
from casewise.stats import ceilings as vote_ceilings
from casewise.stats import reliability as vote_reliability
from casewise.stats.agreeing.labels_and_ties import LabelPolicy, labels
from casewise.stats.people.annotators import AnnotatorTable, annotator_table
from casewise.stats.people.attrition import Attrition, attrition
from casewise.stats.people.coded_ratings import CodedRatings
from casewise.stats.people.panel import PanelCurve, panel_curve
from casewise.stats.people.strata import StratumRates, safe_rate_by_stratum
from casewise.studies.analysing.contrast_table import condition_table, contrast_table, default_contrasts
from casewise.studies.analysing.options import AnalysisOptions
from casewise.studies.analysing.own_questions import OwnFound
from casewise.studies.analysing.task_tables import TaskTests, task_tests

__all__ = ["PAPER_LEVEL", "LeftOut", "StudyAnalysis", "analyse", "label_table"]

Answer = TypeVar("Answer")

PAPER_LEVEL = 0.05 / 4
"""At which the paper calls a task significant (§5.1)."""

ANONYMOUS = "not available: anonymous votes"


@dataclass(frozen=True)
class LeftOut:
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
    """As randomised: all valid ratings, those of people who left part-way included."""
    contrasts_of_completers: pl.DataFrame | None
    """The same of those who finished; None where all did, or it is not known."""
    left_out: LeftOut | None
    """What the ratings left out would change; None where nothing was, or it is not known."""
    labels: pl.DataFrame
    """One row a condition: how many items people call safe and unsafe, by the label policy."""
    tasks: TaskTests | None
    agreement: dict[str, Agreement]
    """`all` and each condition."""
    reliability: Reliability | None
    ceilings: Ceilings | None
    oracle: OracleAccuracy | None
    panel: PanelCurve | None
    annotators: AnnotatorTable | None
    strata: tuple[StratumRates, ...]
    attrition: Attrition | None
    own: tuple[OwnFound, ...] = ()
    """What was answered to the owner's own questions."""
    not_available: dict[str, str] = field(default_factory=dict)

    @property
    def anonymous(self) -> bool:
        """Whether votes have no annotators."""
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
    own: Callable[[CodedRatings], tuple[OwnFound, ...]] = lambda _ratings: (),
) -> StudyAnalysis:
    """Everything that these ratings can tell.

    A part that the ratings cannot answer is left out and explained, never guessed.

    `all_ratings`: `ratings` and those that were left out of them, where there are some.
    `reasons`: how many were left out, by the reason given.
    `own`: the analysis of the owner's own questions, where there are some.

    Raises StudyError: a planned contrast names a condition without ratings. StatisticsError: an option lies outside its
    range.
    """
    rng = np.random.default_rng(options.seed)
    why = _unanswerable(ratings, options)
    counts, clusters = ratings.by_item, ratings.item_query

    def attempt(name: str, question: Callable[[], Answer]) -> Answer | None:
        try:
            return question()
        except StatisticsError as error:
            why[name] = f"not available: {error}"
            return None

    known, finished = ratings.annotator is not None, ratings.completers()
    return StudyAnalysis(
        options=options,
        ratings=ratings,
        conditions=condition_table(ratings, level=options.level),
        contrasts=_contrasts(ratings, options, why),
        contrasts_of_completers=None if finished is None else _contrasts(finished, options, {}),
        left_out=None if all_ratings is None else _with_left_out(all_ratings, options, reasons or {}),
        labels=label_table(ratings, options.label_policy),
        tasks=task_tests(ratings, alpha=options.alpha, paper_level=PAPER_LEVEL, rng=rng),
        agreement=_agreement(ratings),
        reliability=attempt(
            "reliability", lambda: vote_reliability(*counts, rng=rng, clusters=clusters, raters=ratings.raters)
        ),
        ceilings=attempt("ceilings", lambda: vote_ceilings(*counts)),
        oracle=attempt(
            "accuracy of an oracle",
            lambda: oracle_accuracy(
                *counts, rng=np.random.default_rng(options.seed), clusters=clusters, strata=ratings.item_condition
            ),
        ),
        panel=attempt(
            "panel",
            lambda: panel_curve(
                *counts, clusters=clusters, reference_size=options.reference_size, raters=ratings.raters
            ),
        ),
        annotators=attempt("annotators", lambda: annotator_table(ratings, rng=rng)) if known else None,
        strata=tuple(safe_rate_by_stratum(ratings, name) for name in options.strata) if known else (),
        attrition=None if options.flow is None else attrition(options.flow, ratings),
        own=own(ratings),
        not_available=why,
    )


def _unanswerable(ratings: CodedRatings, options: AnalysisOptions) -> dict[str, str]:
    """What these ratings cannot tell, before anything is tried."""
    why: dict[str, str] = {}
    if not ((ratings.by_task.sizes > 0).sum(1) >= 2).any():
        why["tasks"] = "not available: no query has ratings under two conditions"
    if ratings.annotator is None:
        why |= dict.fromkeys(("annotators", "two-way errors", "strata"), ANONYMOUS)
    if options.flow is None:
        why["flow"] = "not available: the ratings do not say who arrived and did not finish"
    return why


def _contrasts(ratings: CodedRatings, options: AnalysisOptions, why: dict[str, str]) -> pl.DataFrame:
    if len(ratings.condition) < 2:
        why["contrasts"] = f"not available: there is one condition only, {ratings.condition.names[0]!r}"
        return pl.DataFrame()
    planned: Sequence[tuple[str, str]] = options.contrasts or default_contrasts(ratings.condition.names)
    table = contrast_table(ratings, planned, options)
    if table["like_p"].is_null().any() and table["query_p"].is_null().any():
        why["errors over queries"] = "not available for a contrast with fewer than two queries, or where nothing varies"
    return table


def _with_left_out(ratings: CodedRatings, options: AnalysisOptions, reasons: Mapping[str, int]) -> LeftOut:
    contrasts = _contrasts(ratings, options, {})
    return LeftOut(condition_table(ratings, level=options.level), contrasts, len(ratings), dict(reasons))


def _agreement(ratings: CodedRatings) -> dict[str, Agreement]:
    counts, found = ratings.by_item, {}
    parts = {"all": np.ones(len(ratings.item), dtype=bool)}
    parts |= {name: ratings.item_condition == index for index, name in enumerate(ratings.condition.names)}
    for name, chosen in parts.items():
        try:
            found[name] = agreement_of_votes(
                counts.successes[chosen],
                counts.sizes[chosen],
                clusters=ratings.item_query[chosen],
                raters=None if ratings.raters is None else ratings.raters.where(chosen),
            )
        except StatisticsError:
            continue
    return found


INTENT = {"safe": True, "unsafe": False}
"""How the paper's conditions begin that say what an author meant."""


def label_table(ratings: CodedRatings, policy: LabelPolicy) -> pl.DataFrame:
    """One row a condition: `items`, and how many of them are `safe`, `unsafe`, `tied` (half of each) or without a label.

    What an author meant is read from the names of the paper's conditions; an item of another one has no intent.
    """
    weight = labels(_items(ratings), policy).weight
    rows: list[dict[str, Any]] = []
    for index, name in enumerate(ratings.condition.names):
        own = weight[ratings.item_condition == index]
        rows.append(
            {
                "condition": name,
                "items": len(own),
                "safe": int((own == 1).sum()),
                "unsafe": int((own == 0).sum()),
                "tied": int((own == 0.5).sum()),
                "without": int(np.isnan(own).sum()),
            }
        )
    return pl.DataFrame(rows)


def _items(ratings: CodedRatings) -> pl.DataFrame:
    intents = [INTENT.get(name.split("_")[0]) for name in ratings.condition.names]
    of_query = None if ratings.category is None else [ratings.category.names[code] for code in ratings.category.codes]
    return pl.DataFrame(
        {
            "n_safe": ratings.by_item.successes,
            "n_votes": ratings.by_item.sizes,
            "intended_safe": pl.Series([intents[c] for c in ratings.item_condition], dtype=pl.Boolean),
            "published_rate": pl.Series([None] * len(ratings.item), dtype=pl.Float64),
            "category": [None if of_query is None else of_query[q] for q in ratings.item_query],
        },
        schema_overrides={"category": pl.String},
    )
