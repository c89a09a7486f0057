"""Numbers measured on sums over clusters, worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.samples import NAN

from casewise.errors import StatisticsError
from casewise.stats.arrays import PerVote, Raters
from casewise.stats.intervals import largest_unseen_share
from casewise.stats.measured import Functional, TotalsByCluster, share, weighted_mean

RIGHT = share("accuracy", "right", "all")
TWO = TotalsByCluster.from_terms(
    {"right": np.array([1.0, 0, 1, 1]), "all": np.ones(4)}, np.array([0, 0, 1, 1]), n_unscored=3
)
"""Two queries of two items, of which one and two are right."""


def functional(formula, *, kind="other"):
    return Functional("f", lambda totals: formula(totals["x"]), lambda totals: totals["x"], kind)


def test_a_share_has_the_influence_of_each_cluster():
    found = TWO.measure(RIGHT)

    assert (found.value, found.n, found.n_unscored, found.at_risk, found.kind) == (0.75, 4, 3, 2, "share")
    # Query g adds (right - 3/4 all) / 4: (1 - 1.5) / 4 and (2 - 1.5) / 4.
    assert found.influence == pytest.approx([-0.125, 0.125])
    assert found.variance == pytest.approx(2 * (0.125**2 + 0.125**2))
    # Both queries have a right item, and one has a wrong one.
    assert found.cluster_shares == (1.0, 0.5)
    assert (found.domain, found.loss, found.votes) == ((0.0, 1.0), None, None)


def test_the_jackknife_takes_the_influence_from_the_number_without_each_cluster():
    found = TWO.measure(RIGHT, jackknife=True)

    # 1 without the first query, 1/2 without the second; half of what that is below their mean.
    assert found.influence == pytest.approx([0.5 * (0.75 - 1), 0.5 * (0.75 - 0.5)])
    assert TotalsByCluster(("right", "all"), np.array([[1.0, 2.0]]), 0).measure(RIGHT, jackknife=True).influence == [0]


def test_a_number_that_is_undefined_without_a_cluster_stays_as_it_is_there():
    totals = TotalsByCluster(("right", "all"), np.array([[1.0, 2.0], [0.0, 0.0]]), 0)

    assert totals.jackknife_influence(RIGHT) == pytest.approx([0, 0])


def test_a_share_over_no_items_is_undefined_and_no_cluster_is_at_risk():
    found = TotalsByCluster(("right", "all"), np.zeros((3, 2)), 0).measure(RIGHT)

    assert np.isnan(found.value)
    assert (found.at_risk, found.cluster_shares, found.undefined) == (0, None, "undefined: no items of that kind")


def test_clusters_without_items_of_a_kind_are_not_at_risk():
    totals = TotalsByCluster(("right", "all"), np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 2.0]]), 0)

    assert totals.at_risk(RIGHT).tolist() == [True, False, True]
    assert totals.cluster_shares(RIGHT) == (0.5, 0.5)
    harmonic = functional(lambda x: np.where(x > 1, x, NAN), kind="harmonic")
    assert TotalsByCluster(("x",), np.array([[0.0], [1.0], [2.0]]), 0).at_risk(harmonic).tolist() == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(("total", "slope"), [(4.0, 0.25), (0.0, 1000.0)])
def test_the_slope_is_taken_by_differences_that_never_make_a_sum_negative(total, slope):
    """The root's slope is 1/4 at 4; at 0 it is that of the step of 1e-6 upwards."""
    seen = list[float]()

    def root(x):
        seen.extend(np.atleast_1d(x).tolist())
        return np.sqrt(x)

    totals = TotalsByCluster(("x",), np.array([[total]]), 0)

    assert totals.gradient(functional(root)) == pytest.approx([slope])
    assert min(seen) >= 0


def test_the_slope_of_a_negative_sum_is_taken_on_both_sides():
    totals = TotalsByCluster(("x",), np.array([[-3.0]]), 0)

    assert totals.gradient(functional(lambda x: x**2)) == pytest.approx([-6.0])


def test_what_goes_unseen_is_a_mixture_with_everything_judged_wrongly():
    wrong = replace(TWO, all_wrong=np.array([[0.0, 2.0], [0.0, 2.0]]))
    unseen = largest_unseen_share(2)

    assert TWO.unseen(RIGHT) is None
    assert wrong.unseen(RIGHT) == pytest.approx((1 - unseen) * 0.75)
    # Each item that is right is worth a quarter; the first query has one, the second two.
    assert wrong.measure(RIGHT).loss == pytest.approx([-0.25, -0.5])
    assert replace(wrong, all_wrong=np.array([[0.0, 4.0]])).measure(RIGHT).loss is None


def test_terms_are_chosen_and_joined_by_name():
    raters = Raters(*(np.zeros(1, dtype=np.intp),) * 2, np.ones(1, dtype=bool))
    votes = PerVote(raters, np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    both = replace(TWO, all_wrong=np.array([[0.0, 2.0], [0.0, 2.0]]), votes=votes)
    chosen = both.select("all")

    assert (chosen.names, chosen.sums.tolist()) == (("all",), [[2.0], [2.0]])
    assert chosen.all_wrong is not None
    assert chosen.all_wrong.tolist() == [[2.0], [2.0]]
    assert chosen.votes is not None
    assert (chosen.votes.of_safe.tolist(), chosen.votes.of_unsafe.tolist()) == ([[2.0]], [[4.0]])
    joint = chosen.join(both.select("right"))
    assert (joint.names, joint.sums.tolist()) == (("all", "right"), [[2.0, 1.0], [2.0, 2.0]])
    assert joint.votes is not None
    assert joint.votes.of_safe.tolist() == [[2.0, 1.0]]


def test_clusters_may_be_more_than_the_items_show():
    totals = TotalsByCluster.from_terms({"x": np.array([1.0, 2.0])}, np.array([0, 2]), n_clusters=5)

    assert totals.sums.ravel().tolist() == [1, 0, 2, 0, 0]
    assert TotalsByCluster.from_terms({"x": np.array([1.0, 2.0])}, np.array([0, 2])).sums.ravel().tolist() == [1, 0, 2]
    assert totals.added_by_annotators(np.ones((1, 2))).tolist() == [[0, 0], [0, 0]]


def test_a_weighted_mean_is_measured_on_the_same_clusters():
    first = replace(TWO.measure(RIGHT), loss=np.array([-1.0, -2.0]), unseen=0.5)
    second = replace(first, value=0.25, n=2.0, n_unscored=9, influence=np.array([0.5, -0.5]), at_risk=1, unseen=0.1)
    mean = weighted_mean([(0.25, first), (0.75, second)])

    assert mean.value == pytest.approx(0.25 * 0.75 + 0.75 * 0.25)
    assert (mean.n, mean.n_unscored, mean.at_risk, mean.kind) == (2, 9, 1, "share")
    assert mean.influence == pytest.approx([0.25 * -0.125 + 0.75 * 0.5, 0.25 * 0.125 - 0.75 * 0.5])
    assert mean.loss == pytest.approx([-1, -2])
    assert mean.unseen == pytest.approx(0.25 * 0.5 + 0.75 * 0.1)
    assert (mean.cluster_shares, mean.shares) == (None, ())
    assert weighted_mean([(1.0, first)], kind="other").kind == "other"


def test_a_mean_knows_only_what_all_its_numbers_know_and_why_it_is_undefined():
    known = replace(TWO.measure(RIGHT), loss=np.array([-1.0, -2.0]), unseen=0.5)
    unknown = replace(known, value=NAN, loss=None, unseen=None, undefined="undefined: one class only")
    mean = weighted_mean([(0.5, known), (0.5, unknown)])

    assert (mean.loss, mean.unseen, mean.undefined) == (None, None, "undefined: one class only")
    assert weighted_mean([(1.0, known)]).undefined == known.undefined


def test_numbers_of_different_clusters_have_no_mean():
    one = TWO.measure(RIGHT)

    with pytest.raises(StatisticsError, match="measured on different queries"):
        weighted_mean([(0.5, one), (0.5, replace(one, influence=np.zeros(3)))])


@pytest.mark.parametrize(("wordings", "independent"), [(1, 20), (2, 2), (30, 20)])
def test_a_variance_is_known_from_the_fewer_of_clusters_and_wordings(wordings, independent):
    assert replace(TWO.measure(RIGHT), at_risk=20, wordings=wordings).n_independent == independent


def test_what_fitted_thresholds_add_is_a_part_of_the_variance_besides_clusters():
    found = replace(TWO.measure(RIGHT), threshold_variance=0.25)

    assert (found.extra_variance, TWO.measure(RIGHT).extra_variance) == (0.25, 0.0)
    assert found.variance == TWO.measure(RIGHT).variance


RATERS = Raters(np.repeat(np.arange(3), 2), np.tile([0, 1], 3), np.tile([True, False], 3))
"""Two votes an item: the first person says safe throughout, and the second unsafe."""


def counts(safe, votes):
    return np.column_stack([safe, votes]).astype(float)


def test_terms_of_counts_are_summed_within_clusters_with_the_votes_of_known_people():
    numbers = (np.ones(3, dtype=int), np.full(3, 2))
    anonymous, known = (
        TotalsByCluster.from_counts(counts, numbers, np.array([1, 0, 1]), names=("right", "all"), raters=raters)
        for raters in (None, RATERS)
    )
    votes = PerVote.from_counts(counts, *numbers, RATERS)

    assert (anonymous.names, anonymous.sums.tolist(), anonymous.n_unscored) == (("right", "all"), [[1, 2], [2, 4]], 0)
    assert anonymous.votes is None
    assert known.votes is not None
    assert known.votes.of_safe.tolist() == votes.of_safe.tolist()
    assert known.votes.of_unsafe.tolist() == votes.of_unsafe.tolist()


def test_votes_add_to_the_variance_of_a_number_and_to_the_covariance_of_several():
    votes = PerVote(RATERS, np.array([[2.0, 0], [1, 0], [3, 0]]), np.array([[-1.0, 1], [-2, 0], [0, 2]]))
    totals = replace(TWO, votes=votes)
    found, gradient = totals.measure(RIGHT), totals.gradient(RIGHT)

    assert found.votes is not None
    assert found.votes.of_safe == pytest.approx(votes.of_safe @ gradient)
    assert found.votes.variance > 0
    assert replace(found, threshold_variance=0.25).extra_variance == pytest.approx(0.25 + found.votes.variance)
    both = totals.added_by_annotators(np.column_stack([gradient, 2 * gradient]))
    assert both == pytest.approx(found.votes.variance * np.array([[1, 2], [2, 4]]))


def test_totals_without_votes_stay_without_when_terms_are_joined():
    votes = PerVote(RATERS, np.zeros((3, 2)), np.zeros((3, 2)))

    assert TWO.join(replace(TWO, names=("a", "b"), votes=votes)).votes is None


def test_totals_are_named_by_their_last_axis():
    named = TWO.by_name(np.arange(12.0).reshape(3, 2, 2))

    assert named["all"].tolist() == [[1, 3], [5, 7], [9, 11]]


def test_without_items_there_are_no_clusters():
    nothing = TotalsByCluster.from_terms({"right": np.zeros(0), "all": np.zeros(0)}, np.zeros(0, dtype=np.intp))

    assert nothing.sums.shape == (0, 2)
    assert nothing.n_unscored == 0
    assert np.isnan(nothing.measure(RIGHT).value)


def test_only_a_proportion_has_shares_of_clusters():
    assert TWO.measure(share("mean", "right", "all", kind="mean", domain=(0.0, 5.0))).cluster_shares is None
    assert share("mean", "right", "all", kind="mean", domain=(0.0, 5.0)).domain == (0, 5)
