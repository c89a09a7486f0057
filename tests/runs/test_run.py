"""The room itself, with a kind of run that judges nothing."""

import asyncio
import os
import signal
import threading
import time
from functools import partial

import pytest
from tests.support.sums import SUMS, Adder, Sum, SumAsk, add_up, logged, separate_calls, sums

from casewise.errors import DataError, ModelError
from casewise.models.batcher import Batcher
from casewise.models.prices import Spend
from casewise.runs.limits import Budget, Limits, RunObserver


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def found(folder):
    return sorted((record.left, record.right, record.attempt, record.value) for record in logged(folder))


def test_every_ask_is_answered_once_over_all_sessions(folder):
    add_up(folder, separate_calls(7), Adder())
    adder = Adder()
    progress = add_up(folder, separate_calls(20), adder)

    assert found(folder) == [(n, 0, 0, n) for n in range(20)]
    assert sorted(ask.left for ask in adder.asked) == list(range(7, 20))
    assert (progress.resumed, progress.n_calls, progress.n_usable) == (7, 13, 20)
    assert (progress.input_tokens, progress.output_tokens, progress.cost_usd) == (26, 13, 13.0)


def test_an_error_stops_the_run_and_what_was_answered_stays(folder):
    asks = []

    async def breaks(ask):
        asks.append(ask)
        if len(asks) > 5:
            raise ModelError("the abacus is broken")
        return await Adder()(ask)

    with pytest.raises(ModelError, match="abacus"):
        add_up(folder, separate_calls(20), breaks, concurrency=1)

    assert len(logged(folder)) == 5
    assert add_up(folder, separate_calls(20), Adder()).resumed == 5


def test_a_torn_line_is_asked_again_and_nothing_else(folder):
    add_up(folder, separate_calls(5), Adder())
    log = folder / SUMS.file
    log.write_bytes(log.read_bytes()[:-10])
    adder = Adder()
    add_up(folder, separate_calls(5), adder)

    assert len(adder.asked) == 1
    assert found(folder) == [(n, 0, 0, n) for n in range(5)]


def test_a_line_that_is_no_record_is_named(folder):
    add_up(folder, separate_calls(3), Adder())
    with (folder / SUMS.file).open("a") as file:
        file.write("{}\n")

    with pytest.raises(DataError, match=r"sums\.jsonl:4: "):
        add_up(folder, separate_calls(3), Adder())


def test_an_answer_of_no_use_is_asked_for_again_and_every_attempt_is_kept(folder):
    progress = add_up(folder, separate_calls(2, retries=2), Adder(silent=lambda ask: ask.attempt < 2 - ask.left))

    assert found(folder) == [(0, 0, 0, None), (0, 0, 1, None), (0, 0, 2, 0), (1, 0, 0, None), (1, 0, 1, 1)]
    assert (progress.n_usable, progress.n_unusable, progress.n_calls) == (2, 0, 5)
    assert progress.problems == {"says nothing": 3}
    silent = Adder(silent=lambda ask: ask.attempt == 0)
    first, second, third = (add_up(folder / "other", separate_calls(3, retries=n), silent) for n in (0, 1, 1))
    assert (first.n_usable, first.n_unusable) == (0, 3)
    assert (second.n_usable, second.n_unusable, second.resumed) == (3, 0, 0)
    assert (third.n_calls, third.resumed) == (0, 3)


PAIRS = tuple((SumAsk(n, n + 1), SumAsk(n + 1, n)) for n in range(4))


def test_asks_that_share_a_call_are_answered_by_one(folder):
    adder = Adder()
    progress = add_up(folder, sums(*PAIRS, commutes=True), adder)

    assert len(adder.asked) == progress.n_calls == 4
    assert progress.n_usable == 8
    assert {
        (record.left, record.shared_with, record.cost_usd) for record in logged(folder) if record.left > record.right
    } == {(n + 1, str(n), None) for n in range(4)}


def test_a_call_of_an_earlier_session_answers_those_that_share_it(folder):
    add_up(folder, sums(*(pair[:1] for pair in PAIRS)), Adder())
    adder = Adder()
    progress = add_up(folder, sums(*PAIRS, commutes=True), adder)

    assert adder.asked == []
    assert (progress.resumed, progress.n_usable, progress.n_calls) == (4, 8, 0)
    assert {record.shared_with for record in logged(folder)} == {None, "0", "1", "2", "3"}


@pytest.mark.parametrize("concurrency", [1, 3, 50])
@pytest.mark.parametrize(
    ("limits", "n_calls", "stopped"),
    [
        (Limits(max_cost=10.0), 9, "the cost limit of $10"),
        (Limits(max_tokens_total=30), 9, "the limit of 30 tokens"),
    ],
)
def test_a_limit_is_reached_and_not_passed_over_all_sessions(folder, concurrency, limits, n_calls, stopped):
    """Each call may cost 2 dollars and 5 tokens, and costs 1 and 3: a call is made if the most that it costs still fits."""

    def session(size):
        return add_up(folder, separate_calls(size), Adder(), concurrency=concurrency, limits=limits)

    first, second, third = session(4), session(100), session(100)

    assert (first.n_calls, first.n_calls + second.n_calls, third.n_calls) == (4, n_calls, 0)
    assert first.stopped is None
    assert second.stopped == third.stopped == stopped


def test_a_failed_call_gives_back_its_budget():
    budget = Budget(Limits(max_cost=5.0))
    asyncio.run(budget.reserve(Spend(5.0, 0)))
    assert budget.exceeded_limit(Spend(1.0)) == "the cost limit of $5"

    budget.settle(Spend(5.0, 0), Spend())

    assert (budget.reserved, budget.exceeded_limit(Spend(5.0))) == (Spend(), None)


def test_a_signal_drops_the_asks_that_a_local_model_has_not_begun(folder):
    begun = threading.Event()

    def one_by_one(_kind, asks):
        def answer(ask):
            begun.set()
            time.sleep(0.05)
            return [Adder().said(ask)]

        for place, ask in enumerate(asks):
            yield [place], partial(answer, ask)

    def interrupt():
        begun.wait(20)
        os.kill(os.getpid(), signal.SIGTERM)

    batcher: Batcher[SumAsk, Sum] = Batcher(one_by_one)
    lines: list[str] = []
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    progress = add_up(
        folder,
        separate_calls(1000),
        lambda ask: batcher.ask(ask, "one"),
        concurrency=100,
        watch=RunObserver(say=lines.append),
    )
    interrupting.join()

    assert (progress.stopped, progress.n_calls) == ("interrupted", len(logged(folder)))
    assert 1 <= progress.n_calls < 100
    assert lines


def test_a_stop_leaves_a_run_that_goes_on(folder):
    watch = RunObserver()
    watch.progress = lambda progress, _total: watch.stop.ask("enough") if progress.n_done == 3 else None
    first = add_up(folder, separate_calls(10), Adder(), concurrency=1, watch=watch)
    second = add_up(folder, separate_calls(10), Adder())

    assert (first.n_usable, first.stopped) == (3, "enough")
    assert (second.resumed, second.n_usable, second.stopped) == (3, 10, None)
