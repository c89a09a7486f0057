"""What an audit reads and reports: findings with stable codes, and the benchmark with its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import compress, islice
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from casewise.errors import ConfigurationError, did_you_mean
from casewise.records import CONDITIONS, Context, ShortRepr, paper_parameters
from casewise.records.base import Record, canonical_json, shipped_toml
from casewise.stats.arrays import BoolArray, FloatArray, IntArray, Raters
from casewise.stats.ceilings import UNIFORM, fit_beta, same_label
from casewise.stats.sample import VOTES, labels, query_numbers
from casewise.stats.words import Folds, LinearBaseline, PhraseCounts, out_of_fold
from casewise.storage.benchmark import Benchmark
from casewise.storage.benchmark_folder import item_table, texts
from casewise.storage.columns import column_of_records
from casewise.storage.load import worked_out

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
        return item_table(self.benchmark)

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
    def exchanged(self) -> BoolArray:
        """Items of a condition of the study's own whose context stands, word for word, under another query too."""
        own = ~self.items["condition"].is_in(CONDITIONS).to_numpy()
        if not own.any():
            return np.zeros(len(own), dtype=bool)
        written = ["" if context is None else canonical_json(context.shown()) for context in self.contexts]
        queries: dict[str, set[int]] = {}
        for text, query in zip(written, self.query, strict=True):
            queries.setdefault(text, set()).add(int(query))
        again: BoolArray = np.array([bool(text) and len(queries[text]) > 1 for text in written], dtype=bool)
        moved: BoolArray = again & own
        return moved

    @cached_property
    def why_no_baseline(self) -> str | None:
        """Why no classifier can be fitted; None where one can."""
        if not self.with_context.any():
            return "no item has a context"
        learnt = ~np.isnan(self.label) & ~self.exchanged & self.words_read
        if len(np.unique(self.query[learnt])) < self.folds:
            return f"it holds out queries in {self.folds} folds, and there are fewer queries with ratings"
        if self.label[learnt].min() > 0.5 or self.label[learnt].max() < 0.5:
            return "people's verdicts are all alike"
        return None

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
        """P(safe) of each item from the words of its context, by a classifier that saw no item of its query.

        nan for an item whose words are not read. Exchanged items are predicted, not learnt from. It is the benchmark's
        own, so it is kept for the next report of any run over it.
        """
        return worked_out(
            self.benchmark,
            f"words of contexts, queries held out in {self.folds} folds{'' if self.words_read.all() else ', of some'}",
            lambda: self.predict(self.context_words, self.query),
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
    def context_words(self) -> PhraseCounts:
        """The words of the contexts that are read, counted once for all that read them."""
        if self.words_read.all():
            return PhraseCounts.of(self.written)
        shown = column_of_records(self.benchmark.items, "context_id").filter(pl.Series(self.words_read))
        stated = map(self.benchmark.written, shown)
        return PhraseCounts.of("\n".join(one.texts.values()) if one else "" for one in stated)

    def predict(
        self, written: Iterable[str] | PhraseCounts, groups: NDArray[np.intp], *, folds: int | None = None
    ) -> FloatArray:
        """P(safe) from `written`, with whole `groups` held out; see `casewise.stats.words`.

        `written`: of every item, or as `context_words`. nan for an item whose words are not read.
        """
        rows = self.words_read
        n = min(folds or self.folds, len(np.unique(groups[rows])))
        weight = np.where(self.exchanged, np.nan, self.label)[rows]
        model = LinearBaseline(n_folds=n)
        read = written if isinstance(written, PhraseCounts) else compress(written, rows)
        found = np.full(len(rows), np.nan)
        found[rows] = out_of_fold(read, weight, folds=Folds.of(groups[rows], n=n, seed=model.seed), model=model)
        return found

    def named(self, mask: BoolArray) -> tuple[str, ...]:
        """Ids of the first items of `mask`."""
        return tuple(self.items["item_id"].to_numpy()[mask][:LISTED].tolist())


def raters_of(benchmark: Benchmark, items: pl.DataFrame) -> Raters | None:
    """Who gave which vote on the rows of `items`; None where votes are anonymous."""
    if not benchmark.rated.annotators:
        return None
    votes = benchmark.rated.arrays(items["item_id"])
    if not len(votes.annotator) or (votes.annotator < 0).any():
        return None
    return Raters(votes.item, votes.annotator.astype(np.intp), votes.safe)
