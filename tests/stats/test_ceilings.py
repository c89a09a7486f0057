import csv
import re

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, stdtrit
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from casewise.errors import StatisticsError
from casewise.stats.agreement import reliability
from casewise.stats.arrays import PerVote, Raters, widen_influence
from casewise.stats.ceilings import (
    UNIFORM,
    BetaPrior,
    alternative_annotator_test,
    ceilings,
    fit_beta,
    leave_one_out,
    new_person_test,
    same_label,
)
from casewise.stats.intervals import degrees_of_freedom, hall_corrected_quantile, hall_corrected_statistic


@pytest.fixture
def release(shared):
    with (shared / "data" / "human_ratings.csv").open() as file:
        rows = list(csv.DictReader(file))
    return np.array([row["votes20"].count("1") for row in rows]), [row["intended_safe"] for row in rows]


def crowd(items=300, votes=20, seed=1):
    rng = np.random.default_rng(seed)
    true = rng.beta(2, 2, items)
    return true, rng.binomial(votes, true), np.full(items, votes)


def test_the_release_has_the_ceilings_that_were_measured_on_it(release):
    result = ceilings(release[0], np.full(900, 20))

    assert result.pearson == pytest.approx(0.908, abs=5e-4)
    assert result.cross_entropy_plug_in == pytest.approx(0.558, abs=5e-4)
    assert result.cross_entropy_floor == pytest.approx(0.582, abs=5e-4)
    assert result.brier_floor == pytest.approx(0.00997, abs=5e-6)


def test_most_of_the_ceiling_on_the_release_is_the_contrast_between_conditions(release):
    safe, intended = release
    meant, rate = np.array(intended) == "1", safe / 20
    between = sum(rows.mean() * (rate[rows].mean() - rate.mean()) ** 2 for rows in (meant, ~meant)) / rate.var()

    result = ceilings(safe, np.full(900, 20), condition=intended)

    assert result.between_conditions == pytest.approx(between)
    assert result.between_conditions == pytest.approx(0.654, abs=5e-4)
    assert result.contrast == "65 % of the rates' variance lies between conditions"


def test_split_halves_stepped_up_agree_with_the_analytic_form(release):
    result = reliability(release[0], np.full(900, 20), rng=np.random.default_rng(1))

    assert result.analytic == pytest.approx(0.8248, abs=5e-5)
    assert result.split_half == pytest.approx(result.analytic, abs=0.003)
    assert result.analytic_interval
    assert result.analytic_interval[0] < result.analytic < result.analytic_interval[1]


def test_two_items_by_hand():
    result = ceilings([1, 3], [4, 4])

    assert result.brier_floor == pytest.approx(0.25 * 0.75 / 3)
    assert result.pearson == pytest.approx(np.sqrt(1 - (0.1875 / 3) / 0.125))
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    assert result.cross_entropy_plug_in == pytest.approx(entropy)
    assert result.cross_entropy_floor == pytest.approx(entropy + 1 / 8)


def test_the_interval_of_the_pearson_ceiling_is_the_root_of_that_of_the_reliability():
    _, safe, votes = crowd()
    clusters = np.repeat(np.arange(100), 3)
    low, high = reliability(
        safe, votes, rng=np.random.default_rng(0), clusters=clusters, splits=2
    ).analytic_interval or (0, 0)

    assert ceilings(safe, votes, clusters=clusters).pearson_interval == pytest.approx((low**0.5, high**0.5))
    assert ceilings(safe[:2], votes[:2]).pearson_interval is None


def test_the_pearson_ceiling_is_what_the_true_rates_reach():
    true, safe, votes = crowd(items=20_000)

    assert ceilings(safe, votes).pearson == pytest.approx(np.corrcoef(true, safe / votes)[0, 1], abs=0.01)


def test_the_bce_floor_is_nearer_to_the_true_entropy_than_the_plug_in():
    true, safe, votes = crowd(items=5000)
    entropy = -np.mean(true * np.log(true) + (1 - true) * np.log(1 - true))

    result = ceilings(safe, votes)
    assert abs(result.cross_entropy_floor - entropy) < abs(result.cross_entropy_plug_in - entropy)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (lambda: ceilings([1, 1], [1, 1]), "no item has 2 votes"),
        (lambda: ceilings([2, 2], [4, 4]), "rates differ"),
        (lambda: reliability([1, 1, 1], [2, 2, 2], rng=np.random.default_rng(0)), "rates that differ"),
        (lambda: fit_beta([1, 0], [1, 1]), "two votes"),
        (lambda: new_person_test([1, 0], [1, 2], [2, 2], clusters=[0, 0]), "two queries"),
        (lambda: new_person_test([1, 0], [1, 2], [2, 2], margin=0), "margin"),
    ],
)
def test_what_has_no_answer_is_an_error(question, why):
    with pytest.raises(StatisticsError, match=why):
        question()


def test_by_hand_one_safe_vote_of_one():
    # With a uniform prior the next person says safe with probability 2/3 (Laplace's rule of succession).
    assert same_label([1], [1], prior=UNIFORM) == pytest.approx([2 / 3])


def test_a_tie_is_right_half_the_time():
    assert same_label([5], [10], prior=BetaPrior(3, 3)) == pytest.approx([0.5])


def test_without_votes_nothing_is_known():
    assert np.isnan(same_label([0], [0], prior=UNIFORM)).all()


def test_predictions_are_beta_binomial():
    again = np.asarray(stats.betabinom(20, 1.3 + 7, 2.1 + 13).pmf(np.arange(21)))

    expected = again[:10].sum() + again[10] / 2  # the label of 7 of 20 is unsafe
    assert same_label([7], [20], prior=BetaPrior(1.3, 2.1)) == pytest.approx([expected], rel=1e-10)


def test_a_million_votes_on_an_item_are_no_trouble():
    same = same_label([400_000, 500_100, 700_000, 12], [10**6, 10**6, 10**6, 20], prior=UNIFORM)

    assert same[[0, 2]] == pytest.approx([1, 1], abs=1e-6)
    # 100 over half with a standard deviation of 500 in this study and in the next: the difference has 707.
    assert same[1] == pytest.approx(0.5562, abs=1e-3)


def test_the_fitted_spread_is_the_simulated_one():
    draws = np.random.default_rng(1)
    safe = draws.binomial(20, draws.beta(6.7, 20.7, size=20_000))

    prior = fit_beta(safe, np.full(20_000, 20))

    assert (prior.a, prior.b) == pytest.approx((6.7, 20.7), rel=0.06)


def test_repeating_a_study_gives_as_many_labels_again_as_predicted():
    draws = np.random.default_rng(2)
    rate = draws.beta(4, 4, size=50_000)
    first, second = draws.binomial(20, rate), draws.binomial(20, rate)
    label = [(np.sign(count - 10) + 1) / 2 for count in (first, second)]

    predicted = same_label(first, np.full(50_000, 20), prior=fit_beta(first, np.full(50_000, 20))).mean()

    again = (label[0] * label[1] + (1 - label[0]) * (1 - label[1])).mean()
    assert predicted == pytest.approx(again, abs=0.01)


def new_person_crowd(rng, queries=225, votes=20):
    rate = expit(rng.normal(0, 0.7, queries).repeat(2) + rng.normal(0, 1, 2 * queries))
    return rate, rng.binomial(votes, rate), np.full(2 * queries, votes), np.arange(2 * queries) // 2


def test_leaving_each_person_out_by_hand():
    # Votes s, s, u: the others of a safe voter are s, u (a tie), those of the unsafe voter s, s.
    both = leave_one_out([1, 0, np.nan], [2, 2, 2], [3, 3, 3])

    assert both[:, 1] == pytest.approx([1 / 3, 1 / 3, 1 / 3])  # ½ + ½ + 0, over three
    assert both[:, 0] == pytest.approx([2 / 3, 1 / 3, 0])


def test_leaving_out_is_what_drawing_a_person_at_random_gives():
    rng = np.random.default_rng(0)
    ballots = rng.random((40, 7)) < rng.random((40, 1))
    judge = (rng.random(40) < 0.5).astype(float)
    people, own = [], []
    for place in range(7):
        rest = np.delete(ballots, place, axis=1).mean(1)
        weight = (np.sign(2 * rest - 1) + 1) / 2
        people.append(np.where(ballots[:, place], weight, 1 - weight))
        own.append(np.where(judge == 1, weight, 1 - weight))

    expected = np.column_stack([np.mean(own, axis=0), np.mean(people, axis=0)])
    assert leave_one_out(judge, ballots.sum(1), np.full(40, 7)) == pytest.approx(expected)


def test_a_judge_at_the_margin_is_called_no_worse_as_often_as_the_level_says():
    rng = np.random.default_rng(1)
    rate, *_ = new_person_crowd(rng, 200_000)
    weight = (np.sign(2 * rng.binomial(19, rate) - 19) + 1) / 2
    person = np.mean(rate * weight + (1 - rate) * (1 - weight))
    # A judge that is a person, but for some items on which it says the other thing.
    margin = 0.05
    flips = margin / (2 * person - 1)
    shown, powers = 0, []
    for _ in range(400):
        rate, safe, votes, query = new_person_crowd(rng)
        judge = (rng.random(len(rate)) < rate) ^ (rng.random(len(rate)) < flips)
        shown += new_person_test(judge, safe, votes, clusters=query, margin=margin).not_worse
        equal = new_person_test(rng.random(len(rate)) < rate, safe, votes, clusters=query, margin=margin)
        powers.append((equal.power, equal.not_worse))

    assert shown / 400 <= 0.08
    said, came = np.mean(powers, axis=0)
    assert said == pytest.approx(came, abs=0.08)


@pytest.mark.parametrize(("queries", "shown"), [(2, False), (5, False), (20, False), (58, False), (59, True)])
def test_a_judge_that_is_never_wrong_is_no_worse_than_a_person_only_where_errors_would_have_been_seen(queries, shown):
    found = new_person_test(np.ones(queries), np.full(queries, 2), np.full(queries, 2), margin=0.05)

    unseen = 1 - 0.05 ** (1 / queries)
    assert (found.judge, found.person, found.difference) == (1, 1, 0)
    assert found.low == pytest.approx(-unseen)
    assert (found.ci_low, found.ci_high) == pytest.approx((-(1 - 0.025 ** (1 / queries)), 1 - 0.025 ** (1 / queries)))
    assert found.p == pytest.approx(0.95**queries)
    assert found.not_worse == shown
    assert found.power < 1
    assert found.detectable > unseen


def test_dissent_that_is_rare_does_not_hide_that_a_judge_s_errors_were_not_seen():
    safe = np.full(20, 21)
    safe[3] = 20  # one dissenter of 420
    found = new_person_test(np.ones(20), safe, np.full(20, 21), margin=0.05)

    assert 0 < found.difference < 0.01
    assert found.low == pytest.approx(found.difference - (1 - 0.05 ** (1 / 20)) * (1 + found.difference))
    assert not found.not_worse


def test_a_judge_that_is_wrong_wherever_people_agree_may_be_ahead_elsewhere():
    found = new_person_test(np.zeros(5), np.full(5, 3), np.full(5, 3), margin=0.05)

    assert found.difference == -1
    assert (found.ci_low, found.ci_high) == pytest.approx((-1, -1 + 2 * (1 - 0.025 ** (1 / 5))))
    assert found.p == 1


@pytest.mark.parametrize("votes", [2, 4])
def test_a_judge_is_not_compared_with_people_who_are_tied_on_every_item(votes):
    with pytest.raises(StatisticsError, match="tied on every item"):
        new_person_test(np.ones(9), np.full(9, votes // 2), np.full(9, votes))


@pytest.mark.slow
@pytest.mark.parametrize("people", [(2, 0.0), (21, 0.02), (3, 0.1), (5, 0.2)])
@pytest.mark.parametrize("queries", [2, 5, 10, 20, 40, 60])
def test_a_judge_at_the_margin_passes_in_one_of_twenty_of_the_smallest_worlds(queries, people):
    """500 studies: 5 % and three errors of the simulation are 7.9 %."""
    votes, dissent = people
    rng = np.random.default_rng(queries)
    kinds = np.arange(votes + 1)
    chance = binom.pmf(kinds, votes, 1 - dissent)
    ahead, behind = (
        float(chance @ leave_one_out(np.full(votes + 1, verdict), kinds, np.full(votes + 1, votes)) @ [1, -1])
        for verdict in (1, 0)
    )
    accuracy = (-0.05 - behind) / (ahead - behind)
    passes = 0
    for _ in range(500):
        safe = rng.binomial(votes, 1 - dissent, queries)
        if not (2 * safe == votes).all():
            judge = (rng.random(queries) < accuracy).astype(float)
            passes += new_person_test(judge, safe, np.full(queries, votes), margin=0.05).not_worse

    assert passes / 500 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_few_queries_that_lean_are_compared_with_limits_that_know_it():
    rng = np.random.default_rng(5)
    for _ in range(60):
        rate, safe, votes, query = new_person_crowd(rng, queries=20)
        found = new_person_test(rng.random(len(rate)) < rate, safe, votes, clusters=query, margin=0.1)
        assert found.not_worse == (found.low >= -found.margin)
        assert found.not_worse == (found.p <= 0.05)

    # One query of twenty on which the judge is wrong and people agree: its limit lies below Student's.
    safe, votes = np.full(20, 19), np.full(20, 20)
    safe[1:5] = 12
    judge = np.r_[0.0, np.ones(19)]
    leans = new_person_test(judge, safe, votes)
    both = leave_one_out(judge, safe, votes)
    apart = both[:, 0] - both[:, 1]
    student = apart.mean() - stdtrit(19, 0.95) * apart.std(ddof=1) / np.sqrt(20)
    assert leans.low < student


@pytest.mark.parametrize("known", [False, True])
def test_the_test_of_a_new_person_is_halls_t_over_queries_and_annotators(known):
    rng = np.random.default_rng(12)
    item, annotator = (place.ravel() for place in np.indices((60, 9)))
    vote = (rng.random(540) < expit(rng.normal(0, 2, 60))[item]) ^ (annotator >= 7)  # two who say the opposite
    safe, votes, query = np.bincount(item, vote).astype(int), np.full(60, 9), np.arange(60) // 2
    raters = Raters(item, annotator, vote)
    judge = np.where(rng.random(60) < 0.8, safe > 4, safe <= 4).astype(float)
    found = new_person_test(judge, safe, votes, clusters=query, margin=0.1, raters=raters if known else None)

    both = leave_one_out(judge, safe, votes)
    d = both[:, 0] - both[:, 1]
    influence = np.bincount(query, weights=(d - d.mean()) / 60).astype(np.float64)
    df = degrees_of_freedom(influence)
    if known:

        def lost(counts, sizes):
            return (leave_one_out(judge, counts, sizes) @ [1.0, -1.0])[:, None] / 60

        extra = PerVote.from_counts(lost, safe, votes, raters).along_gradient(np.ones(1)).variance
        assert extra > 0
        influence, df = widen_influence(influence, extra), min(df, 8)
    error = np.sqrt(30 / 29 * (influence**2).sum())
    one_sided, two_sided = (stats.t.ppf(share, df) for share in (0.95, 0.975))
    critical = hall_corrected_quantile(one_sided, -influence)
    statistic = hall_corrected_statistic((d.mean() + 0.1) / error, -influence)
    assert (found.judge, found.person) == pytest.approx(tuple(both.mean(axis=0)))
    assert (found.difference, found.low) == pytest.approx((d.mean(), d.mean() - critical * error))
    assert found.ci_low == pytest.approx(d.mean() - hall_corrected_quantile(two_sided, -influence) * error)
    assert found.ci_high == pytest.approx(d.mean() + hall_corrected_quantile(two_sided, influence) * error)
    assert found.p == pytest.approx(stats.t.cdf(-statistic, df))
    assert found.power == pytest.approx(stats.norm.cdf(0.1 / error - critical))
    assert found.detectable == pytest.approx((critical + stats.norm.ppf(0.8)) * error)
    assert (found.items, found.clusters, found.margin) == (60, 30, 0.1)


def test_ceilings_say_their_interval_and_their_contrast_in_words():
    found = ceilings([20, 18, 12, 6, 3, 1], [21] * 6, condition=[0, 0, 0, 1, 1, 1])

    assert found.between_conditions is not None
    assert found.contrast == f"{100 * found.between_conditions:.0f} % of the rates' variance lies between conditions"
    assert re.fullmatch(r"0\.977 \[0\.\d+, 0\.\d+\]", found.pearson_in_words)
    bare = ceilings([2, 1], [3, 3])
    assert (bare.pearson_interval, bare.contrast, bare.between_conditions) == (None, "", None)
    assert " " not in bare.pearson_in_words


def test_a_third_of_the_variance_between_conditions_by_hand():
    """Rates of 0.2, 0.4 and 0.4, 0.8: the variance of the conditions' means is 0.15², of all rates 0.0475."""
    found = ceilings([1, 2, 2, 4], [5] * 4, condition=list("aabb"))

    assert found.between_conditions == pytest.approx(0.15**2 / 0.0475)


ITEMS, PEOPLE = 60, 5


def study(judge_error, annotator_error=0.2, seed=1):
    rng = np.random.default_rng(seed)
    true = rng.random(ITEMS) < 0.5
    safe = true[:, None] ^ (rng.random((ITEMS, PEOPLE)) < annotator_error)
    return safe, true ^ (rng.random(ITEMS) < judge_error)


def outcome_of(safe, judge, **options):
    return alternative_annotator_test(
        safe.ravel(),
        np.repeat(judge, PEOPLE),
        item=np.repeat(np.arange(ITEMS), PEOPLE),
        annotator=np.tile(np.arange(PEOPLE), ITEMS),
        **options,
    )


def by_the_paper(safe, judge, epsilon):
    p, advantages = [], []
    for j in range(PEOPLE):
        others = np.delete(safe, j, axis=1)
        machine = (others == judge[:, None]).mean(1)
        human = (others == safe[:, [j]]).mean(1)
        wins, losses = machine >= human, human >= machine
        p.append(stats.ttest_1samp(losses.astype(float) - wins, epsilon, alternative="less").pvalue)
        advantages.append(wins.mean())
    return np.mean(multipletests(p, 0.05, method="fdr_by")[0]), np.mean(advantages)


@pytest.mark.parametrize("judge_error", [0.0, 0.2, 0.5])
def test_gives_what_the_paper_defines(judge_error):
    safe, judge = study(judge_error)

    result = outcome_of(safe, judge, epsilon=0.1)
    assert (result.omega, result.advantage) == pytest.approx(by_the_paper(safe, judge, 0.1))


def test_a_perfect_judge_passes_and_a_coin_does_not():
    assert outcome_of(*study(0.0)).passes
    assert not outcome_of(*study(0.5)).passes


def test_below_thirty_items_an_annotator_it_is_not_computed_and_says_why():
    safe, judge = study(0.0)
    few = 29 * PEOPLE

    result = alternative_annotator_test(
        safe.ravel()[:few],
        np.repeat(judge, PEOPLE)[:few],
        item=np.repeat(np.arange(ITEMS), PEOPLE)[:few],
        annotator=np.tile(np.arange(PEOPLE), ITEMS)[:few],
    )
    assert result.omega is None
    assert result.reason == "annotators share a median of 29 items with others; the test needs 30"


def test_an_annotator_who_never_differs_from_the_judge_is_beaten_by_epsilon():
    safe = np.tile(np.array([True, False]), 30)[:, None].repeat(PEOPLE, axis=1)

    assert outcome_of(safe, safe[:, 0], epsilon=0.1).omega == 1
    assert outcome_of(safe, safe[:, 0], epsilon=0.0).omega == 0


def test_a_judge_asked_several_times_is_a_new_person_by_the_mean_of_its_answers():
    rng = np.random.default_rng(8)
    safe, votes = rng.binomial(9, 0.6, 40), np.full(40, 9)
    answers = rng.integers(0, 2, (3, 40)).astype(float)
    whole = new_person_test(answers, safe, votes)

    singly = [new_person_test(answer, safe, votes).judge for answer in answers]
    assert whole.judge == pytest.approx(np.mean(singly))
    assert new_person_test(np.array([answers[0]] * 3), safe, votes) == new_person_test(answers[0], safe, votes)
