"""What else a judge's pages say: costs, repeats, hard items, comparisons, arms, rare errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import Held, Limits, coverage, rejections
from scipy.special import expit
from tests.support.judges import wrong_at_random

from casewise.stats.comparison import paired_tests, simultaneous_differences
from casewise.stats.costs import cheapest_threshold, cost_curve, error_terms
from casewise.stats.estimates import estimate_of, item_values, judge_noise, measure
from casewise.stats.measured import Measured, TotalsByCluster, share
from casewise.stats.metrics import parse_metrics
from casewise.stats.pairs import Parts, hard_score, shapley_values, subsets
from casewise.stats.sample import Sample
from casewise.stats.words import Folds

__all__ = ["SECTIONS"]

MANY = 60_000


def costs(studies: int) -> Iterator[Row]:
    """The cost of the verdicts, and of the thresholds that were fitted, at three ratios of harm to over-refusal."""
    rng = np.random.default_rng(101)
    ratios = (0.2, 1.0, 10.0)
    many = wrong_at_random(rng, MANY // 2, 0.9, each=2)

    def true_cost(ratio: float, threshold: float | None) -> float:
        said = many.safe if threshold is None else (many.value > threshold).astype(float)
        terms = error_terms(many, said)
        weighed = terms["over"].sum() + ratio * terms["harm"].sum()
        return float(weighed / ((1 + ratio) * terms["counted"].sum()))

    plain = {ratio: true_cost(ratio, None) for ratio in ratios}
    for queries in (15, 30, 60, 120, 450):
        own = {ratio: Held() for ratio in ratios}
        best = {ratio: Held() for ratio in ratios}
        for _ in range(studies):
            sample = wrong_at_random(rng, queries, 0.9, each=2)
            for point in cost_curve(sample, ratios=ratios):
                if point.cost is not None:
                    own[point.ratio].add(point.cost, plain[point.ratio])
                if point.best_threshold is not None:
                    fitted = [true_cost(point.ratio, one) for one in thresholds(sample, point.ratio)]
                    best[point.ratio].add(point.best_threshold, float(np.mean(fitted)))
        for ratio in ratios:
            yield own[ratio].row("cost", f"{queries} queries of 2, a harm is worth {ratio:g} over-refusals")
            if best[ratio].studies:
                yield best[ratio].row(
                    "best_threshold", f"{queries} queries of 2, a harm is worth {ratio:g} over-refusals"
                )


def thresholds(sample: Sample, ratio: float) -> Iterator[float]:
    """The ones that `cost_curve` fits, one a fold."""
    folds = Folds.from_groups(sample.cluster, n=min(10, sample.n_clusters), seed=0)
    for fold in range(folds.n):
        learn = folds.of_row != fold
        yield cheapest_threshold(sample.value[learn], sample.weight[learn], ratio)


def repeats(studies: int) -> Iterator[Row]:
    """A judge asked three times about each item, whose values differ by 0.1 on some items and by 0.02 on others."""
    rng = np.random.default_rng(103)

    def noise(queries: int) -> tuple[Mapping[str, Limits], Mapping[str, float]]:
        n = 2 * queries
        centre, sd = rng.random(n), np.where(np.repeat(rng.random(queries) < 0.3, 2), 0.1, 0.02)
        values = np.clip(centre[:, None] + sd[:, None] * rng.normal(size=(n, 3)), 0, 1)
        judged = pl.DataFrame({"item_id": np.repeat(np.arange(n), 3).astype(str), "value": values.ravel()})
        found = judge_noise(item_values(judged, elicitation="probability"), np.arange(n) // 2)
        assert found is not None
        both = {"repeats.deviation": found.deviation, "repeats.changes": found.changes}
        return {name: one.limits for name, one in both.items()}, {
            name: one.estimate or 0.0 for name, one in both.items()
        }

    truth = noise(MANY)[1]
    for queries in (15, 30, 120, 450):
        yield from coverage(
            studies, partial(lambda many: noise(many)[0], queries), truth, f"{queries} queries of 2, asked three times"
        )


def hard_items(studies: int) -> Iterator[Row]:
    """A judge on the items that a classifier gets wrong."""
    rng = np.random.default_rng(107)

    def scored(queries: int) -> tuple[Limits, float]:
        opinion = rng.normal(0, 1, queries).repeat(2) + rng.normal(0, 1, 2 * queries)
        safe = rng.binomial(20, expit(opinion))
        words, judge = (opinion + sd * rng.normal(size=len(opinion)) > 0 for sd in (1.5, 0.7))
        found = hard_score(safe, np.full(len(safe), 20), baseline=words, judge=judge, cluster=np.arange(len(safe)) // 2)
        return found.accuracy.limits, found.accuracy.estimate or 0.0

    truth = {"hard_items": scored(MANY)[1]}
    for queries in (30, 60, 120, 450):
        drawn = partial(lambda many: {"hard_items": scored(many)[0]}, queries)
        yield from coverage(studies, drawn, truth, f"{queries} queries of 2, 20 votes")


def comparisons(studies: int) -> Iterator[Row]:
    """Three equally good judges: items that are independent, and items of a query that are hard together."""
    rng = np.random.default_rng(109)
    for queries, each, together in ((30, 1, 0.0), (120, 1, 0.0), (450, 2, 0.0), (225, 2, 1.0)):

        def drawn(queries: int, each: int, together: float) -> Mapping[str, float | None]:
            base = wrong_at_random(rng, queries, 1.0, each=each)
            base = replace(base, weight=(base.rate > 0.5).astype(float))
            judges: list[Sample] = []
            for _ in range(3):
                alike = np.repeat(rng.random(queries), each)
                draw = np.where(rng.random(len(base)) < together, alike, rng.random(len(base)))
                judges.append(replace(base, safe=np.where(draw < 0.2, 1 - base.weight, base.weight)))
            tests = paired_tests([(judges[0], judges[1]), (judges[0], judges[2]), (judges[1], judges[2])])
            first = tests[0]
            return {
                "exact test: p": first.p_exact,
                "exact test: mid-p": first.p_mid,
                "exact test: Holm, any of three": min(test.p_holm for test in tests),
            }

        where = "hard together" if together else "independent"
        setting = f"{queries} queries of {each}, items {where}"
        yield from rejections(10 * studies, partial(drawn, queries, each, together), setting, wanted="≤ 6.5 %")


def headlines(studies: int) -> Iterator[Row]:
    """The best of several equally good judges, and whether any other is said to be behind it."""
    rng = np.random.default_rng(111)

    def drawn(judges: int) -> Mapping[str, float | None]:
        wrong = rng.random((judges, 90)) < 0.2
        base = wrong_at_random(rng, 90, 1.0, each=1)
        base = replace(base, weight=(base.rate > 0.5).astype(float))
        samples = [replace(base, safe=np.where(one, 1 - base.weight, base.weight)) for one in wrong]
        best = int(wrong.sum(1).argmin())
        accuracies = [measure(sample, metrics=parse_metrics("accuracy"))[0] for sample in samples]
        differences = simultaneous_differences(accuracies)
        told = any(difference.beyond_chance for pair, difference in differences.items() if best in pair)
        return {"behind the best": 0.0 if told else 1.0}

    for judges in (3, 5, 10, 20):
        yield from rejections(studies, partial(drawn, judges), f"{judges} judges", wanted="≤ 6 %")


def arms(studies: int) -> Iterator[Row]:
    """Shapley values of two parts of the context, which help alone and more together."""
    rng = np.random.default_rng(113)
    parts = ("recipient", "sender")
    right = {frozenset(one): 0.6 + 0.1 * len(one) + 0.05 * (len(one) == 2) for one in subsets(parts)}

    def values(queries: int) -> dict[Parts, Measured]:
        base = wrong_at_random(rng, queries, 1.0, each=2)
        base = replace(base, weight=(base.rate > 0.5).astype(float))
        draw = rng.random(len(base))
        found: dict[Parts, Measured] = {}
        for shown, chance in right.items():
            own = np.where(rng.random(len(base)) < 0.7, draw, rng.random(len(base)))
            sample = replace(base, safe=np.where(own < chance, base.weight, 1 - base.weight))
            (found[shown],) = measure(sample, metrics=parse_metrics("accuracy"))
        return found

    truth = {f"shapley of {part}": 0.125 for part in parts}
    for queries in (15, 60, 225):

        def drawn(queries: int) -> Mapping[str, Limits]:
            return {f"shapley of {part}": one.limits for part, one in shapley_values(values(queries)).items()}

        yield from coverage(studies, partial(drawn, queries), truth, f"{queries} queries of 2")


def rare_shares(studies: int) -> Iterator[Row]:
    """Proportions that few queries carry: with the bound that the queries give, and without it beside."""
    rng = np.random.default_rng(4)
    for items, wrong, together in product((1, 8), (0.02, 0.05, 0.1, 0.5), (False, True)):
        if items == 1 and together:
            continue
        for queries in (15, 30, 60, 120):
            held = Held()
            for _ in range(studies):
                bottom = np.full(queries, items)
                top = (rng.random(queries) < wrong) * bottom if together else rng.binomial(bottom, wrong)
                totals = TotalsByCluster.from_terms(
                    {"top": np.asarray(top, dtype=float), "bottom": bottom.astype(float)},
                    np.arange(queries),
                    n_clusters=queries,
                )
                found = totals.measure(share("share", "top", "bottom"))
                bare = estimate_of(replace(found, cluster_shares=None))
                held.add(estimate_of(found), wrong, (bare.ci_high or 0.0) - (bare.ci_low or 0.0))
            alike = "whole queries" if together else "alone"
            yield held.row("rare shares", f"{queries} queries of {items}, {wrong:.0%} wrong, {alike}")


SECTIONS = (
    Section(
        "costs",
        "costs of a threshold",
        ("cost", "best_threshold"),
        "15 to 450 queries of two items; a judge that believes the opposite on 10 % of items. The truth of fitted thresholds (from 60 "
        "queries on) is what those of the ten folds cost on 30,000 queries, on average.",
        costs,
        quick=200,
    ),
    Section(
        "repeats",
        "noise of repeated judgements",
        ("repeats.deviation", "repeats.changes"),
        "15 to 450 queries of two items, three judgements each; values spread by 0.1 on three queries of ten, by 0.02 elsewhere.",
        repeats,
        quick=200,
    ),
    Section(
        "hard-items",
        "accuracy on hard items",
        ("hard_items",),
        "30 to 450 queries of two items with 20 votes; a classifier that errs by 1.5 logits, a judge by 0.7.",
        hard_items,
        quick=200,
    ),
    Section(
        "comparisons",
        "exact tests of two judges",
        ("exact test: p", "exact test: mid-p", "exact test: Holm, any of three"),
        "Three judges right on 80 % of items each; 30 to 450 queries of one item and of two that are independent, and 225 of two "
        "that a judge is right or wrong on together.",
        comparisons,
        quick=200,
    ),
    Section(
        "headlines",
        "judges said to be behind the best",
        ("behind the best",),
        "3, 5, 10 and 20 judges right on 80 % of items each, 90 queries of one item. Any judge said to be behind the best counts.",
        headlines,
        quick=100,
    ),
    Section(
        "arms",
        "contribution of a part of the context",
        ("shapley of recipient", "shapley of sender"),
        "15 to 225 queries of two items; accuracies of 0.6 with neither part, 0.7 with one and 0.85 with both.",
        arms,
        quick=200,
    ),
    Section(
        "rare-shares",
        "rare errors",
        ("rare shares",),
        "15 to 120 queries of one or eight items, 2 to 50 % wrong, each alone or whole queries. The yardstick is the interval "
        "without the bound that the number of queries gives.",
        rare_shares,
        quick=200,
    ),
)
