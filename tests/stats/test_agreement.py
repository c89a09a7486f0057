import krippendorff
import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats import inter_rater
from tests.support.data import reference
from tests.support.samples import some

from casewise.errors import StatisticsError
from casewise.stats import agreement_of_votes
from casewise.stats.agreement import (
    RatedItems,
    krippendorff_alpha,
    krippendorff_alpha_of_ratings,
    lopsided,
    reliability,
)
from casewise.stats.arrays import Raters
from casewise.stats.intervals import t_interval_from_influences


def votes_as_ratings(safe, votes):
    table = np.full((len(safe), max(votes)), np.nan)
    for row, s, m in zip(table, safe, votes, strict=True):
        row[:m] = np.repeat([1, 0], [s, m - s])
    return table


def gwet_ac1(ratings):
    """AC1 of (items, raters) ratings with gaps, as Gwet (2008) has it: what `agreement_of_votes` is held against."""
    counts = np.stack([(ratings == value).sum(1) for value in np.unique(ratings[~np.isnan(ratings)])], axis=1)
    rated, q = counts.sum(1), counts.shape[1]
    some = rated[rated >= 2]
    agreeing = (counts[rated >= 2] * (counts[rated >= 2] - 1)).sum(1) / (some * (some - 1))
    share = (counts[rated > 0] / rated[rated > 0, None]).mean(0)
    chance = float((share * (1 - share)).sum()) / (q - 1)
    return float((agreeing.mean() - chance) / (1 - chance))


@pytest.mark.parametrize("case", reference("agreement.json")[:4:2] + reference("agreement.json")[3:4])
def test_agrees_with_r(case):
    ratings = np.array(case["ratings"], dtype=float)
    whole = ratings[~np.isnan(ratings).any(1)]  # Fleiss' kappa leaves the others out

    alpha = agreement_of_votes(np.nansum(ratings, 1), (~np.isnan(ratings)).sum(1)).alpha
    kappa = agreement_of_votes(whole.sum(1), np.full(len(whole), whole.shape[1])).kappa
    assert len(whole) == case["fleiss_subjects_used"]
    assert alpha == pytest.approx(case["krippendorff_alpha_nominal"], rel=1e-9)
    assert kappa == pytest.approx(case["fleiss_kappa"], rel=1e-9)


def test_constant_ratings_have_no_alpha_and_no_kappa():
    result = agreement_of_votes([3, 3, 3], [3, 3, 3])

    assert (result.alpha, result.kappa, result.raw) == (None, None, 1)


@pytest.mark.parametrize("even", [True, False])
def test_counts_give_the_alpha_and_kappa_of_the_libraries(even):
    rng = np.random.default_rng(2)
    votes = np.full(40, 7) if even else rng.integers(2, 9, 40)
    safe = rng.binomial(votes, rng.random(40))
    result = agreement_of_votes(safe, votes)

    table = votes_as_ratings(safe, votes)
    assert result.alpha == pytest.approx(krippendorff.alpha(table.T, level_of_measurement="nominal"), rel=1e-9)
    if even:
        assert result.kappa == pytest.approx(inter_rater.fleiss_kappa(np.stack([safe, votes - safe], 1)), rel=1e-9)


def test_items_with_one_vote_are_left_out():
    assert agreement_of_votes([1, 1, 2], [1, 2, 2]).items == 2


def test_the_interval_holds_the_estimate_and_widens_with_clusters():
    rng = np.random.default_rng(4)
    votes = np.full(200, 10)
    rate = np.repeat(rng.random(20), 10)
    safe = rng.binomial(votes, rate)

    alone = agreement_of_votes(safe, votes)
    clustered = agreement_of_votes(safe, votes, clusters=np.repeat(np.arange(20), 10))
    assert alone.raw_interval
    assert alone.raw_interval[0] < alone.raw < alone.raw_interval[1]
    assert alone.alpha_interval
    assert clustered.alpha_interval
    assert np.diff(clustered.alpha_interval) > np.diff(alone.alpha_interval)


def test_the_error_of_raw_agreement_is_that_of_a_clustered_mean():
    rng = np.random.default_rng(8)
    votes = np.full(600, 12)
    safe = rng.binomial(votes, np.repeat(rng.random(300), 2))
    clusters = np.repeat(np.arange(300), 2)

    result = agreement_of_votes(safe, votes, clusters=clusters)
    by_item = 1 - 2 * safe * (12 - safe) / (12 * 11)
    groups = {"groups": clusters, "use_correction": False}
    analytic = sm.OLS(by_item, np.ones(600)).fit(cov_type="cluster", cov_kwds=groups).bse[0]
    assert result.raw_interval
    assert np.diff(result.raw_interval)[0] / (2 * 1.96) == pytest.approx(analytic, rel=0.03)


def test_gwets_ac1_of_the_published_example_is_the_published_one():
    # Krippendorff's twelve units and four observers; R irrCAC::gwet.ac1.raw(cac.raw4raters) gives 0.77544.
    nan = np.nan
    table = [
        [1, 1, nan, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [nan, 5, 5, 5],
        [nan, nan, 1, 1],
        [nan, nan, 3, nan],
    ]
    assert gwet_ac1(np.array(table, dtype=float)) == pytest.approx(0.77544, abs=5e-6)


def test_ac1_of_votes_is_that_of_the_table_and_stays_near_raw_agreement_where_answers_are_lopsided():
    rng = np.random.default_rng(8)
    ballots = rng.random((300, 6)) < 0.95
    found = agreement_of_votes(ballots.sum(1), np.full(300, 6))

    assert found.ac1 == pytest.approx(gwet_ac1(ballots.astype(float)))
    assert abs(found.alpha or 0) < 0.1
    assert found.ac1 > 0.85
    assert found.ac1_interval
    assert found.ac1_interval[0] < found.ac1 < found.ac1_interval[1]


@pytest.fixture
def counts():
    rng = np.random.default_rng(3)
    centre = rng.integers(0, 5, size=40)
    table = np.zeros((40, 5))
    for item, middle in enumerate(centre):
        for value in np.clip(middle + rng.integers(-1, 2, size=rng.integers(1, 7)), 0, 4):
            table[item, value] += 1
    return table


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_the_reference_library(counts, level):
    found = krippendorff_alpha(counts, level=level)
    reference = krippendorff.alpha(value_counts=counts, level_of_measurement=level, value_domain=np.arange(5.0))

    assert found.alpha == pytest.approx(reference)
    assert found.interval is not None
    assert found.alpha is not None
    assert found.interval[0] < found.alpha < found.interval[1]
    assert found.items == int((counts.sum(1) >= 2).sum())


def test_alpha_of_a_table_that_can_be_worked_out_by_hand():
    # Two items of two answers each, 1 1 and 1 2: one pair in two disagrees; of 4 answers 3 are 1: 1 - 3 * 2 / 6 = 0.
    found = krippendorff_alpha([[2, 0], [1, 1]], level="nominal")
    assert found.alpha == pytest.approx(0.0)


def test_answers_all_alike_have_no_alpha():
    assert krippendorff_alpha([[3, 0], [2, 0]], level="ordinal").alpha is None


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (lambda: agreement_of_votes([1], [1]), "no item has 2 votes"),
        (lambda: agreement_of_votes([1], [2]), "two clusters"),
        (lambda: krippendorff_alpha([[1, 0], [0, 1]], level="nominal"), "no item has two ratings"),
        (lambda: krippendorff_alpha([[2, 1], [0, 1]], level="nominal"), "two clusters"),
    ],
)
def test_single_answers_or_one_cluster_are_refused(question, why):
    with pytest.raises(StatisticsError, match=why):
        question()


def test_alpha_of_a_scale_is_the_librarys_and_wider_with_people():
    rng = np.random.default_rng(1)
    truth, own = rng.uniform(0.2, 0.8, 40), rng.normal(0, 0.2, 9)
    values = np.clip(truth[:, None] + own + rng.normal(0, 0.1, (40, 9)), 0, 1)
    values[rng.random(values.shape) < 0.2] = np.nan
    item, annotator = np.nonzero(~np.isnan(values))
    given = values[item, annotator]

    alone = krippendorff_alpha_of_ratings(item, given, clusters=np.arange(40))
    people = krippendorff_alpha_of_ratings(item, given, clusters=np.arange(40), annotator=annotator)

    reference = krippendorff.alpha(values.T, level_of_measurement="interval")
    assert alone.alpha == people.alpha == pytest.approx(reference, rel=1e-9)
    assert np.ptp(people.interval or ()) > np.ptp(alone.interval or ())
    for nobodys_twice in ([], [0, 1]):
        with pytest.raises(StatisticsError, match="two ratings"):
            krippendorff_alpha_of_ratings(nobodys_twice, [0.5, 0.2][: len(nobodys_twice)], clusters=[0, 1])


def test_alpha_with_unsure_as_an_answer_is_the_librarys_and_with_two_answers_that_of_votes():
    rng = np.random.default_rng(2)
    answers = rng.integers(0, 3, (50, 7))
    answers[:25] = rng.choice([0, 0, 0, 1, 2], (25, 7))
    item, annotator = (code.ravel() for code in np.indices(answers.shape))
    counts = np.stack([(answers == value).sum(1) for value in range(3)], 1)
    found = krippendorff_alpha(counts, level="nominal", raters=Raters(item, annotator, answers.ravel()))
    assert found.alpha == pytest.approx(krippendorff.alpha(answers.T, level_of_measurement="nominal"))

    sure = answers.ravel() < 2
    given = Raters(item[sure], annotator[sure], answers.ravel()[sure])
    two = krippendorff_alpha(counts[:, :2], level="nominal", raters=given)
    raters = Raters(given.item, given.annotator, given.safe == 0)
    votes = agreement_of_votes(counts[:, 0], counts[:, :2].sum(1), raters=raters)
    assert two.alpha == pytest.approx(votes.alpha)
    assert two.interval == pytest.approx(votes.alpha_interval, rel=1e-6)


def without_each(formula, *columns):
    """What each item adds to a number by the jackknife."""
    left_out = np.array(
        [formula(*(np.delete(column, place) for column in columns)) for place in range(len(columns[0]))]
    )
    return (len(left_out) - 1) / len(left_out) * (left_out.mean() - left_out)


def test_intervals_of_agreement_come_from_leaving_each_item_out():
    rng = np.random.default_rng(6)
    votes = rng.integers(3, 9, 70)
    safe = rng.binomial(votes, rng.beta(1, 1, 70))
    found = agreement_of_votes(safe, votes)

    def raw(s, m):
        return 1 - 2 * (s * (m - s)).sum() / (m * (m - 1)).sum()

    def kappa(s, m):
        p = s.sum() / m.sum()
        return (raw(s, m) - p**2 - (1 - p) ** 2) / (1 - p**2 - (1 - p) ** 2)

    def ac1(s, m):
        p = (s / m).mean()
        return ((1 - 2 * s * (m - s) / (m * (m - 1))).mean() - 2 * p * (1 - p)) / (1 - 2 * p * (1 - p))

    def alpha(s, m):
        return 1 - (m.sum() - 1) * (2 * s * (m - s) / (m - 1)).sum() / (2 * s.sum() * (m.sum() - s.sum()))

    assert (found.items, found.clusters) == (70, 70)
    for name, formula, domain in (
        ("raw", raw, (0, 1)),
        ("kappa", kappa, (-1, 1)),
        ("ac1", ac1, (-1, 1)),
        ("alpha", alpha, (-1, 1)),
    ):
        value, influence = formula(safe, votes), without_each(formula, safe, votes)
        assert getattr(found, name) == pytest.approx(value)
        assert getattr(found, f"{name}_interval") == pytest.approx(
            t_interval_from_influences(value, influence, domain=domain, at_risk=70)
        )


def test_reliability_is_that_of_halves_and_of_what_votes_explain():
    rng = np.random.default_rng(8)
    votes = rng.integers(2, 9, 40)
    safe = rng.binomial(votes, rng.beta(1, 1, 40))
    found = reliability(safe, votes, rng=np.random.default_rng(3), splits=30)

    draws, halves = np.random.default_rng(3), []
    for _ in range(30):
        first = draws.hypergeometric(safe, votes - safe, votes // 2)
        halves.append(np.corrcoef(first / (votes // 2), (safe - first) / (votes - votes // 2))[0, 1])

    def analytic(s, m):
        p = s / m
        return 1 - (p * (1 - p) / (m - 1)).mean() / p.var(ddof=1)

    half = np.mean(halves)
    assert (found.half, found.split_half) == pytest.approx((half, 2 * half / (1 + half)))
    assert (found.items, found.splits) == (40, 30)
    value = analytic(safe, votes)
    assert found.analytic == pytest.approx(value)
    expected = t_interval_from_influences(value, without_each(analytic, safe, votes), domain=(-1, 1), at_risk=40)
    assert found.analytic_interval == pytest.approx(expected)


def test_reliability_is_not_below_nought_and_has_no_halves_that_never_vary():
    rng = np.random.default_rng(1)
    chance = reliability(np.resize([3, 5, 7, 5], 40), np.full(40, 10), rng=rng, splits=2)
    assert (chance.analytic, some(chance.analytic_interval)[0]) == (0, 0)
    flat = reliability([2, 2, 1], [2, 2, 2], rng=rng, splits=20)
    assert (flat.half, flat.split_half) == (None, None)


@pytest.mark.parametrize(("safe", "votes"), [([1, 2], [2, 2]), ([1, 1, 1], [2, 2, 2]), ([1, 2, 1], [2, 2, 1])])
def test_reliability_needs_three_items_with_two_votes_that_differ(safe, votes):
    with pytest.raises(StatisticsError, match="three items with two votes each, and rates that differ"):
        reliability(safe, votes, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("items", "safe", "is_lopsided"), [(59, 1, True), (60, 1, False), (59, 2, False), (59, 9, True), (59, 8, False)]
)
def test_votes_are_lopsided_below_a_fifth_on_fewer_than_sixty_clusters(items, safe, is_lopsided):
    rated = RatedItems.from_votes(np.full(items, safe), np.full(items, 10), None)

    assert lopsided(rated) is is_lopsided


def test_lopsided_votes_have_no_interval_of_correlations():
    safe = np.resize([9, 10, 10, 8], 40)
    found = agreement_of_votes(safe, np.full(40, 10))

    assert (found.alpha_interval, found.kappa_interval) == (None, None)
    assert found.raw_interval is not None
    assert found.ac1_interval is not None
    assert reliability(safe, np.full(40, 10), rng=np.random.default_rng(0), splits=2).analytic_interval is None


def test_alpha_of_values_in_order_and_of_ratings_on_a_scale_are_the_same():
    """Answers 0, 1, 2 as counts and as ratings, by the same people."""
    rng = np.random.default_rng(7)
    item, annotator = (code.ravel() for code in np.indices((30, 6)))
    answer = np.clip(rng.integers(0, 3, 30)[item] + rng.integers(-1, 2, 6)[annotator], 0, 2)
    kept = rng.random(180) < 0.8
    item, annotator, answer = item[kept], annotator[kept], answer[kept]
    counts = np.stack([np.bincount(item[answer == value], minlength=30) for value in range(3)], 1)
    by_counts = krippendorff_alpha(counts, level="interval", raters=Raters(item, annotator, answer))
    by_ratings = krippendorff_alpha_of_ratings(item, answer, clusters=np.arange(30), annotator=annotator)

    assert by_counts.alpha == pytest.approx(by_ratings.alpha)
    assert by_counts.interval == pytest.approx(by_ratings.interval, rel=1e-5)
    assert (by_counts.level, by_counts.items) == (by_ratings.level, by_ratings.items)
    alone = krippendorff_alpha(counts, level="interval")
    assert np.ptp(some(by_counts.interval)) > np.ptp(some(alone.interval))
