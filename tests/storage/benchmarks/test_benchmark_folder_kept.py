import json
import pickle
import shutil

import polars as pl
import pytest

from casewise.errors import ChecksumMismatch
from casewise.judges.plan import Selection, select
from casewise.records import Item
from casewise.storage import benchmark_folder as kept
from casewise.storage import columns as record_columns
from casewise.storage import write_benchmark
from casewise.storage.benchmark_folder import MANIFEST, RECORDS, read_benchmark, read_manifest, sha256
from casewise.storage.columns import RecordColumns, RecordsById, record_table, schema
from casewise.storage.files import cache_folder
from casewise.storage.load import load
from casewise.storage.published import write_published


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(kept, "MIN_ROWS_TO_CACHE", 1)


@pytest.fixture
def folder(tmp_path):
    demo = load("demo")
    return write_benchmark(demo.restricted_to(demo.items[:9]), tmp_path / "nine")


def places():
    return sorted((cache_folder() / "benchmarks").glob("*"))


def read(folder):
    return read_benchmark(folder, most_held=0)


def test_a_kept_benchmark_equals_the_one_that_was_read(folder, monkeypatch):
    first = read(folder)
    monkeypatch.setattr(kept, "read_whole", lambda *_, **__: pytest.fail("it was read whole again"))

    again = read(folder)

    assert again == first
    assert again.digest == first.digest
    assert again.item_columns.equals(first.item_columns)
    assert [again.intent_of(item) for item in again.items] == [first.intent_of(item) for item in first.items]
    assert again.restricted_to(again.items[:3]) == first.restricted_to(first.items[:3])


def test_another_file_is_not_taken_for_the_one_that_was_kept(folder):
    first = read(folder)
    ratings = folder / "ratings.jsonl"
    ratings.write_text(ratings.read_text().replace('"safe"', '"unsafe"'))

    with pytest.raises(ChecksumMismatch):
        read(folder)

    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"]["ratings.jsonl"] = sha256(ratings)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert read(folder).digest != first.digest


@pytest.mark.parametrize("name", ["kept.json", *(f"{table}.parquet" for table in kept.CACHED_TABLES)])
@pytest.mark.parametrize("damage", [b"{}", None])
def test_what_is_damaged_is_read_anew_and_kept_anew(folder, name, damage):
    first = read(folder)
    (place,) = places()
    (place / name).write_bytes(damage) if damage is not None else (place / name).unlink()

    assert read(folder) == first
    assert {path.name for path in place.iterdir()} >= {"kept.json", "ratings.parquet"}
    assert read(folder) == first


def test_kept_ratings_are_read_when_one_is_asked_for_even_if_what_was_kept_is_gone_by_then(folder):
    first = read(folder)
    again = read(folder)
    (place,) = places()
    shutil.rmtree(place)

    assert len(again.ratings) == len(first.ratings)
    assert pickle.loads(pickle.dumps(again.ratings)) == first.ratings


def test_the_folder_may_move(folder, tmp_path):
    first = read(folder)
    shutil.move(folder, tmp_path / "elsewhere")

    assert read(tmp_path / "elsewhere") == first
    assert len(places()) == 1


def test_where_nothing_can_be_kept_the_folder_is_read_all_the_same(folder):
    cache_folder().mkdir(parents=True)
    (cache_folder() / "benchmarks").write_text("a file where the cache would be")

    assert read(folder) == read(folder)


def test_those_used_longest_ago_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "MAX_CACHED_BENCHMARKS", 2)
    demo = load("demo")
    for n in (2, 3, 4):
        read(write_benchmark(demo.restricted_to(demo.items[:n]), tmp_path / f"some-{n}"))

    assert len(places()) == 2


@pytest.mark.parametrize("most_held", [0, 1_000])
def test_records_in_columns_equal_the_tuple_of_the_same(folder, monkeypatch, most_held):
    monkeypatch.setattr(record_columns, "MOST_HELD", most_held)
    whole = kept.read_whole(folder, read_manifest(folder), in_file=True)
    read(folder)
    again = read(folder)

    for columns, records in ((again.items, tuple(whole.items)), (again.queries, tuple(whole.queries))):
        assert columns == records == columns
        assert records == columns
        assert hash(columns) == hash(records)
        assert (columns[0], columns[-1], columns[2:5]) == (records[0], records[-1], records[2:5])
        assert list(columns) == list(pickle.loads(pickle.dumps(columns))) == list(records)
        assert [one.model_fields_set for one in columns] == [set(type(one).model_fields) for one in records]
        with pytest.raises(IndexError):
            columns[len(records)]
        assert dict(columns.by_id) == {one.id: one for one in records}
        assert "i_0" not in columns.by_id
    assert {one: again.context[one] for one in again.context} == {one.id: one for one in whole.contexts}


def test_places_by_id_tell_ids_apart_whose_last_digits_are_alike():
    ids = ["i_1" + "0" * 31, "i_2" + "0" * 31, "q_2" + "0" * 31, "i_" + "f" * 32]

    table = pl.DataFrame([{"id": item_id} for item_id in ids], schema=schema(Item))
    places = RecordsById(RecordColumns(Item, table))

    assert [places[one].id for one in ids] == list(places) == ids
    assert [one for one in ("i_3" + "0" * 31, "i_3", "nothing", "", 3, None) if one in places] == []


@pytest.mark.parametrize("most_held", [0, 100])
def test_what_is_in_columns_is_chosen_and_written_as_the_records_are(folder, tmp_path, monkeypatch, most_held):
    monkeypatch.setattr(record_columns, "MOST_HELD", most_held)
    demo, _ = load("demo"), read(folder)
    records, columns = demo.restricted_to(demo.items[:9]), read(folder)

    for name, model in RECORDS.items():
        table = record_table(tuple(getattr(records, name)), model)
        assert record_table(getattr(columns, name), model).equals(table)
    for wanted in (Selection(sample=5, seed=2), Selection(limit=4), Selection(ids=frozenset([records.items[3].id]))):
        assert select(columns, wanted) == select(records, wanted)
    for n, one in enumerate((records, columns)):
        write_published(one, tmp_path / f"{n}.json")
    assert (tmp_path / "0.json").read_bytes() == (tmp_path / "1.json").read_bytes()
