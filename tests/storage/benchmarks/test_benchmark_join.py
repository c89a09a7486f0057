"""A release, and what people said since of other items over the same queries, as one benchmark."""

from dataclasses import replace

import pytest
from tests.support.benchmarks import context_of, rich_benchmark

from casewise.errors import BenchmarkError
from casewise.records import Item, Query, Rating
from casewise.storage.benchmark import Benchmark, join_benchmarks
from casewise.storage.benchmark_folder import read_benchmark, write_benchmark


def later(query, *, rated=True) -> Benchmark:
    """The generated context of the query, rated by somebody whose number is known."""
    first = rich_benchmark()
    context = context_of(query, intended_safe=False)
    items = (Item.from_context(context), Item(query_id=query.id, condition="no_context"))
    ratings = tuple(Rating(item_id=item.id, annotator_id="b1", verdict="safe") for item in items if rated)
    about = first.about.model_copy(update={"name": "later", "licence": "MIT", "gated": False})
    return replace(
        first, about=about, queries=(query,), contexts=(context,), items=items, ratings=ratings, revisions=()
    )


def test_all_of_both_is_there_once_and_reads_back(tmp_path):
    first = rich_benchmark()
    joined = join_benchmarks(first, later(first.queries[0]))

    assert [item.condition for item in joined.items] == [
        *("safe_revised", "unsafe_revised", "no_context", "no_context", "unsafe_generated")
    ]
    assert len(joined.ratings) == 9
    assert len(joined.queries) == 2
    assert joined.about.name == "rich-and-later"
    assert joined.about.gated, "what is gated stays so"
    assert joined.about.licence is None, "two licences are none"
    assert joined.about.canary == "canary 42"
    write_benchmark(joined, tmp_path / "joined")
    assert read_benchmark(tmp_path / "joined") == joined


def test_items_that_other_people_rated_before_are_refused():
    first = rich_benchmark()
    with pytest.raises(BenchmarkError, match="3 items were rated in both"):
        join_benchmarks(first, first)


def test_without_a_common_query_there_is_nothing_to_join():
    other = Query(text="another", category="terrorism")
    with pytest.raises(BenchmarkError, match="no query in common"):
        join_benchmarks(rich_benchmark(), later(other))
