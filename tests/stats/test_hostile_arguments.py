"""Whatever a statistic is asked, it gives a right value or says in words why not: never nan in silence, never a trace.

Arguments are drawn from what people really pass by mistake: nan, infinities, negative and fractional counts, more
successes than units, lengths that differ, labels that are missing, words for numbers, settings out of their range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise import stats
from casewise.errors import StatisticsError
from casewise.stats.ceilings import UNIFORM, BetaPrior, fit_beta, predicted_counts, same_label

NUMBER = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, -1, -0.5, 0, 0.5, 1, 2, 3, 7.5, 21, 10**6, 2**40, 1e300]),
    st.integers(-3, 40),
    st.floats(-2, 2),
)
COUNT = st.one_of(st.integers(0, 30), NUMBER)
SIZE = st.one_of(st.integers(1, 40), COUNT)
SHARE = st.one_of(st.floats(0.01, 0.99), NUMBER)
TRUTH = st.one_of(st.booleans(), st.sampled_from([0, 1, math.nan, 2, -1]))
LABEL = st.one_of(st.integers(0, 4), st.sampled_from(["a", "b", None, math.nan]))


def column(element: st.SearchStrategy[Any], most: int = 9) -> st.SearchStrategy[Any]:
    """A list, mostly of one length so that calls get past the first check; sometimes no list at all."""
    return st.one_of(
        st.lists(element, min_size=6, max_size=6),
        st.lists(element, max_size=most),
        st.lists(st.lists(element, max_size=3), max_size=3),
        element,
        st.just("words"),
    )


def one_way(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes its clusters last and without a name."""
    return lambda *, clusters, **given: function(*given.values(), clusters)


TRUTHS, COUNTS, NUMBERS, LABELS = column(TRUTH), column(COUNT), column(NUMBER), column(LABEL)
SAFE, VOTES = column(st.one_of(st.integers(0, 8), COUNT)), column(st.one_of(st.integers(8, 30), COUNT))
WHOLE = st.one_of(st.integers(-1, 40), NUMBER)
TABLE = st.one_of(st.lists(st.lists(TRUTH, min_size=3, max_size=3), min_size=2, max_size=6), NUMBERS)

RATES = st.lists(SHARE, max_size=4)

CALLS: dict[str, tuple[Callable[..., Any], dict[str, st.SearchStrategy[Any]]]] = {
    "adjust": (stats.adjust, {"p": NUMBERS, "method": st.sampled_from(["holm", "none", "bonferroni", "no such"])}),
    "benjamini_hochberg": (stats.benjamini_hochberg, {"p": NUMBERS}),
    "benjamini_yekutieli": (stats.benjamini_yekutieli, {"p": NUMBERS}),
    "bonferroni": (stats.bonferroni, {"p": NUMBERS}),
    "holm": (stats.holm, {"p": NUMBERS}),
    "ceilings": (stats.ceilings, {"safe": SAFE, "votes": VOTES}),
    "agreement_of_votes": (
        stats.agreement_of_votes,
        {"safe": SAFE, "votes": VOTES, "clusters": LABELS},
    ),
    "reliability": (
        lambda **given: stats.reliability(**given, rng=np.random.default_rng(0)),
        {"safe": SAFE, "votes": VOTES, "clusters": LABELS, "splits": st.sampled_from([20, 0, -1])},
    ),
    "panel_curve": (
        stats.panel_curve,
        {"safe": SAFE, "votes": VOTES, "clusters": LABELS, "reference_size": WHOLE, "largest": st.integers(-1, 9)},
    ),
    "panel_worth": (
        stats.panel_worth,
        {"judge": TRUTHS, "safe": SAFE, "votes": VOTES, "clusters": LABELS, "reference_size": WHOLE},
    ),
    "alternative_annotator_test": (
        stats.alternative_annotator_test,
        {"safe": TRUTHS, "judge": TRUTHS, "item": LABELS, "annotator": LABELS, "epsilon": SHARE, "alpha": SHARE},
    ),
    "clustered_contrast": (
        stats.clustered_contrast,
        {"safe": TRUTHS, "second": TRUTHS, "query": LABELS, "annotator": LABELS, "level": SHARE},
    ),
    "clopper_pearson": (stats.clopper_pearson, {"successes": COUNTS, "n": COUNTS, "level": SHARE}),
    "wilson": (stats.wilson, {"successes": COUNTS, "n": COUNTS, "level": SHARE}),
    "korn_graubard": (
        stats.korn_graubard,
        {"estimate": column(SHARE), "variance": column(SHARE), "n": column(SIZE), "clusters": column(SIZE)},
    ),
    "newcombe": (stats.newcombe, {"x1": COUNTS, "n1": COUNTS, "x2": COUNTS, "n2": COUNTS}),
    "two_proportion_z": (stats.two_proportion_z, {"x1": COUNTS, "n1": COUNTS, "x2": COUNTS, "n2": COUNTS}),
    "kruskal_wallis": (
        stats.kruskal_wallis,
        {"successes": SAFE, "sizes": VOTES, "exact": st.sampled_from([False, False, False, True])},
    ),
    "dunn": (stats.dunn, {"successes": SAFE, "sizes": VOTES}),
    "pairwise_proportions": (stats.pairwise_proportions, {"successes": SAFE, "sizes": VOTES}),
    "equivalence": (
        stats.equivalence,
        {"difference": NUMBERS, "error": NUMBERS, "margin": SHARE, "df": SIZE, "alpha": SHARE},
    ),
    "fleiss_kappa": (stats.fleiss_kappa, {"ratings": TABLE}),
    "krippendorff_alpha": (stats.krippendorff_alpha, {"ratings": TABLE}),
    "spearman_brown": (stats.spearman_brown, {"correlation": NUMBER, "factor": NUMBER}),
    "cohen_h": (stats.cohen_h, {"p1": SHARE, "p2": SHARE}),
    "proportions_power": (
        stats.proportions_power,
        {"p1": SHARE, "p2": SHARE, "alpha": SHARE, "n_per_group": WHOLE, "sides": st.integers(0, 3)},
    ),
    "proportions_sample_size": (
        stats.proportions_sample_size,
        {"p1": SHARE, "p2": SHARE, "alpha": SHARE, "power": SHARE, "sides": st.integers(0, 3)},
    ),
    "proportions_detectable_effect": (
        stats.proportions_detectable_effect,
        {"p1": SHARE, "n_per_group": WHOLE, "alpha": SHARE, "power": SHARE, "sides": st.integers(0, 3)},
    ),
    "anova_power": (
        stats.anova_power,
        {"groups": WHOLE, "effect_size": SHARE, "alpha": SHARE, "n_per_group": WHOLE},
    ),
    "anova_sample_size": (
        stats.anova_sample_size,
        {"groups": WHOLE, "effect_size": SHARE, "alpha": SHARE, "power": SHARE},
    ),
    "anova_detectable_effect": (
        stats.anova_detectable_effect,
        {"groups": WHOLE, "n_per_group": WHOLE, "alpha": SHARE, "power": SHARE},
    ),
    "chi_square_test_power": (
        stats.chi_square_test_power,
        {"effect_size": SHARE, "df": WHOLE, "alpha": SHARE, "n_total": WHOLE},
    ),
    "chi_square_sample_size": (
        stats.chi_square_sample_size,
        {"effect_size": SHARE, "df": WHOLE, "alpha": SHARE, "power": SHARE},
    ),
    "chi_square_detectable_effect": (
        stats.chi_square_detectable_effect,
        {"n_total": WHOLE, "df": WHOLE, "alpha": SHARE, "power": SHARE},
    ),
    "kruskal_power": (
        lambda **given: stats.kruskal_power(**given, repeats=20),
        {"safe_rates": RATES, "n_per_group": WHOLE, "alpha": SHARE},
    ),
    "kruskal_sample_size": (
        lambda **given: stats.kruskal_sample_size(**given, repeats=20, exact=False),
        {"safe_rates": RATES, "alpha": SHARE, "power": SHARE},
    ),
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
    "fit_beta": (fit_beta, {"safe": SAFE, "votes": VOTES}),
    "same_label": (lambda **given: same_label(**given, prior=UNIFORM), {"safe": SAFE, "votes": VOTES}),
    "predicted_counts": (
        lambda a, b, **given: predicted_counts(**given, prior=BetaPrior(a, b)),
        {"a": SHARE, "b": SHARE, "safe": WHOLE, "votes": WHOLE, "new_votes": WHOLE},
    ),
}

# What is undefined by the nature of the thing, and said to be so in its docstring.
MAY_BE_NAN = {"same_label", "agreement_of_votes", "reliability"}


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
    function, arguments = CALLS[name]
    given_ = {key: data.draw(strategy, label=key) for key, strategy in arguments.items()}

    try:
        result = function(**given_)
    except StatisticsError:
        return
    if name not in MAY_BE_NAN:
        assert not any(np.isnan(array.astype(float)).any() for array in numbers_in(result)), result


def test_every_public_function_is_asked():
    functions = {name for name in stats.__all__ if callable(getattr(stats, name)) and name.islower()}

    assert functions <= set(CALLS)


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
    ],
)
def test_what_once_gave_nan_or_hung_or_broke_is_refused(ask):
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
