import itertools

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.support.data import reference

from casewise.errors import StatisticsError
from casewise.stats import adjust, dunn, kruskal_wallis, pairwise_proportions
from casewise.stats.arrays import Counts
from casewise.stats.kruskal import TaskRatings, category_tests, shuffled_within_tasks


@st.composite
def tables(draw, *, groups=3, largest=6):
    sizes = draw(st.lists(st.integers(1, largest), min_size=groups, max_size=groups))
    return [draw(st.integers(0, n)) for n in sizes], sizes


def by_brute_force(successes, sizes):
    """Every way to lay the safe ratings onto the places, by whole-number comparison of the statistic."""
    total, n = sum(successes), sum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    scale = int(np.lcm.reduce(sizes))

    def statistic(counts):
        return sum(int(c) ** 2 * (scale // size) for c, size in zip(counts, sizes, strict=True))

    drawn = [
        statistic(np.bincount(group[list(places)], minlength=len(sizes)))
        for places in itertools.combinations(range(n), total)
    ]
    return np.mean(np.array(drawn) >= statistic(successes))


@pytest.mark.parametrize("case", reference("kruskal.json"))
def test_agrees_with_r(case):
    result = kruskal_wallis(np.array(case["successes"]), np.array(case["sizes"]), exact=case["degenerate"])

    assert result.df == case["df"]
    assert result.testable == (not case["degenerate"])
    if case["degenerate"]:
        assert [result.h, result.p, result.p_exact] == pytest.approx([0, 1, 1], abs=0)
    if not case["degenerate"]:
        assert result.h == pytest.approx(case["H"], rel=1e-12)
        assert result.p == pytest.approx(case["p"], rel=1e-9)


@pytest.mark.parametrize("case", reference("kruskal_exact.json"))
def test_exact_p_agrees_with_whole_number_counts(case):
    sizes = case.get("sizes") or [case["n_per_group"]] * len(case["successes"])
    result = kruskal_wallis(case["successes"], sizes, exact=True)

    assert result.h == pytest.approx(case["H"], rel=1e-12)
    assert result.p == pytest.approx(case["p_chi2"], rel=1e-9)
    assert result.p_exact == pytest.approx(case["p_exact"], rel=1e-9)
    assert result.shuffled == 0


@given(tables(groups=4, largest=30))
def test_h_is_pearsons_chi_square_less_one_nth(table):
    successes, sizes = (np.array(x) for x in table)
    if 0 < successes.sum() < sizes.sum():
        chi_square = stats.chi2_contingency([successes, sizes - successes], correction=False)
        n = sizes.sum()
        result = kruskal_wallis(successes, sizes)

        assert result.h == pytest.approx((n - 1) / n * chi_square.statistic, rel=1e-9, abs=1e-9)
        assert result.cramers_v == pytest.approx(np.sqrt(chi_square.statistic / n), rel=1e-9, abs=1e-9)


@given(tables(groups=3, largest=5))
def test_exact_p_is_the_share_of_permutations_at_least_as_extreme(table):
    assert kruskal_wallis(*table, exact=True).p_exact == pytest.approx(by_brute_force(*table), rel=1e-9)


def test_shuffling_gives_the_exact_p_within_its_own_error(monkeypatch):
    counts = [[3, 9, 4], [1, 7, 5], [0, 0, 2]], [10, 12, 11]
    exact = kruskal_wallis(*counts, exact=True)
    monkeypatch.setattr("casewise.stats.kruskal.LARGEST_HALF", 0)
    monkeypatch.setattr("casewise.stats.kruskal.ALWAYS_LISTED", 0)

    estimated = kruskal_wallis(*counts, exact=True)
    assert (exact.shuffled, estimated.shuffled) == (0, 3)
    assert np.abs(estimated.reported_p - exact.reported_p).max() < 4 * np.sqrt(0.25 / 20_000)


def test_a_table_beyond_counting_is_shuffled_and_says_so():
    sizes = np.array([997, 991, 983, 977, 971, 967, 953])
    successes = np.random.default_rng(2).binomial(sizes, 0.5)

    first, second = (kruskal_wallis(successes, sizes, exact=True) for _ in range(2))
    assert first.shuffled == 1
    assert first.p_exact == pytest.approx(first.p, abs=0.02)
    assert first.p_exact == second.p_exact


def test_the_order_of_the_groups_does_not_matter():
    one = kruskal_wallis([3, 9, 4], [10, 12, 11], exact=True)
    other = kruskal_wallis([9, 4, 3], [12, 11, 10], exact=True)

    assert one.h == pytest.approx(other.h)
    assert one.p_exact == pytest.approx(other.p_exact)


def test_a_group_without_ratings_is_left_out_of_its_task():
    counts = [[3, 9, 0], [3, 9, 4]], [[10, 12, 0], [10, 12, 11]]
    result, alone = kruskal_wallis(*counts), kruskal_wallis([3, 9], [10, 12])

    assert np.asarray(result.df).tolist() == [1, 2]
    assert (result.h[0], result.p[0]) == pytest.approx((alone.h, alone.p))
    both, alone = kruskal_wallis(*counts, exact=True), kruskal_wallis([3, 9], [10, 12], exact=True)
    assert both.reported_p[0] == pytest.approx(alone.reported_p)


def test_fewer_than_two_groups_with_ratings_are_refused():
    with pytest.raises(StatisticsError, match="fewer than two groups"):
        kruskal_wallis([[1, 2], [0, 2]], [[3, 3], [0, 3]])


def test_tasks_may_lie_on_several_axes():
    successes = np.random.default_rng(4).integers(0, 6, (2, 3, 4))

    together, alone = (kruskal_wallis(rows, np.full(4, 5), exact=True) for rows in (successes, successes[1, 2]))
    assert together.h.shape == together.reported_p.shape == (2, 3)
    assert together.reported_p[1, 2] == pytest.approx(alone.reported_p)


def counts(rates, *, tasks=10, n=12, seed=1):
    sizes = np.full((tasks, len(rates)), n)
    return Counts(np.random.default_rng(seed).binomial(sizes, rates), sizes)


def gathered(found, category):
    result = kruskal_wallis(*found, exact=True)
    return category_tests(found, category, result=result, rng=np.random.default_rng(0), alpha=0.05, paper_level=0.0125)


def test_mean_h_is_that_of_the_tasks():
    found = counts([0.2, 0.5, 0.8])
    result = gathered(found, np.repeat([0, 1], 5))

    h = kruskal_wallis(*found).h
    assert result["mean_h"].to_list() == pytest.approx([h[:5].mean(), h[5:].mean()])
    assert result["queries"].to_list() == [5, 5]


def test_context_that_matters_has_a_small_p_and_one_that_does_not_a_large_one():
    strong, none = counts([0.1, 0.5, 0.9]), counts([0.5, 0.5, 0.5], seed=3)
    both = Counts(np.concatenate([strong.successes, none.successes]), np.concatenate([strong.sizes, none.sizes]))

    result = gathered(both, np.repeat([0, 1], 10))
    assert result["p"][0] == pytest.approx(1 / (1 + result["draws"][0]))
    assert result["p"][1] > 0.05
    assert result["significant_after_correction"][0] > 0.5


def test_tasks_where_all_agree_are_counted_as_untestable():
    sizes = np.full((3, 2), 5)
    result = gathered(Counts(np.array([[5, 5], [0, 0], [5, 0]]), sizes), np.zeros(3, dtype=int))

    assert (result["queries"][0], result["testable"][0]) == (3, 1)
    assert result["mean_h"][0] == pytest.approx(kruskal_wallis([5, 0], [5, 5]).h)


def test_ratings_shuffled_within_tasks_keep_each_tasks_votes():
    found = counts([0.2, 0.5, 0.8])
    dealt = shuffled_within_tasks(found, np.random.default_rng(0)).successes

    assert (dealt.sum(1) == found.successes.sum(1)).all()
    assert (dealt <= found.sizes).all()


@pytest.mark.parametrize(
    ("most", "draws"), [(30 * 250, 250), (1, 100), pytest.param(10**9, 1_000, marks=pytest.mark.slow)]
)
def test_the_p_of_a_category_is_the_share_of_shuffles_with_as_large_a_sum(monkeypatch, most, draws):
    """Three categories of ten tasks; on the last task, which is a category of its own, all agree."""
    monkeypatch.setattr("casewise.stats.kruskal.MOST_CELLS", most)
    found = counts([0.2, 0.5, 0.6])
    found.successes[9] = 0
    category = np.repeat([0, 1, 2], [4, 5, 1])
    result = kruskal_wallis(*found)
    table = category_tests(found, category, result=result, rng=np.random.default_rng(5), alpha=0.3, paper_level=0.2)

    rng, larger = np.random.default_rng(5), np.zeros(3)
    for _ in range(draws):
        shuffled = kruskal_wallis(*shuffled_within_tasks(found, rng)).h
        larger += np.bincount(category, shuffled) >= np.bincount(category, result.h) - 1e-9
    p = np.where([True, True, False], (1 + larger) / (1 + draws), 1)
    corrected = adjust(result.p, "benjamini_hochberg", where=result.testable) <= 0.3
    assert table["draws"].to_list() == [draws] * 3
    assert table["p"].to_list() == pytest.approx(p)
    assert table["p_at_floor"].to_list() == [*(larger[:2] == 0).tolist(), False]
    assert table["p_benjamini_hochberg"].to_list() == pytest.approx(adjust(p, "benjamini_hochberg"))
    assert table["testable"].to_list() == [4, 5, 0]
    assert table["mean_h"].to_list() == pytest.approx([result.h[:4].mean(), result.h[4:9].mean(), 0])
    for name, significant in (("after_correction", corrected), ("at_paper_level", result.p <= 0.2)):
        assert table[f"significant_{name}"].to_list() == pytest.approx(np.bincount(category, significant) / [4, 5, 1])


@pytest.mark.slow
def test_people_who_rate_one_category_make_no_false_discovery(monkeypatch):
    """Thirty people a condition, who differ by 1.5 logits and rate all ten tasks of one category: 100 such studies."""
    monkeypatch.setattr("casewise.stats.kruskal.DRAWS", 100)
    rng = np.random.default_rng(8)
    condition, one = np.repeat([0, 1], 30), np.zeros(10, dtype=int)
    person, task = np.repeat(np.arange(60), 10), np.tile(np.arange(10), 60)
    found = []
    for _ in range(100):
        safe = rng.random(600) < 1 / (1 + np.exp(-rng.normal(0, 1.5, 60)))[person]
        people = TaskRatings(task, person, safe, condition)
        cell = task * 2 + condition[person]
        table = Counts(np.bincount(cell[safe], minlength=20).reshape(10, 2), np.bincount(cell).reshape(10, 2))
        tested = [
            category_tests(
                table, one, result=kruskal_wallis(*table), rng=rng, alpha=0.05, paper_level=0.0125, people=who
            )
            for who in (people, None)
        ]
        found.append([test["p"][0] for test in tested])

    rejected = (np.array(found) <= 0.05).mean(0)
    assert rejected[0] < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)
    assert rejected[0] < rejected[1]


def test_people_who_are_shuffled_keep_all_their_ratings():
    people = TaskRatings(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([True, False, True, False]), np.array([0, 1])
    )

    dealt = people.shuffled((2, 2), np.random.default_rng(1))

    assert dealt.sizes.tolist() == [[1, 1], [1, 1]]
    assert (dealt.successes[0] == dealt.successes[1]).all()


@pytest.mark.parametrize("case", reference("kruskal.json"))
def test_dunn_agrees_with_r(case):
    result = dunn(case["successes"], case["sizes"])

    if case["degenerate"]:
        assert (result.p == 1).all()
        assert not result.testable.any()
        return
    assert (result.pairs + 1).tolist() == case["pairs"]
    assert result.z == pytest.approx(case["dunn_z_rstatix"], rel=1e-9)
    assert result.p == pytest.approx(case["dunn_p"], rel=1e-9)
    assert result.adjusted("bonferroni") == pytest.approx(case["dunn_p_bonferroni"], rel=1e-9)
    assert result.adjusted("holm") == pytest.approx(case["dunn_p_holm"], rel=1e-9)
    assert result.adjusted("benjamini_hochberg") == pytest.approx(case["dunn_p_BH"], rel=1e-9)


@pytest.mark.parametrize("case", reference("kruskal.json"))
def test_pairwise_proportions_agree_with_r(case):
    result = pairwise_proportions(case["successes"], case["sizes"])

    if case["degenerate"]:
        assert (result.p == 1).all()
        return
    assert result.testable.any()
    for ours, theirs in (
        (result.p, "prop_p"),
        (result.adjusted("bonferroni"), "prop_p_bonferroni"),
        (result.adjusted("holm"), "prop_p_holm"),
    ):
        known = np.array([value is not None for value in case[theirs]])
        assert (known == result.testable).all()
        assert ours[known] == pytest.approx([v for v in case[theirs] if v is not None], rel=1e-9)
        assert (ours[~known] == 1).all()


def test_dunn_agrees_with_scikit_posthocs_on_the_ratings_themselves():
    successes, sizes = [9, 2, 7, 4], [12, 11, 15, 10]
    groups = [np.repeat([1, 0], [s, n - s]) for s, n in zip(successes, sizes, strict=True)]
    expected = scikit_posthocs.posthoc_dunn(groups).to_numpy()

    result = dunn(successes, sizes)
    assert result.p == pytest.approx([expected[i, j] for i, j in result.pairs], rel=1e-9)


def test_many_tasks_at_once_are_each_corrected_on_their_own():
    successes = np.random.default_rng(1).integers(0, 22, (30, 5))

    together = dunn(successes, np.full(5, 21))
    alone = dunn(successes[7], np.full(5, 21))
    assert together.adjusted("holm")[7] == pytest.approx(alone.adjusted("holm"))
    assert together.adjusted("benjamini_yekutieli").shape == (30, 10)


def test_a_positive_z_means_that_the_second_group_is_safer():
    assert dunn([1, 9], [10, 10]).z[0] > 0
    assert pairwise_proportions([1, 9], [10, 10]).z[0] > 0


def test_a_group_without_ratings_is_not_testable():
    result = dunn([3, 0, 7], [10, 0, 10])

    assert result.testable.tolist() == [False, True, False]
    assert (result.p[~result.testable] == 1).all()
