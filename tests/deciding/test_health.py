"""The rolling limits of a service: which replies count as what, and from which share on they are unlike the fitting data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom
from tests.support.deciders import partial_decider

from casewise.deciding.decider import DecisionNumbers
from casewise.deciding.decider_file import FittedOn, MeasuredOn
from casewise.deciding.health import ALARM_LEVEL, RecentDecisions, RecentShare, kind_of_failure
from casewise.deciding.monitor import DriftTest
from casewise.notation import percent


def service(*failures, n_queries=200, **unscored):
    """A service whose decider had these shares without a value, after requests of which these had none; None for a value."""
    fitted_on = FittedOn(name="b", digest="d", labels="votes", n_items=n_queries, n_queries=n_queries)
    recent = RecentDecisions(partial_decider(benchmark=fitted_on, measured_on=MeasuredOn(unscored=unscored)))
    for failed in failures:
        value = None if failed else 0.5
        recent.add(DecisionNumbers(decision="refuse" if failed else "answer", id="x", value=value, failed=failed))
    return recent


@pytest.mark.parametrize(
    ("reasons", "kind"),
    [
        (["refused", "content_filter"], "refused"),
        (["unavailable", "timeout", "judge_failed", "bad_request", "internal"], "failed"),
        (["unparsed", "out_of_range"], "unreadable"),
    ],
)
def test_a_reason_is_a_refusal_a_fault_or_a_reply_that_cannot_be_read(reasons, kind):
    assert {kind_of_failure(reason) for reason in reasons} == {kind}


def test_the_shares_where_it_was_fitted_are_added_by_kind():
    assert service(unparsed=0.1, out_of_range=0.2, timeout=0.05).fitted == pytest.approx(
        {"unreadable": 0.3, "refused": 0, "failed": 0.05}
    )


@pytest.mark.parametrize(("fitted", "n"), [(0.0, 10), (0.0, 200), (0.05, 10), (0.05, 50), (0.5, 50), (0.5, 200)])
def test_a_limit_is_exceeded_by_chance_less_often_than_the_alarm_level(fitted, n):
    upper = beta.ppf(0.95, 200 * fitted + 1, 200 - 200 * fitted)
    limit = service(unparsed=fitted).limit("unreadable", n)

    assert limit is not None
    assert binom.sf(round(limit * n), n, upper) < ALARM_LEVEL <= binom.sf(round(limit * n) - 1, n, upper)


def test_so_few_requests_or_so_few_readable_replies_have_no_limit():
    assert service().limit("unreadable", 2) is None
    assert service().limit("unreadable", 3) is not None
    assert service(unparsed=1.0).limit("unreadable", 200) is None
    assert service(unparsed=0.5).limit("unreadable", 10) is None


def test_windows_that_hold_no_further_requests_are_left_out():
    def windows(n):
        return {(share.window, share.n_requests) for share in service(*[None] * n).shares()}

    assert windows(0) == set()
    assert windows(3) == {(10, 3)}
    assert windows(10) == {(10, 10)}
    assert windows(11) == {(10, 10), (50, 11)}
    assert windows(300) == {(10, 10), (50, 50), (200, 200)}


def test_a_window_counts_the_last_requests():
    recent = service(*["unparsed"] * 10, *["refused"] * 4, *[None] * 6)
    counts = {(share.kind, share.window): share.count for share in recent.shares() if share.count}

    assert counts == {("refused", 10): 4, ("unreadable", 50): 10, ("refused", 50): 4}


def test_a_request_on_which_the_judge_was_not_asked_is_in_no_window():
    recent = service(None)
    recent.add(DecisionNumbers(decision="refuse", id="x"))

    assert {share.n_requests for share in recent.shares()} == {1}
    assert len(recent.decisions) == 2


def test_old_decisions_are_forgotten():
    recent = service(*[None] * 501)

    assert (len(recent.decisions), len(recent.asked)) == (500, 200)


def share(kind, count, limit):
    return RecentShare(kind, 10, count, 10, 0.05, limit)


@pytest.mark.parametrize(
    ("count", "limit", "over"), [(3, 0.2, True), (2, 0.2, False), (10, None, False), (1, 0.0, True)]
)
def test_a_share_is_over_its_limit_where_it_is_larger(count, limit, over):
    assert share("failed", count, limit).is_over_limit is over
    assert share("failed", count, limit).as_json() == {
        "kind": "failed",
        "window": 10,
        "count": count,
        "n_requests": 10,
        "fitted": 0.05,
        "limit": limit,
        "share": count / 10,
        "is_over_limit": over,
    }


@pytest.mark.parametrize(
    ("kind", "verb"), [("unreadable", "could not be read"), ("refused", "were refusals"), ("failed", "did not come")]
)
def test_a_problem_names_the_share_its_limit_and_the_share_where_it_was_fitted(kind, verb):
    assert share(kind, 3, 0.2).words == (
        f"3 of the last 10 replies of the judge {verb} (limit {percent(0.2)}; where it was fitted {percent(0.05)})"
    )


def test_of_each_kind_the_window_with_the_largest_share_over_its_limit_is_a_problem():
    shares = [share("failed", 3, 0.2), share("failed", 4, 0.2), share("failed", 9, None), share("refused", 1, 0.2)]

    assert list(service().problems(shares, ())) == [share("failed", 4, 0.2).words]


def drift_test(what, adjusted):
    return DriftTest(what, {}, {}, p=0.0, adjusted=adjusted, smallest_shift=None)


def test_traffic_that_has_surely_moved_is_a_problem():
    tests = drift_test("scores", ALARM_LEVEL / 2), drift_test("decisions", ALARM_LEVEL), drift_test("no value", 0.0)

    assert list(service(None, None).problems([], tests)) == [
        "the last 2 requests differ from the benchmark in scores, no value: casewise decider monitor shows how"
    ]
    assert list(service(None).problems([], tests[1:2])) == []


def test_a_decider_without_decisions_where_it_was_fitted_has_no_drift():
    assert service(*[None] * 40).drift() == ()


@pytest.mark.slow
@pytest.mark.parametrize("unreadable", [0.0, 0.01, 0.05])
def test_ten_healthy_hours_of_a_thousand_requests_raise_no_alarm(unreadable):
    from benchmarks.covered.deployed import alarms_of_an_hour

    rng = np.random.default_rng(1)
    alarms = [alarms_of_an_hour(rng, fitted_with=unreadable, unreadable=unreadable) for _hour in range(10)]

    assert alarms == [[]] * 10


@pytest.mark.slow
def test_an_hour_in_which_a_fifth_of_the_replies_cannot_be_read_raises_an_alarm_of_that():
    from benchmarks.covered.deployed import alarms_of_an_hour

    problems = alarms_of_an_hour(np.random.default_rng(2), fitted_with=0.01, unreadable=0.2)

    assert any("of the judge could not be read" in problem for problem in problems)
