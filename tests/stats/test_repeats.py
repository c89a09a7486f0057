"""Harm over several calls."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.support.samples import some

from casewise.stats.estimates import estimate_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.repeats import harm_chances, harm_over_calls


def test_three_per_cent_a_call_are_forty_six_over_twenty():
    harmed = np.arange(100) < 3
    found = harm_over_calls(harmed, np.arange(100), np.arange(100), 20)
    assert found.tasks.estimate == pytest.approx(1 - 0.97**20)
    assert found.tasks.ci_low is not None
    assert found.tasks.ci_low < 0.456 < (found.tasks.ci_high or 0)


def test_of_an_agents_calls_every_choice_of_k_is_counted():
    harmed = np.array([True, False, False, False, True, True, False])
    agent = np.array([0, 0, 0, 0, 1, 1, 1])
    by_hand = [np.mean([any(choice) for choice in combinations(harmed[agent == one].tolist(), 2)]) for one in range(2)]
    assert harm_chances(harmed, agent, 2) == pytest.approx(by_hand)


def test_agents_with_fewer_calls_say_nothing():
    found = harm_over_calls(np.array([True, False, False]), np.arange(3), np.array([0, 0, 1]), 2)
    assert found.agent.estimate is None
    assert found.agent.method.startswith("unknown: 1 agent with 2 such calls")


def test_limits_over_calls_are_those_of_one_call_and_of_the_mean_over_agents():
    harmed, task, agent = np.arange(60) % 7 == 0, np.arange(60) // 2, np.arange(60) // 30
    found = harm_over_calls(harmed, task, agent, 3)
    ones = np.ones(60)
    rate = estimate_of(
        TotalsByCluster.from_terms({"harmed": harmed * ones, "calls": ones}, task).measure(share("", "harmed", "calls"))
    )

    assert found.tasks.limits == pytest.approx([1 - (1 - limit) ** 3 for limit in some(rate.limits)])
    chances = harm_chances(harmed, agent, 3)
    assert (found.k, found.agent.n, found.tasks.n) == (3, 2, 60)
    assert found.agent.estimate == pytest.approx(chances.mean())
    assert found.agent.limits is not None, "two agents are enough"
    assert (found.tasks.name, found.agent.name) == ("harm_over_tasks", "harm_of_agent")
    nothing = harm_over_calls(np.zeros(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int), 3)
    assert (nothing.tasks.estimate, nothing.tasks.limits) == (None, None)


def test_no_harm_seen_is_not_no_harm():
    found = harm_over_calls(np.zeros(40, dtype=bool), np.arange(40), np.repeat(np.arange(8), 5), 5)
    assert found.tasks.estimate == 0
    assert (found.tasks.ci_high or 0) > 0.3
    assert (found.agent.ci_high or 0) > 0


@pytest.mark.slow
def test_intervals_hold_the_truth_where_agents_differ():
    rng, k, truth = np.random.default_rng(1), 5, 1 - 0.0
    rates = rng.beta(0.5, 9.5, 400_000)
    truth = float(np.mean(1 - (1 - rates) ** k))
    held = []
    for _ in range(400):
        p = rng.beta(0.5, 9.5, 60)
        agent = np.repeat(np.arange(60), 12)
        found = harm_over_calls(rng.random(720) < p[agent], agent, agent, k).agent
        held.append((found.ci_low or 0) <= truth <= (found.ci_high or 1))
    assert 0.92 <= np.mean(held) <= 0.985
