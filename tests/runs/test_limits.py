"""Limits of a run: what is set aside, what is spent, and what nobody reports."""

import asyncio
import json
import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fault_server import FaultServer, completion
from tests.support.served import served
from tests.support.sums import Sum, SumAsk

from casewise.errors import ConfigurationError, DataError, Unavailable
from casewise.models.asker import ChatAsker, NoReplyReason
from casewise.models.batcher import Batcher
from casewise.models.client import ClientOptions, RetryPolicy
from casewise.models.load import ModelOptions, load_model
from casewise.models.prices import Prices, Spend, note_unreported
from casewise.models.protocol import FakeModel, Message, Model, Reply, ReplyOptions, user_messages
from casewise.models.wire import read_usage
from casewise.records.call import Call
from casewise.runs.engine import RunLog, RunSession, run_live, separate_calls
from casewise.runs.limits import (
    Budget,
    InFlight,
    Limits,
    RunObserver,
    RunProgress,
    Stop,
    run_sync,
    stop_on_signals,
    unknown_spend,
)

# No sequence of replies makes a run pass its limit by more than the calls under way.

PRICES, MOST_REPLIED, PROMPT = Prices(2.0, 8.0, 0.5), 50, "x" * 200
MOST_SENT = 100 + 64


@dataclass(frozen=True)
class Billed:
    """What a provider bills for a call, and what it says of it."""

    sent: int
    replied: int
    usage: Any
    n_lost: int = 0
    """Tries before it that were billed as much, and of which no answer came."""
    fails: bool = False

    @property
    def cost_usd(self) -> float:
        return (self.n_lost + (not self.fails)) * (self.sent * 2.0 + self.replied * 8.0) / 1e6


def reported(sent: int, replied: int, reasoning: int, form: str) -> Billed:
    """A call whose tokens the provider reports in one of the forms that there are."""
    usage: dict[str, Any] = {"prompt_tokens": sent, "completion_tokens": replied + reasoning}
    if form == "outside":
        usage = {"prompt_tokens": sent, "completion_tokens": replied, "total_tokens": sent + replied + reasoning}
    if form == "outside, without a total":
        usage = {"prompt_tokens": sent, "completion_tokens": replied, "reasoning_tokens": reasoning}
    if form == "no completion":
        usage = {"prompt_tokens": sent, "total_tokens": sent + replied + reasoning}
    if form == "a total":
        usage = {"total_tokens": sent + replied + reasoning}
    return Billed(sent, replied + reasoning, usage)


def partly_reported(sent: int, replied: int, form: str) -> Billed:
    """A call of which one part is reported, and the other is no longer than a call may be."""
    if form == "prompt":
        return Billed(sent, min(replied, MOST_REPLIED), {"prompt_tokens": sent, "completion_tokens": None})
    return Billed(min(sent, MOST_SENT), replied, {"prompt_tokens": "many", "completion_tokens": replied})


REPORTED = st.builds(
    reported,
    st.integers(1, 10_000),
    st.integers(1, 100_000),
    st.integers(0, 100_000),
    st.sampled_from(["inside", "outside", "outside, without a total", "no completion", "a total"]),
)
PARTLY = st.builds(
    partly_reported, st.integers(1, 10_000), st.integers(1, 100_000), st.sampled_from(["prompt", "reply"])
)
UNREPORTED = st.builds(
    Billed,
    st.integers(1, MOST_SENT),
    st.integers(0, MOST_REPLIED),
    st.sampled_from(
        [None, {}, [], {"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": "7"}, {"completion_tokens": -1}]
    ),
    n_lost=st.integers(0, 3),
    fails=st.booleans(),
)


class Biller(ChatAsker[SumAsk, Sum]):
    """Asks a model that bills as it is told."""

    usual_tokens = 10

    def __init__(self, bills: list[Billed], model: Model | None = None) -> None:
        self.bills, self.begin = bills, list[Billed]()
        super().__init__(model or FakeModel(self.billed), PRICES, patience=10**9)

    def billed(self, _messages: tuple[Message, ...], _options: ReplyOptions) -> Reply | Exception:
        bill = self.bills[len(self.begin) % len(self.bills)]
        self.begin.append(bill)
        for _ in range(bill.n_lost):
            note_unreported()
        return Unavailable("no answer") if bill.fails else Reply("3", "stop", usage=read_usage(bill.usage, wrote=True))

    def messages(self, _ask: SumAsk) -> tuple[Message, ...]:
        return user_messages(PROMPT)

    def reply_options(self, _ask: SumAsk) -> ReplyOptions:
        return ReplyOptions(MOST_REPLIED)

    def read(self, ask: SumAsk, reply: Reply, took: dict[str, Any]) -> Sum:
        return Sum(value=int(reply.text), left=ask.left, right=ask.right, attempt=ask.attempt, **took)

    def unanswered(self, ask: SumAsk, _reason: NoReplyReason, _detail: str, /, **_came: Any) -> Sum:
        return Sum(value=None, left=ask.left, right=ask.right, attempt=ask.attempt)


class Memory(RunLog[SumAsk, Sum]):
    """A log that is forgotten."""

    key = ("left", "right")

    def write(self, ask: SumAsk, answer: Sum) -> None:
        pass


@settings(max_examples=60, deadline=None)
@given(
    bills=st.lists(st.one_of(REPORTED, PARTLY, UNREPORTED), min_size=1, max_size=12),
    limit=st.floats(0, 0.5),
    concurrency=st.integers(1, 6),
)
def test_no_sequence_of_usages_passes_a_limit_by_more_than_the_calls_under_way(bills, limit, concurrency):
    asker, progress = Biller(bills), RunProgress()
    plan = separate_calls(SumAsk(n, 0) for n in range(60))
    log = Memory(Path(), InFlight())
    session = RunSession(plan, log, asker.max_spend, progress, Limits(max_cost=limit), RunObserver())
    asyncio.run(run_live(session, asker.answer, concurrency=concurrency))

    billed = sum(bill.cost_usd for bill in asker.begin)
    assert billed <= session.budget.spent.cost_usd + 1e-12
    assert billed <= limit + sum(sorted((bill.cost_usd for bill in asker.begin), reverse=True)[:concurrency]) + 1e-12
    assert session.budget.reserved.tokens == 0
    known, assumed = progress.cost_usd or 0.0, progress.assumed_cost_usd or 0.0
    assert known + assumed == pytest.approx(session.budget.spent.cost_usd)


class Counting:
    """A server's bills, and the cost of all that it answered or refused."""

    def __init__(self, bills: list[Billed]) -> None:
        self.bills, self.costs = bills, list[float]()

    def answer(self, _request: web.Request, body: dict[str, Any]) -> web.Response:
        bill = self.bills[len(self.costs) % len(self.bills)]
        self.costs.append((bill.sent * 2.0 + bill.replied * 8.0) / 1e6)
        if bill.fails:
            return web.json_response({"error": {"message": "too late"}}, status=504)
        return web.json_response(completion(body, "3") | {"usage": bill.usage})


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    bills=st.lists(st.one_of(REPORTED, PARTLY, UNREPORTED), min_size=1, max_size=8),
    limit=st.floats(0, 0.2),
    concurrency=st.integers(1, 4),
)
def test_a_run_against_a_server_that_counts_passes_its_limit_by_no_more_than_the_calls_under_way(
    bills, limit, concurrency
):
    counting, progress = Counting(bills), RunProgress()
    retry = RetryPolicy(retries=2, first_wait_s=0.001)
    with served(FaultServer(refuse=counting.answer, keep=False)) as server:
        options = ModelOptions(server.url, PRICES, ClientOptions(retry=retry))
        asker = Biller(bills, load_model("vllm/tiny", options, environment={}).model)
        session = RunSession(
            separate_calls(SumAsk(n, 0) for n in range(20)),
            Memory(Path(), InFlight()),
            asker.max_spend,
            progress,
            Limits(max_cost=limit),
            RunObserver(),
        )

        async def run() -> None:
            await run_live(session, asker.answer, concurrency=concurrency)
            await asker.close()

        asyncio.run(run())

    assert sum(counting.costs) <= session.budget.spent.cost_usd + 1e-12
    most_under_way = concurrency * (1 + retry.retries)  # each call may have been tried so often
    assert sum(counting.costs) <= limit + sum(sorted(counting.costs, reverse=True)[:most_under_way]) + 1e-12


# The parts of a budget, one by one.


def test_what_other_runs_took_counts_and_the_limit_is_named_as_it_was_given():
    limits = Limits(max_cost=2.0, max_tokens_total=10)

    budget = Budget(limits.reduced_by(Spend(0.25, 3)).reduced_by(Spend(0.25, 1)))

    assert budget.exceeded_limit(Spend(1.5, 6)) is None
    assert budget.exceeded_limit(Spend(1.75, 6)) == "the cost limit of $2"
    assert budget.exceeded_limit(Spend(1.5, 7)) == "the limit of 10 tokens"


def test_money_or_tokens_bound_a_run():
    bounded = [limits.has_budget for limits in (Limits(), Limits(max_cost=0.0), Limits(max_tokens_total=0))]

    assert bounded == [False, True, True]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"concurrency": 0}, "--concurrency is 0"), ({"max_cost": -0.01}, "-0.01"), ({"max_cost": float("nan")}, "nan")],
)
def test_a_limit_that_cannot_be_is_refused(wrong, named):
    with pytest.raises(ConfigurationError, match=named):
        Limits(**wrong)


def test_a_call_fits_up_to_the_limit_itself_with_all_that_is_spent_and_set_aside():
    budget = Budget(Limits(max_cost=4.0, max_tokens_total=40), spent=Spend(1.0, 10))
    budget.set_aside(Spend(1.0, 10))
    budget.hold_back(Spend(1.0, 10))

    assert budget.exceeded_limit(Spend(1.0, 10)) is None
    assert budget.exceeded_limit(Spend(1.01, 0)) == "the cost limit of $4"
    assert budget.exceeded_limit(Spend(0.0, 11)) == "the limit of 40 tokens"
    assert Budget(Limits()).exceeded_limit(Spend(1e9, 10**9)) is None


def test_what_is_counted_or_settled_is_spent_and_frees_what_was_set_aside():
    budget = Budget(Limits(max_cost=4.0))
    budget.set_aside(Spend(3.0, 30))
    assert budget.settle(Spend(3.0, 30), Spend(1.0, 5)) is budget
    budget.count(Spend(0.5, 1))

    assert (budget.spent, budget.reserved) == (Spend(1.5, 6), Spend())


def test_a_call_that_does_not_fit_waits_for_those_under_way_and_is_refused_once_there_is_none():
    async def session() -> list[str | None]:
        budget = Budget(Limits(max_cost=3.0))
        first = await budget.reserve(Spend(2.0, 1))
        second = asyncio.create_task(budget.reserve(Spend(2.0, 1)))
        await asyncio.sleep(0)
        assert not second.done()
        budget.settle(Spend(2.0, 1), Spend(0.5, 1))
        third = asyncio.create_task(budget.reserve(Spend(2.0, 1)))
        await asyncio.wait_for(second, 5)
        budget.settle(Spend(2.0, 1), Spend(2.0, 1))
        return [first, second.result(), await asyncio.wait_for(third, 5)]

    assert asyncio.run(session()) == [None, None, "the cost limit of $3"]


def test_what_is_held_back_for_the_session_keeps_no_call_waiting():
    async def reserved() -> str | None:
        budget = Budget(Limits(max_cost=3.0))
        budget.hold_back(Spend(2.0, 1))
        return await asyncio.wait_for(budget.reserve(Spend(2.0, 1)), 5)

    assert asyncio.run(reserved()) == "the cost limit of $3"


def test_what_is_set_aside_for_a_call_is_on_the_disk_before_it_is_made(tmp_path):
    budget = Budget(Limits(max_cost=3.0), in_flight=InFlight(tmp_path))

    assert asyncio.run(budget.reserve(Spend(2.0, 10))) is None
    assert unknown_spend(tmp_path) == Spend(3.0, 15)


# What a killed session may have taken.


def test_calls_under_way_are_on_the_disk_with_half_as_much_again(tmp_path):
    in_flight = InFlight(tmp_path)
    in_flight.begin(Spend(2.0, 10))
    assert unknown_spend(tmp_path) == Spend(3.0, 15)
    in_flight.begin(Spend(1.0, 5))
    assert unknown_spend(tmp_path) == Spend(3.0, 15)
    in_flight.begin(Spend(1.0, 0))
    assert unknown_spend(tmp_path) == Spend(6.0, 22)
    in_flight.end(Spend(4.0, 15))
    in_flight.begin(Spend(6.0, 22))
    assert unknown_spend(tmp_path) == Spend(6.0, 22)
    in_flight.begin(Spend(0.0, 1))
    assert unknown_spend(tmp_path) == Spend(9.0, 34)


def test_a_killed_session_counts_in_all_later_ones_and_one_in_good_order_adds_nothing(tmp_path):
    InFlight(tmp_path).begin(Spend(2.0, 10))
    later = InFlight(tmp_path)
    assert later.unknown == Spend(3.0, 15)
    later.begin(Spend(1.0, 2))
    assert unknown_spend(tmp_path) == Spend(4.5, 18)
    later.end(Spend(1.0, 2))
    later.clear()

    assert InFlight(tmp_path).unknown == Spend(3.0, 15)


def test_what_the_log_will_not_state_counts_in_all_later_sessions(tmp_path):
    folder = tmp_path / "not" / "there"
    in_flight = InFlight(folder)
    in_flight.count(Spend())
    assert not folder.exists()
    in_flight.begin(Spend(2.0, 10))
    in_flight.count(Spend(1.0, 4))

    assert in_flight.unknown == Spend(1.0, 4)
    assert unknown_spend(folder) == Spend(1.0 + 3.0, 4 + 15)


def test_a_session_without_calls_writes_nothing(tmp_path):
    InFlight(tmp_path).clear()
    nowhere = InFlight()
    nowhere.begin(Spend(1.0, 1))

    assert list(tmp_path.iterdir()) == []
    assert nowhere.unknown == Spend()


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"unknown": {}, "at_most": 3}', '{"unknown": {"x": 1}, "at_most": {}}']
)
def test_a_bound_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / "in_flight.json").write_text(text)

    with pytest.raises(DataError, match=r"in_flight\.json.*cannot be read"):
        unknown_spend(tmp_path)


# Progress.


class NotShown(Call):
    """A call that was never made."""

    @property
    def tries(self) -> int:
        return 0


def call(**took: Any) -> Call:
    return Call(input_tokens=3, output_tokens=2, **took)


def test_progress_counts_calls_with_known_and_assumed_amounts_apart():
    progress = RunProgress()
    progress.count_call(call(cost_usd=0.5))
    progress.count_call(Call(assumed_cost_usd=0.25, assumed_tokens=7))
    progress.count_call(NotShown())

    counts = progress.as_json()
    assert (counts["n_calls"], counts["input_tokens"], counts["output_tokens"]) == (2, 3, 2)
    assert progress.n_tries == 2
    assert (counts["cost_usd"], counts["assumed_cost_usd"], counts["assumed_tokens"]) == (0.5, 0.25, 7)
    assert "assumed_tokens" not in RunProgress().as_json()
    assert RunProgress().as_json()["cost_usd"] is None


def test_usable_and_unusable_answers_are_done():
    assert RunProgress(n_usable=3, n_unusable=2).n_done == 5


def part() -> RunProgress:
    """Counts that differ from each other."""
    return RunProgress(
        n_calls=1,
        n_usable=2,
        n_unusable=3,
        n_unavailable=4,
        n_pending=5,
        seconds=6.0,
        input_tokens=7,
        output_tokens=8,
        cost_usd=9.0,
        assumed_cost_usd=10.0,
        assumed_tokens=11,
        resumed=12,
        n_tries=13,
        stopped="enough",
        problems=Counter(silent=14),
    )


def test_parts_of_a_run_add_up():
    whole = RunProgress()
    whole.add(part())
    assert whole == part()
    whole.add(part())
    numbers = {name: value for name, value in vars(part()).items() if isinstance(value, (int, float))}
    assert {name: getattr(whole, name) for name in numbers} == {name: 2 * value for name, value in numbers.items()}
    assert (whole.stopped, whole.problems) == ("enough", {"silent": 28})


def test_without_its_answers_a_part_adds_its_calls_alone():
    whole = RunProgress(stopped="first")
    whole.add(part(), answers=False)

    assert (whole.n_usable, whole.n_unusable, whole.resumed) == (0, 0, 0)
    assert (whole.n_calls, whole.n_tries, whole.n_unavailable, whole.n_pending) == (1, 13, 4, 5)
    assert whole.stopped == "first"


def test_the_outcome_of_an_ask_counts_once_however_often_it_is_asked():
    progress = RunProgress()
    progress.count_outcome("silent", again=False)
    progress.count_outcome("silent", again=True)
    progress.count_outcome(None, again=True)

    assert (progress.n_usable, progress.n_unusable, progress.n_done, progress.problems) == (1, 0, 1, {"silent": 2})


def test_long_problems_are_counted_by_their_beginning():
    progress = RunProgress()
    for problem in ("x" * 200, "y" * 201):
        progress.count_outcome(problem, again=False)

    assert list(progress.problems) == ["x" * 200, "y" * 197 + "..."]


def test_the_json_has_rates_and_reasons_only_where_there_are_some():
    counts = part().as_json()
    assert counts["calls_per_second"] == round(1 / 6, 3)
    assert (counts["unavailable"], counts["pending"], counts["stopped"]) == (4, 5, "enough")
    assert (counts["n_usable"], counts["n_unusable"]) == (2, 3)

    empty = RunProgress().as_json()
    assert empty["calls_per_second"] is None
    assert {"unavailable", "pending", "stopped"}.isdisjoint(empty)
    assert json.loads(json.dumps(empty)) == empty


def test_a_kind_of_run_has_its_own_words_and_its_own_fields_first_with_paths_as_texts():
    @dataclass(kw_only=True)
    class Collected(RunProgress):
        usable = "collected"
        unusable = "failed"
        folder: Path = Path("here")
        n_arms: int = 2

    counts = Collected(n_usable=3, n_unusable=1, seconds=1.23456, n_calls=2).as_json()

    assert list(counts)[:5] == ["folder", "n_arms", "n_calls", "n_collected", "n_failed"]
    assert [*counts.values()][:7] == ["here", 2, 2, 3, 1, 1.235, 1.62]


# Stopping.


def test_a_stop_keeps_its_first_reason():
    stop = Stop()
    assert not stop
    stop.ask("interrupted")
    stop.ask("enough")

    assert stop
    assert stop.reason == "interrupted"


def test_a_first_signal_asks_for_a_stop_says_so_and_drops_what_waits_and_a_second_one_has_its_usual_effect():
    stop, lines = Stop(), list[str]()

    async def session() -> tuple[bool, bool]:
        batcher: Batcher[str, str] = Batcher(lambda _kind, _asks: iter(()), patience_s=60)
        waiting = asyncio.create_task(batcher.ask("What is 1 + 1?", None))
        await asyncio.sleep(0)
        with stop_on_signals(stop, say=lines.append):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait([waiting], timeout=5)
            usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        await batcher.close()
        return usual, waiting.cancelled()

    assert asyncio.run(session()) == (True, True)
    assert (stop.reason, len(lines)) == ("interrupted", 1)


def test_handlers_are_gone_after_the_block_and_none_are_set_outside_the_main_thread():
    async def session() -> bool:
        with stop_on_signals(Stop(), say=print):
            pass
        return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    assert asyncio.run(session())
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, session()).result()


# Work from synchronous code.


def test_one_call_at_a_time_and_no_money_are_limits():
    assert Limits(concurrency=1, max_cost=0.0).has_budget


def test_work_is_finished_inside_and_outside_of_an_event_loop():
    async def work() -> int:
        return 3

    async def notebook() -> int:
        return run_sync(work())

    assert (run_sync(work()), asyncio.run(notebook())) == (3, 3)
