"""The wording of contexts: repetition, length, what is not stated, and the same context under different queries."""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np
import polars as pl

from casewise.auditing.findings import ALPHA, Finding, Part, together
from casewise.auditing.subject import Subject
from casewise.stats.core.arrays import BoolArray, FloatArray
from casewise.stats.core.share_intervals import sign_test
from casewise.stats.words.near_duplicates import near_duplicates

__all__ = ["audit_contexts"]

OFTEN = 0.1
"""A statement in more than a tenth of all contexts is called repeated."""

LEAST_CONTEXTS = 20
"""With fewer contexts, repetition says nothing."""

TELLING = 0.6
"""Length tells the intent where the longer context of a query has one intent so often."""

SHOWN = 100
"""Characters of a statement that evidence quotes."""


def audit_contexts(subject: Subject) -> Part:
    """Everything about the contexts' words. A benchmark without contexts leaves it out."""
    if not subject.with_context.any():
        return Part(name="contexts", left_out=("contexts: no item has one.",))
    stated = subject.stated
    looks = [
        repeated(subject, stated),
        lengths(subject),
        missing(subject, stated),
        duplicates(subject),
        unmoved(subject),
    ]
    return together("contexts", looks)


def repeated(subject: Subject, stated: pl.DataFrame) -> Part:
    """How often the commonest statement of each parameter stands there."""
    measured: dict[str, Any] = {}
    often: dict[str, Any] = {}
    touched = np.zeros(len(stated), dtype=bool)
    for name in subject.benchmark.parameters.names:
        found = stated[name].drop_nulls()
        if not len(found):
            continue
        each = found.alias("text").to_frame().group_by("text", maintain_order=True).len()
        text, times = each.row(int(each["len"].arg_max() or 0))
        measured[name] = {"stated": len(found), "distinct": len(each), "commonest": times}
        if len(found) >= LEAST_CONTEXTS and times > OFTEN * len(found):
            often[name] = {"statement": text[:SHOWN], "times": times, "share": times / len(found)}
            touched |= (stated[name] == text).fill_null(value=False).to_numpy()
    part = Part(name="repetition", measured={"statements": measured})
    if not often:
        return part
    worst = max(often, key=lambda name: float(often[name]["share"]))
    finding = Finding(
        code="contexts.repeated",
        title=f"In {len(often)} parameter{'s' if len(often) > 1 else ''} one statement stands in more than {OFTEN:.0%} of contexts; most in {worst}.",
        effect="note",
        share=float(touched.mean()),
        evidence={"parameters": often},
        advice="A parameter that hardly varies cannot matter: leave it out of claims about what judges attend to.",
        items=subject.named(touched),
    )
    return part.model_copy(update={"findings": (finding,)})


def lengths(subject: Subject) -> Part:
    """Whether the longer context of a query tends to be the one intended safe."""
    words = np.array([len(text.split()) for text in subject.written], dtype=float)
    by_intent = {
        word: float(np.median(words[subject.intended == value]))
        for word, value in (("safe", 1.0), ("unsafe", 0.0))
        if (subject.intended == value).any()
    }
    measured: dict[str, Any] = {
        "median_words": float(np.median(words[subject.with_context])),
        "median_words_by_intent": by_intent,
    }
    gain = paired_difference(subject, words)
    longer, shorter = int((gain > 0).sum()), int((gain < 0).sum())
    part = Part(name="length", measured={**measured, "pairs_safe_longer": longer, "pairs_unsafe_longer": shorter})
    if longer + shorter == 0:
        return part
    share = max(longer, shorter) / (longer + shorter)
    p = sign_test(longer, shorter)
    if share < TELLING or p >= ALPHA:
        return part
    kind = "safe" if longer > shorter else "unsafe"
    finding = Finding(
        code="contexts.length",
        title=(
            f"The longer of a query's two contexts is the one intended {kind} in {share:.0%} of the {longer + shorter:,} "
            f"pairs (of {len(gain):,}) that differ in length."
        ),
        effect="score",
        share=abs(longer - shorter) / len(gain),
        evidence={**part.measured, "share": share, "p": p},
        advice="Make both contexts of a query about as long; length should not give the answer away.",
    )
    return part.model_copy(update={"findings": (finding,)})


def paired_difference(subject: Subject, value: FloatArray) -> FloatArray:
    """Mean of `value` over a query's safe-intended items less that over its unsafe-intended ones, per query with both."""
    n = int(subject.query.max()) + 1
    means = []
    for intent in (1.0, 0.0):
        mine = subject.intended == intent
        count = np.bincount(subject.query[mine], minlength=n)
        total = np.bincount(subject.query[mine], weights=value[mine], minlength=n)
        means.append(np.where(count > 0, total / np.maximum(count, 1), np.nan))
    gain: FloatArray = means[0] - means[1]
    return gain[~np.isnan(gain)]


def missing(subject: Subject, stated: pl.DataFrame) -> Part:
    """Parameters that some contexts state and others do not, and whether that tells the intent."""
    used = [name for name in subject.benchmark.parameters.names if stated[name].is_not_null().any()]
    lacks = {name: stated[name].is_null().to_numpy() & subject.with_context for name in used}
    lacks = {name: mask for name, mask in lacks.items() if mask.any()}
    measured = {"missing": {name: int(mask.sum()) for name, mask in lacks.items()}}
    part = Part(name="missing", measured=measured)
    if not lacks:
        return part
    findings = [not_stated(subject, lacks)]
    tells = {name: p for name, mask in lacks.items() if (p := missing_tells(subject, mask)) < ALPHA / len(used)}
    if tells:
        findings.append(telling(subject, lacks, tells))
    return part.model_copy(update={"findings": tuple(findings)})


def missing_tells(subject: Subject, mask: BoolArray) -> float:
    gain = paired_difference(subject, mask.astype(float))
    return sign_test(int((gain > 0).sum()), int((gain < 0).sum()))


def not_stated(subject: Subject, lacks: dict[str, BoolArray]) -> Finding:
    touched = np.logical_or.reduce([*lacks.values()])
    counts = {name: int(mask.sum()) for name, mask in lacks.items()}
    said = ", ".join(f"{name} in {n:,}" for name, n in counts.items())
    return Finding(
        code="contexts.missing",
        title=f"Not every context states every parameter: missing are {said} of {int(subject.with_context.sum()):,}.",
        effect="note",
        share=float(touched.mean()),
        evidence={"missing": counts},
        advice="Compare arms that omit a parameter only over contexts that state it.",
        items=subject.named(touched),
    )


def telling(subject: Subject, lacks: dict[str, BoolArray], tells: dict[str, float]) -> Finding:
    evidence = {
        name: {
            "missing_in_safe_intended": int((lacks[name] & (subject.intended == 1)).sum()),
            "missing_in_unsafe_intended": int((lacks[name] & (subject.intended == 0)).sum()),
            "p": p,
        }
        for name, p in tells.items()
    }
    touched = np.logical_or.reduce([lacks[name] for name in tells])
    return Finding(
        code="contexts.missing-tells",
        title=f"Whether {', '.join(tells)} is stated tells the intent.",
        effect="score",
        share=float(touched.mean()),
        evidence=evidence,
        advice="State the parameter in both contexts of a query or in neither: its absence should not give the answer away.",
        items=subject.named(touched),
    )


def unmoved(subject: Subject) -> Part:
    """Queries whose contexts all get the same verdict from people: the paper's inherently unsafe ones, and safe ones."""
    found = subject.benchmark.unmoved
    by_verdict = {
        word: sorted(query for query, verdict in found.items() if verdict == word) for word in ("unsafe", "safe")
    }
    part = Part(name="unmoved", measured={f"unmoved_{word}": len(queries) for word, queries in by_verdict.items()})
    if not found:
        return part
    touched: BoolArray = subject.items["query_id"].is_in(list(found)).to_numpy() & subject.with_context
    finding = Finding(
        code="contexts.unmoved",
        title=(
            f"{len(found):,} of {len(subject.benchmark.queries):,} queries get the same verdict from people under every context: "
            f"{len(by_verdict['unsafe']):,} unsafe, {len(by_verdict['safe']):,} safe."
        ),
        effect="note",
        share=float(touched.mean()),
        evidence={"queries": by_verdict},
        advice=(
            "On these a judge needs no context to be right. Leave them out of what is said about context, and out of a new "
            "set of contexts: casewise contexts select --movable."
        ),
        items=subject.named(touched),
    )
    return part.model_copy(update={"findings": (finding,)})


def duplicates(subject: Subject) -> Part:
    """Contexts that are nearly the same although their queries differ."""
    rows = np.flatnonzero(subject.with_context)
    group = near_duplicates(compress(subject.written, subject.with_context), seed=subject.options.seed)
    n_queries = np.bincount(np.unique(np.column_stack([group, subject.query[rows]]), axis=0)[:, 0])
    touched = np.zeros(len(subject.items), dtype=bool)
    touched[rows[n_queries[group] > 1]] = True
    part = Part(name="near duplicates", measured={"contexts_with_a_near_duplicate": int(touched.sum())})
    if not touched.any():
        return part
    finding = Finding(
        code="contexts.near-duplicates",
        title=f"{int(touched.sum()):,} contexts are nearly the same as a context of another query.",
        effect="note",
        share=float(touched.mean()),
        evidence={
            "contexts": int(touched.sum()),
            "groups": int((n_queries > 1).sum()),
            "least_jaccard_of_three_word_sequences": 0.8,
        },
        advice=(
            "Treat these items as one when holding out queries, and do not count them as independent; where they were "
            "exchanged on purpose, the baseline's part of this audit says what they show."
        ),
        items=subject.named(touched),
    )
    return part.model_copy(update={"findings": (finding,)})
