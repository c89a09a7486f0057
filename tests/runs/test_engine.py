"""One session of a run: which asks are left, and what is assumed for calls without reported tokens."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.sums import Adder, Sum, SumAsk, sums

from casewise.errors import ModelError
from casewise.models.prices import Spend, note_unreported
from casewise.models.wire import MOST_TOKENS
from casewise.runs.engine import Asks, PlannedCall, RunLog, RunSession, plan_attempts, run_live, separate_calls
from casewise.runs.limits import InFlight, Limits, RunObserver, RunProgress

KEY = ("left", "right")


class PassingSum(Sum):
    """A sum whose failure may pass."""

    @property
    def may_pass(self) -> bool:
        return self.value is None


class Kept(RunLog[SumAsk, Sum]):
    """A log in memory, with the answers of earlier sessions."""

    key = KEY

    def __init__(self, *earlier: Sum, folder: Path | None = None) -> None:
        super().__init__(Path(), InFlight(folder))
        self.earlier, self.written = earlier, list[Sum]()
        names = (*KEY, "attempt", "place", "usable", "passing")
        rows = [
            (each.left, each.right, each.attempt, place, each.failure is None, each.may_pass)
            for place, each in enumerate(earlier)
        ]
        self.earlier_answers = pl.DataFrame(rows, schema=names, orient="row") if rows else None

    def answer_at(self, place: int) -> Sum:
        return self.earlier[place]

    def write(self, ask: SumAsk, answer: Sum) -> None:
        assert (answer.left, answer.right, answer.attempt) == (ask.left, ask.right, ask.attempt)
        self.written.append(answer)

    @property
    def brief(self) -> list[tuple[Any, ...]]:
        """What was written: the ask, its attempt, the value, and the ask whose call it was."""
        return [(each.left, each.right, each.attempt, each.value, each.shared_with) for each in self.written]


def said(left: int, right: int, attempt: int = 0, *, value: int | None = None, kind: type[Sum] = Sum) -> Sum:
    """An answer of an earlier session."""
    return kind(left=left, right=right, attempt=attempt, value=value, cost_usd=1.0)


def session_of(
    plan: Asks[SumAsk], log: Kept | None = None, limits: Limits = Limits(), watch: RunObserver | None = None
) -> RunSession[SumAsk, Sum]:
    return RunSession(plan, log or Kept(), lambda _ask: Spend(2.0, 5), RunProgress(), limits, watch or RunObserver())


def asks_left(session: RunSession[SumAsk, Sum]) -> list[tuple[SumAsk, ...]]:
    return [call.asks for call in session.calls]


def made_live(
    session: RunSession[SumAsk, Sum], call_of: Callable[[SumAsk], Awaitable[Sum]], concurrency: int = 4
) -> RunProgress:
    asyncio.run(run_live(session, call_of, concurrency=concurrency))
    return session.progress


@pytest.mark.parametrize(
    ("attempt", "usable", "passing", "settled"),
    [
        (0, True, False, True),
        (0, False, False, False),
        (1, False, False, True),
        (1, False, True, False),
        (2, False, False, True),
    ],
)
def test_an_ask_is_settled_by_a_usable_answer_or_by_enough_attempts(attempt, usable, passing, settled):
    row = {"left": 1, "right": 0, "attempt": attempt, "place": 7, "usable": usable, "passing": passing}
    last = plan_attempts(separate_calls([SumAsk(1, 0), SumAsk(2, 0)], retries=1), pl.DataFrame([row]), KEY)

    assert last.rows() == [(0, 7, attempt, usable, settled), (1, None, None, None, None)]


def test_asks_are_not_repeated_by_default():
    assert separate_calls([SumAsk(1, 0)]).retries == 0


def session(folder: Path, limits: Limits, lines: list[str]) -> RunSession[SumAsk, Sum]:
    log: RunLog[SumAsk, Sum] = RunLog(folder, InFlight(folder))
    watch = RunObserver(say=lines.append)
    return RunSession(separate_calls([SumAsk(1, 0)]), log, lambda _ask: Spend(0.5, 4), RunProgress(), limits, watch)


def test_what_a_killed_session_may_have_taken_is_said_and_counts_as_spent(tmp_path):
    InFlight(tmp_path).begin(Spend(2.0, 1000))
    lines: list[str] = []

    assert session(tmp_path, Limits(max_cost=9.0), lines).budget.spent == Spend(3.0, 1500)
    assert [line.endswith("1,500 tokens and $3.0000 at most") for line in lines] == [True]
    session(tmp_path, Limits(), lines)
    assert len(lines) == 1


def test_a_call_is_assumed_to_take_the_most_for_each_request_without_tokens(tmp_path):
    a_session, answer = session(tmp_path, Limits(), []), Sum(left=1, right=0, value=1, cost_usd=0.25)
    assumed = a_session.with_assumed_usage(SumAsk(1, 0), answer, n_unreported=3)

    assert (assumed.assumed_cost_usd, assumed.assumed_tokens, assumed.cost_usd) == (1.5, 12, 0.25)
    assert a_session.with_assumed_usage(SumAsk(1, 0), answer, n_unreported=0) is answer


def test_the_most_that_a_call_takes_is_reckoned_only_for_a_budget(tmp_path):
    free, bounded = (next(session(tmp_path, limits, []).calls) for limits in (Limits(), Limits(max_tokens_total=9)))

    assert (free.max_spend, bounded.max_spend) == (Spend(), Spend(0.5, 4))


# The plan.


def test_asks_of_a_bundle_that_share_a_key_share_a_call_and_those_without_one_have_their_own():
    bundle = (SumAsk(1, 2), SumAsk(3, 4), SumAsk(2, 1))

    assert list(sums(bundle, commutes=True).groups(bundle)) == [(bundle[0], bundle[2]), (bundle[1],)]
    assert list(sums(bundle).groups(bundle)) == [(ask,) for ask in bundle]


def test_the_keys_of_a_plan_are_those_of_its_asks_with_their_bundles_or_those_that_are_known_before():
    bundles = ((SumAsk(1, 2), SumAsk(2, 1)), (SumAsk(3, 0),))
    known = pl.LazyFrame({"right": [4], "left": [3], "bundle": [9]})

    assert sums(*bundles).keys(KEY).collect().rows() == [(0, 1, 2), (0, 2, 1), (1, 3, 0)]
    assert Asks(bundles, 3, all_keys=lambda: known).keys(KEY).collect().rows() == [(9, 3, 4)]


def test_a_log_without_a_place_for_answers_says_so(tmp_path):
    log: RunLog[SumAsk, Sum] = RunLog(tmp_path, InFlight())

    with pytest.raises(LookupError, match="nothing is held at 7"):
        log.answer_at(7)
    with pytest.raises(NotImplementedError):
        log.write(SumAsk(1, 0), said(1, 0))
    log.sync()


# What earlier sessions left.


def test_a_session_asks_what_no_earlier_one_settled_with_the_next_attempt_and_counts_the_rest():
    earlier = (said(0, 0, value=0), said(1, 0), said(2, 0), said(2, 0, 1), said(3, 0, kind=PassingSum))
    session = session_of(sums(*((SumAsk(n, 0),) for n in range(5)), retries=1), Kept(*earlier))

    assert asks_left(session) == [(SumAsk(1, 0, 1),), (SumAsk(3, 0, 1),), (SumAsk(4, 0),)]
    assert (session.progress.resumed, session.progress.n_usable, session.progress.n_unusable) == (2, 1, 3)


def test_what_is_left_is_asked_in_the_order_of_the_plan():
    plan = sums(*((SumAsk(n, 0),) for n in range(500)))

    assert asks_left(session_of(plan, Kept(said(0, 0, value=0)))) == list(plan.bundles[1:])


PAIR = (SumAsk(1, 2), SumAsk(2, 1))


def test_the_answer_to_one_ask_of_a_call_is_copied_to_the_others():
    log = Kept(said(1, 2, value=3))
    session = session_of(sums(PAIR, commutes=True), log)

    assert asks_left(session) == []
    assert log.brief == [(2, 1, 0, 3, "1")]
    assert (log.written[0].cost_usd, session.progress.n_usable, session.progress.n_unusable) == (None, 2, 0)


def test_a_usable_answer_takes_the_place_of_one_that_is_not_as_a_later_attempt():
    log = Kept(said(1, 2, value=3), said(2, 1), said(2, 1, 1))
    session = session_of(sums(PAIR, commutes=True, retries=3), log)

    assert asks_left(session) == []
    assert log.brief == [(2, 1, 2, 3, "1")]
    assert (session.progress.n_usable, session.progress.n_unusable) == (2, 0)


def test_the_attempt_of_a_copy_is_that_of_the_call_where_it_is_the_later():
    log = Kept(said(1, 2), said(1, 2, 1), said(1, 2, 2, value=3), said(2, 1))
    asks_left(session_of(sums(PAIR, commutes=True, retries=3), log))

    assert log.brief == [(2, 1, 2, 3, "1")]


def test_an_unusable_answer_is_copied_where_there_is_none_and_the_call_is_made_again_as_a_whole():
    log = Kept(said(1, 2, 1))
    session = session_of(sums(PAIR, commutes=True, retries=2), log)

    assert asks_left(session) == [(SumAsk(1, 2, 2), SumAsk(2, 1, 2))]
    assert log.brief == [(2, 1, 1, None, "1")]
    assert session.progress.n_unusable == 2


def test_of_two_unusable_answers_neither_is_copied_and_the_later_attempt_counts():
    log = Kept(said(1, 2), said(2, 1), said(2, 1, 1))
    session = session_of(sums(PAIR, commutes=True, retries=2), log)

    assert asks_left(session) == [(SumAsk(1, 2, 2), SumAsk(2, 1, 2))]
    assert log.brief == []


def test_calls_that_a_batch_holds_are_left_out_pending_and_set_aside():
    session = session_of(separate_calls(SumAsk(n, 0) for n in range(3)), limits=Limits(max_cost=5.0))
    session.skip({session.name(SumAsk(1, 0))}, Spend(3.0, 4))

    assert asks_left(session) == [(SumAsk(0, 0),), (SumAsk(2, 0),)]
    assert (session.progress.n_pending, session.budget.reserved) == (1, Spend(3.0, 4))


def test_a_call_has_one_name_whichever_of_the_asks_that_share_it_comes_first():
    session = session_of(sums(PAIR, commutes=True))

    assert session.name(PAIR[0]) == session.name(PAIR[1])
    assert len({session.name(SumAsk(1, 2, attempt)) for attempt in range(3)}) == 3
    assert len({session_of(sums(PAIR)).name(ask) for ask in PAIR}) == 2
    assert len(session.name(PAIR[0])) == 32


# What becomes of an answer.


def test_what_is_assumed_of_a_call_without_a_price_is_no_cost_and_no_more_tokens_than_a_record_holds():
    session = RunSession(separate_calls([SumAsk(1, 0)]), Kept(), lambda _ask: Spend(0.0, MOST_TOKENS), RunProgress())
    assumed = session.with_assumed_usage(SumAsk(1, 0), said(1, 0), n_unreported=2)

    assert (assumed.assumed_cost_usd, assumed.assumed_tokens) == (None, MOST_TOKENS)


def test_an_answer_is_written_for_every_ask_of_its_call_and_counted_as_one():
    log, seen = Kept(), list[tuple[int, int]]()
    watch = RunObserver(progress=lambda progress, size: seen.append((progress.n_done, size)))
    session = session_of(sums(PAIR, commutes=True), log, watch=watch)
    again = session.store_answer(
        PlannedCall(PAIR), said(1, 2, value=3).model_copy(update={"input_tokens": 4, "latency_s": 1.0})
    )

    assert again == ()
    assert log.brief == [(1, 2, 0, 3, None), (2, 1, 0, 3, "1")]
    assert (log.written[1].cost_usd, log.written[1].input_tokens, log.written[1].latency_s) == (None, None, None)
    assert log.written[1].at is not None
    assert (session.progress.n_calls, session.progress.n_usable, session.progress.cost_usd) == (1, 2, 1.0)
    assert seen == [(0, 2), (2, 2)]


def test_an_unusable_answer_is_asked_for_again_until_there_are_no_retries_left():
    session = session_of(sums(PAIR, commutes=True, retries=1), limits=Limits(max_cost=9.0))
    (again,) = session.store_answer(PlannedCall(PAIR), said(1, 2))

    assert again == PlannedCall((SumAsk(1, 2, 1), SumAsk(2, 1, 1)), Spend(2.0, 5))
    assert session.store_answer(again, said(1, 2, 1)) == ()
    assert (session.progress.n_unusable, session.progress.n_usable, session.progress.n_unavailable) == (2, 0, 0)


def test_a_failure_that_may_pass_leaves_all_asks_of_its_call_to_later_sessions():
    session = session_of(sums(PAIR, commutes=True))

    assert session.store_answer(PlannedCall(PAIR), said(1, 2, kind=PassingSum)) == ()
    assert session.progress.n_unavailable == 2


# Calls from this process.


def test_an_answer_of_no_use_is_asked_for_again_before_the_next_call():
    adder = Adder(silent=lambda ask: ask.attempt < 2 - ask.left)
    progress = made_live(session_of(sums(*((SumAsk(n, 0),) for n in range(2)), retries=2)), adder, concurrency=1)

    assert [(ask.left, ask.attempt) for ask in adder.asked] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert (progress.n_usable, progress.n_unusable, progress.n_calls) == (2, 0, 5)


@pytest.mark.parametrize(("concurrency", "most"), [(0, 1), (1, 1), (4, 4)])
def test_no_more_calls_are_under_way_than_allowed_and_one_at_least(concurrency, most):
    under_way, counts = list[int](), list[int]()

    async def counted(ask: SumAsk) -> Sum:
        under_way.append(ask.left)
        counts.append(len(under_way))
        await asyncio.sleep(0.001)
        under_way.remove(ask.left)
        return Adder().said(ask)

    progress = made_live(session_of(separate_calls(SumAsk(n, 0) for n in range(12))), counted, concurrency)

    assert (max(counts), progress.n_usable) == (most, 12)


def test_a_call_that_ended_is_spent_with_what_is_assumed_and_no_longer_under_way(tmp_path):
    async def unreported(ask: SumAsk) -> Sum:
        note_unreported()
        return Adder().said(ask)

    session = session_of(separate_calls([SumAsk(1, 0)]), Kept(folder=tmp_path), Limits(max_cost=9.0))
    made_live(session, unreported)

    assert (session.budget.spent, session.budget.reserved) == (Spend(3.0, 8), Spend())
    in_flight = session.log.in_flight
    in_flight.begin(Spend(2.0, 5))
    assert in_flight.path is not None
    assert '"at_most": {"cost_usd": 3.0, "tokens": 7}' in in_flight.path.read_text()


def test_the_limit_that_a_call_would_pass_stops_the_session():
    session = session_of(separate_calls(SumAsk(n, 0) for n in range(9)), limits=Limits(max_cost=4.0))

    assert made_live(session, Adder(), concurrency=1).n_calls == 3
    assert session.stop.reason == "the cost limit of $4"


def test_an_error_stops_the_session_is_raised_as_it_is_and_frees_what_was_set_aside():
    async def breaks(ask: SumAsk) -> Sum:
        if ask.left == 2:
            raise ModelError("the abacus is broken")
        return Adder().said(ask)

    session = session_of(separate_calls(SumAsk(n, 0) for n in range(9)), limits=Limits(max_cost=99.0))
    with pytest.raises(ModelError, match="abacus"):
        made_live(session, breaks, concurrency=1)

    assert (session.progress.n_calls, session.budget.spent, session.budget.reserved) == (2, Spend(2.0, 6), Spend())


def test_a_stop_lets_calls_in_flight_finish():
    watch = RunObserver()

    async def stops(ask: SumAsk) -> Sum:
        await asyncio.sleep(0.01)
        watch.stop.ask("interrupted")
        return Adder().said(ask)

    assert made_live(session_of(separate_calls(SumAsk(n, 0) for n in range(50)), watch=watch), stops).n_calls == 4


def test_the_plan_is_read_as_its_calls_are_made():
    class Endless(Sequence[tuple[SumAsk, ...]]):
        n_read = 0

        def __len__(self) -> int:
            return 10**9

        def __getitem__(self, index: Any) -> Any:
            self.n_read += 1
            return (SumAsk(index, 0),)

    plan, watch = Endless(), RunObserver()
    watch.progress = lambda progress, _total: watch.stop.ask("enough") if progress.n_done == 50 else None
    made_live(session_of(Asks(plan, 10**9), watch=watch), Adder())

    assert 50 <= plan.n_read < 60
