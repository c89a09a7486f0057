import numpy as np
import pytest
from tests.support.samples import covers, random_sample, sample_of, some

from casewise.stats.calibration import calibration, equal_mass_bins


def test_error_and_parts_computed_by_hand():
    values = np.repeat([0.4, 0.8], 8)
    rate = np.r_[[0.1, 0.3] * 4, [0.5, 0.9] * 4]
    found = calibration(sample_of(rate > 0.5, values > 0.5, rate=rate, probability=values, n_votes=11), n_bins=2)

    # In each bin of eight, rates vary by 0.1² × 8/7 and 0.2² × 8/7; an eighth of that is the variance of the mean.
    chance = (0.1**2 + 0.2**2) / 7 / 2
    assert [b.n for b in found.curve] == [8, 8]
    assert [b.value for b in found.curve] == pytest.approx([0.4, 0.8])
    assert [b.rate.estimate for b in found.curve] == pytest.approx([0.2, 0.7])
    assert found.calibration_part.estimate == pytest.approx((0.2**2 + 0.1**2) / 2 - chance)
    assert found.refinement_part.estimate == pytest.approx((0.1**2 + 0.2**2) / 2 + chance)
    assert found.by_chance == pytest.approx(np.sqrt(2 / np.pi) * (0.1 + 0.2) / np.sqrt(7) / 2)
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


def test_a_calibrated_judge_has_little_error_and_an_interval_that_says_so():
    rng = np.random.default_rng(2)
    found = [calibration(calibrated(rng, 200)) for _ in range(60)]

    assert np.mean([some(f.error.estimate) for f in found]) < 0.6 * np.mean([some(f.by_chance) for f in found])
    assert np.mean([f.calibration_part.ci_low == 0 for f in found]) >= 0.92
    assert all(f.error.limits is None and f.error.method.startswith("no interval") for f in found)


def test_few_queries_have_few_bins():
    assert len(calibration(calibrated(np.random.default_rng(3), 30)).curve) == 3


def test_a_bin_of_few_queries_has_an_interval_that_tells_something():
    curve = calibration(random_sample(np.random.default_rng(6), queries=60)).curve

    assert all(0 <= some(b.rate.ci_low) < some(b.rate.ci_high) <= 1 for b in curve)
    assert max(some(b.rate.ci_high) - some(b.rate.ci_low) for b in curve) < 0.4


def test_a_verdict_alone_cannot_be_calibrated():
    found = calibration(sample_of([1, 0], [1, 0]))

    assert found.curve == ()
    assert found.error.estimate is None
    assert found.error.method.startswith("undefined")


@pytest.mark.slow
@pytest.mark.parametrize("queries", [15, 60])
def test_intervals_hold_the_truth_where_values_are_shrunk(queries):
    """120 studies: fewer than 92 % less three errors of the simulation would be too narrow."""
    rng = np.random.default_rng(4)

    def shrunk(queries):
        sample = calibrated(rng, queries)
        return sample_of(sample.weight, sample.safe, rate=sample.rate, probability=0.4 * sample.probability)

    bins = max(1, queries // 8)
    truth, studies = calibration(shrunk(50_000), n_bins=bins), [calibration(shrunk(queries)) for _ in range(120)]
    for name in ("calibration_part", "refinement_part"):
        aim = some(getattr(truth, name).estimate)
        assert np.mean([covers(getattr(found, name), aim) for found in studies]) >= 0.92 - 3 * np.sqrt(
            0.92 * 0.08 / 120
        )
