import polars as pl
import pytest

from casewise.storage.columns import places_among


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_ids_are_found_among_others_wherever_they_stand(n):
    ids = pl.Series("id", [f"item_{i:03x}" for i in range(n)], dtype=pl.String)
    wanted = pl.concat([ids.reverse(), ids.slice(n // 2)])

    places = places_among(ids, wanted)

    assert places.to_list() == [*range(n)][::-1] + [*range(n)][n // 2 :]


@pytest.mark.parametrize("ids", [[], ["item_0"], ["item_0", "item_1", "item_2"]])
def test_an_id_that_is_not_among_the_others_has_no_place(ids):
    wanted = pl.Series([*ids, "item_9", *ids], dtype=pl.String)

    assert places_among(pl.Series(ids, dtype=pl.String), wanted).to_list() == [*range(len(ids)), None, *range(len(ids))]


def test_two_ids_with_one_hash_keep_their_places(monkeypatch):
    ids = pl.Series([f"item_{i}" for i in range(5)])
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))

    assert places_among(ids, ids.reverse()).to_list() == [4, 3, 2, 1, 0]
