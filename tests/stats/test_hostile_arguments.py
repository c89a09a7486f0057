"""Whatever a statistic is asked, it gives a right value or says in words why not: never nan in silence, never a trace.

Arguments are drawn from what people really pass by mistake: nan, infinities, negative and fractional counts, more
successes than units, lengths that differ, labels that are missing, words for numbers, settings out of their range.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise import stats
from casewise.errors import StatisticsError
from casewise.stats import power
from casewise.stats.ceilings import UNIFORM, BetaPrior, predicted_counts, same_label

NUMBER = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, -1, -0.5, 0, 0.5, 1, 2, 3, 7.5, 21, 10**6, 2**40, 1e300]),
    st.integers(-3, 40),
    st.floats(-2, 2),
)
COUNT = st.one_of(st.integers(0, 30), NUMBER)
SHARE = st.one_of(st.floats(0.01, 0.99), NUMBER)
TRUTH = st.one_of(st.booleans(), st.sampled_from([0, 1, math.nan, 2, -1]))
WHOLE = st.one_of(st.integers(-1, 40), NUMBER)


def column(element: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A list, mostly of one length so that calls get past the first check; sometimes no list at all."""
    return st.one_of(
        st.lists(element, min_size=6, max_size=6),
        st.lists(element, max_size=9),
        st.lists(st.lists(element, max_size=3), max_size=3),
        element,
        st.just("words"),
    )


TRUTHS, COUNTS, NUMBERS, SHARES = (column(element) for element in (TRUTH, COUNT, NUMBER, SHARE))
LABELS = column(st.one_of(st.integers(0, 4), st.sampled_from(["a", "b", None, math.nan])))
SAFE, VOTES = column(st.one_of(st.integers(0, 8), COUNT)), column(st.one_of(st.integers(8, 30), COUNT))
TABLE = st.one_of(st.lists(st.lists(TRUTH, min_size=3, max_size=3), min_size=2, max_size=6), NUMBERS)
BY_NAME = {
    **dict.fromkeys(("clusters", "cluster", "query", "item", "annotator", "condition"), LABELS),
    **dict.fromkeys(("second", "group", "judge", "verdict", "baseline", "odd"), TRUTHS),
    **dict.fromkeys(("p", "values", "value", "influence", "difference", "error", "first"), NUMBERS),
    **dict.fromkeys(("estimate", "variance", "rate", "grader"), SHARES),
    **dict.fromkeys(("ratings", "counts"), TABLE),
    **dict.fromkeys(("x1", "n1", "x2", "n2", "n", "net"), COUNTS),
    "votes": VOTES,
    "sizes": VOTES,
    "labels": TRUTHS,
}
"""What lists of numbers or labels are drawn from. Numbers for themselves are shares, and whole ones where they count."""

SPECIAL: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "adjust": {"method": st.sampled_from(["holm", "none", "bonferroni", "no such"])},
    "alpha_by_level": {"level": st.sampled_from(["nominal", "ordinal", "interval"])},
    "alpha_on_scale": {"item": COUNTS, "annotator": COUNTS},
    "low_group_p": {"group": LABELS},
    "query_differences": {"second": NUMBERS},
    "panel_curve": {"largest": st.integers(-1, 9)},
    "panel_worth": {"largest": st.integers(-1, 9)},
    "reliability": {"splits": st.sampled_from([20, 0, -1])},
    "filled_in": {"n_permutations": st.just(20)},
    "filled_in_values": {"raw": st.lists(st.sampled_from(["0.5", "safe", "", None, 3]), max_size=6)},
    "rule_scores": {
        "predicted": st.lists(st.one_of(st.none(), st.sets(st.integers(0, 5)))),
        "violated": st.lists(st.sets(st.integers(0, 5))),
    },
    "kruskal_power": {"repeats": st.just(20)},
    "kruskal_sample_size": {"repeats": st.just(20), "exact": st.just(value=False)},
    "kruskal_wallis": {"exact": st.sampled_from([False, False, False, True])},
    "same_label": {"prior": st.just(UNIFORM)},
}

LEFT_OUT = {"raters", "given", "method", "where", "rng", "seed"}
"""Arguments that are not drawn. A method has a test of its own; a generator is always the same."""

MADE: dict[str, tuple[Callable[..., Any], dict[str, st.SearchStrategy[Any]]]] = {
    "simulate_ratings": (
        lambda rate, queries, each, sd: (
            stats.simulate_ratings(
                stats.CrowdModel(query_sd=sd),
                stats.CrowdDesign(safe_rates=(rate,), queries=queries, ratings_per_item=each),
                rng=np.random.default_rng(0),
            ).safe
        ),
        {"rate": SHARE, "queries": st.integers(-1, 9), "each": st.integers(-1, 9), "sd": SHARE},
    ),
    "predicted_counts": (
        lambda a, b, **drawn: predicted_counts(**drawn, prior=BetaPrior(a, b)),
        {"a": SHARE, "b": SHARE, "safe": WHOLE, "votes": WHOLE, "new_votes": WHOLE},
    ),
    "simulated_power": (
        lambda n, alpha, repeats: power.simulated_power(
            power.query_differences([1, 0, 1, 0], [0, 1, 0, 0]), n, alpha=alpha, repeats=repeats
        ),
        {"n": st.one_of(st.integers(-1, 40), SHARE), "alpha": SHARE, "repeats": st.sampled_from([10, 0, -1])},
    ),
    "variance_of": (
        lambda **drawn: power.variance_of(power.PilotRatings(**drawn)),
        {"safe": TRUTHS, "second": TRUTHS, "query": LABELS, "annotator": LABELS},
    ),
}

BY_SETTINGS = {
    *("spearman_brown", "sign_test", "binomial_below", "labels_needed"),
    *("assumed_deviation", "queries_needed", "power_of_queries"),
}
"""Functions inside that take no arrays, and are asked all the same; with those of `casewise.stats` itself."""

FORMULAS = {"majority_weight", "chance_of_majority", "hypergeometric", "log_choose"}
"""Formulas on arrays that have been checked."""

# What is undefined by the nature of the thing, and said to be so in its docstring.
MAY_BE_NAN = {
    "same_label",
    "agreement_of_votes",
    "reliability",
    "reference_weight",
    "leave_one_out",
    "cluster_variance",
}


def functions() -> dict[str, Callable[..., Any]]:
    """Every function that takes arrays of any kind, those of `casewise.stats` itself, and `BY_SETTINGS`."""
    found = {name: getattr(stats, name) for name in stats.__all__ if name.islower()}
    for module in pkgutil.walk_packages(stats.__path__, "casewise.stats."):
        for name, function in vars(importlib.import_module(module.name)).items():
            if getattr(function, "__module__", "") != module.name or not inspect.isfunction(function):
                continue
            arrays = any("ArrayLike" in str(one.annotation) for one in inspect.signature(function).parameters.values())
            checks = module.name == "casewise.stats.arrays" and name != "cluster_variance"
            if name in BY_SETTINGS or (arrays and not checks and not name.startswith("_")):
                found.setdefault(name, function)  # of two of one name, the first: a promise's queries are not asked
    return {name: function for name, function in found.items() if name not in FORMULAS | set(MADE)}


def arguments(name: str, function: Callable[..., Any]) -> dict[str, st.SearchStrategy[Any]]:
    """What each argument of a function is drawn from, by its name and its type."""
    parameters = inspect.signature(function).parameters
    drawn = dict(SPECIAL.get(name, {}))
    for key, parameter in parameters.items():
        kind = str(parameter.annotation)
        if key in drawn or key in LEFT_OUT:
            continue
        if key in {"safe", "successes"} and "ArrayLike" in kind:
            drawn[key] = SAFE if {"votes", "sizes"} & set(parameters) else COUNTS if key == "successes" else TRUTHS
        elif "ArrayLike" in kind:
            drawn[key] = BY_NAME[key]
        elif "float" in kind or "int" in kind:
            drawn[key] = st.lists(SHARE, max_size=4) if "Sequence" in kind else WHOLE if kind == "int" else SHARE
    return drawn | ({"rng": st.builds(np.random.default_rng, st.just(0))} if "rng" in parameters else {})


CALLS = MADE | {name: (function, arguments(name, function)) for name, function in functions().items()}


def numbers_in(result: Any) -> list[np.ndarray[Any, Any]]:
    if is_dataclass(result):
        return [array for field in fields(result) for array in numbers_in(getattr(result, field.name))]
    if isinstance(result, tuple | list):
        return [array for part in result for array in numbers_in(part)]
    if isinstance(result, dict):
        return numbers_in(list(result.values()))
    if result is None or isinstance(result, str):
        return []
    array = np.asarray(result)
    return [array] if array.dtype.kind in "fiub" else []


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_statistic_gives_a_value_or_says_why_not(name, data):
    function, drawn = CALLS[name]
    values = {key: data.draw(strategy, label=key) for key, strategy in drawn.items()}

    try:
        result = function(**values)
    except StatisticsError:
        return
    if name not in MAY_BE_NAN:
        assert not any(np.isnan(array.astype(float)).any() for array in numbers_in(result)), result


def test_all_functions_are_asked_with_all_that_they_need():
    assert {"low_group_p", "cohen_h", "sign_test", "kruskal_wallis"} <= set(CALLS)
    for name, (function, drawn) in CALLS.items():
        needed = {key for key, one in inspect.signature(function).parameters.items() if one.default is one.empty}
        assert name in MADE or needed <= set(drawn), name


def pilot_variance():
    rng = np.random.default_rng(2)
    sides, queries, people = np.arange(240) % 2, np.arange(240) // 12, rng.integers(0, 12, 240)
    return power.variance_of(power.PilotRatings(rng.random(240) < 0.5, sides, queries, people))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: stats.wilson(3, 2),
        lambda: stats.clopper_pearson(3, 2),
        lambda: stats.newcombe(3, 2, 1, 2),
        lambda: stats.korn_graubard(math.nan, 0.1, n=10, clusters=5),
        lambda: stats.equivalence(math.nan, 0.1, margin=0.05),
        lambda: stats.alternative_annotator_test([math.nan, 1], [1, 1], item=[0, 1], annotator=[0, 0]),
        lambda: stats.alternative_annotator_test([1, 1, 0], [1, 1], item=[0, 1], annotator=[0, 0]),
        lambda: stats.agreement_of_votes([1, 2], [3, 3], clusters=["q"]),
        lambda: stats.anova_detectable_effect(2, 2, alpha=1e-12),
        lambda: stats.proportions_detectable_effect(1.2, 30),
        lambda: stats.panel_worth([1, 0], [5, 6, 7], [20, 20, 20]),
        lambda: power.study_queries(pilot_variance(), 0.0, per_item=3, per_annotator=10),
        lambda: power.study_queries(pilot_variance(), 0.1, per_item=3, per_annotator=10, power=1.2),
        lambda: power.study_queries(pilot_variance(), 1e-9, per_item=3, per_annotator=10),
        lambda: power.study_power(pilot_variance(), float("nan"), queries=10, per_item=3, per_annotator=10),
        lambda: power.study_power(pilot_variance(), 0.1, queries=0, per_item=3, per_annotator=10),
        lambda: power.study_power(pilot_variance(), 0.1, queries=10, per_item=3, per_annotator=0),
    ],
)
def test_what_cannot_be_answered_is_refused(ask):
    with pytest.raises(StatisticsError):
        ask()


def test_a_million_votes_on_an_item_are_no_trouble():
    safe, votes = np.array([400_000, 500_100, 700_000, 12]), np.array([10**6, 10**6, 10**6, 20])

    curve = stats.panel_curve(safe, votes)
    same = same_label(safe, votes, prior=UNIFORM)
    found = stats.agreement_of_votes(safe, votes)
    assert np.isfinite(curve.agreement).all()
    assert same[[0, 2]] == pytest.approx([1, 1], abs=1e-6)
    # 100 over half with a standard deviation of 500 in this study and in the next: the difference has 707.
    assert same[1] == pytest.approx(0.5562, abs=1e-3)
    assert 0 < found.raw < 1
