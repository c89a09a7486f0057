from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from tests.support.samples import NAN, released_items, sample_of, some, width

from casewise.errors import StatisticsError
from casewise.stats.arrays import Raters
from casewise.stats.estimates import ALIKE, BY_PARTS, ONE_QUERY, estimate_of
from casewise.stats.intervals import degrees_of_freedom, t_interval_from_influences
from casewise.stats.measured import Measured, TotalsByCluster, weighted_mean
from casewise.stats.pairs import (
    TURNED,
    difference_of_means,
    find_pairs,
    flips,
    halves,
    hard_score,
    mean_of_shares,
    measured_flips,
    no_change_p,
    pair_results,
    pair_terms,
    shapley_values,
    subsets,
    votes_of_pairs,
    with_wording_variance,
)
from casewise.stats.sample import judge_sample

PEOPLE = [1, 0, 1, 0, 0, 0, 1, 1, 0.5, 0, 0, 1]
"""Six pairs: two turn, one is unsafe twice, one safe twice, one holds a tie, one turns the other way round."""


def pairs_of(n):
    return find_pairs(
        pl.DataFrame({"pair_id": np.repeat(np.arange(n), 2).astype(str), "intended_safe": [True, False] * n})
    )


def results(said, people=PEOPLE):
    n = len(people) // 2
    return some(pair_results(sample_of(people, said, cluster=np.repeat(np.arange(n), 2)), pairs_of(n)))


def test_what_people_say_of_pairs_is_counted():
    counts = results(PEOPLE).counts

    assert (counts.pairs, counts.differ, counts.both_unsafe, counts.both_safe) == (6, 3, 1, 1)
    assert (counts.tied, counts.reversed, counts.unscored) == (1, 1, 0)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            [1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1],
            {
                "both_right": 2 / 5,
                "right_flips": 1 / 3,
                "reversed_flips": 1 / 3,
                "both_right_where_alike": 1 / 2,
                "false_flips": 1 / 2,
            },
        ),
        ([0] * 12, {"right_flips": 0, "false_flips": 0, "both_right_where_alike": 0.5}),
        ([1, NAN, 1, 0, NAN, 0, 1, 1, NAN, NAN, 0, 1], {"right_flips": 2 / 3, "false_flips": 0}),
    ],
)
def test_flips_are_right_reversed_or_false_and_none_without_a_verdict(said, expected):
    judged_pairs = results(said)

    assert {name: getattr(judged_pairs, name).estimate for name in expected} == pytest.approx(expected)


def test_pairs_without_a_verdict_are_counted():
    judged_pairs = results([1, NAN, 1, 0, NAN, 0, 1, 1, NAN, NAN, 0, 1])

    assert judged_pairs.counts.unscored == 2
    of_pairs = (judged_pairs.both_right, judged_pairs.right_flips, judged_pairs.false_flips)
    assert [estimate.n_unscored for estimate in of_pairs] == [2, 1, 1]


def test_one_person_flips_as_often_as_two_votes_drawn_at_random():
    sample = sample_of([1, 0], [1, 0], rate=[0.9, 0.2], cluster=[0, 0])
    found = some(pair_results(sample, pairs_of(1)))

    assert found.person_right_flips.estimate == pytest.approx(0.9 * 0.8)
    assert found.person_reversed_flips.estimate == pytest.approx(0.1 * 0.2)
    assert found.person_false_flips.estimate is None


def test_one_person_is_compared_with_the_others_alone():
    """2 of 3 and 1 of 3: only where the odd one out is left out on both do the others have majorities."""
    sample = sample_of([1, 0], [1, 0], rate=[2 / 3, 1 / 3], cluster=[0, 0], n_votes=3)
    found = some(pair_results(sample, pairs_of(1)))

    assert found.person_right_flips.estimate == 0
    assert found.person_reversed_flips.estimate == 1
    assert found.beside_person_right_flips.estimate == 1
    assert found.person_right_flips.n == pytest.approx(1 / 9)


def test_one_person_reaches_what_votes_left_out_reach():
    rng = np.random.default_rng(8)
    votes = rng.random((40, 20)) < rng.beta(1.5, 1.5, size=(40, 1))
    rate = votes.mean(1)
    label = (np.sign(rate - 0.5) + 1) / 2
    sample = sample_of(label, label, rate=rate, cluster=np.repeat(np.arange(20), 2))
    found = some(pair_results(sample, pairs_of(20)))

    right = differ = false = alike = 0
    for first, second in zip(votes[::2], votes[1::2], strict=True):
        for i in range(20):
            for j in range(20):
                others = [np.sign(2 * np.delete(v, k).sum() - 19) for v, k in ((first, i), (second, j))]
                said = [2 * first[i] - 1, 2 * second[j] - 1]
                differ += others[0] != others[1]
                right += others[0] != others[1] and said == others
                alike += others[0] == others[1]
                false += others[0] == others[1] and said[0] != said[1]
    assert found.person_right_flips.estimate == pytest.approx(right / differ)
    assert found.person_false_flips.estimate == pytest.approx(false / alike)


def test_one_person_is_not_known_where_labels_are_not_votes_alone():
    sample = sample_of([1, 0], [1, 0], rate=[19 / 21, 5 / 21], cluster=[0, 0])

    assert some(pair_results(sample, pairs_of(1))).person_right_flips.estimate is None


def test_items_without_their_other_one_form_no_pair():
    items = pl.DataFrame(
        {"pair_id": ["a", "a", "b", None, "c", "c"], "intended_safe": [True, False, True, None, True, True]}
    )
    found = find_pairs(items)

    assert (found.safe.tolist(), found.unsafe.tolist(), found.n_incomplete) == ([0], [1], 3)


def test_a_group_pairs_every_safe_intended_item_with_every_unsafe_intended_one():
    items = pl.DataFrame({"pair_id": ["a"] * 4 + ["b"], "intended_safe": [False, True, False, True, True]})
    found = find_pairs(items)

    assert set(zip(found.safe.tolist(), found.unsafe.tolist(), strict=True)) == {(1, 0), (1, 2), (3, 0), (3, 2)}
    assert found.n_incomplete == 1
    left = found.where(np.array([True, True, False, True, True]))
    assert (left.safe.tolist(), left.unsafe.tolist(), left.n_incomplete) == ([1, 2], [0, 0], 1)
    assert found.where(np.array([False, True, False, True, True])).n_incomplete == 3

    large = find_pairs(pl.DataFrame({"pair_id": ["a"] * 40, "intended_safe": [True] * 10 + [False] * 30}))
    assert (len(large), len(set(large.unsafe)), len(set(large.safe))) == (30, 30, 10)
    sizes = {
        n: pl.DataFrame({"pair_id": ["a"] * (10 + n), "intended_safe": [True] * 10 + [False] * n}) for n in (10, 11)
    }
    assert {n: len(find_pairs(items)) for n, items in sizes.items()} == {10: 100, 11: 11}


def test_a_vote_on_an_item_of_several_pairs_adds_to_each_of_them():
    sample = sample_of([1, 0, 0], [1, 0, 1], rate=[0.6, 0.2, 0.4], cluster=[0, 0, 0], n_votes=5)
    fewer = (sample.with_votes_of(sample_of([0.5, 0, 0], [1, 0, 1], n_votes=4), np.arange(3)),) * 2
    raters = Raters(np.array([0, 1, 2]), np.arange(3), np.array([True, False, False]))
    pairs = find_pairs(pl.DataFrame({"pair_id": ["a"] * 3, "intended_safe": [True, False, False]}))

    votes = votes_of_pairs(pair_terms, replace(sample, raters=raters, without=fewer), pairs)

    counted = list(pair_terms(sample, pairs)).index("counted")
    assert votes is not None
    assert votes.of_safe[:, counted].tolist() == [2, 0, 0], "without the vote the safe item is a tie, in both pairs"


def test_where_there_are_no_pairs_there_are_no_results():
    items = pl.DataFrame(
        {"pair_id": [None, None], "intended_safe": [None, None]},
        schema={"pair_id": pl.String, "intended_safe": pl.Boolean},
    )

    assert pair_results(sample_of([1, 0], [1, 0]), find_pairs(items)) is None


def test_the_flips_of_a_comparison_are_those_of_the_results():
    sample = sample_of(PEOPLE, [1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1], cluster=np.repeat(np.arange(6), 2))
    found = some(pair_results(sample, pairs_of(6)))

    assert [estimate_of(value) for value in measured_flips(sample, pairs_of(6))] == [
        found.right_flips,
        found.false_flips,
    ]
    assert measured_flips(sample, pairs_of(6).where(np.zeros(12, dtype=bool))) == ()
    assert measured_flips(replace(sample, safe=np.full(12, NAN), value=np.ones(12)), pairs_of(6)) == ()


def test_votes_that_are_anonymous_add_nothing():
    sample = sample_of(PEOPLE, PEOPLE, cluster=np.repeat(np.arange(6), 2))
    raters = Raters(np.arange(12), np.arange(12), np.ones(12, dtype=bool))

    assert votes_of_pairs(pair_terms, replace(sample, without=(sample, sample)), pairs_of(6)) is None
    assert votes_of_pairs(pair_terms, replace(sample, raters=raters), pairs_of(6)) is None


def test_a_person_is_not_compared_with_others_where_an_item_has_one_vote():
    found = some(pair_results(sample_of([1, 0], [1, 0], cluster=[0, 0], n_votes=1), pairs_of(1)))

    assert found.person_right_flips.estimate is None
    assert found.right_flips.estimate == 1


def test_people_turn_on_317_pairs_of_the_release(shared):
    items = released_items(shared)
    sample = judge_sample(items, items["intended_safe"].cast(pl.Float64).to_numpy(), elicitation="binary")
    found = some(pair_results(sample, find_pairs(items)))

    counts = found.counts
    assert (counts.differ, counts.both_unsafe, counts.both_safe, counts.tied) == (317, 43, 0, 90)
    assert found.right_flips.estimate == 1
    assert found.false_flips.estimate == 1


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


def test_hard_scores_by_hand():
    """Of 1 of 2, 0 of 2 and 1 of 3 safe votes the shares chosen are 1/2, 1 and 2/3, of which 1/2, 0 and 1/3 are safe."""
    answers = np.array([[1, 0, 0, NAN], [1, NAN, 1, NAN]])
    found = hard_score([1, 0, 1, 2], [2, 2, 3, 2], baseline=[1] * 4, judge=answers, cluster=np.arange(4))

    assert found.n == found.accuracy.n == pytest.approx(13 / 6)
    assert found.accuracy.estimate == pytest.approx((11 / 13 + 5 / 13) / 2)
    assert (found.best, found.baseline) == pytest.approx((11 / 13, 5 / 13))
    assert found.accuracy.n_unscored == 1, "an item without a verdict in any answer"
    assert hard_score([1], [2], baseline=[1], judge=[0.0], cluster=[0]).accuracy.estimate == 0


def test_hard_scores_are_less_certain_where_annotators_differ_throughout():
    item, annotator = (place.ravel() for place in np.indices((40, 6)))
    vote = np.random.default_rng(4).random(240) < np.where(annotator < 3, 0.9, 0.1)
    safe, judge = np.bincount(item, vote).astype(int), np.tile([1.0, 0.0], 20)
    alone, known = (
        hard_score(safe, [6] * 40, baseline=1 - judge, judge=judge, cluster=np.arange(40), raters=raters).accuracy
        for raters in (None, Raters(item, annotator, vote))
    )

    assert known.estimate == alone.estimate
    assert width(known) > 1.2 * width(alone)


PLAYERS = ("recipient", "sender", "terms")


def measured(value, rng=None, *, clusters=40):
    noise = rng or np.random.default_rng(0)
    return Measured(
        "accuracy",
        value,
        n=80,
        n_unscored=0,
        influence=noise.normal(0, 0.01, clusters),
        at_risk=clusters,
    )


def game(values, **how):
    return {parts: measured(value, **how) for parts, value in zip(subsets(PLAYERS), values, strict=True)}


def by_brute_force(worth):
    """The mean of what each part adds, over all orders."""
    found = dict.fromkeys(PLAYERS, 0.0)
    for order in permutations(PLAYERS):
        shown: frozenset[str] = frozenset()
        for player in order:
            found[player] += (worth[shown | {player}] - worth[shown]) / 6
            shown |= {player}
    return found


def test_two_parts_share_what_only_both_bring():
    values = dict(zip(subsets(("a", "b")), map(measured, (0.0, 1.0, 3.0, 6.0)), strict=True))
    found = shapley_values(values)

    assert found["a"].estimate == pytest.approx(2)
    assert found["b"].estimate == pytest.approx(4)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_values_are_the_mean_over_all_orders_and_add_up(values):
    found = shapley_values(game(values))
    expected = by_brute_force(dict(zip(subsets(PLAYERS), values, strict=True)))

    for player in PLAYERS:
        assert found[player].estimate == pytest.approx(expected[player], abs=1e-9)
    assert sum(found[player].estimate or 0 for player in PLAYERS) == pytest.approx(values[-1] - values[0], abs=1e-9)


def test_a_part_that_adds_nothing_is_worth_nothing():
    worth = [0.5 + 0.2 * ("sender" in parts) + 0.1 * ("terms" in parts) for parts in subsets(PLAYERS)]
    found = shapley_values(game(worth))

    assert found["recipient"].estimate == pytest.approx(0)
    assert found["sender"].estimate == pytest.approx(0.2)


def test_the_interval_is_that_of_the_combined_influences():
    values = game([0.1 * i for i in range(8)], rng=np.random.default_rng(7))
    found = shapley_values(values)["sender"]
    influence = by_brute_force({parts: one.influence for parts, one in values.items()})["sender"]
    limits = t_interval_from_influences(some(found.estimate), influence, at_risk=40)

    assert limits is not None
    assert (found.ci_low, found.ci_high) == pytest.approx(limits)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (lambda: weighted_mean([(0.5, measured(1.0)), (0.5, measured(1.0, clusters=7))]), "different queries"),
        (lambda: shapley_values(dict(list(game([0.0] * 8).items())[:-1])), "missing: recipient, sender, terms"),
        (lambda: shapley_values(dict(list(game([0.0] * 8).items())[1:])), "missing: none"),
        (lambda: hard_score([20] * 5, [20] * 5, baseline=[1] * 5, judge=[1] * 5, cluster=np.arange(5)), "no hard ones"),
    ],
)
def test_what_has_no_answer_is_an_error(question, why):
    with pytest.raises(StatisticsError, match=why):
        question()


CLUSTER = np.array([0, 0, 1, 1, 2, 2])
EVERY = np.ones(6, dtype=bool)


def test_of_what_was_right_and_has_a_verdict_the_share_that_turned():
    before = np.array([0.0, 0, 0, 1, 0, NAN])
    after = np.array([1.0, 0, NAN, 0, 1, 1])
    found = flips(before, after, CLUSTER, mask=EVERY, towards="safe")
    assert (found.turned.value, found.turned.n) == (2 / 3, 3)  # items 0, 1, 4
    assert found.change.value == (2 - 1) / 4  # items 0, 1, 3, 4
    assert (found.silenced.value, found.silenced.n) == (1 / 5, 5)
    assert found.turned.n_unscored == 1


def test_towards_unsafe_is_the_same_seen_from_the_other_side():
    before, after = np.array([1.0, 1, 0, 1, 0, 1]), np.array([0.0, 1, 0, 0, 1, 1])
    mirrored = flips(1 - before, 1 - after, CLUSTER, mask=EVERY, towards="safe")
    assert flips(before, after, CLUSTER, mask=EVERY, towards="unsafe").turned.value == mirrored.turned.value == 0.5


def test_items_that_are_not_asked_about_count_nowhere():
    before, after = np.zeros(6), np.ones(6)
    found = flips(before, after, CLUSTER, mask=np.array([1, 0, 0, 0, 1, 0], dtype=bool), towards="safe")
    assert (found.turned.n, found.turned.at_risk, found.silenced.n) == (2, 2, 2)


def test_the_variance_is_that_of_a_ratio_over_queries():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(40), 2)
    before = (rng.random(80) < 0.3).astype(float)
    after = (rng.random(80) < 0.5).astype(float)
    at_risk, turned = before == 0, (before == 0) & (after == 1)
    share = turned.sum() / at_risk.sum()
    residuals = np.bincount(cluster, (turned - share * at_risk) / at_risk.sum())
    found = flips(before, after, cluster, mask=np.ones(80, dtype=bool), towards="safe").turned
    assert found.variance == pytest.approx(40 / 39 * (residuals**2).sum())


def test_nothing_turned_and_all_turned_have_intervals():
    before = np.zeros(40)
    cluster, every = np.repeat(np.arange(20), 2), np.ones(40, dtype=bool)
    none = flips(before, before, cluster, mask=every, towards="safe").turned
    full = flips(before, 1 - before, cluster, mask=every, towards="safe").turned
    assert estimate_of(none).ci_high == pytest.approx(1 - 0.025 ** (1 / 20))
    one, two = mean_of_shares([full]), mean_of_shares([none])
    assert one is not None
    assert two is not None
    difference = difference_of_means(one, two)
    assert difference.estimate == 1
    assert difference.ci_low == pytest.approx(1 - np.hypot(*[1 - 0.025 ** (1 / 20)] * 2))
    mean = mean_of_shares([none] * 6)
    assert mean is not None
    assert estimate_of(mean).ci_high == pytest.approx(estimate_of(none).ci_high)


def test_of_several_answers_numbers_are_the_mean():
    before, after = np.zeros((2, 6)), np.array([[1.0, 0, 0, 0, 0, 0], [1, 1, 1, np.nan, 0, 0]])
    found = flips(before, after, CLUSTER, mask=EVERY, towards="safe")
    assert found.turned.value == pytest.approx((1 + 3) / (6 + 5))
    assert found.silenced.value == pytest.approx(1 / 12)
    alone = flips(before[0], after[0], CLUSTER, mask=EVERY, towards="safe")
    assert flips(before[:1], after, CLUSTER, mask=EVERY, towards="safe").turned.value == alone.turned.value


def test_shares_of_one_query_are_in_no_mean():
    found = flips(np.zeros(2), np.ones(2), np.zeros(2, dtype=np.intp), mask=np.ones(2, dtype=bool), towards="safe")
    assert mean_of_shares([found.turned]) is None


def test_where_every_query_moves_alike_the_p_is_that_of_a_sign_test():
    before = np.zeros(6)
    change = flips(before, 1 - before, CLUSTER, mask=EVERY, towards="safe").change
    assert no_change_p(change) == 2 * 0.5**3
    assert no_change_p(flips(before, before, CLUSTER, mask=EVERY, towards="safe").change) == 1


def test_p_is_that_of_students_t_over_queries():
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(60), 2)
    before, after = ((rng.random(120) < share).astype(float) for share in (0.2, 0.5))
    change = flips(before, after, cluster, mask=np.ones(120, dtype=bool), towards="safe").change
    by_query = np.bincount(cluster, after - before) / 2
    t = by_query.mean() / (by_query.std(ddof=1) / np.sqrt(60))
    assert change.value / np.sqrt(change.variance) == pytest.approx(t)
    assert no_change_p(change) == pytest.approx(2 * scipy.stats.t.sf(t, degrees_of_freedom(change.influence)))
    assert no_change_p(replace(change, value=-change.value)) == no_change_p(change)
    assert no_change_p(replace(change, wordings=3)) == pytest.approx(2 * scipy.stats.t.sf(t, 2))


def test_a_change_of_no_item_or_of_one_query_has_no_p():
    change = flips(np.zeros(6), np.ones(6), CLUSTER, mask=EVERY, towards="safe").change

    assert np.isnan(no_change_p(replace(change, value=NAN)))
    assert np.isnan(no_change_p(replace(change, at_risk=1)))
    assert no_change_p(replace(change, at_risk=2)) == 0.5


def of_wordings(rates, queries, rng):
    """Flips of an attack whose wordings turn such shares of queries, two items each."""
    wording = np.arange(queries) % len(rates)
    turned = (rng.random((queries, 2)) < np.asarray(rates)[wording][:, None]).astype(float).ravel()
    cluster, of = np.repeat(np.arange(queries), 2), np.ones(2 * queries, dtype=bool)
    return [flips(0 * turned, turned, cluster, mask=of, towards="safe", wording=one).turned for one in (None, wording)]


def test_a_variance_over_wordings_is_that_of_the_wordings_means_where_they_differ_more_than_queries_do():
    plain, both = of_wordings([0.1, 0.2, 0.5, 0.8, 0.9], 100, np.random.default_rng(3))
    means = [plain.value + 5 * plain.influence[n::5].sum() for n in range(5)]
    assert both.value == plain.value
    assert both.variance == pytest.approx(np.var(means, ddof=1) / 5)
    assert both.variance > 5 * plain.variance
    assert estimate_of(both).limits == pytest.approx(
        t_interval_from_influences(both.value, both.influence, domain=(0, 1), at_risk=5)
    )


@pytest.mark.parametrize("rates", [[0.5], [0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 1.0]])
def test_wordings_that_do_not_differ_leave_the_interval_as_it_is(rates):
    plain, both = of_wordings(rates, 40, np.random.default_rng(8))
    assert both.variance == pytest.approx(max(plain.variance, both.variance))
    if both.variance == plain.variance:
        assert estimate_of(both) == estimate_of(plain)


@pytest.mark.slow
def test_intervals_over_wordings_hold_the_mean_of_all_wordings():
    rng = np.random.default_rng(20)
    held = np.zeros(2)
    for _ in range(400):
        found = [estimate_of(one) for one in of_wordings(np.clip(rng.normal(0.4, 0.15, 5), 0, 1), 60, rng)]
        held += [(one.ci_low or 0) <= 0.4 <= (one.ci_high or 0) for one in found]
    assert held[0] / 400 < 0.85
    assert held[1] / 400 > 0.92


def of_ten(n_turned, n=10):
    """A share of ten queries of one item, of which so many turned."""
    terms = {"turned": (np.arange(n) < n_turned).astype(float), "at_risk": np.ones(n)}
    return TotalsByCluster.from_terms(terms, np.arange(n)).measure(TURNED)


def test_a_difference_of_shares_has_its_limits_from_those_of_both():
    """Zou and Donner (2008): the distances to the limits add by squares."""
    first, second = of_ten(8), of_ten(3)
    (a_low, a_high), (b_low, b_high) = (some(estimate_of(part).limits) for part in (first, second))
    found = difference_of_means(first, second)

    assert found.estimate == pytest.approx(0.5)
    assert found.limits == pytest.approx(
        (0.5 - np.hypot(0.8 - a_low, b_high - 0.3), 0.5 + np.hypot(a_high - 0.8, 0.3 - b_low))
    )
    assert (found.method, found.n) == (BY_PARTS, 10)
    assert difference_of_means(first, of_ten(8)).method == ALIKE
    assert difference_of_means(first, of_ten(8)).limits is None
    assert difference_of_means(replace(of_ten(0), n=5.0), of_ten(10)).n == 5


def test_a_difference_of_shares_stays_within_its_range():
    """All of ten less none of ten: the limits reach beyond 1 on the way."""
    reach = np.hypot(*[1 - 0.025**0.1] * 2)

    assert difference_of_means(of_ten(10), of_ten(0)).limits == pytest.approx((1 - reach, 1))
    assert difference_of_means(of_ten(0), of_ten(10)).limits == pytest.approx((-1, reach - 1))


def test_shares_that_are_alike_and_show_no_spread_have_an_interval():
    reach = 1 - 0.025**0.1

    assert difference_of_means(of_ten(10), of_ten(10)).limits == pytest.approx((-reach, reach))


def test_a_difference_from_a_share_without_an_interval_has_none_for_the_same_reason():
    short = replace(of_ten(1), at_risk=1)

    for found in (difference_of_means(of_ten(8), short), difference_of_means(short, of_ten(8))):
        assert (found.limits, found.method) == (None, ONE_QUERY)


def test_a_mean_of_shares_over_queries_of_their_own_has_the_influence_of_each():
    first, second = of_ten(8), of_ten(3, n=5)
    mean = some(mean_of_shares([first, second], [np.arange(10), np.array([11, 9, 0, 1, 2])]))

    expected = np.zeros(12)
    expected[:10] += first.influence / 2
    expected[[11, 9, 0, 1, 2]] += second.influence / 2
    assert mean.value == pytest.approx((0.8 + 0.6) / 2)
    assert mean.influence == pytest.approx(expected)


def test_a_mean_of_shares_whose_queries_are_not_known_may_be_carried_by_all():
    mean = some(mean_of_shares([replace(of_ten(8), cluster_shares=None), of_ten(3)]))

    assert mean.cluster_shares == (1.0, 1.0)
    assert mean_of_shares([]) is None


def test_a_number_that_is_undefined_has_no_variance_over_wordings():
    undefined = replace(of_ten(8), value=NAN)

    assert with_wording_variance(undefined, np.arange(10) % 5) is undefined


def test_a_mean_of_shares_is_carried_by_no_more_queries_than_all_of_them_together():
    mean = some(mean_of_shares([of_ten(8), of_ten(3, n=10)]))

    assert mean.value == pytest.approx(0.55)
    assert mean.cluster_shares == pytest.approx((1.0, 0.9))
    assert mean.n == 10
    assert some(mean_of_shares([of_ten(8), of_ten(1, n=1)])).value == pytest.approx(0.8), "one query has no share"
    assert some(mean_of_shares([of_ten(8), replace(of_ten(3), n=6.0)])).n == 10
