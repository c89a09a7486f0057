"""What is said of people from their votes: agreement, reliability, panels, strata, who dropped out, columns of votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import Limits, coverage, rejections
from scipy.special import expit

from casewise.stats.agreement import Agreement, Reliability, agreement_of_votes, reliability
from casewise.stats.arrays import FloatArray, IntArray
from casewise.stats.panel import distribution_worth, panel_curve, panel_worth
from casewise.stats.ratings import code_ratings, column_dependence, lost_by_condition, safe_rate_by_stratum

__all__ = ["SECTIONS"]

MANY = 60_000
AGREED = ("raw", "alpha", "kappa", "ac1")


def votes_of(
    rng: np.random.Generator, queries: int, *, centre: float, votes: int, each: int
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Safe votes, votes, queries and true rates of items whose logits vary by 1 between queries and by 1 within."""
    n = queries * each
    rate = expit(centre + rng.normal(0, 1, queries).repeat(each) + rng.normal(0, 1, n))
    return rng.binomial(votes, rate), np.full(n, votes), np.arange(n) // each, rate


def agreement(studies: int) -> Iterator[Row]:
    """Agreement and reliability of few queries and many, of items that are balanced and that nearly all call safe."""
    rng = np.random.default_rng(73)
    for centre, votes, each in ((0.0, 20, 1), (0.0, 5, 2), (2.5, 20, 2)):

        def numbers(
            queries: int, *, centre: float = centre, votes: int = votes, each: int = each
        ) -> tuple[Agreement, Reliability]:
            safe, m, query, _ = votes_of(rng, queries, centre=centre, votes=votes, each=each)
            return (
                agreement_of_votes(safe, m, clusters=query),
                reliability(safe, m, rng=rng, clusters=query, splits=1),
            )

        agreed, reliable = numbers(MANY)
        truth = {name: getattr(agreed, name) for name in AGREED} | {"reliability": reliable.analytic}

        def drawn(
            queries: int, numbers: Callable[[int], tuple[Agreement, Reliability]] = numbers
        ) -> Mapping[str, Limits]:
            agreed, reliable = numbers(queries)
            found: dict[str, Limits] = {name: getattr(agreed, f"{name}_interval") for name in AGREED}
            return found | {"reliability": reliable.analytic_interval}

        for queries in (15, 30, 60, 120, 450):
            setting = f"{queries} queries of {each}, {votes} votes, " + ("balanced" if centre == 0 else "mostly safe")
            yield from coverage(studies, partial(drawn, queries), truth, setting)


def panels(studies: int) -> Iterator[Row]:
    """Panels of one, three and ten against ten others, a judge against the same, and how many people it is worth."""
    rng = np.random.default_rng(79)

    def judged(rate: FloatArray) -> FloatArray:
        return (rng.random(len(rate)) < expit(1.5 * np.log(rate / (1 - rate)))).astype(float)

    def numbers(queries: int) -> tuple[dict[str, Limits], dict[str, float]]:
        safe, m, query, rate = votes_of(rng, queries, centre=0.0, votes=20, each=2)
        curve = panel_curve(safe, m, clusters=query, largest=10)
        said, value = judged(rate), expit(np.log(rate / (1 - rate)) + rng.normal(0, 0.7, len(rate)))
        worth = panel_worth(said, safe, m, clusters=query, largest=21)
        near = distribution_worth(value, safe, m, clusters=query, largest=21)
        limits: dict[str, Limits] = {
            f"panel_curve of {k}": (float(curve.ci_low[k - 1]), float(curve.ci_high[k - 1])) for k in (1, 3, 10)
        }
        limits |= {
            "panel_worth.agreement": (worth.ci_low, worth.ci_high),
            "panel_worth.people": (worth.people_low, worth.people_high),
            "distribution_worth.agreement": (near.ci_low, near.ci_high),
            "distribution_worth.people": (near.people_low, near.people_high),
        }
        known = {f"panel_curve of {k}": float(curve.agreement[k - 1]) for k in (1, 3, 10)}
        known |= {"panel_worth.agreement": worth.agreement, "panel_worth.people": worth.people}
        known |= {"distribution_worth.agreement": near.agreement, "distribution_worth.people": near.people}
        return limits, known

    truth = numbers(MANY // 3)[1]
    for queries in (15, 30, 120, 450):
        yield from coverage(
            studies, partial(lambda many: numbers(many)[0], queries), truth, f"{queries} queries of 2, 20 votes"
        )


def strata(studies: int) -> Iterator[Row]:
    """People of several values of a stratum who differ from each other by 1 logit, and by nothing else."""
    rng = np.random.default_rng(83)
    for values, conditions, people in ((2, 2, 12), (3, 5, 12), (3, 3, 30)):

        def drawn(
            values: int = values, conditions: int = conditions, people: int = people
        ) -> Mapping[str, float | None]:
            n, items = values * conditions * people, 25
            person = np.repeat(np.arange(n), items)
            safe = rng.random(n * items) < expit(rng.normal(0, 1, n))[person]
            condition = person // values % conditions
            frame = pl.DataFrame(
                {
                    "item_id": [f"i{i % items}-{c}" for i, c in enumerate(condition)],
                    "query_id": [f"q{i % items}" for i in range(n * items)],
                    "annotator_id": person.astype(str),
                    "condition": [f"c{c}" for c in condition],
                    "verdict": np.where(safe, "safe", "unsafe"),
                    "age": [f"v{v}" for v in person % values],
                }
            )
            return {"strata interaction": safe_rate_by_stratum(code_ratings(frame, strata=("age",)), "age").p}

        yield from rejections(studies, drawn, f"{values} values, {conditions} conditions, {people} people a cell")


def dropped_out(studies: int) -> Iterator[Row]:
    rng = np.random.default_rng(89)
    for arms, people in ((2, 60), (5, 60), (5, 400)):

        def drawn(arms: int = arms, people: int = people) -> Mapping[str, float]:
            return {"attrition": lost_by_condition(np.full(arms, people), rng.binomial(people, 0.9, arms))[2]}

        yield from rejections(10 * studies, drawn, f"{arms} conditions of {people} people, one in ten lost")


def columns(studies: int) -> Iterator[Row]:
    rng = np.random.default_rng(97)
    for items, votes in ((60, 5), (450, 20)):

        def drawn(items: int = items, votes: int = votes) -> Mapping[str, float]:
            rate = expit(rng.normal(0, 1.4, items))[:, None]
            return {"labels.columns": column_dependence((rng.random((items, votes)) < rate).astype(int)).p}

        yield from rejections(5 * studies, drawn, f"{items} items of {votes} votes by people who do not differ")


SECTIONS = (
    Section(
        "agreement",
        (*AGREED, "reliability"),
        "15 to 450 queries of one item with 20 votes, of two with 5, and of two that nearly all call safe with 20; logits of true "
        "rates vary by 1 between and by 1 within queries. Nobody knows who voted. The truth is of 60,000 queries.",
        agreement,
        quick=200,
    ),
    Section(
        "panels",
        (
            *(
                "panel_curve of 1",
                "panel_curve of 3",
                "panel_curve of 10",
                "panel_worth.agreement",
                "panel_worth.people",
            ),
            *("distribution_worth.agreement", "distribution_worth.people"),
        ),
        "15 to 450 queries of two items with 20 votes; a judge that says safe more often the more people do. The truth is of "
        "20,000 queries.",
        panels,
        quick=30,
    ),
    Section(
        "strata",
        ("strata interaction",),
        "Two values under two conditions, three under five with 12 people a cell, three under three with 30; 25 items a person.",
        strata,
        quick=300,
        full=2_000,
    ),
    Section("drop-out", ("attrition",), "Two and five conditions of 60 people, five of 400.", dropped_out, quick=200),
    Section("columns", ("labels.columns",), "60 items of 5 votes and 450 of 20, blocks of 25.", columns, quick=200),
)
