import random

import polars as pl
import pytest
from tests.support.sums import SUMS, Sum

from casewise.storage.run_folder import last_records, last_rows


def plainly(records):
    """What counts, said in the most obvious way: by attempt, and by place in the log where attempts are equal."""
    ranked = sorted(enumerate(records), key=lambda numbered: (numbered[1].attempt, numbered[0]))
    return {(one.left, one.right): one for _, one in ranked}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("attempts", [1, 3])
def test_records_and_columns_agree_on_which_attempt_counts(seed, attempts, tmp_path):
    rng = random.Random(seed)
    records = [
        Sum(left=rng.randrange(4), right=rng.randrange(3), attempt=rng.randrange(attempts), value=n) for n in range(40)
    ]
    table = pl.DataFrame([one.model_dump() for one in records])
    (tmp_path / SUMS.file).write_text("".join(one.line() + "\n" for one in records))

    found = last_records(tmp_path / SUMS.file, SUMS)
    rows = last_rows(table, ["left", "right"])

    assert {(one.left, one.right): one for one in found} == plainly(records)
    assert sorted(one.value for one in found if one.value is not None) == sorted(rows["value"])


def test_where_nothing_was_asked_twice_every_row_stays_as_it_is():
    table = pl.DataFrame({"left": [2, 1], "right": [0, 0], "attempt": [1, 0]})

    assert last_rows(table, ["left", "right"]).equals(table)
