"""Condition against condition, task by task, and shares of things that are independent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product

import numpy as np
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import Held, Limits, coverage, rejections
from scipy.special import expit

from casewise.stats import (
    CrowdDesign,
    CrowdModel,
    clopper_pearson,
    clustered_contrast,
    dunn,
    equivalence,
    kruskal_wallis,
    newcombe,
    pairwise_proportions,
    simulate_ratings,
    two_proportion_z,
    wilson,
)
from casewise.stats.arrays import Counts
from casewise.stats.contrasts import group_difference
from casewise.stats.kruskal import TaskRatings, category_tests
from casewise.stats.power import PilotRatings, pilot_intervals

__all__ = ["SECTIONS"]


def contrasts(studies: int) -> Iterator[Row]:
    """Two conditions that do not differ, that differ by exactly the margin of equivalence, and that differ."""
    rng = np.random.default_rng(137)
    for queries, people_sd in ((60, 0.0), (60, 1.0), (225, 1.0)):
        for second in (0.5, 0.4):
            model = CrowdModel(query_sd=1.0, query_condition_sd=0.5, annotator_sd=people_sd)
            design = CrowdDesign(safe_rates=(0.5, second), queries=queries, ratings_per_item=10)
            names = {"like": "queries like these", "query": "average per query", "item": "by item"}
            truth = 0.0 if second == 0.5 else true_difference(model, second)
            held = {name: Held() for name in names}
            found_p: dict[str, list[float]] = {name: [] for name in (*names, "pooled z")}
            within = 0
            for _ in range(studies):
                ratings = simulate_ratings(model, design, rng=rng)
                is_second = ratings.condition == 1
                found = clustered_contrast(ratings.safe, is_second, query=ratings.query, annotator=ratings.annotator)
                parts = {"like": found.queries_like_these, "query": found.by_query, "item": found.by_item}
                for name, part in parts.items():
                    if part is not None and part.p is not None:
                        held[name].of((part.ci_low, part.ci_high), truth)
                        found_p[name].append(part.p)
                like = found.queries_like_these
                if like is not None and truth:
                    within += equivalence(like.estimate, like.error, margin=abs(truth), df=like.df) < 0.05
                counts = [int(n) for some in (~is_second, is_second) for n in (ratings.safe[some].sum(), some.sum())]
                found_p["pooled z"].append(float(two_proportion_z(*counts).p))
            setting = f"{queries} queries, 10 ratings an item, annotators differ by {people_sd:g}"
            for name, title in names.items():
                wanted = "≥ 92 %" if name == "like" else "no claim"
                yield held[name].row(f"contrast: {title}", f"{setting}, a difference of {truth:.2f}", wanted)
            if truth:
                yield Row(
                    "equivalence",
                    f"{setting}, a difference of the margin",
                    "calls them alike",
                    within,
                    studies,
                    "≤ 6.5 %",
                )
                continue
            for name, p in found_p.items():
                rejected = sum(one <= 0.05 for one in p)
                wanted = "4 to 6.5 %" if name == "like" else "no claim"
                yield Row(
                    f"contrast: {names.get(name, name)}",
                    setting,
                    "rejects without a difference",
                    rejected,
                    len(p),
                    wanted,
                )


def groups(studies: int) -> Iterator[Row]:
    """A group of annotators who answer as the others do, or more readily by a half on the logit; people rate 15 of 60 items."""
    rng, truth = np.random.default_rng(141), group_truth()
    for people, inside, shift in product((40, 120), (10, 0.5), (0.0, 0.5)):
        n = inside if inside >= 1 else round(inside * people)
        held, rejected, total = Held(), 0, 0
        for _ in range(studies):
            query = np.array([rng.permutation(60)[:15] for _ in range(people)])
            condition = rng.integers(0, 2, people)[:, None]
            member = np.repeat((np.arange(people) < n)[:, None], 15, 1)
            base = rng.normal(0, 1.0, (2, 60))[condition, query] + np.array([0.0, 1.0])[condition]
            own, step = rng.normal(0, 0.7, (people, 1)), rng.normal(shift, 0.5, 60)[query] if shift else 0.0
            safe = rng.random((people, 15)) < expit(base + own + step * member)
            found = group_difference(
                safe.ravel(),
                member.ravel(),
                item=(query + 60 * condition).ravel(),
                query=query.ravel(),
                annotator=np.repeat(np.arange(people), 15),
            )
            if found.p is not None:
                held.of((found.ci_low, found.ci_high), truth if shift else 0.0)
                rejected, total = rejected + (found.p <= 0.05), total + 1
        setting = f"{n} of {people} people, a difference of {truth if shift else 0:.3f}"
        yield held.row("group difference", setting, "≥ 92 %")
        if not shift:
            yield Row("group difference", setting, "rejects without a difference", rejected, total, "≤ 6.5 %")


def group_truth() -> float:
    rng = np.random.default_rng(6)
    base = rng.normal(0, 1.0, 1_000_000) + np.array([0.0, 1.0])[rng.integers(0, 2, 1_000_000)]
    own, step = rng.normal(0, 0.7, 1_000_000), rng.normal(0.5, 0.5, 1_000_000)
    return float((expit(base + own + step) - expit(base + own)).mean())


def few_people(studies: int) -> Iterator[Row]:
    """Two conditions that do not differ, each rated by a few people who differ; or both by the same few."""
    rng = np.random.default_rng(139)
    for people, queries, same in product((3, 4, 6, 8), (30, 100), (False, True)):

        def drawn(people: int = people, queries: int = queries, same: bool = same) -> dict[str, float | None]:
            one = rng.normal(size=queries) + rng.normal(0, 0.5, (2, queries))
            shift = rng.normal(size=(1 if same else 2, people))
            logit = one[:, None, :] + shift[:, :, None]
            safe = rng.random((2, people, queries)) < expit(logit)
            second, person, query = np.indices(safe.shape)
            found = clustered_contrast(
                safe.ravel(),
                second.ravel() == 1,
                query=query.ravel(),
                annotator=(person if same else person + people * second).ravel(),
            )
            like = found.queries_like_these
            return {"contrast of few people": None if like is None else like.p}

        who = f"{people} people rate both" if same else f"{people} people a condition"
        yield from rejections(studies, drawn, f"{who}, {queries} queries", wanted="≤ 6.5 %")


def true_difference(model: CrowdModel, second: float) -> float:
    rng = np.random.default_rng(5)
    sd = np.sqrt(model.query_sd**2 + model.query_condition_sd**2 + model.annotator_sd**2)
    draw = sd * rng.normal(size=1_000_000)
    return float(expit(draw).mean() - expit(draw + np.log(second / (1 - second))).mean())


def tasks(studies: int) -> Iterator[Row]:
    """Queries on which five conditions do not differ: each test, and the tests after it, together."""
    rng = np.random.default_rng(139)
    for n in (7, 21):

        def drawn(n: int) -> Mapping[str, float | None]:
            safe = rng.binomial(n, rng.beta(2, 2), 5)
            found = kruskal_wallis(safe, np.full(5, n), exact=True)
            after = (
                dunn(safe, np.full(5, n)).adjusted("holm"),
                pairwise_proportions(safe, np.full(5, n)).adjusted("holm"),
            )
            return {
                "task: permutation p": float(found.p_exact) if found.p_exact is not None else None,
                "task: chi-square p": float(found.p),
                "task: Dunn, any pair": float(after[0].min()),
                "task: pairwise proportions, any pair": float(after[1].min()),
            }

        wanted = dict.fromkeys(("task: permutation p", "task: Dunn, any pair"), "≤ 6.5 %")
        yield from rejections(10 * studies, partial(drawn, n), f"five conditions of {n} people", wanted=wanted)
    for each in (1, 10):
        yield from rejections(
            studies,
            partial(category_p, rng, each),
            f"ten tasks, {each} rated by each person",
            wanted={"category: mean H, people shuffled": "4 to 6.5 %"},
        )


def category_p(rng: np.random.Generator, each: int) -> Mapping[str, float | None]:
    """One category of ten tasks under three conditions, 12 ratings each, by people who differ by 1 logit."""
    people = 360 // each
    condition = np.arange(people) % 3
    task = np.concatenate([np.arange(10)[(np.arange(each) + person // 3) % 10] for person in range(people)])
    person = np.repeat(np.arange(people), each)
    rate = expit(rng.normal(0, 1, 10)[task] + rng.normal(0, 1, people)[person])
    safe = rng.random(len(task)) < rate
    cell = task * 3 + condition[person]
    counts = Counts(*(np.bincount(some, minlength=30).reshape(10, 3) for some in (cell[safe], cell)))
    result = kruskal_wallis(*counts)
    known = TaskRatings(task, person, safe, condition)
    both = {"category: mean H, people shuffled": known, "category: mean H, ratings shuffled": None}
    return {
        name: float(
            category_tests(
                counts, np.zeros(10, dtype=int), result=result, rng=rng, alpha=0.05, paper_level=0.0125, people=who
            )["p"][0]
        )
        for name, who in both.items()
    }


def shares(studies: int) -> Iterator[Row]:
    """Intervals of shares, and of differences of shares, of things that are independent of each other."""
    rng = np.random.default_rng(149)
    for n in (10, 30, 200):
        for p in (0.02, 0.1, 0.5):

            def drawn(n: int, p: float) -> Mapping[str, Limits]:
                one, other = rng.binomial(n, p), rng.binomial(n, 0.5)
                found = {"wilson": wilson(one, n), "clopper_pearson": clopper_pearson(one, n)}
                both = newcombe(one, n, other, n)
                return {name: (float(i.low), float(i.high)) for name, i in (found | {"newcombe": both}).items()}

            truth = {"wilson": p, "clopper_pearson": p, "newcombe": p - 0.5}
            yield from coverage(10 * studies, partial(drawn, n, p), truth, f"{n} independent things, a share of {p:g}")


def pilots(studies: int) -> Iterator[Row]:
    """The variances that a pilot finds, and their intervals."""
    rng = np.random.default_rng(151)
    model = CrowdModel(query_sd=1.0, query_condition_sd=0.7, annotator_sd=1.0)

    def parts(queries: int) -> PilotRatings:
        ratings = simulate_ratings(
            model, CrowdDesign(safe_rates=(0.5, 0.5), queries=queries, ratings_per_item=10), rng=rng
        )
        return PilotRatings.from_ratings(ratings.safe, ratings.condition == 1, ratings.query, ratings.annotator)

    known = [parts(400).variance() for _ in range(20)]
    truth = {"pilot.of_difference": float(np.mean([pilot.of_difference for pilot in known]))}
    for queries in (40, 120):

        def drawn(queries: int) -> Mapping[str, Limits]:
            return {"pilot.of_difference": pilot_intervals(parts(queries), rng=rng, draws=200)}

        yield from coverage(studies, partial(drawn, queries), truth, f"a pilot of {queries} queries", "no claim")


SECTIONS = (
    Section(
        "contrasts",
        "differences between conditions",
        (
            "contrast: queries like these",
            "contrast: average per query",
            "contrast: by item",
            "contrast: pooled z",
            "equivalence",
        ),
        "60 and 225 queries, ten ratings an item, 25 items an annotator; logits of queries vary by 1, of queries under a condition "
        "by 0.5, of annotators by 0 or 1; typical rates of 0.5 and 0.5, or 0.5 and 0.4.",
        contrasts,
        quick=1_000,
    ),
    Section(
        "groups",
        "differences between groups of annotators",
        ("group difference",),
        "40 and 120 annotators of 15 items each, of 60 queries under one of two conditions; logits of items vary by 1, of annotators by 0.7; a group "
        "of 10 people or half of all answers as the others do, or is readier by 0.5 on the logit, which varies by 0.5 between queries.",
        groups,
        quick=1_000,
    ),
    Section(
        "few-people",
        "differences between conditions with few people",
        ("contrast of few people",),
        "3, 4, 6 and 8 people a condition, who differ by 1 logit and rate all of 30 or 100 queries; queries as above; the same "
        "people under both conditions, or others.",
        few_people,
        quick=1_000,
    ),
    Section(
        "tasks",
        "tests of single queries and categories",
        (
            *(
                "task: permutation p",
                "task: chi-square p",
                "task: Dunn, any pair",
                "task: pairwise proportions, any pair",
            ),
            *("category: mean H, people shuffled", "category: mean H, ratings shuffled"),
        ),
        "A query under five conditions of 7 and of 21 people; a category of ten queries under three conditions, 12 ratings each, by "
        "people who differ by 1 logit and rate one or all of them.",
        tasks,
        quick=150,
    ),
    Section(
        "shares",
        "shares of independent things",
        ("wilson", "clopper_pearson", "newcombe"),
        "10, 30 and 200 independent things, shares of 0.02, 0.1 and 0.5; differences are from a share of 0.5.",
        shares,
        quick=100,
    ),
    Section(
        "pilots",
        "widths that a pilot predicts",
        ("pilot.of_difference",),
        "Pilots of 40 and 120 queries under two conditions, ten ratings an item. The truth is the mean over 20 pilots of 400 queries.",
        pilots,
        quick=300,
    ),
)
