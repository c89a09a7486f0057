import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from casewise.errors import StatisticsError
from casewise.stats.estimates import named
from casewise.stats.pooled import debiased, entropy, jensen_shannon
from casewise.stats.response_model import distances_of, reachable_entropy_correlation
from casewise.stats.sample import Sample


def sample(safe, votes, q, *, cluster=None, verdicts_only=False):
    n = len(safe)
    rate = safe / votes
    verdict = (q > 0.5).astype(float)
    return Sample(
        weight=np.where(rate > 0.5, 1.0, np.where(rate < 0.5, 0.0, 0.5)),
        rate=rate,
        safe=verdict,
        probability=np.full(n, np.nan) if verdicts_only else q,
        value=np.full(n, np.nan) if verdicts_only else q,
        cluster=np.arange(n) if cluster is None else cluster,
        n_votes=np.full(n, float(votes)),
    )


def numbers(found):
    return {one.name: float(one.estimate) for one in found}


def test_a_divergence_by_hand_and_at_its_bounds():
    assert jensen_shannon(0.0, 1.0) == pytest.approx(np.log(2))
    assert jensen_shannon(0.3, 0.3) == 0
    assert jensen_shannon(0.0, 0.5) == pytest.approx(entropy(0.25) - np.log(2) / 2)


@pytest.mark.parametrize(("votes", "most"), [(5, 0.012), (20, 0.003), (60, 0.004)])
def test_a_function_of_the_true_rate_is_estimated_with_little_bias(votes, most):
    rates = np.linspace(0.01, 0.99, 50)
    s = np.arange(votes + 1)
    chance = binom.pmf(s, votes, rates[:, None])
    judge = np.full(votes + 1, 0.3)
    plug_in = chance @ entropy(s / votes) - entropy(rates)
    of_entropy = chance @ debiased(entropy, s, np.full(votes + 1, votes)) - entropy(rates)
    of_divergence = chance @ debiased(jensen_shannon, s, np.full(votes + 1, votes), judge) - jensen_shannon(rates, 0.3)

    assert np.abs(of_entropy).max() < min(most, np.abs(plug_in).max() / 2)
    assert np.abs(of_divergence).max() < most / 2


def test_an_item_with_one_vote_has_no_debiased_value():
    assert np.isnan(debiased(entropy, [1, 3], [1, 6])).tolist() == [True, False]


@pytest.mark.parametrize("votes", [7, 20])
def test_a_judge_that_knows_every_true_rate_scores_about_nothing_where_the_plug_in_does_not(votes):
    rng = np.random.default_rng(votes)
    rate = expit(rng.normal(0, 1.5, 4_000))
    safe = rng.binomial(votes, rate)

    found = numbers(distances_of(sample(safe, votes, rate)))

    assert np.mean(jensen_shannon(safe / votes, rate)) > 0.8 / (8 * votes)
    assert abs(found["jensen_shannon"]) < 0.25 / (8 * votes)
    assert abs(found["extra_cross_entropy"]) < 0.02
    assert abs(found["entropy_excess"]) < 0.02


def test_intervals_hold_what_infinitely_many_votes_and_queries_would_say():
    rng = np.random.default_rng(5)

    def judged(rate, clusters):
        return expit(0.3 + 0.8 * np.log(rate / (1 - rate)) + rng.normal(0, 0.7, clusters).repeat(2))

    def crowd(clusters):
        return expit(rng.normal(0, 1, clusters).repeat(2) + rng.normal(0, 1, 2 * clusters))

    many = crowd(200_000)
    q = judged(many, 200_000)
    kl = -(many * np.log(q) + (1 - many) * np.log(1 - q)) - entropy(many)
    truth = {"jensen_shannon": jensen_shannon(many, q).mean(), "extra_cross_entropy": kl.mean()}
    truth["entropy_excess"] = (entropy(q) - entropy(many)).mean()
    held = dict.fromkeys(truth, 0)
    for _ in range(60):
        rate = crowd(120)
        found = named(distances_of(sample(rng.binomial(20, rate), 20, judged(rate, 120), cluster=np.arange(240) // 2)))
        for name, true in truth.items():
            held[name] += found[name].ci_low <= true <= found[name].ci_high

    assert min(held.values()) >= 52, held


def test_a_bare_verdict_has_a_divergence_and_nothing_that_is_infinite():
    rng = np.random.default_rng(1)
    rate = rng.beta(2, 2, 200)
    found = distances_of(sample(rng.binomial(20, rate), 20, rate, verdicts_only=True))

    assert [one.name for one in found] == ["jensen_shannon"]
    assert numbers(found)["jensen_shannon"] > 0.05


def test_without_two_votes_on_any_item_there_is_no_distance():
    assert distances_of(sample(np.array([1, 0, 1]), 1, np.array([0.2, 0.4, 0.9]))) == ()
    with pytest.raises(StatisticsError, match="two votes"):
        reachable_entropy_correlation([1, 0], [1, 1])


def test_nobody_correlates_with_the_votes_doubt_better_than_who_knows_every_rate():
    rng = np.random.default_rng(2)
    rate = expit(rng.normal(0, 2, 5_000))
    safe = rng.binomial(20, rate)
    known = numbers(distances_of(sample(safe, 20, rate)))["entropy_correlation"]

    assert reachable_entropy_correlation(safe, np.full(5_000, 20)) == pytest.approx(known, abs=0.03)
