import numpy as np
import pytest
from tests.support.samples import covers, random_sample, sample_of, some

from casewise.errors import StatisticsError
from casewise.stats.agreeing.calibration import calibration, equal_mass_bins


def test_error_and_parts_computed_by_hand():
    sample = sample_of(
        [0, 0, 1, 1], [0, 0, 1, 1], rate=[0.1, 0.3, 0.5, 0.9], probability=[0.4, 0.4, 0.8, 0.8], n_votes=11
    )
    found = calibration(sample, n_bins=2)

    assert [b.n for b in found.curve] == [2, 2]
    assert [b.value for b in found.curve] == pytest.approx([0.4, 0.8])
    assert [b.rate.estimate for b in found.curve] == pytest.approx([0.2, 0.7])
    assert found.error.estimate == pytest.approx(0.15)
    assert found.calibration_part.estimate == pytest.approx((0.2**2 + 0.1**2) / 2)
    assert found.refinement_part.estimate == pytest.approx((0.1**2 + 0.2**2) / 2)
    assert found.noise_floor.estimate == pytest.approx((0.09 + 0.21 + 0.25 + 0.09) / 10 / 4)


def test_the_parts_add_up_to_the_brier_score():
    found = calibration(random_sample(np.random.default_rng(1)))

    parts = some(found.calibration_part.estimate) + some(found.refinement_part.estimate)
    assert parts == pytest.approx(found.brier.estimate, rel=1e-12)


def test_bins_are_equally_filled_and_hold_ties_together():
    assert np.bincount(equal_mass_bins(np.arange(100.0), 10)).tolist() == [10] * 10
    assert equal_mass_bins(np.array([0.1] * 7 + [0.2, 0.3, 0.9]), 3).tolist() == [0] * 7 + [1, 1, 1]


def test_a_score_gives_no_more_bins_than_it_has_values():
    values = np.repeat([0.05, 0.45, 0.95], 20)
    found = calibration(sample_of(values > 0.5, values > 0.5, probability=values))

    assert [b.n for b in found.curve] == [20, 20, 20]


def calibrated(rng, queries):
    opinion = rng.beta(2, 2, size=queries)
    rate = rng.binomial(20, opinion) / 20
    return sample_of(rate > 0.5, opinion > 0.5, rate=rate, probability=opinion)


def test_what_chance_gives_a_calibrated_judge_is_foretold():
    rng = np.random.default_rng(2)
    found = [calibration(calibrated(rng, 200)) for _ in range(100)]

    errors, foretold = [some(f.error.estimate) for f in found], [some(f.by_chance) for f in found]
    assert np.mean(errors) == pytest.approx(np.mean(foretold), rel=0.1)


def test_an_error_near_chance_has_no_interval_and_says_why():
    found = calibration(calibrated(np.random.default_rng(3), 300))

    assert found.error.ci_low is None
    assert "by chance" in found.error.method


def test_a_bin_of_few_queries_has_an_interval_that_tells_something():
    curve = calibration(random_sample(np.random.default_rng(6), queries=60)).curve

    assert all(0 <= some(b.rate.ci_low) < some(b.rate.ci_high) <= 1 for b in curve)
    assert max(some(b.rate.ci_high) - some(b.rate.ci_low) for b in curve) < 0.4


def test_a_verdict_alone_cannot_be_calibrated():
    found = calibration(sample_of([1, 0], [1, 0]))

    assert found.curve == ()
    assert found.error.estimate is None
    assert found.error.method.startswith("undefined")


def test_no_bins_are_an_error():
    with pytest.raises(StatisticsError, match="bin"):
        calibration(sample_of([1, 0], [1, 0]), n_bins=0)


@pytest.mark.slow
def test_the_interval_of_a_clear_error_covers_it():
    rng = np.random.default_rng(4)

    def shrunk(queries):
        sample = calibrated(rng, queries)
        return sample_of(sample.weight, sample.safe, rate=sample.rate, probability=0.4 * sample.probability)

    truth = some(calibration(shrunk(50_000)).error.estimate)
    found = [calibration(shrunk(200)).error for _ in range(500)]
    assert np.mean([covers(f, truth) for f in found]) > 0.92
