import numpy as np
import pytest
from scipy import stats

from casewise.stats.shares import chi_square_log_tail, chi_square_tail, student_log_tail, two_sided_log_p


@pytest.mark.parametrize("df", [3, 19, 400])
@pytest.mark.parametrize("t", [0.0, 0.5, 2.0, 30.0, 80.0])
def test_student_agrees_with_scipy(df, t):
    assert student_log_tail(t, df) == pytest.approx(stats.t.logsf(t, df), rel=1e-11)


def test_student_tends_to_the_normal_where_it_underflows():
    assert student_log_tail(60.0, 1e9) == pytest.approx(stats.norm.logsf(60.0), rel=1e-5)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 44])
def test_chi_square_is_continuous_where_the_method_changes(df):
    x = np.linspace(1200, 1500, 50)
    log = chi_square_log_tail(x, df, tail=chi_square_tail(x, df))

    assert np.diff(log, n=4) == pytest.approx(np.zeros(46), abs=1e-5)
    assert log[:5] == pytest.approx(stats.chi2.logsf(x[:5], df), rel=1e-12)


def test_no_p_is_above_one():
    assert two_sided_log_p(np.array([0.0])) == 0
