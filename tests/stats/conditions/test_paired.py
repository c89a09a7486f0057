import math
from itertools import product

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar as oracle
from tests.support.data import reference

from casewise.errors import StatisticsError
from casewise.stats import mcnemar
from casewise.stats.conditions.paired import sign_flips


@pytest.mark.parametrize("case", reference("mcnemar.json"))
def test_agrees_with_r(case):
    result = mcnemar(case["b"], case["c"])

    assert result.chi_square == pytest.approx(case["chi2"], rel=1e-9)
    assert result.p_asymptotic == pytest.approx(case["p_asymptotic"], rel=1e-9)
    assert result.p_corrected == pytest.approx(case["p_corrected"], rel=1e-9)
    assert result.p_exact == pytest.approx(case["p_exact"], rel=1e-9)
    assert result.p_mid == pytest.approx(case["p_mid"], rel=1e-9)


@pytest.mark.parametrize(("b", "c"), [(0, 5), (7, 7), (1, 0), (300, 411)])
def test_exact_agrees_with_statsmodels(b, c):
    assert mcnemar(b, c).p_exact == pytest.approx(oracle([[9, b], [c, 9]], exact=True).pvalue, rel=1e-9)


def test_no_discordant_pair_leaves_nothing_to_test():
    result = mcnemar(0, 0)

    assert not result.testable
    assert (result.chi_square, result.log_p_exact) == pytest.approx((0, 0))
    assert (result.p_asymptotic, result.p_exact, result.p_mid) == pytest.approx((1, 1, 1))


def test_an_even_split_is_no_evidence():
    result = mcnemar(7, 7)

    assert (result.p_exact, result.p_mid) == pytest.approx((1, 1))


def test_the_corrected_p_of_a_difference_of_nought_or_one_is_one():
    assert mcnemar([4, 5], [4, 4]).p_corrected == pytest.approx([1, 1])


def test_log_p_goes_on_where_p_underflows():
    b, c = 5000, 40
    exact = math.log(2) + math.log(sum(math.comb(b + c, i) for i in range(c + 1))) - (b + c) * math.log(2)

    assert mcnemar(b, c).p_exact == 0
    assert mcnemar(b, c).log_p_exact == pytest.approx(exact, rel=1e-12)
    assert mcnemar(0, 3000).log_p_exact == pytest.approx(-2999 * math.log(2), rel=1e-12)


def test_tables_are_vectorised():
    assert mcnemar(np.array([40, 11]), np.array([22, 9])).p_mid[1] == pytest.approx(mcnemar(11, 9).p_mid)


def test_negative_counts_are_errors():
    with pytest.raises(StatisticsError):
        mcnemar(-1, 3)


def test_signs_of_clusters_are_flipped_in_every_way():
    net = [2, -1, 1, 1, 2, -2, 1]
    sums = np.abs([np.dot(signs, net) for signs in product((1, -1), repeat=len(net))])

    found = sign_flips(net)

    assert found.p_exact == pytest.approx((sums >= 4).mean())
    assert found.p_mid == pytest.approx((sums > 4).mean() + (sums == 4).mean() / 2)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (3, 3), (0, 5), (11, 9), (59, 37), (400, 520)])
def test_signs_of_single_items_are_mcnemars_exact_test(b, c):
    found, oracle = sign_flips([1] * b + [-1] * c + [0]), mcnemar(b, c)

    assert found.p_exact == pytest.approx(float(oracle.p_exact), rel=1e-9)
    assert found.p_mid == pytest.approx(float(oracle.p_mid), rel=1e-9)


@pytest.mark.parametrize("net", [[0.5], [2**40], [[1, 2]], ["a"]])
def test_differences_that_are_none_of_items_are_refused(net):
    with pytest.raises(StatisticsError):
        sign_flips(net)
