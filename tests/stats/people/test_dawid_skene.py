import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.dawid_skene import dawid_skene


def crowd(*, hard=0.0, items=400, people=30, per_item=9, seed=1):
    """Ratings by people of known skill; on hard items skill counts a quarter."""
    rng = np.random.default_rng(seed)
    true = rng.random(items) < 0.5
    skill = rng.beta(8, 2, people)
    counts_for = np.where(rng.random(items) < hard, 0.25, 1.0)
    item = np.repeat(np.arange(items), per_item)
    annotator = rng.permuted(np.tile(np.arange(people), (items, 1)), axis=1)[:, :per_item].ravel()
    right = rng.random(len(item)) < counts_for[item] * skill[annotator] + (1 - counts_for[item]) / 2
    return true, skill, {"safe": np.where(right, true[item], ~true[item]), "item": item, "annotator": annotator}


def crowd_hardness(*, hard, items, people=30, seed=1):
    """Which items of the same crowd are hard."""
    rng = np.random.default_rng(seed)
    rng.random(items)
    rng.beta(8, 2, people)
    return rng.random(items) < hard


def fitted(ratings, **options):
    return dawid_skene(ratings["safe"], item=ratings["item"], annotator=ratings["annotator"], **options)


def log_loss(p, true):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -np.mean(np.where(true, np.log(p), np.log(1 - p)))


def test_the_truth_is_found():
    true, _, ratings = crowd()

    assert np.mean((fitted(ratings).p_safe > 0.5) == true) > 0.97


def test_skills_are_found():
    _, skill, ratings = crowd(items=2000)
    fit = fitted(ratings, rounds=1000)

    assert np.corrcoef(fit.safe_if_safe, skill)[0, 1] > 0.9
    assert fit.safe_if_safe.mean() == pytest.approx(skill.mean(), abs=0.05)
    assert fit.converged


def test_without_difficulty_posteriors_are_falsely_sure():
    true, _, ratings = crowd(hard=0.5, items=1500)
    without, with_it = fitted(ratings, difficulty=(1.0,)), fitted(ratings)

    sure = (without.p_safe > 0.99) | (without.p_safe < 0.01)
    wrong = (without.p_safe > 0.5) != true
    assert wrong[sure].mean() > 0.02
    assert log_loss(with_it.p_safe, true) < log_loss(without.p_safe, true)


def test_hard_items_are_found_to_be_hard():
    ratings, hard = crowd(hard=0.5, items=1500)[2], crowd_hardness(hard=0.5, items=1500)

    found = fitted(ratings).difficulty
    assert found[hard].mean() < found[~hard].mean() - 0.1


def test_two_people_who_always_agree_are_believed():
    fit = dawid_skene([1, 1, 0, 0], item=[0, 0, 1, 1], annotator=[0, 1, 0, 1])

    assert fit.p_safe[0] > 0.8
    assert fit.p_safe[1] < 0.2


@pytest.mark.parametrize("levels", [(), (0.0,), (1.5,)])
def test_levels_of_difficulty_are_shares(levels):
    with pytest.raises(StatisticsError):
        dawid_skene([1], item=[0], annotator=[0], difficulty=levels)


def test_no_ratings_are_an_error():
    with pytest.raises(StatisticsError):
        dawid_skene([], item=[], annotator=[])
