"""What is looked for in files, traffic and annotators: flags and their false alarms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from benchmarks.covered.rows import Row, Section
from benchmarks.covered.tally import rejections
from tests.support.annotated import annotated_study

from casewise.deciding.monitor import chi_squared
from casewise.stats.ceilings import alternative_annotator_test
from casewise.stats.ratings import annotator_table, code_ratings
from casewise.stats.sample import filled_in_test

__all__ = ["SECTIONS"]


@dataclass(frozen=True)
class Flagged:
    """How many annotators were looked at, and how many carry a flag."""

    looked: int
    flags: Mapping[str, int]


def flags(studies: int) -> Iterator[Row]:
    """Attentive annotators, drift of traffic like the benchmark's, files as a judge wrote them, and judges at the border."""
    rng = np.random.default_rng(139)
    for votes, each in ((10, 40), (20, 25)):
        looked = [attentive(rng, votes, each) for _ in range(max(1, studies // 10))]
        for name in ("unresponsive", "constant"):
            raised, of = sum(one.flags[name] for one in looked), sum(one.looked for one in looked)
            setting = f"225 queries of two, {votes} votes, {each} items an annotator"
            yield Row(f"flag: {name}", setting, "raised at an attentive annotator", raised, of, "≤ 2 %")
    for queries, requests in ((90, 200), (450, 5_000)):
        setting = f"{queries} queries, {requests:,} requests"
        yield from rejections(10 * studies, partial(traffic, rng, queries, requests), setting, wanted="≤ 6.5 %")
    yield from rejections(studies, partial(as_written, rng), "900 values, 90 of them integers", wanted="≤ 6.5 %")
    passed = sum(at_the_border(rng) for _ in range(studies))
    setting = "90 people of 40 items, a judge that agrees less often than they by epsilon"
    yield Row("alternative annotator test", setting, "passes", passed, studies, "≤ 6.5 %")


def attentive(rng: np.random.Generator, votes: int, each: int) -> Flagged:
    study = annotated_study(rng, queries=225, votes=votes, items_each=each)
    columns = {
        "item_id": study.item.astype(str),
        "query_id": (study.item // 2).astype(str),
        "condition": np.full(len(study.item), "one"),
        "verdict": np.where(study.safe, "safe", "unsafe"),
        "annotator_id": study.annotator.astype(str),
    }
    table = annotator_table(code_ratings(pl.DataFrame(columns)), rng=rng).table
    return Flagged(len(table), {name: int(table[name].sum()) for name in ("unresponsive", "constant")})


def traffic(rng: np.random.Generator, queries: int, requests: int) -> Mapping[str, float | None]:
    """Requests that are like the benchmark's, in ten bins of scores."""
    names = [str(one) for one in range(10)]
    now, then = (rng.multinomial(n, np.full(10, 0.1)) / n for n in (requests, queries))
    one, other = (dict(zip(names, shares.tolist(), strict=True)) for shares in (now, then))
    return {"drift": chi_squared(one, other, requests, queries)}


def as_written(rng: np.random.Generator) -> Mapping[str, float | None]:
    """A judge's values, of which any may be an integer."""
    rate = rng.random(900)
    values = rate + rng.normal(0, 0.3, 900)
    odd = rng.permutation(900) < 90
    raw = [int(1000 * value) if whole else 1000 * value for value, whole in zip(values.tolist(), odd, strict=True)]
    found = filled_in_test(raw, rate, rng=rng, n_permutations=499)
    return {"values of another kind": None if found is None else found.p}


def at_the_border(rng: np.random.Generator) -> bool:
    """People right on nine items of ten about a truth, and a judge right so seldom that it wins as often less epsilon."""
    people, votes, items = 90, 9, 400
    truth = rng.random(items) < 0.5
    item, who = (
        np.repeat(np.arange(items), votes),
        np.concatenate([rng.choice(people, votes, replace=False) for _ in range(items)]),
    )
    safe = np.where(rng.random(len(item)) < 0.9, truth[item], ~truth[item])
    judge = np.where(rng.random(items) < 0.8, truth, ~truth)
    found = alternative_annotator_test(safe, judge[item], item=item, annotator=who, epsilon=0.1)
    return bool(found.passes)


SECTIONS = (
    Section(
        "flags",
        "flags of annotators, traffic and files",
        ("flag: unresponsive", "flag: constant", "drift", "values of another kind", "alternative annotator test"),
        "Attentive annotators who differ by 1 logit; traffic with scores as the benchmark's, in ten bins; files of 900 values of which "
        "90 are of another kind, and go with people's rates as the others do; people right on nine items of ten, and a judge on eight.",
        flags,
        quick=100,
    ),
)
