"""The tables of a study's analysis: conditions, contrasts, groups of annotators, and single tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import stdtrit

from casewise.errors import StatisticsError, StudyError
from casewise.records import ShortRepr
from casewise.stats import (
    adjust,
    clustered_contrast,
    dunn,
    korn_graubard,
    kruskal_wallis,
    pairwise_proportions,
    two_proportion_z,
    wilson,
)
from casewise.stats.arrays import (
    BoolArray,
    Counts,
    IntArray,
    PerVote,
    Raters,
    checked_integer,
    checked_share,
    cluster_variance,
)
from casewise.stats.contrasts import Difference, group_difference
from casewise.stats.intervals import Correction
from casewise.stats.kruskal import DRAWS, KruskalWallis, TaskRatings, category_tests
from casewise.stats.labels import LabelBase, LabelPolicy, Ties, labels
from casewise.stats.ratings import CodedRatings, Flow

CORRECTIONS: tuple[Correction, ...] = ("bonferroni", "holm", "benjamini_hochberg")
"""Corrections of the tables of contrasts and of post-hoc tests."""

PlannedCorrection = Literal["holm", "bonferroni", "none", "benjamini-hochberg"]

Ground = Literal["failed_checks"]


@dataclass(frozen=True, kw_only=True)
class AnalysisOptions:
    """Options of analysing a study's ratings."""

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
    """The number of people who took part at each step, where known."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("alpha", "level", "margin"):
            checked_share(getattr(self, name), name)
        checked_integer(self.reference_size, "reference_size", minimum=1)

    @property
    def label_policy(self) -> LabelPolicy:
        """The policy by which votes become labels."""
        return LabelPolicy(self.labels, self.ties)


OF_DIFFERENCE = ("estimate", "error", "ci_low", "ci_high", "p", "df")
"""Columns of a difference with one kind of error, behind its prefix."""


def default_contrasts(conditions: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the first condition (no context, where there is one) against each other; the paper does not list its four."""
    return tuple((conditions[0], condition) for condition in conditions[1:])


def condition_table(ratings: CodedRatings, *, level: float) -> pl.DataFrame:
    """Return the safe rate of each condition, with its Korn-Graubard interval over queries, and annotators where they are known."""
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
    """Return `ci_low` and `ci_high` of a share of votes, or of answers: Korn and Graubard's, over queries and known annotators.

    Where all are alike, each query counts once, or each annotator where these are fewer.
    """
    n, share, queries = len(chosen), float(chosen.mean()), np.unique(query, return_inverse=True)[1]
    clusters = int(queries.max()) + 1
    if clusters < 2:
        return {"ci_low": None, "ci_high": None}
    variance = cluster_variance((chosen - share) / n, queries)
    if annotator is not None and len(np.unique(annotator)) > 1:  # one says nothing of other people
        influence_weight = np.full(clusters, 1 / n)
        variance += PerVote(
            Raters(queries, annotator, chosen), (1 - share) * influence_weight, -share * influence_weight
        ).variance
        clusters = max(2, min(clusters, len(np.unique(annotator))))
    if share in {0.0, 1.0}:  # nothing says that the answers of a cluster do not go together: each counts once
        n = clusters
    limits = korn_graubard(share, variance, n=n, clusters=clusters, level=level)
    return {"ci_low": float(limits.low), "ci_high": float(limits.high)}


def contrast_table(
    ratings: CodedRatings, contrasts: Sequence[tuple[str, str]], options: AnalysisOptions
) -> pl.DataFrame:
    """Return one row a contrast.

    `z`, `p`, `log_p`, `ci_low`, `ci_high` are the paper's pooled test with its corrections `p_bonferroni`, `p_holm`
    and `p_benjamini_hochberg`; `like_*` the errors clustered by query and annotator, `these_*` those by annotator
    around these queries' rates, `query_*` the average per-query difference; `equivalent_p` the TOST within `margin`,
    `equivalent_p_corrected` the same corrected over the contrasts, and `equivalent` whether that reaches alpha.
    `recommended_p` is that of `like_*`, else of `query_*` where annotators are not known. With one annotator a condition there is
    none, and `why` says so: nothing can be said about other people. `recommended_p_corrected` is corrected as `options` say, and
    `differs` whether it reaches their alpha.

    Raises StudyError: a contrast names a condition that has no ratings.
    """
    rows = [_row(ratings, first, second, options) for first, second in contrasts]
    if not rows:
        return pl.DataFrame()
    table = pl.DataFrame(rows, infer_schema_length=None)
    testable = table["testable"].to_numpy()
    for method in CORRECTIONS:
        table = table.with_columns(pl.Series(f"p_{method}", adjust(table["p"].to_numpy(), method, where=testable)))
    best = table["recommended_p"]
    p = corrected(best, options).alias("recommended_p_corrected")
    table = table.with_columns(p, (p <= options.alpha).alias("differs"))
    p = table["equivalent_p"]
    adjusted = corrected(p, options).alias("equivalent_p_corrected")
    return table.with_columns(adjusted, (adjusted <= options.alpha).alias("equivalent"))


def corrected(p: pl.Series, options: AnalysisOptions) -> pl.Series:
    """Return the p values of a family of contrasts, corrected as the options say; one that is null stays out of it."""
    tested = p.is_not_null()
    method: Correction = "benjamini_hochberg" if options.correction == "benjamini-hochberg" else options.correction
    return pl.Series(adjust(p.fill_null(1.0).to_numpy(), method, where=tested.to_numpy())).set(~tested, None)


ONE_ANNOTATOR = "a condition has one annotator: nothing can be said about other people"


def _row(ratings: CodedRatings, first: str, second: str, options: AnalysisOptions) -> dict[str, Any]:
    a, b = (_index(ratings, name) for name in (first, second))
    chosen = ratings.within(a) | ratings.within(b)
    safe, is_second = ratings.safe[chosen], ratings.within(b)[chosen]
    counts = [int(safe[~is_second].sum()), int((~is_second).sum()), int(safe[is_second].sum()), int(is_second.sum())]
    z = two_proportion_z(*counts, level=options.level)
    annotator = None if ratings.annotator is None else ratings.annotator.codes[chosen]
    clustered, parts = None, dict[str, Difference | None].fromkeys(("like", "these", "query", "item"))
    with suppress(StatisticsError):  # one query or one annotator: the pooled test stands alone
        clustered = clustered_contrast(
            safe, is_second, query=ratings.query.codes[chosen], annotator=annotator, level=options.level
        )
        parts |= {"like": clustered.queries_like_these, "these": clustered.these_queries}
        parts |= {"query": clustered.by_query, "item": clustered.by_item}
    one_annotator = (
        annotator is not None and min(len(np.unique(annotator[side])) for side in (is_second, ~is_second)) < 2
    )
    best = None if one_annotator else parts["like"] or parts["query"]
    names = ("difference", "z", "p", "log_p", "ci_low", "ci_high", "newcombe_low", "newcombe_high")
    return {
        "first": first,
        "second": second,
        **dict(zip(("x1", "n1", "x2", "n2"), counts, strict=True)),
        **{name: float(getattr(z, name)) for name in names},
        "testable": bool(z.testable),
        **{
            f"{prefix}_{name}": None if part is None else getattr(part, name)
            for prefix, part in parts.items()
            for name in OF_DIFFERENCE
        },
        "recommended_p": None if best is None else best.p,
        "equivalent_p": None if best is None else best.equivalence_p(options.margin),
        "why": ONE_ANNOTATOR if one_annotator else None,
        "two_way_not_positive": clustered is not None and clustered.not_positive,
        "annotators": None if clustered is None else clustered.annotators,
    }


def _index(ratings: CodedRatings, condition: str) -> int:
    if condition not in ratings.condition.names:
        names = ", ".join(ratings.condition.names)
        raise StudyError(
            f"a contrast names {condition!r}, which has no ratings that count; conditions with ratings: {names}"
        )
    return ratings.condition.names.index(condition)


FEWEST_IN_GROUP = 10
"""Number of people on either side below which no difference is reported."""

POWER = 0.8
"""Power at which a difference counts as detectable."""


def group_table(
    ratings: CodedRatings, traits: Mapping[str, Mapping[str, str]], options: AnalysisOptions
) -> pl.DataFrame | None:
    """Return a row for each trait and answer; None if no traits are known.

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
    """Return the row of one answer; `group`, `answered`: masks of the annotators who gave this answer, and any answer."""
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


@dataclass(frozen=True, repr=False)
class TaskTests(ShortRepr):
    """The tests of single queries."""

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
    """The number and kind of shuffles of the permutation p values of categories, in words."""
    left_out: int
    """Number of queries with ratings under fewer than two conditions."""


def task_tests(
    ratings: CodedRatings, *, alpha: float, paper_level: float, rng: np.random.Generator
) -> TaskTests | None:
    """Return the tests of single queries; None where no query has ratings under two conditions."""
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
    method = "exact"
    if result.shuffled:
        method = f"exact, but for {result.shuffled:,} tasks by {DRAWS:,} random shuffles each"
    return TaskTests(
        tasks=_tasks(ratings, testable_counts, testable, result),
        post_hoc=post_hoc,
        pairs=_pairs(post_hoc, alpha),
        categories=categories,
        shares=_shares(ratings),
        exact_method=method,
        category_draws=draws,
        left_out=len(counts.sizes) - len(testable),
    )


def _names(ratings: CodedRatings, testable: IntArray) -> dict[str, list[str]]:
    columns = {"query": [ratings.query.names[i] for i in testable]}
    if ratings.category is not None:
        columns["category"] = [ratings.category.names[c] for c in ratings.category.codes[testable]]
    return columns


def _tasks(ratings: CodedRatings, counts: Counts, testable: IntArray, result: KruskalWallis) -> pl.DataFrame:
    return pl.DataFrame(
        {
            **_names(ratings, testable),
            "ratings": counts.sizes.sum(1),
            "safe": counts.successes.sum(1),
            "h": result.h,
            "df": np.broadcast_to(result.df, len(testable)),
            "p": result.p,
            "p_exact": result.reported_p,
            "p_benjamini_hochberg": adjust(result.reported_p, "benjamini_hochberg", where=result.testable),
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
            **{f"dunn_p_{method}": ranks.adjusted(method).ravel() for method in CORRECTIONS},
            "proportions_p": shares.p.ravel(),
            "proportions_p_holm": shares.adjusted("holm").ravel(),
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
    table = tests.drop("draws").insert_column(0, pl.Series("category", [ratings.category.names[i] for i in present]))
    shuffled = "shuffles within tasks" if people is None else "shuffles of people over the conditions"
    return f"{tests['draws'][0]:,} {shuffled}", table.sort("mean_h", "category", descending=[True, False])


def _people(ratings: CodedRatings, testable: IntArray) -> TaskRatings | None:
    """Return the annotators of the kept tasks; None where votes are anonymous or an annotator rated under several conditions."""
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
    return TaskRatings(place[ratings.query.codes[in_testable]], person, ratings.safe[in_testable], assigned)


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


INTENT = {"safe": True, "unsafe": False}
"""The first words of the paper's conditions that state an author's intent: True for safe."""


def label_table(ratings: CodedRatings, policy: LabelPolicy) -> pl.DataFrame:
    """Return one row a condition: `items`, and how many of them are `safe`, `unsafe`, `tied` (half of each) or without a label.

    What an author meant is read from the names of the paper's conditions; an item of another one has no intent.
    """
    weight = labels(_items(ratings), policy).weight
    rows: list[dict[str, Any]] = []
    for index, name in enumerate(ratings.condition.names):
        condition_weight = weight[ratings.item_condition == index]
        rows.append(
            {
                "condition": name,
                "items": len(condition_weight),
                "safe": int((condition_weight == 1).sum()),
                "unsafe": int((condition_weight == 0).sum()),
                "tied": int((condition_weight == 0.5).sum()),
                "without": int(np.isnan(condition_weight).sum()),
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
