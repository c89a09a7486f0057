"""The wording of contexts, coverage of parameters, and the author's intent beside labels."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from casewise.audits.subject import ALPHA, Finding, Part, Subject, together
from casewise.stats.arrays import BoolArray, FloatArray
from casewise.stats.estimates import Estimate, estimate
from casewise.stats.metrics import metrics_named
from casewise.stats.sample import PUBLISHED, VOTES, LabelPolicy, Sample, judged_by_raters, right
from casewise.stats.shares import binomial_below, sign_test
from casewise.stats.words import near_duplicates

# The wording of contexts: repetition, length, what is not stated, and the same context under different queries.


OFTEN = 0.1
"""A statement in more than a tenth of all contexts is called repeated."""

LEAST_CONTEXTS = 20
"""With fewer contexts, repetition says nothing."""

LENGTH_TELLING = 0.6
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
    if share < LENGTH_TELLING or p >= ALPHA:
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
    gains = {name: paired_difference(subject, mask.astype(float)) for name, mask in lacks.items()}
    chances = {name: sign_test(int((gain > 0).sum()), int((gain < 0).sum())) for name, gain in gains.items()}
    tells = {name: p for name, p in chances.items() if p < ALPHA / len(used)}
    if tells:
        findings.append(telling(subject, lacks, tells))
    return part.model_copy(update={"findings": tuple(findings)})


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


# Coverage: which categories and conditions there are, how thinly, and what has no partner.


THIN = 5
"""With fewer queries nothing can be said about a category."""


def audit_coverage(subject: Subject) -> Part:
    """Counts by category and condition; categories that are thin, queries without a pair, votes all alike."""
    items = subject.items
    per_category = items.group_by("category").agg(pl.col("query_id").n_unique().alias("queries")).sort("category")
    queries = dict(zip(per_category["category"].to_list(), per_category["queries"].to_list(), strict=True))
    absent = [name for name in subject.benchmark.taxonomy.names if name not in queries]
    measured: dict[str, Any] = {
        **subject.benchmark.counts.model_dump(),
        "queries_by_category": queries,
        "items_by_condition": dict(Counter(items["condition"].to_list())),
        "categories_of_the_taxonomy_without_queries": absent,
    }
    looks = (
        one_category(subject, queries),
        thin(subject, queries),
        unpaired(subject),
        one_verdict(subject),
        uneven(subject),
    )
    return Part(name="coverage", measured=measured, findings=tuple(finding for finding in looks if finding))


def one_category(subject: Subject, queries: dict[str, int]) -> Finding | None:
    if len(queries) != 1:
        return None
    (name,) = queries
    return Finding(
        code="coverage.one-category",
        title=f"All {len(subject.items):,} items are of one category, {name!r}.",
        effect="note",
        share=1.0,
        evidence={"category": name, "items": len(subject.items)},
        advice="Say so beside every number: it is about this category only.",
    )


def thin(subject: Subject, queries: dict[str, int]) -> Finding | None:
    few = {name: n for name, n in queries.items() if n < THIN}
    if not few:
        return None
    touched = subject.items["category"].is_in(list(few)).to_numpy()
    return Finding(
        code="coverage.thin",
        title=f"{len(few)} of {len(queries)} categories have fewer than {THIN} queries.",
        effect="note",
        share=float(touched.mean()),
        evidence={"categories": few, "least": THIN},
        advice="Report these by domain, not one by one: an interval over so few queries covers nearly everything.",
    )


def unpaired(subject: Subject) -> Finding | None:
    with_context = ~np.isnan(subject.intended)
    if not with_context.any():
        return None
    has = {value: set(subject.query[subject.intended == value].tolist()) for value in (0.0, 1.0)}
    lonely = np.isin(subject.query, [*(has[0.0] ^ has[1.0])]) & with_context
    if not lonely.any():
        return None
    n = len(has[0.0] ^ has[1.0])
    return Finding(
        code="coverage.unpaired",
        title=f"{n:,} queries have contexts of one intent only; they form no pair.",
        effect="note",
        share=float(lonely.mean()),
        evidence={"queries": n, "safe_only": len(has[1.0] - has[0.0]), "unsafe_only": len(has[0.0] - has[1.0])},
        advice="Add the other context, or leave them out of what is said about pairs: such a query cannot show that context matters.",
        items=subject.named(lonely),
    )


def one_verdict(subject: Subject) -> Finding | None:
    known = subject.label[~np.isnan(subject.label)]
    if not len(known) or known.min() < 0.5 < known.max() or known.min() == known.max() == 0.5:
        return None
    word = "safe" if known.max() > 0.5 else "unsafe"
    return Finding(
        code="coverage.one-verdict",
        title=f"People call no item {'unsafe' if word == 'safe' else 'safe'}: a judge that always says {word} is always right.",
        effect="score",
        share=1.0,
        evidence={"items": len(known), "verdict": word},
        advice="Add items of the other kind; recall of one class cannot be measured here.",
    )


def uneven(subject: Subject) -> Finding | None:
    rated = subject.n_votes[subject.n_votes > 0]
    if not len(rated) or rated.max() < 2 * rated.min():
        return None
    usual = int(np.median(rated))
    few = (subject.n_votes > 0) & (2 * subject.n_votes <= usual)
    return Finding(
        code="coverage.uneven-votes",
        title=f"Items have from {int(rated.min())} to {int(rated.max())} votes (median {usual}).",
        effect="note",
        share=float(few.mean()),
        evidence={
            "least": int(rated.min()),
            "most": int(rated.max()),
            "median": usual,
            "at_most_half_of_median": int(few.sum()),
        },
        advice="A majority of few says less than one of many. Gather the missing ratings, or weigh by them.",
        items=subject.named(few),
    )


# The author's intent against people: where they share it, and how much of the labels it gives away.


INTENT_TELLING = 0.9
"""Intent that gives at least so many labels leaves judges little to be measured on."""

SHARED = 0.95
"""Intent that people share on so many items is shared."""


def audit_intent(subject: Subject) -> Part:
    """Agreement of the intent with people's majority: overall, by condition, and by category."""
    usable = ~np.isnan(subject.label) & ~np.isnan(subject.intended)
    if not usable.any():
        return Part(name="intent", left_out=("intent against people: no item has both an intent and ratings.",))
    overall: dict[str, Estimate] = {
        policy.base: agreement(intent_beside_people(subject, policy).where(usable)) for policy in (VOTES, PUBLISHED)
    }
    conditions = by_group(subject, usable, subject.items["condition"].to_numpy())
    categories = by_group(subject, usable, subject.items["category"].to_numpy())
    measured: dict[str, Any] = {
        "agreement": {name: found.picked("n", "method") for name, found in overall.items()},
        "by_condition": {name: found.picked("n", "method") for name, found in conditions.items()},
        "by_category": {name: found.picked("n", "method") for name, found in categories.items()},
    }
    findings = []
    share = overall["votes"].estimate or 0.0
    if share < SHARED:
        findings.append(not_shared(subject, usable, overall["votes"], conditions))
    if share >= INTENT_TELLING:
        findings.append(predicts(overall))
    return Part(name="intent", measured=measured, findings=tuple(findings))


def intent_beside_people(subject: Subject, policy: LabelPolicy) -> Sample:
    return judged_by_raters(subject.items, subject.intended, subject.raters, elicitation="binary", policy=policy)


def agreement(sample: Sample) -> Estimate:
    """Accuracy of the intent on these items against people's labels, with an interval over queries and annotators."""
    (found,) = estimate(sample, metrics=metrics_named("accuracy"))
    return found


def by_group(subject: Subject, usable: BoolArray, group: NDArray[np.object_]) -> dict[str, Estimate]:
    names, whole = np.unique(group[usable].astype(str)).tolist(), intent_beside_people(subject, VOTES)
    return {name: agreement(whole.where(usable & (group == name))) for name in names}


def not_shared(subject: Subject, usable: BoolArray, overall: Estimate, conditions: dict[str, Estimate]) -> Finding:
    against = usable & (np.abs(subject.label - subject.intended) == 1)
    worse = worse_categories(subject, usable)
    by_intent = {
        "safe_intended_called_unsafe": int((against & (subject.intended == 1)).sum()),
        "unsafe_intended_called_safe": int((against & (subject.intended == 0)).sum()),
    }
    n = int(usable.sum())
    return Finding(
        code="intent.not-shared",
        title=f"People's majority is against the author's intent on {int(against.sum()):,} of {n:,} items.",
        effect="note",
        share=float(against.sum() / len(subject.items)),
        evidence={
            "agreement": overall.picked("n", "method"),
            "ties": int((subject.label[usable] == 0.5).sum()),
            **by_intent,
            "by_condition": {name: found.estimate for name, found in conditions.items()},
            "categories_below_the_rest": worse,
        },
        advice=(
            "Read these contexts again: either they do not say what was meant, or people do not think as the author. "
            "Never score a judge against the intent without saying so."
        ),
        items=subject.named(against),
    )


def worse_categories(subject: Subject, usable: BoolArray) -> dict[str, float]:
    """Categories whose agreement is below that of all items by more than chance, Bonferroni over categories."""
    agree = right(subject.intended, subject.label)
    category = subject.items["category"].to_numpy().astype(str)
    overall = float(agree[usable].mean())
    names = np.unique(category[usable])
    found: dict[str, float] = {}
    for name in names:
        mine = agree[usable & (category == name)]
        if binomial_below(float(mine.sum()), len(mine), overall) < ALPHA * 10 / len(names):
            found[str(name)] = float(mine.mean())
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def predicts(overall: dict[str, Estimate]) -> Finding:
    votes, published = overall["votes"], overall["published"]
    share = max(0.0, 2 * (votes.estimate or 0.0) - 1)
    return Finding(
        code="intent.predicts-labels",
        title=(
            f"Copying the author's intent gives {votes.estimate or 0:.1%} of people's labels "
            f"({published.estimate or 0:.1%} under published): a judge has little left to show."
        ),
        effect="score",
        share=share,
        evidence={"votes": votes.picked("n", "method"), "published": published.picked("n", "method")},
        advice=(
            "Put constant:intended beside every judge. A judge that finds out what the author meant scores as well as one "
            "that weighs the case; items where people and author differ tell the two apart."
        ),
    )
