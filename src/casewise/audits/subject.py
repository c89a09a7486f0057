"""What an audit reads and reports: findings with stable codes, and the benchmark with its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import compress, islice
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from casewise.errors import ConfigurationError, did_you_mean
from casewise.judges.baselines import held_together, texts_of_contexts, words_that_vary
from casewise.records import CONDITIONS, Context, ShortRepr, paper_parameters
from casewise.records.base import Record, shipped_toml
from casewise.records.item import INTENT_UNKNOWN
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, Raters
from casewise.stats.ceilings import UNIFORM, fit_beta, same_label
from casewise.stats.sample import UNSURE_WEIGHT, VOTES, OnScale, Unsure, column, labels, query_numbers
from casewise.stats.words import Design, HeldOut, PhraseCounts, out_of_fold
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import Features, text, texts
from casewise.storage.columns import column_of_records, records_at
from casewise.storage.load import worked_out
from casewise.storage.wording import JudgedWords, LabelWords

# A finding: something in a benchmark that changes what its numbers mean, with its evidence and what to do.


ALPHA = 0.001
"""Every finding that rests on a test is made at this level, after correction within its own test."""

Effect = Literal["label", "score", "note"]

EFFECTS: dict[Effect, float] = {"label": 1.0, "score": 0.5, "note": 0.2}
"""What a finding does to a number: it is not people's (label), it means less than it seems (score), or worth knowing."""


class Kind(NamedTuple):
    """What findings with one code say, what they do to a number, when they are made, and what to do about them."""

    says: str
    effect: Effect
    when: str
    advice: str


@cache
def kinds() -> dict[str, Kind]:
    """Of each finding its kind, by stable code, for `--fail-on`: `findings.toml`."""
    return {code: Kind(**kind) for code, kind in shipped_toml("casewise.audits", "findings.toml").items()}


class Finding(Record):
    """Something that changes what a benchmark's numbers mean."""

    code: str
    title: str
    effect: Effect
    """What it does to a number: see `EFFECTS`."""
    share: float = Field(ge=0, le=1)
    """Share of items that it touches, or of the distance that it closes; between 0 and 1."""
    evidence: dict[str, Any]
    """The numbers behind it, by name."""
    advice: str
    """What to do about it."""
    items: tuple[str, ...] = ()
    """Ids of up to twenty items to look at."""

    @property
    def weight(self) -> float:
        """Rank among findings: the share touched times what the effect counts."""
        return self.share * EFFECTS[self.effect]

    @property
    def part(self) -> str:
        """The part of the audit that found it."""
        return self.code.partition(".")[0]


@dataclass(repr=False)
class Part(ShortRepr):
    """What one part of the audit measured, found, and could not look at: each look adds to it."""

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
    ) -> None:
        """Add a finding with the effect of its code, and its advice unless another is given."""
        kind = kinds()[code]
        self.findings.append(
            Finding(
                code=code,
                title=title,
                effect=kind.effect,
                share=min(1.0, max(0.0, share)),
                evidence=evidence,
                advice=advice or kind.advice,
                items=tuple(items),
            )
        )


def spoken_name(name: str) -> str:
    """A parameter's dotted name in words: `transmission_principle.sender_purpose` is "sender purpose"."""
    return name.removeprefix("transmission_principle.").replace(".", " ").replace("_", " ")


def checked_codes(names: Iterable[str]) -> tuple[str, ...]:
    """`names`, if each is a code, a part of the audit, or `any`.

    Raises ConfigurationError: one is neither; the message lists them all.
    """
    codes = kinds()
    parts = {code.partition(".")[0] for code in codes}
    wanted = tuple(names)
    for name in wanted:
        if name not in codes and name not in parts and name != "any":
            listed = "\n".join(f"  {code}: {kind.says}" for code, kind in codes.items())
            raise ConfigurationError(
                f"no finding is called {name!r}{did_you_mean(name, {*codes, *parts})}; there are any, {', '.join(sorted(parts))}, and\n{listed}"
            )
    return wanted


# What is audited: a benchmark with the tables that several parts of the audit read.


LEAST_ITEMS = 20
"""A spread of rates is fitted to no fewer items; the uniform one serves below."""

LARGE, FOLDS_OF_LARGE = 20_000, 3
"""Of so many items a classifier learns from two thirds: three fits instead of ten, a quarter of the time."""

MOST_READ = 50_000
"""Items from which a classifier on words learns and which it predicts; of more, so many in whole queries drawn at random."""

BLOCK = 65_536
"""Contexts that are held as they are read."""

LISTED = 20
"""Items named in a finding at most."""


READS: Mapping[Features, str] = {
    "context": "the context's words",
    "query": "the query's words",
    "query+context": "the words of query and context",
}
"""The words that a baseline reads, in a sentence."""


@dataclass(frozen=True)
class AuditOptions:
    """How an audit is made; all of it is recorded in its output."""

    seed: int = 0
    folds: int = 10
    """Folds of queries that classifiers are held out in; three at most of a benchmark of 20,000 items or more."""
    splits: int = 50
    """Random halves of the votes that the subset `hard` is averaged over."""


class WrittenContexts(NamedTuple):
    """Of each item's context what it says, and who wrote it."""

    stated: pl.DataFrame
    """(items, parameters): the texts by dotted name; null where it is not stated."""
    authors: pl.Series


@dataclass(frozen=True, repr=False)
class Subject(ShortRepr):
    """A benchmark, and the tables about it that are made once."""

    benchmark: Benchmark
    options: AuditOptions = AuditOptions()

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row an item: see `casewise.storage.benchmark_folder`."""
        return self.benchmark.item_columns

    @cached_property
    def judged(self) -> JudgedWords:
        """The noun for what is judged."""
        return JudgedWords.of(self.benchmark)

    @cached_property
    def labels(self) -> LabelWords:
        """The words that follow from where labels come from."""
        return LabelWords.of(self.benchmark)

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
    def condition(self) -> IntArray:
        """(items,) a number for each condition."""
        return self.items["condition"].cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)

    @cached_property
    def intended(self) -> FloatArray:
        """1 where the context is intended safe, 0 where unsafe, nan without a context or where nobody said."""
        return self.items["intended_safe"].cast(pl.Float64).fill_null(np.nan).to_numpy()

    @cached_property
    def with_context(self) -> BoolArray:
        """Whether an item has a context."""
        return column_of_records(self.benchmark.items, "context_id").is_not_null().to_numpy()

    @cached_property
    def query(self) -> NDArray[np.intp]:
        """Each item's query, as an integer."""
        return query_numbers(self.items)

    @property
    def contexts(self) -> Iterator[Context | None]:
        """Each item's context, one after another: those of a large benchmark lie in a file."""
        return map(self.benchmark.context_of, self.benchmark.items)

    @cached_property
    def read(self) -> WrittenContexts:
        """What each item's context says, and who wrote it: contexts of a large benchmark are read once for both."""
        names, blocks, authors = self.benchmark.parameters.every, [], []
        written = map(self.benchmark.written_of, self.benchmark.items)
        while some := list(islice(written, BLOCK)):
            said = [one.texts if one else {} for one in some]
            blocks.append(
                pl.DataFrame({name: pl.Series([one.get(name) for one in said], dtype=pl.String) for name in names})
            )
            authors += [one.by if one else None for one in some]
        return WrittenContexts(pl.concat(blocks), pl.Series(authors, dtype=pl.String))

    @property
    def stated(self) -> pl.DataFrame:
        """What each item's context says, by parameter; null without one."""
        return self.read.stated

    @property
    def written(self) -> Iterable[str]:
        """The words of each item's context."""
        in_order = self.benchmark.parameters == paper_parameters()  # a benchmark's own may stand in another one
        if "read" not in vars(self) or not in_order:
            return texts(self.benchmark)
        return self.stated.select(pl.concat_str(pl.all(), separator="\n", ignore_nulls=True)).to_series()

    @cached_property
    def raters(self) -> Raters | None:
        """Who gave which vote; None where votes are anonymous."""
        return raters_of(self.benchmark, self.items)

    @cached_property
    def texts_of_contexts(self) -> FloatArray:
        """(items,) a number for each context that differs in its words; nan without one, or where no words are read."""
        return texts_of_contexts(self.benchmark, self.words_read)

    @cached_property
    def exchanged(self) -> BoolArray:
        """Items of a condition of the study's own whose context stands, word for word, in a usual condition of another query."""
        own = ~self.items["condition"].is_in([*CONDITIONS, INTENT_UNKNOWN]).to_numpy()
        text = self.texts_of_contexts
        usual = ~own & ~np.isnan(text)
        if not own.any() or not usual.any():
            return np.zeros(len(own), dtype=bool)
        queries: dict[float, set[int]] = {}
        for number, query in zip(text[usual].tolist(), self.query[usual].tolist(), strict=True):
            queries.setdefault(number, set()).add(query)
        moved: BoolArray = own & np.array(
            [
                bool(queries.get(number, set()) - {query})
                for number, query in zip(text.tolist(), self.query.tolist(), strict=True)
            ]
        )
        return moved

    @cached_property
    def reads(self) -> Features:
        """The words of an item that the baseline reads; the judge `linear` reads the same."""
        plan = self.held_out(self.folds)
        return words_that_vary(self.texts_of_contexts[self.words_read], plan)

    @property
    def learnt(self) -> BoolArray:
        """The items that a classifier may learn from."""
        rows: BoolArray = ~np.isnan(self.label) & ~self.exchanged & self.words_read
        return rows

    @cached_property
    def why_no_baseline(self) -> str | None:
        """Why no classifier can be fitted; None where one can."""
        if not self.learnt.any():
            return "no item has a label"
        if isinstance(plan := self.held_out(self.folds), str):
            return plan
        if self.label[self.learnt].min() > 0.5 or self.label[self.learnt].max() < 0.5:
            return "the labels are all alike"
        return None

    def held_out(self, folds: int, *, groups: NDArray[np.intp] | None = None) -> HeldOut | str:
        """How the items that are read are held out in so many folds, or why they cannot be.

        An exchanged item goes with its query: its context was learnt from.
        `groups`: (items,) held out whole instead of queries.
        """
        rows = self.words_read
        contexts = np.where(self.exchanged, np.nan, self.texts_of_contexts)
        design = Design.of((held_together(self.items) if groups is None else groups)[rows], contexts[rows])
        return design.held_out(self.learnt[rows], folds=folds)

    @property
    def groups_held_out(self) -> str:
        """The groups that the baseline holds out whole, in the plural."""
        plan = self.held_out(self.folds)
        return "queries" if isinstance(plan, str) else plan.groups

    @cached_property
    def groupings(self) -> tuple[NDArray[np.intp], ...]:
        """Queries, and contexts where those recur: kinds of groups within which items need not be independent."""
        plan = self.held_out(self.folds)
        if isinstance(plan, str) or plan.groups == "queries":
            return (self.query,)
        return (self.query, Design.of(self.query, self.texts_of_contexts).context)

    @property
    def folds(self) -> int:
        """How many folds of queries a classifier is held out in."""
        return min(self.options.folds, FOLDS_OF_LARGE) if len(self.items) >= LARGE else self.options.folds

    @cached_property
    def words_read(self) -> BoolArray:
        """Of which items words are read: all, or of a very large benchmark whole queries drawn at random, always the same."""
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
        """As `baseline`, from these words of each item."""
        spoken = {"context": "contexts", "query": "queries", "query+context": "queries and contexts"}[reads]
        return worked_out(
            self.benchmark,
            f"words of {spoken}, {self.groups_held_out} held out in {self.folds} folds{'' if self.words_read.all() else ', of some'}",
            lambda: self.predict(self.words(reads)),
            made_with="scikit-learn",
        )

    @cached_property
    def same_again(self) -> FloatArray:
        """P(an item's label comes out the same in a second study of this size), by a spread of rates for each condition."""
        return worked_out(self.benchmark, "same label again, by condition", self._same_again, made_with="scipy")

    def _same_again(self) -> FloatArray:
        found = np.full(len(self.items), np.nan)
        for one in np.unique(self.condition).tolist():
            mine = self.condition == one
            safe, votes = self.n_safe[mine], self.n_votes[mine]
            prior = fit_beta(safe, votes) if (votes > 1).sum() >= LEAST_ITEMS else UNIFORM
            found[mine] = same_label(safe, votes, prior=prior)
        return found

    @cached_property
    def own_words(self) -> PhraseCounts:
        """The words that the baseline reads (`reads`) of the items that are read, counted once for all that read them."""
        return self.words(self.reads)

    def words(self, reads: Features) -> PhraseCounts:
        """The phrases of the items that are read."""
        if reads == self.reads and "own_words" in vars(self):
            return self.own_words
        if self.words_read.all():
            return PhraseCounts.of(self.written if reads == "context" else texts(self.benchmark, reads))
        shown = records_at(self.benchmark.items, np.flatnonzero(self.words_read))
        return PhraseCounts.of(text(self.benchmark, item, reads) for item in shown)

    def predict(
        self,
        written: Iterable[str] | PhraseCounts,
        *,
        groups: NDArray[np.intp] | None = None,
        folds: int | None = None,
    ) -> FloatArray:
        """P(safe) from `written`; see `casewise.stats.words`.

        `written`: of every item, or as `words` gives it. nan for an item whose words are not read.
        `groups`: held out whole instead of queries; contexts that recur are held out with them.
        """
        rows = self.words_read
        n = folds or self.folds
        plan = self.held_out(n if groups is None else min(n, len(np.unique(groups[rows]))), groups=groups)
        found = np.full(len(rows), np.nan)
        if not isinstance(plan, str):
            weight = np.where(self.exchanged, np.nan, self.label)[rows]
            read = written if isinstance(written, PhraseCounts) else compress(written, rows)
            found[rows] = out_of_fold(read, weight, folds=plan.folds)
        return found

    def named(self, mask: BoolArray) -> tuple[str, ...]:
        """Ids of the first items of `mask`."""
        return tuple(self.items["item_id"].to_numpy()[mask][:LISTED].tolist())


def raters_of(benchmark: Benchmark, items: pl.DataFrame, *, unsure: Unsure = "drop") -> Raters | None:
    """Who gave which vote on the rows of `items`; None where votes are anonymous."""
    weights = {"safe": 1.0, "unsafe": 0.0} | ({} if unsure == "drop" else {"unsure": UNSURE_WEIGHT[unsure]})
    verdicts = benchmark.rated.table["verdict"].cast(pl.String)
    return known_raters(benchmark, items, verdicts.replace_strict(weights, default=None, return_dtype=pl.Float64))


def known_raters(benchmark: Benchmark, items: pl.DataFrame, weight: pl.Series) -> Raters | None:
    """Whose ratings with a weight are on the rows of `items`; None where there are none or one is anonymous."""
    rated = benchmark.rated
    if not rated.annotators:
        return None
    item, annotator = rated.places(items["item_id"]), rated.table["annotator"]
    kept = (item >= 0) & weight.is_not_null().to_numpy()
    if not kept.any() or annotator.filter(kept).has_nulls():
        return None
    return Raters(item[kept], annotator.filter(kept).to_numpy().astype(np.intp), weight.filter(kept).to_numpy())


def scale_of(benchmark: Benchmark, items: pl.DataFrame) -> OnScale | None:
    """What people's ratings on the scale say of the rows of `items`; None without any."""
    scale = benchmark.about.scale
    if scale is None or items["mean_share"].is_null().all():
        return None
    alone = ((items["n_values"] == 0) & items["mean_share"].is_not_null()).any()
    shares = benchmark.rated.table.select(scale.share(pl.col("value"))).to_series()
    return OnScale(
        column(items, "mean_share"),
        column(items, "n_values"),
        None if alone else known_raters(benchmark, items, shares),
    )
