"""A release, and what people said since of other items over the same queries, as one benchmark."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.benchmarks import context_of, rich_benchmark

from casewise.errors import BenchmarkError
from casewise.records import Item, ParameterSet, Query, Rating
from casewise.storage.benchmark import About, Benchmark, join_benchmarks
from casewise.storage.benchmark_folder import read_benchmark, write_benchmark
from casewise.storage.intake.cases import benchmark_from_rows


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


def own_cases(name, *, purpose=None):
    row: dict[str, Any] = {"query": "Who?", "label": "safe", "context": {"sender": {"agent": name}}}
    if purpose:
        row["context"]["recipient"] = {"purpose": purpose}
    return benchmark_from_rows([row], About(name=name), source=name)


def test_two_imports_whose_contexts_state_the_same_parameters_are_joined_whatever_they_are_called():
    first, second = (own_cases(name, purpose="care") for name in ("first", "second"))
    joined = join_benchmarks(first, replace(second, parameters=may_miss(second.parameters, "recipient.purpose")))

    assert joined.parameters.names == ("sender.agent", "recipient.purpose")
    assert joined.parameters.required == ("sender.agent",), "one of them may lack the purpose"
    assert len(joined.items) == 2
    with pytest.raises(BenchmarkError, match="do not state the same parameters"):
        join_benchmarks(first, own_cases("third"))


def may_miss(parameters, name):
    """The same set, in which a parameter may be missing."""
    fields = parameters.as_json()
    for group in fields["groups"]:
        for part in group["parameters"]:
            part["may_be_missing"] = f"{group['name']}.{part['name']}" == name
    return ParameterSet.model_validate_json(json.dumps(fields))
