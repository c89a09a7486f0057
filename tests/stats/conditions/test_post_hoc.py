import numpy as np
import pytest
import scikit_posthocs
from tests.support.data import reference

from casewise.stats import dunn, pairwise_proportions


@pytest.mark.parametrize("case", reference("kruskal.json"))
def test_dunn_agrees_with_r(case):
    result = dunn(case["successes"], case["sizes"])

    if case["degenerate"]:
        assert (result.p == 1).all()
        assert not result.testable.any()
        return
    assert (result.pairs + 1).tolist() == case["pairs"]
    assert result.z == pytest.approx(case["dunn_z_rstatix"], rel=1e-9)
    assert result.p == pytest.approx(case["dunn_p"], rel=1e-9)
    assert result.adjusted("bonferroni") == pytest.approx(case["dunn_p_bonferroni"], rel=1e-9)
    assert result.adjusted("holm") == pytest.approx(case["dunn_p_holm"], rel=1e-9)
    assert result.adjusted("benjamini_hochberg") == pytest.approx(case["dunn_p_BH"], rel=1e-9)


@pytest.mark.parametrize("case", reference("kruskal.json"))
def test_pairwise_proportions_agree_with_r(case):
    result = pairwise_proportions(case["successes"], case["sizes"])

    if case["degenerate"]:
        assert (result.p == 1).all()
        return
    assert result.testable.any()
    for ours, theirs in (
        (result.p, "prop_p"),
        (result.adjusted("bonferroni"), "prop_p_bonferroni"),
        (result.adjusted("holm"), "prop_p_holm"),
    ):
        known = np.array([value is not None for value in case[theirs]])
        assert (known == result.testable).all()
        assert ours[known] == pytest.approx([v for v in case[theirs] if v is not None], rel=1e-9)
        assert (ours[~known] == 1).all()


def test_dunn_agrees_with_scikit_posthocs_on_the_ratings_themselves():
    successes, sizes = [9, 2, 7, 4], [12, 11, 15, 10]
    groups = [np.repeat([1, 0], [s, n - s]) for s, n in zip(successes, sizes, strict=True)]
    expected = scikit_posthocs.posthoc_dunn(groups).to_numpy()

    result = dunn(successes, sizes)
    assert result.p == pytest.approx([expected[i, j] for i, j in result.pairs], rel=1e-9)


def test_many_tasks_at_once_are_each_corrected_on_their_own():
    successes = np.random.default_rng(1).integers(0, 22, (30, 5))

    together = dunn(successes, np.full(5, 21))
    alone = dunn(successes[7], np.full(5, 21))
    assert together.adjusted("holm")[7] == pytest.approx(alone.adjusted("holm"))
    assert together.adjusted("benjamini_yekutieli").shape == (30, 10)


def test_a_positive_z_means_that_the_second_group_is_safer():
    assert dunn([1, 9], [10, 10]).z[0] > 0
    assert pairwise_proportions([1, 9], [10, 10]).z[0] > 0


def test_a_group_without_ratings_is_not_testable():
    result = dunn([3, 0, 7], [10, 0, 10])

    assert result.testable.tolist() == [False, True, False]
    assert (result.p[~result.testable] == 1).all()
