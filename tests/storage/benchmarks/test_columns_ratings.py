from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.records import Rating
from casewise.storage.columns import RatingColumns
from casewise.storage.files import write_jsonl

ratings = st.lists(
    st.builds(
        Rating,
        item_id=st.sampled_from(["i_a", "i_b", "i_ü", "i_c\tx"]),
        annotator_id=st.sampled_from([None, "p1", "p2", "ä", ""]),
        position=st.none() | st.integers(0, 3),
        verdict=st.sampled_from(["safe", "unsafe", "unsure"]),
        value=st.none() | st.floats(-100, 100),
        seconds=st.none() | st.floats(0, 100),
        at=st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    max_size=12,
).map(tuple)


@pytest.mark.slow
@given(ratings)
def test_ratings_in_columns_equal_the_ratings(given):
    found = RatingColumns.from_ratings(given)

    assert found == given
    assert given == tuple(found)
    assert [found[place] for place in range(-len(given), len(given))] == [*given, *given]
    assert found[1:3] == given[1:3]
    assert RatingColumns.from_ratings(found) == found


@pytest.mark.slow
@given(ratings)
def test_the_lines_of_a_digest_are_the_keys_in_order(given):
    stated = pl.Series([rating.value for rating in given], dtype=pl.Float64).cast(pl.String)
    keys = [
        (*one.key, one.verdict or "", *([] if value is None else [value]))
        for one, value in zip(given, stated, strict=True)
    ]
    expected = sorted(keys)

    assert "".join(RatingColumns.from_ratings(given).lines()) == "".join("\t".join(key) + "\n" for key in expected)


@pytest.mark.slow
@given(ratings)
def test_a_key_that_stands_twice_is_found(given):
    keys = [rating.key for rating in given]

    repeated = RatingColumns.from_ratings(given).first_repeated_key()

    assert (repeated is None) == (len(set(keys)) == len(keys))
    assert repeated is None or keys.count(repeated) > 1


@pytest.mark.slow
@given(ratings, st.sets(st.sampled_from(["i_a", "i_b", "i_none"])))
def test_the_ratings_of_some_items_are_those_of_these_items(given, items):
    kept = tuple(rating for rating in given if rating.item_id in items)

    assert RatingColumns.from_ratings(given).of_items(items) == RatingColumns.from_ratings(kept)


@pytest.mark.slow
@given(ratings)
def test_counts_are_by_item(given):
    items = ["i_b", "i_none", "i_a"]

    counts = RatingColumns.from_ratings(given).per_item(pl.Series(items))

    votes = [[rating.verdict for rating in given if rating.item_id == item] for item in items]
    assert counts["n_votes"].to_list() == [len(some) - some.count("unsure") for some in votes]
    assert counts["n_safe"].to_list() == [some.count("safe") for some in votes]
    assert counts["n_unsure"].to_list() == [some.count("unsure") for some in votes]
    values = [[one.value for one in given if one.item_id == item and one.value is not None] for item in items]
    assert counts["n_values"].to_list() == [len(some) for some in values]
    assert counts["mean"].to_list() == [pytest.approx(np.mean(some)) if some else None for some in values]


def test_arrays_say_who_rated_what_and_minus_one_where_nobody_is_known():
    found = RatingColumns.from_ratings(
        (
            Rating(item_id="i_b", annotator_id="p2", verdict="safe"),
            Rating(item_id="i_gone", annotator_id="p1", verdict="safe"),
            Rating(item_id="i_a", position=4, verdict="unsafe", at=datetime(2026, 1, 1, tzinfo=UTC)),
        )
    ).arrays(pl.Series(["i_a", "i_b"]))

    assert found.item.tolist() == [1, 0]
    assert found.annotator.tolist() == [0, -1]
    assert found.position.tolist() == [-1, 4]
    assert found.safe.tolist() == [True, False]
    assert found.annotators == ("p2", "p1")
    assert found.item.dtype == np.intp


@pytest.mark.slow
@settings(max_examples=40)
@given(ratings)
def test_plainly_written_ratings_are_read_as_records_are_or_not_at_all(given):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.jsonl"
        write_jsonl(path, given)
        found = RatingColumns.from_canonical_lines(path)

    odd = any(
        rating.at or "\t" in rating.item_id or "e" in f"{rating.seconds!r}{rating.value!r}".replace("None", "")
        for rating in given
    )
    assert found == RatingColumns.from_ratings(given) or (odd and found is None)


@pytest.mark.parametrize(
    "line",
    [
        b'{"item_id":"i","verdict":"Safe"}',
        b'{"item_id":"i","verdict":"safe","verdict":"unsafe"}',
        b'{"item_id":"i","position":01,"verdict":"safe"}',
        b'{"item_id":"i","position":1.0,"verdict":"safe"}',
        b'{"item_id":"i","verdict":"safe","seconds":NaN}',
        b'{"item_id":"i","verdict":"safe","colour":"red"}',
        b'{"item_id":"i\xff","verdict":"safe"}',
        b'{"item_id":"i\x1f","verdict":"safe"}',
        b'{"verdict":"safe"}',
        b'{"item_id":"i","verdict":"safe"} ',
        b"",
    ],
)
def test_what_is_not_plainly_written_is_left_to_the_reader_that_explains(tmp_path, line):
    good = b'{"item_id":"i","position":0,"verdict":"safe"}\n'
    (tmp_path / "ratings.jsonl").write_bytes(good + line + b"\n" + good.replace(b"0", b"2"))

    assert RatingColumns.from_canonical_lines(tmp_path / "ratings.jsonl") is None


@pytest.mark.slow
@given(ratings)
def test_a_table_of_them_says_what_their_json_says(given_ratings):
    told = [dict.fromkeys(Rating.model_fields) | one.as_json() for one in given_ratings]

    assert RatingColumns.from_ratings(given_ratings).written.to_dicts() == told
