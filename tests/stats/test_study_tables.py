from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from tests.support.crowds import crowd_plan, crowd_table
from tests.support.samples import some

from casewise.errors import StatisticsError, StudyError
from casewise.stats import (
    adjust,
    clustered_contrast,
    dunn,
    korn_graubard,
    kruskal,
    kruskal_wallis,
    pairwise_proportions,
    two_proportion_z,
    wilson,
)
from casewise.stats.arrays import Counts
from casewise.stats.contrasts import group_difference
from casewise.stats.intervals import clopper_pearson_interval
from casewise.stats.labels import LabelPolicy
from casewise.stats.ratings import code_ratings
from casewise.stats.study_tables import (
    CORRECTIONS,
    OF_DIFFERENCE,
    AnalysisOptions,
    condition_table,
    contrast_table,
    corrected,
    default_contrasts,
    group_table,
    label_table,
    share_limits,
    task_tests,
)


@pytest.mark.parametrize(("value", "people", "counted"), [(True, 10, 10), (False, 10, 10), (True, 80, 50)])
def test_ratings_that_are_all_alike_count_by_queries_or_by_people_where_these_are_fewer(value, people, counted):
    query, person = (part.ravel() for part in np.meshgrid(np.arange(50), np.arange(people), indexing="ij"))

    limits = share_limits(np.full(len(query), value), query, person, level=0.95)

    low, high = clopper_pearson_interval(float(value), counted)
    assert limits == pytest.approx({"ci_low": low, "ci_high": high})


@pytest.fixture
def ratings():
    """Items of two votes each: two safe, one unsafe, one tied; one of them without a context."""
    votes = {("a", "safe_revised"): "ss", ("b", "safe_revised"): "su", ("c", "no_context"): "ss"}
    votes |= {("d", "unsafe_revised"): "uu"}
    return code_ratings(
        pl.DataFrame(
            [
                {
                    "item_id": item,
                    "query_id": item,
                    "condition": condition,
                    "verdict": {"s": "safe", "u": "unsafe"}[vote],
                }
                for (item, condition), given in votes.items()
                for vote in given
            ]
        )
    )


@pytest.mark.parametrize(
    ("ties", "row"), [("half", (1, 0, 1, 0)), ("safe", (2, 0, 0, 0)), ("unsafe", (1, 1, 0, 0)), ("drop", (1, 0, 0, 1))]
)
def test_a_tie_is_worth_what_was_decided(ratings, ties, row):
    found = label_table(ratings, LabelPolicy("votes", ties)).filter(pl.col("condition") == "safe_revised")

    assert found.select("safe", "unsafe", "tied", "without").rows() == [row]


def test_an_item_without_a_context_has_no_intended_label(ratings):
    found = label_table(ratings, LabelPolicy("intended"))

    assert found.select("condition", "safe", "unsafe", "without").rows() == [
        ("no_context", 0, 0, 1),
        ("safe_revised", 2, 0, 0),
        ("unsafe_revised", 0, 1, 0),
    ]


@pytest.fixture(scope="module")
def frame():
    """Five conditions of twenty queries, twelve ratings each."""
    return crowd_table(crowd_plan())


@pytest.fixture(scope="module")
def crowd(frame):
    return code_ratings(frame)


@pytest.mark.parametrize("setting", [{"alpha": 0.0}, {"level": 1.0}, {"margin": 0.0}, {"reference_size": 0}])
def test_options_have_shares_and_a_reference_of_people(setting):
    with pytest.raises(StatisticsError, match=next(iter(setting))):
        AnalysisOptions(**setting)


def test_the_limits_of_a_share_hold_queries_and_annotators():
    rng = np.random.default_rng(1)
    query, annotator = (place.ravel() for place in np.indices((20, 6)))
    safe = rng.random(120) < np.array([0.2, 0.3, 0.5, 0.6, 0.8, 0.9])[annotator]
    influence = (safe - safe.mean()) / 120
    by_query = 20 / 19 * (np.bincount(query, influence) ** 2).sum()
    by_annotator = 6 / 5 * (np.bincount(annotator, influence) ** 2).sum() - (influence**2).sum()

    for people, variance, clusters in ((annotator, by_query + by_annotator, 6), (None, by_query, 20)):
        expected = korn_graubard(safe.mean(), variance, n=120, clusters=clusters, level=0.9)
        assert share_limits(safe, query, people, level=0.9) == pytest.approx(
            {"ci_low": float(expected.low), "ci_high": float(expected.high)}
        )
    alone = share_limits(safe, query, np.zeros(120, dtype=int), level=0.9)
    assert alone == share_limits(safe, query, None, level=0.9), "one annotator says nothing of other people"
    assert share_limits(safe, np.zeros(120, dtype=int), annotator, level=0.9) == {"ci_low": None, "ci_high": None}


def test_each_condition_has_its_counts_and_its_rate(crowd):
    table = condition_table(crowd, level=0.9)

    assert table["condition"].to_list() == list(crowd.condition.names)
    for index, row in enumerate(table.to_dicts()):
        chosen = crowd.condition.codes == index
        safe, people = crowd.safe[chosen], crowd.annotator.codes[chosen]
        assert (row["items"], row["queries"], row["ratings"]) == (20, 20, 240)
        assert (row["safe"], row["safe_rate"], row["annotators"]) == (safe.sum(), safe.mean(), len(set(people)))
        limits = share_limits(safe, crowd.query.codes[chosen], people, level=0.9)
        assert {name: row[name] for name in limits} == limits
    assert condition_table(replace(crowd, annotator=None), level=0.9)["annotators"].is_null().all()


def of_contrast(crowd, second):
    """The ratings of the first condition and of the one at this place."""
    chosen = np.isin(crowd.condition.codes, [0, second])
    columns = {"query": crowd.query.codes[chosen], "annotator": crowd.annotator.codes[chosen]}
    return crowd.safe[chosen], crowd.condition.codes[chosen] == second, columns


def test_the_first_condition_is_compared_with_each_other_one(crowd):
    pairs = default_contrasts(crowd.condition.names)

    assert pairs == tuple(("no_context", name) for name in crowd.condition.names[1:])
    assert contrast_table(crowd, pairs, AnalysisOptions()).select("first", "second").rows() == list(pairs)
    assert len(contrast_table(crowd, (), AnalysisOptions())) == 0


def test_a_contrast_has_the_pooled_test_and_those_with_clustered_errors(crowd):
    options = AnalysisOptions(margin=0.3, level=0.9)
    row = contrast_table(crowd, default_contrasts(crowd.condition.names), options).row(1, named=True)
    safe, second, columns = of_contrast(crowd, 2)
    counts = (safe[~second].sum(), (~second).sum(), safe[second].sum(), second.sum())
    pooled, clustered = two_proportion_z(*counts, level=0.9), clustered_contrast(safe, second, **columns, level=0.9)
    like = some(clustered.queries_like_these)

    assert tuple(row[name] for name in ("x1", "n1", "x2", "n2")) == counts
    for name in ("difference", "z", "p", "log_p", "ci_low", "ci_high", "newcombe_low", "newcombe_high"):
        assert row[name] == float(getattr(pooled, name))
    errors = {"like": like, "these": clustered.these_queries, "query": clustered.by_query, "item": clustered.by_item}
    for prefix, part in errors.items():
        assert [row[f"{prefix}_{name}"] for name in OF_DIFFERENCE] == [getattr(part, name) for name in OF_DIFFERENCE]
    assert (row["recommended_p"], row["equivalent_p"]) == (like.p, like.equivalence_p(0.3))
    assert (row["annotators"], row["why"]) == (clustered.annotators, None)
    assert row["two_way_not_positive"] is clustered.not_positive


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg", "none"])
def test_p_values_are_corrected_over_the_contrasts(crowd, correction):
    options = AnalysisOptions(correction=correction, margin=0.2, alpha=0.01)
    table = contrast_table(crowd, default_contrasts(crowd.condition.names), options)
    method = correction.replace("-", "_")

    for method_of_paper in CORRECTIONS:
        assert table[f"p_{method_of_paper}"].to_list() == adjust(table["p"].to_numpy(), method_of_paper).tolist()
    for p, holds in (("recommended_p", "differs"), ("equivalent_p", "equivalent")):
        expected = adjust(table[p].to_numpy(), method)
        assert table[f"{p}_corrected"].to_list() == expected.tolist()
        assert table[holds].to_list() == (expected <= 0.01).tolist()


def test_a_p_value_that_is_missing_stays_out_of_its_family():
    found = corrected(pl.Series([0.01, None, 0.04]), AnalysisOptions(correction="bonferroni"))

    assert found.to_list() == [0.02, None, 0.08]


def test_without_annotators_the_average_over_queries_is_recommended(crowd):
    row = contrast_table(replace(crowd, annotator=None), (("no_context", "safe_revised"),), AnalysisOptions()).row(
        0, named=True
    )

    assert row["recommended_p"] == row["query_p"]
    assert (row["like_p"], row["annotators"], row["why"]) == (None, None, None)


def test_a_condition_with_one_annotator_or_one_query_has_the_pooled_test_alone(frame):
    pair = (("no_context", "safe_revised"),)
    first = frame.unique(["condition", "item_id"], keep="first")
    alone = pl.when(condition="safe_revised").then(pl.lit("one")).otherwise(pl.col("annotator_id"))
    one = contrast_table(code_ratings(first.with_columns(annotator_id=alone)), pair, AnalysisOptions())
    query = contrast_table(code_ratings(frame.filter(query_id="query 0")), pair, AnalysisOptions())

    assert one["why"].to_list() == ["a condition has one annotator: nothing can be said about other people"]
    assert one.select("recommended_p", "equivalent_p", "differs").row(0) == (None, None, None)
    assert one["query_p"].is_not_null().all()
    assert query.select("like_p", "query_p", "item_p", "recommended_p", "annotators").row(0) == (None,) * 5
    assert query["p"].is_not_null().all()
    assert query["two_way_not_positive"].to_list() == [False]


def test_a_contrast_with_a_condition_without_ratings_is_an_error(crowd):
    with pytest.raises(StudyError, match="'jailbreak', which has no ratings that count; conditions with ratings: no_"):
        contrast_table(crowd, (("no_context", "jailbreak"),), AnalysisOptions())


def grouped(answers, *, apart=False):
    """Ratings of ten items by people of whom the first say safe more often, with their answers to one question."""
    people = [f"p{place:02}" for place in range(len(answers))]
    rng = np.random.default_rng(5)
    rows = [
        {
            "item_id": f"{item}{person if apart else ''}",
            "query_id": f"q{item}",
            "condition": "only",
            "annotator_id": person,
            "verdict": "safe" if rng.random() < 0.8 - 0.02 * place else "unsafe",
        }
        for place, person in enumerate(people)
        for item in range(10)
    ]
    traits = {person: {"gender": answer} for person, answer in zip(people, answers, strict=True) if answer}
    return code_ratings(pl.DataFrame(rows)), traits


GENDER = AnalysisOptions(groups=("gender",), alpha=0.1, correction="bonferroni", level=0.9)


def test_the_people_of_an_answer_are_compared_with_those_of_the_others():
    answers = np.array(["Man"] * 10 + ["Other"] * 11 + ["Woman"] * 12 + [""] * 2)
    ratings, traits = grouped(answers)
    table = some(group_table(ratings, traits, GENDER))
    columns = {"item": ratings.item.codes, "query": ratings.query.codes, "annotator": ratings.annotator.codes}
    own = answers[ratings.annotator.codes]

    assert table.select("trait", "answer", "people", "others", "ratings").rows() == [
        ("gender", "Man", 10, 23, 100),
        ("gender", "Other", 11, 22, 110),
        ("gender", "Woman", 12, 21, 120),
    ]
    for row in table.to_dicts():
        used, group = own != "", own == row["answer"]
        expected = group_difference(
            ratings.safe[used], group[used], **{name: codes[used] for name, codes in columns.items()}, level=0.9
        )
        assert row["safe_rate"] == ratings.safe[group].mean()
        assert row["difference"] == expected.estimate
        assert [row[name] for name in OF_DIFFERENCE[1:]] == [getattr(expected, name) for name in OF_DIFFERENCE[1:]]
        assert row["p_corrected"] == pytest.approx(min(1, 3 * expected.p))
        assert row["differs"] == (3 * expected.p <= 0.1)
        t = scipy.stats.t(expected.df)
        assert row["detectable"] == pytest.approx((t.ppf(1 - 0.1 / 3 / 2) + t.ppf(0.8)) * expected.error)
        assert row["why"] is None


def test_of_two_answers_there_is_one_comparison():
    ratings, traits = grouped(["Man"] * 10 + ["Woman"] * 10)
    table = some(group_table(ratings, traits, GENDER))

    assert table["difference"].is_null().to_list() == [False, True]
    assert table["why"].to_list() == [None, "the comparison of the row above, reversed"]
    assert table["detectable"].is_null().to_list() == [False, True]
    assert table["p_corrected"][0] == pytest.approx(table["p"][0])


@pytest.mark.parametrize(
    ("answers", "apart", "why"),
    [
        (["Man"] * 9 + ["Woman"] * 12, False, "fewer than 10 people in one group"),
        (["Man"] * 12 + ["Woman"] * 9, False, "fewer than 10 people in one group"),
        (["Man"] * 12 + ["Woman"] * 12, True, "no item has ratings of the group and of others"),
    ],
)
def test_groups_that_cannot_be_compared_say_why(answers, apart, why):
    ratings, traits = grouped(answers, apart=apart)
    table = some(group_table(ratings, traits, GENDER))

    assert table["why"][0] == why
    assert table.select("difference", "p", "p_corrected", "detectable").row(0) == (None,) * 4


def test_without_people_or_answers_there_are_no_groups(crowd):
    ratings, traits = grouped(["Man"] * 10 + ["Woman"] * 10)

    assert group_table(replace(ratings, annotator=None), traits, GENDER) is None
    assert group_table(ratings, {}, GENDER) is None
    assert group_table(ratings, {name: {} for name in traits}, GENDER) is None
    assert group_table(ratings, traits, AnalysisOptions()) is None


def all_tests(ratings, *, alpha=0.05, paper_level=0.001):
    return some(task_tests(ratings, alpha=alpha, paper_level=paper_level, rng=np.random.default_rng(0)))


def test_each_query_is_tested_over_its_conditions(crowd):
    tasks, counts = all_tests(crowd).tasks, crowd.by_task
    expected = kruskal_wallis(*counts, exact=True)

    assert tasks["query"].to_list() == list(crowd.query.names)
    assert tasks["category"].to_list() == [crowd.category.names[code] for code in crowd.category.codes]
    assert tasks["ratings"].to_list() == counts.sizes.sum(1).tolist()
    assert tasks["safe"].to_list() == counts.successes.sum(1).tolist()
    for name, column in (("h", "h"), ("p", "p"), ("p_exact", "p_exact"), ("cramers_v", "cramers_v")):
        assert tasks[name].to_list() == pytest.approx(getattr(expected, column).tolist())
    assert tasks["p_benjamini_hochberg"].to_list() == pytest.approx(
        adjust(expected.reported_p, "benjamini_hochberg", where=expected.testable).tolist()
    )
    assert tasks["df"].to_list() == [4] * 20


@pytest.mark.slow
def test_every_two_conditions_of_a_query_are_tested(crowd):
    found, names = all_tests(crowd), crowd.condition.names
    ranks, shares = dunn(*crowd.by_task), pairwise_proportions(*crowd.by_task)
    table = found.post_hoc

    assert table["query"].to_list() == [name for name in crowd.query.names for _ in range(10)]
    assert table.select("first", "second").rows()[:10] == [(names[i], names[j]) for i, j in ranks.pairs]
    assert table["dunn_z"].to_list() == pytest.approx(ranks.z.ravel().tolist())
    assert table["dunn_p"].to_list() == pytest.approx(ranks.p.ravel().tolist())
    for method in CORRECTIONS:
        assert table[f"dunn_p_{method}"].to_list() == pytest.approx(ranks.adjusted(method).ravel().tolist())
    assert table["proportions_p"].to_list() == pytest.approx(shares.p.ravel().tolist())
    assert table["proportions_p_holm"].to_list() == pytest.approx(shares.adjusted("holm").ravel().tolist())
    pair = found.pairs.row(3, named=True)
    assert (pair["first"], pair["second"], pair["tasks"]) == (names[0], names[4], 20)
    corrected = {f"dunn_{method}": ranks.adjusted(method)[:, 3] for method in CORRECTIONS}
    for name, p in (corrected | {"proportions_holm": shares.adjusted("holm")[:, 3]}).items():
        assert pair[name] == (p <= 0.05).sum()
        at_alpha = all_tests(crowd, alpha=p[0]).pairs.row(3, named=True)
        assert at_alpha[name] == (p <= p[0]).sum()


def test_queries_on_which_all_agree_have_no_tests_of_pairs(frame):
    agreed = frame.with_columns(
        verdict=pl.when(query_id="query 0").then(pl.lit("safe")).otherwise(pl.col("verdict").cast(pl.String))
    )
    found = all_tests(code_ratings(agreed))

    assert found.tasks["testable"].to_list() == [name != "query 0" for name in found.tasks["query"]]
    assert "query 0" not in found.post_hoc["query"].to_list()
    assert found.pairs["tasks"].to_list() == [19] * 10


def test_categories_come_by_falling_mean_h_with_their_shares_of_queries(crowd):
    found = all_tests(crowd, alpha=0.2, paper_level=0.01)
    table, tasks = some(found.categories), found.tasks
    expected = (
        tasks.group_by("category")
        .agg(
            pl.len(),
            pl.col("h").mean(),
            (pl.col("p_benjamini_hochberg") <= 0.2).mean().alias("corrected"),
            (pl.col("p_exact") <= 0.01).mean().alias("paper"),
        )
        .sort("h", descending=True)
    )

    columns = ("category", "queries", "mean_h", "significant_after_correction", "significant_at_paper_level")
    for row, other in zip(table.select(columns).rows(), expected.rows(), strict=True):
        assert row == pytest.approx(other)
    assert found.category_draws == "1,000 shuffles of people over the conditions"


@pytest.mark.slow
def test_people_are_shuffled_only_where_each_has_one_condition(frame):
    anonymous = all_tests(code_ratings(frame.drop("annotator_id")))
    crossed = all_tests(
        code_ratings(frame.with_columns(annotator_id=pl.int_range(pl.len()).over("item_id")), crossed=True)
    )

    assert anonymous.category_draws == crossed.category_draws == "1,000 shuffles within tasks"


def test_without_categories_there_is_no_table_of_them(frame):
    found = all_tests(code_ratings(frame.drop("category")))

    assert (found.categories, found.category_draws) == (None, None)
    assert "category" not in found.tasks.columns


def test_each_query_and_condition_has_its_share(frame):
    ratings = code_ratings(frame.filter((pl.col("query_id") != "query 1") | (pl.col("condition") == "no_context")))
    found = all_tests(ratings)
    row = found.shares.filter(query="query 2", condition="safe_revised").row(0, named=True)
    counts = Counts(*(column[list(ratings.query.names).index("query 2"), 3] for column in ratings.by_task))
    limits = wilson(*counts)

    assert (len(found.shares), len(found.tasks), found.left_out) == (96, 19, 1)
    assert (row["safe"], row["ratings"], row["share"]) == (*counts, counts.successes / counts.sizes)
    assert (row["ci_low"], row["ci_high"]) == (limits.low, limits.high)


def test_queries_of_one_condition_have_no_tests(frame):
    ratings = code_ratings(frame.filter(condition="no_context"))

    assert task_tests(ratings, alpha=0.05, paper_level=0.001, rng=np.random.default_rng(0)) is None


def test_p_values_that_are_shuffled_are_counted(crowd, monkeypatch):
    assert all_tests(crowd).exact_method == "exact"
    monkeypatch.setattr(kruskal, "LARGEST_HALF", 1)
    assert all_tests(crowd).exact_method == "exact, but for 20 tasks by 20,000 random shuffles each"
