"""The functions of statistics that have no place in `casewise.stats` itself answer hostile arguments as those that have."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.test_hostile_arguments import (
    CALLS,
    COUNT,
    COUNTS,
    LABELS,
    NUMBERS,
    SAFE,
    SHARE,
    TABLE,
    TRUTHS,
    VOTES,
    WHOLE,
    column,
    numbers_in,
)

import casewise.stats as package
from casewise.errors import StatisticsError
from casewise.stats.agreement import alpha_by_level, alpha_on_scale, category_counts, checked_votes
from casewise.stats.arrays import cluster_variance
from casewise.stats.ceilings import against_new_person, leave_one_out
from casewise.stats.contrasts import group_difference, low_group_p, sign_flips
from casewise.stats.estimates import rule_scores
from casewise.stats.pairs import halves, hard_score
from casewise.stats.panel import labels_needed, prediction_powered_rate, reference_weight, usual_reference
from casewise.stats.power import (
    PilotRatings,
    assumed_deviation,
    power_of_queries,
    queries_needed,
    query_differences,
    simulated_power,
    study_power,
    study_queries,
    variance_of,
)
from casewise.stats.sample import filled_in, of_raw_values
from casewise.stats.shares import binomial_below, score_limits, sign_test

INSIDE: dict[str, tuple[Callable[..., Any], dict[str, st.SearchStrategy[Any]]]] = {
    "low_group_p": (low_group_p, {"values": NUMBERS, "group": LABELS}),
    "group_difference": (
        group_difference,
        {"safe": TRUTHS, "group": TRUTHS, "item": LABELS, "query": LABELS, "annotator": LABELS, "level": SHARE},
    ),
    "sign_flips": (sign_flips, {"net": column(st.one_of(st.integers(-4, 4), COUNT))}),
    "cluster_variance": (cluster_variance, {"influence": NUMBERS, "clusters": LABELS}),
    "prediction_powered_rate": (
        prediction_powered_rate,
        {"grader": column(SHARE), "labels": TRUTHS, "clusters": LABELS, "level": SHARE},
    ),
    "labels_needed": (
        labels_needed,
        {"half_width": SHARE, "items": WHOLE, "rate": SHARE, "correlation": SHARE},
    ),
    "rule_scores": (
        rule_scores,
        {
            "predicted": st.lists(st.one_of(st.none(), st.sets(st.integers(0, 5)))),
            "violated": st.lists(st.sets(st.integers(0, 5))),
            "clusters": LABELS,
        },
    ),
    "score_limits": (score_limits, {"estimate": column(SHARE), "n": COUNTS, "level": SHARE}),
    "sign_test": (sign_test, {"one_way": WHOLE, "other_way": WHOLE}),
    "binomial_below": (binomial_below, {"successes": COUNT, "n": WHOLE, "share": SHARE}),
    "category_counts": (category_counts, {"ratings": TABLE}),
    "alpha_by_level": (
        alpha_by_level,
        {"counts": TABLE, "level": st.sampled_from(["nominal", "ordinal", "interval"]), "clusters": LABELS},
    ),
    "alpha_on_scale": (
        alpha_on_scale,
        {"item": COUNTS, "value": NUMBERS, "clusters": LABELS, "annotator": COUNTS},
    ),
    "against_new_person": (
        against_new_person,
        {"judge": TRUTHS, "safe": SAFE, "votes": VOTES, "clusters": LABELS, "margin": SHARE, "alpha": SHARE},
    ),
    "leave_one_out": (leave_one_out, {"judge": TRUTHS, "safe": SAFE, "votes": VOTES}),
    "reference_weight": (reference_weight, {"safe": SAFE, "votes": VOTES, "reference_size": WHOLE}),
    "usual_reference": (usual_reference, {"votes": VOTES}),
    "checked_votes": (checked_votes, {"safe": SAFE, "votes": VOTES, "clusters": LABELS}),
    "query_differences": (query_differences, {"first": NUMBERS, "second": NUMBERS, "clusters": LABELS}),
    "assumed_deviation": (
        assumed_deviation,
        {"difference": SHARE, "discordance": SHARE, "items_per_query": WHOLE, "correlation": SHARE},
    ),
    "queries_needed": (
        queries_needed,
        {"difference": SHARE, "deviation": SHARE, "alpha": SHARE, "power": SHARE},
    ),
    "power_of_queries": (
        power_of_queries,
        {"n": WHOLE, "difference": SHARE, "deviation": SHARE, "alpha": SHARE},
    ),
    "simulated_power": (
        lambda n, alpha, repeats: simulated_power(
            query_differences([1, 0, 1, 0], [0, 1, 0, 0]), n, alpha=alpha, repeats=repeats
        ),
        {"n": st.one_of(st.integers(-1, 40), SHARE), "alpha": SHARE, "repeats": st.sampled_from([10, 0, -1])},
    ),
    "variance_of": (
        lambda **given: variance_of(PilotRatings(**given)),
        {"safe": TRUTHS, "second": TRUTHS, "query": LABELS, "annotator": LABELS},
    ),
    "halves": (halves, {"safe": SAFE, "votes": VOTES, "verdict": TRUTHS}),
    "hard_score": (
        hard_score,
        {"safe": SAFE, "votes": VOTES, "baseline": TRUTHS, "judge": TRUTHS, "cluster": LABELS},
    ),
    "filled_in": (
        lambda **given: filled_in(**given, rng=np.random.default_rng(0), n_permutations=20),
        {"values": NUMBERS, "odd": TRUTHS, "rate": column(SHARE)},
    ),
    "of_raw_values": (
        of_raw_values,
        {"raw": st.lists(st.sampled_from(["0.5", "safe", "", None, 3]), max_size=6), "rate": column(SHARE)},
    ),
}

MAY_BE_NAN = {"reference_weight", "leave_one_out", "cluster_variance"}
"""What is undefined for an item by the nature of the thing, and said to be so in its docstring."""

HELPERS = {"arrays"}
"""Where arguments are checked."""

FORMULAS = {"majority_weight", "chance_of_majority", "hypergeometric", "log_choose"}
"""Formulas on arrays that have been checked."""


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_statistic_inside_gives_a_value_or_says_why_not(name, data):
    function, arguments = INSIDE[name]
    given_ = {key: data.draw(strategy, label=key) for key, strategy in arguments.items()}

    try:
        result = function(**given_)
    except StatisticsError:
        return
    if name not in MAY_BE_NAN:
        assert not any(np.isnan(array.astype(float)).any() for array in numbers_in(result)), result


def takes_arrays(function: FunctionType) -> bool:
    return any("ArrayLike" in str(one.annotation) for one in inspect.signature(function).parameters.values())


def test_every_function_that_takes_arrays_of_any_kind_is_asked():
    found = set()
    for module in pkgutil.walk_packages(package.__path__, "casewise.stats."):
        if module.name.removeprefix("casewise.stats.") in HELPERS:
            continue
        loaded = importlib.import_module(module.name)
        own = {name: one for name, one in vars(loaded).items() if getattr(one, "__module__", "") == module.name}
        public = {name: one for name, one in own.items() if inspect.isfunction(one) and not name.startswith("_")}
        found |= {name for name, one in public.items() if takes_arrays(one)}

    assert "low_group_p" in found
    assert found <= set(CALLS) | set(INSIDE) | FORMULAS


@pytest.mark.parametrize(
    "ask",
    [
        lambda: study_queries(variance(), 0.0, per_item=3, per_annotator=10),
        lambda: study_queries(variance(), 0.1, per_item=3, per_annotator=10, power=1.2),
        lambda: study_queries(variance(), 1e-9, per_item=3, per_annotator=10),
        lambda: study_power(variance(), float("nan"), queries=10, per_item=3, per_annotator=10),
        lambda: study_power(variance(), 0.1, queries=0, per_item=3, per_annotator=10),
        lambda: study_power(variance(), 0.1, queries=10, per_item=3, per_annotator=0),
    ],
)
def test_designs_that_cannot_be_are_refused(ask):
    with pytest.raises(StatisticsError):
        ask()


def variance():
    rng = np.random.default_rng(2)
    n = 240
    return variance_of(PilotRatings(rng.random(n) < 0.5, np.arange(n) % 2, np.arange(n) // 12, rng.integers(0, 12, n)))
