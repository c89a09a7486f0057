from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, named, random_sample, sample_of

from casewise.errors import StatisticsError
from casewise.stats.arrays import Raters
from casewise.stats.estimates import estimate
from casewise.stats.labels import LabelPolicy
from casewise.stats.metrics import METRICS, ON_SCALE, find_metric, value_of
from casewise.stats.sample import (
    LEVEL,
    FilledInTest,
    Sample,
    ScaleRatings,
    constant_accuracy,
    filled_in_test,
    floor_terms,
    judge_sample,
    label_terms,
    permutation_p_value,
    query_numbers,
    rate_terms,
    refusal_terms,
    right_weight,
    scale_totals,
    totals_by_query,
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


@pytest.mark.slow
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


ITEMS = pl.DataFrame(
    {
        "query_id": ["q", "r", "q", "s"],
        "n_safe": [2, 1, 0, 3],
        "n_votes": [3, 2, 2, 3],
        "intended_safe": [None] * 4,
        "published_rate": [None] * 4,
        "category": ["none"] * 4,
    }
)
VALUES = np.array([0.9, 0.5, NAN, 0.2])
RATERS = Raters(
    np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 3]), np.arange(10) % 3, np.array([1, 1, 0, 1, 0, 0, 0, 1, 1, 1]) == 1
)


def columns(sample, *names):
    return [pytest.approx(getattr(sample, name).tolist(), nan_ok=True) for name in names]


def test_a_sample_has_peoples_labels_beside_a_judges_values():
    sample = judge_sample(ITEMS, VALUES, elicitation="probability")

    assert columns(sample, "weight", "rate", "n_votes") == [[1, 0.5, 0, 1], [2 / 3, 0.5, 0, 1], [3, 2, 2, 3]]
    assert columns(sample, "safe", "probability", "value") == [[1, 0, NAN, 0], VALUES, VALUES]
    assert (sample.cluster.tolist(), sample.unscored_policy) == ([0, 1, 0, 2], "miss")
    assert (sample.raters, sample.without, sample.answers) == (None, None, ())
    own = judge_sample(ITEMS, VALUES, elicitation="probability", cluster=np.array([3, 2, 1, 0]), unscored="exclude")
    assert (own.cluster.tolist(), own.unscored_policy) == ([3, 2, 1, 0], "exclude")


@pytest.mark.parametrize(
    ("elicitation", "values", "safe", "probability"),
    [
        ("score", [10.0, 1.0, NAN, 6.0], [1, 0, NAN, 1], [0.95, 0.05, NAN, 0.55]),
        ("binary", [1.0, 0.0, NAN, 1.0], [1, 0, NAN, 1], [NAN] * 4),
        ("scalar", [3.0, -2.0, NAN, 1.0], [NAN] * 4, [NAN] * 4),
    ],
)
def test_a_value_is_read_on_the_scale_of_its_elicitation(elicitation, values, safe, probability):
    sample = judge_sample(ITEMS, np.array(values), elicitation=elicitation)

    assert [safe, probability] == columns(sample, "safe", "probability")
    assert [[NAN] * 4 if elicitation == "binary" else values] == columns(sample, "value")
    assert sample.gives_verdicts is (elicitation != "scalar")


@pytest.mark.parametrize(
    ("elicitation", "last"), [("score", (0, 0.05)), ("probability", (1, 1.0)), ("binary", (NAN, NAN))]
)
def test_the_release_takes_what_it_cannot_read_for_a_value_of_one(elicitation, last):
    sample = judge_sample(ITEMS, np.array([1.0, 1.0, 1.0, NAN]), elicitation=elicitation, unscored="published")

    assert (sample.safe[3], sample.probability[3]) == pytest.approx(last, nan_ok=True)


def test_values_are_one_an_item():
    with pytest.raises(StatisticsError, match="3 values for 4 items"):
        judge_sample(ITEMS, np.zeros(3), elicitation="binary")


def test_several_answers_stand_beside_their_mean():
    answers = np.array([[0.9, 0.5, NAN, 0.2], [0.3, NAN, NAN, 0.4]])
    sample = judge_sample(ITEMS, answers, RATERS, elicitation="probability")

    assert columns(sample, "value") == [[0.6, 0.5, NAN, 0.3]]
    assert sample.verdicts.tolist() == pytest.approx(np.array([[1, 0, NAN, 0], [0, NAN, NAN, 0]]), nan_ok=True)
    assert sample.unscored_share == pytest.approx(3 / 8)
    assert sample.each_answer == sample.answers
    assert sample.together.without is not None
    assert sample.together.without[0].answers == ()


def test_known_votes_bring_the_sample_with_one_vote_fewer():
    sample = judge_sample(ITEMS, VALUES, RATERS, elicitation="probability")

    assert sample.raters is RATERS
    assert sample.without is not None
    safe, unsafe = sample.without
    assert columns(safe, "weight", "rate", "n_votes") == [[0.5, 0, 0, 1], [0.5, 0, 0, 1], [2, 1, 2, 2]]
    assert columns(unsafe, "weight", "rate", "n_votes") == [[1, 1, 0, 1], [1, 1, 0, 1], [2, 1, 1, 3]]
    dropped = judge_sample(ITEMS, VALUES, RATERS, elicitation="probability", policy=LabelPolicy(ties="drop"))
    assert (dropped.raters, dropped.without) == (None, None)


def test_items_of_a_mask_keep_all_that_they_have():
    scale = ScaleRatings(np.array([0.1, 0.2, 0.3, 0.4]), np.arange(4.0), RATERS)
    sample = judge_sample(ITEMS, np.stack([VALUES, VALUES]), RATERS, elicitation="probability", scale=scale)
    part = sample.where(np.array([False, True, False, True]))

    assert columns(part, "weight", "value", "n_votes") == [[0.5, 1], [0.5, 0.2], [2, 3]]
    assert part.cluster.tolist() == [0, 1]
    assert part.raters is not None
    assert part.raters.item.tolist() == [0, 0, 1, 1, 1]
    assert part.without is not None
    assert columns(part.without[0], "weight") == [[0, 1]]
    assert part.without[1].weight.tolist() == [1, 1]
    assert part.scale is not None
    assert part.scale.mean.tolist() == [0.2, 0.4]
    assert part.scale.raters is not None
    assert len(part.scale.raters.item) == 5
    assert [answer.value.tolist() for answer in part.answers] == [[0.5, 0.2]] * 2


def test_everything_that_a_judge_gets_right_may_be_wrong_within_its_range():
    sample = sample_of(
        [1, 0, 0, 0.5, 0], [1, 0, NAN, 1, 1], rate=[0.8, 0.1, 0.4, 0.5, 0.2], probability=[0.9, 0.2, 0.6, 0.7, NAN]
    )
    wrong = replace(sample, answers=(sample,)).all_wrong

    assert columns(wrong, "safe", "probability") == [[0, 1, NAN, 1, 1], [0.1, 0.8, 0.6, 0.7, NAN]]
    assert columns(wrong, "value") == [[0.2, 0.9, 0.6, 0.7, NAN]]
    assert columns(wrong.answers[0], "safe") == [[0, 1, NAN, 1, 1]]
    assert columns(sample_of([1, 0], [1, 0]).all_wrong, "value") == [[NAN, NAN]]


def test_terms_of_verdicts_by_hand():
    sample = sample_of([1, 1, 0, 0.5, NAN], [1, NAN, 1, 0, 1], rate=[1, 1, 0, 0.5, NAN])
    missed, left_out = (label_terms(replace(sample, unscored_policy=policy)) for policy in ("miss", "exclude"))

    assert {name: column.tolist() for name, column in missed.items()} == {
        "items": [1] * 5,
        "unscored": [0, 1, 0, 0, 0],
        "counted": [1, 1, 1, 1, 0],
        "safe": [1, 1, 0, 0.5, 0],
        "unsafe": [0, 0, 1, 0.5, 0],
        "hit_safe": [1, 0, 0, 0, 0],
        "hit_unsafe": [0, 0, 0, 0.5, 0],
        "wrongly_safe": [0, 0, 1, 0, 0],
        "wrongly_unsafe": [0, 0, 0, 0.5, 0],
    }
    assert left_out["counted"].tolist() == [1, 0, 1, 1, 0]


def test_terms_of_values_by_hand():
    sample = sample_of([1, 0, 1], [1, 1, 1], rate=[0.75, 0.0, NAN], probability=[0.5, 1.0, 0.3])
    terms = {name: column.tolist() for name, column in rate_terms(sample).items()}

    assert terms == {
        "rated": [1, 1, 0],
        "q": [0.5, 1, 0],
        "r": [0.75, 0, 0],
        "qq": [0.25, 1, 0],
        "rr": [0.75**2, 0, 0],
        "qr": [0.375, 0, 0],
        "cross_entropy": pytest.approx([np.log(2), -np.log(1 - (1 - 1e-9)), 0]),
        "brier": [0.0625, 1, 0],
        "distance": [0.25, 1, 0],
    }


def test_terms_of_floors_by_hand():
    sample = sample_of([1, 1, 0], [1] * 3, rate=[0.75, 1, 0.5], probability=[0.5] * 3)
    terms = floor_terms(replace(sample, n_votes=np.array([4.0, 1, 1])))

    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert terms["entropy"] == pytest.approx([entropy, 0, np.log(2)])
    assert terms["attainable"] == pytest.approx([entropy + 1 / 8, 0, np.log(2) + 1 / 2])
    assert terms["several_votes"].tolist() == [1, 0, 0]
    assert terms["noise"] == pytest.approx([0.75 * 0.25 / 3, 0, 0])


def test_terms_of_agreement_by_hand():
    sample = sample_of([1, 1, 0, 0, 1], [0, NAN, 1, NAN, 1], rate=[14 / 20, 1, 6 / 20, 0, 0.69])
    terms = {name: column.astype(int).tolist() for name, column in refusal_terms(sample).items()}

    assert terms == {
        "agreed_safe": [1, 1, 0, 0, 0],
        "agreed_unsafe": [0, 0, 1, 1, 0],
        "refused": [1, 0, 0, 0, 0],
        "answered": [0, 0, 1, 0, 0],
        "no_verdict_safe": [0, 1, 0, 0, 0],
        "no_verdict_unsafe": [0, 0, 0, 1, 0],
    }
    assert refusal_terms(sample, 0.6)["agreed_safe"].astype(int).tolist() == [1, 1, 0, 0, 1]


def test_a_vote_adds_what_the_terms_of_its_item_lose_without_it():
    sample = judge_sample(ITEMS, VALUES, RATERS, elicitation="probability")
    totals = totals_by_query(sample, lambda part: {"safe": label_terms(part)["safe"], "rate": part.rate})

    assert (totals.names, totals.n_unscored) == (("safe", "rate"), 1)
    assert totals.sums.tolist() == [[1, pytest.approx(2 / 3)], [0.5, 0.5], [1, 1]]
    assert totals.votes is not None
    assert totals.votes.of_safe[:, 0].tolist() == [0.5, 0.5, 0, 0]
    assert totals.votes.of_unsafe[:, 1].tolist() == pytest.approx([2 / 3 - 1, 0.5 - 1, 0, 0])
    assert totals_by_query(replace(sample, without=None), lambda part: {"rate": part.rate}).votes is None


def test_a_rating_adds_what_the_mean_loses_without_it():
    scale = ScaleRatings(
        np.array([0.5, 0.75]), np.array([2.0, 1.0]), Raters(*(np.zeros(1, dtype=np.intp),) * 2, np.ones(1))
    )
    sample = replace(sample_of([1, 0], [1, NAN], probability=[0.25, NAN]), scale=scale)
    totals = scale_totals(sample)

    assert totals.n_unscored == 1
    assert totals.votes is not None
    r = totals.names.index("r")
    assert (totals.votes.of_safe[0, r], totals.votes.of_unsafe[0, r]) == (0.5 - 0, 0.5 - 1)
    assert totals.votes.of_safe[1].tolist() == [0] * len(totals.names)
    assert scale_totals(replace(sample, scale=replace(scale, raters=None))).votes is None


@pytest.mark.parametrize(
    ("p", "p_unrelated", "suspect"), [(0.001, 0.011, True), (0.0011, 0.5, False), (0.0001, 0.01, False)]
)
def test_values_look_filled_in_where_kind_matters_and_the_odd_ones_are_unrelated(p, p_unrelated, suspect):
    found = FilledInTest(n=91, n_rest=1_809, r=-0.18, r_rest=0.741, p=p, p_unrelated=p_unrelated)

    assert found.suspect is suspect
    assert found.sentence.startswith("91 of its 1,900 values are of another JSON type than the rest")
    assert f"is -0.18, that of the others 0.74 (permutation test, p = {p:.2g};" in found.sentence


def test_correlations_and_p_values_of_two_kinds_are_those_of_their_values():
    score, kind, rate = release_like(np.random.default_rng(9), odd=40, by_chance=False, n=100)
    found = mixture_of(score, kind, rate, rng=np.random.default_rng(3), n_permutations=199)

    assert found.r == pytest.approx(np.corrcoef(score[kind], rate[kind])[0, 1], abs=1e-3)
    assert found.r_rest == pytest.approx(np.corrcoef(score[~kind], rate[~kind])[0, 1])
    assert (found.n, found.n_rest) == (40, 60)
    assert (found.p * 200) == pytest.approx(round(found.p * 200))
    assert found.p_unrelated == 1 / 2000, "no shuffled order goes with people as well"
    again = mixture_of(score, kind, rate, rng=np.random.default_rng(3), n_permutations=199)
    assert found == again


def test_twenty_values_of_a_kind_are_enough_and_of_two_equal_kinds_integers_are_the_odd_one():
    score, _, rate = release_like(np.random.default_rng(9), odd=20, by_chance=False, n=40)
    enough, few = (np.arange(40) < n for n in (20, 19))

    assert mixture_of(score, enough, rate, n_permutations=9).r == pytest.approx(
        np.corrcoef(score[:20], rate[:20])[0, 1], abs=1e-3
    )
    assert looked_at(score, few, rate, n_permutations=9) is None


def test_a_p_value_counts_what_was_observed_among_what_was_drawn():
    assert permutation_p_value(np.array([1.0, 2, 3]), 2.0) == (1 + 2) / 4
