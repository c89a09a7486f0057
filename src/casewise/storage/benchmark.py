"""A benchmark in memory: queries, contexts, items and ratings, by column or by record."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple, TypeVar

import polars as pl

from casewise.errors import BenchmarkError
from casewise.notation import percent
from casewise.records import (
    Annotator,
    Context,
    Item,
    LabelsBy,
    ParameterSet,
    Query,
    Rating,
    RatingScale,
    Revision,
    StatedTexts,
    Taxonomy,
    Verdict,
    paper_parameters,
    sorry_bench,
)
from casewise.records.base import ContentRecord, Record, canonical_json
from casewise.records.item import NO_CONTEXT_CONDITION, Judged, condition_problem
from casewise.storage.columns import ContextFile, RatingColumns, RecordColumns, RecordField, places_among
from casewise.storage.receipt import Receipt
from casewise.text import count_of, synthetic_notes

# A benchmark in memory: queries, contexts, items and ratings that fit together, and their description.


ITEM_COLUMNS: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "query_id": pl.String(),
    "pair_id": pl.String(),
    "cluster": pl.String(),
    "category": pl.String(),
    "domain": pl.String(),
    "condition": pl.String(),
    "intended_safe": pl.Boolean(),
    "n_safe": pl.Int64(),
    "n_votes": pl.Int64(),
    "n_unsure": pl.Int64(),
    "n_ask": pl.Int64(),
    "published_rate": pl.Float64(),
    "n_values": pl.Int64(),
    "mean": pl.Float64(),
    "mean_share": pl.Float64(),
    "mean_is_safe": pl.Boolean(),
}
"""Columns of the table of items: its parents, its category and its votes. `n_votes` counts safe and unsafe votes, `n_unsure` and `n_ask` the
others; `n_values` and `mean` are of the ratings on the scale, or `mean` is as a file states it. `mean_share` is the mean
as a share of the scale, 1 at its safe end; `mean_is_safe` says on which side of the cut it lies."""


class Published(Record):
    """The form in which a published JSON file gave its votes, so that the file can be written back."""

    file: str
    rates_count_intent: bool
    """True where `safe_rate` counts the author's intent as one vote more than people gave."""
    votes_hold_intent: bool
    """True where that vote also stands at the end of `scores`."""


RELEASE = (
    "These are votes of the published CASE-Bench release. 66 of its items that are meant to be safe have 10 safe votes of 20, and "
    "only 11 have 9. Votes without selection show no such step at the majority line. p values and ceilings take the votes as they "
    "are; --items clear leaves out items at the line."
)
"""Stands beside every number of a benchmark whose rates count the author's intent as a vote, as the release's do."""

UNVERSIONED = "0"


class About(Record):
    """The description of a benchmark: its name, version, licence, terms and source."""

    name: str
    version: str = UNVERSIONED
    description: str | None = None
    licence: str | None = None
    terms: str | None = None
    gated: bool = False
    canary: str | None = None
    synthetic: str | None = None
    """The parts of the data that are made up; shown wherever its numbers are."""
    source: str | None = None
    remarks: tuple[str, ...] | None = None
    """The facts that the imported file lacked, and the parts of it that were left out."""
    receipt: Receipt | None = None
    """Record of how each column and word of the imported file was read, and what became of its rows."""
    published: Published | None = None
    labels_by: LabelsBy | None = None
    """The stated source of the labels, or None; see `Benchmark.labels_by`."""
    scale: RatingScale | None = None
    """The scale that people rate on."""


class BenchmarkCounts(Record):
    """The numbers of queries, contexts, items, ratings, revisions and annotators in a benchmark."""

    queries: int
    contexts: int
    items: int
    ratings: int
    revisions: int
    annotators: int | None = None
    """Those whose traits are stated; None where there are none."""


class Votes(NamedTuple):
    """People's votes on one item."""

    safe: int
    total: int
    """Safe and unsafe votes."""
    unsure: int = 0
    ask: int = 0

    @property
    def rate(self) -> float | None:
        """Share of the safe and unsafe votes that are safe; None without such votes."""
        return self.safe / self.total if self.total else None


@dataclass(frozen=True)
class Benchmark:
    """Queries, contexts, items and ratings, checked to be consistent.

    Raises BenchmarkError: when made: an id stands twice, a parent is missing, a category is not in the taxonomy, a
    condition does not fit its context, an annotator rated an item twice, or a value lies beside the scale. The message
    names it.
    """

    about: About
    queries: RecordField[Iterable[Query], RecordColumns[Query]] = RecordField(
        partial(RecordColumns.from_records, Query)
    )
    """Given as records and held as a table, as are contexts, items and ratings. It equals the tuple of the same records."""
    contexts: RecordField[Iterable[Context], RecordColumns[Context]] = RecordField(
        partial(RecordColumns.from_records, Context)
    )
    """The contexts; a `ContextFile` for a large folder."""
    items: RecordField[Iterable[Item], RecordColumns[Item]] = RecordField(partial(RecordColumns.from_records, Item))
    ratings: RecordField[Iterable[Rating], RatingColumns] = RecordField(RatingColumns.from_ratings, ())
    revisions: tuple[Revision, ...] = ()
    taxonomy: Taxonomy = field(default_factory=sorry_bench)
    parameters: ParameterSet = field(default_factory=paper_parameters)
    """The parameters that contexts state."""
    annotators: tuple[Annotator, ...] = ()
    """Those whose traits are stated; ratings may name others."""

    known_digest: InitVar[str | None] = None
    """The digest of parts that were checked when they were read before: they are not checked again."""

    def __post_init__(self, known_digest: str | None) -> None:
        if known_digest is not None:
            object.__setattr__(self, "digest", known_digest)
            return
        if self.about.scale is not None:
            object.__setattr__(self, "ratings", self.ratings.with_cut(self.about.scale))
        check_benchmark(self)

    def __repr__(self) -> str:
        contents = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.as_json().items() if n)
        return f"<Benchmark {self.title}: {contents}>"

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def title(self) -> str:
        """The name, and the version where one is stated."""
        return self.name if self.about.version == UNVERSIONED else f"{self.name} {self.about.version}"

    @property
    def stated(self) -> dict[str, str | None]:
        """The facts about a benchmark for the JSON of a report: name, digest, and which of its data are made up."""
        return {"name": self.name, "digest": self.digest, "synthetic": self.about.synthetic}

    @cached_property
    def query(self) -> Mapping[str, Query]:
        """Queries by id."""
        return self.queries.by_id

    @cached_property
    def context(self) -> Mapping[str, Context]:
        """Contexts by id."""
        return self.contexts.by_id

    @cached_property
    def item(self) -> Mapping[str, Item]:
        """Items by id."""
        return self.items.by_id

    @cached_property
    def votes(self) -> dict[str, Votes]:
        """People's votes by item id, for every item."""
        counted = self.item_columns.select("item_id", "n_safe", "n_votes", "n_unsure", "n_ask")
        return {item: Votes(*votes) for item, *votes in counted.iter_rows()}

    @cached_property
    def labels_by(self) -> LabelsBy | None:
        """The source of labels: as stated, or people if an item has several ratings. None if it is not stated."""
        if self.about.labels_by is not None:
            return self.about.labels_by
        return "people" if self.most_ratings > 1 else None

    @cached_property
    def most_ratings(self) -> int:
        """The number of ratings of the item that has the most."""
        counts = self.item_columns.select(
            pl.max_horizontal(pl.sum_horizontal("n_votes", "n_unsure", "n_ask"), "n_values").max()
        )
        return int(counts.item() or 0)

    @cached_property
    def n_shares(self) -> int:
        """The number of items with a share of safe votes and no vote."""
        columns = self.item_columns
        return int(((columns["n_votes"] == 0) & columns["published_rate"].is_not_null()).sum())

    @cached_property
    def judged(self) -> frozenset[tuple[Judged, bool]]:
        """The distinct kinds of text that queries ask to judge, each with whether a conversation precedes it."""
        rows = self.queries.table.select(pl.col("judged").fill_null("request"), pl.col("before").is_not_null()).unique()
        return frozenset(rows.iter_rows())

    @property
    def restricted(self) -> bool:
        """True if its texts may not be given away: it is gated, or is the published release."""
        return self.about.gated or self.about.published is not None

    def category_of(self, item: Item) -> str:
        """Return the item's category: its own, or its query's."""
        return item.category or self.query[item.query_id].category

    @cached_property
    def item_columns(self) -> pl.DataFrame:
        """A row an item, in their order, with the columns of `ITEM_COLUMNS`."""
        items, queries = self.items.table, self.queries.table
        of_query = queries["category"].gather(places_among(queries["id"], items["query_id"]))
        context = places_among(self.contexts.table["id"], items["context_id"])
        rated = self.ratings.per_item(items["id"])
        table = items.select(
            "query_id",
            "pair_id",
            "condition",
            "published_rate",
            item_id="id",
            cluster=pl.coalesce("cluster", "query_id"),
            category=pl.coalesce("category", pl.lit(of_query)),
            intended_safe=pl.lit(self.contexts.table["intended_safe"].gather(context)),
            mean=pl.coalesce(pl.lit(rated["mean"]), "mean"),
        ).hstack(rated.drop("mean"))
        categories = table["category"].unique()
        domains = {name: resolved.domain for name in categories if (resolved := self.taxonomy.resolve(name))}
        scale = self.about.scale
        return table.with_columns(
            domain=pl.col("category").replace_strict(domains, default=None, return_dtype=pl.String),
            mean_share=pl.lit(None) if scale is None else scale.share(pl.col("mean")),
            mean_is_safe=pl.lit(None) if scale is None or scale.cut is None else scale.is_safe(pl.col("mean")),
        ).select(pl.col(name).cast(dtype) for name, dtype in ITEM_COLUMNS.items())

    @cached_property
    def digest(self) -> str:
        """A hash (128 bits) of the items, their clusters and means, and the ratings. A run's numbers depend on nothing else."""
        state = hashlib.blake2b(digest_size=16)
        item_rows = self.items.table.select("id", "cluster", "mean").iter_rows()
        for line in sorted(
            item_id if part == [None, None] else f"{item_id}\t{canonical_json(part)}" for item_id, *part in item_rows
        ):
            state.update(f"{line}\n".encode())
        for block in self.ratings.lines():
            state.update(block.encode())
        return state.hexdigest()

    @property
    def counts(self) -> BenchmarkCounts:
        return BenchmarkCounts(
            queries=len(self.queries),
            contexts=len(self.contexts),
            items=len(self.items),
            ratings=len(self.ratings),
            revisions=len(self.revisions),
            annotators=len(self.annotators) or None,
        )

    def context_of(self, item: Item) -> Context | None:
        """Return the context that `item` shows; None for an item without one."""
        return self.context[item.context_id] if item.context_id is not None else None

    def written_of(self, item: Item) -> StatedTexts | None:
        """Return the texts and the author of the context that `item` shows. No record is made of a context in a file."""
        if item.context_id is None:
            return None
        if isinstance(self.contexts, ContextFile):
            return self.contexts.written(item.context_id)
        return self.context[item.context_id].written

    def written(self, items: RecordColumns[Item] | None = None) -> Iterator[StatedTexts | None]:
        """Yield what `written_of` returns of each item, or of these items: in order, without a search for each context."""
        items = self.items if items is None else items
        if not isinstance(self.contexts, ContextFile):
            return map(self.written_of, items)
        return self.contexts.written_at(places_among(self.contexts.table["id"], items.table["context_id"]))

    @cached_property
    def pairs(self) -> dict[str, tuple[Item, ...]]:
        """Items by pair, in order."""
        pairs: dict[str, list[Item]] = {}
        for item in self.items:
            if item.pair_id is not None:
                pairs.setdefault(item.pair_id, []).append(item)
        return {pair_id: tuple(items) for pair_id, items in pairs.items()}

    @cached_property
    def unmoved_queries(self) -> dict[str, Verdict]:
        """Verdict of people's majority, by query, for queries with two contexts or more and the same verdict under each."""
        voted = self.item_columns.filter(pl.col("condition") != NO_CONTEXT_CONDITION, pl.col("n_votes") > 0)
        side = (2 * pl.col("n_safe") - pl.col("n_votes")).sign()
        queries = voted.group_by("query_id", maintain_order=True).agg(n=pl.len(), low=side.min(), high=side.max())
        agreed = queries.filter(pl.col("n") > 1, pl.col("low") == pl.col("high"), pl.col("low") != 0)
        return {query_id: "safe" if low > 0 else "unsafe" for query_id, _, low, _ in agreed.iter_rows()}

    def twin_of(self, item: Item) -> Context | None:
        """Return the other context of the item's pair, or None. In a larger group it is the first context of the other
        intent."""
        candidates = [candidate for candidate in self.pairs.get(item.pair_id or "", ()) if candidate.id != item.id]
        if len(candidates) > 1:
            own_intent = self.intent_of(item)
            candidates = [
                candidate
                for candidate in candidates
                if own_intent is not None and self.intent_of(candidate) is (not own_intent)
            ]
        return self.context_of(candidates[0]) if candidates else None

    def intent_of(self, item: Item) -> bool | None:
        """Return whether the author of the item's context meant it to be safe. None for an item without a context."""
        context = self.context_of(item)
        return None if context is None else context.intended_safe

    def find(self, which: str) -> Item:
        """Return the item with the owner's id `which`, with an id that begins with it, or at that place (from 1).

        Raises BenchmarkError: there is no such item, or more than one.
        """
        matches = [item for item in self.items if item.source_id == which]
        if not matches and which.isdecimal() and len(which) <= 9 and 1 <= int(which) <= len(self.items):
            return self.items[int(which) - 1]
        matches = matches or [item for item in self.items if item.id.startswith((which, f"i_{which}"))]
        if len(matches) != 1:
            problem = f"no item of the benchmark {self.name!r} has an id that begins with {which!r}"
            if matches:
                ids = ", ".join(item.id for item in matches[:3]) + (", …" if len(matches) > 3 else "")
                problem = f"{count_of(len(matches), 'item')} of the benchmark {self.name!r} have ids that begin with {which!r} ({ids})"
            raise BenchmarkError(f"{problem}; give an item's id, its beginning, or a place from 1 to {len(self.items)}")
        return matches[0]

    def restricted_to(self, items: Iterable[Item]) -> Benchmark:
        """Return the benchmark of these items alone, with their queries, contexts, ratings and annotators."""
        chosen = tuple(items)
        ids = {item.id for item in chosen}
        contexts = {item.context_id for item in chosen}
        queries = {item.query_id for item in chosen}
        ratings = self.ratings.of_items(ids)
        raters = set(ratings.annotators)
        return replace(
            self,
            queries=tuple(q for q in self.queries if q.id in queries),
            contexts=tuple(c for c in self.contexts if c.id in contexts),
            items=chosen,
            ratings=ratings,
            annotators=tuple(annotator for annotator in self.annotators if annotator.id in raters),
        )

    def notes(self) -> tuple[str, ...]:
        """Return the notes that a user should read before relying on the numbers."""
        notes: list[str] = [*synthetic_notes(self.about.synthetic)]
        if self.about.published is not None and self.about.published.votes_hold_intent:
            notes.append(
                "The last vote of every row equals the author's intent, as in the published judge outputs. casewise reads it as the intent and not as a rating."
            )
        if self.about.published is not None and self.about.published.rates_count_intent:
            notes.append(RELEASE)
        per_query = self.item_columns.drop_nulls("intended_safe")["query_id"].value_counts()["count"]
        if single := int((per_query == 1).sum()):
            notes.append(
                f"{single:,} of {count_of(len(self.queries), 'query has')} one context only; they form no pair."
            )
        columns = self.item_columns
        silent = (columns["n_votes"] == 0) & (columns["n_unsure"] + columns["n_ask"] == 0) & columns["mean"].is_null()
        if not (columns["n_votes"] > 0).any() and (
            shares := int((silent & columns["published_rate"].is_not_null()).sum())
        ):
            notes.append(
                f"{shares:,} of {count_of(len(self.items), 'item has')} a share of safe votes without their number. The share gives the label; "
                "agreement among people and the best possible score cannot be computed."
            )
            silent &= columns["published_rate"].is_null()
        if unrated := int(silent.sum()):
            notes.append(f"{unrated:,} of {count_of(len(self.items), 'item has')} no ratings; they count in no metric.")
        if means := int(((columns["n_values"] == 0) & columns["mean"].is_not_null()).sum()):
            cut = self.about.scale is not None and self.about.scale.cut is not None
            by_mean = (
                " With --labels mean, the side of the scale's cut on which the mean lies is the label." if cut else ""
            )
            notes.append(
                f"{means:,} of {count_of(len(self.items), 'item has')} a published mean and no single ratings. Metrics on the scale "
                f"use the mean.{by_mean} casewise cannot say how far people agree on these items."
            )
        if (columns["cluster"] != columns["query_id"]).any():
            clusters = count_of(columns["cluster"].n_unique(), "cluster")
            notes.append(
                f"{count_of(len(self.queries), 'query is')} in {clusters}: intervals and folds keep a cluster together."
            )
        if unsure := int(columns["n_unsure"].sum()):
            every = unsure + int(columns["n_votes"].sum())
            notes.append(
                f"{unsure:,} of {every:,} {'votes' if self.most_ratings > 1 else 'labels'} ({percent(unsure / every)}) are unsure; they count in no majority unless the label "
                "policy says so (--labels votes,unsure:half or votes,unsure:unsafe)."
            )
        return tuple(notes)


def check_benchmark(benchmark: Benchmark) -> None:
    """Check that the parts of a benchmark are consistent. Raises BenchmarkError: as `Benchmark`."""
    people = pl.Series([annotator.id for annotator in benchmark.annotators], dtype=pl.String)
    ids = {kind: getattr(benchmark, kind).table["id"] for kind in ("queries", "contexts", "items")}
    for kind, column in (ids | {"annotators": people}).items():
        if (repeated := column.is_duplicated()).any():
            problem = f"two {kind} have the id {column[int(repeated.arg_max() or 0)]}"
            raise BenchmarkError(f"{problem}: each must stand once")
    categories = [name for entry in benchmark.taxonomy.categories for name in (entry.name, *entry.aliases)]
    for kind, table in (("query", benchmark.queries.table), ("item", benchmark.items.table)):
        for record_id, category in (
            table.filter(~pl.col("category").is_in(categories)).select("id", "category").iter_rows()
        ):
            raise BenchmarkError(f"{kind} {record_id}: the taxonomy has no category {category!r}")
    check_contexts(benchmark)
    check_scale(benchmark)
    strays = benchmark.ratings.item_ids.filter(~benchmark.ratings.item_ids.is_in(ids["items"].implode()))
    if len(strays):
        raise BenchmarkError(f"a rating belongs to no item here ({strays[0]!r})")
    if repeated_key := benchmark.ratings.first_repeated_key():
        item_id, rater = repeated_key
        raise BenchmarkError(f"item {item_id} has two ratings by {rater}")


def check_scale(benchmark: Benchmark) -> None:
    """Check that values and means lie on the scale that the benchmark states."""
    scale, ratings, items = benchmark.about.scale, benchmark.ratings, benchmark.items.table
    of_ratings = (ratings.item_ids.gather(ratings.table["item"]), ratings.table["value"])
    for ids, values in (of_ratings, (items["id"], items["mean"])):
        if scale is None and not values.is_null().all():
            raise BenchmarkError("ratings or means have values, but the benchmark states no scale that they lie on")
        outside = None if scale is None else (values < scale.low) | (values > scale.high) | values.is_nan()
        if scale is not None and outside is not None and outside.any():
            place = int(outside.arg_max() or 0)
            raise BenchmarkError(
                f"item {ids[place]}: {values[place]:g} does not lie on the scale from {scale.low:g} to {scale.high:g}"
            )


def check_contexts(benchmark: Benchmark) -> None:
    """Check contexts and the items that show them. Each context is read once, because contexts may be in a file."""
    queries, items = set(benchmark.queries.table["id"]), benchmark.items.table
    shown: defaultdict[str, list[list[str]]] = defaultdict(list)
    for context_id, *item in items.select("context_id", "id", "query_id", "condition").iter_rows():
        shown[context_id].append(item)
    for context in benchmark.contexts:
        if context.query_id not in queries:
            raise BenchmarkError(f"context {context.id} belongs to no query here ({context.query_id!r})")
        if problem := benchmark.parameters.problem(context):
            raise BenchmarkError(f"context {context.id} {problem}")
        for item_id, query_id, condition in shown.pop(context.id, ()):
            if context.query_id != query_id:
                raise BenchmarkError(f"item {item_id} shows a context of another query ({context.query_id!r})")
            if problem := condition_problem(condition, context):
                raise BenchmarkError(f"item {item_id}: {problem}")
    for item_id, query_id in items.select("id", "query_id").filter(~pl.col("query_id").is_in(queries)).iter_rows():
        raise BenchmarkError(f"item {item_id} belongs to no query here ({query_id!r})")
    for context_id, strays in shown.items():
        if context_id is not None:
            raise BenchmarkError(f"item {strays[0][0]} shows no context that is here ({context_id!r})")


# Two benchmarks joined: a release, and later ratings of other items over the same queries.


R = TypeVar("R", bound=ContentRecord)


def join_benchmarks(first: Benchmark, second: Benchmark, *, name: str | None = None) -> Benchmark:
    """Return a benchmark with the queries, contexts, items and ratings of both. A record that is in both is taken once.

    `name`: of the new benchmark; by default the names of both.

    Raises BenchmarkError: they have no query in common, an item was rated in both (other people, at another time: one
    sample it is not), their contexts state other parameters, or a category of the second is not in the taxonomy of the
    first.
    """
    if not set(first.query) & set(second.query):
        raise BenchmarkError(f"{first.name} and {second.name} have no query in common, so there is nothing to join")
    if set(first.parameters.names) != set(second.parameters.names):
        raise BenchmarkError(f"the contexts of {first.name} and {second.name} do not state the same parameters")
    if None not in (first.about.scale, second.about.scale) and first.about.scale != second.about.scale:
        raise BenchmarkError(f"people rated {first.name} and {second.name} on different scales")
    if twice := sorted(set(first.ratings.items) & set(second.ratings.items)):
        raise BenchmarkError(
            f"{count_of(len(twice), 'item was')} rated in both, {twice[0]} for one: other people at another time are another sample"
        )
    return Benchmark(
        about=about(first.about, second.about, name),
        queries=union_by_id(first.queries, second.queries),
        contexts=union_by_id(tuple(first.contexts), tuple(second.contexts)),
        items=union_by_id(first.items, second.items),
        ratings=RatingColumns.from_ratings(chain(first.ratings, second.ratings)),
        revisions=tuple({record.id: record for record in (*second.revisions, *first.revisions)}.values()),
        taxonomy=first.taxonomy,
        parameters=joint_parameters(first.parameters, second.parameters),
        annotators=tuple({record.id: record for record in (*second.annotators, *first.annotators)}.values()),
    )


def joint_parameters(first: ParameterSet, second: ParameterSet) -> ParameterSet:
    """Return the parameters of the first of two sets with the same names; one that may be missing in either may be missing."""
    optional = {name for part in (first, second) for name in part.names if name not in part.required}
    if optional.isdisjoint(first.required):
        return first
    groups = tuple(
        group.model_copy(
            update={
                "parameters": tuple(
                    part.model_copy(update={"may_be_missing": f"{group.name}.{part.name}" in optional})
                    for part in group.parameters
                )
            }
        )
        for group in first.groups
    )
    return ParameterSet(name=first.name, groups=groups)


def union_by_id(first: Sequence[R], second: Sequence[R]) -> tuple[R, ...]:
    """Return the records of both; of two records with one id the first is taken."""
    ids = {record.id for record in first}
    return (*first, *(record for record in second if record.id not in ids))


def about(first: About, second: About, name: str | None) -> About:
    """Return the description of two joined benchmarks, called `name` or after both."""
    either = {
        part: getattr(first, part) or getattr(second, part)
        for part in ("terms", "gated", "canary", "published", "scale")
    }
    common = {
        part: getattr(first, part) for part in ("licence", "labels_by") if getattr(first, part) == getattr(second, part)
    }
    synthetic = dict.fromkeys(text for text in (first.synthetic, second.synthetic) if text)
    return About(
        name=name or f"{first.name}-and-{second.name}",
        description=f"{first.name} {first.version} and {second.name} {second.version}, joined",
        synthetic=" ".join(synthetic) or None,
        source=first.source,
        remarks=tuple(dict.fromkeys((*(first.remarks or ()), *(second.remarks or ())))) or None,
        **either,
        **common,
    )
