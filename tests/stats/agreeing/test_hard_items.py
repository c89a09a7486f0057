import numpy as np
import pytest
from tests.support.samples import some

from casewise.errors import StatisticsError
from casewise.stats.pairs import halves, hard_score


def test_by_hand_one_safe_vote_of_two():
    # The first half is one vote: unsafe in half of the splits, and the other vote is then safe.
    found = halves([1], [2], verdict=[1])

    assert found.chosen == pytest.approx([0.5])
    assert found.safe == pytest.approx([0.5])


@pytest.mark.parametrize(("safe", "votes"), [(7, 20), (10, 20), (3, 21), (13, 21)])
@pytest.mark.parametrize("verdict", [0, 1])
def test_averages_are_those_of_simulated_splits(safe, votes, verdict):
    draws = np.random.default_rng(safe)
    table = np.tile(np.arange(votes) < safe, (40_000, 1))
    shuffled = draws.permuted(table, axis=1)
    h = votes // 2
    first, other = shuffled[:, :h].sum(1), shuffled[:, h:].sum(1)
    chosen = (2 * first < h) if verdict else (2 * first > h)
    label = (np.sign(2 * other - (votes - h)) + 1) / 2

    found = halves([safe], [votes], verdict=[verdict])

    assert found.chosen[0] == pytest.approx(chosen.mean(), abs=0.01)
    assert found.safe[0] == pytest.approx((chosen * label).mean(), abs=0.01)


def test_chosen_and_scored_on_the_same_votes_a_good_judge_looks_bad():
    draws = np.random.default_rng(1)
    truth = draws.beta(5, 5, size=2000)
    safe = draws.binomial(20, truth)
    judge = (truth > 0.5).astype(float)
    baseline = np.where(draws.random(2000) < 0.95, judge, 1 - judge)

    found = hard_score(safe, np.full(2000, 20), baseline=baseline, judge=judge, cluster=np.arange(2000))

    # What a fresh half of votes would say of the same choice, by simulation.
    a, b = draws.binomial(10, truth), draws.binomial(10, truth)
    chosen = (2 * a != 10) & ((2 * a > 10) != (baseline > 0.5))
    label = (np.sign(2 * b - 10) + 1) / 2
    fresh = np.where(judge == 1, label, 1 - label)[chosen].mean()
    accuracy = some(found.accuracy.estimate)
    assert accuracy == pytest.approx(fresh, abs=0.06)
    on_the_same_votes = np.where(judge == 1, safe > 10, safe < 10)[
        (safe != 10) & ((safe > 10) != (baseline > 0.5))
    ].mean()
    assert on_the_same_votes < accuracy - 0.1
    assert accuracy <= found.best <= 1


def test_the_best_verdict_on_each_item_scores_the_best_there_is():
    draws = np.random.default_rng(2)
    safe = draws.binomial(20, draws.beta(1, 1, size=300))
    baseline = draws.integers(0, 2, size=300).astype(float)
    split = halves(safe, np.full(300, 20), verdict=baseline)
    best = (split.safe > split.chosen - split.safe).astype(float)

    found = hard_score(safe, np.full(300, 20), baseline=baseline, judge=best, cluster=np.arange(300))

    assert found.accuracy.estimate == pytest.approx(found.best)
    assert found.baseline <= found.best


def test_no_verdict_is_a_miss():
    found = hard_score([20] * 40, [20] * 40, baseline=[0] * 40, judge=[np.nan] * 40, cluster=np.arange(40))

    assert found.accuracy.estimate == 0
    assert found.accuracy.n_unscored == 40


def test_a_baseline_that_is_never_wrong_leaves_nothing_hard():
    with pytest.raises(StatisticsError, match="no hard ones"):
        hard_score([20] * 5, [20] * 5, baseline=[1] * 5, judge=[1] * 5, cluster=np.arange(5))
