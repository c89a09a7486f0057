"""The input and output of an audit: the benchmark with its tables, and findings with stable codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import compress, islice
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, InstanceOf

from casewise.errors import ConfigurationError, did_you_mean
from casewise.judges.baselines import fold_groups, texts_of_contexts, words_that_vary
from casewise.notation import spoken
from casewise.records import CONDITIONS, ShortRepr, paper_parameters
from casewise.records.base import Record, shipped_toml
from casewise.records.item import INTENT_UNKNOWN
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, Raters, coded_labels
from casewise.stats.ceilings import UNIFORM, fit_beta, same_label
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.labels import UNSURE_WEIGHT, VOTES, Unsure, column, labels
from casewise.stats.measured import TotalsByCluster, share
from casewise.stats.sample import ScaleRatings, query_numbers
from casewise.stats.words import Design, HeldOut, PhraseCounts, out_of_fold
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import Features, texts
from casewise.storage.load import cached_item_numbers
from casewise.storage.wording import LabelWords
from casewise.text import Text, count_of, text

ALPHA = 0.001
"""The level of every finding that rests on a test, after correction within its own test."""

LEAST_GAIN = 0.05
"""A baseline has to be at least five points better than a constant verdict."""

Effect = Literal["label", "score", "note"]

EFFECTS: dict[Effect, float] = {"label": 1.0, "score": 0.5, "note": 0.2}
"""The effect of a finding on a number: its labels are in doubt (label), it means less than it seems (score), or neither (note)."""


class FindingKind(NamedTuple):
    """The kind of findings with one code: title, effect on a number, condition, advice and its explanation."""

    title: str
    effect: Effect
    condition: str
    advice: str
    explanation: str


@cache
def kinds() -> dict[str, FindingKind]:
    """Return the kind of each finding by its stable code, for `--fail-on`: `findings.toml`."""
    shipped = shipped_toml("casewise.audits", "findings.toml").items()
    return {
        code: FindingKind(
            text(kind["title"]),
            kind["effect"],
            text(kind["condition"]),
            text(kind["advice"]),
            text(kind.get("explanation", "")),
        )
        for code, kind in shipped
    }


class Finding(Record):
    """Something that changes what a benchmark's numbers mean."""

    code: str
    title: InstanceOf[str]
    effect: Effect
    """Its effect on a number: see `EFFECTS`."""
    share: float = Field(ge=0, le=1)
    """The share of items that it affects, or of the distance that it closes."""
    evidence: dict[str, Any]
    """The numbers behind it, by name."""
    advice: InstanceOf[str]
    """The recommended action: one sentence."""
    explanation: InstanceOf[str] = ""
    """The reason for the action, and further advice."""
    items: tuple[str, ...] = ()
    """Ids of up to twenty items to look at."""

    @property
    def weight(self) -> float:
        """The weight of the finding: the share times the weight of its effect."""
        return self.share * EFFECTS[self.effect]

    @property
    def part(self) -> str:
        """The part of the audit that found it."""
        return self.code.partition(".")[0]


@dataclass(repr=False)
class AuditPart(ShortRepr):
    """The measurements, the findings and the omissions of one part of the audit."""

    name: str
    measured: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Sentences: what was not looked at, and why."""

    def add(
        self,
        code: str,
        title: str,
        share: float,
        evidence: dict[str, Any],
        *,
        items: Sequence[str] = (),
        advice: str = "",
        explanation: str = "",
    ) -> None:
        """Add a finding with the effect of its code, and its advice and explanation unless others are given.

        What affects no item and closes no distance (a share of 0) is no finding and is not added.
        """
        kind = kinds()[code]
        if share <= 0:
            return
        self.findings.append(
            Finding(
                code=code,
                title=title,
                effect=kind.effect,
                share=min(1.0, share),
                evidence=evidence,
                advice=advice or kind.advice,
                explanation=explanation if advice else kind.explanation,
                items=tuple(items),
            )
        )


def parameter_in_words(name: str) -> str:
    """Return a parameter's dotted name in words: `transmission_principle.sender_purpose` is "sender purpose"."""
    return spoken(" ".join(name.removeprefix("transmission_principle.").split(".")))


def check_codes(names: Iterable[str]) -> tuple[str, ...]:
    """Return `names`, if each is a code, a part of the audit, or `any`.

    Raises ConfigurationError: one is neither; the message lists them all.
    """
    codes = kinds()
    parts = {code.partition(".")[0] for code in codes}
    checked = tuple(names)
    for name in checked:
        if name not in {*codes, *parts, "any"}:
            listed = "\n".join(f"  {code}: {kind.title!s}" for code, kind in codes.items())
            raise ConfigurationError(
                f"no finding is called {name!r}{did_you_mean(name, {*codes, *parts})}; there are any, {', '.join(sorted(parts))}, and\n{listed}"
            )
    return checked


LEAST_ITEMS = 20
"""A spread of rates is fitted to at least this number of items; below it, the uniform one is used."""

LARGE, FOLDS_OF_LARGE = 20_000, 3
"""Number of items from which on a classifier has three folds instead of ten, in a quarter of the time."""

MOST_READ = 20_000
"""The number of items that a classifier on words learns from and predicts; of more, whole queries are drawn at random."""

BLOCK = 8_192
"""Contexts that are held at a time while they are read."""

LISTED = 20
"""Items that a finding names at most."""

READS: Mapping[Features, Text] = {
    "context": text("the context's words"),
    "query": text("the {query}'s words"),
    "query+context": text("the words of {query} and context"),
}
"""The words that a baseline reads, in a sentence."""


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit; all of it is recorded in its output."""

    seed: int = 0
    folds: int = 10
    """Folds of queries that classifiers are held out in; three at most of a benchmark of 20,000 items or more."""
    splits: int = 50
    """Random halves of the votes that the subset `hard` is averaged over."""


@dataclass(frozen=True, repr=False)
class Subject(ShortRepr):
    """A benchmark, with the tables that all parts of the audit use."""

    benchmark: Benchmark
    options: AuditOptions = AuditOptions()
    numbered: NDArray[np.intp] | None = field(default=None, repr=False, compare=False)
    """Each item's query as an integer, from a caller that has numbered the queries already."""
    clustered: NDArray[np.intp] | None = field(default=None, repr=False, compare=False)
    """The cluster of each item that intervals are over, where these are not the queries."""

    @cached_property
    def cluster(self) -> NDArray[np.intp]:
        """The cluster of each item that intervals are over. Folds always hold out whole queries."""
        return self.query if self.clustered is None else self.clustered

    @cached_property
    def items(self) -> pl.DataFrame:
        """The items, with a row for each: see `casewise.storage.benchmark_folder`."""
        return self.benchmark.item_columns

    @cached_property
    def labels(self) -> LabelWords:
        """The words that follow from where labels come from."""
        return LabelWords.for_benchmark(self.benchmark)

    @cached_property
    def label(self) -> FloatArray:
        """People's majority as a weight of "safe": 0, ½, 1; nan without ratings."""
        return labels(self.items, VOTES).weight

    @cached_property
    def n_safe(self) -> IntArray:
        return self.items["n_safe"].to_numpy()

    @cached_property
    def n_votes(self) -> IntArray:
        return self.items["n_votes"].to_numpy()

    @cached_property
    def intended(self) -> FloatArray:
        """1 where the context is intended safe, 0 where unsafe, nan without a context or an intent."""
        return self.items["intended_safe"].cast(pl.Float64).fill_null(np.nan).to_numpy()

    @cached_property
    def with_context(self) -> BoolArray:
        """True for each item that has a context."""
        return self.benchmark.items.table["context_id"].is_not_null().to_numpy()

    @cached_property
    def query(self) -> NDArray[np.intp]:
        """Each item's query, as an integer."""
        return query_numbers(self.items) if self.numbered is None else self.numbered

    @cached_property
    def stated_by(self) -> tuple[pl.DataFrame, pl.Series]:
        """The statements of each item's context, and its author: contexts of a large benchmark are read once for
        both."""
        names, blocks, authors = self.benchmark.parameters.all_names, [], []
        written = self.benchmark.written()
        while block := list(islice(written, BLOCK)):
            texts_of = [context.texts if context else {} for context in block]
            blocks.append(
                pl.DataFrame(
                    {name: pl.Series([texts.get(name) for texts in texts_of], dtype=pl.String) for name in names}
                )
            )
            authors += [context.by if context else None for context in block]
        return pl.concat(blocks), pl.Series(authors, dtype=pl.String)

    @property
    def stated(self) -> pl.DataFrame:
        """(items, parameters): what each item's context says, by dotted name; null where it is not stated."""
        return self.stated_by[0]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that some context states."""
        return tuple(name for name in self.benchmark.parameters.names if self.stated[name].is_not_null().any())

    @property
    def written(self) -> Iterable[str]:
        """The words of each item's context."""
        in_order = self.benchmark.parameters == paper_parameters()  # a benchmark's own may stand in another one
        if "stated_by" not in vars(self) or not in_order:
            return texts(self.benchmark)
        return self.stated.select(pl.concat_str(pl.all(), separator="\n", ignore_nulls=True)).to_series()

    @cached_property
    def raters(self) -> Raters | None:
        """The votes with the person who gave each; None where votes are anonymous."""
        return raters_of(self.benchmark, self.items)

    @cached_property
    def texts_of_contexts(self) -> FloatArray:
        """(items,) a number for each context that differs in its words; nan without one, or where no words are read."""
        return texts_of_contexts(self.benchmark, self.words_read)

    @cached_property
    def contexts_recur(self) -> bool:
        """True if a context stands, word for word, with two queries or more on average: intervals over queries are then too narrow."""
        rows = pl.DataFrame({"text": self.texts_of_contexts, "query": self.query}).fill_nan(None).drop_nulls().unique()
        return len(rows) >= 2 * rows["text"].n_unique() > 0

    @cached_property
    def exchanged(self) -> BoolArray:
        """Items of a condition of the study's own whose context stands, word for word, in a usual condition of another query."""
        own_condition = ~self.items["condition"].is_in([*CONDITIONS, INTENT_UNKNOWN]).to_numpy()
        if not own_condition.any() or own_condition.all():
            return np.zeros(len(own_condition), dtype=bool)
        rows = pl.DataFrame({"text": self.texts_of_contexts, "query": self.query, "own": own_condition}).fill_nan(None)
        usual = rows.filter(~pl.col("own")).drop_nulls("text").group_by("text").agg(queries=pl.col("query").unique())
        joined = rows.join(usual, on="text", how="left", maintain_order="left")
        in_other_query = (pl.col("queries").list.len() > 1) | (pl.col("queries").list.first() != pl.col("query"))
        moved: BoolArray = joined.select((pl.col("own") & in_other_query).fill_null(value=False)).to_series().to_numpy()
        return moved

    @cached_property
    def plan(self) -> HeldOut | Text:
        """The folds of the baseline's items, or the reason why they cannot be held out."""
        return self.held_out(self.folds)

    @cached_property
    def reads(self) -> Features:
        """The words of an item that the baseline reads; the judge `linear` reads the same."""
        return words_that_vary(self.texts_of_contexts[self.words_read], self.plan)

    @property
    def learnt(self) -> BoolArray:
        """The items that a classifier may learn from."""
        rows: BoolArray = ~np.isnan(self.label) & ~self.exchanged & self.words_read
        return rows

    @cached_property
    def why_no_baseline(self) -> Text | None:
        """The reason why no classifier can be fitted; None where one can."""
        if not self.learnt.any():
            return text("no item has a label")
        if isinstance(self.plan, str):
            return self.plan
        if self.label[self.learnt].min() > 0.5 or self.label[self.learnt].max() < 0.5:
            return text("the labels are all alike")
        return None

    def held_out(self, folds: int, *, groups: NDArray[np.intp] | None = None) -> HeldOut | Text:
        """Return the folds of the items that are read, or the reason why they cannot be held out.

        An exchanged item goes with its query: its context was learnt from.
        `groups`: (items,) held out whole instead of queries.
        """
        rows = self.words_read
        contexts = np.where(self.exchanged, np.nan, self.texts_of_contexts)
        design = Design.from_contexts((fold_groups(self.items) if groups is None else groups)[rows], contexts[rows])
        return design.held_out(self.learnt[rows], folds=folds)

    @property
    def groups_held_out(self) -> Text:
        """The groups that the baseline holds out whole, in the plural."""
        return text("{queries}") if isinstance(self.plan, str) else self.plan.groups

    @cached_property
    def groupings(self) -> tuple[NDArray[np.intp], ...]:
        """Queries, and contexts where those recur: kinds of groups within which items need not be independent."""
        if self.groups_held_out == "queries":
            return (self.query,)
        return (self.query, Design.from_contexts(self.query, self.texts_of_contexts).context)

    @property
    def folds(self) -> int:
        """The number of folds of queries that a classifier is held out in."""
        return min(self.options.folds, FOLDS_OF_LARGE) if len(self.items) >= LARGE else self.options.folds

    @cached_property
    def words_read(self) -> BoolArray:
        """Return which items' words are read: all, or those of queries drawn with a fixed seed from a very large benchmark."""
        items = np.bincount(self.query)
        order = np.random.default_rng(0).permutation(len(items))
        drawn = np.zeros(len(items), dtype=bool)
        drawn[order] = np.cumsum(items[order]) <= MOST_READ
        return drawn[self.query]

    @cached_property
    def baseline(self) -> FloatArray:
        """P(safe) of each item from its words (`reads`), by a classifier that saw no item of its query, nor of its context.

        nan for an item whose words are not read. Exchanged items are predicted, not learnt from. It is the benchmark's
        own, so it is kept for the next report of any run over it.
        """
        return self.predicted(self.reads)

    def predicted(self, reads: Features) -> FloatArray:
        """Return `baseline` from these words of each item."""
        nouns = {"context": "contexts", "query": "queries", "query+context": "queries and contexts"}[reads]
        return cached_item_numbers(
            self.benchmark,
            f"words of {nouns}, {self.groups_held_out!s} held out in {count_of(self.folds, 'fold')}"
            + ("" if self.words_read.all() else ", of " + count_of(int(self.words_read.sum()), "item")),
            lambda: self.predict(self.words(reads)),
            made_with="scikit-learn",
        )

    @cached_property
    def same_again(self) -> FloatArray:
        """The probability that a second study of this size gives an item the same label, by a spread of rates for each
        condition."""

        def chances() -> FloatArray:
            same = np.full(len(self.items), np.nan)
            conditions = self.items["condition"].cast(pl.Categorical).to_physical().to_numpy()
            for condition in np.unique(conditions).tolist():
                in_condition = conditions == condition
                safe, votes = self.n_safe[in_condition], self.n_votes[in_condition]
                prior = fit_beta(safe, votes) if (votes > 1).sum() >= LEAST_ITEMS else UNIFORM
                same[in_condition] = same_label(safe, votes, prior=prior)
            return same

        return cached_item_numbers(self.benchmark, "same label again, by condition", chances, made_with="scipy")

    def second_study(self, rows: BoolArray) -> Estimate | None:
        """Return the predicted share of these items' labels that a second study of this size would repeat; None without two
        votes.

        Its interval is over clusters.
        """
        predicted = rows & ~np.isnan(self.same_again)
        if not predicted.any() or self.n_votes[rows].max() < 2:
            return None
        terms = {"same": self.same_again[predicted], "items": np.ones(int(predicted.sum()))}
        totals = TotalsByCluster.from_terms(terms, coded_labels(self.cluster[predicted]))
        return estimate_of(totals.measure(share("same_again", "same", "items")))

    def words(self, reads: Features) -> PhraseCounts:
        """Return the phrases of the items that are read."""
        if self.words_read.all():
            return PhraseCounts.from_texts(self.written if reads == "context" else texts(self.benchmark, reads))
        shown = self.benchmark.items.at(np.flatnonzero(self.words_read))
        return PhraseCounts.from_texts(texts(self.benchmark, reads, shown))

    def predict(
        self,
        written: Iterable[str] | PhraseCounts,
        *,
        groups: NDArray[np.intp] | None = None,
        folds: int | None = None,
    ) -> FloatArray:
        """Return P(safe) from `written`; see `casewise.stats.words`.

        `written`: of every item, or as `words` gives it. nan for an item whose words are not read.
        `groups`: held out whole instead of queries; contexts that recur are held out with them.
        """
        rows = self.words_read
        n = folds or self.folds
        plan = self.held_out(n if groups is None else min(n, len(np.unique(groups[rows]))), groups=groups)
        predicted = np.full(len(rows), np.nan)
        if not isinstance(plan, str):
            weight = np.where(self.exchanged, np.nan, self.label)[rows]
            read = written if isinstance(written, PhraseCounts) else compress(written, rows)
            predicted[rows] = out_of_fold(read, weight, folds=plan.folds)
        return predicted

    def first_ids(self, mask: BoolArray) -> tuple[str, ...]:
        """Return ids of the first items of `mask`."""
        return tuple(self.items["item_id"].to_numpy()[mask][:LISTED].tolist())


def raters_of(benchmark: Benchmark, items: pl.DataFrame, *, unsure: Unsure = "drop") -> Raters | None:
    """Return the votes on the rows of `items` with the person who gave each; None where votes are anonymous."""
    weights = {"safe": 1.0, "unsafe": 0.0} | (
        {} if unsure == "drop" else dict.fromkeys(("unsure", "ask"), UNSURE_WEIGHT[unsure])
    )
    verdicts = benchmark.ratings.table["verdict"].cast(pl.String)
    return known_raters(benchmark, items, verdicts.replace_strict(weights, default=None, return_dtype=pl.Float64))


def known_raters(benchmark: Benchmark, items: pl.DataFrame, weight: pl.Series) -> Raters | None:
    """Return the ratings with a weight on the rows of `items`, by person. None where there are none or one is
    anonymous."""
    rated = benchmark.ratings
    if not rated.annotators:
        return None
    item, annotator = rated.places(items["item_id"]), rated.table["annotator"]
    rows = (item >= 0) & weight.is_not_null().to_numpy()
    if not rows.any() or annotator.filter(rows).has_nulls():
        return None
    return Raters(item[rows], annotator.filter(rows).to_numpy().astype(np.intp), weight.filter(rows).to_numpy())


def scale_of(benchmark: Benchmark, items: pl.DataFrame) -> ScaleRatings | None:
    """Return people's ratings on the scale for the rows of `items`; None without any."""
    scale = benchmark.about.scale
    if scale is None or items["mean_share"].is_null().all():
        return None
    means_alone = ((items["n_values"] == 0) & items["mean_share"].is_not_null()).any()
    shares = benchmark.ratings.table.select(scale.share(pl.col("value"))).to_series()
    return ScaleRatings(
        column(items, "mean_share"),
        column(items, "n_values"),
        None if means_alone else known_raters(benchmark, items, shares),
    )
