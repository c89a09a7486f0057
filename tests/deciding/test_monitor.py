from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, ncx2
from tests.support.deciders import decider_file

import casewise
from casewise.api.deciding import Decider, DecisionRequest, monitor_decider
from casewise.deciding.monitor import TrafficLine, ratings_needed, smallest_shift, traffic_line
from casewise.errors import ConfigurationError, DataError
from casewise.notation import percent


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return decider_file(tmp_path)


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
    assert {one.what for one in found.numbers.tests} == {"scores", "decisions", "no value"}
    assert not any(one.moved for one in found.numbers.tests)
    assert "No difference from the benchmark is shown" in found.to_markdown()


def test_traffic_that_is_safer_is_seen_to_have_moved(path):
    found = monitor_decider(path, log_of(path, n=300, only_safe=True))

    assert {one.what for one in found.numbers.tests if one.moved} == {"scores", "decisions"}
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
    tests = {one.what: one for one in monitor_decider(path, log).numbers.tests}

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
    tests = {test.what: test.smallest_shift or 0.0 for test in found.numbers.tests}

    assert tests["scores"] > tests["decisions"] > 0
    assert f"a shift in scores of {percent(tests['scores'])}, or in decisions of" in found.to_markdown()
    assert "with a probability of 80%" in found.to_markdown()
    assert found.as_json()["tests"][0]["smallest_shift"] == tests["scores"]


def test_the_smallest_shift_has_the_power_that_is_stated():
    """Two values, half each, tested at 5 %: the noncentral chi-squared distribution of scipy; and none from two requests."""
    size = smallest_shift(400, 300, 2, level=0.05)

    assert size is not None
    noncentrality = 4 * size**2 * 400 * 300 / 700
    assert ncx2.sf(chi2.isf(0.05, 1), 1, noncentrality) == pytest.approx(0.8)
    assert smallest_shift(4, 2, 10, level=0.05) is None
