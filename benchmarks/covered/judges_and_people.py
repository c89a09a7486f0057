"""Fewer people with a judge's help, a judge against a new person, weak categories, and how many queries tell two judges apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from scipy.special import expit

from casewise.evaluate.judge_numbers import weak_category
from casewise.stats.ceilings import new_person_test
from casewise.stats.judge_power import QueryDifferences, query_differences, simulated_power, simulated_queries_needed
from casewise.stats.panel import prediction_powered_rate
from casewise.stats.sample import Sample

__all__ = ["SECTIONS"]


def sample_of(share: np.ndarray, q: np.ndarray, votes: int) -> Sample:
    weight = np.where(share > 0.5, 1.0, np.where(share < 0.5, 0.0, 0.5))
    cluster = np.arange(len(q)) // 2
    return Sample(weight, share, (q > 0.5).astype(float), q, q, cluster, np.full(len(q), float(votes)))


def prediction_powered(studies: int) -> Iterator[Row]:
    """People's rate from labels on some queries and a grader on all."""
    rng = np.random.default_rng(31)
    for centre in (0.0, -2.2, -3.5):
        truth = float(expit(centre + np.sqrt(2) * rng.normal(size=400_000)).mean())
        for labels in (50, 100, 300):
            for skill in (0.3, 2.0):
                held, widths, alone = 0, [], []
                for _ in range(studies):
                    z = centre + rng.normal(0, 1, 450).repeat(2) + rng.normal(0, 1, 900)
                    asked = np.isin(np.arange(900) // 2, rng.permutation(450)[: labels // 2])
                    said = np.where(asked, rng.random(900) < expit(z), np.nan)
                    grader = skill * (z - centre) + rng.normal(0, 1, 900) > 0.5
                    found = prediction_powered_rate(grader, said, clusters=np.arange(900) // 2)
                    held += found.ci_low <= truth <= found.ci_high
                    widths.append(found.ci_high - found.ci_low)
                    alone.append(found.by_labels_high - found.by_labels_low)
                skilled = "a good" if skill > 1 else "a poor"
                setting = f"rate {truth:.2f}, {labels} labels of 900 items, two a query, {skilled} grader"
                width, beside = float(np.median(widths)), float(np.median(alone))
                yield Row("rates_with_judge", setting, "holds the truth", held, studies, "93 to 97 %", width, beside)


def corrected_rates(studies: int) -> Iterator[Row]:
    """What replies do, from labels of a few of them and a grader that misses some and invents others."""
    rng = np.random.default_rng(53)
    query = np.arange(900) // 2
    for truth, missed, invented, labels in product((0.02, 0.1, 0.5), (0.0, 0.25, 0.4), (0.0, 0.2), (30, 50, 100, 300)):
        held, widths, alone = 0, [], []
        for _ in range(studies):
            does = rng.random(900) < rng.beta(4 * truth, 4 * (1 - truth), 450).repeat(2)
            grader = np.where(does, rng.random(900) >= missed, rng.random(900) < invented)
            people = np.full(900, np.nan)
            chosen = rng.permutation(900)[:labels]
            people[chosen] = does[chosen]
            found = prediction_powered_rate(grader, people, clusters=query)
            held += found.ci_low <= truth <= found.ci_high
            widths.append(found.ci_high - found.ci_low)
            alone.append(found.by_labels_high - found.by_labels_low)
        setting = f"rate {truth}, {missed:.0%} missed, {invented:.0%} invented, {labels} labels"
        width, beside = float(np.median(widths)), float(np.median(alone))
        yield Row("corrected_rate", setting, "holds the truth", held, studies, "≥ 93 %", width, beside)


def judges_power(studies: int) -> Iterator[Row]:
    """Queries planned from a pilot find the difference as often as they should; without one the test keeps its level."""
    rng = np.random.default_rng(37)

    def compared(queries: int, ahead: float) -> QueryDifferences:
        shift = rng.normal(0, 0.1, queries).repeat(2)
        first = rng.random(2 * queries) < np.clip(0.8 + ahead + shift, 0, 1)
        second = rng.random(2 * queries) < np.clip(0.8 - shift, 0, 1)
        return query_differences(first, second, clusters=np.arange(queries).repeat(2))

    for pilot in (100, 450):
        found = 0
        for _ in range(max(1, studies // 10)):
            planned = simulated_queries_needed(compared(pilot, 0.0).tilted(0.05), repeats=1_000)
            for _ in range(10):
                d = compared(planned.queries, 0.05)
                found += abs(d.mean) > 1.96 * d.deviation / np.sqrt(planned.queries)
        setting = f"a pilot of {pilot} queries of two items, a difference of 0.05"
        yield Row("power judges", setting, "finds it", found, max(1, studies // 10) * 10, "about 80 %")
    for queries in (20, 60, 200):
        drawn = simulated_power(compared(450, 0.0).tilted(0.0), queries, repeats=20 * studies)
        rejected = round(drawn.power * drawn.repeats)
        setting = f"{queries} queries"
        yield Row("power judges", setting, "rejects without a difference", rejected, drawn.repeats, "4 to 6.5 %")


def new_person(studies: int) -> Iterator[Row]:
    """A judge that lies below a new person by exactly the margin, and one that is a person's equal."""
    rng = np.random.default_rng(41)

    def rates(queries: int) -> np.ndarray:
        return expit(rng.normal(0, 0.7, queries).repeat(2) + rng.normal(0, 1, 2 * queries))

    rate = rates(400_000)
    weight = (np.sign(2 * rng.binomial(19, rate) - 19) + 1) / 2
    person = float(np.mean(rate * weight + (1 - rate) * (1 - weight)))
    for queries in (20, 60, 225, 450):
        for name, flips, wanted in (
            ("judge at the margin called no worse", 0.05 / (2 * person - 1), "≤ 6.5 %"),
            ("a person's equal called no worse", 0.0, "power"),
        ):
            shown = 0
            for _ in range(studies):
                rate = rates(queries)
                judge = (rng.random(len(rate)) < rate) ^ (rng.random(len(rate)) < flips)
                safe, cluster = rng.binomial(20, rate), np.arange(len(rate)) // 2
                shown += new_person_test(judge, safe, np.full(len(rate), 20), clusters=cluster).not_worse
            yield Row("new_person", f"{queries} queries of two items, 20 votes", name, shown, studies, wanted)


def categories(studies: int) -> Iterator[Row]:
    """A weak category is named: never where all are alike but for 5 %, and where one is 30 points below the others."""
    rng = np.random.default_rng(47)
    for queries, kinds, drop in product((10, 30), (5, 45), (0.0, 0.3)):
        named_one = right_one = 0
        for _ in range(studies):
            rate = np.full(kinds, 0.85)
            rate[0] -= drop
            logits = np.log(rate / (1 - rate)).repeat(queries) + rng.normal(0, 0.7, kinds * queries)
            right_on = (rng.random((kinds * queries, 2)) < expit(logits)[:, None]).astype(float).ravel()
            share = np.ones(len(right_on))
            category = pl.Series(np.arange(kinds).repeat(2 * queries)).cast(pl.String)
            found = weak_category(sample_of(share, right_on, 20), category)
            named_one += found is not None
            right_one += found is not None and found.name == "0"
        setting = f"{kinds} categories of {queries} queries"
        if drop:
            yield Row("weak_category", f"{setting}, one 30 points below", "named", right_one, studies, "no claim")
        else:
            yield Row("weak_category", f"{setting}, all alike", "named", named_one, studies, "≤ 6.5 %")


SECTIONS = (
    Section(
        "prediction-powered",
        "rates with a judge's help",
        ("rates_with_judge",),
        "450 queries of two items; people's verdicts on 50, 100 or 300 items, whole queries drawn at random; rates of 0.07, "
        "0.17 and 0.5; a poor and a good grader, both of which lean.",
        prediction_powered,
        quick=500,
    ),
    Section(
        "corrected-rates",
        "rates of replies corrected by people's labels",
        ("corrected_rate",),
        "450 queries of two replies that go together (correlation 0.2); people label 30, 50, 100 or 300 of them, drawn at random; "
        "rates of 0.02, 0.1 and 0.5; a grader that misses 0, 25 or 40 % and invents 0 or 20 %.",
        corrected_rates,
        quick=1_000,
    ),
    Section(
        "judges-power",
        "number of queries needed to compare two judges",
        ("power judges",),
        "Two judges right on 0.8 of items, whose difference goes together within a query of two items.",
        judges_power,
        quick=500,
    ),
    Section(
        "categories",
        "weak categories",
        ("weak_category",),
        "5 and 45 categories of 10 and 30 queries of two items, 85 % right; all alike, or one 30 points below the others.",
        categories,
        quick=200,
    ),
    Section(
        "new-person",
        "a judge against one more person",
        ("new_person",),
        "True rates with logits of sd 1.2, a third of the variance shared by a query's two items; 20 votes; a margin of 0.05.",
        new_person,
        quick=1_000,
    ),
)
