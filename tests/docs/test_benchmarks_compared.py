"""The table of public benchmarks shows what their files give."""

import re
from pathlib import Path

import pytest
from tests.storage.loaders.test_public import REAL, real

from casewise.stats.agreement import krippendorff_alpha

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "benchmarks-compared.md"

ROWS = dict(re.findall(r"^\| `(\w+)`[^|]*\|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_the_size_and_the_agreement_that_the_file_gives(name, shared):
    found = real(shared, name, *REAL[name][0])
    items, _, alpha, *_ = (cell.strip() for cell in ROWS[name].split("|"))
    columns = found.item_columns
    counts = columns.select("n_safe", unsafe=columns["n_votes"] - columns["n_safe"], unsure="n_unsure").to_numpy()

    assert items.split()[0] == f"{found.counts.items:,}"
    if alpha == "–":
        assert counts.sum(axis=1).max() <= 1
    else:
        assert alpha.split()[0] == f"{krippendorff_alpha(counts, level='nominal').alpha:.3f}"
