import numpy as np
import pytest
from scipy import stats

from casewise.errors import StatisticsError
from casewise.stats import kruskal_wallis
from casewise.stats.power import kruskal_power


def enumerated_power(rates, n, alpha):
    """The power by summing over every table, without simulation."""
    counts = np.stack(np.meshgrid(*[np.arange(n + 1)] * len(rates), indexing="ij"), -1).reshape(-1, len(rates))
    chance = np.prod(stats.binom.pmf(counts, n, rates), axis=1)
    exact = kruskal_wallis(counts, np.full(len(rates), n), exact=True).p_exact
    return chance[exact <= alpha].sum()


def test_simulated_power_is_that_of_all_tables_within_its_error():
    found = kruskal_power([0.2, 0.5, 0.8], n_per_group=10)

    assert found.ci_low <= enumerated_power([0.2, 0.5, 0.8], 10, 0.05) <= found.ci_high


def test_at_few_successes_the_chi_square_p_rejects_far_more_often_than_the_exact_one():
    exact = kruskal_power([0.02] * 5, n_per_group=21, alpha=0.02)
    approximate = kruskal_power([0.02] * 5, n_per_group=21, alpha=0.02, exact=False)

    assert approximate.actual_power > 5 * exact.actual_power


def test_equal_rates_are_rejected_no_more_often_than_alpha():
    assert kruskal_power([0.5] * 5, n_per_group=21).ci_low <= 0.05


def test_the_same_seed_gives_the_same_power():
    assert kruskal_power([0.2, 0.8], n_per_group=5, seed=3) == kruskal_power([0.2, 0.8], n_per_group=5, seed=3)


def test_the_sample_size_reaches_the_power():
    found = kruskal_power([0.3, 0.5, 0.5, 0.5, 0.8], repeats=2000)

    assert found.actual_power >= 0.8
    assert kruskal_power(found.safe_rates, n_per_group=found.n_per_group - 1, repeats=2000).actual_power < 0.8


@pytest.mark.parametrize(
    "question",
    [
        lambda: kruskal_power([0.5, 0.5]),
        lambda: kruskal_power([0.5, 0.6], power=1.0),
        lambda: kruskal_power([0.5], n_per_group=5),
        lambda: kruskal_power([0.5, 1.5], n_per_group=5),
        lambda: kruskal_power([0.5, 0.6], n_per_group=1),
    ],
)
def test_a_question_without_an_answer_is_an_error(question):
    with pytest.raises(StatisticsError):
        question()
