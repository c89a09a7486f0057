"""Records in columns are the records: found by place and by id, written and read again, without all being made."""

import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.support.benchmarks import rich_benchmark

from casewise.errors import DataError
from casewise.records import Context, Item, Query, Rating, RatingScale
from casewise.records.base import content_id
from casewise.storage import columns as module
from casewise.storage.benchmark_folder import RECORDS
from casewise.storage.columns import (
    NESTED,
    ContextFile,
    RatingColumns,
    RecordColumns,
    RecordsById,
    column_of,
    dotted_names,
    fields_of,
    record_table,
    row_of,
    schema,
)
from casewise.storage.files import write_jsonl

RICH = rich_benchmark()
QUERIES = tuple(Query(text=f"Question {n}?", category="a") for n in range(5))


@pytest.fixture(params=[True, False], ids=["held", "made on access"])
def queries(request, monkeypatch):
    monkeypatch.setattr(module, "MOST_HELD", len(QUERIES) if request.param else len(QUERIES) - 1)
    monkeypatch.setattr(module, "BLOCK", 2)
    columns = RecordColumns.from_records(Query, iter(QUERIES))
    assert (columns.held is not None) is request.param
    return columns


def test_a_dotted_name_is_a_column_with_an_underscore():
    assert column_of("sender.platform_type") == "sender_platform_type"
    assert dotted_names(Context)[:4] == ("id", "query_id", "intended_safe", "sender.nature_of_the_interaction")
    assert {"provenance.by", "provenance.at", "provenance.detail", "own"} <= set(dotted_names(Context))


def test_only_contexts_have_a_column_for_what_stands_under_headings():
    assert [NESTED in schema(model) for model in RECORDS.values()] == [model is Context for model in RECORDS.values()]
    assert schema(Rating) | {"position": pl.Int64(), "value": pl.Float64(), "at": pl.String()} == schema(Rating)


@pytest.mark.parametrize("part", RECORDS)
def test_a_row_holds_all_of_its_record(part):
    records = getattr(RICH, part)

    assert len(records) > 0
    for record in records:
        row = row_of(record)
        assert set(row) <= set(schema(type(record)))
        assert type(record).model_validate(fields_of(row, type(record), path=Path("f"))) == record


def test_a_statement_under_headings_is_running_text_beside_its_json():
    row = row_of(RICH.contexts[1])

    assert row["recipient_background"] == "demographics, role: an analyst; earlier: one; earlier: two"
    assert json.loads(row[NESTED]) == {
        "recipient.background": {"demographics": {"role": "an analyst"}, "earlier": ["one", "two"]},
        "subject": {"whom": "a patient"},
    }
    assert json.loads(row_of(RICH.contexts[0])["provenance_detail"]) == {"prompt": "v1", "\u00e4\u00f6\u00fc": "{}"}


def test_a_cell_that_is_no_json_is_named_by_its_file():
    with pytest.raises(DataError, match=r"items\.parquet:1: not JSON"):
        fields_of({"columns": "{"}, Item, path=Path("items.parquet"))


def test_a_table_is_made_in_blocks_with_the_columns_of_its_record(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 2)

    table = record_table(iter(QUERIES), Query)

    assert table.schema == schema(Query)
    assert table["id"].to_list() == [query.id for query in QUERIES]
    assert record_table((), Query).schema == schema(Query)


def test_columns_are_a_sequence_of_the_records(queries):
    assert (queries, len(queries), tuple(queries)) == (QUERIES, 5, QUERIES)
    assert (queries[0], queries[-1], queries[1:4]) == (QUERIES[0], QUERIES[-1], QUERIES[1:4])
    assert hash(queries) == hash(QUERIES)
    assert repr(queries) == "<RecordColumns of 5 records>"
    for place in (5, -6):
        with pytest.raises(IndexError):
            queries[place]


def test_columns_differ_from_other_records_fewer_records_and_lists(queries):
    assert queries != QUERIES[:4]
    assert queries != (*QUERIES[1:], QUERIES[0])
    assert queries != list(QUERIES)
    assert RecordColumns.from_records(Query, queries) is queries


def test_a_record_is_the_same_object_only_where_it_is_held(queries):
    assert (queries[2] is queries[2]) is (queries.held is not None)
    assert pickle.loads(pickle.dumps(queries)) == QUERIES


def test_records_are_found_by_id(queries):
    assert dict(queries.by_id) == {query.id: query for query in QUERIES}
    assert isinstance(queries.by_id, RecordsById) is (queries.held is None)
    assert [queries.place(query.id) for query in QUERIES] == [0, 1, 2, 3, 4]
    for record_id in ("q_0", "nothing", "", 3, None):
        with pytest.raises(KeyError):
            queries.place(record_id)


def test_records_at_some_places_are_columns_of_these(queries):
    assert queries.at(np.array([3, 0])) == (QUERIES[3], QUERIES[0])


def test_a_mapping_by_id_looks_up_and_does_not_search():
    found = RecordsById(RecordColumns.from_records(Query, QUERIES))

    assert (list(found), len(found)) == ([query.id for query in QUERIES], 5)
    assert found[QUERIES[0].id] == QUERIES[0]
    assert (QUERIES[0].id in found, QUERIES[4].id in found, content_id("q", "x") in found) == (True, True, False)


def test_texts_of_a_table_become_the_values_of_its_records():
    queries = RecordColumns(Query, record_table(RICH.queries, Query))

    assert queries == tuple(RICH.queries)
    assert queries[1].before == RICH.queries[1].before
    assert [query.judged for query in queries] == ["request", "reply"]
    assert RecordColumns(Item, record_table(RICH.items, Item)) == tuple(RICH.items)


def test_contexts_in_columns_are_held_whatever_their_number(monkeypatch):
    monkeypatch.setattr(module, "MOST_HELD", 0)
    columns = RecordColumns.from_records(Context, iter(RICH.contexts))

    assert columns.held == tuple(RICH.contexts)
    assert columns == tuple(RICH.contexts)
    assert columns.table.columns == ["id", "intended_safe"]
    assert columns.table["intended_safe"].to_list() == [True, True, False]


# Ratings.

NOON = datetime(2026, 1, 1, 12, 30, tzinfo=timezone(timedelta(hours=2)))
RATINGS = (
    Rating(item_id="i_b", annotator_id="p2", verdict="safe", seconds=0.25, at=datetime(2026, 1, 1, tzinfo=UTC)),
    Rating(item_id="i_b", annotator_id="p1", verdict="unsafe", value=2.0, at=NOON),
    Rating(item_id="i_a", position=0, verdict="unsure"),
    Rating(item_id="i_a", position=1, verdict="ask"),
    Rating(item_id="i_a", annotator_id="", position=2, verdict="safe"),
    Rating(item_id="i_b", annotator_id="p3", value=4.0),
    Rating(item_id="i_c", annotator_id="p2", verdict="safe"),
)
IN_COLUMNS = RatingColumns.from_ratings(iter(RATINGS))


def test_ratings_in_columns_are_the_ratings(monkeypatch):
    assert IN_COLUMNS == RATINGS
    assert (IN_COLUMNS[0], IN_COLUMNS[-1], IN_COLUMNS[1:3]) == (RATINGS[0], RATINGS[-1], RATINGS[1:3])
    assert IN_COLUMNS.items == ("i_b", "i_a", "i_c")
    assert IN_COLUMNS.annotators == ("p2", "p1", "", "p3")
    assert RatingColumns.from_ratings(IN_COLUMNS) is IN_COLUMNS
    monkeypatch.setattr(module, "RATINGS", 2)
    assert RatingColumns.from_ratings(RATINGS) == RATINGS


def test_no_ratings_are_columns_as_well():
    none = RatingColumns.from_ratings(())

    assert none == ()
    assert (len(none), none.items, none.first_repeated_key()) == (0, (), None)


def test_ratings_are_written_as_their_json_says_them():
    said = [dict.fromkeys(Rating.model_fields) | rating.as_json() for rating in RATINGS]

    assert IN_COLUMNS.written.to_dicts() == said


@pytest.mark.parametrize(
    ("again", "key"),
    [
        (RATINGS[0].model_copy(update={"verdict": "unsafe"}), ("i_b", "annotator:p2")),
        (RATINGS[2].model_copy(update={"verdict": "safe"}), ("i_a", "position:0")),
        (RATINGS[4], ("i_a", "position:2")),
        (RATINGS[0].model_copy(update={"annotator_id": "p9", "position": 0}), None),
        (RATINGS[0].model_copy(update={"annotator_id": None, "position": 7}), None),
        (RATINGS[2].model_copy(update={"annotator_id": "p9"}), None),
        (RATINGS[0].model_copy(update={"position": 4}), ("i_b", "annotator:p2")),
    ],
)
def test_an_annotator_rates_an_item_once_and_a_position_holds_one_vote(again, key):
    assert RatingColumns.from_ratings((*RATINGS, again)).first_repeated_key() == key
    assert IN_COLUMNS.first_repeated_key() is None


def test_votes_and_values_are_counted_by_item():
    counted = IN_COLUMNS.per_item(pl.Series(["i_a", "i_none", "i_b"]))

    assert counted.to_dicts() == [
        {"n_safe": 1, "n_votes": 1, "n_unsure": 1, "n_ask": 1, "n_values": 0, "mean": None},
        {"n_safe": 0, "n_votes": 0, "n_unsure": 0, "n_ask": 0, "n_values": 0, "mean": None},
        {"n_safe": 1, "n_votes": 2, "n_unsure": 0, "n_ask": 0, "n_values": 2, "mean": 3.0},
    ]


def test_arrays_hold_what_says_safe_or_unsafe_of_the_items_asked_about():
    arrays = IN_COLUMNS.arrays(pl.Series(["i_a", "i_b"]))

    assert arrays.item.tolist() == [1, 1, 0]
    assert arrays.annotator.tolist() == [0, 1, 2]
    assert arrays.position.tolist() == [-1, -1, 2]
    assert arrays.safe.tolist() == [True, False, True]
    assert arrays.annotators == IN_COLUMNS.annotators


def test_the_place_of_each_rating_is_its_items_place_or_minus_one():
    assert IN_COLUMNS.places(pl.Series(["i_a", "i_b"])).tolist() == [1, 1, 0, 0, 0, 1, -1]


@pytest.mark.parametrize(("safe", "verdict"), [("below", "unsafe"), ("above", "safe")])
def test_a_value_without_a_verdict_gets_that_of_the_scales_cut(safe, verdict):
    scale = RatingScale(low=0, high=5, cut=3, safe=safe)

    given = IN_COLUMNS.with_cut(scale)

    assert [rating.verdict for rating in given] == ["safe", "unsafe", "unsure", "ask", "safe", verdict, "safe"]
    assert [rating.value for rating in given] == [rating.value for rating in RATINGS]


def test_where_every_value_has_a_verdict_or_there_is_no_cut_ratings_stay_as_they_are():
    assert IN_COLUMNS.with_cut(RatingScale(low=0, high=5)) is IN_COLUMNS
    voted = RatingColumns.from_ratings(RATINGS[:5])
    assert voted.with_cut(RatingScale(low=0, high=5, cut=3)) is voted


def test_the_ratings_of_some_items_name_only_their_items_and_annotators():
    some = IN_COLUMNS.of_items({"i_a", "i_c", "i_none"})

    assert some == (*RATINGS[2:5], RATINGS[6])
    assert (some.items, some.annotators) == (("i_a", "i_c"), ("", "p2"))


def test_the_lines_of_a_digest_state_rater_verdict_and_value_in_order():
    assert "".join(IN_COLUMNS.lines()).splitlines() == [
        "i_a\tposition:0\tunsure",
        "i_a\tposition:1\task",
        "i_a\tposition:2\tsafe",
        "i_b\tannotator:p1\tunsafe\t2.0",
        "i_b\tannotator:p2\tsafe",
        "i_b\tannotator:p3\t4.0",
        "i_c\tannotator:p2\tsafe",
    ]


def test_ratings_as_casewise_writes_them_are_read_without_a_parser(tmp_path, monkeypatch):
    plain = tuple(rating.model_copy(update={"at": None}) for rating in RATINGS)
    write_jsonl(tmp_path / "plain.jsonl", plain)
    write_jsonl(tmp_path / "timed.jsonl", RATINGS)

    assert RatingColumns.from_canonical_lines(tmp_path / "plain.jsonl") == plain
    assert RatingColumns.from_canonical_lines(tmp_path / "timed.jsonl") is None
    assert RatingColumns.from_canonical_lines(tmp_path / "none.jsonl") is None
    monkeypatch.setattr(module, "RATING_BYTES", 1)
    assert RatingColumns.from_canonical_lines(tmp_path / "plain.jsonl") == plain


# Contexts that stay in their file.


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "contexts.jsonl"
    path.write_text("\n" + "".join(context.line() + "\n \n" for context in RICH.contexts))
    return ContextFile(path)


def test_contexts_in_a_file_are_read_when_they_are_asked_for(file):
    assert file == tuple(RICH.contexts)
    assert file.held is None
    assert (file[1], file[-1], file[:2]) == (RICH.contexts[1], RICH.contexts[-1], tuple(RICH.contexts)[:2])
    assert file.table["line"].to_list() == [2, 4, 6]
    assert ContextFile(file.path, file.table) == file


def test_what_contexts_in_a_file_state_is_read_without_their_records(file):
    for context in RICH.contexts:
        assert file.written(context.id) == context.written
    written = list(file.written_at(pl.Series([2, None, 0], dtype=pl.UInt32)))
    assert written == [RICH.contexts[2].written, None, RICH.contexts[0].written]


def test_a_line_that_was_changed_since_is_refused_with_its_number(file):
    raw = file.path.read_bytes()
    file.path.write_bytes(raw.replace(b"an analyst", b"an analysT"))

    assert file[0] == RICH.contexts[0]
    for read in (lambda: file[1], lambda: file.written(RICH.contexts[1].id)):
        with pytest.raises(DataError, match=r"contexts\.jsonl:4: was changed after it was loaded"):
            read()
