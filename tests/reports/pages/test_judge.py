"""A judge's page: what stands where."""

import polars as pl

from casewise.evaluate.judge_numbers import METRIC_COLUMNS
from casewise.records import Item, Query, RatingScale
from casewise.reports.judge import item_exhibit, slices
from casewise.storage.benchmark import About, Benchmark


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


def test_an_item_with_a_published_mean_and_no_votes_shows_the_mean_and_not_that_it_has_no_label():
    queries = tuple(
        Query(text=f"A nurse tells {whom} about a patient.", category="terrorism") for whom in ("Ann", "Bob")
    )
    rated, bare = (
        Item(query_id=query.id, condition="no_context", mean=mean)
        for query, mean in zip(queries, (1.26, None), strict=True)
    )
    benchmark = Benchmark(About(name="flows", scale=RatingScale(low=-2, high=2)), queries, (), (rated, bare), ())

    assert ("Mean rating", "1.260") in item_exhibit(benchmark, rated).facts
    assert "no label" not in str(item_exhibit(benchmark, rated).facts)
    assert "no label" in str(item_exhibit(benchmark, bare).facts)
