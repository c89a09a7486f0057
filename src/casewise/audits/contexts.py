"""The wording of contexts, the coverage of categories and conditions, and the author's intent compared with the labels."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import Any

import numpy as np
import polars as pl

from casewise.audits.subject import ALPHA, AuditPart, Subject, parameter_in_words
from casewise.notation import percent
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.labels import PUBLISHED, VOTES
from casewise.stats.metrics import parse_metrics
from casewise.stats.sample import Sample, judge_sample
from casewise.stats.shares import sign_test
from casewise.stats.words import near_duplicates
from casewise.storage.load import cached_item_numbers
from casewise.text import count_of, text

OFTEN = 0.1
"""A statement in more than a tenth of all contexts is called repeated."""

LEAST_CONTEXTS = 20
"""Least number of contexts with which repetition is tested."""

LENGTH_TELLING = 0.6
"""Length predicts the intent where the longer context of a query has one intent in this share of pairs."""

SHOWN = 100
"""Characters of a statement that evidence quotes."""


def audit_contexts(subject: Subject, part: AuditPart) -> None:
    """Check the contexts' words: repetition, length, missing parameters, near-duplicates, and queries whose verdict no
    context changes."""
    if not subject.with_context.any():
        part.left_out.append("contexts: no item has one.")
        return
    for look in (repeated, lengths, missing, duplicates, unmoved):
        look(subject, part)


def repeated(subject: Subject, part: AuditPart) -> None:
    """Count the commonest statement of each parameter."""
    stated = subject.stated
    statements: dict[str, Any] = {}
    often: dict[str, Any] = {}
    touched = np.zeros(len(stated), dtype=bool)
    for name in subject.parameters:
        texts = stated[name].drop_nulls()
        counts = texts.alias("text").to_frame().group_by("text", maintain_order=True).len()
        commonest, times = counts.row(int(counts["len"].arg_max() or 0))
        statements[name] = {"stated": len(texts), "distinct": len(counts), "commonest": times}
        if len(texts) >= LEAST_CONTEXTS and times > OFTEN * len(texts):
            quoted = {} if subject.benchmark.restricted else {"statement": commonest[:SHOWN]}
            often[name] = {**quoted, "times": times, "share": times / len(texts)}
            touched |= (stated[name] == commonest).fill_null(value=False).to_numpy()
    part.measured["statements"] = statements
    if often:
        worst = max(often, key=lambda name: float(often[name]["share"]))
        several = f"{count_of(len(often), 'parameter')}" if len(often) > 1 else "one parameter"
        part.add(
            "contexts.repeated",
            f"In {several}, more than {percent(OFTEN, digits=0)} of contexts have the same statement. The most frequent is one of "
            f"{parameter_in_words(worst)}, in {percent(often[worst]['share'])} of contexts.",
            float(touched.mean()),
            {"parameters": often},
            items=subject.first_ids(touched),
        )


def lengths(subject: Subject, part: AuditPart) -> None:
    """Test whether the longer context of a query tends to be the one of one intent."""
    words = np.array([len(text.split()) for text in subject.written], dtype=float)
    gain = paired_difference(subject, words)
    longer, shorter = int((gain > 0).sum()), int((gain < 0).sum())
    measured = {
        "median_words": float(np.median(words[subject.with_context])),
        "median_words_by_intent": {
            word: float(np.median(words[subject.intended == value]))
            for word, value in (("safe", 1.0), ("unsafe", 0.0))
            if (subject.intended == value).any()
        },
        "pairs_safe_longer": longer,
        "pairs_unsafe_longer": shorter,
    }
    part.measured |= measured
    differ = longer + shorter
    share = max(longer, shorter) / differ if differ else 0.0
    if share < LENGTH_TELLING or (p := sign_test(longer, shorter)) >= ALPHA:
        return
    part.add(
        "contexts.length",
        text(
            "The longer of {a_query}'s two contexts is the one intended {intent} in {share} of the {differ:,} pairs (of "
            "{all:,}) that differ in length.",
            intent="safe" if longer > shorter else "unsafe",
            share=percent(share),
            differ=differ,
            all=len(gain),
        ),
        abs(longer - shorter) / len(gain),
        {**measured, "share": share, "p": p},
    )


def paired_difference(subject: Subject, value: FloatArray) -> FloatArray:
    """Return the mean of `value` over a query's safe-intended items less that over its unsafe-intended ones, per query with
    both.
    """
    means = (
        pl.DataFrame({"query": subject.query, "intended": subject.intended, "value": value})
        .group_by("query", maintain_order=True)
        .agg(*(pl.col("value").filter(pl.col("intended") == intent).mean().alias(str(intent)) for intent in (1, 0)))
    )
    return (means["1"] - means["0"]).drop_nulls().to_numpy()


def missing(subject: Subject, part: AuditPart) -> None:
    """Find parameters that only some contexts state, and test whether their absence predicts the intent."""
    stated = subject.stated
    lacks = {name: stated[name].is_null().to_numpy() & subject.with_context for name in subject.parameters}
    lacks = {name: mask for name, mask in lacks.items() if mask.any()}
    counts = {name: int(mask.sum()) for name, mask in lacks.items()}
    part.measured["missing"] = counts
    if not lacks:
        return
    touched = np.logical_or.reduce([*lacks.values()])
    listed = ", ".join(f"{parameter_in_words(name)} is missing in {n:,}" for name, n in counts.items())
    part.add(
        "contexts.missing",
        f"Not every context states every parameter: of {count_of(int(subject.with_context.sum()), 'context')}, {listed}.",
        float(touched.mean()),
        {"missing": counts},
        items=subject.first_ids(touched),
    )
    evidence = {}
    for name, mask in lacks.items():
        gain = paired_difference(subject, mask.astype(float))
        if (p := sign_test(int((gain > 0).sum()), int((gain < 0).sum()))) < ALPHA / len(subject.parameters):
            evidence[name] = {
                "missing_in_safe_intended": int((mask & (subject.intended == 1)).sum()),
                "missing_in_unsafe_intended": int((mask & (subject.intended == 0)).sum()),
                "p": p,
            }
    if evidence:
        touched = np.logical_or.reduce([lacks[name] for name in evidence])
        listed = "; ".join(
            f"{parameter_in_words(name)} is missing in {count_of(numbers['missing_in_safe_intended'], 'context')} intended safe and in "
            f"{numbers['missing_in_unsafe_intended']:,} intended unsafe"
            for name, numbers in evidence.items()
        )
        part.add(
            "contexts.missing-tells",
            f"Whether a parameter is stated predicts the intent: {listed}.",
            float(touched.mean()),
            evidence,
            items=subject.first_ids(touched),
        )


def duplicates(subject: Subject, part: AuditPart) -> None:
    """Find contexts that are nearly the same although their queries differ."""
    rows = np.flatnonzero(subject.with_context)

    def groups() -> FloatArray:
        group = np.full(len(subject.items), np.nan)
        group[rows] = near_duplicates(compress(subject.written, subject.with_context), seed=subject.options.seed)
        return group

    title = f"groups of nearly the same contexts, seed {subject.options.seed}"
    group = cached_item_numbers(subject.benchmark, title, groups, made_with="scipy")[rows].astype(np.intp)
    n_queries = np.bincount(np.unique(np.column_stack([group, subject.query[rows]]), axis=0)[:, 0])
    touched = np.zeros(len(subject.items), dtype=bool)
    touched[rows[n_queries[group] > 1]] = True
    n = int(touched.sum())
    part.measured["contexts_with_a_near_duplicate"] = n
    if n:
        part.add(
            "contexts.near-duplicates",
            text(
                "{n:context} {are} nearly the same as a context of another {query}.",
                n=n,
                are="is" if n == 1 else "are",
            ),
            float(touched.mean()),
            {"contexts": n, "groups": int((n_queries > 1).sum()), "least_jaccard_of_three_word_sequences": 0.8},
            items=subject.first_ids(touched),
        )


def unmoved(subject: Subject, part: AuditPart) -> None:
    """Find queries whose contexts all get the same verdict from people."""
    verdicts = subject.benchmark.unmoved_queries
    by_verdict = {
        word: sorted(query for query, verdict in verdicts.items() if verdict == word) for word in ("unsafe", "safe")
    }
    part.measured |= {f"unmoved_{word}": len(queries) for word, queries in by_verdict.items()}
    if not verdicts:
        return
    touched: BoolArray = subject.items["query_id"].is_in(list(verdicts)).to_numpy() & subject.with_context
    part.add(
        "contexts.unmoved",
        text(
            "{n:,} of {all:query} have the same label under every context: {unsafe:,} unsafe, {safe:,} safe.",
            n=len(verdicts),
            all=len(subject.benchmark.queries),
            unsafe=len(by_verdict["unsafe"]),
            safe=len(by_verdict["safe"]),
        ),
        float(touched.mean()),
        {"queries": by_verdict},
        items=subject.first_ids(touched),
    )


THIN = 5
"""A category with fewer queries is called thin."""


def audit_coverage(subject: Subject, part: AuditPart) -> None:
    """Count items by category and condition; find thin categories, queries without a pair, and uneven or uniform votes."""
    items = subject.items
    per_category = items.group_by("category").agg(pl.col("query_id").n_unique().alias("queries")).sort("category")
    queries: dict[str, int] = dict(per_category.iter_rows())
    part.measured |= {
        **subject.benchmark.counts.model_dump(),
        "queries_by_category": queries,
        "items_by_condition": dict(Counter(items["condition"].to_list())),
        "categories_of_the_taxonomy_without_queries": [
            name for name in subject.benchmark.taxonomy.names if name not in queries
        ],
    }
    if len(queries) == 1:
        (name,) = queries
        part.add(
            "coverage.one-category",
            f"All {count_of(len(items), 'item is')} of one category, {name!r}.",
            1.0,
            {"category": name, "items": len(items)},
        )
    if few := {name: n for name, n in queries.items() if n < THIN}:
        part.add(
            "coverage.thin",
            text("{n:category has} fewer than {thin} {queries}, of {all}.", n=len(few), all=len(queries), thin=THIN),
            float(items["category"].is_in(list(few)).to_numpy().mean()),
            {"categories": few, "least": THIN},
        )
    safe, unsafe = (set(subject.query[subject.intended == value].tolist()) for value in (1.0, 0.0))
    unpaired = np.isin(subject.query, [*(safe ^ unsafe)]) & ~np.isnan(subject.intended)
    if unpaired.any():
        part.add(
            "coverage.unpaired",
            text(
                "{n:query} has contexts of one intent only; it forms no pair."
                if len(safe ^ unsafe) == 1
                else "{n:query} have contexts of one intent only; they form no pair.",
                n=len(safe ^ unsafe),
            ),
            float(unpaired.mean()),
            {"queries": len(safe ^ unsafe), "safe_only": len(safe - unsafe), "unsafe_only": len(unsafe - safe)},
            items=subject.first_ids(unpaired),
        )
    labels = subject.label[~np.isnan(subject.label)]
    if len(labels) and not labels.min() < 0.5 < labels.max() and (labels != 0.5).any():
        word, opposite = ("safe", "unsafe") if labels.max() > 0.5 else ("unsafe", "safe")
        part.add(
            "coverage.one-verdict",
            f"No item is labelled {opposite}: a judge that always says {word} is always right.",
            1.0,
            {"items": len(labels), "verdict": word},
        )
    votes = subject.n_votes[subject.n_votes > 0]
    if len(votes) and votes.max() >= 2 * votes.min():
        numbers = {"least": int(votes.min()), "most": int(votes.max()), "median": int(np.median(votes))}
        rare = (subject.n_votes > 0) & (2 * subject.n_votes <= numbers["median"])
        part.add(
            "coverage.uneven-votes",
            f"Items have from {numbers['least']} to {count_of(numbers['most'], 'vote')} (median {numbers['median']}).",
            float(rare.mean()),
            {**numbers, "at_most_half_of_median": int(rare.sum())},
            items=subject.first_ids(rare),
        )


INTENT_TELLING = 0.9
"""An intent that gives at least this share of the labels leaves judges little to be measured on."""

SHARED = 0.95
"""An intent that people share on this share of items is shared."""


def audit_intent(subject: Subject, part: AuditPart) -> None:
    """Compare the intent with people's majority: over all items, by condition, and by category."""
    usable = ~np.isnan(subject.label) & ~np.isnan(subject.intended)
    if not usable.any():
        part.left_out.append("intent against labels: no item has both an intent and a label.")
        return
    by_votes, by_published = (
        judge_sample(subject.items, subject.intended, subject.raters, elicitation="binary", policy=policy)
        for policy in (VOTES, PUBLISHED)
    )
    votes, published = agreement(by_votes.where(usable)), agreement(by_published.where(usable))

    def within(column: str) -> dict[str, Estimate]:
        group = subject.items[column].to_numpy().astype(str)
        names = np.unique(group[usable]).tolist()
        return {name: agreement(by_votes.where(usable & (group == name))) for name in names}

    conditions, categories = within("condition"), within("category")
    overall = {"votes": votes.fields("n", "method"), "published": published.fields("n", "method")}
    part.measured |= {
        "agreement": overall,
        "by_condition": {name: shared.fields("n", "method") for name, shared in conditions.items()},
        "by_category": {name: shared.fields("n", "method") for name, shared in categories.items()},
    }
    share = votes.estimate or 0.0
    if share < SHARED:
        against = usable & (np.abs(subject.label - subject.intended) == 1)
        n = int(against.sum())
        part.add(
            "intent.not-shared",
            f"The label differs from the author's intent on {n:,} of {count_of(int(usable.sum()), 'item')}.",
            n / len(subject.items),
            {
                "agreement": overall["votes"],
                "ties": int((subject.label[usable] == 0.5).sum()),
                "safe_intended_called_unsafe": int((against & (subject.intended == 1)).sum()),
                "unsafe_intended_called_safe": int((against & (subject.intended == 0)).sum()),
                "by_condition": {name: shared.estimate for name, shared in conditions.items()},
            },
            items=subject.first_ids(against),
        )
    if share >= INTENT_TELLING:
        part.add(
            "intent.predicts-labels",
            f"Copying the author's intent gives {votes.as_share} of the labels ({percent(published.estimate)} under "
            "the policy published), which leaves a judge little to add.",
            2 * share - 1,
            overall,
        )


def agreement(sample: Sample) -> Estimate:
    """Return the accuracy of the intent on these items against people's labels, with an interval over queries and annotators."""
    return estimate(sample, metrics=parse_metrics("accuracy"))[0]
