"""A run of a judge: its plan, its selection of items, and the judging."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import combinations, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.ask.layouts import Kind
from casewise.errors import ConfigurationError
from casewise.judges.judge import Ask, Judge, Receiver, call_key, is_unseen
from casewise.options import Hidden, Parameter
from casewise.records import FULL, NO_CONTEXT, Arm, Elicitation, Item, Judgement, ParameterSet, paper_parameters
from casewise.runs.engine import Asks
from casewise.runs.limits import RunObserver, RunProgress
from casewise.runs.run import CallEstimate, estimate_calls
from casewise.storage.benchmark import Benchmark
from casewise.storage.columns import RecordColumns
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import RunIdentity, RunManifest, way_of_asking
from casewise.text import Noun
from casewise.transforms.catalogue import (
    adds_turns,
    check_arms,
    first_attack,
    needs_twin,
    place_of_attack,
    user_defences,
)
from casewise.transforms.texts import MadeTexts, MakingOptions, estimate_before, makers_of_arms

# The plan: items, arms, elicitations and repeats, and the asks that one call answers.


@dataclass(frozen=True)
class Plan:
    """The questions of a run. A resumed run may have more items, arms, elicitations, repeats or attempts."""

    items: RecordColumns[Item]
    """The benchmark's items, or a selection."""
    elicitations: tuple[Elicitation, ...]
    arms: tuple[Arm, ...]
    repeats: int | Mapping[Elicitation, int] = 1
    """Number of times that each item is asked: for every elicitation, or by elicitation."""
    retry_unscored: int = 0
    """Maximum repetitions of an ask whose reply gave no verdict."""
    made: MadeTexts | None = field(default=None, repr=False, compare=False)
    """Texts that models made, if an arm needs them."""
    ask: type[Ask] = Ask

    @classmethod
    def for_benchmark(
        cls,
        benchmark: Benchmark,
        judge: Judge,
        *,
        elicitations: tuple[Elicitation, ...] = (),
        arms: tuple[Arm, ...] = (),
        repeats: int | Mapping[Elicitation, int] = 1,
        selection: Selection | None = None,
        retry_unscored: int = 0,
    ) -> Plan:
        """Return the plan for the items of `benchmark` that `selection` keeps, by default with the judge's elicitation and arms.

        Raises ConfigurationError: the judge cannot be asked so.
        """
        for elicitation in elicitations:
            if elicitation not in judge.elicitations:
                raise ConfigurationError(
                    f"{judge.name} cannot be asked for {elicitation!r}; it gives {', '.join(judge.elicitations)}"
                )
        if isinstance(repeats, int) and repeats < 1:
            raise ConfigurationError(f"repeats is {repeats}; it must be at least 1")
        if retry_unscored < 0:
            raise ConfigurationError(f"retry_unscored is {retry_unscored}; it must be 0 or more")
        check_arms(arms, benchmark.parameters)
        items = select(benchmark, selection or Selection())
        return cls(
            items,
            tuple(dict.fromkeys(elicitations)) or judge.elicitations[:1],
            tuple(dict.fromkeys(arms)) or judge.arms,
            repeats,
            retry_unscored,
        )

    def __len__(self) -> int:
        return len(self.items) * len(self.arms) * len(self.ways)

    def repeats_of(self, elicitation: Elicitation) -> int:
        """Return how often each item is asked for this elicitation."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats[elicitation]

    @property
    def ways(self) -> list[tuple[int, Elicitation]]:
        """Every repeat of every elicitation, in the order of the asks."""
        most = max(map(self.repeats_of, self.elicitations))
        return [(repeat, how) for repeat in range(most) for how in self.elicitations if repeat < self.repeats_of(how)]

    @property
    def by_way(self) -> dict[str, int]:
        """Number of judgements by elicitation and arm."""
        n = len(self.items)
        return {
            way_of_asking(how, arm.name): n * self.repeats_of(how) for how in self.elicitations for arm in self.arms
        }

    def asks(self, benchmark: Benchmark, shared_key: Callable[[Ask], Hashable]) -> Asks[Ask]:
        """Return the asks; `shared_key` is equal for those that one call answers."""
        return Asks(Bundles(self, benchmark), len(self), self.retry_unscored, shared_key, self.keys)

    def keys(self) -> pl.LazyFrame:
        """Return the keys, a row an ask in the order of the plan, with the number of its bundle. No ask is made."""
        query = numbered(self.items.table["query_id"])
        order = np.argsort(query, kind="stable")
        ids = self.items.table["id"].gather(order)
        items = pl.DataFrame({"item_id": ids, "query": query[order]})
        arms = pl.DataFrame({"arm": [arm.name for arm in self.arms]}).with_row_index("place")
        times = pl.DataFrame(self.ways, schema=["repeat", "elicitation"], orient="row").with_row_index("time")
        shown = items.join(arms, how="cross").sort("query", "place", maintain_order=True).drop("place")
        asks = times.join(shown, how="cross")  # not lazily, which may order them otherwise
        return asks.lazy().with_columns(bundle=pl.col("time") * (int(query.max()) + 1) + pl.col("query"))

    def asks_given(self, benchmark: Benchmark, texts: MadeTexts) -> Iterator[Ask]:
        """Yield the asks of the arms that models make texts for, with the texts so far."""
        arms = tuple(arm for arm in self.arms if makers_of_arms((arm,)))
        plan = replace(self, arms=arms, elicitations=self.elicitations[:1], repeats=1, made=texts)
        for bundle in Bundles(plan, benchmark):
            yield from bundle


class Bundles(Sequence[tuple[Ask, ...]]):
    """The asks of a plan, one query at a time: all its items in all arms, under one elicitation and repeat.

    Only asks within a bundle can have one prompt, so nothing larger is held in memory. Of the plan four bytes an item are held.
    """

    def __init__(self, plan: Plan, benchmark: Benchmark) -> None:
        self.plan, self.benchmark, self.ways = plan, benchmark, plan.ways
        query = numbered(plan.items.table["query_id"])
        self.order = np.argsort(query, kind="stable").astype(np.int32)
        """Places of the items, those of one query together, queries in the order of their first items."""
        self.ends = np.cumsum(np.bincount(query), dtype=np.int32)
        """The end of each query in `order`."""
        self._twins, defences = any(needs_twin(arm) for arm in plan.arms), user_defences(plan.arms)
        self._attacks = [first_attack(arm, defences) for arm in plan.arms]

    def __len__(self) -> int:
        return len(self.ways) * len(self.ends)

    def __getitem__(self, number: int) -> tuple[Ask, ...]:  # type: ignore[override]  # no slices
        time, place = divmod(number, len(self.ends))
        repeat, elicitation = self.ways[time]
        benchmark, start = self.benchmark, self.ends[place - 1] if place else 0
        items = [self.plan.items[at] for at in self.order[start : self.ends[place]].tolist()]
        query = benchmark.query[items[0].query_id]
        shown = [(item, benchmark.context_of(item), benchmark.twin_of(item) if self._twins else None) for item in items]
        return tuple(
            self.plan.ask(item, query, context, arm, elicitation, repeat, twin=twin, made=self.plan.made, attack=attack)
            for arm, attack in zip(self.plan.arms, self._attacks, strict=True)
            for item, context, twin in shown
        )


TRIED = 8
"""The number of items by which it is found out, before a run, whether a judge sees an attack."""


def unseen_attacks(benchmark: Benchmark, receiver: Receiver, plan: Plan) -> tuple[str, ...]:
    """Return the attacks and perturbations that do not reach a judge or a chatbot, by the first items. No call is made."""
    items = plan.items.at(np.arange(min(TRIED, len(plan.items))))
    few = replace(plan, items=items, elicitations=plan.elicitations[:1], repeats=1, made=MadeTexts(planning=True))
    reaches: dict[str, bool] = {}
    for ask in (ask for bundle in Bundles(few, benchmark) for ask in bundle):
        if ask.attack is not None:
            reaches[ask.attack.name] = reaches.get(ask.attack.name, False) or not is_unseen(receiver, ask)
    return tuple(name for name, is_seen in reaches.items() if not is_seen)


def unseen_note(name: str, unseen: Sequence[str]) -> str | None:
    """Return how many attacks of each kind do not reach the judge or chatbot called `name`; None where all do."""
    kinds = Counter(place_of_attack(Arm.parse(each).transforms[0]) for each in unseen)
    counts = ", ".join(f"{n} {place}" for place, n in kinds.items())
    why = "casewise does not ask it under them, and records them as not shown; --dry-run --json lists them"
    n_unseen = Noun("attack or perturbation", "attacks and perturbations").counted(len(unseen))
    return f"{name} receives nothing of {n_unseen}: {counts}. {why}" if unseen else None


@dataclass(frozen=True)
class Selection:
    """A selection of a benchmark's items.

    `ids` keeps those with these ids, `categories` those of these categories (or their aliases), `sample` draws that many
    items at random, whole queries at a time so that pairs stay together, `limit` keeps the first ones.
    """

    categories: Annotated[tuple[str, ...], Parameter(name="--category")] = ()
    """Only items of this category; may be repeated."""
    sample: int | None = None
    """Draw this many items at random, whole queries at a time."""
    seed: Hidden[int] = 0
    limit: int | None = None
    """Only the first N items."""
    ids: Hidden[frozenset[str] | None] = None


def select(benchmark: Benchmark, selection: Selection) -> RecordColumns[Item]:
    """Return the items that `selection` keeps, in the order of the benchmark.

    Raises ConfigurationError: a category does not exist, or nothing is left.
    """
    items = benchmark.items
    places = np.arange(len(items))
    if selection.categories:
        names = set()
        for name in selection.categories:
            category = benchmark.taxonomy.resolve(name)
            if category is None:
                raise ConfigurationError(
                    f"no category is called {name!r}; there are: {'; '.join(benchmark.taxonomy.names)}"
                )
            names |= {category.name, *category.aliases}
        places = np.flatnonzero(benchmark.item_columns["category"].is_in(list(names)).to_numpy())
    if selection.ids is not None:
        places = places[items.table["id"].is_in(list(selection.ids)).to_numpy()[places]]
    if selection.sample is not None:
        order = numbered(items.table["query_id"][places])
        rank = np.random.default_rng(selection.seed).permutation(int(order.max(initial=-1)) + 1)
        places = places[np.sort(np.argsort(rank[order], kind="stable")[: selection.sample])]
    if selection.limit is not None:
        places = places[: max(0, selection.limit)]
    if not len(places):
        raise ConfigurationError("no item is left to judge; ask for more with --limit, --sample or --category")
    return items if len(places) == len(items) else items.at(places)


def numbered(queries: pl.Series) -> NDArray[np.int64]:
    """Return a number for each row's query, from 0 in the order of their first rows."""
    rows = queries.alias("query").to_frame()
    places = rows.unique(maintain_order=True).with_row_index("place")
    return rows.join(places, on="query", maintain_order="left")["place"].to_numpy().astype(np.int64)


def ablation_arms(ablation: str, parameters: ParameterSet | None = None) -> tuple[Arm, ...]:
    """Return the arms of an ablation: `groups` is all subsets of the groups (eight of the paper's three), `parameters` leaves
    each parameter out.

    Raises ConfigurationError: `ablation` is neither.
    """
    parameters = parameters or paper_parameters()
    if ablation == "groups":
        groups = parameters.group_names
        subsets = [Arm.without(*omitted) for size in range(len(groups)) for omitted in combinations(groups, size)]
        return (*subsets, NO_CONTEXT)
    if ablation == "parameters":
        return (FULL, *(Arm.without(name) for name in parameters.names))
    raise ConfigurationError(f"--ablate is {ablation!r}; it is 'groups' or 'parameters'")


@dataclass(frozen=True, kw_only=True)
class RunEstimate:
    """Calls, tokens and cost of a whole plan, as if nothing were judged yet."""

    n_items: int
    n_asks: int
    calls: CallEstimate
    before: dict[str, CallEstimate] = field(default_factory=dict)
    """Estimates for the models that make texts for the arms, by maker."""
    not_shown: tuple[str, ...] = ()
    """Attacks of which the judge receives nothing; no call is counted for them."""

    def plus(self, other: RunEstimate) -> RunEstimate:
        """Return the estimate of both on the same items."""
        return replace(self, n_asks=self.n_asks + other.n_asks, calls=self.calls.plus(other.calls))

    def as_json(self) -> dict[str, Any]:
        extra = {"before": {name: asdict(calls) for name, calls in self.before.items()}, "not_shown": self.not_shown}
        counts = {"n_items": self.n_items, "n_asks": self.n_asks, **asdict(self.calls)}
        return counts | {name: value for name, value in extra.items() if value}


def estimate_run(
    benchmark: Benchmark, judge: Judge, plan: Plan, *, making: MakingOptions = MakingOptions()
) -> RunEstimate:
    """Estimate `plan`. No call is made."""
    before = estimate_before(plan.arms, partial(plan.asks_given, benchmark), making)
    plan = replace(plan, made=MadeTexts(planning=True))
    asks = plan.asks(benchmark, partial(call_key, judge))
    calls = estimate_calls(judge, asks, takes_call=lambda ask: not is_unseen(judge, ask))
    return RunEstimate(n_items=len(plan.items), n_asks=len(plan), calls=calls, before=before)


# A pause after the first replies, if hardly one of them can be read.

FIRST, FEWEST_READ, SHOWN = 50, 5, 3
"""If fewer than `FEWEST_READ` of the `FIRST` replies give a verdict, the run pauses, and `SHOWN` of them are shown."""

LONGEST_SHOWN = 150


def is_own_reply(judgement: Judgement) -> bool:
    """Return whether a judgement is of a reply to a call of its own, and will not be asked for again."""
    return judgement.raw_reply is not None and judgement.shared_with is None and not judgement.may_pass


def pause_where_unread(watch: RunObserver, log: Path) -> Callable[[Ask, Judgement], None]:
    """Return a callback that counts each judgement, and pauses a run if few of its first replies give a verdict.

    So the rest is not paid for. A resumed run does not pause again.

    `log`: the log of judgements, as earlier sessions left it; it is read with the first judgement.
    """
    unread: list[str] = []

    @cache
    def counts() -> Counter[bool]:
        earlier = filter(is_own_reply, read_jsonl(log, Judgement))
        return Counter(judgement.failure is None for judgement in islice(earlier, FIRST))

    def count(_ask: Ask, judgement: Judgement) -> None:
        n = counts()
        if n.total() >= FIRST or not is_own_reply(judgement):
            return
        n[judgement.failure is None] += 1
        if judgement.failure is not None:
            unread.append(str(judgement.raw_reply))
        if n.total() == FIRST and n[True] < FEWEST_READ:
            for reply in unread[:SHOWN]:
                watch.say(f"a reply without a verdict: {json.dumps(reply[:LONGEST_SHOWN], ensure_ascii=False)}")
            watch.stop.ask(
                f"{n[True]} of the first {FIRST} replies could be read. Try --structured, --reader MODEL or other --prompts, "
                "into another folder"
            )

    return count


# A run of a judge.


@dataclass(kw_only=True)
class RunSummary(RunProgress):
    """Counts of a session of judging, and of the run after it."""

    usable: ClassVar[str] = "judged"
    unusable: ClassVar[str] = "unscored"

    run: Path
    n_items: int
    notes: tuple[str, ...] = ()
    """Notes on the judge."""

    @property
    def n_judged(self) -> int:
        """Asks of the plan with a verdict so far."""
        return self.n_usable

    @property
    def n_unscored(self) -> int:
        """Asks of the plan with an answer and without a verdict."""
        return self.n_unusable


def manifest(benchmark: Benchmark, judge: Judge, plan: Plan, *, source: str, seed: int) -> RunManifest:
    """Return the manifest of a run; `source` is where its report finds the benchmark again."""
    kinds: set[Kind] = {
        "conversation" if judged == "request" and after else judged for judged, after in benchmark.judged
    }
    if "request" in kinds and any(map(adds_turns, plan.arms)):
        kinds.add("conversation")
    endpoint = judge.endpoint
    return RunManifest(
        identity=RunIdentity(benchmark=benchmark.digest, judge=judge.id, settings=judge.settings(), seed=seed),
        judge_name=judge.name,
        benchmark_name=benchmark.name,
        benchmark_source=source,
        synthetic=benchmark.about.synthetic,
        # A user's own judge may know of requests alone.
        wordings=judge.wordings(plan.elicitations, *([sorted(kinds)] if kinds != {"request"} else [])),
        address=endpoint.base_url if endpoint is not None and not endpoint.of_this_process else None,
        created=datetime.now(UTC),
    )
