from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from tests.support.samples import NAN, covers, random_sample, sample_of, some

from casewise.stats.arrays import PerVote, Raters, annotator_covariance
from casewise.stats.calibration import calibration, equal_mass_bins
from casewise.stats.estimates import estimate_of, measure
from casewise.stats.intervals import degrees_of_freedom
from casewise.stats.metrics import parse_metrics
from casewise.stats.sample import judge_sample


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


def voted(seed, *, lean):
    """Two items a query with six known votes each, and a judge that leans to one side."""
    rng = np.random.default_rng(seed)
    safe = rng.binomial(6, rng.beta(2, 2, 48))
    items = pl.DataFrame(
        {
            "query_id": [f"q{place // 2:02}" for place in range(48)],
            "n_safe": safe,
            "n_votes": [6] * 48,
            "intended_safe": [None] * 48,
            "published_rate": [None] * 48,
            "category": ["none"] * 48,
        }
    )
    item, place = (index.ravel() for index in np.indices((48, 6)))
    values = np.clip(safe / 6 + lean + rng.normal(0, 0.15, 48), 0, 1)
    return judge_sample(items, values, Raters(item, place, place < safe[item]), elicitation="probability")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("lean", [0.25, 0.0])
def test_the_parts_have_the_intervals_of_the_formulas(lean, known):
    """Three bins of 24 queries; with known people, gaps covary by them, too."""
    sample = voted(4, lean=lean)
    sample = sample if known else replace(sample, raters=None, without=None)
    found = calibration(sample)
    q, r, query = sample.probability, sample.rate, sample.cluster
    bins, gap_of = equal_mass_bins(q, 3), q - r
    n = np.bincount(bins)
    gap, w = np.bincount(bins, gap_of) / n, n / 48
    influence, composition = np.zeros((24, 3)), np.zeros((24, 3))
    of_safe, of_unsafe = np.zeros((48, 3)), np.zeros((48, 3))
    for b in range(3):
        inside = bins == b
        queries = len(np.unique(query[inside]))
        deviation = np.where(inside, gap_of - gap[b], 0) / n[b]
        influence[:, b] = np.bincount(query, deviation) * np.sqrt(queries / (queries - 1))
        composition[:, b] = (np.bincount(query, inside) - 2 * n[b] / 48) / 48
        for of, fewer in zip((of_safe, of_unsafe), sample.without or (), strict=bool(sample.without)):
            of[inside, b] = (fewer.rate - r)[inside] / n[b]
    extra = annotator_covariance(of_safe, of_unsafe, sample.raters) if sample.raters else np.zeros((3, 3))
    covariance, slope = influence.T @ influence + extra, 2 * w * gap
    spread, total = np.sqrt(np.diag(covariance)), influence @ slope + composition @ gap**2
    raw = w @ gap**2
    unbiased, noise = raw - w @ spread**2, 2 * w @ covariance**2 @ w
    grows = (total @ total + slope @ extra @ slope) / raw
    t = scipy.stats.t.ppf(0.975, max(1, min(degrees_of_freedom(total), 23)))
    centre = unbiased + t**2 * grows / 2
    half = t * np.sqrt(max(t**2 * grows**2 / 4 + grows * unbiased + noise, 0))

    part = found.calibration_part
    assert (part.estimate, part.ci_low) == pytest.approx((max(0, unbiased), max(0, centre - half)))
    assert part.ci_high == pytest.approx(centre + half)
    assert found.error.estimate == pytest.approx(w @ np.sqrt(np.maximum(gap**2 - spread**2, 0)))
    assert found.by_chance == pytest.approx(w @ spread * np.sqrt(2 / np.pi))
    (brier,) = measure(sample, metrics=parse_metrics("brier"))
    votes = [] if brier.votes is None else [(np.array([of @ slope for of in (of_safe, of_unsafe)]))]
    refined = replace(
        brier,
        value=brier.value - max(0, unbiased),
        influence=(brier.influence - total) * np.sqrt(24 / 21),
        votes=brier.votes
        and PerVote(brier.votes.raters, *(own - less for own, less in zip(brier.votes[1:], *votes, strict=True))),
        unseen=some(brier.unseen) - max(0, unbiased),
    )
    assert found.refinement_part.limits == pytest.approx(estimate_of(refined).limits)
    assert [(b.low, b.high) for b in found.curve] == [(q[bins == b].min(), q[bins == b].max()) for b in range(3)]
    assert found.n == 48
    assert found.brier.estimate == pytest.approx(np.mean(gap_of**2))


def test_one_query_has_parts_and_no_intervals():
    found = calibration(sample_of([1, 0], [1, 0], rate=[0.75, 0.25], probability=[0.9, 0.2], cluster=[0, 0]))

    assert found.calibration_part.estimate == pytest.approx(0.05**2)
    assert found.calibration_part.limits is None
    assert (found.calibration_part.method, found.by_chance) == ("no interval: one query only", None)


def test_items_that_are_unscored_or_not_rated_are_left_out_and_the_unscored_counted():
    sample = sample_of([1, 0, 1], [1, NAN, 1], rate=[0.75, 0.25, NAN], probability=[0.9, NAN, 0.3])
    found = calibration(sample)

    assert (found.n, found.brier.n_unscored, found.calibration_part.n_unscored) == (1, 1, 1)


def test_one_vote_says_nothing_of_the_noise_of_votes():
    found = calibration(
        replace(sample_of([1, 0], [1, 0], rate=[0.5, 1], probability=[0.9, 0.2]), n_votes=np.array([2.0, 1]))
    )

    assert (found.noise_floor.estimate, found.noise_floor.n) == (0.25, 1)


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
