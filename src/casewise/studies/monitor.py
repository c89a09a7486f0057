"""How a round goes: speed, cost, people lost, flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import gcd
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, case, delete, func, insert, select, update

from casewise.database.tables import study as tables
from casewise.database.tables.metadata import insert_if_absent
from casewise.records import Verdict
from casewise.stats.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.crowd import CrowdDesign, CrowdModel, simulate_ratings
from casewise.studies.answers import (
    PAID_AS_SCREEN_OUT,
    PAID_IN_FULL,
    answers_of,
    bonuses,
    cost_of_more,
    cost_of_withdrawn,
    further_pay,
    lapse_and_void,
)
from casewise.studies.design import Design, Pay, QualityThresholds, Ratings
from casewise.studies.freeze import LedgerItem, StudyItem
from casewise.studies.owner import Overview, overview, purge
from casewise.studies.people import Vault, people_needed, person_of, waiting_people
from casewise.studies.prolific import ENDED_EARLY, KEPT, SubmissionEvent
from casewise.studies.quality import ENOUGH, LIKENESS, Dissent, Flag, LikenessKind, Skips, flags
from casewise.studies.recruiters import RecruiterIds, known_as
from casewise.studies.rounds import (
    ROWS_AT_ONCE,
    Round,
    all_rounds,
    amendments,
    load_round,
    note,
    round_state,
    shown_items,
)

# Are they people? Four measures of one annotator's answers, and how often each takes simulated people for none.
#
# Program-made answers pass attention checks, so what is looked at is what people do without meaning to: differ from a model
# where others do, say something of the item, read long texts for longer, need a moment after something came into view.
# None is a proof, so each stands beside the share of a rehearsal's crowd, all of them people, that it would flag.
#
# With *x* an annotator's answers (1 safe), *p* the share of the others who say safe on the same items, *j* a judge's verdicts,
# `llm_echo` is the correlation of *x* − *p* with *j*; `correlated_agreement` is twice the covariance of *x* and *p*: agreement on
# the same items less that on different ones [1]_; `timing_length` Spearman's correlation of seconds with characters;
# `time_to_sight` the share of answers within a moment of the last first sight.
#
# References
# ----------
# .. [1] Shnayder, Agarwal, Frongillo & Parkes (2016), Informed truthfulness in multi-task peer prediction, EC '16, 179-196.


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


# The flags that need everybody's answers: worked out for a whole round, kept with each annotator, never a
# verdict.


PAGES, FLAGS = tables.pages, tables.flags

SAYS: dict[LikenessKind, str] = {
    "llm_echo": "what is said beyond the others follows {judge}: r = {value:.2f}",
    "correlated_agreement": "agrees with the others no more on the same items than on different ones: {value:z.3f}",
    "timing_length": "long texts take no longer than short ones: rank correlation {value:z.2f}",
    "time_to_sight": "{value:.0%} of answers came within a second of the texts being in view",
}


@dataclass(frozen=True, slots=True)
class FlagCount:
    """How often a flag was raised, and how often it is in a simulated crowd of people."""

    kind: LikenessKind
    judge: str
    """Whose verdicts are repeated, for `llm_echo`; else empty."""
    raised: int
    of: int
    """Annotators of whom the measure says something."""
    threshold: float
    simulated: FalseAlarms


@dataclass(frozen=True)
class FoundFlags:
    """What looking at a whole round came to."""

    counts: list[FlagCount]
    by_annotator: dict[tuple[str, str], Flag]
    """By annotator and kind."""


def find_flags(
    connection: Connection, study: Round, judges: Mapping[str, Mapping[str, Verdict]], *, seed: int = 0
) -> FoundFlags:
    """Work out whether everybody answers as people do; nothing is kept yet, so that nobody waits meanwhile.

    `judges`: the verdicts of judges by name and item; without any, nobody is compared with one.
    `seed`: of the simulated crowd.
    """
    items = shown_items(connection, study.id)
    characters = {item.item_id: characters_of(item) for item in items}
    place = {item.item_id: number for number, item in enumerate(items)}
    rows = answered(connection, study)
    names = list(dict.fromkeys(row.annotator_id for row in rows))
    seen = seen_of(rows, place, {name: number for number, name in enumerate(names)}, characters)
    said = {name: verdicts_of(found, items) for name, found in judges.items()}
    ledger = [LedgerItem(item.item_id, item.query_id, item.condition) for item in items]
    expected = simulated_flags(study.design, ledger, characters, rng=np.random.default_rng(seed))
    counts, kept = [], dict[tuple[str, str], Flag]()
    for (kind, judge), values in measures(seen, said).items():
        flagged, threshold = raised(kind, values, study.design.quality), getattr(study.design.quality, kind)
        for number in np.flatnonzero(flagged):
            flag = Flag(kind, float(values[number]), threshold, evidence(kind, judge, values[number], expected[kind]))
            before = kept.get((names[number], kind))
            if before is None or flag.value > before.value:
                kept[names[number], kind] = flag
        known = int((~np.isnan(values)).sum())
        counts.append(FlagCount(kind, judge, int(flagged.sum()), known, threshold, expected[kind]))
    return FoundFlags(counts, kept)


def evidence(kind: LikenessKind, judge: str, value: float, expected: FalseAlarms) -> str:
    said = SAYS[kind].format(judge=judge, value=value)
    if np.isnan(expected.people):
        return f"{said}; how often it is wrong is not known: simulated people have too few answers"
    return f"{said}; {expected.people:.1%} of simulated people would be flagged"


def keep_flags(connection: Connection, study: Round, found: FoundFlags) -> None:
    """Keep them with each annotator, in the place of those of the same kinds; none of who withdrew since they were found."""
    looked_at = {count.kind for count in found.counts}
    connection.execute(delete(FLAGS).where(FLAGS.c.study_id == study.id, FLAGS.c.kind.in_(looked_at)))
    people = tables.annotators
    here = set(
        connection.scalars(select(people.c.id).where(people.c.study_id == study.id, people.c.withdrawn_at.is_(None)))
    )
    rows: list[dict[str, Any]] = [
        {"annotator_id": name, "study_id": study.id, **asdict(flag)}
        for (name, _), flag in found.by_annotator.items()
        if name in here
    ]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        connection.execute(insert(FLAGS), rows[start : start + ROWS_AT_ONCE])


def answered(connection: Connection, study: Round) -> list[Row[Any]]:
    query = (
        select(PAGES.c.annotator_id, PAGES.c.item_id, PAGES.c.verdict, PAGES.c.seconds, PAGES.c.sight)
        .where(PAGES.c.study_id == study.id, PAGES.c.item_id.is_not(None), PAGES.c.verdict.is_not(None))
        .order_by(PAGES.c.annotator_id, PAGES.c.position)
    )
    return list(connection.execute(query))


def seen_of(
    rows: Sequence[Row[Any]], place: Mapping[str, int], number: Mapping[str, int], characters: Mapping[str, int]
) -> SeenAnswers:
    seconds = np.array([np.nan if row.seconds is None else row.seconds for row in rows], dtype=float)
    return SeenAnswers(
        annotator=np.array([number[row.annotator_id] for row in rows], dtype=np.int64),
        item=np.array([place[row.item_id] for row in rows], dtype=np.int64),
        safe=np.array([row.verdict == "safe" for row in rows], dtype=bool),
        seconds=seconds,
        characters=np.array([characters[row.item_id] for row in rows], dtype=float),
        after_sight=seconds - np.array([last_sight(row.sight) for row in rows], dtype=float),
    )


def last_sight(sight: Mapping[str, float] | None) -> float:
    """When both texts had been in view; nan where that was not measured."""
    found = [sight[name] for name in ("request_s", "situation_s") if name in sight] if sight else []
    return max(found, default=np.nan)


def characters_of(item: StudyItem) -> int:
    """How long the texts are that people read."""
    texts = [item.shown["query"]]
    for said in item.shown["context"].values():
        texts += [said] if isinstance(said, str) else said.values()
    return sum(map(len, texts))


def verdicts_of(found: Mapping[str, Verdict], items: Sequence[StudyItem]) -> FloatArray:
    return np.array([np.nan if (said := found.get(item.item_id)) is None else said == "safe" for item in items], float)


# How a round goes: how fast, until when, what it costs, and where people are lost.


ANNOTATORS, EVENTS = tables.annotators, tables.events

RECENT = timedelta(hours=3)
"""Over which the pace is taken."""


@dataclass(frozen=True, slots=True)
class Money:
    """In the design's currency, the recruiter's fee included."""

    spent: float
    """On those who ended, whether or not the recruiter has paid them yet, and whether or not they withdrew later."""
    promised: float
    """To those who are in the tutorial, the quiz or a batch now; not to whoever left and whose lease has ended."""
    to_come: float
    """For the people whom it takes to fill the open slots, without those in the tutorial or the quiz, and for those who
    will not pass the quiz meanwhile.

    Nothing in a closed round: nobody new begins.
    """
    budget: float | None

    @property
    def total(self) -> float:
        return self.spent + self.promised + self.to_come

    @property
    def budget_share(self) -> float | None:
        """What of the budget is spent or promised; None where there is none."""
        return None if self.budget is None else (self.spent + self.promised) / self.budget


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many people came how far."""

    arrived: int
    """Opened the first page; counted without anything about them, only since there is this count, and as of some seconds ago."""
    turned_away: int
    consented: int
    quiz: int
    """Sent an answer to the quiz."""
    batch: dict[str, int]
    """Were given a batch, by condition; `finished` rated all of it."""
    finished: dict[str, int]


@dataclass(frozen=True, slots=True)
class Monitor:
    """How a round goes now."""

    overview: Overview
    valid_last_hour: int
    valid_per_hour: float
    """Over the last three hours, or since the round was opened."""
    ends_at: datetime | None
    """When the promised ratings will be there at that pace; None where there is no pace, nothing is missing, or the round is closed."""
    last_valid_at: datetime | None
    median_minutes_before: float | None
    """From consent to the batch: put it into `pay.minutes_before`."""
    money: Money
    funnel: Funnel
    last_outcomes: tuple[str, ...]
    """Of the 20 who ended last."""
    further: dict[str, float]
    """What each annotator is owed for batches after their first."""
    amendments: tuple[str, ...]
    """What was changed while it ran, when and why."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON values, without what the overview says."""
        plain = asdict(self)
        del plain["overview"]
        for name in ("ends_at", "last_valid_at"):
            plain[name] = plain[name].isoformat() if plain[name] else None
        return plain | {"money": plain["money"] | {"total": self.money.total, "budget_share": self.money.budget_share}}


def monitor(connection: Connection, study: Round, *, now: datetime) -> Monitor:
    """How the round goes; changes nothing."""
    seen, further = overview(connection, study), further_pay(connection, study)
    since = max(now - RECENT, study.created_at)
    hours = max((now - since).total_seconds() / 3600, 1 / 60)
    lately = valid_lately(connection, study.id, since=since, hour=now - timedelta(hours=1))
    pace, missing = lately.since / hours, seen.promised - seen.valid
    going = round_state(connection, study.id) != "closed"
    waiting = waiting_people(connection, study, now=now)
    return Monitor(
        overview=seen,
        valid_last_hour=lately.in_hour,
        valid_per_hour=pace,
        ends_at=now + timedelta(hours=missing / pace) if pace and missing and going else None,
        last_valid_at=lately.last_at,
        median_minutes_before=minutes_before(connection, study.id),
        money=money_of(
            study.design.pay,
            seen,
            under_way=waiting + rating_people(connection, study.id),
            people=people_needed(connection, study, now=now) if going else 0,
            besides=sum(further.values()) + bonuses(connection, study.id) + cost_of_withdrawn(connection, study.id),
        ),
        funnel=funnel(connection, study, seen),
        last_outcomes=last_outcomes(connection, study.id),
        further=further,
        amendments=tuple(
            f"{at:%Y-%m-%d}: {'; '.join(said['changes'])} ({said['why']})"
            for at, said in amendments(connection, study.id)
        ),
    )


class Lately(NamedTuple):
    """Valid ratings: the last one, and how many there are since two moments."""

    last_at: datetime | None
    since: int
    in_hour: int


def valid_lately(connection: Connection, study_id: str, *, since: datetime, hour: datetime) -> Lately:
    after = [func.coalesce(func.sum(case((PAGES.c.answered_at > moment, 1), else_=0)), 0) for moment in (since, hour)]
    query = select(func.max(PAGES.c.answered_at), *after).where(
        PAGES.c.study_id == study_id, PAGES.c.state == "rated", PAGES.c.kind == "item"
    )
    last, *counts = connection.execute(query).one()
    return Lately(last, *map(int, counts))


def minutes_before(connection: Connection, study_id: str) -> float | None:
    query = (
        select(EVENTS.c.at, ANNOTATORS.c.consented_at)
        .join(ANNOTATORS, ANNOTATORS.c.id == EVENTS.c.annotator_id)
        .where(EVENTS.c.study_id == study_id, EVENTS.c.kind == "assigned")
    )
    minutes = [(row.at - row.consented_at).total_seconds() / 60 for row in connection.execute(query)]
    return median(minutes) if minutes else None


def rating_people(connection: Connection, study_id: str) -> int:
    """Those in a batch whose lease has not ended."""
    here = (ANNOTATORS.c.study_id == study_id, ANNOTATORS.c.stage == "rating", ANNOTATORS.c.lapsed.is_(False))
    return int(connection.scalars(select(func.count()).where(*here)).one())


def money_of(pay: Pay, seen: Overview, *, under_way: int, people: int, besides: float) -> Money:
    """What a round has cost, and will by those under way and by `people` who are yet to come.

    `besides`: for further batches, bonuses, and on who withdrew.
    """
    fee, stages = 1 + pay.fee_percent / 100, seen.stages
    full = sum(stages.get(outcome, 0) for outcome in PAID_IN_FULL)
    partly = sum(stages.get(outcome, 0) for outcome in PAID_AS_SCREEN_OUT)
    return Money(
        spent=(full * pay.per_batch + partly * pay.screen_out + besides) * fee,
        promised=under_way * pay.per_batch * fee,
        to_come=cost_of_more(pay, stages, people=people),
        budget=pay.budget,
    )


def arrivals(connection: Connection, study_id: str) -> dict[str, int]:
    """How many opened the first page, and how many were not let in, as far as servers have written it down."""
    tallies = tables.tallies
    query = select(tallies.c.kind, tallies.c.count).where(tallies.c.study_id == study_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def funnel(connection: Connection, study: Round, seen: Overview) -> Funnel:
    counted = arrivals(connection, study.id)
    tried = select(func.count(EVENTS.c.annotator_id.distinct())).where(
        EVENTS.c.study_id == study.id, EVENTS.c.kind == "quiz"
    )
    finished = (
        select(ANNOTATORS.c.condition, func.count())
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.outcome.in_(("completed", "failed_checks")))
        .group_by(ANNOTATORS.c.condition)
    )
    done: dict[str, int] = {row[0]: row[1] for row in connection.execute(finished)}
    return Funnel(
        arrived=counted.get("arrived", 0),
        turned_away=counted.get("turned away", 0),
        consented=sum(seen.stages.values()),
        quiz=int(connection.scalars(tried).one()),
        batch={condition.condition: condition.people for condition in seen.conditions},
        finished={name: done.get(name, 0) for name in study.design.conditions},
    )


def last_outcomes(connection: Connection, study_id: str) -> tuple[str, ...]:
    query = (
        select(ANNOTATORS.c.outcome)
        .where(ANNOTATORS.c.study_id == study_id, ANNOTATORS.c.finished_at.is_not(None))
        .order_by(ANNOTATORS.c.finished_at.desc())
        .limit(20)
    )
    found: Sequence[str] = connection.scalars(query).all()
    return tuple(found)


# People of a round as their owner looks for them: found by id, condition, outcome and flag; sorted; a page at a
# time.


Sort = Literal["flags", "arrival", "rated", "skipped", "time"]

COUNTED = select(func.count()).where(FLAGS.c.annotator_id == ANNOTATORS.c.id).scalar_subquery()
SORTS: dict[Sort, tuple[ColumnElement[Any], ...]] = {
    "flags": (ANNOTATORS.c.voided_at.is_not(None), COUNTED.desc(), ANNOTATORS.c.consented_at),
    "arrival": (ANNOTATORS.c.consented_at,),
    "rated": (func.coalesce(ANNOTATORS.c.rated, 0).desc(), ANNOTATORS.c.consented_at),
    "skipped": (func.coalesce(ANNOTATORS.c.skipped, 0).desc(), ANNOTATORS.c.consented_at),
    "time": (func.coalesce(ANNOTATORS.c.median_s, 1e9), ANNOTATORS.c.consented_at),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleQuery:
    """Whom to find; what is empty asks for nothing."""

    search: str = ""
    """The beginning of an annotator's number. It stands in addresses, so it is never anybody's id at the recruiter."""
    condition: str = ""
    status: str = ""
    """A stage, an outcome, or `left out`."""
    flag: str = ""
    """A kind of flag, or `any`."""
    sort: Sort = "flags"


@dataclass(frozen=True, slots=True)
class FoundPerson:
    """One annotator, under a random id, as of their last assessment."""

    id: str
    condition: str | None
    status: str
    rated: int | None
    skipped: int | None
    median_s: float | None
    voided_at: datetime | None
    feedback: str | None
    flags: tuple[Flag, ...]
    disagreement: Dissent


@dataclass(frozen=True, slots=True)
class FoundPeople:
    """A page of them."""

    people: tuple[FoundPerson, ...]
    total: int
    offset: int
    assessed_at: datetime | None
    """When what is kept with annotators was last worked out for any of the round; for each, only after they did something."""


def find_people(
    connection: Connection, study: Round, wanted: PeopleQuery, *, limit: int, offset: int = 0
) -> FoundPeople:
    """The people who fit `wanted`, `limit` of them from `offset` on; the last `limit` or fewer where that is beyond them."""
    where = fitting(study, wanted)
    total = int(connection.scalars(select(func.count()).select_from(ANNOTATORS).where(*where)).one())
    offset = min(offset, max(0, total - 1) // limit * limit)
    assessed = select(func.max(ANNOTATORS.c.assessed_at)).where(ANNOTATORS.c.study_id == study.id)
    query = select(ANNOTATORS).where(*where).order_by(*SORTS[wanted.sort], ANNOTATORS.c.id).limit(limit).offset(offset)
    rows = connection.execute(query).all()
    ids = [row.id for row in rows]
    flags, dissents = flags_of(connection, ids), dissents_of(connection, study.id, ids)
    people = tuple(as_found(row, flags[row.id], dissents[row.id]) for row in rows)
    return FoundPeople(people, total, offset, connection.scalars(assessed).one())


def fitting(study: Round, wanted: PeopleQuery) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [ANNOTATORS.c.study_id == study.id]
    if search := "".join(wanted.search.split()):
        where.append(ANNOTATORS.c.id.startswith(search.lower(), autoescape=True))
    if wanted.condition:
        where.append(ANNOTATORS.c.condition == wanted.condition)
    if wanted.status == "left out":
        where.append(ANNOTATORS.c.voided_at.is_not(None))
    elif wanted.status:
        where.append(func.coalesce(ANNOTATORS.c.outcome, ANNOTATORS.c.stage) == wanted.status)
    if wanted.flag:
        raised = select(FLAGS.c.annotator_id).where(FLAGS.c.study_id == study.id)
        where.append(ANNOTATORS.c.id.in_(raised if wanted.flag == "any" else raised.where(FLAGS.c.kind == wanted.flag)))
    return where


def as_found(row: Row[Any], flags: list[Flag], disagreement: Dissent) -> FoundPerson:
    return FoundPerson(
        id=row.id,
        condition=row.condition,
        status=row.outcome or row.stage,
        rated=row.rated if row.condition else 0,
        skipped=row.skipped if row.condition else 0,
        median_s=row.median_s,
        voided_at=row.voided_at,
        feedback=row.feedback,
        flags=tuple(flags),
        disagreement=disagreement,
    )


def flags_of(connection: Connection, ids: Sequence[str]) -> defaultdict[str, list[Flag]]:
    found: defaultdict[str, list[Flag]] = defaultdict(list)
    for row in connection.execute(select(FLAGS).where(FLAGS.c.annotator_id.in_(ids)).order_by(FLAGS.c.kind)):
        found[row.annotator_id].append(Flag(row.kind, row.value, row.threshold, row.evidence))
    return found


def dissents_of(connection: Connection, study_id: str, ids: Sequence[str]) -> defaultdict[str, Dissent]:
    """How often each of `ids` differs from the majority of the others on an item; ties are not compared."""
    mine, others = PAGES.alias("mine"), PAGES.alias("others")
    safe = func.sum(case((others.c.verdict == "safe", 1), else_=0))
    each = (
        select(mine.c.annotator_id, mine.c.verdict, safe.label("safe"), func.count().label("votes"))
        .join(others, (others.c.study_id == mine.c.study_id) & (others.c.item_id == mine.c.item_id))
        .where(
            mine.c.study_id == study_id,
            mine.c.annotator_id.in_(ids),
            mine.c.verdict.is_not(None),
            mine.c.item_id.is_not(None),
            others.c.verdict.is_not(None),
            others.c.annotator_id != mine.c.annotator_id,
        )
        .group_by(mine.c.annotator_id, mine.c.item_id, mine.c.verdict)
        .subquery()
    )
    leans_safe = each.c.safe * 2 > each.c.votes
    differs = func.sum(case((leans_safe == (each.c.verdict == "safe"), 0), else_=1))
    query = (
        select(each.c.annotator_id, differs, func.count())
        .where(each.c.safe * 2 != each.c.votes)
        .group_by(each.c.annotator_id)
    )
    found: defaultdict[str, Dissent] = defaultdict(lambda: Dissent(0, 0))
    for annotator_id, many, compared in connection.execute(query):
        found[annotator_id] = Dissent(int(many), compared)
    return found


def look_up(
    connection: Connection, study: Round, annotator_id: str, *, vault: Vault, by: str, now: datetime
) -> RecruiterIds | None:
    """The recruiter's ids of an annotator, and on record that somebody looked; None once they are deleted."""
    note(connection, study.id, "looked up", at=now, by=by, annotator_id=annotator_id)
    return person_of(connection, annotator_id, vault=vault)


def with_submission(connection: Connection, study: Round, submission: str, *, vault: Vault) -> str | None:
    """The annotator behind a submission, or a person, at the recruiter's, or None.

    Ids are sealed, so each is opened until it is found.
    """
    submission = "".join(submission.split())
    keys, person = tables.keys, known_as(submission, study.design.recruiter)
    if not person:
        return None
    query = (
        select(ANNOTATORS.c.id, ANNOTATORS.c.sealed, keys.c.wrapped)
        .join(keys, keys.c.annotator_id == ANNOTATORS.c.id)
        .where(ANNOTATORS.c.study_id == study.id, ANNOTATORS.c.sealed.is_not(None))
    )
    rows = connection.execute(query)
    opened = ((row.id, vault.open(row.sealed, row.wrapped)) for row in rows)
    return next((who for who, ids in opened if ids.session == submission or ids.person == person), None)


# What the recruiter tells of people, on record: once each, and slots of those who left re-open at once.


HOOKS = tables.hooks


def take_told(connection: Connection, told: SubmissionEvent, *, event_id: str, vault: Vault, now: datetime) -> bool:
    """Keep what was told, and act on it; False where it was told before, or is of nobody here.

    Event and action are one transaction: what fails is not remembered, so that the recruiter's next try does it.
    """
    connection.execute(delete(HOOKS).where(HOOKS.c.received_at < now - KEPT))
    if not insert_if_absent(connection, HOOKS, {"event_id": event_id, "received_at": now}):
        return False
    found = whose(connection, told, vault=vault)
    if found is None:
        return False
    study, annotator_id = found
    note(connection, study.id, "recruiter told", at=now, annotator_id=annotator_id, detail={"status": told.status})
    if told.status in ENDED_EARLY:
        still_here = (ANNOTATORS.c.id == annotator_id, ANNOTATORS.c.outcome.is_(None))
        connection.execute(update(ANNOTATORS).where(*still_here).values(lease_until=now - timedelta(seconds=1)))
        lapse_and_void(connection, study, now=now)
    return True


def whose(connection: Connection, told: SubmissionEvent, *, vault: Vault) -> tuple[Round, str] | None:
    """The annotator with this submission, and their round."""
    for listed in all_rounds(connection):
        fingerprint = vault.fingerprint(listed.name, told.person)
        query = select(ANNOTATORS.c.id).where(
            ANNOTATORS.c.study_id == listed.id, ANNOTATORS.c.fingerprint == fingerprint
        )
        for annotator_id in connection.scalars(query):
            person = person_of(connection, annotator_id, vault=vault)
            study = load_round(connection, listed.id)
            if study is not None and person is not None and person.session == told.submission:
                return study, annotator_id
    return None


# What an annotator's answers come to, kept with them: counts, the median time, and flags.
#
# It is worked out when somebody ends or lapses, and each minute for those who rate, so that a page of two thousand people
# reads it and works out nothing.


def assess(connection: Connection, study: Round, annotator_id: str, *, now: datetime) -> None:
    """Work out anew what one annotator's answers come to. Flags that everybody's answers raise stay."""
    answers = answers_of(connection, study, annotator_id)
    states = select(PAGES.c.state, func.count()).where(PAGES.c.annotator_id == annotator_id).group_by(PAGES.c.state)
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(states)}
    skips = Skips(counts.get("skipped", 0), sum(counts.values()))
    times = [answer.seconds for answer in answers if answer.seconds is not None and not answer.is_check]
    found = flags(answers, study.design, skips=skips)
    connection.execute(
        update(ANNOTATORS)
        .where(ANNOTATORS.c.id == annotator_id)
        .values(
            rated=sum(not answer.is_check for answer in answers),
            skipped=skips.skipped,
            median_s=median(times) if times else None,
            assessed_at=now,
        )
    )
    mine = (FLAGS.c.annotator_id == annotator_id, FLAGS.c.kind.not_in(LIKENESS))
    connection.execute(delete(FLAGS).where(*mine))
    rows: list[dict[str, Any]] = [
        {"annotator_id": annotator_id, "study_id": study.id, **asdict(flag)} for flag in found
    ]
    if rows:
        connection.execute(insert(FLAGS), rows)


def assess_current(connection: Connection, study: Round, *, now: datetime) -> int:
    """Assess those who rate now, and who changed since they were assessed; how many that were."""
    changed = select(PAGES.c.annotator_id).where(
        PAGES.c.annotator_id == ANNOTATORS.c.id, PAGES.c.answered_at > ANNOTATORS.c.assessed_at
    )
    query = select(ANNOTATORS.c.id).where(
        ANNOTATORS.c.study_id == study.id,
        ANNOTATORS.c.condition.is_not(None),
        ANNOTATORS.c.assessed_at.is_(None)
        | (ANNOTATORS.c.finished_at > ANNOTATORS.c.assessed_at)
        | ((ANNOTATORS.c.stage == "rating") & changed.exists()),
    )
    found: Sequence[str] = connection.scalars(query.order_by(ANNOTATORS.c.id)).all()
    for annotator_id in found:
        assess(connection, study, annotator_id, now=now)
    return len(found)


# What a round needs done while nobody looks: leases that end, dates of deletion, flags.


TALLIES = tables.tallies


def keep_up(connection: Connection, study: Round, *, now: datetime) -> None:
    """Re-open what expired leases hold, delete what is due, and bring flags up to date."""
    lapse_and_void(connection, study, now=now)
    purge(connection, study, now=now)
    assess_current(connection, study, now=now)


def add_tally(connection: Connection, study_id: str, kind: str, count: int) -> None:
    """Count `count` more of a kind."""
    known = select(tables.studies.c.id).where(tables.studies.c.id == study_id)
    if connection.execute(known).first() is None:
        return
    if insert_if_absent(connection, TALLIES, {"study_id": study_id, "kind": kind, "count": count}):
        return
    connection.execute(
        update(TALLIES)
        .where(TALLIES.c.study_id == study_id, TALLIES.c.kind == kind)
        .values(count=TALLIES.c.count + count)
    )


# When a round needs its owner: it stalls, a condition lags, too many fail, the budget nears its end.


AlertKind = Literal["stalled", "lagging", "failing", "budget"]
ENOUGH_ENDED = 10
"""Fewer who ended say nothing of how many fail."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A reason to look at a round."""

    kind: AlertKind
    said: str


def alerts(seen: Monitor, study: Round, *, now: datetime) -> tuple[Alert, ...]:
    """What holds now of an open round, in a fixed order."""
    found = (stalled(seen, study, now=now), lagging(seen, study), failing(seen, study), budget(seen, study))
    return tuple(alert for alert in found if alert is not None)


def stalled(seen: Monitor, study: Round, *, now: datetime) -> Alert | None:
    patience = timedelta(minutes=study.design.alerts.stalled_minutes)
    last = max(study.created_at, seen.last_valid_at or study.created_at)
    missing = seen.overview.promised - seen.overview.valid
    if not missing or now - last <= patience:
        return None
    minutes = (now - last).total_seconds() / 60
    return Alert("stalled", f"no valid rating for {minutes:,.0f} minutes, and {missing:,} are missing")


def lagging(seen: Monitor, study: Round) -> Alert | None:
    shares = {c.condition: (c.valid + c.reserved) / c.promised for c in seen.overview.conditions if c.promised}
    if len(shares) < 2:
        return None
    name = min(shares, key=lambda condition: shares[condition])
    others = sum(share for condition, share in shares.items() if condition != name) / (len(shares) - 1)
    behind = others - shares[name]
    promised = next(c.promised for c in seen.overview.conditions if c.condition == name)
    if behind <= study.design.alerts.lagging_share or behind * promised <= 2 * study.design.ratings.per_annotator:
        return None  # a batch apart is what random assignment makes of small rounds
    return Alert("lagging", f"{name} has {shares[name]:.0%} of its ratings given or held, the others {others:.0%}")


def failing(seen: Monitor, study: Round) -> Alert | None:
    failed = sum(outcome in {"screened_out", "failed_checks"} for outcome in seen.last_outcomes)
    of = len(seen.last_outcomes)
    if of < ENOUGH_ENDED or failed <= study.design.alerts.failing_share * of:
        return None
    return Alert("failing", f"{failed} of the last {of} who ended did not pass the quiz or failed attention checks")


def budget(seen: Monitor, study: Round) -> Alert | None:
    share, pay = seen.money.budget_share, study.design.pay
    if share is None or share <= study.design.alerts.budget_share:
        return None
    spent = seen.money.spent + seen.money.promised
    return Alert(
        "budget",
        f"{spent:,.2f} of {pay.budget:,.2f} {pay.currency} are spent or promised; {seen.money.to_come:,.2f} are to come",
    )


def raised_before(connection: Connection, study_id: str) -> set[str]:
    """The kinds of alerts that were raised and are not over."""
    query = (
        select(EVENTS.c.kind, EVENTS.c.detail)
        .where(EVENTS.c.study_id == study_id, EVENTS.c.kind.in_(("alert", "alert over")))
        .order_by(EVENTS.c.id)
    )
    state = {detail["alert"]: kind == "alert" for kind, detail in connection.execute(query)}
    return {alert for alert, holds in state.items() if holds}


def keep_alerts(connection: Connection, study: Round, found: tuple[Alert, ...], *, now: datetime) -> None:
    """Put on record what began and what is over, so that one thing is told once."""
    before = raised_before(connection, study.id)
    for alert in found:
        if alert.kind in before:
            continue
        note(connection, study.id, "alert", at=now, detail={"alert": alert.kind, "said": alert.said})
    for kind in sorted(before - {alert.kind for alert in found}):
        note(connection, study.id, "alert over", at=now, detail={"alert": kind})
