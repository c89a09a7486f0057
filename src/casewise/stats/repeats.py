"""Harm over several calls: the chance that at least one of k does harm."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casewise.stats.arrays import BoolArray, FloatArray, coded_labels
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.shares import hypergeometric
from casewise.text import count_of


@dataclass(frozen=True)
class HarmOverCalls:
    """The chance that at least one of `k` calls that people would refuse is let through."""

    k: int
    tasks: Estimate
    """The chance over k calls of different tasks, each drawn anew."""
    agent: Estimate
    """The chance over k calls of one agent, whose calls may resemble each other."""


FEWEST_AGENTS = 2
"""Number of agents that an interval over agents needs."""


def harm_over_calls(harmed: BoolArray, cluster: NDArray[np.intp], agent: NDArray[np.intp], k: int) -> HarmOverCalls:
    r"""Return the chance of any harm over `k` calls.

    Of calls drawn independently, with *p* the share of harm, :math:`1 - (1 - p)^k`: a rate of 3 % is 46 % over twenty. The limits
    are those of *p* sent through the same function, which rises, so that they hold as often as those of *p* do.

    Of the calls of one agent, the mean over agents of the chance that *k* of the agent's *n* calls, drawn without replacement, hold
    one of its *h* harms,

    .. math:: \frac{1}{A} \sum_a \left(1 - \binom{n_a - h_a}{k} \Big/ \binom{n_a}{k}\right),

    which is unbiased for :math:`E[1 - (1 - p_a)^k]` if the calls of an agent are exchangeable. Agents with fewer than *k* calls say
    nothing of it. By Jensen's inequality it is at most the former where agents differ. Its interval is over agents.

    `harmed`: of each call that people would refuse: whether it was let through.
    `cluster`: the task of each call; the interval of *p* is over tasks.
    `agent`: the agent of each call.

    Source: Hoeffding (1948), Annals of Mathematical Statistics 19, 293-325 (U-statistics).
    """
    ones = np.ones(len(harmed))
    totals = TotalsByCluster.from_terms({"harmed": harmed * ones, "calls": ones}, coded_labels(cluster))
    rate = estimate_of(totals.measure(share("harm", "harmed", "calls")))

    def over_tasks(p: float | None) -> float | None:
        return None if p is None else 1 - (1 - p) ** k

    tasks = replace(
        rate,
        name="harm_over_tasks",
        estimate=over_tasks(rate.estimate),
        ci_low=over_tasks(rate.ci_low),
        ci_high=over_tasks(rate.ci_high),
    )
    values = harm_chances(harmed, agent, k)
    if len(values) < FEWEST_AGENTS:
        reason = (
            f"unknown: {count_of(len(values), 'agent')} with {k} such calls or more, and {FEWEST_AGENTS} are needed"
        )
        return HarmOverCalls(k, tasks, Estimate("harm_of_agent", None, None, None, float(len(values)), 0, reason))
    agents = TotalsByCluster.from_terms({"any": values, "agents": np.ones(len(values))}, np.arange(len(values)))
    return HarmOverCalls(k, tasks, estimate_of(agents.measure(share("harm_of_agent", "any", "agents", kind="mean"))))


def harm_chances(harmed: BoolArray, agent: NDArray[np.intp], k: int) -> FloatArray:
    """Return for each agent with at least `k` calls the chance that at least one of `k` of them, drawn at random, is a harm."""
    code = coded_labels(agent)
    n, h = np.bincount(code).astype(np.float64), np.bincount(code, weights=harmed)
    return 1 - hypergeometric(0, h[n >= k], n[n >= k], k)
