import numpy as np
import pytest

from casewise.stats import kruskal_wallis
from casewise.stats.arrays import Counts
from casewise.stats.kruskal import PeopleOfTasks, category_tests, shuffled_within_tasks


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
    assert result.mean_h == pytest.approx([h[:5].mean(), h[5:].mean()])
    assert result.queries.tolist() == [5, 5]


def test_context_that_matters_has_a_small_p_and_one_that_does_not_a_large_one():
    strong, none = counts([0.1, 0.5, 0.9]), counts([0.5, 0.5, 0.5], seed=3)
    both = Counts(np.concatenate([strong.successes, none.successes]), np.concatenate([strong.sizes, none.sizes]))

    result = gathered(both, np.repeat([0, 1], 10))
    assert result.p[0] == pytest.approx(1 / (1 + result.draws))
    assert result.p[1] > 0.05
    assert result.share_after_correction[0] > 0.5


def test_tasks_where_all_agree_are_counted_as_untestable():
    sizes = np.full((3, 2), 5)
    result = gathered(Counts(np.array([[5, 5], [0, 0], [5, 0]]), sizes), np.zeros(3, dtype=int))

    assert (result.queries[0], result.testable[0]) == (3, 1)
    assert result.mean_h[0] == pytest.approx(kruskal_wallis([5, 0], [5, 5]).h)


def testshuffled_within_taskss_keep_each_tasks_votes():
    found = counts([0.2, 0.5, 0.8])
    dealt = shuffled_within_tasks(found, np.random.default_rng(0)).successes

    assert (dealt.sum(1) == found.successes.sum(1)).all()
    assert (dealt <= found.sizes).all()


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
        people = PeopleOfTasks(task, person, safe, condition)
        cell = task * 2 + condition[person]
        table = Counts(np.bincount(cell[safe], minlength=20).reshape(10, 2), np.bincount(cell).reshape(10, 2))
        tested = [
            category_tests(
                table, one, result=kruskal_wallis(*table), rng=rng, alpha=0.05, paper_level=0.0125, people=who
            )
            for who in (people, None)
        ]
        found.append([test.p[0] for test in tested])

    rejected = (np.array(found) <= 0.05).mean(0)
    assert rejected[0] < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)
    assert rejected[0] < rejected[1]


def testshuffled_within_tasksd_people_keep_all_their_ratings():
    people = PeopleOfTasks(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([True, False, True, False]), np.array([0, 1])
    )

    dealt = people.shuffled((2, 2), np.random.default_rng(1))

    assert dealt.sizes.tolist() == [[1, 1], [1, 1]]
    assert (dealt.successes[0] == dealt.successes[1]).all()
