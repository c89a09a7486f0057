"""A deployed decider: what separates its errors, the smallest shift of traffic that is found, and false alarms of its health."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.covered.rows import Row, Section

from casewise.deciding.decider import DecisionNumbers
from casewise.deciding.decider_file import FittedDecider, read_decider
from casewise.deciding.health import RecentDecisions
from casewise.deciding.monitor import LEVEL, chi_squared, smallest_shift
from casewise.stats.arrays import FloatArray
from casewise.stats.separation import Memberships, separation
from casewise.stats.thresholds import Decision

__all__ = ["SECTIONS", "alarms_of_an_hour"]


def error_groups(studies: int) -> Iterator[Row]:
    """Errors that differ by query, with three parameters of six statements each, of which one brings errors or none does."""
    rng = np.random.default_rng(83)
    for (queries, each), nested, effect in product(((30, 2), (30, 10), (150, 1)), (False, True), (0.0, 3.0)):
        if nested and each == 1:
            continue
        found = right = 0
        for _ in range(studies):
            query = np.repeat(np.arange(queries), each)
            n = len(query)
            stated = [rng.integers(0, 6, queries)[query] if nested else rng.integers(0, 6, n) for _ in range(3)]
            features = np.concatenate([6 * place + values for place, values in enumerate(stated)])
            has = Memberships(np.tile(np.arange(n), 3), features, np.repeat(np.arange(3), 6))
            log_odds = rng.normal(-2, 1, queries)[query] + effect * (stated[0] == 2)
            best = separation(rng.random(n) < 1 / (1 + np.exp(-log_odds)), has, query, rng=rng)
            named = best is not None and best.p < LEVEL
            found += named
            right += named and best is not None and best.parameter == 0
        setting = f"{queries} queries of {each}, statements {'of queries' if nested else 'of items'}"
        if effect:
            yield Row(
                "error_groups", f"{setting}, one brings errors", "names it or its parameter", right, studies, "no claim"
            )
        else:
            yield Row("error_groups", f"{setting}, none brings errors", "names one", found, studies, "≤ 6.5 %")


def shifted(then: FloatArray, size: float, rng: np.random.Generator) -> FloatArray:
    """Shares that differ by `size` in the direction that is hardest to find: in proportion, up in half of the mass."""
    order = rng.permutation(len(then))
    up = np.zeros(len(then), dtype=bool)
    up[order[np.cumsum(then[order]) <= 0.5]] = True
    moved: FloatArray = np.where(up, then * (1 + size / then[up].sum()), then * (1 - size / then[~up].sum()))
    return moved


def smallest_shifts(studies: int) -> Iterator[Row]:
    """Traffic that differs by the smallest shift stated, and traffic that does not differ, tested at 0.05 over three."""
    rng = np.random.default_rng(89)
    level = LEVEL / 3
    for queries, requests, values in product((90, 450), (300, 3_000), (2, 10)):
        size = smallest_shift(requests, queries, values, level=level)
        if size is None or size > 0.45:
            continue
        for moved in (0.0, size):
            rejected = 0
            for _ in range(studies):
                then = np.full(values, 1 / values)
                now = shifted(then, moved, rng) if moved else then
                counts = [rng.multinomial(n, shares) / n for n, shares in ((requests, now), (queries, then))]
                first, second = ({str(place): float(share) for place, share in enumerate(of)} for of in counts)
                rejected += chi_squared(first, second, requests, queries) < level
            setting = f"{queries} queries, {requests:,} requests, {values} values"
            if moved:
                yield Row("smallest_shift", setting, "finds a shift of the stated size", rejected, studies, "≥ 75 %")
            else:
                yield Row("smallest_shift", setting, "finds a shift where there is none", rejected, studies, "≤ 4 %")


PINNED = Path(__file__).parents[2] / "tests" / "contract" / "decider-1.json"


def fitted(rng: np.random.Generator, *, unreadable: float) -> FittedDecider:
    """A decider fitted on 90 items of 45 queries, of which so large a share gave no value on average."""
    file, _ = read_decider(PINNED)
    lost, values = rng.uniform(size=90) < unreadable, rng.uniform(size=90)
    answered = ~lost & (values > 0.5)
    edges = np.quantile(values[~lost], np.linspace(0, 1, 11)[1:-1])
    on = {
        "unscored": {"unparsed": float(lost.mean())},
        "without_value": float(lost.mean()),
        "score_edges": tuple(edges.tolist()),
        "score_shares": (0.1,) * 10,
        "decisions": {"refuse": float(1 - answered.mean()), "ask": 0.0, "answer": float(answered.mean())},
        "categories": {},
    }
    benchmark = file.benchmark.model_copy(update={"n_items": 90, "n_queries": 45})
    measured_on = file.measured_on.model_copy(update=on)
    return file.model_copy(update={"measured_on": measured_on, "benchmark": benchmark})


def alarms_of_an_hour(rng: np.random.Generator, *, fitted_with: float, unreadable: float) -> list[str]:
    """The problems that ten looks at a service's health name in an hour of 1,000 requests.

    `fitted_with`, `unreadable`: the share of replies that cannot be read, where it was fitted and in this hour.
    """
    recent, problems = RecentDecisions(fitted(rng, unreadable=fitted_with)), list[str]()
    for number in range(1, 1001):
        lost, value = rng.uniform() < unreadable, float(rng.uniform())
        decision: Decision = "answer" if not lost and value > 0.5 else "refuse"
        failed = "unparsed" if lost else None
        recent.add(DecisionNumbers(decision=decision, id="x", value=None if lost else value, failed=failed))
        if number % 100 == 0:
            problems += recent.problems(list(recent.shares()), recent.drift())
    return problems


def health(studies: int) -> Iterator[Row]:
    """Hours in which nothing is wrong, and hours in which a fifth of the replies cannot be read."""
    rng = np.random.default_rng(97)
    for unreadable in (0.0, 0.01, 0.05):
        setting = f"{unreadable:.0%} unreadable where fitted"
        healthy = sum(
            bool(alarms_of_an_hour(rng, fitted_with=unreadable, unreadable=unreadable)) for _ in range(studies)
        )
        yield Row("health", f"{setting} and in service", "raises an alarm", healthy, studies, "≤ 1 %")
        ill = sum(bool(alarms_of_an_hour(rng, fitted_with=unreadable, unreadable=0.2)) for _ in range(studies))
        yield Row("health", f"{setting}, 20% in service", "raises an alarm of a fault", ill, studies, "power")


SECTIONS = (
    Section(
        "error-groups",
        "what separates a judge's errors",
        ("error_groups",),
        "30 and 150 queries of 1, 2 and 10 items, errors that differ by query, three parameters of six statements.",
        error_groups,
        quick=200,
    ),
    Section(
        "smallest-shift",
        "the smallest shift of traffic",
        ("smallest_shift",),
        "90 and 450 queries, 300 and 3,000 requests, 2 and 10 values that are equally common; the shift is in the direction that is "
        "hardest to find.",
        smallest_shifts,
        quick=1_000,
    ),
    Section(
        "service-health",
        "false alarms of a service's health",
        ("health",),
        "Hours of 1,000 requests with ten looks; a decider fitted on 90 items of 45 queries, of which 0, 1 or 5 % of replies could not "
        "be read, and as many in service.",
        health,
        quick=5,
        full=100,
    ),
)
