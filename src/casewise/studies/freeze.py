"""A study frozen: its material, its assignment of items, and the ledger of departures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from math import ceil
from typing import Any, Literal, Self

import numpy as np

from casewise.ask.layouts import FOR_ANNOTATORS, groups
from casewise.errors import StudyError
from casewise.notation import spoken
from casewise.records import Item, ShownContext
from casewise.records.base import digest
from casewise.records.context import OPTIONAL, as_text
from casewise.records.item import NO_CONTEXT_CONDITION
from casewise.storage import Benchmark
from casewise.studies.design import CHILD_RELATED, RATED, Design
from casewise.studies.wording import StudyWording

# Who rates what: the decisions, pure. No clock, no database, and chance only through the generator passed in.


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item with open slots."""

    item_id: str
    query_id: str
    slots: int
    """Open slots, at least one."""


@dataclass(frozen=True, slots=True)
class BatchPage:
    """One page of a batch: an item to be rated, or an attention check."""

    kind: Literal["item", "check"]
    id: str


def choose_condition(open_slots: Mapping[str, int], rng: np.random.Generator) -> str | None:
    """Return one of the conditions with most open slots, at random among equals; None when no slot is open anywhere.

    With conditions of equal size this keeps them within one batch of each other.
    """
    most = max(open_slots.values(), default=0)
    if most <= 0:
        return None
    candidates = sorted(condition for condition, slots in open_slots.items() if slots == most)
    return candidates[int(rng.integers(len(candidates)))]


def choose_batch(items: Sequence[OpenItem], size: int, *, rng: np.random.Generator) -> tuple[str, ...]:
    """Return up to `size` items, those with most open slots first, chance among equals, one item of each query at most.

    Taking the fullest first covers all items at one pace, so that what is left at the end is spread over many
    items and the last batches are not short for want of different queries.
    """
    shuffled = [items[index] for index in rng.permutation(len(items))]
    chosen: dict[str, str] = {}
    for item in sorted(shuffled, key=lambda item: -item.slots):
        if len(chosen) == size:
            break
        chosen.setdefault(item.query_id, item.item_id)
    return tuple(chosen.values())


def most_taken(open_slots: Mapping[str, Sequence[int]], *, people: int, size: int) -> int:
    """Return the most slots that `people` could take, a batch of up to `size` items of different queries each.

    `open_slots` are those of each query, by condition. People of one condition take at most `size` each, and of a query
    each at most one; both bounds are reached together, and each further person takes no more than the one before, so
    the largest gains are those of the best spread over conditions.
    """
    persons = np.arange(people + 1)
    gains = [
        np.diff(np.minimum(size * persons, np.minimum.outer(persons, slots).sum(axis=1)))
        for slots in open_slots.values()
    ]
    return int(np.sort(np.concatenate([*gains, np.zeros(people, int)]))[::-1][:people].sum())


def lay_out(items: Sequence[str], checks: Sequence[str], *, rng: np.random.Generator) -> tuple[BatchPage, ...]:
    """Return the pages of a batch: items in random order, each check at a random place but never first."""
    pages = [BatchPage("item", items[index]) for index in rng.permutation(len(items))]
    for index in rng.permutation(len(checks)):
        place = int(rng.integers(min(1, len(pages)), len(pages) + 1))
        pages.insert(place, BatchPage("check", checks[index]))
    return tuple(pages)


@dataclass(frozen=True, slots=True)
class StudyItem:
    """An item as annotators are shown it. The intended label is not part of it."""

    item_id: str
    query_id: str
    condition: str
    shown: dict[str, Any]
    """`query`: its text; `context`: groups of parameters, empty in the no-context condition; `before`: the turns of the
    conversation before it, each a role and a text, where there is one."""


@dataclass(frozen=True, slots=True)
class Material:
    """Everything that a round shows."""

    items: tuple[StudyItem, ...]
    categories: tuple[tuple[str, str], ...]
    """Name and risks of each category, in the order of the taxonomy."""
    benchmark: dict[str, Any] = field(default_factory=dict)
    left_out: int = 0
    """Items of the child-related category that were left out."""


def collect(design: Design, benchmark: Benchmark) -> Material:
    """Return what the design shows of a benchmark. Raises StudyError: a condition of the design has no item."""
    candidates = rated_items(design, benchmark)
    resolve, child_related = benchmark.taxonomy.resolve, design.sensitive.child_related
    category_of = {item.id: benchmark.category_of(item) for item in candidates}
    named = {name: category.name if (category := resolve(name)) else name for name in set(category_of.values())}
    items = [item for item in candidates if child_related or named[category_of[item.id]] != CHILD_RELATED]
    for condition in design.conditions:
        if not any(item.condition == condition for item in items):
            conditions = ", ".join(sorted({item.condition for item in benchmark.items}))
            raise StudyError(
                f"conditions lists {condition!r}, but the benchmark has no item in that condition; it has: {conditions}"
            )
    wanted = design.words.judged
    if judged := next((kind for item in items if (kind := benchmark.query[item.query_id].judged) != wanted), None):
        fitting = next(name for name, words in RATED.items() if words.judged == judged)
        raise StudyError(
            f"this benchmark has items of the kind {judged!r}, and a study with rates = {design.rates!r} shows items of the kind "
            f"{wanted!r}. Set rates = {fitting!r}, or make a benchmark of one kind alone. To ask what the replies of a chatbot do: "
            "casewise study init REPLIES --question reply"
        )
    met = {category_of[item.id] for item in items}
    risks = {category.name: category.risks or "" for category in benchmark.taxonomy.categories if category.name in met}
    return Material(
        items=tuple(study_item(item, benchmark) for item in items),
        categories=(*risks.items(), *((name, "") for name in sorted(met - risks.keys()))),
        benchmark={"name": benchmark.name, "version": benchmark.about.version, "digest": benchmark.digest},
        left_out=len(candidates) - len(items),
    )


def rated_items(design: Design, benchmark: Benchmark) -> tuple[Item, ...]:
    """Return the items of the design's conditions; a query without an item that shows no context is given one, if needed."""
    items = [item for item in benchmark.items if item.condition in design.conditions]
    if NO_CONTEXT_CONDITION in design.conditions:
        have = {item.query_id for item in items if item.condition == NO_CONTEXT_CONDITION}
        items += [
            Item(query_id=query.id, condition=NO_CONTEXT_CONDITION)
            for query in benchmark.queries
            if query.id not in have
        ]
    return tuple(items)


def study_item(item: Item, benchmark: Benchmark) -> StudyItem:
    context, query = benchmark.context_of(item), benchmark.query[item.query_id]
    shown: dict[str, Any] = {
        "query": query.text,
        "context": as_panel(context.shown(), benchmark.parameters.titles) if context else {},
    }
    if query.before:
        shown["before"] = [[turn.role, turn.text] for turn in query.before]
    return StudyItem(item.id, item.query_id, item.condition, shown)


def as_panel(shown: ShownContext, titles: Mapping[str, str]) -> dict[str, dict[str, str] | str]:
    """Return groups of running texts: parameters that are stated under headings become one text each.

    Groups and parameters go by the titles that the benchmark gives them; without one the paper's keep their names, which the
    pages know, and others go by their names in words.
    """

    def title(dotted: str) -> str:
        name = dotted.rpartition(".")[2]
        return titles.get(dotted) or (name if dotted in FOR_ANNOTATORS else spoken(name).capitalize())

    panel: dict[str, dict[str, str] | str] = {}
    for group in groups(shown):
        texts = {
            title(f"{group.name}.{name}" if name else group.name): as_text(statements)
            for name, statements in group.statements
        }
        name = title(group.name)
        panel[name] = texts[name] if group.name in OPTIONAL else texts
    return panel


def pilot_sample(material: Material, *, queries: int, rng: np.random.Generator) -> Material:
    """Return the same number of random queries, in all their conditions: a small round of the whole design."""
    ids = sorted({item.query_id for item in material.items})
    chosen = {ids[index] for index in rng.permutation(len(ids))[:queries]}
    items = tuple(item for item in material.items if item.query_id in chosen)
    return Material(items, material.categories, material.benchmark, material.left_out)


@dataclass(frozen=True, slots=True)
class StudyEstimate:
    """Needs and cost of a study. Money is in the design's currency; hours are the annotators'."""

    items: int
    ratings: int
    """Valid ratings promised in all."""
    annotators: int
    """People who pass the quiz and rate, without drop-out, skips and voided ratings."""
    largest_batch: int
    """Items of the largest batch; fewer than `ratings.per_annotator` where no condition has so many items."""
    short_batches: int
    screened_out: int
    """People expected not to pass the quiz at the stated rate."""
    minutes_per_annotator: float
    hours: float
    pay: float
    fees: float
    hourly: float
    """Earnings of the median annotator in an hour."""
    hourly_floor: float

    @property
    def people(self) -> int:
        """The number of people to invite: those who rate, and those who are expected not to pass the quiz."""
        return self.annotators + self.screened_out

    @property
    def total(self) -> float:
        """Pay and fees."""
        return self.pay + self.fees

    @property
    def problem(self) -> str | None:
        """The reason why the study should not run as it is, or None."""
        if self.hourly >= self.hourly_floor:
            return None
        fair = ceil(self.hourly_floor * self.minutes_per_annotator / 60 * 100) / 100
        return (
            f"pay.per_batch gives {self.hourly:.2f} an hour at the median time of {self.minutes_per_annotator:.1f} "
            f"minutes, below pay.hourly_floor = {self.hourly_floor:.2f}; pay at least {fair:.2f} a batch, "
            "or make batches smaller"
        )


def estimate(design: Design, material: Material) -> StudyEstimate:
    """Play the design to its end with people who all finish, and add up.

    minutes = before + (items of the largest batch + checks) x seconds per page / 60;
    pay = annotators x per_batch + screened out x screen_out; fees = pay x fee_percent / 100.
    """
    batches = simulate_batches(design, material.items)
    largest = max(batches, default=0)
    pages = largest + design.attention.checks_per_batch
    minutes = design.pay.minutes_before + pages * design.pay.seconds_per_page / 60
    screened_out = expected_to_fail(len(batches), pass_rate=design.quiz.expected_pass_rate)
    pay = len(batches) * design.pay.per_batch + screened_out * design.pay.screen_out
    return StudyEstimate(
        items=len(material.items),
        ratings=len(material.items) * design.ratings.per_item,
        annotators=len(batches),
        largest_batch=largest,
        short_batches=sum(size < largest for size in batches),
        screened_out=screened_out,
        minutes_per_annotator=minutes,
        hours=(len(batches) * minutes + screened_out * design.pay.minutes_before) / 60,
        pay=pay,
        fees=pay * design.pay.fee_percent / 100,
        hourly=design.pay.per_batch / minutes * 60,
        hourly_floor=design.pay.hourly_floor,
    )


def expected_to_fail(people: int, *, pass_rate: float) -> int:
    """Return how many are expected not to pass the quiz until so many people pass; 0 for a pass rate of 0."""
    return ceil(round(people * (1 - pass_rate) / pass_rate, 6)) if pass_rate > 0 else 0


def simulate_batches(design: Design, items: Sequence[StudyItem]) -> list[int]:
    """Return the sizes of the batches it takes when everyone finishes."""
    rng, sizes = np.random.default_rng(design.seed), list[int]()
    free: dict[str, dict[str, OpenItem]] = {}
    for item in items:
        free.setdefault(item.condition, {})[item.item_id] = OpenItem(
            item.item_id, item.query_id, design.ratings.per_item
        )
    left = {condition: len(places) * design.ratings.per_item for condition, places in free.items()}
    while (condition := choose_condition(left, rng)) is not None:
        places = free[condition]
        batch = choose_batch(list(places.values()), design.ratings.per_annotator, rng=rng)
        for item_id in batch:
            places[item_id] = replace(places[item_id], slots=places[item_id].slots - 1)
        free[condition] = {item_id: place for item_id, place in places.items() if place.slots}
        left[condition] -= len(batch)
        sizes.append(len(batch))
    return sizes


@dataclass(frozen=True, slots=True)
class Frozen:
    """The policy as it was frozen."""

    policy: dict[str, Any]
    digest: str
    at: datetime

    @classmethod
    def from_json(cls, value: dict[str, Any], *, source: str) -> Self:
        """Return a frozen policy from its JSON values.

        Raises StudyError: the policy does not have the digest it claims: it was changed after freezing.
        """
        frozen = cls(value["policy"], value["digest"], datetime.fromisoformat(value["at"]))
        if digest(frozen.policy) != frozen.digest:
            raise StudyError(f"{source}: the frozen policy was changed: its digest is not {frozen.digest!r}")
        return frozen

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"digest": self.digest, "at": self.at.isoformat(), "policy": self.policy}


@dataclass(frozen=True, slots=True)
class Departure:
    """A setting that is no longer what was frozen."""

    setting: str
    frozen: object
    now: object

    def __str__(self) -> str:
        return f"{self.setting}: frozen as {self.frozen!r}, now {self.now!r}"


FROZEN_SETTINGS = {
    *("conditions", "contrasts", "rates", "seed", "ratings", "attention", "exclusion", "quiz"),
    *("eligibility", "sensitive", "quality", "analysis", "questions", "demographics"),
}
"""The settings that decide what is shown to whom, who counts, and how it is analysed."""


def policy_of(design: Design, wording: StudyWording, items: Sequence[StudyItem]) -> dict[str, Any]:
    """Return every setting that freezing fixes, by dotted name: settings; texts (`texts.…`) and items by their digests."""
    flat: dict[str, Any] = {}
    for name, value in design.model_dump(mode="json", include=FROZEN_SETTINGS).items():
        flat |= (
            {f"{name}.{key}": setting for key, setting in value.items()} if isinstance(value, dict) else {name: value}
        )
    flat |= {f"texts.{page}": digest({"text": text}) for page, text in asdict(wording).items()}
    shown = sorted([item.item_id, item.condition, item.query_id, item.shown] for item in items)
    return flat | {"items": digest({"shown": shown})}


def nested_settings(policy: dict[str, Any]) -> dict[str, Any]:
    """Return a policy's dotted names as tables, the way a design has them."""
    nested: dict[str, Any] = {}
    for name, value in policy.items():
        table, dot, key = name.partition(".")
        nested |= {table: nested.get(table, {}) | {key: value} if dot else value}
    return nested


def departures(policy: dict[str, Any], frozen: Frozen) -> tuple[Departure, ...]:
    """Return each setting, text or set of items that differs from what was frozen, in the order of `study.toml`.

    A setting that there was not when it was frozen could not be promised, and is none.
    """
    fixed = frozen.policy
    names = [*(name for name in policy if name in fixed), *(name for name in fixed if name not in policy)]
    return tuple(Departure(name, fixed[name], policy.get(name)) for name in names if fixed[name] != policy.get(name))
