import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.models.batcher import Batcher, common_prefix, drop_all_waiting, length_sorted_batches


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
        yield [2, 1, 0], lambda: [ask * 10 for ask in reversed(asks)]

    async def go():
        batcher: Batcher[int, int] = Batcher(work)
        answers = await asyncio.gather(*(batcher.ask(i, "even" if i % 2 == 0 else "odd") for i in range(6)))
        await batcher.close()
        return answers

    assert asyncio.run(go()) == [0, 10, 20, 30, 40, 50]
    assert rounds == [("even", [0, 2, 4]), ("odd", [1, 3, 5])]


@pytest.mark.parametrize("beside", [None, lambda: ThreadPoolExecutor(2)])
def test_an_error_reaches_everyone_of_its_batch(beside):
    def out_of_memory():
        raise ValueError("out of memory")

    def work(kind, asks):
        yield [0, 1], out_of_memory
        yield [2], lambda: [3]

    async def go():
        batcher: Batcher[int, int] = Batcher(work, threads=beside)
        return await asyncio.gather(*(batcher.ask(i, "x") for i in range(3)), return_exceptions=True)

    assert list(map(str, asyncio.run(go()))) == ["out of memory", "out of memory", "3"]


def test_an_error_before_the_first_batch_reaches_everyone():
    def work(kind, asks):
        raise ValueError("no such token")

    with pytest.raises(ValueError, match="no such token"):
        asyncio.run(Batcher(work).ask(1, "x"))


def test_a_batch_is_answered_before_the_next_is_done():
    first_seen = threading.Event()

    def work(kind, asks):
        yield [0], lambda: [first_seen.is_set()]
        yield [1], lambda: [first_seen.wait(20)]

    async def go():
        batcher: Batcher[int, bool] = Batcher(work)
        second = asyncio.create_task(batcher.ask(1, "x"))
        first = asyncio.create_task(batcher.ask(0, "x"))
        answered, _ = await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        first_seen.set()
        return len(answered), await second, await first

    assert asyncio.run(go()) == (1, False, True)


def test_what_waits_is_dropped_and_what_is_under_way_is_finished():
    begun, go_on, computed = threading.Event(), threading.Event(), []

    def slow(asks):
        begun.set()
        go_on.wait(20)
        computed.extend(asks)
        return asks

    def work(kind, asks):
        for place, ask in enumerate(asks):
            yield [place], partial(slow, [ask])

    async def go():
        batcher: Batcher[int, int] = Batcher(work)
        tasks = [asyncio.create_task(batcher.ask(i, "x")) for i in range(3)]
        await asyncio.to_thread(begun.wait, 20)
        last_task = asyncio.create_task(batcher.ask(7, "another kind"))
        await asyncio.sleep(0)
        drop_all_waiting()
        go_on.set()
        return await asyncio.gather(*tasks, last_task, return_exceptions=True)

    answers = asyncio.run(go())

    assert answers[0] == 0
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[1:])
    assert computed == [0]


def test_a_batch_that_is_large_enough_takes_in_only_what_is_about_as_long():
    lengths = [100, 99, 95, 89, 40, 10]

    assert list(length_sorted_batches(lengths, batch_tokens=1000, even_from=200)) == [[0, 1, 2], [3, 4, 5]]
    assert list(length_sorted_batches(lengths, batch_tokens=1000)) == [[0, 1, 2, 3, 4, 5]]
