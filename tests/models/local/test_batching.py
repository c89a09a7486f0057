import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.models.local.batching import Batcher, common_prefix, length_sorted_batches


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_hold_everything_once_and_keep_within_their_tokens(lengths, batch_tokens):
    batches = list(length_sorted_batches(lengths, batch_tokens=batch_tokens))

    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= batch_tokens


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=5))
def test_the_common_prefix_leaves_a_token_of_each(sequences):
    shared = common_prefix(sequences)

    assert all(sequence[:shared] == sequences[0][:shared] for sequence in sequences)
    assert all(len(sequence) > shared for sequence in sequences)
    grown = shared + 1
    assert any(len(s) <= grown or s[:grown] != sequences[0][:grown] for s in sequences)


def test_asks_of_one_kind_that_wait_together_are_answered_together():
    rounds = []

    def work(kind, asks):
        rounds.append((kind, asks))
        return [ask * 10 for ask in asks]

    async def go():
        batcher: Batcher[int, int] = Batcher(work)
        answers = await asyncio.gather(*(batcher.ask(i, "even" if i % 2 == 0 else "odd") for i in range(6)))
        await batcher.close()
        return answers

    assert asyncio.run(go()) == [0, 10, 20, 30, 40, 50]
    assert rounds == [("even", [0, 2, 4]), ("odd", [1, 3, 5])]


def test_an_error_reaches_everyone_who_waits():
    def work(kind, asks):
        raise ValueError("out of memory")

    async def go():
        batcher: Batcher[int, int] = Batcher(work)
        return await asyncio.gather(batcher.ask(1, "x"), batcher.ask(2, "x"), return_exceptions=True)

    assert [str(error) for error in asyncio.run(go())] == ["out of memory"] * 2
    with pytest.raises(ValueError, match="out of memory"):
        asyncio.run(Batcher(work).ask(1, "x"))


def test_a_batch_that_is_large_enough_takes_in_only_what_is_about_as_long():
    lengths = [100, 99, 95, 89, 40, 10]

    assert list(length_sorted_batches(lengths, batch_tokens=1000, even_from=200)) == [[0, 1, 2], [3, 4, 5]]
    assert list(length_sorted_batches(lengths, batch_tokens=1000)) == [[0, 1, 2, 3, 4, 5]]
