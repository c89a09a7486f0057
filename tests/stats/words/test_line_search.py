import numpy as np
import pytest

from casewise.stats.words import searched

dcsrch = pytest.importorskip("scipy.optimize._dcsrch", reason="scipy keeps it to itself")


@pytest.mark.parametrize("began", [1e-3, 0.1, 1.0, 40.0])
@pytest.mark.parametrize("seed", range(25))
def test_steps_are_those_of_minpacks_search(seed, began):
    """On waves upon a bowl, which take every branch of the interpolation."""
    rng = np.random.default_rng(seed)
    depth, pitch, phase = rng.uniform(0, 0.4), rng.uniform(1, 9), rng.uniform(0, 6)

    def value(t):
        return float(0.5 * (t - 1) ** 2 + depth * np.sin(pitch * t + phase))

    def slope(t):
        return float(t - 1 + depth * pitch * np.cos(pitch * t + phase))

    if slope(0.0) >= 0:
        assert depth * pitch > 1  # uphill: no line that L-BFGS would take
        return

    found = searched(value, slope, began=began, at_zero=(value(0.0), slope(0.0)))

    search = dcsrch.DCSRCH(value, slope, 1e-3, 0.9, 0.1, 0.0, 1e10)
    step, *_ = search(began, value(0.0), slope(0.0), maxiter=50)
    assert step is None or found == pytest.approx(step, rel=1e-10)
    assert found is not None
    assert value(found) < value(0.0)
