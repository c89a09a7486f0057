"""A judges' run: its plan, its kind of call, and how it is driven."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import ConfigurationError
from casewise.judges.guard import GuardJudge, ModerationJudge
from casewise.judges.judge import Answer, Ask, Judge, answer_shown
from casewise.judges.llm import LLMJudge
from casewise.models.batch_providers import client_of
from casewise.models.client import EndpointClient
from casewise.models.protocol import WaitsForServer
from casewise.records import (
    FULL,
    NO_CONTEXT,
    Arm,
    Elicitation,
    Item,
    Judgement,
    ParameterSet,
    Scored,
    Unscored,
    UnscoredReason,
    paper_parameters,
)
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import GIVE_PRICES, Limits, RunProgress, Took, Watch, check_limits
from casewise.runs.run import Asking, Asks, Batched, CallEstimate, FolderLog, LoggedKind, estimate_calls, session_now
from casewise.stats.arrays import BoolArray
from casewise.storage.benchmark import Benchmark
from casewise.storage.columns import column_of_records, records_at
from casewise.storage.run_folder import (
    JUDGEMENT_LOG,
    RunFolder,
    RunIdentity,
    RunManifest,
    asked,
    asked_so,
    judgements_in_brief,
    now,
)
from casewise.transforms.catalogue import check_arms, needs_twin
from casewise.transforms.texts import MadeTexts, MakingOptions, by_models, estimate_before

# What a run asks: items, arms, elicitations and repeats, and which of these asks one call answers.


@dataclass(frozen=True)
class Plan:
    """What to ask. It may grow when a run is gone on with: more items, arms, elicitations, repeats or attempts."""

    items: Sequence[Item]
    """The benchmark's own, or those that were selected."""
    elicitations: tuple[Elicitation, ...]
    arms: tuple[Arm, ...]
    repeats: int = 1
    retry_unscored: int = 0
    """How often an ask is repeated at most because its reply gave no verdict."""
    made: MadeTexts | None = field(default=None, repr=False, compare=False)
    """What models made of texts before, where an arm asks for that."""

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        judge: Judge,
        *,
        elicitations: tuple[Elicitation, ...] = (),
        arms: tuple[Arm, ...] = (),
        repeats: int = 1,
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
        if repeats < 1:
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
        return len(self.items) * len(self.elicitations) * len(self.arms) * self.repeats

    @property
    def by_way(self) -> dict[str, int]:
        """How many judgements it wants of each way of asking."""
        n = len(self.items) * self.repeats
        return {asked_so(how, arm.name): n for how in self.elicitations for arm in self.arms}

    def asks(self, benchmark: Benchmark, judge: Judge) -> Asks[Ask]:
        """The plan as a run reads it; `judge` says which asks one call answers."""
        return Asks(
            lambda: self.bundles(benchmark),
            len(self),
            self.retry_unscored,
            judge.shared_key,
            numbered=lambda: NumberedPlan(self, benchmark),
        )

    def asks_given(self, benchmark: Benchmark, made: MadeTexts) -> Iterator[Ask]:
        """The asks of the arms that models make texts for, with what these made so far."""
        arms = tuple(arm for arm in self.arms if by_models((arm,)))
        for bundle in replace(self, arms=arms, elicitations=self.elicitations[:1], repeats=1, made=made).bundles(
            benchmark
        ):
            yield from bundle

    def bundles(self, benchmark: Benchmark) -> Iterator[tuple[Ask, ...]]:
        """The plan, one query at a time: all its items in all arms, under one elicitation and repeat.

        Only asks within a bundle can have one prompt, so nothing larger is ever held in memory.
        """
        queries = ByQuery(self.items)
        for repeat in range(self.repeats):
            for elicitation in self.elicitations:
                for items in queries:
                    yield self.asks_about(benchmark, items, elicitation, repeat)

    def asks_about(
        self, benchmark: Benchmark, items: list[Item], elicitation: Elicitation, repeat: int
    ) -> tuple[Ask, ...]:
        """The asks of one bundle."""
        twins = any(needs_twin(arm) for arm in self.arms)
        query = benchmark.query[items[0].query_id]
        shown = [(item, benchmark.context_of(item), benchmark.twin_of(item) if twins else None) for item in items]
        return tuple(
            Ask(item, query, context, arm, elicitation, repeat, twin=twin, made=self.made)
            for arm in self.arms
            for item, context, twin in shown
        )


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


class NumberedPlan:
    """The asks of a plan by their numbers, from 0 in the order of `Plan.bundles`. Their count and no ask is known before one is wanted."""

    def __init__(self, plan: Plan, benchmark: Benchmark) -> None:
        self.plan, self.benchmark, self.queries = plan, benchmark, ByQuery(plan.items)
        self._times = plan.repeats * len(plan.elicitations)
        self._of_time = len(plan.items) * len(plan.arms)

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """Of each bundle the number after that of its last ask."""
        return np.cumsum(np.tile(self.queries.sizes * len(self.plan.arms), self._times), dtype=np.int64)

    def numbers(self, log: pl.DataFrame) -> NDArray[np.int64]:
        """Of each row of a log (see `judgements_in_brief`) the number of its ask; -1 where the plan has no such ask."""
        plan, arms, sizes = self.plan, [arm.name for arm in self.plan.arms], self.queries.sizes
        before = np.cumsum(sizes, dtype=np.int64) - sizes
        first, step = np.empty((2, len(plan.items)), dtype=np.int64)
        first[self.queries.order] = np.arange(len(plan.items)) + np.repeat(before * (len(arms) - 1), sizes)
        step[self.queries.order] = np.repeat(sizes, sizes)
        of_item = pl.DataFrame({"item_id": column_of_records(plan.items, "id"), "first": first, "step": step})
        time = pl.col("repeat") * len(plan.elicitations) + place_in(plan.elicitations, "elicitation")
        number = time * self._of_time + pl.col("first") + place_in(arms, "arm") * pl.col("step")
        asked = log.select("item_id", "elicitation", "arm", pl.col("repeat").cast(pl.Int64)).join(
            of_item, on="item_id", how="left", maintain_order="left"
        )
        found = asked.select(pl.when(pl.col("repeat").is_between(0, plan.repeats - 1)).then(number).fill_null(-1))
        return found.to_series().to_numpy()

    def bundle(self, place: int) -> tuple[Ask, ...]:
        """The asks of the bundle at a place, in the order of their numbers."""
        time, query = divmod(place, len(self.queries))
        repeat, elicitation = divmod(time, len(self.plan.elicitations))
        return self.plan.asks_about(self.benchmark, self.queries[query], self.plan.elicitations[elicitation], repeat)


def place_in(names: Sequence[str], column: str) -> pl.Expr:
    """The place of a column's texts among `names`; null of any other."""
    return pl.col(column).replace_strict(names, list(range(len(names))), default=None, return_dtype=pl.Int64)


@dataclass(frozen=True)
class Selection:
    """Which items of a benchmark to ask about.

    `ids` keeps those with these ids, `categories` those of these categories (their aliases count too), `sample` draws that many items at random,
    whole queries at a time so that pairs stay together, `limit` keeps the first so many.
    """

    categories: tuple[str, ...] = ()
    sample: int | None = None
    seed: int = 0
    limit: int | None = None
    ids: frozenset[str] | None = None


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
    calls = estimate_calls(
        plan.asks(benchmark, judge), usually=judge.usually, at_most=judge.at_most, prices=judge.prices
    )
    return RunEstimate(n_items=len(plan.items), n_asks=len(plan), before=before, **vars(calls))


# Judging as a kind of run: what tells asks apart, and how an answer becomes a judgement.


class JudgingKind(LoggedKind[Ask, Answer, Judgement]):
    """Asks of one judge, and its answers. A verdict settles an ask."""

    log = JUDGEMENT_LOG

    def __init__(self, judge_id: str) -> None:
        self.judge_id = judge_id

    def key(self, ask: Ask) -> tuple[str, ...]:
        return asked(ask.item.id, ask.elicitation, ask.arm.name, ask.repeat)

    def problem(self, answer: Answer) -> str | None:
        return in_words(answer.outcome) if isinstance(answer.outcome, Unscored) else None

    def passes(self, answer: Answer) -> bool:
        return unavailable(answer.outcome)

    def took(self, answer: Answer) -> Took:
        return Took.of(answer, tries=(answer.detail or {}).get("tries", 1))

    def shared(self, answer: Answer, by: Ask) -> Answer:
        return replace(
            answer,
            shared_with=answer.shared_with or by.item.id,
            input_tokens=None,
            output_tokens=None,
            cost_usd=None,
            latency_s=None,
        )

    def record(self, ask: Ask, answer: Answer) -> Judgement:
        return Judgement(
            item_id=ask.item.id,
            judge_id=self.judge_id,
            elicitation=ask.elicitation,
            arm=ask.arm.name,
            repeat=ask.repeat,
            attempt=ask.attempt,
            at=now(),
            **vars(answer),
        )

    def answer(self, record: Judgement) -> Answer:
        return Answer(
            record.outcome,
            raw_reply=record.raw_reply,
            model_version=record.model_version,
            shared_with=record.shared_with,
            read_as=record.read_as,
            categories=record.categories,
            detail=record.detail,
        )

    def usable(self, record: Judgement) -> bool:
        return not isinstance(record.outcome, Unscored)

    def passing(self, record: Judgement) -> bool:
        return unavailable(record.outcome)

    def in_columns(self, folder: RunFolder[Any, Judgement]) -> pl.DataFrame | None:
        return judgements_in_brief(folder.log_path)


def unavailable(outcome: Scored | Unscored) -> bool:
    """Whether a call failed for a reason that may pass."""
    return isinstance(outcome, Unscored) and outcome.reason is UnscoredReason.UNAVAILABLE


def in_words(outcome: Unscored) -> str:
    detail = " ".join((outcome.detail or "").split())
    reason = outcome.reason.value.replace("_", " ")
    return f"{reason}: {detail}" if detail else reason


# The first replies of a run: it pauses where hardly one of them can be read.


FIRST, FEWEST_READ, SHOWN = 50, 5, 3
"""Of so many first replies at least so many must give a verdict; else so many are shown, and the run pauses."""

LONGEST_SHOWN = 150


class FirstReplies:
    """Pauses a run whose first replies hardly give a verdict, before the rest is paid for. It does so once: a run that is gone on
    with asks the rest.

    `log`: what earlier sessions were answered, in columns.
    """

    def __init__(self, answer: Callable[[Ask], Awaitable[Answer]], watch: Watch, log: pl.DataFrame | None) -> None:
        self._answer, self._watch = answer, watch
        self._replies = 0 if log is None else int((~log["passing"]).sum())
        self._read = 0 if log is None else int(log["usable"].sum())
        self._unread: list[str] = []

    async def answer(self, ask: Ask) -> Answer:
        """The answer of the judge; asks the run to stop where it is the last of the first replies, and most were not read."""
        given = await self._answer(ask)
        if self._replies < FIRST and given.raw_reply is not None:
            self._replies += 1
            if isinstance(given.outcome, Unscored):
                self._unread.append(given.raw_reply)
            else:
                self._read += 1
            if self._replies == FIRST and self._read < FEWEST_READ:
                self._pause()
        return given

    def _pause(self) -> None:
        for reply in self._unread[:SHOWN]:
            self._watch.say(f"a reply without a verdict: {json.dumps(reply[:LONGEST_SHOWN], ensure_ascii=False)}")
        self._watch.stop.ask(
            f"{self._read} of the first {FIRST} replies could be read. Try --structured, --reader MODEL or other --prompts, "
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
            **({"unavailable": self.n_unavailable} if self.n_unavailable else {}),
            **({"pending": self.n_pending} if self.n_pending else {}),
            **({"stopped": self.stopped} if self.stopped else {}),
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
    kind, watch, watched = JudgingKind(judge.id), watch or Watch(), watch is not None
    try:
        check(limits, judge)
        over = Batched(client_behind(judge), judge.name, judge.prices is not None, batch) if batch else None
        model: object = judge.model
        if isinstance(model, WaitsForServer) and watched:
            model.tell_with(watch.say)
        with RunFolder.hold(target.folder, manifest(target, benchmark, judge, plan), kind.log) as folder:
            session = session_now(limits, command=target.command, items=len(plan.items), asks=plan.by_way)
            folder.note_session(session.model_copy(update={"weights_bytes": judge.weights_bytes}))
            asks, log = plan.asks(benchmark, judge), FolderLog(folder, kind)
            if isinstance(judge, GuardJudge) and not folder.log_path.stat().st_size:
                every = (ask for bundle in plan.bundles(benchmark) for ask in bundle)
                shown = (ask for ask in every if ask.shown.context and not (ask.shown.problem or ask.shown.held_back))
                if (first := next(shown, None)) is not None:
                    await judge.check_context(first)
            answer: Callable[[Ask], Awaitable[Answer]] = partial(answer_shown, judge)
            if judge.model is not None and over is None:
                answer = FirstReplies(answer, watch, log.columns()).answer
            asking = Asking(answer, judge.at_most, judge.concurrency, limits, over, watch)
            summary = RunSummary(run=target.folder, n_items=len(plan.items))
            try:
                return await asking.of(kind, asks, log, folder=target.folder, progress=summary)
            finally:
                summary.notes = judge.notes()
                folder.keep_notes(summary.notes)
    finally:
        if closing:
            await judge.close()


def client_behind(judge: Judge) -> EndpointClient:
    """The client that a judge's calls go through. Raises ConfigurationError: there is none."""
    return judge.client if isinstance(judge, ModerationJudge) else client_of(judge.model, judge.name)


def check(limits: Limits, judge: Judge) -> None:
    reader = judge.reader if isinstance(judge, LLMJudge) else None
    check_limits(
        limits,
        judge.name,
        priced=judge.prices is not None and (reader is None or reader.prices is not None),
        counts_tokens=judge.counts_tokens,
        to_price=GIVE_PRICES if judge.model else "",
    )


def manifest(target: Target, benchmark: Benchmark, judge: Judge, plan: Plan) -> RunManifest:
    endpoint = getattr(getattr(judge, "client", judge.model), "endpoint", None)
    return RunManifest(
        identity=RunIdentity(benchmark=benchmark.digest, judge=judge.id, settings=judge.settings(), seed=target.seed),
        judge_name=judge.name,
        benchmark_name=benchmark.name,
        benchmark_source=target.benchmark_source,
        synthetic=benchmark.about.synthetic,
        wordings=judge.wordings(plan.elicitations),
        address=endpoint.base_url if endpoint is not None else None,
        created=datetime.now(UTC),
    )
