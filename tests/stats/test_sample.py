from dataclasses import replace

import krippendorff
import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, named, random_sample, sample_of

from casewise.errors import StatisticsError
from casewise.stats.agreement import agreement_of_votes, krippendorff_alpha, krippendorff_alpha_of_ratings
from casewise.stats.arrays import PerVote, Raters
from casewise.stats.estimates import estimate
from casewise.stats.metrics import METRICS, ON_SCALE, find_metric, value_of
from casewise.stats.sample import (
    LEVEL,
    FilledInTest,
    Sample,
    ScaleRatings,
    constant_accuracy,
    filled_in_test,
    query_numbers,
    right_weight,
)


def test_a_verdict_gets_the_weight_of_what_it_says_and_nothing_where_it_says_nothing():
    verdict, weight = np.array([1, 0, 1, 0, NAN]), np.array([1, 1, 0.5, 0.25, 1])

    assert right_weight(verdict, weight).tolist() == [1, 0, 0.5, 0.75, 0]


def test_items_may_count_less_than_whole():
    assert right_weight(
        np.array([True, False]), np.array([0.2, 0.2]), item_weight=np.array([0.5, 0.5])
    ) == pytest.approx([0.2, 0.3])


def test_the_mean_of_what_is_right_is_the_accuracy():
    sample = random_sample(np.random.default_rng(3))

    assert right_weight(sample.safe, sample.weight).mean() == pytest.approx(value_of(find_metric("accuracy"), sample))


def test_the_better_constant_verdict_is_right_on_half_at_least():
    assert constant_accuracy(np.array([1, 0, 0, 0.5])) == pytest.approx(2.5 / 4)
    assert np.isnan(constant_accuracy(np.array([])))


def test_items_of_one_cluster_are_numbered_alike():
    items = pl.DataFrame({"query_id": ["q", "q", "r", "s"]})

    assert query_numbers(items).tolist() == [0, 0, 1, 2]
    assert query_numbers(items.with_columns(cluster=pl.Series(["k", "l", "k", "m"]))).tolist() == [0, 1, 0, 2]


def test_metrics_on_the_scale_computed_by_hand():
    sample = sample_of([1, 0, 1, 0], [1, 0, 1, 0], probability=[0.9, 0.2, 0.6, 0.5])
    scale = ScaleRatings(np.array([0.8, 0.4, 0.5, np.nan]), np.zeros(4))
    found = named(estimate(replace(sample, scale=scale), metrics=(*METRICS, *ON_SCALE)))

    assert found["scale_error"].estimate == pytest.approx((0.1 + 0.2 + 0.1) / 3)
    assert found["scale_bias"].estimate == pytest.approx(0.0)
    assert found["scale_people"].estimate == pytest.approx(1.7 / 3)
    assert found["scale_pearson"].estimate == pytest.approx(np.corrcoef([0.9, 0.2, 0.6], [0.8, 0.4, 0.5])[0, 1])
    assert {found[metric.name].n for metric in ON_SCALE} == {3}
    assert all(found[metric.name].limits for metric in ON_SCALE)
    assert not {metric.name for metric in ON_SCALE} & set(named(estimate(sample, metrics=(*METRICS, *ON_SCALE))))


def test_a_judge_that_errs_alike_on_every_query_has_an_interval_on_the_scale():
    sample = sample_of([1, 0, 1], [1, 0, 1], probability=[0.75, 0.25, 0.5])
    scale = ScaleRatings(np.array([0.5, 0.0, 0.25]), np.zeros(3))
    found = named(estimate(replace(sample, scale=scale), metrics=ON_SCALE))

    unseen = 1 - 0.025 ** (1 / 3)
    assert found["scale_error"].limits == pytest.approx((0.25 * (1 - unseen), 0.25 + 0.75 * unseen))
    assert found["scale_bias"].limits == pytest.approx((0.25 - 1.25 * unseen, 0.25 + 0.75 * unseen))


def crowd(rng, *, items, people, shift):
    """Ratings on [0, 1] of people who differ throughout by `shift`."""
    own = rng.normal(0, shift, people)
    truth = rng.uniform(0.2, 0.8, items)
    return truth, np.clip(truth[:, None] + own + rng.normal(0, 0.1, (items, people)), 0, 1)


def on_scale(values, judge, *, known: bool) -> Sample:
    item, annotator = (code.ravel() for code in np.indices(values.shape))
    raters = Raters(item, annotator, values.ravel()) if known else None
    scale = ScaleRatings(values.mean(1), np.full(len(values), values.shape[1]), raters)
    return replace(sample_of(judge > 0.5, judge > 0.5, probability=judge), scale=scale)


def test_intervals_on_the_scale_hold_people_as_well_as_items():
    rng = np.random.default_rng(3)
    inside = {True: 0, False: 0}
    for _ in range(120):
        truth, values = crowd(rng, items=60, people=8, shift=0.1)
        judge = np.clip(truth + rng.normal(0, 0.05, 60), 0, 1)
        for known in (True, False):
            found = named(estimate(on_scale(values, judge, known=known), metrics=ON_SCALE))["scale_bias"]
            low, high = found.limits or (np.nan, np.nan)
            inside[known] += low <= 0 <= high

    assert inside[True] >= 105  # of 120, with 8 people; 114 on average with many
    assert inside[False] <= 90


def test_alpha_of_a_scale_is_the_librarys_and_wider_with_people():
    rng = np.random.default_rng(1)
    _, values = crowd(rng, items=40, people=9, shift=0.2)
    values[rng.random(values.shape) < 0.2] = np.nan
    item, annotator = np.nonzero(~np.isnan(values))
    given = values[item, annotator]

    alone = krippendorff_alpha_of_ratings(item, given, clusters=np.arange(40))
    people = krippendorff_alpha_of_ratings(item, given, clusters=np.arange(40), annotator=annotator)

    reference = krippendorff.alpha(values.T, level_of_measurement="interval")
    assert alone.alpha == people.alpha == pytest.approx(reference, rel=1e-9)
    assert np.ptp(people.interval or ()) > np.ptp(alone.interval or ())
    for nobodys_twice in ([], [0, 1]):
        with pytest.raises(StatisticsError, match="two ratings"):
            krippendorff_alpha_of_ratings(nobodys_twice, [0.5, 0.2][: len(nobodys_twice)], clusters=[0, 1])


def test_alpha_with_unsure_as_an_answer_is_the_librarys_and_with_two_answers_that_of_votes():
    rng = np.random.default_rng(2)
    answers = rng.integers(0, 3, (50, 7))
    answers[:25] = rng.choice([0, 0, 0, 1, 2], (25, 7))
    item, annotator = (code.ravel() for code in np.indices(answers.shape))
    counts = np.stack([(answers == value).sum(1) for value in range(3)], 1)
    found = krippendorff_alpha(counts, level="nominal", raters=Raters(item, annotator, answers.ravel()))
    assert found.alpha == pytest.approx(krippendorff.alpha(answers.T, level_of_measurement="nominal"))

    sure = answers.ravel() < 2
    given = Raters(item[sure], annotator[sure], answers.ravel()[sure])
    two = krippendorff_alpha(counts[:, :2], level="nominal", raters=given)
    raters = Raters(given.item, given.annotator, given.safe == 0)
    votes = agreement_of_votes(counts[:, 0], counts[:, :2].sum(1), raters=raters)
    assert two.alpha == pytest.approx(votes.alpha)
    assert two.interval == pytest.approx(votes.alpha_interval, rel=1e-6)


def test_a_vote_that_is_half_safe_adds_half_of_both():
    item, annotator = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])
    adds = PerVote(Raters(item, annotator, np.array([1, 0, 1, 0, 0.5])), np.array([3.0, 2, 5]), np.array([-1.0, 0, 1]))
    same = adds._replace(of_safe=np.array([3.0, 2, 3]), of_unsafe=np.array([-1.0, 0, 3]))

    assert adds.variance == pytest.approx(same.variance)
    assert adds.variance > 0


def release_like(rng, *, odd, by_chance, n=900):
    """A judge's scores that rise with people's rates, `odd` of them of another kind, drawn by chance or not."""
    rate = rng.binomial(20, rng.beta(0.7, 0.9, n)) / 20
    score = np.clip(np.round(1 + 9 * np.clip(rate + rng.normal(0, 0.22, n), 0, 1), 1), 1, 10)
    kind = np.zeros(n, dtype=bool)
    kind[rng.permutation(n)[:odd]] = True
    if by_chance:
        score[kind] = rng.integers(1, 11, odd)
    return score, kind, rate


def looked_at(score, kind, rate, **options) -> FilledInTest | None:
    """What is found where values of the odd kind are integers; only the kind tells them from the others, for they are large."""
    raw = [
        int(1000 * value) if odd else value if np.isnan(value) else 1000.0 * value
        for value, odd in zip(score.tolist(), kind, strict=True)
    ]
    return filled_in_test(raw, rate, **options)


def mixture_of(*arrays, **options) -> FilledInTest:
    """What is found; a mixture, because there is enough of both kinds."""
    found = looked_at(*arrays, **options)
    assert found is not None
    return found


def test_values_put_in_by_chance_are_found():
    found = mixture_of(*release_like(np.random.default_rng(1), odd=91, by_chance=True), rng=np.random.default_rng(2))

    assert found.suspect
    assert (found.n, found.n_rest) == (91, 809)
    assert abs(found.r) < 0.25 < found.r_rest


@pytest.mark.slow
@pytest.mark.parametrize("odd", [25, 91, 450])
def test_most_planted_mixtures_are_found(odd):
    rng = np.random.default_rng(odd)

    found = [mixture_of(*release_like(rng, odd=odd, by_chance=True), rng=rng, n_permutations=1_999) for _ in range(10)]

    assert sum(one.suspect for one in found) >= 8


@pytest.mark.slow
def test_values_of_two_kinds_that_behave_alike_are_no_finding():
    rng = np.random.default_rng(3)

    found = [mixture_of(*release_like(rng, odd=91, by_chance=False), rng=rng, n_permutations=1_999) for _ in range(30)]

    assert not any(one.suspect for one in found)
    assert sum(one.p <= 0.05 for one in found) <= 6
    assert min(one.p for one in found) >= 1 / 2000 > LEVEL / 2.1


def test_whole_scores_of_a_judge_that_is_worse_on_them_but_not_blind_are_no_finding():
    rng = np.random.default_rng(4)
    score, kind, rate = release_like(rng, odd=200, by_chance=False)
    score[kind] = np.clip(np.round(1 + 9 * (0.5 * rate[kind] + 0.5 * rng.random(200))), 1, 10)

    assert not mixture_of(score, kind, rate, rng=rng).suspect


@pytest.mark.parametrize(
    "change", [lambda x, k, r: (x, k & (np.arange(len(k)) < 40), r), lambda x, k, r: (np.full(len(x), 3.0), k, r)]
)
def test_where_too_little_is_there_nothing_is_said(change):
    arrays = change(*release_like(np.random.default_rng(5), odd=91, by_chance=True))

    assert looked_at(*arrays, rng=np.random.default_rng(0)) is None


def test_items_without_a_value_or_a_rate_are_left_out():
    score, kind, rate = release_like(np.random.default_rng(6), odd=91, by_chance=True)
    rate[np.flatnonzero(kind)[:10]], score[np.flatnonzero(~kind)[:9]] = np.nan, np.nan

    found = mixture_of(score, kind, rate)

    assert (found.n, found.n_rest) == (81, 800)


# A judge that was asked several times: what one answer is expected to give.


def asked_again(sample: Sample, rng: np.random.Generator, *, times: int) -> Sample:
    """The judge of `sample` with answers that differ from it, and from each other, at random; some are not read."""
    answers = []
    for _ in range(times):
        moved = np.clip(sample.probability + 0.3 * rng.normal(size=len(sample)), 0, 1)
        moved[rng.random(len(sample)) < 0.1] = NAN
        safe = np.where(np.isnan(moved), NAN, (moved > 0.5).astype(float))
        answers.append(replace(sample, safe=safe, probability=moved, value=moved))
    return replace(sample, answers=tuple(answers))


@pytest.mark.parametrize("policy", ["miss", "exclude"])
def test_a_share_over_several_answers_is_the_share_among_all_answers(policy):
    rng = np.random.default_rng(5)
    sample = asked_again(replace(random_sample(rng), unscored_policy=policy), rng, times=4)
    verdicts, weight = sample.verdicts.ravel(), np.tile(sample.weight, 4)
    counted = np.ones(len(verdicts), bool) if policy == "miss" else ~np.isnan(verdicts)

    (accuracy,) = estimate(sample, metrics=[find_metric("accuracy")])

    assert accuracy.estimate == pytest.approx(right_weight(verdicts, weight)[counted].mean())


def test_every_metric_of_judges_that_always_answer_alike_is_that_of_one_answer():
    sample = random_sample(np.random.default_rng(6), unscored=0.1)
    thrice = replace(sample, answers=(sample,) * 3)

    for once, again in zip(estimate(sample), estimate(thrice), strict=True):
        assert again.name == once.name
        assert again.fields("n") == pytest.approx(once.fields("n"), nan_ok=True)


def test_answers_go_with_their_items_and_with_votes_less():
    rng = np.random.default_rng(7)
    sample = asked_again(random_sample(rng), rng, times=2)
    mask = rng.random(len(sample)) < 0.5

    assert np.array_equal(sample.where(mask).verdicts, sample.verdicts[:, mask], equal_nan=True)
    relabelled = sample.with_people(rate=1 - sample.rate, weight=1 - sample.weight)
    assert all(np.array_equal(answer.weight, 1 - sample.weight) for answer in relabelled.answers)
    assert not sample.together.answers
