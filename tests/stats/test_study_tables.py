import numpy as np
import polars as pl
import pytest

from casewise.stats.intervals import clopper_pearson_interval
from casewise.stats.labels import LabelPolicy
from casewise.stats.ratings import code_ratings
from casewise.stats.study_tables import label_table, share_limits


@pytest.mark.parametrize(("value", "people", "counted"), [(True, 10, 10), (False, 10, 10), (True, 80, 50)])
def test_ratings_that_are_all_alike_count_by_queries_or_by_people_where_these_are_fewer(value, people, counted):
    query, person = (part.ravel() for part in np.meshgrid(np.arange(50), np.arange(people), indexing="ij"))

    limits = share_limits(np.full(len(query), value), query, person, level=0.95)

    low, high = clopper_pearson_interval(float(value), counted)
    assert limits == pytest.approx({"ci_low": low, "ci_high": high})


@pytest.fixture
def ratings():
    """Items of two votes each: two safe, one unsafe, one tied; one of them without a context."""
    votes = {("a", "safe_revised"): "ss", ("b", "safe_revised"): "su", ("c", "no_context"): "ss"}
    votes |= {("d", "unsafe_revised"): "uu"}
    return code_ratings(
        pl.DataFrame(
            [
                {
                    "item_id": item,
                    "query_id": item,
                    "condition": condition,
                    "verdict": {"s": "safe", "u": "unsafe"}[vote],
                }
                for (item, condition), given in votes.items()
                for vote in given
            ]
        )
    )


@pytest.mark.parametrize(
    ("ties", "row"), [("half", (1, 0, 1, 0)), ("safe", (2, 0, 0, 0)), ("unsafe", (1, 1, 0, 0)), ("drop", (1, 0, 0, 1))]
)
def test_a_tie_is_worth_what_was_decided(ratings, ties, row):
    found = label_table(ratings, LabelPolicy("votes", ties)).filter(pl.col("condition") == "safe_revised")

    assert found.select("safe", "unsafe", "tied", "without").rows() == [row]


def test_an_item_without_a_context_has_no_intended_label(ratings):
    found = label_table(ratings, LabelPolicy("intended"))

    assert found.select("condition", "safe", "unsafe", "without").rows() == [
        ("no_context", 0, 0, 1),
        ("safe_revised", 2, 0, 0),
        ("unsafe_revised", 0, 1, 0),
    ]
