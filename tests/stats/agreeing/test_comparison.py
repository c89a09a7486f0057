from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from tests.support.samples import NAN, covers, random_sample, sample_of, some

from casewise.errors import StatisticsError
from casewise.stats.comparison import Entrant, compare_judges
from casewise.stats.pairs import find_pairs, pair_results


def entrant(name, sample, asked=None):
    return Entrant(name, sample, np.ones(len(sample), bool) if asked is None else np.asarray(asked))


def noisier(sample, rng, share):
    wrong = rng.random(len(sample)) < share
    safe = np.where(wrong, 1 - sample.safe, sample.safe)
    probability = np.where(wrong, 1 - sample.probability, sample.probability)
    return replace(sample, safe=safe, probability=probability, value=probability)


@pytest.fixture
def three():
    rng = np.random.default_rng(1)
    best = random_sample(rng, queries=120)
    return [entrant("a", best), entrant("b", noisier(best, rng, 0.2)), entrant("c", noisier(best, rng, 0.25))]


def test_differences_are_of_the_judges_estimates(three):
    found = compare_judges(three)

    first = {e.name: e.estimate for e in found.estimates["a"]}
    second = {e.name: e.estimate for e in found.estimates["b"]}
    for difference in found.pairs[0].differences:
        assert difference.estimate == pytest.approx(some(first[difference.name]) - some(second[difference.name]))
    assert [(pair.first, pair.second) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_the_paired_test_is_exact_mcnemar_over_items_with_a_majority_where_a_query_has_one_item(three):
    three = [replace(one, sample=replace(one.sample, cluster=np.arange(len(one.sample)))) for one in three]
    test = some(compare_judges(three).pairs[0].test)
    a, b = three[0].sample, three[1].sample
    clear = a.weight != 0.5
    b_only = (a.safe != a.weight) & (b.safe == a.weight) & clear
    a_only = (a.safe == a.weight) & (b.safe != a.weight) & clear

    assert (test.only_first_right, test.only_second_right, test.n) == (a_only.sum(), b_only.sum(), clear.sum())
    oracle = statsmodels_mcnemar([[0, test.only_first_right], [test.only_second_right, 0]], exact=True)
    assert test.p_exact == pytest.approx(oracle.pvalue)
    assert test.p_mid < test.p_exact


def test_the_paired_test_knows_that_items_of_a_query_go_together(three):
    both = [replace(one, sample=replace(one.sample, cluster=np.arange(len(one.sample)) // 6)) for one in three]
    alone = [replace(one, sample=replace(one.sample, cluster=np.arange(len(one.sample)))) for one in three]

    together, apart = (some(compare_judges(some_judges).pairs[2].test) for some_judges in (both, alone))
    assert (together.only_first_right, together.only_second_right) == (apart.only_first_right, apart.only_second_right)
    assert together.p_exact != apart.p_exact


def test_holm_takes_all_pairs_into_account(three):
    tests = [some(pair.test) for pair in compare_judges(three).pairs]

    by_size = sorted(tests, key=lambda test: test.p_mid)
    assert by_size[0].p_holm == pytest.approx(min(1, 3 * by_size[0].p_mid))
    assert all(test.p_holm >= test.p_mid for test in tests)


def test_items_that_not_all_were_asked_are_left_out_and_named():
    sample = sample_of([1, 0, 1, 0], [1, 0, 0, 0])
    found = compare_judges(
        [entrant("a", sample, [True, True, True, False]), entrant("b", sample, [False, True, True, True])]
    )

    assert found.n_items == 2
    assert found.left_out == {"a": (0,), "b": (3,)}


def test_an_unscored_item_was_asked_and_counts_against_its_judge():
    people = [1, 0, 1, 0]
    found = compare_judges([entrant("a", sample_of(people, [1, 0, 1, NAN])), entrant("b", sample_of(people, people))])

    assert found.n_items == 4
    assert some(found.pairs[0].test).only_second_right == 1


def test_judges_that_nothing_tells_apart_do_not_enlarge_the_correction(three):
    found = compare_judges([*three[:2], entrant("copy", three[0].sample)])
    tests = {(pair.first, pair.second): some(pair.test) for pair in found.pairs}

    assert not tests["a", "copy"].testable
    assert tests["a", "copy"].p_holm == 1
    assert tests["a", "b"].p_holm == pytest.approx(min(1, 2 * tests["a", "b"].p_mid))


def test_judges_without_verdicts_are_not_tested_for_them():
    rng = np.random.default_rng(2)
    one, other = (replace(random_sample(rng, queries=40), safe=np.full(80, NAN)) for _ in range(2))
    (pair,) = compare_judges([entrant("a", one), entrant("b", other)]).pairs

    assert pair.test is None
    assert pair.turning_point is None
    assert "accuracy" not in {one.name for one in pair.differences}


def test_flips_and_both_errors_are_compared_on_the_pairs_that_all_were_asked(three):
    items = pl.DataFrame({"pair_id": [str(i // 2) for i in range(240)], "intended_safe": [True, False] * 120})
    asked = np.arange(240) >= 41
    found = compare_judges([*three[:1], replace(three[1], asked=asked)], pairs=find_pairs(items))
    (pair,) = found.pairs
    kept = find_pairs(items.filter(pl.Series(asked)))

    for name in ("right_flips", "false_flips"):
        first, second = (getattr(some(pair_results(one.sample.where(asked), kept)), name).estimate for one in three[:2])
        assert some(pair.difference(name)).estimate == pytest.approx(first - second)
    assert {"over_refusal", "harm"} <= {one.name for one in pair.differences}


@pytest.mark.parametrize(
    ("names", "asked", "message"),
    [
        (["a"], [[True, True]], "two judges"),
        (["a", "a"], [[True, True]] * 2, "one name"),
        (["a", "b"], [[True, False], [False, True]], "nothing to compare"),
    ],
)
def test_what_cannot_be_compared_is_refused(names, asked, message):
    sample = sample_of([1, 0], [1, 0])
    entrants = [entrant(name, sample, mask) for name, mask in zip(names, asked, strict=True)]

    with pytest.raises(StatisticsError, match=message):
        compare_judges(entrants)


def test_judges_of_tables_of_different_length_are_refused():
    with pytest.raises(StatisticsError, match="different tables"):
        compare_judges([entrant("a", sample_of([1], [1])), entrant("b", sample_of([1, 0], [1, 0]))])


@pytest.mark.slow
def test_the_interval_of_a_difference_covers_it():
    rng = np.random.default_rng(5)
    big = random_sample(rng, queries=100_000)
    truth = {
        d.name: d.estimate
        for d in compare_judges([entrant("a", big), entrant("b", noisier(big, rng, 0.1))]).pairs[0].differences
    }
    hits = dict.fromkeys(("accuracy", "auroc", "spearman", "brier"), 0)
    for _ in range(400):
        sample = random_sample(rng, queries=80)
        found = compare_judges([entrant("a", sample), entrant("b", noisier(sample, rng, 0.1))])
        for difference in found.pairs[0].differences:
            if difference.name in hits and difference.ci_low is not None:
                hits[difference.name] += covers(difference, some(truth[difference.name]))
    assert {name: n / 400 for name, n in hits.items() if n / 400 < 0.92} == {}
