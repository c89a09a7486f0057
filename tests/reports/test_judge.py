"""A judge's page: what stands where."""

import polars as pl

from casewise.evaluate.judge_numbers import METRIC_COLUMNS
from casewise.reports.judge import slices


def rows_of(**accuracies):
    """Rows of categories with these accuracies; None where it is undefined."""
    return pl.DataFrame(
        [
            {
                "judge": "one",
                "elicitation": "binary",
                "arm": "full",
                "slice": name,
                "metric": metric,
                "estimate": value,
                "n": 10.0,
            }
            for name, value in accuracies.items()
            for metric in ("accuracy", "recall_safe", "recall_unsafe", "unscored_rate")
        ],
        schema={
            name: METRIC_COLUMNS[name] for name in ("judge", "elicitation", "arm", "slice", "metric", "estimate", "n")
        },
    ).with_columns(
        ci_low=pl.lit(None, pl.Float64),
        ci_high=pl.lit(None, pl.Float64),
        n_unscored=pl.lit(0),
        method=pl.lit("made up"),
    )


def test_categories_stand_best_first_by_their_accuracy_and_not_by_how_it_is_written():
    rows = rows_of(none=None, worse=0.70001, better=0.70004, best=1.0)

    (forest,) = slices("category", rows)
    assert [row[0] for row in forest.table.rows] == ["best", "better", "worse", "none"]
    assert [row.label for row in forest.rows] == ["best", "better", "worse"]
