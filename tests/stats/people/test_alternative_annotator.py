import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from casewise.stats.ceilings import alternative_annotator_test

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
