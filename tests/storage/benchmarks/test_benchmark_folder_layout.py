"""What stands in a benchmark folder, and the texts and rows that are made of its benchmark."""

import json
import os

import polars as pl
import pytest
from tests.support.benchmarks import rich_benchmark
from tests.support.demo import DEMO

from casewise.errors import ConfigurationError, DataError
from casewise.records import Item, Query, Rating, paper_parameters
from casewise.storage import benchmark_folder
from casewise.storage.benchmark_folder import (
    FILES,
    LAYOUTS,
    MANIFEST,
    item_view,
    new_folder,
    people_rows,
    places_of,
    read_all,
    read_benchmark,
    read_manifest,
    record_of,
    texts,
    write_benchmark,
    write_tables,
)
from casewise.storage.columns import ContextFile

RICH = rich_benchmark()


def test_a_folder_has_a_file_for_each_kind_of_record_and_one_for_annotators_where_there_are_any(tmp_path):
    write_benchmark(RICH, tmp_path / "rich")
    write_benchmark(DEMO, tmp_path / "demo", ending=".parquet")

    assert {path.name for path in (tmp_path / "rich").iterdir()} == {*FILES, "annotators.jsonl", MANIFEST}
    assert {path.stem for path in (tmp_path / "demo").glob("*.parquet")} == {
        name.removesuffix(".jsonl") for name in FILES
    }
    assert len(LAYOUTS) == 6
    assert set(FILES) in LAYOUTS


def test_tables_may_stand_in_a_folder_of_their_own(tmp_path):
    assert write_tables(RICH, tmp_path, under="data/")[:2] == ("data/queries.parquet", "data/contexts.parquet")
    assert (tmp_path / "data" / "annotators.parquet").is_file()


def test_a_manifest_states_a_set_of_parameters_only_where_it_is_not_the_papers(tmp_path):
    write_benchmark(DEMO, tmp_path / "demo")

    manifest = read_manifest(tmp_path / "demo")

    assert manifest.parameters is None
    assert manifest.frame == {"taxonomy": DEMO.taxonomy, "parameters": paper_parameters()}


def test_a_new_folder_has_usual_permissions_and_no_draft_is_left(tmp_path):
    before = os.umask(0o027)
    try:
        with new_folder(tmp_path / "deep" / "new") as draft:
            assert draft.parent == tmp_path / "deep"
            (draft / "file").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "deep" / "new").stat().st_mode & 0o7777 == 0o750
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "deep" / "other"):
        _ = 1 // 0
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["new"]


def test_an_empty_folder_is_taken_and_a_file_is_not(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()

    with new_folder(tmp_path / "empty") as draft:
        (draft / "file").touch()
    with pytest.raises(ConfigurationError, match="file exists and a benchmark is never overwritten"):
        new_folder(tmp_path / "file").__enter__()


def test_a_run_is_told_from_a_benchmark(tmp_path):
    run = tmp_path / "my run"
    run.mkdir()
    (run / "run.json").touch()

    with pytest.raises(DataError, match=f"it has no {MANIFEST}; it is a run: casewise report '{run}'"):
        read_manifest(run)


@pytest.mark.parametrize("version", [0, -1, 2])
def test_a_version_is_one_that_there_was(tmp_path, version):
    write_benchmark(RICH, tmp_path / "rich")
    path = tmp_path / "rich" / MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": version}))

    with pytest.raises(
        DataError, match=f"format_version is {version}, {'newer than 1' if version > 1 else 'no version'}"
    ):
        read_manifest(path.parent)


def test_counts_of_a_manifest_are_those_of_the_files(tmp_path):
    write_benchmark(RICH, tmp_path / "rich")
    path = tmp_path / "rich" / MANIFEST
    value = json.loads(path.read_text())
    value["counts"]["items"] += 1
    path.write_text(json.dumps(value))

    with pytest.raises(DataError, match=r"'counts' says queries=2 .*, but the files hold queries=2 "):
        read_benchmark(path.parent)


def test_a_table_that_is_no_parquet_is_named(tmp_path):
    (tmp_path / "items.parquet").write_bytes(b"no table")

    with pytest.raises(DataError, match=r"items\.parquet: cannot be read as Parquet"):
        read_all(tmp_path / "items.parquet", Item, in_file=False)


def test_a_row_that_is_no_record_is_named_by_its_place(tmp_path):
    with pytest.raises(DataError, match=r"q\.parquet: row 3: 'text': Field required"):
        record_of({"category": "a"}, Query, path=tmp_path / "q.parquet", number=3)


def test_ratings_with_times_are_read_line_by_line(tmp_path):
    write_benchmark(RICH, tmp_path / "rich")

    assert read_all(tmp_path / "rich" / "ratings.jsonl", Rating, in_file=True) == RICH.ratings


@pytest.mark.parametrize("cached", [True, False])
def test_a_benchmark_is_cached_from_so_many_rows_and_only_with_contexts_in_their_file(tmp_path, monkeypatch, cached):
    folder = write_benchmark(DEMO, tmp_path / "demo")
    counted = DEMO.counts.contexts + DEMO.counts.ratings
    monkeypatch.setattr(benchmark_folder, "MIN_ROWS_TO_CACHE", counted + (0 if cached else 1))
    kept = []
    monkeypatch.setattr(benchmark_folder, "cache_tables", lambda *parts: kept.append(parts))

    assert not isinstance(read_benchmark(folder).contexts, ContextFile)
    assert kept == []
    assert isinstance(read_benchmark(folder, most_held=DEMO.counts.contexts - 1).contexts, ContextFile)
    assert len(kept) == cached


def test_a_benchmark_with_revisions_is_not_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_folder, "MIN_ROWS_TO_CACHE", 0)
    monkeypatch.setattr(benchmark_folder, "cache_tables", lambda *_: pytest.fail("it was cached"))

    assert read_benchmark(write_benchmark(RICH, tmp_path / "rich"), most_held=0) == RICH


def test_the_texts_of_items_are_those_of_the_context_the_query_or_both():
    context, query, both = (list(texts(RICH, features)) for features in ("context", "query", "query+context"))

    assert query == [*[RICH.queries[0].text] * 3, 'Who?\n"…"\nI cannot say.']
    assert context[2:] == ["", ""]
    assert context[0].splitlines()[-2:] == ["whom: a patient", "dosage"]
    assert both[0] == f"{query[0]}\n{context[0]}"
    assert both[2:] == query[2:]
    some = RICH.items.at(pl.Series([2, 0]).to_numpy())
    assert list(texts(RICH, "query+context", some)) == [both[2], both[0]]


def test_a_row_for_people_has_the_statements_of_the_set_and_the_share_of_safe_votes():
    view = item_view(RICH)

    assert view["recipient_type"].to_list() == ["nurse", "nurse", None, None]
    assert view["id"].to_list() == [None, None, None, "=7"]
    assert view["safe_rate"].to_list() == [0.5, 0.0, None, 0.5]
    assert view.columns[-2:] == ["subject", "information_type"]


def test_people_rows_have_a_value_where_people_decided():
    rows = people_rows(RICH)

    assert rows["value"].to_list() == [1.0, 0.0, 0.0, 0.0, None, 1.0, 0.0]
    assert rows["rater_id"].to_list() == ["a1", "a2", None, None, None, "a1", "a2"]
    assert rows["item_id"].to_list() == [rating.item_id for rating in RICH.ratings]


def test_judgements_have_the_places_of_their_items(tmp_path):
    ids = [item.id for item in RICH.items]
    judged = pl.DataFrame({"item_id": [ids[2], ids[0], ids[2]]})

    assert places_of(RICH.item_columns, judged, source=tmp_path / "log").to_list() == [2, 0, 2]
