import numpy as np
import pytest

from casewise.errors import StatisticsError
from casewise.stats.calibrators import METHODS, Isotonic, Platt, calibrated, isotonic, platt
from casewise.stats.words import Folds


def likelihood_of(curve, value, weight):
    safe = weight.sum()
    target = (weight * (safe + 1) + (1 - weight) * (safe + 2) / (len(weight) - safe + 2)) / (safe + 2)
    line = curve.intercept + curve.slope * value
    return -float((target * np.logaddexp(0, -line) + (1 - target) * np.logaddexp(0, line)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_platts_curve_has_the_likelihood_that_scipys_optimiser_finds(seed):
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    value = rng.normal(size=400)
    weight = rng.binomial(2, 1 / (1 + np.exp(-(0.4 + 1.7 * value)))) / 2
    curve = platt(value, weight)

    def loss(at):
        return -likelihood_of(Platt(at[0], at[1]), value, weight)

    best = minimize(loss, np.array([1.0, 0.0]), method="BFGS", options={"gtol": 1e-7})

    assert (curve.slope, curve.intercept) == pytest.approx(best.x, abs=1e-5)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
def test_a_judge_that_is_right_on_thousands_of_lopsided_cases_gets_a_steep_curve(share):
    """Newton's steps without a line search end far from the best curve here, and with a slope of 0 in places."""
    value = np.random.default_rng(1).random(5000)
    weight = (value > np.quantile(value, 1 - share)).astype(float)
    curve = platt(value, weight)

    assert ((curve(value) > 0.5) == (weight == 1)).mean() > 0.998
    assert likelihood_of(curve, value, weight) > likelihood_of(Platt(105.0, -82.0), value, weight)


def test_isotonic_agrees_with_scipys_at_every_value():
    from scipy.optimize import isotonic_regression

    rng = np.random.default_rng(2)
    value = np.round(rng.random(500), 2)
    weight = rng.choice([0.0, 0.5, 1.0], size=500)
    known, group, size = np.unique(value, return_inverse=True, return_counts=True)
    theirs = isotonic_regression(np.bincount(group, weights=weight) / size, weights=size.astype(float)).x

    assert isotonic(value, weight)(known) == pytest.approx(theirs, abs=1e-12)


def test_a_judge_that_is_always_right_gets_a_finite_slope():
    value = np.r_[np.zeros(50), np.ones(50)]
    curve = platt(value, value)

    assert np.isfinite(curve.slope)
    assert curve([0.0, 1.0]) == pytest.approx([1 / 52, 51 / 52], abs=1e-6)


def test_a_judge_that_points_the_wrong_way_is_not_turned_about():
    value = np.linspace(0, 1, 40)

    assert platt(value, 1 - np.round(value)).slope == 0
    assert len(set(isotonic(value, 1 - np.round(value))(value))) == 1


def test_a_judge_that_always_says_the_same_is_worth_the_mean_label():
    """Nine tenths have no exact binary fraction, so that their spread is not quite nought."""
    label = np.tile([1.0, 0.0, 0.0], 30)
    drawn = (30 * 31 / 32 + 60 / 62) / 90

    for values in (np.full(90, 0.9), 1 - label):
        curve = platt(values, label)
        assert curve.slope == 0
        assert curve([0.1, 0.9]) == pytest.approx([drawn, drawn])


def test_a_value_that_is_missing_stays_missing():
    assert np.isnan(Isotonic((0.0, 1.0), (0.2, 0.8))([np.nan, 0.5])).tolist() == [True, False]


def test_what_is_said_of_a_query_was_not_learnt_from_it():
    """Labels that no value knows anything of: in sample isotonic looks better than chance, out of fold it does not."""
    rng = np.random.default_rng(3)
    weight, value, cluster = (rng.random(300) < 0.5).astype(float), rng.random(300), np.repeat(np.arange(60), 5)
    found = calibrated(value, weight, cluster=cluster, method="isotonic")

    assert ((found.calibrator(value) - weight) ** 2).mean() < 0.25 < found.brier["isotonic"]


def test_the_better_method_on_held_out_queries_is_taken():
    rng = np.random.default_rng(4)
    value = rng.random(4000)
    steps = np.where(value < 0.3, 0.05, np.where(value < 0.9, 0.5, 0.98))
    weight = (rng.random(4000) < steps).astype(float)
    found = calibrated(value, weight, cluster=np.arange(4000) // 2)

    assert found.method == "isotonic"
    assert found.brier["isotonic"] < found.brier["platt"]


def test_queries_without_values_take_no_part_in_the_folds():
    """Two queries with values among forty without: each is predicted from the other, whatever the seed."""
    value = np.r_[0.1, 0.9, 0.2, 0.8, np.full(40, np.nan)]
    weight, cluster = np.r_[0.0, 1.0, 0.0, 1.0, np.ones(40)], np.r_[0, 0, 1, 1, np.arange(2, 42)]

    for seed in range(8):
        assert not np.isnan(calibrated(value, weight, cluster=cluster, seed=seed).out_of_fold[:4]).any()


@pytest.mark.parametrize(
    ("weight", "cluster", "method", "why"),
    [
        ([1.0, 1.0], [0, 1], None, "labels of both kinds"),
        ([0.0, 1.0], [0, 0], None, "two queries"),
        ([0.0, 1.0], [0, 1], "beta", "there are platt, isotonic"),
    ],
)
def test_what_no_calibrator_can_learn_from_is_an_error(weight, cluster, method, why):
    with pytest.raises(StatisticsError, match=why):
        calibrated(np.array([0.1, 0.9]), np.array(weight), cluster=np.array(cluster), method=method)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_a_method_is_scored_on_queries_that_it_has_not_learnt_from(method):
    """Some items have no value, some no label, and the labels of the last two queries are not known at all."""
    rng = np.random.default_rng(6)
    cluster = np.repeat(np.arange(30), 4)
    weight = rng.choice([0.0, 0.5, 1.0], 120)
    value = np.where(rng.random(120) < 0.1, np.nan, weight + rng.normal(size=120))
    weight = np.where((rng.random(120) < 0.1) | (cluster >= 28), np.nan, weight)
    found = calibrated(value, weight, cluster=cluster, method=method)

    learnt = ~np.isnan(value) & ~np.isnan(weight)
    fold = np.append(np.repeat(Folds.from_groups(np.arange(28), n=10, seed=0).of_row, 4), np.full(8, -1))
    expected = np.full(120, np.nan)
    for held in np.unique(fold):
        inside, outside = (fold == held) & ~np.isnan(value), learnt & (fold != held)
        expected[inside] = METHODS[method](value[outside], weight[outside])(value[inside])
    assert found.out_of_fold == pytest.approx(expected, nan_ok=True)
    assert found.brier[method] == pytest.approx(np.mean((expected - weight)[learnt] ** 2))
    assert (found.method, found.calibrator) == (method, METHODS[method](value[learnt], weight[learnt]))


def test_chances_beyond_what_a_number_can_hold_are_nought_and_one():
    assert Platt(1e6, 0.0)([-1.0, 0.0, 1.0]).tolist() == pytest.approx([0, 0.5, 1])
