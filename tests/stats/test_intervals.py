import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from tests.support.data import reference

from casewise.stats import adjust
from casewise.stats.intervals import Correction

NAMES: dict[Correction, str] = {
    "bonferroni": "bonferroni",
    "holm": "holm",
    "benjamini_hochberg": "fdr_bh",
    "benjamini_yekutieli": "fdr_by",
}


@pytest.mark.slow
@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_agrees_with_statsmodels(method, n):
    p = np.random.default_rng(n).random(n).round(1) ** 3  # rounded: ties occur
    expected = multipletests(p, method=NAMES[method])[1]

    assert adjust(p, method) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("case", reference("multiplicity.json"))
def test_agrees_with_r(case):
    counted = np.array([p is not None for p in case["p"]])
    p = [1.0 if value is None else value for value in case["p"]]

    for method in NAMES:
        expected = [1.0 if value is None else value for value in case["adjusted"][method]]
        assert adjust(p, method, where=counted) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_known_values_by_hand():
    assert adjust([0.01, 0.04, 0.03], "holm") == pytest.approx([0.03, 0.06, 0.06])
    assert adjust([0.01, 0.04, 0.03], "benjamini_hochberg") == pytest.approx([0.03, 0.04, 0.04])
    assert adjust([0.01, 0.04], "benjamini_yekutieli") == pytest.approx([0.03, 0.06])


def test_tests_that_do_not_count_get_one_and_do_not_enlarge_the_family():
    p, where = [0.01, 0.5, 0.04], np.array([True, False, True])

    for method in NAMES:
        assert adjust(p, method, where=where) == pytest.approx(np.insert(adjust([0.01, 0.04], method), 1, 1.0))


def test_families_lie_on_leading_axes():
    p = np.random.default_rng(1).random((4, 6))

    assert adjust(p, "benjamini_hochberg")[2] == pytest.approx(adjust(p[2], "benjamini_hochberg"))


def test_no_tests_at_all_stay_none():
    assert adjust([], "bonferroni").size == 0
