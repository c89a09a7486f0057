from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, ncx2
from tests.support.deciders import partial_decider

import casewise
from casewise.api.deciding import Decider, DecisionRequest, monitor_decider
from casewise.deciding.decider import DecisionNumbers
from casewise.deciding.decider_file import FittedOn, MeasuredOn
from casewise.deciding.monitor import (
    DriftTest,
    TrafficLine,
    chi_squared,
    drift_tests,
    ratings_needed,
    smallest_shift,
    traffic_line,
)
from casewise.errors import ConfigurationError, DataError
from casewise.notation import percent


def log_of(path: Path, *, n: int, only_safe: bool = False) -> Path:
    """A log of so many requests drawn from the demo, or from its safe half."""
    decider, demo, rng = Decider.load(path), casewise.load("demo"), np.random.default_rng(1)
    contexts = [context for context in demo.contexts if context.intended_safe or not only_safe]
    log = path.with_name("log.jsonl")
    with log.open("w") as file:
        for place in rng.integers(0, len(contexts), n):
            context = contexts[place]
            request = DecisionRequest(demo.query[context.query_id].text, context.shown())
            file.write(traffic_line(request, decider.decide(request), decider=decider.hash, shadow=False).line() + "\n")
    return log


def test_traffic_like_the_benchmarks_has_not_moved(path):
    found = monitor_decider(path, log_of(path, n=300))

    assert found.numbers.n == 300
    wrong = Decider.load(path).file.measured.answered_wrongly.estimate
    assert wrong
    assert found.numbers.needed == ratings_needed(wrong, 0.05)
    assert (found.numbers.other_deciders, found.numbers.torn, found.numbers.failed) == (0, 0, {})
    assert {one.quantity for one in found.numbers.tests} == {"scores", "decisions", "no value"}
    assert not any(one.moved for one in found.numbers.tests)
    assert "No difference from the benchmark is shown" in found.to_markdown()


def test_traffic_that_is_safer_is_seen_to_have_moved(path):
    found = monitor_decider(path, log_of(path, n=300, only_safe=True))

    assert {one.quantity for one in found.numbers.tests if one.moved} == {"scores", "decisions"}
    assert "Traffic differs from the benchmark in scores, decisions" in found.to_markdown()


def test_all_tests_together_are_wrong_no_more_often_than_one_may_be(path):
    found = monitor_decider(path, log_of(path, n=100)).numbers

    assert all(one.adjusted >= one.p for one in found.tests)
    assert max(one.adjusted for one in found.tests) <= 1


def test_torn_lines_are_left_out_and_counted(path):
    """A service was killed within a line, and the next decision was glued to it."""
    log = log_of(path, n=40)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0][:50], *lines[1:], lines[0][:50]]))
    found = monitor_decider(path, log)

    assert (found.numbers.n, found.numbers.torn) == (38, 2)
    assert "Left out as incomplete: 2 lines" in found.to_markdown()


def test_too_little_traffic_is_tested_for_nothing(path):
    assert monitor_decider(path, log_of(path, n=5)).numbers.tests == ()


@pytest.mark.parametrize("n_valued", [0, 10, 40])
def test_values_are_tested_over_the_requests_that_have_one(path, n_valued):
    log = log_of(path, n=100)
    lines = [TrafficLine.model_validate_json(line) for line in log.read_text().splitlines()]
    kept = [line.model_copy(update={} if place < n_valued else {"value": None}) for place, line in enumerate(lines)]
    log.write_text("".join(line.line() + "\n" for line in kept))
    tests = {one.quantity: one for one in monitor_decider(path, log).numbers.tests}

    assert ("scores" in tests) == (n_valued >= 30)
    assert tests["no value"].moved
    if "scores" in tests:
        on = Decider.load(path).file
        whole = {
            name: [share * n_valued, tests["scores"].benchmark[name] * on.benchmark.n_queries]
            for name, share in tests["scores"].traffic.items()
        }
        assert tests["scores"].p == pytest.approx(chi2_contingency(list(whole.values()), correction=False).pvalue)


def test_how_many_requests_people_must_rate():
    assert ratings_needed(0.1, 0.03) == 385
    with pytest.raises(ConfigurationError, match="--half-width"):
        ratings_needed(0.1, 0.7)


def test_another_deciders_log_is_refused(path, tmp_path):
    log = log_of(path, n=3)
    log.write_text(log.read_text().replace('"decider":"', '"decider":"0'))

    with pytest.raises(DataError, match="no decision of this decider"):
        monitor_decider(path, log)
    with pytest.raises(DataError, match="no such log"):
        monitor_decider(path, tmp_path / "none.jsonl")


def test_no_difference_is_said_with_the_smallest_shift_that_would_have_been_found(path):
    found = monitor_decider(path, log_of(path, n=300))
    tests = {test.quantity: test.smallest_shift or 0.0 for test in found.numbers.tests}

    assert tests["scores"] > tests["decisions"] > 0
    assert f"a shift in scores of {percent(tests['scores'])}, or in decisions of" in found.to_markdown()
    assert "with a probability of 80 %" in found.to_markdown()
    assert found.as_json()["tests"][0]["smallest_shift"] == tests["scores"]


def test_the_smallest_shift_has_the_power_that_is_stated():
    """Two values, half each, tested at 5 %: the noncentral chi-squared distribution of scipy; and none from two requests."""
    size = smallest_shift(400, 300, 2, level=0.05)

    assert size is not None
    noncentrality = 4 * size**2 * 400 * 300 / 700
    assert ncx2.sf(chi2.isf(0.05, 1), 1, noncentrality) == pytest.approx(0.8)
    assert smallest_shift(4, 2, 10, level=0.05) is None


def measured(**options):
    """A decider that was measured on half low and half high values of 100 queries."""
    on = {"decisions": {"answer": 0.5, "refuse": 0.5, "ask": 0.0}, "score_edges": (0.4,), "score_shares": (0.5, 0.5)}
    fitted_on = FittedOn(name="b", digest="d", labels="votes", n_items=100, n_queries=100)
    return partial_decider(benchmark=fitted_on, measured_on=MeasuredOn.model_validate(on | options))


def decisions(low, high, none=0, **options):
    """So many decisions with a low, a high and no value."""
    values = [(0.4, "refuse")] * low + [(0.41, "answer")] * high + [(None, "ask")] * none
    return [DecisionNumbers.model_validate({"decision": d, "id": "x", "value": v, **options}) for v, d in values]


def by_name(lines, file):
    return {test.quantity: test for test in drift_tests(lines, file)}


def test_shares_of_scores_and_decisions_are_compared_by_name():
    found = by_name(decisions(30, 10), measured())

    assert found["scores"].traffic == {"1: to 0.4": 0.75, "2: 0.4 to": 0.25}
    assert found["scores"].benchmark == {"1: to 0.4": 0.5, "2: 0.4 to": 0.5}
    assert found["decisions"].traffic == {"answer": 0.25, "refuse": 0.75, "ask": 0.0}
    assert found["no value"].traffic == {"True": 0.0, "False": 1.0}
    expected = chi2_contingency([[30, 10], [50, 50]], correction=False).pvalue
    assert found["scores"].p == found["decisions"].p == pytest.approx(expected)
    assert found["no value"].p == 1


def test_all_tests_are_corrected_together_by_holms_method():
    found = by_name(decisions(35, 5), measured())

    assert [test.adjusted for test in found.values()] == pytest.approx(
        [3 * found["scores"].p, 3 * found["scores"].p, 1.0]
    )
    assert found["scores"].smallest_shift == smallest_shift(40, 100, 2, level=0.05 / 3)


@pytest.mark.parametrize(("n", "tested"), [(29, False), (30, True)])
def test_traffic_is_tested_from_thirty_requests_on(n, tested):
    assert bool(drift_tests(decisions(n, 0), measured())) is tested
    assert ("scores" in by_name(decisions(n, 0, 30), measured())) is tested


def test_a_decider_without_measured_values_or_decisions_is_not_tested_for_them():
    assert drift_tests(decisions(40, 0), measured(decisions={})) == ()
    assert "scores" not in by_name(decisions(0, 0, 40), measured(score_edges=(), score_shares=(1.0,)))


def test_a_category_is_compared_by_the_share_of_requests_that_have_it():
    lines = decisions(20, 0, categories=["locks", "drugs"]) + decisions(20, 0)
    found = by_name(lines, measured(categories={"locks": 0.25, "keys": 0.0}))

    assert found["category locks"].traffic == {"True": 0.5, "False": 0.5}
    assert found["category locks"].benchmark == {"True": 0.25, "False": 0.75}
    assert found["category locks"].p == pytest.approx(chi2_contingency([[20, 20], [25, 75]], correction=False).pvalue)
    assert found["category keys"].p == 1


def test_a_share_without_a_value_is_compared_with_that_of_the_benchmark():
    found = by_name(decisions(30, 0, 10), measured(without_value=0.1))["no value"]

    assert (found.traffic["True"], found.benchmark["True"]) == (0.25, 0.1)


def test_a_test_has_moved_below_the_level():
    def moved(adjusted):
        return DriftTest("scores", {}, {}, 0.0, adjusted, None).moved

    assert (moved(0.049), moved(0.05)) == (True, False)


def test_values_that_neither_has_are_not_compared():
    now, then = {"a": 0.5, "b": 0.5, "c": 0.0}, {"a": 0.3, "b": 0.7, "c": 0.0}

    assert chi_squared(now, then, 40, 100) == pytest.approx(
        chi2_contingency([[20, 20], [30, 70]], correction=False).pvalue
    )
    assert chi_squared({"a": 1.0}, {"a": 1.0, "b": 0.0}, 40, 100) == 1
    rare = chi_squared({"a": 0.9, "b": 0.1}, {"a": 1.0, "b": 0.0}, 10, 100)
    assert rare == pytest.approx(chi2_contingency([[9, 1], [100, 0]], correction=False).pvalue)


@pytest.mark.parametrize(
    ("share", "half_width", "n"), [(0.5, 0.05, 385), (0.0, 0.05, 73), (1.0, 0.05, 73), (0.01, 0.05, 73), (0.2, 0.1, 62)]
)
def test_the_number_of_ratings_is_that_of_a_normal_interval(share, half_width, n):
    """A share is taken to be at least the half width away from 0 and 1."""
    assert ratings_needed(share, half_width) == n


@pytest.mark.parametrize("half_width", [0.0, -0.1, 0.5])
def test_a_half_width_lies_between_nothing_and_a_half(half_width):
    with pytest.raises(ConfigurationError, match=f"--half-width is {half_width}; it lies between 0 and 0.5"):
        ratings_needed(0.5, half_width)
