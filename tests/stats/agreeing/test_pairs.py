from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.support.samples import NAN, released_items, sample_of, some

from casewise.stats.arrays import Raters
from casewise.stats.pairs import find_pairs, pair_results, pair_terms, votes_of_pairs
from casewise.stats.sample import judged

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


def test_flips_are_right_reversed_or_false():
    found = results([1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1])

    assert found.both_right.estimate == pytest.approx(2 / 5)
    assert found.right_flips.estimate == pytest.approx(1 / 3)
    assert found.reversed_flips.estimate == pytest.approx(1 / 3)
    assert found.both_right_where_alike.estimate == pytest.approx(1 / 2)
    assert found.false_flips.estimate == pytest.approx(1 / 2)


def test_a_judge_that_never_turns_is_right_only_where_people_do_not_turn_either():
    found = results([0] * 12)

    assert found.right_flips.estimate == 0
    assert found.false_flips.estimate == 0
    assert found.both_right_where_alike.estimate == 0.5


def test_a_pair_without_a_verdict_is_no_flip_and_not_right():
    found = results([1, NAN, 1, 0, NAN, 0, 1, 1, NAN, NAN, 0, 1])

    assert found.counts.unscored == 2
    assert found.right_flips.estimate == pytest.approx(2 / 3)
    assert found.false_flips.estimate == 0
    assert [e.n_unscored for e in (found.both_right, found.right_flips, found.false_flips)] == [2, 1, 1]


def test_one_person_flips_as_often_as_two_votes_drawn_at_random():
    sample = sample_of([1, 0], [1, 0], rate=[0.9, 0.2], cluster=[0, 0])
    found = some(pair_results(sample, pairs_of(1)))

    assert found.person_right_flips.estimate == pytest.approx(0.9 * 0.8)
    assert found.person_reversed_flips.estimate == pytest.approx(0.1 * 0.2)
    assert found.person_false_flips.estimate is None


def test_one_person_is_held_against_the_others_alone():
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


def test_people_turn_on_317_pairs_of_the_release(shared):
    items = released_items(shared)
    sample = judged(items, items["intended_safe"].cast(pl.Float64).to_numpy(), elicitation="binary")
    found = some(pair_results(sample, find_pairs(items)))

    counts = found.counts
    assert (counts.differ, counts.both_unsafe, counts.both_safe, counts.tied) == (317, 43, 0, 90)
    assert found.right_flips.estimate == 1
    assert found.false_flips.estimate == 1
