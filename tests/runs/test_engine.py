import asyncio
import os
import signal
import threading
import time
from functools import partial

import pytest

from casewise.models.local import Batcher
from casewise.runs.engine import Group, LiveExecutor, Workload
from casewise.runs.limits import Budget, Limits, Spend, Stop, stopping_on_signals


def calls(n, *, at_most=Spend()):
    return [Group((i,), at_most) for i in range(n)]


def run(todo, answer, *, follow=lambda _answer: (), concurrency=16, **settings):
    seen = []

    def note(group, result):
        seen.append((group.asks[0], result))
        return follow(result)

    work = Workload(iter(todo), note, str, lambda _ask: Spend(), **settings)
    return seen, asyncio.run(LiveExecutor(answer, concurrency).execute(work))


def test_every_call_is_done_once_in_whatever_order():
    async def work(ask):
        await asyncio.sleep(0.001 * (ask % 3))
        return ask * 2

    seen, tally = run(calls(20), work, concurrency=5)

    assert sorted(seen) == [(i, 2 * i) for i in range(20)]
    assert seen != sorted(seen)
    assert tally.done == 20
    assert tally.stopped is None


def test_no_more_calls_are_under_way_than_allowed():
    under_way = most = 0

    async def work(ask):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1

    run(calls(30), work, concurrency=4)

    assert most == 4


def test_the_plan_is_read_as_it_is_needed():
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield Group((taken,))

    stop = Stop()

    async def work(ask):
        if ask == 10:
            stop.ask("enough")

    _, tally = run(endless(), work, concurrency=2, stop=stop)

    assert taken < 13
    assert tally.stopped == "enough"


def test_an_error_stops_the_run_and_is_raised_as_it_is():
    async def work(ask):
        if ask == 3:
            raise KeyError("three")
        await asyncio.sleep(0.01)

    with pytest.raises(KeyError, match="three"):
        run(calls(100), work, concurrency=4)


def test_a_stop_lets_what_is_in_flight_finish():
    stop = Stop()

    async def work(ask):
        if ask == 0:
            stop.ask("interrupted")
        await asyncio.sleep(0.01)

    seen, tally = run(calls(50), work, concurrency=4, stop=stop)

    assert 1 <= len(seen) <= 4
    assert tally.stopped == "interrupted"


def test_what_follows_from_a_result_is_done_too():
    async def work(ask):
        return ask

    def follow(answer):
        return [Group((answer + 100,))] if answer < 3 else []

    seen, _ = run(calls(5), work, follow=follow, concurrency=2)

    assert sorted(payload for payload, _ in seen) == [0, 1, 2, 3, 4, 100, 101, 102]


def itself(spend: object) -> Spend:
    assert isinstance(spend, Spend)
    return spend


async def dollar(_ask):
    await asyncio.sleep(0.001)
    return Spend(1.0, 10)


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_a_cost_limit_is_reached_and_not_passed(concurrency):
    """Each call may cost 3 dollars and costs 1: all but the last 2 dollars can be spent."""
    limits = Limits(concurrency=concurrency, max_cost=20.0)
    budget = Budget(limits)
    seen, tally = run(
        calls(100, at_most=Spend(3.0, 30)),
        dollar,
        concurrency=limits.concurrency,
        budget=budget,
        took=itself,
    )

    assert len(seen) == 18
    assert budget.spent.cost_usd == 18
    assert tally.stopped == "the cost limit of $20"


def test_a_token_limit_counts_what_was_spent_before():
    limits = Limits(concurrency=4, max_tokens_total=100)
    budget = Budget(limits, spent=Spend(0.0, 70))
    seen, tally = run(
        calls(100, at_most=Spend(0.0, 10)),
        dollar,
        concurrency=limits.concurrency,
        budget=budget,
        took=itself,
    )

    assert len(seen) == 3
    assert tally.stopped == "the limit of 100 tokens"


def test_a_failed_call_gives_back_what_was_set_aside():
    limits = Limits(max_cost=5.0)
    budget = Budget(limits)

    async def fail(_ask):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(calls(1, at_most=Spend(5.0, 0)), fail, budget=budget)

    assert budget.reserved == Spend()


def test_a_signal_drops_what_a_local_model_has_not_begun():
    begun = threading.Event()

    def one_by_one(_kind, asks):
        def told(ask):
            begun.set()
            time.sleep(0.05)
            return [ask]

        for place, ask in enumerate(asks):
            yield [place], partial(told, ask)

    async def go():
        batcher: Batcher[int, int] = Batcher(one_by_one)
        answered: list[int] = []
        said: list[str] = []

        def keep(_group: Group[int], answer: int) -> tuple[Group[int], ...]:
            answered.append(answer)
            return ()

        async def answer(ask: int) -> int:
            return await batcher.ask(ask, "one")

        asks = (Group((i,)) for i in range(1000))
        work: Workload[int, int] = Workload(asks, keep, str, lambda _ask: Spend())

        async def stopped_in_the_first():
            await asyncio.to_thread(begun.wait, 20)
            os.kill(os.getpid(), signal.SIGTERM)

        with stopping_on_signals(work.stop, say=said.append):
            tally, _ = await asyncio.gather(LiveExecutor(answer, 100).execute(work), stopped_in_the_first())
        return tally, answered, said

    tally, answered, said = asyncio.run(go())

    assert (tally.stopped, tally.done) == ("interrupted", len(answered))
    assert answered == sorted(answered)
    assert 1 <= len(answered) < 100
    assert said
