import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.benchmarks import context_of, rich_benchmark

from casewise.errors import BenchmarkError, ChecksumMismatch, ConfigurationError, DataError
from casewise.records import Context, Item, Query
from casewise.storage.benchmark import About, Benchmark
from casewise.storage.benchmark_folder import record_of, write_benchmark
from casewise.storage.columns import record_table
from casewise.storage.load import convert, load, load_frame

FOLDERS = ("folder", "parquet", "huggingface")


@pytest.mark.parametrize("first", FOLDERS)
@pytest.mark.parametrize("second", FOLDERS)
def test_from_any_folder_to_any_other_and_back_is_equal(tmp_path, first, second):
    original = rich_benchmark()
    write_benchmark(original, tmp_path / "start")
    convert(tmp_path / "start", tmp_path / "one", to=first)
    lost = convert(tmp_path / "one", tmp_path / "two", to=second)

    assert load(tmp_path / "two") == original
    assert load(tmp_path / "two").digest == original.digest
    assert lost == ()


@pytest.mark.slow
@pytest.mark.parametrize("through", FOLDERS)
def test_the_published_json_comes_back_equal_through_every_folder(tmp_path, shared, through):
    source = shared / "data" / "casebench_subset.json"
    convert(source, tmp_path / "between", to=through)
    convert(tmp_path / "between", tmp_path / source.name)

    assert load(tmp_path / source.name) == load(source)
    assert json.loads((tmp_path / source.name).read_text()) == json.loads(source.read_text())


def test_what_the_published_format_cannot_say_at_all_is_an_error(tmp_path):
    write_benchmark(rich_benchmark(), tmp_path / "start")

    with pytest.raises(BenchmarkError, match="no subject and no information type"):
        convert(tmp_path / "start", tmp_path / "x.json")
    cases = [{"query": "Who?", "context": "A nurse asks.", "intended": "safe", "votes": ["safe"]}]
    write_benchmark(load_frame(cases), tmp_path / "own")
    with pytest.raises(BenchmarkError, match="needs the parameters of the paper"):
        convert(tmp_path / "own", tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "x.json").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")

    for target in ("x.json", "full"):
        with pytest.raises(ConfigurationError, match="never overwritten"):
            convert("demo", tmp_path / target)
    assert (tmp_path / "x.json").read_text() == "mine"


def test_an_unknown_format_is_named_with_those_that_there_are(tmp_path):
    with pytest.raises(ConfigurationError, match="folder, published, parquet, huggingface"):
        convert("demo", tmp_path / "x", to="csv")  # type: ignore[arg-type]


def test_a_changed_table_is_noticed(tmp_path):
    convert("demo", tmp_path / "p", to="parquet")
    pl.read_parquet(tmp_path / "p" / "ratings.parquet").head(5).write_parquet(tmp_path / "p" / "ratings.parquet")

    with pytest.raises(ChecksumMismatch, match=r"ratings\.parquet"):
        load(tmp_path / "p")


def test_a_row_that_is_no_record_is_named(tmp_path):
    query = Query(text="a question", category="terrorism")
    row = record_table([query], Query).row(0, named=True) | {"text": "another question"}

    with pytest.raises(DataError, match=r"row 7: .*id"):
        record_of(row, Query, path=tmp_path / "queries.parquet", number=7)


visible = st.characters(exclude_categories=("C", "Z"))
some_words = st.text(visible | st.just(" "), max_size=9)
words = st.builds("{}{}{}".format, some_words, visible, some_words)
"""Printable and not blank, blanks at their ends included; made so rather than filtered, which may discard too many."""
statements = st.recursive(
    words,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(words, inner, min_size=1, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(text=words, background=statements, subject=st.none() | statements)
def test_whatever_a_context_states_comes_back_from_parquet(tmp_path_factory, text, background, subject):
    query = Query(text=text, category="terrorism")
    context = context_of(query, intended_safe=True, background=background, subject=subject)
    original = Benchmark(About(name="any"), (query,), (context,), (Item.from_context(context),))
    folder: Path = tmp_path_factory.mktemp("any") / "p"

    assert load(write_benchmark(original, folder, ending=".parquet")) == original
    assert record_table([context], Context).height == 1
