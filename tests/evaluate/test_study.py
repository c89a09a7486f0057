"""On which items more ratings say something of two judges."""

import numpy as np
import pytest
from scipy.stats import binom

from casewise.evaluate.study import JudgesPilot
from casewise.stats.ceilings import rate_posteriors
from casewise.text import QUERY, Text


def test_items_are_in_doubt_where_the_judges_differ_and_the_majority_may_turn():
    safe, votes = np.array([6, 6, 10, 0, 5, 10] * 8), np.full(48, 10)
    first, second = np.ones(48), np.tile([0.0, 1.0, 0.0, 0.0, 0.0, np.nan], 8)
    pilot = JudgesPilot(
        QUERY,
        (Text("a"), Text("b")),
        tuple(f"i{n:02d}" for n in range(48)),
        (first, second),
        safe,
        votes,
        np.arange(48),
    )

    found = pilot.in_doubt()
    assert "i01" not in found, "both say safe"
    assert "i02" not in found, "ten of ten: twenty others would say the same"
    assert next(iter(found)) in {f"i{n:02d}" for n in range(48) if n % 6 in (0, 4)}
    rates = rate_posteriors(safe, votes)
    chance = binom.sf(10, 20, rates.grid) + binom.pmf(10, 20, rates.grid) / 2
    assert found["i00"] == pytest.approx(1 - float(rates.posterior[rates.kind[0]] @ chance), abs=1e-6)
