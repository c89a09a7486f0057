import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from scipy.special import expit

from casewise.errors import StatisticsError
from casewise.stats.arrays import Raters
from casewise.stats.panel import (
    labels_needed,
    panel_curve,
    panel_worth,
    prediction_powered_rate,
    reference_weight,
    usual_reference,
)
from casewise.stats.shares import score_limits


def crowd(items=400, seed=1):
    rng = np.random.default_rng(seed)
    return rng.binomial(20, rng.beta(2, 2, items)), np.full(items, 20)


def majority(votes):
    share = votes.mean(-1)
    return np.where(share > 0.5, 1.0, np.where(share == 0.5, 0.5, 0.0))


@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_the_exact_curve_is_what_random_draws_of_votes_give(k):
    safe, votes = crowd(items=60)
    rng = np.random.default_rng(2)
    strings = np.arange(20) < safe[:, None]
    drawn = []
    for _ in range(400):
        shuffled = rng.permuted(strings, axis=1)
        panel, other = majority(shuffled[:, :k]), majority(shuffled[:, k : k + 10])
        drawn.append(np.mean(panel * other + (1 - panel) * (1 - other)))

    curve = panel_curve(safe, votes)
    assert curve.agreement[k - 1] == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 20)


def test_the_curve_rises_and_goes_on_smoothly_into_the_model():
    curve = panel_curve(*crowd())

    odd = curve.agreement[::2]
    assert (np.diff(odd) > 0).all()
    assert curve.modelled.tolist() == [k > 10 for k in range(1, 22)]
    assert np.diff(odd)[5] < 0.02
    assert (curve.ci_low < curve.agreement).all()
    assert (curve.agreement < curve.ci_high).all()


def test_a_tie_is_worth_nothing_more_than_one_person_less():
    curve = panel_curve(*crowd())

    assert curve.agreement[1] == pytest.approx(curve.agreement[0], abs=1e-12)


def test_two_items_by_hand():
    curve = panel_curve([2, 0], [2, 2], reference_size=1, largest=1)
    mixed = panel_curve([1, 1], [2, 2], reference_size=1, largest=1)

    assert curve.agreement[0] == pytest.approx(1)
    assert mixed.agreement[0] == pytest.approx(0)


@pytest.mark.parametrize(("people", "within", "seed"), [(1, 0.35, 3), (7, 2.1, 4)])
def test_a_judge_that_is_so_many_people_is_worth_as_many(people, within, seed):
    rng = np.random.default_rng(seed)
    true = rng.beta(2, 2, 4000)
    safe = rng.binomial(20, true)
    judge = rng.binomial(people, true) > people // 2

    worth = panel_worth(judge, safe, np.full(4000, 20))
    assert worth.people_low <= people <= worth.people_high
    assert worth.people == pytest.approx(people, abs=within)


def test_a_contrary_judge_is_worth_nobody():
    safe, votes = crowd()

    worth = panel_worth(safe < 10, safe, votes)
    assert worth.people == worth.people_low == 0


def test_a_judge_without_verdicts_is_a_coin():
    safe, votes = crowd()

    assert panel_worth(np.full(400, np.nan), safe, votes).agreement == pytest.approx(0.5)


def test_the_reference_is_ten_people_or_all_but_one_of_the_usual_number():
    assert [usual_reference([n] * 3) for n in (1, 2, 5, 11, 20)] == [1, 1, 4, 10, 10]
    assert usual_reference([20, 5, 5, 0, 0, 0]) == 4


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_panels_are_measured_only_as_far_as_the_judge_is_not_told_from_them(monkeypatch, share):
    rng = np.random.default_rng(3)
    safe = rng.binomial(11, rng.beta(1, 1, 200))
    judge = np.where(rng.random(200) < share, safe > 5, safe <= 5).astype(float)
    counts = (safe, np.full(200, 11))
    whole = panel_worth(judge, *counts, clusters=np.arange(200) // 2)
    monkeypatch.setattr("casewise.stats.panel.AT_ONCE", 400)

    found = panel_worth(judge, *counts, clusters=np.arange(200) // 2)

    assert astuple(found) == pytest.approx(astuple(whole))


REFERENCE = Path(__file__).parents[1] / "reference" / "prediction_powered.json"
CASES = json.loads(REFERENCE.read_text())["cases"]


def study(rng, *, queries=450, labelled=50, centre=0.0, skill=2.0):
    """Two items a query; a grader that leans to one side; people's verdicts on whole queries drawn at random."""
    z = centre + rng.normal(0, 1, queries).repeat(2) + rng.normal(0, 1, 2 * queries)
    said = rng.random(len(z)) < expit(z)
    grader = (skill * (z - centre) + rng.normal(0, 1, len(z)) + 0.5 > 0).astype(float)
    query = np.arange(queries).repeat(2)
    asked = np.isin(query, rng.permutation(queries)[: labelled // 2])
    return grader, np.where(asked, said, np.nan), query


@pytest.mark.parametrize("case", CASES)
def test_weight_and_estimate_are_those_of_the_authors_package(case):
    more = len(case["grader"]) - len(case["labels"])
    found = prediction_powered_rate(case["grader"], [*case["labels"], *[np.nan] * more])
    n = found.labels

    # Theirs divides the covariance by n, ours by n - 1.
    assert found.weight * (n - 1) / n == pytest.approx(case["weight"], abs=1e-12)
    moved = (found.estimate - found.by_labels) * (n - 1) / n
    assert found.by_labels + moved == pytest.approx(case["estimate"], abs=1e-12)


def test_without_items_that_only_the_grader_saw_the_rate_is_that_of_the_labels():
    found = prediction_powered_rate([1, 0, 1, 1], [1, 0, 0, 1])

    assert (found.estimate, found.weight) == (0.5, 0)
    assert found.worth == pytest.approx(4)
    # The variance of four labels of which two are safe is 1/12; n* = 0.25 / (1/12) = 3.
    assert found.error == pytest.approx(np.sqrt(1 / 12))


def test_a_grader_that_says_nothing_gets_no_weight_to_speak_of_and_a_good_one_is_worth_labels():
    rng = np.random.default_rng(1)
    grader, labels, query = study(rng, labelled=200, skill=3)
    useless = prediction_powered_rate(rng.random(len(labels)), labels, clusters=query)
    good = prediction_powered_rate(grader, labels, clusters=query)

    assert useless.weight < 0.2
    assert useless.worth == pytest.approx(200, rel=0.1)
    assert good.worth > 210
    assert good.ci_high - good.ci_low < good.by_labels_high - good.by_labels_low


def test_a_verdict_as_grader_is_stratified_and_allows_for_errors_that_no_label_shows():
    # 100 items, of which the grader calls 40 positive; 10 and 20 of the strata are labelled.
    grader = np.repeat([1.0, 0.0], [40, 60])
    labels = np.full(100, np.nan)
    labels[:10], labels[40:60] = 1.0, 0.0
    seen = prediction_powered_rate(grader, labels)
    labels[0] = 0.0
    some = prediction_powered_rate(grader, labels)

    assert seen.estimate == pytest.approx(0.4)
    assert seen.weight == pytest.approx(1)
    # No miss among 20 labels: Jeffreys' upper limit is about 0.12 of the 60 %; one of 10 wrong is 0.4 * 0.9.
    assert seen.ci_high == pytest.approx(0.4 + np.hypot(0.6 * 0.123, 2.045 * 0.049), abs=0.02)
    assert some.estimate == pytest.approx(0.36)


def voted(rng, *, queries=60, labelled=30, people=8):
    """Labels that are shares of three people's votes on two items of each of the first queries, with these votes."""
    items = np.arange(2 * queries)
    rated = np.repeat(items[: 2 * labelled], 3)
    annotator = (rated + np.tile([0, 3, 5], 2 * labelled)) % people
    vote = rng.random(len(rated)) < np.linspace(0.2, 0.9, people)[annotator]
    labels = np.full(2 * queries, np.nan)
    labels[: 2 * labelled] = vote.reshape(-1, 3).mean(1)
    return labels, items // 2, Raters(rated, annotator, vote)


def people_variance(labels, raters):
    """What people add to the variance of the labels' mean, by the formula."""
    influence = (raters.safe - labels[raters.item]) / 3 / np.sum(~np.isnan(labels))
    people = raters.annotator.max() + 1
    sums = np.bincount(raters.annotator, influence - influence.mean())
    return max(0, people / (people - 1) * (sums**2).sum() - ((influence - influence.mean()) ** 2).sum())


@pytest.mark.parametrize("known", [False, True])
def test_strata_have_jeffreys_limits_at_an_effective_number_of_labels(known):
    rng = np.random.default_rng(11)
    labels, query, raters = voted(rng)
    grader = np.where(np.nan_to_num(labels, nan=0.5) + rng.normal(0, 0.4, 120) > 0.5, 2.0, -1.0)
    found = prediction_powered_rate(grader, labels, clusters=query, level=0.9, raters=raters if known else None)

    rated = ~np.isnan(labels)
    strata = [grader == value for value in (-1.0, 2.0)]
    shares = np.array([stratum.mean() for stratum in strata])
    n = np.array([(stratum & rated).sum() for stratum in strata])
    means = np.array([labels[stratum & rated].mean() for stratum in strata])
    mean, weight = (np.where(strata[1], *column[::-1]) for column in (means, shares / n))
    error = np.bincount(query, np.where(rated, (np.nan_to_num(labels) - mean) * weight, 0))
    label_variance = (error**2).sum() * 30 / 29
    share_variance = (np.bincount(query, (mean - shares @ means) / 120) ** 2).sum()
    of_people = people_variance(labels, raters) if known else 0.0
    t = scipy.stats.t.ppf(0.95, (8 if known else 30) - 1)
    size = n * (shares**2 * means * (1 - means) / n).sum() / label_variance * (scipy.stats.norm.ppf(0.95) / t) ** 2
    low, high = (scipy.stats.beta.ppf(end, size * means + 0.5, size * (1 - means) + 0.5) for end in (0.05, 0.95))
    below, above = (
        np.sqrt((shares**2 * reach**2).sum() + t**2 * (share_variance + of_people))
        for reach in (means - low, high - means)
    )

    assert known == (of_people > 0)
    assert found.estimate == pytest.approx(shares @ means)
    assert (found.ci_low, found.ci_high) == pytest.approx((found.estimate - below, found.estimate + above))
    assert found.error == pytest.approx(np.sqrt(label_variance + share_variance + of_people))
    assert found.weight == pytest.approx((means[1] - means[0]) / 3)
    by_labels = 30 / 29 * (np.bincount(query[rated], labels[rated] - labels[rated].mean()) ** 2).sum() / 3600
    assert found.worth == pytest.approx(60 * (by_labels + of_people) / found.error**2)
    assert (found.labels, found.items) == (60, 120)


def test_a_grader_of_many_values_gets_score_limits_at_its_effective_number_of_labels():
    rng = np.random.default_rng(12)
    labels, query, raters = voted(rng)
    grader = np.nan_to_num(labels, nan=0.4) + rng.normal(0, 0.3, 120)
    found = prediction_powered_rate(grader, labels, clusters=query, level=0.9, raters=raters)

    rated = ~np.isnan(labels)

    def influence(values, chosen):
        deviation = np.where(chosen, values - values[chosen].mean(), 0) / chosen.sum()
        clusters = len(np.unique(query[chosen]))
        return np.bincount(query, deviation) * np.sqrt(clusters / (clusters - 1))

    own, gain = influence(np.nan_to_num(labels), rated), influence(grader, rated) - influence(grader, ~rated)
    whole = (influence(grader, np.ones(120, dtype=bool)) ** 2).sum() * 120 * (1 / 60 + 1 / 60)
    weight = own @ gain / whole
    of_people = people_variance(labels, raters)
    variance = ((own - weight * gain) ** 2).sum() * 29 / 28 + of_people
    estimate = labels[rated].mean() + weight * (grader[~rated].mean() - grader[rated].mean())
    assert 0 < weight < 1
    assert (found.weight, found.estimate, found.error) == pytest.approx((weight, estimate, np.sqrt(variance)))
    for p, v, limits in (
        (estimate, variance, (found.ci_low, found.ci_high)),
        (labels[rated].mean(), (own**2).sum() + of_people, (found.by_labels_low, found.by_labels_high)),
    ):
        expected = score_limits(p, p * (1 - p) / v, level=0.9, df=7)
        assert limits == pytest.approx((expected.low, expected.high))


def test_a_stratum_without_a_label_may_have_any_rate():
    grader, labels = np.repeat([0.0, 1.0], 10), np.full(20, np.nan)
    labels[:6] = 0.0
    found = prediction_powered_rate(grader, labels)

    assert (found.estimate, found.ci_low) == (0.25, 0)
    assert found.ci_high > 0.5


def test_labels_that_are_all_alike_are_worth_as_many_as_there_are():
    found = prediction_powered_rate([0.1, 0.2, 0.3, 0.4, 0.5], [1, 1, 1, np.nan, np.nan])

    assert (found.estimate, found.error, found.worth, found.weight) == (1, 0, 3, 0)
    assert found.ci_high == found.by_labels_high == 1
    limits = score_limits(1.0, 3.0, df=2)
    assert found.ci_low == pytest.approx(limits.low)


def test_the_weight_of_safe_in_a_reference_by_hand():
    """Of three votes with two safe, a reference of two is safe or tied; four votes with one safe leave it unsafe or tied."""
    found = reference_weight([2, 1, 2], [3, 4, 2], reference_size=2)

    assert found == pytest.approx([1 / 3 + 2 / 3 / 2, 1 / 2 / 2, np.nan], nan_ok=True)


def test_the_corrected_rate_covers_with_30_labels_and_a_grader_that_misses_some():
    rng, held = np.random.default_rng(3), 0
    for _ in range(300):
        does = rng.random(900) < 0.1
        grader = does & (rng.random(900) > 0.25)
        labels = np.where(rng.permutation(900) < 30, does, np.nan)
        found = prediction_powered_rate(grader, labels)
        held += found.ci_low <= 0.1 <= found.ci_high

    assert held / 300 >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [50, 100, 300])
@pytest.mark.parametrize("centre", [0.0, -2.0])
def test_the_interval_holds_peoples_rate_as_often_as_it_says(labelled, centre):
    rng = np.random.default_rng(labelled)
    truth = float(expit(centre + np.sqrt(2) * rng.normal(size=400_000)).mean())
    held = [
        found.ci_low <= truth <= found.ci_high
        for found in (
            prediction_powered_rate(grader, labels, clusters=query)
            for grader, labels, query in (study(rng, labelled=labelled, centre=centre) for _ in range(400))
        )
    ]

    assert 0.92 <= np.mean(held) <= 0.98


def test_the_labels_needed_give_the_width_that_was_asked_for():
    beside, alone = labels_needed(0.05, rate=0.4, correlation=0.7, items=2000)

    assert (beside, alone) == (207, 369)
    assert labels_needed(0.05, rate=0.4, correlation=-0.7, items=2000) == (beside, alone)
    assert labels_needed(0.05, rate=0.4, correlation=0.0, items=2000) == (369, 369)
    assert labels_needed(0.9, rate=0.4, correlation=0.5, items=20)[0] == 2
    assert labels_needed(0.05, rate=0.4, correlation=0.9, items=369)[0] <= 369
    assert 0.24 / beside * (1 - 0.49 * (2000 - beside) / 2000) == pytest.approx((0.05 / 1.959964) ** 2, rel=0.01)


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda: prediction_powered_rate([1, 0, 1], [1, np.nan, np.nan]), "two clusters"),
        (lambda: usual_reference([0, 0]), "no item has a vote"),
        (lambda: panel_curve([3], [5]), "no item has 11 votes"),
        (lambda: labels_needed(0.001, rate=0.4, correlation=0.7, items=2000), "too few"),
        (lambda: labels_needed(0.05, rate=0.4, correlation=1.0, items=2000), "correlation"),
        (lambda: labels_needed(0.05, rate=0.4, correlation=0.0, items=368), "368 items are too few"),
        (lambda: labels_needed(0.05, rate=0.4, correlation=0.5, items=1), "items must be"),
        (lambda: labels_needed(0.05, rate=1.0, correlation=0.5, items=9), "rate must lie"),
    ],
)
def test_what_cannot_be_answered_is_refused(ask, why):
    with pytest.raises(StatisticsError, match=why):
        ask()


@pytest.mark.parametrize("queries", [1, 2, 5, 40])
def test_a_judge_that_agrees_with_everybody_is_as_uncertain_as_so_few_queries_are(queries):
    found = panel_worth(np.ones(queries), np.full(queries, 5), np.full(queries, 5), reference_size=4)

    assert found.agreement == 1
    assert found.ci_low == pytest.approx(0.025 ** (1 / queries))
    assert found.ci_high == 1
    assert (found.people_low, found.people_high) == (0, float("inf"))


def test_a_judge_asked_several_times_is_worth_what_one_answer_is():
    rng = np.random.default_rng(8)
    safe, votes = rng.binomial(9, 0.6, 40), np.full(40, 9)
    answers = rng.integers(0, 2, (3, 40)).astype(float)

    singly = [panel_worth(answer, safe, votes, reference_size=5).agreement for answer in answers]
    assert panel_worth(answers, safe, votes, reference_size=5).agreement == pytest.approx(np.mean(singly))
