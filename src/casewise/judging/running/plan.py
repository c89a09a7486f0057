"""What a run asks: items, arms, elicitations and repeats, and which of these asks one call answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.errors import ConfigurationError
from casewise.judging.judge import Ask, Judge
from casewise.records import FULL, NO_CONTEXT, Arm, Elicitation, Item, ParameterSet, paper_parameters
from casewise.runs.estimate import CallEstimate, estimate_calls
from casewise.runs.run_kind import Asks
from casewise.showing import MadeTexts, check_arms, needs_twin
from casewise.showing.by_model import by_models
from casewise.showing.made_before import MakingOptions, estimate_before
from casewise.stats.core.arrays import BoolArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.record_columns import column_of_records, records_at
from casewise.storage.runs.run_folder import asked_so

__all__ = ["ByQuery", "NumberedPlan", "Plan", "RunEstimate", "Selection", "ablation_arms", "estimate_run", "select"]


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
