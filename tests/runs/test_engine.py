import asyncio
import os
import signal
import threading
import time
from functools import partial

import pytest

from casewise.models.local import Batcher
from casewise.runs.engine import Call, Control, perform
from casewise.runs.limits import Budget, Limits, Spend, Stop, stopping_on_signals


def calls(n, *, at_most=Spend()):
    return [Call(i, at_most) for i in range(n)]


def run(todo, work, *, on_result=None, **settings):
    seen = []

    def note(call, result):
        seen.append((call.payload, result))
        return on_result(call, result) if on_result else None

    tally = asyncio.run(perform(todo, work, on_result=note, **settings))
    return seen, tally


def test_every_call_is_done_once_in_whatever_order():
    async def work(call):
        await asyncio.sleep(0.001 * (call.payload % 3))
        return call.payload * 2

    seen, tally = run(calls(20), work, limits=Limits(concurrency=5))

    assert sorted(seen) == [(i, 2 * i) for i in range(20)]
    assert seen != sorted(seen)
    assert tally.done == 20
    assert tally.stopped is None


def test_no_more_calls_are_under_way_than_allowed():
    under_way = most = 0

    async def work(call):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1

    run(calls(30), work, limits=Limits(concurrency=4))

    assert most == 4


def test_the_plan_is_read_as_it_is_needed():
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield Call(taken)

    stop = Stop()

    async def work(call):
        if call.payload == 10:
            stop.ask("enough")

    _, tally = run(endless(), work, limits=Limits(concurrency=2), control=Control(stop))

    assert taken < 13
    assert tally.stopped == "enough"


def test_an_error_stops_the_run_and_is_raised_as_it_is():
    async def work(call):
        if call.payload == 3:
            raise KeyError("three")
        await asyncio.sleep(0.01)

    with pytest.raises(KeyError, match="three"):
        run(calls(100), work, limits=Limits(concurrency=4))


def test_a_stop_lets_what_is_in_flight_finish():
    stop = Stop()

    async def work(call):
        if call.payload == 0:
            stop.ask("interrupted")
        await asyncio.sleep(0.01)

    seen, tally = run(calls(50), work, limits=Limits(concurrency=4), control=Control(stop))

    assert 1 <= len(seen) <= 4
    assert tally.stopped == "interrupted"


def test_what_follows_from_a_result_is_done_too():
    async def work(call):
        return call.payload

    def follow(call, result):
        return [Call(result + 100)] if result < 3 else []

    seen, _ = run(calls(5), work, on_result=follow, limits=Limits(concurrency=2))

    assert sorted(payload for payload, _ in seen) == [0, 1, 2, 3, 4, 100, 101, 102]


def itself(spend: object) -> Spend:
    assert isinstance(spend, Spend)
    return spend


async def dollar(call):
    await asyncio.sleep(0.001)
    return Spend(1.0, 10)


@pytest.mark.parametrize("concurrency", [1, 3, 50])
def test_a_cost_limit_is_reached_and_not_passed(concurrency):
    """Each call may cost 3 dollars and costs 1: all but the last 2 dollars can be spent."""
    limits = Limits(concurrency=concurrency, max_cost_usd=20.0)
    budget = Budget(limits)
    seen, tally = run(
        calls(100, at_most=Spend(3.0, 30)),
        dollar,
        limits=limits,
        control=Control(budget=budget, took=itself),
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
        limits=limits,
        control=Control(budget=budget, took=itself),
    )

    assert len(seen) == 3
    assert tally.stopped == "the limit of 100 tokens"


def test_a_failed_call_gives_back_what_was_set_aside():
    limits = Limits(max_cost_usd=5.0)
    budget = Budget(limits)

    async def fail(call):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(calls(1, at_most=Spend(5.0, 0)), fail, limits=limits, control=Control(budget=budget))

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
        control = Control[int]()
        answered: list[int] = []
        said: list[str] = []

        async def stopped_in_the_first():
            await asyncio.to_thread(begun.wait, 20)
            os.kill(os.getpid(), signal.SIGTERM)

        with stopping_on_signals(control.stop, say=said.append):
            tally, _ = await asyncio.gather(
                perform(
                    (Call(i) for i in range(1000)),
                    lambda call: batcher.ask(call.payload, "one"),
                    on_result=lambda _call, answer: answered.append(answer),
                    limits=Limits(concurrency=100),
                    control=control,
                ),
                stopped_in_the_first(),
            )
        return tally, answered, said

    tally, answered, said = asyncio.run(go())

    assert (tally.stopped, tally.done) == ("interrupted", len(answered))
    assert answered == sorted(answered)
    assert 1 <= len(answered) < 100
    assert said
