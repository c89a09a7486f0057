"""Keys of a benchmark: statements that alone give the labels of queries that they were not learnt from.

The word baseline holds out the contexts too where they recur, so it cannot know a statement that gives the label. Here only
queries are held out: a statement, and the statements of one parameter, are learnt from the other queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from casewise.audits.subject import ALPHA, LEAST_GAIN, AuditPart, Subject, parameter_in_words
from casewise.judges.baselines import fold_groups
from casewise.notation import percent
from casewise.stats.arrays import BoolArray, FloatArray, IntArray
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.labels import VOTES
from casewise.stats.metrics import parse_metrics
from casewise.stats.sample import integer_codes, judge_sample, right_weight
from casewise.stats.shares import sign_test
from casewise.storage.load import cached_item_numbers, cached_numbers
from casewise.text import Text, count_of, text

LEAST_QUERIES = 5
"""A statement that stands with fewer queries is no key."""

CANDIDATES = 3
"""Statements with the largest gain that are tested on held-out queries."""

QUOTED = 100
"""Characters of a statement that a sentence quotes."""

SEARCHED = "searched"

WHOLE = "context"
"""Stands for the parameter of a statement that is the whole context."""


class LabelKey(NamedTuple):
    """A statement with the rule "with it one label, without it the other", or a parameter with the label that each of its
    statements has with other queries."""

    parameter: str
    statement: str | None
    """None for all statements of the parameter; "with" is then every item that the rule calls safe."""
    safe_with: float
    """Items with the statement that are labelled safe; a tie counts half."""
    items_with: int
    safe_without: float
    items_without: int
    accuracy: Estimate
    """The accuracy of the rule on each query, learnt from all other queries."""
    constant: float
    """The accuracy of the better constant verdict."""
    p: float
    """One-sided sign test over queries that the rule is right more often than the constant verdict, corrected for all
    statements, or parameters, that were searched (Bonferroni)."""
    searched: int
    verdicts: FloatArray
    """(items,) the rule's verdicts, 1 for safe; nan for an item that was not read."""

    @property
    def gain(self) -> float:
        """The accuracy beyond that of the better constant verdict."""
        return (self.accuracy.estimate or 0.0) - self.constant

    @property
    def holds(self) -> bool:
        """Return True if the gain is at least five points, and beyond chance after the search."""
        return self.gain >= LEAST_GAIN and self.p < ALPHA

    def named(self, *, restricted: bool) -> Text:
        """Return "statement" with it in quotation marks, without an article; of a restricted benchmark its parameter only."""
        if self.statement is None:
            return text("statements of {parameter}", parameter=parameter_in_words(self.parameter))
        if restricted:
            return text("most telling statement of {parameter}", parameter=parameter_in_words(self.parameter))
        shown = self.statement if len(self.statement) <= QUOTED else f"{self.statement[:QUOTED]}…"
        return text("statement “{statement}”", statement=shown)

    @property
    def counts(self) -> Text:
        """The counts behind it, with the commoner label on each side first."""
        if self.statement is None:
            return text(
                "{safe} of {n_safe} items that they call safe are safe, and {unsafe} of {n_unsafe} that they call unsafe are unsafe",
                safe=f"{self.safe_with:,g}",
                n_safe=f"{self.items_with:,}",
                unsafe=f"{self.items_without - self.safe_without:,g}",
                n_unsafe=f"{self.items_without:,}",
            )
        with_it, without = (
            max((safe, "safe"), (items - safe, "unsafe"))
            for safe, items in ((self.safe_with, self.items_with), (self.safe_without, self.items_without))
        )
        return text(
            "{right_with} of {n_with} items with it are {label_with}, and {right_without} of {n_without} without it are {label_without}",
            right_with=f"{with_it[0]:,g}",
            n_with=f"{self.items_with:,}",
            label_with=with_it[1],
            right_without=f"{without[0]:,g}",
            n_without=f"{self.items_without:,}",
            label_without=without[1],
        )

    def sentence(self, *, restricted: bool) -> Text:
        """Return that the statement alone gives the labels, with its counts."""
        return text(
            "The {statement} alone {give} the label on {right} of items, with whole {queries} held out: {counts}. A constant verdict "
            "is right on {constant}. The test is corrected for {searched}.",
            statement=self.named(restricted=restricted),
            give="give" if self.statement is None else "gives",
            right=self.accuracy.as_share,
            counts=self.counts,
            constant=percent(self.constant),
            searched=count_of(self.searched, "parameter" if self.statement is None else "statement"),
        )


def learnable_items(subject: Subject) -> BoolArray:
    """Return the items that statements are learnt from and tested on: those with a label and a context of their own."""
    rows: BoolArray = subject.learnt & subject.with_context
    return rows


def full_statements(subject: Subject) -> pl.DataFrame:
    """Return a row for what each usable item's context says of each parameter, and for the whole context: `item`, `parameter`, `statement`."""
    places = np.flatnonzero(learnable_items(subject))
    written = subject.benchmark.written(subject.benchmark.items.at(places))
    return pl.DataFrame(
        [
            (place, name, value)
            for place, context in zip(places.tolist(), written, strict=True)
            if context is not None
            for name, value in (*context.texts.items(), (WHOLE, "\n".join(context.texts.values())))
        ],
        schema={"item": pl.Int64, "parameter": pl.String, "statement": pl.String},
        orient="row",
    )


def statements(subject: Subject) -> pl.DataFrame:
    """Return the rows of `full_statements`, and one for each sentence of several in a parameter."""
    stated = full_statements(subject)
    sentences = stated.filter(pl.col("parameter") != WHOLE).with_columns(
        pl.col("statement").str.replace_all(r"([.!?])\s+", "$1\n").str.split("\n")
    )
    sentences = sentences.filter(pl.col("statement").list.len() > 1).explode("statement")
    return pl.concat([stated, sentences]).unique(["item", "statement"], keep="first", maintain_order=True)


def candidates(subject: Subject) -> dict[str, float]:
    """Return how many statements were searched, and the in-sample gains of the best ones by parameter and statement."""
    rows = learnable_items(subject)
    label = subject.label[rows]
    if not len(label):
        return {SEARCHED: 0.0}
    table = statements(subject)
    item = table["item"].to_numpy()
    counted = (
        table.with_columns(label=subject.label[item], group=fold_groups(subject.items)[item])
        .group_by("parameter", "statement", maintain_order=True)
        .agg(safe=pl.col("label").sum(), items=pl.len(), groups=pl.col("group").n_unique())
        .filter(pl.col("groups") >= LEAST_QUERIES, pl.col("items") < len(label))
    )
    n, safe = len(label), float(label.sum())
    with_it = pl.max_horizontal(pl.col("safe"), pl.col("items") - pl.col("safe"))
    without = pl.max_horizontal(safe - pl.col("safe"), n - pl.col("items") - (safe - pl.col("safe")))
    best = (
        counted.with_columns(gain=(with_it + without - max(safe, n - safe)) / n)
        .filter(pl.col("gain") >= LEAST_GAIN)
        .sort("gain", descending=True, maintain_order=True)
        .head(CANDIDATES)
    )
    gains = {
        f"{parameter}\n{statement}": gain
        for parameter, statement, gain in best.select("parameter", "statement", "gain").iter_rows()
    }
    return {SEARCHED: float(len(counted)), **gains}


def presence(subject: Subject, parameter: str, statement: str) -> FloatArray:
    """Return (items,) 1 for contexts with the statement, 0 for those without it, nan for items that are not learnt from."""
    rows = learnable_items(subject)
    table = statements(subject).filter(pl.col("parameter") == parameter, pl.col("statement") == statement)
    present = np.where(rows, 0.0, np.nan)
    present[table["item"].to_numpy()] = 1.0
    return present


def keys(subject: Subject) -> list[LabelKey]:
    """Return the best statements that are tested, the most accurate first; none where none gains five points in sample."""
    cached = partial(cached_item_numbers, subject.benchmark, made_with="polars")
    some = f"{count_of(int(subject.words_read.sum()), 'item')}"
    candidate_keys = cached_numbers(
        subject.benchmark, f"keys of {some}", partial(candidates, subject), made_with="polars"
    )
    searched = int(candidate_keys.pop(SEARCHED))
    names = [name.split("\n", 1) for name in candidate_keys]
    tested = (
        key(
            subject,
            parameter,
            statement,
            cached(f"key of {some}: {parameter} {statement}", partial(presence, subject, parameter, statement)),
            searched,
        )
        for parameter, statement in names
    )
    return sorted(tested, key=lambda tested_key: -tested_key.gain)


def best_key(subject: Subject) -> LabelKey | None:
    """Return the statement that gives the most labels of held-out queries, or the parameter whose statements give clearly more.

    None where neither holds after the search.
    """
    single = next((entry for entry in keys(subject) if entry.holds), None)
    whole = max((entry for entry in by_parameter(subject) if entry.holds), key=lambda entry: entry.gain, default=None)
    return single if whole is None or (single and whole.gain < single.gain + LEAST_GAIN) else whole


def key(subject: Subject, parameter: str, statement: str | None, value: FloatArray, searched: int) -> LabelKey:
    """Test one statement, or those of a parameter: each query by the rule that all other queries give.

    `value`: (items,) the number of the statement, or whether the one statement stands; nan for an item that is not learnt from.
    """
    rows = ~np.isnan(value)
    label, group = subject.label[rows], fold_groups(subject.items)[rows]
    constant = float(label.mean() >= 0.5)
    verdicts = np.full(len(value), np.nan)
    verdicts[rows] = majority_of_others(value[rows].astype(np.intp), label, group, tie=constant)
    has = (verdicts if statement is None else value)[rows]
    difference = right_weight(verdicts[rows], label) - right_weight(np.full(len(label), constant), label)
    by_group = np.bincount(group, weights=difference)
    ahead, behind = int((by_group > 0).sum()), int((by_group < 0).sum())
    p = sign_test(ahead, behind) / 2 if ahead > behind else 1.0
    return LabelKey(
        parameter,
        statement,
        safe_with=float(label[has == 1].sum()),
        items_with=int((has == 1).sum()),
        safe_without=float(label[has == 0].sum()),
        items_without=int((has == 0).sum()),
        accuracy=accuracy_of(subject, verdicts),
        constant=float(right_weight(np.full(len(label), constant), label).mean()),
        p=min(1.0, p * max(1, searched)),
        searched=searched,
        verdicts=verdicts,
    )


def majority_of_others(value: IntArray, label: FloatArray, group: IntArray, *, tie: float) -> FloatArray:
    """Return (rows,) the majority label of the rows of other groups with the same value; `tie` where there is none."""
    _, both = np.unique(np.column_stack([value, group]), axis=0, return_inverse=True)
    both = both.ravel()
    others, safe = (
        np.bincount(value, weights=weights)[value] - np.bincount(both, weights=weights)[both]
        for weights in (np.ones(len(label)), label)
    )
    return np.where(2 * safe == others, tie, (2 * safe > others).astype(float))


def accuracy_of(subject: Subject, verdicts: FloatArray) -> Estimate:
    """Return the accuracy of verdicts on the items that have one, with an interval over queries."""
    sample = judge_sample(
        subject.items, verdicts, subject.raters, elicitation="binary", policy=VOTES, cluster=subject.query
    )
    return estimate(sample.where(~np.isnan(verdicts)), metrics=parse_metrics("accuracy"))[0]


def by_parameter(subject: Subject) -> Iterator[LabelKey]:
    """Yield the key of each parameter, and of the whole context, whose statements recur in other queries."""
    rows, names = learnable_items(subject), subject.benchmark.parameters.names
    group, stated = fold_groups(subject.items)[rows], cache(partial(full_statements, subject))

    def statement_numbers(name: str) -> FloatArray:
        of_name = stated().filter(pl.col("parameter") == name)
        texts = pl.DataFrame({"item": np.flatnonzero(rows)}).join(of_name, on="item", how="left", maintain_order="left")
        value = np.full(len(rows), np.nan)
        value[rows] = integer_codes(texts["statement"].fill_null(""))
        return value

    sources = (WHOLE, *names) if len(names) > 1 else names
    for name in sources if rows.any() else ():
        title = f"statements of {name} in {count_of(int(subject.words_read.sum()), 'item')}"
        value = cached_item_numbers(subject.benchmark, title, partial(statement_numbers, name), made_with="polars")
        n_statements = len(np.unique(value[rows]))
        if 1 < n_statements < len(np.unique(np.column_stack([value[rows], group]), axis=0)):
            yield key(subject, name, None, value, len(sources))


def audit_keys(subject: Subject, part: AuditPart) -> None:
    """Measure how far single statements, and those of a parameter, give the labels of held-out queries; find which do."""
    if not learnable_items(subject).any():
        return
    restricted = subject.benchmark.restricted
    part.measured["statements_alone"] = [
        {"reads": tested.parameter, "held_out": text("{queries}"), "accuracy": tested.accuracy.fields()}
        for tested in by_parameter(subject)
    ]
    part.measured["keys"] = [key_evidence(tested, restricted=restricted) for tested in keys(subject)]
    if (best := best_key(subject)) is not None:
        part.add(
            "baseline.key",
            best.sentence(restricted=restricted),
            best.gain / max(1e-9, 1 - best.constant),
            key_evidence(best, restricted=restricted),
            items=subject.first_ids(
                best.verdicts == (best.statement is None or float(2 * best.safe_with > best.items_with))
            ),
        )


def key_evidence(key: LabelKey, *, restricted: bool) -> dict[str, Any]:
    """Return the numbers behind a statement, with the beginning of it where texts may be given away."""
    return {
        "parameter": key.parameter,
        **({} if restricted or key.statement is None else {"statement": key.statement[:QUOTED]}),
        "accuracy": key.accuracy.fields(),
        "gain": key.gain,
        "p": key.p,
        "searched": key.searched,
        "items_with": key.items_with,
        "safe_with": key.safe_with,
        "items_without": key.items_without,
        "safe_without": key.safe_without,
    }
