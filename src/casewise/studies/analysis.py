"""The analysis of a study: planned contrasts, task tables and options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, TypeVar, cast, get_args

import numpy as np
import polars as pl
from scipy.special import stdtrit

from casewise.errors import ConfigurationError, StatisticsError, StudyError
from casewise.records import ShortRepr
from casewise.stats import (
    Agreement,
    Ceilings,
    Reliability,
    adjust,
    agreement_of_votes,
    benjamini_hochberg,
    clustered_contrast,
    dunn,
    equivalence,
    korn_graubard,
    kruskal_wallis,
    pairwise_proportions,
    two_proportion_z,
    wilson,
)
from casewise.stats import ceilings as vote_ceilings
from casewise.stats import reliability as vote_reliability
from casewise.stats.agreement import Level, LevelAlpha, alpha_by_level
from casewise.stats.arrays import (
    BoolArray,
    Counts,
    IntArray,
    Raters,
    annotators_variance,
    checked_share,
    cluster_variance,
)
from casewise.stats.contrasts import ClusteredContrast, Difference, group_difference
from casewise.stats.intervals import Correction
from casewise.stats.kruskal import KruskalWallis, PeopleOfTasks, category_tests
from casewise.stats.panel import PanelCurve, panel_curve
from casewise.stats.ratings import (
    AnnotatorTable,
    Attrition,
    CodedRatings,
    Flow,
    annotator_table,
    attrition,
)
from casewise.stats.sample import LabelBase, LabelPolicy, Ties, labels
from casewise.studies.design import OwnQuestion
from casewise.studies.freeze import Departure

# What is decided before the data are seen: as frozen, unless somebody asks for something else, which is a
# departure.


PlannedCorrection = Literal["holm", "bonferroni", "none", "benjamini-hochberg"]
Ground = Literal["failed_checks"]


CHOICES = {"correction": PlannedCorrection, "labels": LabelBase, "ties": Ties, "exclude": Ground}


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """How a study's ratings are analysed."""

    contrasts: tuple[tuple[str, str], ...] | None = None
    """Planned contrasts; None: the first condition against each other."""
    alpha: float = 0.05
    correction: PlannedCorrection = "holm"
    """Correction of the contrasts' p values for multiple testing."""
    labels: LabelBase = "votes"
    ties: Ties = "half"
    exclude: tuple[Ground, ...] = ("failed_checks",)
    """Reasons for which ratings are excluded, if the data say who failed."""
    margin: float = 0.05
    """Largest difference of safe rates that counts as equivalent."""
    groups: tuple[str, ...] = ()
    """Demographic questions by whose answers annotators are compared."""
    level: float = 0.95
    reference_size: int = 10
    """People in the reference of the panel curve."""
    flow: Flow | None = None
    """How many took part at each step, where known."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("alpha", "level", "margin"):
            checked_share(getattr(self, name), name)

    @property
    def label_policy(self) -> LabelPolicy:
        """How votes become labels."""
        return LabelPolicy(self.labels, self.ties)


class ChosenOptions(TypedDict, total=False):
    """Those of `AnalysisOptions` that somebody asks for; what is not here is as the study froze it."""

    contrasts: tuple[tuple[str, str], ...] | None
    alpha: float
    correction: PlannedCorrection
    labels: LabelBase
    ties: Ties
    exclude: tuple[Ground, ...]
    margin: float
    level: float
    reference_size: int
    flow: Flow | None
    seed: int


def choose_options(**values: object) -> ChosenOptions:
    """Those of `values` that are not None, checked against what each can be.

    Raises
    ------
    ConfigurationError
        A value is none of those that there are; the message lists them.
    """
    for name, kind in CHOICES.items():
        value, allowed = values.get(name), get_args(kind)
        wrong = [
            unknown
            for unknown in (value if isinstance(value, tuple) else (value,))
            if unknown is not None and unknown not in allowed
        ]
        if wrong:
            raise ConfigurationError(f"--{name} is {wrong[0]!r}; it can be {', '.join(allowed)}")
    return cast(ChosenOptions, {name: value for name, value in values.items() if value is not None})


def settle(
    chosen: ChosenOptions, planned: Mapping[str, Any], *, frozen: bool
) -> tuple[AnalysisOptions, tuple[Departure, ...]]:
    """The options that hold, and where `wanted` departs from what was frozen.

    `planned`: the study's own settings, by the names of `AnalysisOptions`.
    `frozen`: whether they were frozen: a departure needs a promise.

    Raises StatisticsError: an option lies outside its range.
    """
    options = AnalysisOptions(**{**planned, **chosen})
    changed = {name: value for name, value in chosen.items() if name in planned and value != planned[name]}
    if not frozen:
        return options, ()
    return options, tuple(Departure(f"analysis.{name}", planned[name], value) for name, value in changed.items())


def read_contrasts(written: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """`FIRST:SECOND` as pairs of conditions.

    Raises
    ------
    ConfigurationError
        One has no colon, or compares a condition with itself.
    """
    pairs = []
    for text in written:
        first, colon, second = (part.strip() for part in text.partition(":"))
        if not colon or not first or not second or first == second:
            raise ConfigurationError(f"--contrast is {text!r}; write two conditions as no_context:safe_revised")
        pairs.append((first, second))
    return tuple(pairs)


# Planned contrasts, one row each: the paper's test, and beside it errors that know queries and annotators.


NO_DIFFERENCE = dict.fromkeys(("estimate", "error", "ci_low", "ci_high", "p", "log_p"))


def default_contrasts(conditions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The first condition (no context, where there is one) against each other; the paper does not list its four."""
    return tuple((conditions[0], condition) for condition in conditions[1:])


def condition_table(ratings: CodedRatings, *, level: float) -> pl.DataFrame:
    """Safe rate of each condition, with its Korn-Graubard interval over queries, and annotators where they are known."""
    rows: list[dict[str, Any]] = []
    for index, name in enumerate(ratings.condition.names):
        chosen = ratings.within(index)
        safe, query = ratings.safe[chosen], ratings.query.codes[chosen]
        annotator = None if ratings.annotator is None else ratings.annotator.codes[chosen]
        rows.append(
            {
                "condition": name,
                "items": int((ratings.item_condition == index).sum()),
                "queries": len(np.unique(query)),
                "annotators": None if annotator is None else len(np.unique(annotator)),
                "ratings": len(safe),
                "safe": int(safe.sum()),
                "safe_rate": float(safe.mean()),
                **share_limits(safe, query, annotator, level=level),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def share_limits(
    chosen: BoolArray, query: IntArray, annotator: IntArray | None, *, level: float
) -> dict[str, float | None]:
    """`ci_low` and `ci_high` of a share of votes, or of answers: Korn and Graubard's, over queries and known annotators."""
    n, share, queries = len(chosen), float(chosen.mean()), np.unique(query, return_inverse=True)[1]
    clusters = int(queries.max()) + 1
    if clusters < 2:
        return {"ci_low": None, "ci_high": None}
    variance = cluster_variance((chosen - share) / n, queries)
    if annotator is not None:
        own = np.full(clusters, 1 / n)
        variance += annotators_variance((1 - share) * own, -share * own, Raters(queries, annotator, chosen))
        clusters = max(2, min(clusters, len(np.unique(annotator))))
    limits = korn_graubard(share, variance, n=n, clusters=clusters, level=level)
    return {"ci_low": float(limits.low), "ci_high": float(limits.high)}


def contrast_table(
    ratings: CodedRatings, contrasts: Sequence[tuple[str, str]], options: AnalysisOptions
) -> pl.DataFrame:
    """One row a contrast.

    `z`, `p`, `log_p`, `ci_low`, `ci_high` are the paper's pooled test with its corrections `p_bonferroni`, `p_holm`
    and `p_benjamini_hochberg`; `like_*` the errors clustered by query and annotator, `these_*` those by annotator
    around these queries' rates, `query_*` the average per-query difference; `equivalent_p` the TOST within `margin`,
    `equivalent_p_corrected` the same corrected over the contrasts, and `equivalent` whether that reaches alpha.
    `recommended_p` is that of `like_*`, else of `query_*`; `recommended_p_corrected` is corrected as `options` say, and
    `differs` whether it reaches their alpha.

    Raises StudyError: a contrast names a condition that has no ratings.
    """
    rows = [_row(ratings, first, second, level=options.level) for first, second in contrasts]
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows, infer_schema_length=None)
    testable = table["testable"].to_numpy()
    for method in ("bonferroni", "holm", "benjamini_hochberg"):
        table = table.with_columns(pl.Series(f"p_{method}", adjust(table["p"].to_numpy(), method, where=testable)))
    table = table.with_columns(_corrected(table, options))
    return table.with_columns(_equivalence(table, options))


def _corrected(table: pl.DataFrame, options: AnalysisOptions) -> list[pl.Series]:
    best = table["like_p"].cast(pl.Float64).fill_null(table["query_p"].cast(pl.Float64))
    p = corrected(best, options).alias("recommended_p_corrected")
    return [best.alias("recommended_p"), p, (p <= options.alpha).alias("differs")]


def corrected(p: pl.Series, options: AnalysisOptions) -> pl.Series:
    """The p values of a family of contrasts, corrected as the options say; one that is null stays out of it."""
    tested = p.is_not_null()
    method: Correction = "benjamini_hochberg" if options.correction == "benjamini-hochberg" else options.correction
    return pl.Series(adjust(p.fill_null(1.0).to_numpy(), method, where=tested.to_numpy())).set(~tested, None)


def _row(ratings: CodedRatings, first: str, second: str, *, level: float) -> dict[str, Any]:
    a, b = (_index(ratings, name) for name in (first, second))
    chosen = ratings.within(a) | ratings.within(b)
    safe, is_second = ratings.safe[chosen], ratings.within(b)[chosen]
    counts = [int(safe[~is_second].sum()), int((~is_second).sum()), int(safe[is_second].sum()), int(is_second.sum())]
    z = two_proportion_z(*counts, level=level)
    annotator = None if ratings.annotator is None else ratings.annotator.codes[chosen]
    try:
        clustered = clustered_contrast(
            safe, is_second, query=ratings.query.codes[chosen], annotator=annotator, level=level
        )
    except StatisticsError:  # one query or one annotator: the pooled test stands alone
        clustered = None
    names = (
        "difference",
        "z",
        "p",
        "log_p",
        "p_greater",
        "p_less",
        "ci_low",
        "ci_high",
        "newcombe_low",
        "newcombe_high",
    )
    return {
        "first": first,
        "second": second,
        **dict(zip(("x1", "n1", "x2", "n2"), counts, strict=True)),
        **{name: float(getattr(z, name)) for name in names},
        "testable": bool(z.testable),
        **_flat(clustered),
    }


def _flat(clustered: ClusteredContrast | None) -> dict[str, Any]:
    parts: dict[str, Difference | None] = dict.fromkeys(("like", "these", "query", "item"))
    if clustered is not None:
        parts |= {
            "like": clustered.queries_like_these,
            "these": clustered.these_queries,
            "query": clustered.by_query,
            "item": clustered.by_item,
        }
    flat: dict[str, Any] = {}
    for prefix, part in parts.items():
        values = NO_DIFFERENCE if part is None else vars(part)
        flat |= {f"{prefix}_{name}": values[name] for name in NO_DIFFERENCE}
        flat[f"{prefix}_df"] = None if part is None else part.df
    return flat | {
        "two_way_not_positive": clustered is not None and clustered.not_positive,
        "annotators": None if clustered is None else clustered.annotators,
    }


def _equivalence(table: pl.DataFrame, options: AnalysisOptions) -> list[pl.Series]:
    prefix = "like" if table["like_error"].is_not_null().all() else "query"
    estimates = table.select(pl.col(f"{prefix}_estimate", f"{prefix}_error", f"{prefix}_df")).rows()
    tests = [
        None if error is None else float(equivalence(difference, error, margin=options.margin, df=df).p)
        for difference, error, df in estimates
    ]
    p = pl.Series("equivalent_p", tests, dtype=pl.Float64)
    adjusted = corrected(p, options).alias("equivalent_p_corrected")
    return [p, adjusted, (adjusted <= options.alpha).alias("equivalent")]


def _index(ratings: CodedRatings, condition: str) -> int:
    if condition not in ratings.condition.names:
        names = ", ".join(ratings.condition.names)
        raise StudyError(
            f"a contrast names {condition!r}, which has no ratings that count; conditions with ratings: {names}"
        )
    return ratings.condition.names.index(condition)


# What people answered to the owner's own questions: shares by condition, and how far they agree, by level.


@dataclass(frozen=True)
class OwnFound:
    """What was answered to one question."""

    question: OwnQuestion
    shares: pl.DataFrame
    """One row a condition and answer: `answers`, `of`, `share` and its interval over queries and annotators."""
    means: dict[str, float]
    """Of a scale, by condition."""
    alphas: dict[str, LevelAlpha]
    """Krippendorff's, of `all` and each condition; where many may be chosen, of each option (chosen or not) over all."""


@dataclass(frozen=True)
class Answers:
    """One entry an answered page in every array."""

    item: IntArray
    annotator: IntArray
    values: list[Any]


def own_questions(
    ratings: CodedRatings,
    questions: Sequence[OwnQuestion],
    lines: Iterable[dict[str, Any]],
    *,
    level: float = 0.95,
) -> tuple[OwnFound, ...]:
    """Each question's analysis, over the ratings that count.

    `lines`: as the export has them: `item_id`, `annotator_id`, and `answers` by the names of questions.
    """
    if ratings.annotator is None:
        return ()
    counted_ratings = {
        (ratings.item.names[item], ratings.annotator.names[annotator])
        for item, annotator in zip(ratings.item.codes, ratings.annotator.codes, strict=True)
    }
    counted = [line for line in lines if (line["item_id"], line["annotator_id"]) in counted_ratings]
    answers_by_question = (found_of(ratings, question, counted, level=level) for question in questions)
    return tuple(answers for answers in answers_by_question if answers is not None)


def found_of(
    ratings: CodedRatings, question: OwnQuestion, lines: list[dict[str, Any]], *, level: float
) -> OwnFound | None:
    place = {name: index for index, name in enumerate(ratings.item.names)}
    answered = [line for line in lines if question.name in line["answers"]]
    if not answered:
        return None
    answers = Answers(
        np.array([place[line["item_id"]] for line in answered]),
        np.unique([line["annotator_id"] for line in answered], return_inverse=True)[1],
        [line["answers"][question.name] for line in answered],
    )
    return OwnFound(
        question,
        shares=pl.DataFrame(list(share_rows(ratings, question, answers, level=level)), infer_schema_length=None),
        means=means(ratings, answers) if question.kind == "scale" else {},
        alphas=dict(agreements(ratings, question, answers)),
    )


def chose(value: Any, option: str) -> bool:
    """Whether an answer is, or has among it, what is offered as `option`."""
    return option in value if isinstance(value, list) else str(value) == option


def share_rows(
    ratings: CodedRatings, question: OwnQuestion, answers: Answers, *, level: float
) -> Iterator[dict[str, Any]]:
    condition, query = ratings.item_condition[answers.item], ratings.item_query[answers.item]
    for option in question.offered:
        chosen = np.array([chose(value, option) for value in answers.values])
        for index, name in enumerate(ratings.condition.names):
            in_condition = condition == index
            if in_condition.any():
                yield {
                    "condition": name,
                    "answer": option,
                    "answers": int(chosen[in_condition].sum()),
                    "of": int(in_condition.sum()),
                    "share": float(chosen[in_condition].mean()),
                    **share_limits(
                        chosen[in_condition], query[in_condition], answers.annotator[in_condition], level=level
                    ),
                }


def by_condition(ratings: CodedRatings, answers: Answers) -> Iterator[tuple[str, list[Any]]]:
    condition = ratings.item_condition[answers.item]
    for index, name in enumerate(ratings.condition.names):
        values = [answers.values[place] for place in np.flatnonzero(condition == index)]
        if values:
            yield name, values


def means(ratings: CodedRatings, answers: Answers) -> dict[str, float]:
    return {name: float(np.mean(values)) for name, values in by_condition(ratings, answers)}


def agreements(ratings: CodedRatings, question: OwnQuestion, answers: Answers) -> Iterator[tuple[str, LevelAlpha]]:
    level: Level = question.level if question.kind == "scale" else "nominal"
    if question.many:
        for option in question.offered:
            values = [str(option in value) for value in answers.values]
            yield from attempt(option, ratings, replace(answers, values=values), ("False", "True"), level)
        return
    yield from attempt("all", ratings, answers, question.offered, level)
    for index, name in enumerate(ratings.condition.names):
        places = np.flatnonzero(ratings.item_condition[answers.item] == index)
        answers_here = Answers(
            answers.item[places], answers.annotator[places], [answers.values[place] for place in places]
        )
        yield from attempt(name, ratings, answers_here, question.offered, level)


def attempt(
    name: str,
    ratings: CodedRatings,
    answers: Answers,
    offered: Sequence[str],
    level: Level,
) -> Iterator[tuple[str, LevelAlpha]]:
    """The alpha under its name; nothing where too few answered."""
    counts = np.zeros((len(ratings.item), len(offered)))
    column = {option: index for index, option in enumerate(offered)}
    for (item, option), many in Counter(
        (int(item), str(value)) for item, value in zip(answers.item, answers.values, strict=True)
    ).items():
        counts[item, column[option]] += many
    try:
        yield name, alpha_by_level(counts, level=level, clusters=ratings.item_query)
    except StatisticsError:
        return


# Groups of annotators, by what they said of themselves: each against the others, on the same items.


FEWEST_IN_GROUP = 10
"""People on either side below which a difference is not told: errors over people rest on too few."""
POWER = 0.8


def group_table(
    ratings: CodedRatings, traits: Mapping[str, Mapping[str, str]], options: AnalysisOptions
) -> pl.DataFrame | None:
    """One row a trait and answer; None where nobody's traits are known.

    `difference`, `ci_low`, `ci_high` and `p` are of `casewise.stats.contrasts.group_difference`: the answer's people less those
    who answered otherwise, in safe rate on the same items. `p_corrected` is corrected over all rows as `options` say. `detectable`
    is the true difference that would have been found with a power of 80 % at the level of Bonferroni's correction. Where two
    answers share a trait, one comparison is all there is, and stands in the first row. `why` says why a row has none.
    """
    if ratings.annotator is None or not any(traits.values()):
        return None
    names, rows = ratings.annotator.names, []
    for trait in options.groups:
        answers = np.array([traits.get(name, {}).get(trait, "") for name in names], dtype=object)
        offered = sorted(set(answers) - {""})
        for place, answer in enumerate(offered):
            group, answered = answers == answer, answers != ""
            rows.append(_group_row(ratings, trait, answer, group, answered, level=options.level))
            if place and len(offered) == 2:
                rows[-1] |= dict.fromkeys(("difference", "error", "df", "ci_low", "ci_high", "p"))
                rows[-1]["why"] = "the comparison of the row above, reversed"
    table = pl.DataFrame(rows, infer_schema_length=None)
    if not len(table):
        return None
    compared = table["p"].cast(pl.Float64)
    level = options.alpha / max(1, int(compared.is_not_null().sum()))
    detectable = [
        None
        if row["error"] is None
        else float((stdtrit(row["df"], 1 - level / 2) + stdtrit(row["df"], POWER)) * row["error"])
        for row in table.to_dicts()
    ]
    p = corrected(compared, options)
    return table.with_columns(
        p.alias("p_corrected"),
        (p <= options.alpha).alias("differs"),
        pl.Series("detectable", detectable, dtype=pl.Float64),
    )


def _group_row(
    ratings: CodedRatings, trait: str, answer: str, group: BoolArray, answered: BoolArray, *, level: float
) -> dict[str, Any]:
    """`group` and `known`: by annotator, who gave the answer, and who gave any."""
    assert ratings.annotator is not None
    annotator_codes = ratings.annotator.codes
    inside, used = group[annotator_codes], answered[annotator_codes]
    people, n_others = int(group.sum()), int((answered & ~group).sum())
    row: dict[str, Any] = {
        "trait": trait,
        "answer": answer,
        "people": people,
        "others": n_others,
        "ratings": int(inside.sum()),
        "safe_rate": float(ratings.safe[inside].mean()),
        **dict.fromkeys(("difference", "error", "df", "ci_low", "ci_high", "p", "why")),
    }
    if min(people, n_others) < FEWEST_IN_GROUP:
        return row | {"why": f"fewer than {FEWEST_IN_GROUP} people in one group"}
    columns = {"item": ratings.item.codes, "query": ratings.query.codes, "annotator": annotator_codes}
    try:
        difference = group_difference(
            ratings.safe[used], inside[used], **{name: codes[used] for name, codes in columns.items()}, level=level
        )
    except StatisticsError as error:
        return row | {"why": str(error)}
    values = {"difference": difference.estimate, "error": difference.error, "df": difference.df, "p": difference.p}
    return row | values | {"ci_low": difference.ci_low, "ci_high": difference.ci_high}


# Task by task: Kruskal-Wallis, Dunn, categories, and each query's share of "respond" under each condition.


@dataclass(frozen=True, repr=False)
class TaskTests(ShortRepr):
    """Everything that is tested query by query."""

    tasks: pl.DataFrame
    """One row a query with ratings under two conditions at least."""
    post_hoc: pl.DataFrame
    """One row a query and pair of conditions, for the testable queries."""
    pairs: pl.DataFrame
    """One row a pair of conditions: on how many tasks it differs."""
    categories: pl.DataFrame | None
    """One row a category, by falling mean H; None where categories are not known."""
    shares: pl.DataFrame
    """One row a query and condition: share of "respond" with its Wilson interval."""
    exact_method: str
    category_draws: str | None
    """What the permutation p of a category rests on."""
    left_out: int
    """Queries with ratings under fewer than two conditions."""


def task_tests(
    ratings: CodedRatings, *, alpha: float, paper_level: float, rng: np.random.Generator
) -> TaskTests | None:
    """Every test of the task-by-task part; None where no query has ratings under two conditions."""
    counts = ratings.by_task
    testable = np.flatnonzero((counts.sizes > 0).sum(1) >= 2)
    if not len(testable):
        return None
    testable_counts = Counts(counts.successes[testable], counts.sizes[testable])
    result = kruskal_wallis(testable_counts.successes, testable_counts.sizes, exact=True, rng=rng)
    post_hoc = _post_hoc(ratings, testable_counts, testable, result)
    draws, categories = None, None
    if ratings.category is not None:
        draws, categories = _categories(
            ratings, testable_counts, testable, result, levels=(alpha, paper_level), rng=rng
        )
    return TaskTests(
        tasks=_tasks(ratings, testable_counts, testable, result),
        post_hoc=post_hoc,
        pairs=_pairs(post_hoc, alpha),
        categories=categories,
        shares=_shares(ratings),
        exact_method=_method(result),
        category_draws=draws,
        left_out=len(counts.sizes) - len(testable),
    )


def _method(result: KruskalWallis) -> str:
    if result.exact is None or not result.exact.monte_carlo_tasks:
        return "exact"
    draws, tasks = result.exact.draws, result.exact.monte_carlo_tasks
    return f"exact, but for {tasks:,} tasks by {draws:,} random shuffles each"


def _names(ratings: CodedRatings, testable: IntArray) -> dict[str, list[str]]:
    columns = {"query": [ratings.query.names[i] for i in testable]}
    if ratings.category is not None:
        columns["category"] = [ratings.category.names[c] for c in ratings.category.codes[testable]]
    return columns


def _tasks(ratings: CodedRatings, counts: Counts, testable: IntArray, result: KruskalWallis) -> pl.DataFrame:
    exact = result.p if result.exact is None else result.exact.p
    return pl.DataFrame(
        {
            **_names(ratings, testable),
            "ratings": counts.sizes.sum(1),
            "safe": counts.successes.sum(1),
            "h": result.h,
            "df": np.broadcast_to(result.df, len(testable)),
            "p": result.p,
            "log_p": result.log_p,
            "p_exact": exact,
            "p_benjamini_hochberg": benjamini_hochberg(exact, where=result.testable),
            "cramers_v": result.cramers_v,
            "testable": result.testable,
        }
    )


def _post_hoc(ratings: CodedRatings, counts: Counts, testable: IntArray, result: KruskalWallis) -> pl.DataFrame:
    rows = np.flatnonzero(np.atleast_1d(result.testable))
    ranks = dunn(counts.successes[rows], counts.sizes[rows])
    shares = pairwise_proportions(counts.successes[rows], counts.sizes[rows])
    names, pairs = ratings.condition.names, ranks.pairs
    queries = [ratings.query.names[i] for i in testable[rows]]
    return pl.DataFrame(
        {
            "query": np.repeat(np.array(queries, dtype=object), len(pairs)).tolist(),
            "first": [names[i] for i in pairs[:, 0]] * len(rows),
            "second": [names[j] for j in pairs[:, 1]] * len(rows),
            "dunn_z": ranks.z.ravel(),
            "dunn_p": ranks.p.ravel(),
            "dunn_p_bonferroni": ranks.p_bonferroni.ravel(),
            "dunn_p_holm": ranks.p_holm.ravel(),
            "dunn_p_benjamini_hochberg": ranks.p_benjamini_hochberg.ravel(),
            "proportions_p": shares.p.ravel(),
            "proportions_p_holm": shares.p_holm.ravel(),
            "testable": ranks.testable.ravel(),
        }
    )


def _pairs(post_hoc: pl.DataFrame, alpha: float) -> pl.DataFrame:
    return (
        post_hoc.filter(pl.col("testable"))
        .group_by("first", "second", maintain_order=True)
        .agg(
            tasks=pl.len(),
            dunn_bonferroni=(pl.col("dunn_p_bonferroni") <= alpha).sum(),
            dunn_holm=(pl.col("dunn_p_holm") <= alpha).sum(),
            dunn_benjamini_hochberg=(pl.col("dunn_p_benjamini_hochberg") <= alpha).sum(),
            proportions_holm=(pl.col("proportions_p_holm") <= alpha).sum(),
        )
    )


def _categories(
    ratings: CodedRatings,
    counts: Counts,
    testable: IntArray,
    result: KruskalWallis,
    *,
    levels: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[str, pl.DataFrame]:
    assert ratings.category is not None
    present, codes = np.unique(ratings.category.codes[testable], return_inverse=True)
    people = _people(ratings, testable)
    tests = category_tests(counts, codes, result=result, rng=rng, alpha=levels[0], paper_level=levels[1], people=people)
    table = pl.DataFrame(
        {
            "category": [ratings.category.names[i] for i in present],
            "queries": tests.queries,
            "testable": tests.testable,
            "mean_h": tests.mean_h,
            "p": tests.p,
            "p_at_floor": tests.p <= 1 / (1 + tests.draws),
            "p_benjamini_hochberg": benjamini_hochberg(tests.p),
            "significant_after_correction": tests.share_after_correction,
            "significant_at_paper_level": tests.share_at_paper_level,
        }
    )
    shuffled = "shuffles within tasks" if people is None else "shuffles of people over the conditions"
    return f"{tests.draws:,} {shuffled}", table.sort("mean_h", "category", descending=[True, False])


def _people(ratings: CodedRatings, testable: IntArray) -> PeopleOfTasks | None:
    """Who rated the kept tasks; None where votes are anonymous or somebody rated under several conditions."""
    if ratings.annotator is None:
        return None
    place = np.full(len(ratings.query), -1)
    place[testable] = np.arange(len(testable))
    in_testable = place[ratings.query.codes] >= 0
    annotators, condition = ratings.annotator.codes[in_testable], ratings.condition.codes[in_testable]
    people, person = np.unique(annotators, return_inverse=True)
    assigned = np.zeros(len(people), dtype=np.int64)
    assigned[person] = condition
    if not np.array_equal(assigned[person], condition):
        return None
    return PeopleOfTasks(place[ratings.query.codes[in_testable]], person, ratings.safe[in_testable], assigned)


def _shares(ratings: CodedRatings) -> pl.DataFrame:
    counts = ratings.by_task
    query, condition = np.nonzero(counts.sizes)
    safe, votes = counts.successes[query, condition], counts.sizes[query, condition]
    limits = wilson(safe, votes)
    return pl.DataFrame(
        {
            **_names(ratings, query),
            "condition": [ratings.condition.names[i] for i in condition],
            "safe": safe,
            "ratings": votes,
            "share": safe / votes,
            "ci_low": limits.low,
            "ci_high": limits.high,
        }
    )


# The whole analysis of a study's ratings, as numbers. `reporting.study_report` writes it out.


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
    panel: PanelCurve | None
    annotators: AnnotatorTable | None
    attrition: Attrition | None
    own: tuple[OwnFound, ...] = ()
    """What was answered to the owner's own questions."""
    groups: pl.DataFrame | None = None
    """Annotators compared by what they said of themselves (`group_table`); None where that is not known."""
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
    traits: Mapping[str, Mapping[str, str]] | None = None,
) -> StudyAnalysis:
    """Everything that these ratings can tell.

    A part that the ratings cannot answer is left out and explained, never guessed.

    `all_ratings`: `ratings` and those that were left out of them, where there are some.
    `reasons`: how many were left out, by the reason given.
    `own`: the analysis of the owner's own questions, where there are some.
    `traits`: what annotators said of themselves, by their ids.

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

    with_annotators, finished = ratings.annotator is not None, ratings.completers()
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
        ceilings=attempt("ceilings", lambda: vote_ceilings(*counts, condition=ratings.item_condition)),
        panel=attempt(
            "panel",
            lambda: panel_curve(
                *counts, clusters=clusters, reference_size=options.reference_size, raters=ratings.raters
            ),
        ),
        annotators=attempt("annotators", lambda: annotator_table(ratings, rng=rng)) if with_annotators else None,
        attrition=None if options.flow is None else attrition(options.flow),
        own=own(ratings),
        groups=group_table(ratings, traits or {}, options),
        not_available=why,
    )


def _unanswerable(ratings: CodedRatings, options: AnalysisOptions) -> dict[str, str]:
    """What these ratings cannot tell, before anything is tried."""
    why: dict[str, str] = {}
    if not ((ratings.by_task.sizes > 0).sum(1) >= 2).any():
        why["tasks"] = "not available: no query has ratings under two conditions"
    if ratings.annotator is None:
        why |= dict.fromkeys(("annotators", "two-way errors"), ANONYMOUS)
    if options.flow is None:
        why["flow"] = "not available: the ratings do not say who arrived and did not finish"
    return why


def _contrasts(ratings: CodedRatings, options: AnalysisOptions, why: dict[str, str]) -> pl.DataFrame:
    if len(ratings.condition) < 2:
        why["contrasts"] = f"not available: there is only one condition, {ratings.condition.names[0]!r}"
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
