r"""Are they people? Four measures of one annotator's answers, and how often each takes simulated people for none.

Program-made answers pass attention checks, so what is looked at is what people do without meaning to: differ from a model
where others do, say something of the item, read long texts for longer, need a moment after something came into view.
None is a proof, so each stands beside the share of a rehearsal's crowd, all of them people, that it would flag.

With *x* an annotator's answers (1 safe), *p* the share of the others who say safe on the same items, *j* a judge's verdicts,
`llm_echo` is the correlation of *x* − *p* with *j*; `correlated_agreement` is twice the covariance of *x* and *p*: agreement on
the same items less that on different ones [1]_; `timing_length` Spearman's correlation of seconds with characters;
`time_to_sight` the share of answers within a moment of the last first sight.

References
----------
.. [1] Shnayder, Agarwal, Frongillo & Parkes (2016), Informed truthfulness in multi-task peer prediction, EC '16, 179-196.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

import numpy as np

from casewise.stats.core.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.people.crowd import CrowdDesign, CrowdModel, simulate_ratings
from casewise.studies.design.design import Design, QualityThresholds, Ratings
from casewise.studies.design.ledger import LedgerItem
from casewise.studies.running.quality import ENOUGH, LIKENESS, LikenessKind

__all__ = ["FalseAlarms", "SeenAnswers", "measures", "raised", "simulated_flags", "typical_safe_rates"]

TYPICAL_SAFE_RATE = {"no_context": 0.45, "safe": 0.75, "unsafe": 0.3}
"""Assumed, so that conditions differ in a rehearsal as they may in a study. No result of anything."""

CHARACTERS_A_SECOND, BEFORE_READING_S = 25.0, 2.0
SPREAD_OF_PEOPLE, SPREAD_OF_PAGES = 0.3, 0.5
"""Of simulated reading: log-normal, of one person to another and from page to page. Assumed."""
TO_SIGHT_S = 1.5
"""Mean time beyond the half second at which a simulated person has both in view. Assumed."""
JUDGE_NOISE = 1.0
"""How far a simulated judge reads an item otherwise than people do, in logits."""
CARELESS, CARELESS_PACE = 0.1, 0.2
"""As in a rehearsal: share of people who press at random, and how much less time they take. They are people all the same."""
LEAST_PEOPLE = 2000
ECHO, COIN = 1, 2
PROGRAMS = 0.02
"""Share of the simulated annotators who are programs of either kind."""
MEANT: dict[LikenessKind, tuple[int, ...]] = {"llm_echo": (ECHO,), "correlated_agreement": (COIN,)}


def typical_safe_rates(conditions: list[str]) -> tuple[float, ...]:
    """What a rehearsal's crowd says of each condition."""
    return tuple(TYPICAL_SAFE_RATE.get(name.split("_")[0], TYPICAL_SAFE_RATE.get(name, 0.5)) for name in conditions)


@dataclass(frozen=True)
class SeenAnswers:
    """One entry an answer in every array; items and annotators as numbers from 0."""

    annotator: IntArray
    item: IntArray
    safe: BoolArray
    seconds: FloatArray
    """From the page to the answer; nan where not known."""
    characters: FloatArray
    """Of the request and the situation."""
    after_sight: FloatArray
    """Seconds from when both had been in view to the answer; nan where not known."""


def measures(seen: SeenAnswers, judges: Mapping[str, FloatArray]) -> dict[tuple[LikenessKind, str], FloatArray]:
    """Each measure of each annotator, by its kind and the judge's name ('' where none is asked); nan where it says nothing.

    `judges`: the verdict of each on every item: 1 safe, 0 unsafe, nan none.
    """
    people = int(seen.annotator.max()) + 1 if len(seen.annotator) else 0
    safe = seen.safe.astype(float)
    votes = np.bincount(seen.item)
    others = np.maximum(votes[seen.item] - 1, 1)
    peers = np.where(votes[seen.item] > 1, (np.bincount(seen.item, weights=safe)[seen.item] - safe) / others, np.nan)
    found: dict[tuple[LikenessKind, str], FloatArray] = {}
    columns: dict[tuple[LikenessKind, str], tuple[FloatArray, FloatArray]] = {
        ("correlated_agreement", ""): (safe, peers),
        ("timing_length", ""): (seen.seconds, seen.characters),
        ("time_to_sight", ""): (seen.after_sight, seen.after_sight),
    }
    columns |= {("llm_echo", name): (safe - peers, verdicts[seen.item]) for name, verdicts in judges.items()}
    order = np.argsort(seen.annotator, kind="stable")
    bounds = np.searchsorted(seen.annotator[order], np.arange(people + 1))
    for key, (x, y) in columns.items():
        found[key] = np.array([one(key[0], x[order[a:b]], y[order[a:b]]) for a, b in pairwise(bounds)])
    return found


MOMENT_S = 1.0
"""An answer so soon after both came into view was not read."""


def one(kind: LikenessKind, x: FloatArray, y: FloatArray) -> float:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if len(x) < ENOUGH:
        return np.nan
    if kind == "time_to_sight":
        return float((x < MOMENT_S).mean())
    if kind == "correlated_agreement":
        return float(2 * ((x - x.mean()) * (y - y.mean())).sum() / (len(x) - 1))
    if kind == "timing_length":
        from scipy.stats import rankdata  # 0.7 s that pages need not wait for

        x, y = rankdata(x), rankdata(y)
    spread = float(x.std() * y.std())
    return float(((x - x.mean()) * (y - y.mean())).mean() / spread) if spread > 0 else np.nan


def raised(kind: LikenessKind, values: FloatArray, thresholds: QualityThresholds) -> BoolArray:
    """Which of the annotators a measure flags; those of whom it says nothing it does not."""
    threshold = getattr(thresholds, kind)
    above = kind in ("llm_echo", "time_to_sight")
    with np.errstate(invalid="ignore"):
        found: BoolArray = values >= threshold if above else values <= threshold
    return found


@dataclass(frozen=True)
class FalseAlarms:
    """Of a simulated crowd: the share of people that a flag is raised for, and of the programs among them; of those of whom
    the measure says something, and nan where it says nothing of anybody."""

    people: float
    programs: float
    """Of programs that answer each page after a moment: those that repeat the judge for `llm_echo`, those that throw a coin for
    `correlated_agreement`, both for the others."""


def simulated_flags(
    design: Design, items: list[LedgerItem], characters: Mapping[str, int], *, rng: np.random.Generator
) -> dict[LikenessKind, FalseAlarms]:
    """How often each flag is raised in a rehearsal's crowd on this design, at its thresholds.

    As many queries (rounded up, where nobody's batch is otherwise full) and ratings an item as the round has, repeated until there are two thousand people or more; two in a
    hundred are then replaced by a program that repeats a judge, and two by one that throws a coin.

    `characters`: of each item, as people read it.
    """
    crowd = [simulated(design, items, characters, rng=rng) for _ in range(repeats(design, items))]
    return {
        kind: FalseAlarms(*(mean([share[kind][place] for share in crowd]) for place in (0, 1))) for kind in LIKENESS
    }


def mean(shares: list[float]) -> float:
    return float(np.nanmean(shares)) if not np.isnan(shares).all() else float("nan")


def repeats(design: Design, items: list[LedgerItem]) -> int:
    people = len(items) * design.ratings.per_item / design.ratings.per_annotator
    return max(1, min(50, round(LEAST_PEOPLE / max(people, 1))))


def simulated(
    design: Design, items: list[LedgerItem], characters: Mapping[str, int], *, rng: np.random.Generator
) -> dict[LikenessKind, tuple[float, float]]:
    conditions = sorted({item.condition for item in items})
    queries = in_full_batches(len({item.query_id for item in items}), design.ratings)
    plan = CrowdDesign(
        safe_rates=typical_safe_rates(conditions),
        queries=queries,
        ratings_per_item=design.ratings.per_item,
        items_per_annotator=design.ratings.per_annotator,
    )
    crowd = simulate_ratings(CrowdModel(careless=CARELESS), plan, rng=rng)
    lengths = np.array([[characters[i.item_id] for i in items if i.condition == c] for c in conditions], dtype=object)
    by_condition = [rng.choice(np.asarray(lengths[c], dtype=float), queries) for c in range(len(conditions))]
    read = np.array(by_condition).T[crowd.query, crowd.condition]
    item = crowd.query * len(conditions) + crowd.condition
    judge = (crowd.logits + rng.normal(0, JUDGE_NOISE, crowd.logits.shape) > 0).astype(float).ravel()
    people = int(crowd.annotator.max()) + 1
    program = rng.choice(3, people, p=(1 - 2 * PROGRAMS, PROGRAMS, PROGRAMS))
    hurry = np.where(np.array(crowd.annotators.kinds()) == "careless", CARELESS_PACE, 1.0)
    seen = as_people(crowd.annotator, item, crowd.safe, read, hurry[crowd.annotator], rng=rng)
    seen = as_programs(seen, program, judge, rng=rng)
    shares: dict[LikenessKind, tuple[float, float]] = {}
    for (kind, _), values in measures(seen, {"judge": judge}).items():
        flagged = raised(kind, values, design.quality)
        meant = np.isin(program, MEANT.get(kind, (ECHO, COIN)))
        known = ~np.isnan(values)
        shares[kind] = (share_of(flagged[known & (program == 0)]), share_of(flagged[known & meant]))
    return shares


def in_full_batches(queries: int, ratings: Ratings) -> int:
    """So many queries or a few more, as are rated in full batches: most people of a round have one, and a crowd shares evenly."""
    step = ratings.per_annotator // gcd(ratings.per_annotator, ratings.per_item)
    return queries if queries < ratings.per_annotator else -(-queries // step) * step


def share_of(flagged: BoolArray) -> float:
    return float(flagged.mean()) if len(flagged) else float("nan")


def as_people(
    annotator: IntArray,
    item: IntArray,
    safe: BoolArray,
    characters: FloatArray,
    hurry: FloatArray,
    *,
    rng: np.random.Generator,
) -> SeenAnswers:
    """Answers with the times of people who read, some in a `hurry` (the share of the time that others take)."""
    n, people = len(safe), int(annotator.max()) + 1
    pace = np.exp(rng.normal(0, SPREAD_OF_PEOPLE, people))[annotator] * np.exp(rng.normal(0, SPREAD_OF_PAGES, n))
    to_sight = 0.5 + rng.exponential(TO_SIGHT_S, n)
    seconds = to_sight + (BEFORE_READING_S + characters / CHARACTERS_A_SECOND) * pace * hurry
    return SeenAnswers(annotator, item, safe, seconds, characters, seconds - to_sight)


def as_programs(seen: SeenAnswers, program: IntArray, judge: FloatArray, *, rng: np.random.Generator) -> SeenAnswers:
    """The same, with the answers of some made by programs."""
    who = program[seen.annotator]
    said = np.where(who == ECHO, judge[seen.item] == 1, rng.random(len(who)) < 0.5)
    moment = rng.uniform(0.05, 0.8, len(who))
    return replace(
        seen,
        safe=np.where(who > 0, said, seen.safe),
        seconds=np.where(who > 0, 0.5 + moment, seen.seconds),
        after_sight=np.where(who > 0, moment, seen.after_sight),
    )
