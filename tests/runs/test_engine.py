"""One session of a run: which asks are left, and what is assumed for calls without reported tokens."""

from pathlib import Path

import polars as pl
import pytest
from tests.support.sums import Sum, SumAsk

from casewise.models.prices import Spend
from casewise.runs.engine import RunLog, RunSession, attempts_so_far, each_alone
from casewise.runs.limits import InFlight, Limits, RunProgress, Watch

KEY = ("left", "right")


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
    last = attempts_so_far(each_alone([SumAsk(1, 0), SumAsk(2, 0)], retries=1), pl.DataFrame([row]), KEY)

    assert last.rows() == [(0, 7, attempt, usable, settled), (1, None, None, None, None)]


def test_asks_are_not_repeated_by_default():
    assert each_alone([SumAsk(1, 0)]).retries == 0


def session(folder: Path, limits: Limits, lines: list[str]) -> RunSession[SumAsk, Sum]:
    log: RunLog[SumAsk, Sum] = RunLog(folder, InFlight(folder))
    watch = Watch(say=lines.append)
    return RunSession(each_alone([SumAsk(1, 0)]), log, lambda _ask: Spend(0.5, 4), RunProgress(), limits, watch)


def test_what_a_killed_session_may_have_taken_is_said_and_counts_as_spent(tmp_path):
    InFlight(tmp_path).begun(Spend(2.0, 1000))
    lines: list[str] = []

    assert session(tmp_path, Limits(max_cost=9.0), lines).budget.spent == Spend(3.0, 1500)
    assert [line.endswith("1,500 tokens and $3.0000 at most") for line in lines] == [True]
    session(tmp_path, Limits(), lines)
    assert len(lines) == 1


def test_a_call_is_assumed_to_take_the_most_for_each_request_without_tokens(tmp_path):
    a_session, answer = session(tmp_path, Limits(), []), Sum(left=1, right=0, value=1, cost_usd=0.25)
    assumed = a_session.accounted(SumAsk(1, 0), answer, n_unreported=3)

    assert (assumed.assumed_cost_usd, assumed.assumed_tokens, assumed.cost_usd) == (1.5, 12, 0.25)
    assert a_session.accounted(SumAsk(1, 0), answer, n_unreported=0) is answer


def test_the_most_that_a_call_takes_is_reckoned_only_for_a_budget(tmp_path):
    free, bounded = (next(session(tmp_path, limits, []).calls) for limits in (Limits(), Limits(max_tokens_total=9)))

    assert (free.at_most, bounded.at_most) == (Spend(), Spend(0.5, 4))
