import numpy as np
import pytest
from scipy.special import expit, stdtrit

from casewise.errors import StatisticsError
from casewise.stats.ceilings import against_new_person, leave_one_out


def crowd(rng, queries=225, votes=20):
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
    rate, *_ = crowd(rng, 200_000)
    weight = (np.sign(2 * rng.binomial(19, rate) - 19) + 1) / 2
    person = np.mean(rate * weight + (1 - rate) * (1 - weight))
    # A judge that is a person, but for some items on which it says the other thing.
    margin = 0.05
    flips = margin / (2 * person - 1)
    shown, powers = 0, []
    for _ in range(400):
        rate, safe, votes, query = crowd(rng)
        judge = (rng.random(len(rate)) < rate) ^ (rng.random(len(rate)) < flips)
        shown += against_new_person(judge, safe, votes, clusters=query, margin=margin).not_worse
        equal = against_new_person(rng.random(len(rate)) < rate, safe, votes, clusters=query, margin=margin)
        powers.append((equal.power, equal.not_worse))

    assert shown / 400 <= 0.08
    said, came = np.mean(powers, axis=0)
    assert said == pytest.approx(came, abs=0.08)


def test_few_queries_that_lean_are_held_against_limits_that_know_it():
    rng = np.random.default_rng(5)
    for _ in range(60):
        rate, safe, votes, query = crowd(rng, queries=20)
        found = against_new_person(rng.random(len(rate)) < rate, safe, votes, clusters=query, margin=0.1)
        assert found.not_worse == (found.low >= -found.margin)
        assert found.not_worse == (found.p <= 0.05)

    # One query of twenty on which the judge is wrong and people agree: its limit lies below Student's.
    safe, votes = np.full(20, 19), np.full(20, 20)
    safe[1:5] = 12
    judge = np.r_[0.0, np.ones(19)]
    leans = against_new_person(judge, safe, votes)
    both = leave_one_out(judge, safe, votes)
    apart = both[:, 0] - both[:, 1]
    student = apart.mean() - stdtrit(19, 0.95) * apart.std(ddof=1) / np.sqrt(20)
    assert leans.low < student


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(StatisticsError, match="two queries"):
        against_new_person([1, 0], [1, 2], [2, 2], clusters=[0, 0])
    with pytest.raises(StatisticsError, match="margin"):
        against_new_person([1, 0], [1, 2], [2, 2], margin=0)
