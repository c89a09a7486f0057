"""A judges' run: its plan, its kind of call, and how it is driven."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import combinations, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.ask.layouts import Kind
from casewise.errors import ConfigurationError
from casewise.judges.guard import GuardJudge
from casewise.judges.judge import Ask, Judge, judgement_of
from casewise.judges.llm import LLMJudge
from casewise.models.protocol import WaitsForServer
from casewise.options import Hidden, Parameter
from casewise.records import (
    FULL,
    NO_CONTEXT,
    Arm,
    Elicitation,
    Item,
    Judgement,
    ParameterSet,
    paper_parameters,
)
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import GIVE_PRICES, Limits, RunProgress, Watch, check_limits
from casewise.runs.run import (
    Asks,
    CallEstimate,
    CallingOptions,
    FolderLog,
    estimate_calls,
    folder_log,
    perform,
    session_now,
)
from casewise.stats.arrays import BoolArray
from casewise.storage.benchmark import Benchmark
from casewise.storage.columns import column_of_records, records_at
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import (
    JUDGEMENT_LOG,
    JUDGEMENTS,
    RunIdentity,
    RunManifest,
    asked_so,
)
from casewise.transforms.catalogue import adds_turns, check_arms, needs_twin
from casewise.transforms.texts import MadeTexts, MakingOptions, by_models, estimate_before

# What a run asks: items, arms, elicitations and repeats, and which of these asks one call answers.


@dataclass(frozen=True)
class Plan:
    """What to ask. It may grow when a run is gone on with: more items, arms, elicitations, repeats or attempts."""

    items: Sequence[Item]
    """The benchmark's own, or those that were selected."""
    elicitations: tuple[Elicitation, ...]
    arms: tuple[Arm, ...]
    repeats: int | Mapping[Elicitation, int] = 1
    """How often each item is asked: for every elicitation, or by elicitation."""
    retry_unscored: int = 0
    """How often an ask is repeated at most because its reply gave no verdict."""
    made: MadeTexts | None = field(default=None, repr=False, compare=False)
    """What models made of texts before, where an arm asks for that."""
    ask: type[Ask] = Ask

    @classmethod
    def of(
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
        """The items of `benchmark` that `selection` keeps, asked as the judge is asked by default unless said otherwise.

        Raises ConfigurationError: the judge cannot be asked so.
        """
        for wanted in elicitations:
            if wanted not in judge.elicitations:
                raise ConfigurationError(
                    f"{judge.name} cannot be asked for {wanted!r}; it gives {', '.join(judge.elicitations)}"
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

    def times(self, elicitation: Elicitation) -> int:
        """Return how often each item is asked for this elicitation."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats[elicitation]

    @property
    def ways(self) -> list[tuple[int, Elicitation]]:
        """Every repeat of every elicitation, in the order in which they are asked."""
        most = max(map(self.times, self.elicitations))
        return [(repeat, how) for repeat in range(most) for how in self.elicitations if repeat < self.times(how)]

    @property
    def by_way(self) -> dict[str, int]:
        """How many judgements it wants of each way of asking."""
        n = len(self.items)
        return {asked_so(how, arm.name): n * self.times(how) for how in self.elicitations for arm in self.arms}

    def asks(self, benchmark: Benchmark, shared_key: Callable[[Ask], Hashable]) -> Asks[Ask]:
        """The plan as a run reads it; `shared_key` says which asks one call answers."""
        return Asks(Bundles(self, benchmark), len(self), self.retry_unscored, shared_key, self.keys)

    def keys(self) -> pl.LazyFrame:
        """What is asked, a row an ask in the order of the plan, with the number of the bundle of each. No ask is made for it."""
        queries = ByQuery(self.items)
        items = pl.DataFrame(
            {
                "item_id": column_of_records(self.items, "id").gather(queries.order),
                "query": np.repeat(np.arange(len(queries)), queries.sizes),
            }
        )
        arms = pl.DataFrame({"arm": [arm.name for arm in self.arms]}).with_row_index("place")
        times = pl.DataFrame(self.ways, schema=["repeat", "elicitation"], orient="row").with_row_index("time")
        shown = items.join(arms, how="cross").sort("query", "place", maintain_order=True).drop("place")
        asks = times.join(shown, how="cross")  # not lazily, which may order them otherwise
        return asks.lazy().with_columns(bundle=pl.col("time") * len(queries) + pl.col("query"))

    def asks_given(self, benchmark: Benchmark, made: MadeTexts) -> Iterator[Ask]:
        """The asks of the arms that models make texts for, with what these made so far."""
        arms = tuple(arm for arm in self.arms if by_models((arm,)))
        plan = replace(self, arms=arms, elicitations=self.elicitations[:1], repeats=1, made=made)
        for bundle in Bundles(plan, benchmark):
            yield from bundle


class ByQuery(Sequence[list[Item]]):
    """Items a query at a time, queries in the order of their first items. Four bytes an item are held."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        query = numbered(column_of_records(items, "query_id"))
        self.order = np.argsort(query, kind="stable").astype(np.int32)
        """Places of the items, those of one query together."""
        self.sizes = np.bincount(query).astype(np.int32)
        """How many items each query has."""
        self._ends = np.cumsum(self.sizes, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> list[Item]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[Item]]: ...

    def __getitem__(self, index: int | slice) -> list[Item] | list[list[Item]]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        end = self._ends[range(len(self))[index]]
        return [self.items[place] for place in self.order[end - self.sizes[index] : end].tolist()]


class Bundles(Sequence[tuple[Ask, ...]]):
    """The asks of a plan, one query at a time: all its items in all arms, under one elicitation and repeat.

    Only asks within a bundle can have one prompt, so nothing larger is ever held in memory.
    """

    def __init__(self, plan: Plan, benchmark: Benchmark) -> None:
        self.plan, self.benchmark, self.queries, self.ways = plan, benchmark, ByQuery(plan.items), plan.ways
        self._twins = any(needs_twin(arm) for arm in plan.arms)

    def __len__(self) -> int:
        return len(self.ways) * len(self.queries)

    @overload
    def __getitem__(self, index: int) -> tuple[Ask, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> list[tuple[Ask, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Ask, ...] | list[tuple[Ask, ...]]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        time, number = divmod(range(len(self))[index], len(self.queries))
        repeat, elicitation = self.ways[time]
        items, benchmark = self.queries[number], self.benchmark
        query = benchmark.query[items[0].query_id]
        shown = [(item, benchmark.context_of(item), benchmark.twin_of(item) if self._twins else None) for item in items]
        return tuple(
            self.plan.ask(item, query, context, arm, elicitation, repeat, twin=twin, made=self.plan.made)
            for arm in self.plan.arms
            for item, context, twin in shown
        )


@dataclass(frozen=True)
class Selection:
    """Which items of a benchmark to ask about.

    `ids` keeps those with these ids, `categories` those of these categories (their aliases count too), `sample` draws that many items at random,
    whole queries at a time so that pairs stay together, `limit` keeps the first so many.
    """

    categories: Annotated[tuple[str, ...], Parameter(name="--category")] = ()
    """Only items of this category; may be repeated."""
    sample: int | None = None
    """Draw this many items at random, whole queries at a time."""
    seed: Hidden[int] = 0
    limit: int | None = None
    """Only the first N items."""
    ids: Hidden[frozenset[str] | None] = None


def select(benchmark: Benchmark, selection: Selection) -> Sequence[Item]:
    """The items that `selection` keeps, in the order of the benchmark.

    Raises ConfigurationError: a category does not exist, or nothing is left.
    """
    items = benchmark.items
    places = np.arange(len(items))
    if selection.categories:
        places = np.flatnonzero(of_categories(benchmark, selection.categories))
    if selection.ids is not None:
        places = places[column_of_records(items, "id").is_in(list(selection.ids)).to_numpy()[places]]
    if selection.sample is not None:
        queries = column_of_records(items, "query_id")[places]
        places = places[sampled(queries, selection.sample, np.random.default_rng(selection.seed))]
    if selection.limit is not None:
        places = places[: max(0, selection.limit)]
    if not len(places):
        raise ConfigurationError("no item is left to judge; ask for more with --limit, --sample or --category")
    return items if len(places) == len(items) else records_at(items, places)


def of_categories(benchmark: Benchmark, names: Iterable[str]) -> BoolArray:
    wanted = set()
    for name in names:
        category = benchmark.taxonomy.resolve(name)
        if category is None:
            raise ConfigurationError(
                f"no category is called {name!r}; there are: {'; '.join(benchmark.taxonomy.names)}"
            )
        wanted |= {category.name, *category.aliases}
    found: BoolArray = benchmark.item_columns["category"].is_in(list(wanted)).to_numpy()
    return found


def sampled(queries: pl.Series, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The places of so many items, given the query of each, whole queries at a time."""
    order = numbered(queries)
    rank = rng.permutation(int(order.max(initial=-1)) + 1)
    return np.sort(np.argsort(rank[order], kind="stable")[:size])


def numbered(queries: pl.Series) -> NDArray[np.int64]:
    """A number for each query, from 0 in the order in which they come first."""
    each = queries.alias("query").to_frame()
    places = each.unique(maintain_order=True).with_row_index("place")
    return each.join(places, on="query", maintain_order="left")["place"].to_numpy().astype(np.int64)


def ablation_arms(what: str, parameters: ParameterSet | None = None) -> tuple[Arm, ...]:
    """The arms of an ablation: `groups` is all subsets of the groups (eight of the paper's three), `parameters` each one
    left out.

    Raises ConfigurationError: `what` is neither.
    """
    found = parameters or paper_parameters()
    if what == "groups":
        groups = found.group_names
        some = [Arm.without(*left) for size in range(len(groups)) for left in combinations(groups, size)]
        return (*some, NO_CONTEXT)
    if what == "parameters":
        return (FULL, *(Arm.without(name) for name in found.names))
    raise ConfigurationError(f"--ablate is {what!r}; it is 'groups' or 'parameters'")


@dataclass(frozen=True, kw_only=True)
class RunEstimate(CallEstimate):
    """Calls, tokens and cost of a plan as a whole, as if nothing were judged yet."""

    n_items: int
    n_asks: int
    before: dict[str, CallEstimate] = field(default_factory=dict)
    """What models would take that make texts for the arms, by maker."""

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        found = {"n_items": self.n_items, "n_asks": self.n_asks} | asdict(self)
        return found if self.before else {name: value for name, value in found.items() if name != "before"}


def estimate_run(
    benchmark: Benchmark, judge: Judge, plan: Plan, *, making: MakingOptions = MakingOptions()
) -> RunEstimate:
    """What `plan` would take. No call is made."""
    before = estimate_before(plan.arms, partial(plan.asks_given, benchmark), making)
    plan = replace(plan, made=MadeTexts(planning=True))
    calls = estimate_calls(judge, plan.asks(benchmark, judge.shared_key))
    return RunEstimate(n_items=len(plan.items), n_asks=len(plan), before=before, **vars(calls))


# The first replies of a run: it pauses where hardly one of them can be read.


FIRST, FEWEST_READ, SHOWN = 50, 5, 3
"""Of so many first replies at least so many must give a verdict; else so many are shown, and the run pauses."""

LONGEST_SHOWN = 150


class FirstReplies:
    """Pauses a run whose first replies hardly give a verdict, before the rest is paid for. It does so once: a run that is resumed
    asks the rest.

    `log`: the log of judgements, as earlier sessions left it.
    """

    def __init__(self, watch: Watch, log: Path) -> None:
        self._watch, self._log = watch, log
        self._unread: list[str] = []

    @cached_property
    def _counted(self) -> Counter[bool]:
        """How many of the first replies gave a verdict, and how many gave none."""
        earlier = (judgement for judgement in read_jsonl(self._log, Judgement) if not judgement.may_pass)
        return Counter(judgement.failure is None for judgement in islice(earlier, FIRST))

    def take_in(self, _ask: Ask, judgement: Judgement) -> None:
        """Take a judgement into account before it is written; ask the run to stop where it is the last of the first replies, and most were not read."""
        counted = self._counted
        if counted.total() >= FIRST or judgement.raw_reply is None or judgement.shared_with is not None:
            return
        counted[judgement.failure is None] += 1
        if judgement.failure is not None:
            self._unread.append(judgement.raw_reply)
        if counted.total() == FIRST and counted[True] < FEWEST_READ:
            self._pause()

    def _pause(self) -> None:
        for reply in self._unread[:SHOWN]:
            self._watch.say(f"a reply without a verdict: {json.dumps(reply[:LONGEST_SHOWN], ensure_ascii=False)}")
        self._watch.stop.ask(
            f"{self._counted[True]} of the first {FIRST} replies could be read. Try --structured, --reader MODEL or other --prompts, "
            "into another folder"
        )


# A run of a judge: where it goes, every ask of a plan answered once, into a run folder, and what came of it.


@dataclass(frozen=True)
class Target:
    """Where a run goes, and how its report finds the benchmark again."""

    folder: Path
    benchmark_source: str
    seed: int = 0
    command: str | None = None


@dataclass(kw_only=True)
class RunSummary(RunProgress):
    """What a session of judging did, and what the run holds after it."""

    unusable: ClassVar[str] = "unscored"

    run: Path
    n_items: int
    notes: tuple[str, ...] = ()
    """What a reader must know of the judge."""

    @property
    def n_judged(self) -> int:
        """Asks of the plan with a verdict so far."""
        return self.n_usable

    @property
    def n_unscored(self) -> int:
        """Asks of the plan that were answered and have none."""
        return self.n_unusable

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values; `seconds` is from the first call to the last line on disk."""
        return {
            "run": str(self.run),
            "n_items": self.n_items,
            "n_calls": self.n_calls,
            "n_judged": self.n_judged,
            "n_unscored": self.n_unscored,
            "seconds": round(self.seconds, 3),
            "calls_per_second": round(self.n_calls / self.seconds, 3) if self.seconds > 0 else None,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "resumed": self.resumed,
            **self.unfinished,
        }


async def judge_into(
    target: Target,
    benchmark: Benchmark,
    judge: Judge,
    *,
    plan: Plan,
    limits: Limits = Limits(),
    watch: Watch | None = None,
    batch: BatchOptions | None = None,
    closing: bool = True,
) -> RunSummary:
    """Judge what `plan` asks and the folder does not hold yet.

    A first Ctrl-C lets what is in flight finish and returns; the same call later goes on. The calls are made from this
    process, unless they go over a `batch` interface. The judge is closed afterwards, unless `closing` says that it is
    asked again. Raises RunConflict: the folder holds something else, or another process holds it; ModelError: no
    further call can succeed; what was judged before is kept; ConfigurationError: there is a limit on cost or tokens,
    and nobody knows what the judge costs or how many it takes.
    """
    summary = RunSummary(run=target.folder, n_items=len(plan.items))
    try:
        reader = judge.reader if isinstance(judge, LLMJudge) else None
        if reader is not None and reader.prices is None:
            check_limits(limits, judge.name, priced=False, counts_tokens=judge.counts_tokens, to_price=GIVE_PRICES)
        model: object = judge.model
        if isinstance(model, WaitsForServer) and watch is not None:
            model.tell_with(watch.say)
        watch = watch or Watch()
        first = None if model is None or batch else FirstReplies(watch, target.folder / JUDGEMENTS)
        log = judgement_log(target, benchmark, judge, plan=plan, limits=limits, first=first)
        await perform(
            judge,
            partial(judgement_of, judge),
            plan.asks(benchmark, judge.shared_key),
            log,
            options=CallingOptions(limits=limits, batch=batch),
            progress=summary,
            watch=watch,
        )
        summary.notes = judge.notes()
        return summary
    finally:
        if closing:
            await judge.close()


@asynccontextmanager
async def judgement_log(
    target: Target, benchmark: Benchmark, judge: Judge, *, plan: Plan, limits: Limits, first: FirstReplies | None
) -> AsyncIterator[FolderLog[Ask, Judgement]]:
    """The log of a run of a judge. A run of a guard begins only when the context reaches the model."""
    session = session_now(limits, command=target.command, items=len(plan.items), asks=plan.by_way)
    async with folder_log(
        target.folder,
        manifest(target, benchmark, judge, plan),
        JUDGEMENT_LOG,
        session.model_copy(update={"weights_bytes": judge.weights_bytes}),
        before=None if first is None else first.take_in,
        notes=judge.notes,
    ) as log:
        if isinstance(judge, GuardJudge) and log.held is None:
            asks = (ask for bundle in Bundles(plan, benchmark) for ask in bundle)
            shown = (ask for ask in asks if ask.shown.context and not (ask.shown.problem or ask.shown.held_back))
            if (ask := next(shown, None)) is not None:
                await judge.check_context(ask)
        yield log


def kinds_of(benchmark: Benchmark) -> list[Kind]:
    """The kinds of what is judged in a benchmark."""
    return sorted({"conversation" if judged == "request" and after else judged for judged, after in benchmark.judged})


def manifest(target: Target, benchmark: Benchmark, judge: Judge, plan: Plan) -> RunManifest:
    endpoint = getattr(getattr(judge, "client", judge.model), "endpoint", None)
    kinds = kinds_of(benchmark)
    if "request" in kinds and any(map(adds_turns, plan.arms)):
        kinds = sorted({*kinds, "conversation"})
    return RunManifest(
        identity=RunIdentity(benchmark=benchmark.digest, judge=judge.id, settings=judge.settings(), seed=target.seed),
        judge_name=judge.name,
        benchmark_name=benchmark.name,
        benchmark_source=target.benchmark_source,
        synthetic=benchmark.about.synthetic,
        # A user's own judge may know of requests alone.
        wordings=judge.wordings(plan.elicitations, *([kinds] if kinds != ["request"] else [])),
        address=endpoint.base_url if endpoint is not None else None,
        created=datetime.now(UTC),
    )
