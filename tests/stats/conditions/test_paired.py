from itertools import product

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar
from tests.support.data import reference

from casewise.stats.contrasts import sign_flips


@pytest.mark.parametrize("case", reference("mcnemar.json"))
def test_signs_of_single_items_are_mcnemars_exact_test_in_r(case):
    found = sign_flips([1] * case["b"] + [-1] * case["c"] + [0])

    assert found.p_exact == pytest.approx(case["p_exact"], rel=1e-9)
    assert found.p_mid == pytest.approx(case["p_mid"], rel=1e-9)


def test_signs_of_clusters_are_flipped_in_every_way():
    net = [2, -1, 1, 1, 2, -2, 1]
    sums = np.abs([np.dot(signs, net) for signs in product((1, -1), repeat=len(net))])

    found = sign_flips(net)

    assert found.p_exact == pytest.approx((sums >= 4).mean())
    assert found.p_mid == pytest.approx((sums > 4).mean() + (sums == 4).mean() / 2)


@pytest.mark.parametrize(("b", "c"), [(3, 3), (0, 5), (11, 9), (59, 37), (400, 520)])
def test_signs_of_single_items_are_mcnemars_exact_test_in_statsmodels(b, c):
    assert sign_flips([1] * b + [-1] * c).p_exact == pytest.approx(
        mcnemar([[9, b], [c, 9]], exact=True).pvalue, rel=1e-9
    )


def test_judges_that_never_differ_leave_nothing_to_test():
    assert sign_flips([0, 0]) == (1.0, 1.0)
