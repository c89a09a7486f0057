"""What is said of people from their votes: agreement, reliability, panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import Limits, coverage
from scipy.special import expit

from casewise.stats.agreement import Agreement, Reliability, agreement_of_votes, reliability
from casewise.stats.arrays import FloatArray, IntArray
from casewise.stats.panel import panel_curve, panel_worth

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
        worth = panel_worth(judged(rate), safe, m, clusters=query, largest=21)
        limits: dict[str, Limits] = {
            f"panel_curve of {k}": (float(curve.ci_low[k - 1]), float(curve.ci_high[k - 1])) for k in (1, 3, 10)
        }
        limits |= {
            "panel_worth.agreement": (worth.ci_low, worth.ci_high),
            "panel_worth.people": (worth.people_low, worth.people_high),
        }
        known = {f"panel_curve of {k}": float(curve.agreement[k - 1]) for k in (1, 3, 10)}
        known |= {"panel_worth.agreement": worth.agreement, "panel_worth.people": worth.people}
        return limits, known

    truth = numbers(MANY // 3)[1]
    for queries in (15, 30, 120, 450):
        yield from coverage(
            studies, partial(lambda many: numbers(many)[0], queries), truth, f"{queries} queries of 2, 20 votes"
        )


SECTIONS = (
    Section(
        "agreement",
        "agreement of people",
        (*AGREED, "reliability"),
        "15 to 450 queries of one item with 20 votes, of two with 5, and of two that nearly all call safe with 20; logits of true "
        "rates vary by 1 between and by 1 within queries. Nobody knows who voted. The truth is of 60,000 queries.",
        agreement,
        quick=200,
    ),
    Section(
        "panels",
        "panels of people",
        (
            *(
                "panel_curve of 1",
                "panel_curve of 3",
                "panel_curve of 10",
                "panel_worth.agreement",
                "panel_worth.people",
            ),
        ),
        "15 to 450 queries of two items with 20 votes; a judge that says safe more often the more people do. The truth is of "
        "20,000 queries.",
        panels,
        quick=30,
    ),
)
