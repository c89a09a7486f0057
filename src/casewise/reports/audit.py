"""The page of an audit: each finding with its weight, its evidence and what to do; all numbers in folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from casewise.audits import Audit, Finding, Part, kinds
from casewise.audits.subject import EFFECTS, spoken_name
from casewise.audits.words import SUBSETS
from casewise.notation import NOTHING, count, interval, number, p_value, percent, points, share
from casewise.reports.document import Block, Document, Folded, Prose, Section, Table, all_numbers, table_by, table_of
from casewise.reports.judge import item_exhibit
from casewise.storage.wording import JudgedWords, LabelWords

EFFECT_WORDS = {
    "label": "it concerns the labels",
    "score": "a score means less than it seems",
    "note": "for your information",
}

CONSTANTS = {
    "constant:safe": "always safe",
    "constant:unsafe": "always unsafe",
    "constant:intended": "the author's intent",
}

SHOWN_ITEMS = 3
"""Items that a finding lays out to read."""


def audit_page(audit: Audit) -> Document:
    """`audit` as a document for any face."""
    c = audit.counts
    return Document(
        title=f"Audit of {audit.benchmark}",
        subtitle=f"{c['items']:,} items, {JudgedWords.of(audit.source).counted(c['queries'])}, {LabelWords.of(audit.source).counted(c['ratings'])}",
        notices=audit.notes,
        sections=tuple(sections(audit)),
    )


def sections(audit: Audit) -> Iterator[Section]:
    yield Section("findings", "The answer", tuple(findings(audit)), first=True)
    parts = (
        ("baseline", "Baselines: a classifier on words, and constant verdicts", baseline_blocks),
        ("phrases", "Phrases with the largest weights in the baseline", phrase_blocks),
        ("subsets", "Subsets of the items for --items", subset_blocks),
        ("people", "Limits that people's agreement sets", people_blocks),
        ("intent", "The author's intent compared with the labels", intent_blocks),
        ("contexts", "Variety of the contexts", context_blocks),
        ("coverage", "Items by condition, queries by category", coverage_blocks),
    )
    yield all_numbers(
        (
            *(
                Section(name, heading, tuple(blocks(audit.parts["baseline" if name == "phrases" else name])))
                for name, heading, blocks in parts
            ),
            Section("how", "How this was made", (Prose(WEIGHTS), how_made(audit))),
        )
    )


WEIGHTS = (
    "A weight is the share of items that a finding affects, or the share of the way from a constant verdict to a perfect one. It "
    f"is multiplied by {EFFECTS['label']:g} where labels are in doubt, by {EFFECTS['score']:g} where a score means less than "
    f"it seems, and by {EFFECTS['note']:g} otherwise. A finding that rests on a test needs p < 0.001."
)


def findings(audit: Audit) -> Iterator[Block]:
    """The number of findings in a sentence, then each finding: its weight, what to do, and its evidence in a fold."""
    counted = Counter(finding.effect for finding in audit.findings)
    total = len(audit.findings)
    if not total:
        yield Prose("The audit makes no finding.", lead=True)
    kinds = (
        (counted["label"], "concerns the labels", "concern the labels"),
        (counted["score"], "makes a score mean less than it seems", "make a score mean less than it seems"),
        (counted["note"], "is for your information", "are for your information"),
    )
    listed = ", ".join(f"{n} {one if n == 1 else more}" for n, one, more in kinds if n)
    if total:
        yield Prose(f"{total} finding{'s' if total > 1 else ''}, largest weight first: {listed}.")
    for place, finding in enumerate(audit.findings, 1):
        yield Prose(f"{place}. {finding.title}", lead=True)
        yield Prose(
            f"What to do: {finding.advice} (Weight {finding.weight:.2f} of 1: {EFFECT_WORDS[finding.effect]}; {finding.code}.)"
        )
        yield Folded("Evidence", tuple(evidence(audit, finding)))
    for line in audit.left_out:
        yield Prose(f"Not checked: {line}")


def evidence(audit: Audit, finding: Finding) -> Iterator[Block]:
    rows = [
        (" – ".join(map(spoken, path)), value if path[-1] == "interval" else written(path, value))
        for path, value in flat(finding.evidence)
    ]
    name, kind = f"evidence-{finding.code.replace('.', '-')}", kinds()[finding.code]
    yield table_of(name, f"{finding.code}: {kind.says}", ("Measure", "Value"), rows)
    yield Prose(f"The audit makes this finding when: {kind.when}.")
    about = audit.source.about
    if finding.items and (about.gated or about.published is not None):
        listed = ", ".join(finding.items[:SHOWN_ITEMS])
        yield Prose(
            f"Examples of affected items: {listed}. The benchmark's texts are restricted, so this page does not show them: use casewise show BENCHMARK ID."
        )
        return
    if len(finding.items) > SHOWN_ITEMS:
        yield Prose(f"{SHOWN_ITEMS} of the affected items; casewise audit --json lists up to twenty.")
    for item in finding.items[:SHOWN_ITEMS]:
        exhibit = item_exhibit(audit.source, audit.source.item[item])
        yield Folded(f"{item}: {exhibit.heading}", (exhibit,))


Names = tuple[str, ...]
"""The names that lead to a number of evidence, the outermost first."""

NO_SHARES = {
    *("z", "p", "r", "r_of_others", "alpha", "ac1", "log_chance", "largest_chance", "largest_difference"),
    *("median_words", "median_words_by_intent", "usual_limit_for_tentative_conclusions"),
    "least_jaccard_of_three_word_sequences",
}
"""Numbers of evidence that are no shares."""


def flat(value: Mapping[str, Any], above: Names = ()) -> Iterator[tuple[Names, Any]]:
    """Each number of evidence with the names that lead to it; an estimate with its interval is one."""
    for name, inner in value.items():
        if not isinstance(inner, Mapping):
            yield (*above, name), inner
        elif "ci_low" in inner:
            yield (*above, name, "interval"), share(inner["estimate"], inner["ci_low"], inner["ci_high"])
        else:
            yield from flat(inner, (*above, name))


def spoken(name: str) -> str:
    return CONSTANTS.get(name) or {"interval": "95 % interval"}.get(name) or spoken_name(name)


def written(path: Names, value: Any) -> str:
    """A value of evidence as a person writes it: shares in per cent, gains in points."""
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(limit, float) for limit in value):
            return interval(*value)
        return ", ".join(map(str, value)) or NOTHING
    if not isinstance(value, float):
        return NOTHING if value is None else str(value)
    if path[-1] == "p":
        return p_value(value)
    if not NO_SHARES.intersection(path):
        return points(value, None, None) if path[-1] == "gain" else percent(value)
    return f"{value:.2g}" if value and abs(value) < 0.001 else f"{value:,.3g}"


def baseline_blocks(part: Part) -> Iterator[Block]:
    rows = part.measured.get("baselines")
    if not rows:
        return
    cells = [
        (
            spoken(row["reads"]),
            row["held_out"],
            share(*row["votes"]["accuracy"].values()),
            number(row["votes"]["pearson"]["estimate"] if "pearson" in row["votes"] else None),
            percent(row["published"]["accuracy"]["estimate"]),
        )
        for row in rows
    ]
    cells += [
        (CONSTANTS[name], NOTHING, percent(accuracy["votes"]), NOTHING, percent(accuracy["published"]))
        for name, accuracy in part.measured["constants"].items()
    ]
    head = ("Verdicts from", "Held out", "Accuracy, 95 % interval", "r", "Accuracy under the policy published")
    yield table_of("baselines", "Accuracy of a linear classifier on words, and of constant verdicts", head, cells)
    yield Prose(
        "If words alone predict the labels well, a judge's accuracy does not show whether it weighed the case. The labels rest on the "
        "same words, so a good baseline does not show that they took a shortcut. The classifier was trained on these labels, with "
        "the groups of the second column held out."
    )


def phrase_blocks(part: Part) -> Iterator[Block]:
    if not part.measured.get("phrases_for_safe"):
        return
    safe, unsafe = part.measured["phrases_for_safe"], part.measured["phrases_for_unsafe"]
    rows = [
        (a["text"], number(a["coefficient"], digits=2), b["text"], number(b["coefficient"], digits=2))
        for a, b in zip(safe, unsafe, strict=True)
    ]
    head = ("Speaks for safe", "Weight", "Speaks for unsafe", "Weight ")
    yield table_of("phrases-table", "Phrases with the largest weights in the baseline on contexts", head, rows)


def subset_blocks(part: Part) -> Iterator[Block]:
    sizes = part.measured["items_by_subset"]
    rows = [(name, sizes[name], SUBSETS[name]) for name in SUBSETS if name in sizes]
    if rows:
        yield table_of("subsets-table", "Values of --items", ("Name", "Items", "Definition"), rows)


def people_blocks(part: Part) -> Iterator[Block]:
    m = part.measured
    rows: list[tuple[str, str]] = []
    if "agreement" in m:
        a = m["agreement"]
        limits = a["alpha_interval"] or (None, None)
        rows.append(("Krippendorff's alpha", f"{number(a['alpha'])} {interval(*limits)}"))
        rows.append(("Two people agree", share(a["raw"], *(a["raw_interval"] or (None, None)))))
    for name, words in (
        ("agreement_with_unsure", "Krippendorff's alpha, unsure as an answer of its own"),
        ("agreement_on_scale", "Krippendorff's alpha of the ratings on the scale"),
    ):
        if name in m:
            limits = m[name]["interval"] or (None, None)
            rows.append((words, f"{number(m[name]['alpha'])} {interval(*limits)}"))
    if "ceilings" in m:
        c = m["ceilings"]
        rows.append(("Highest possible Pearson's r", number(c["pearson"])))
        rows.append(("Lowest attainable cross-entropy", number(c["cross_entropy_floor"])))
        rows.append(("Lowest possible Brier score", number(c["brier_floor"])))
    if rows:
        yield table_of("people-table", "Limits that people's votes set", ("Measure", "Value, 95 % interval"), rows)
    if "ceilings" in m:
        yield Prose(
            f"{percent(m['ceilings']['between_conditions'])} of the rates' variance lies between conditions. That part of the highest "
            "possible r is the contrast between conditions."
        )
    if "groups" in m:
        of_group: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "Trait": lambda row: row["trait"],
            "Value": lambda row: row["value"],
            "Annotators": lambda row: count(row["annotators"]),
            "Votes": lambda row: count(row["votes"]),
            "Safe, 95 % interval": lambda row: share(row["safe_rate"], *(row["safe_rate_interval"] or (None, None))),
        }
        yield table_by("groups", "How often each group of annotators says safe", m["groups"], of_group)
        yield Prose(
            "The intervals are over items and over the people of the group. The groups rate the same items, so overlapping "
            "intervals do not show that two groups agree."
        )
    if "panel" in m:
        columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "People": lambda row: str(row["people"]),
            "Agreement, 95 % interval": lambda row: share(row["agreement"], row["ci_low"], row["ci_high"]),
            "By a model": lambda row: "yes" if row["modelled"] else "no",
        }
        caption = f"How often a majority of so many people agrees with that of {m['panel'][0]['reference']} others"
        yield table_by("panel", caption, m["panel"], columns)


def intent_blocks(part: Part) -> Iterator[Block]:
    m = part.measured
    for key, caption in (
        ("by_condition", "Agreement of intent and labels, by condition"),
        ("by_category", "Agreement of intent and labels, by category"),
    ):
        rows = [
            (spoken(name), number(e["n"], digits=0), share(e["estimate"], e["ci_low"], e["ci_high"]))
            for name, e in sorted(m.get(key, {}).items(), key=lambda pair: pair[1]["estimate"])
        ]
        if rows:
            yield table_of(f"intent-{key}", caption, ("Items", "Number", "Agreement, 95 % interval"), rows)


def context_blocks(part: Part) -> Iterator[Block]:
    statements = part.measured.get("statements")
    if not statements:
        return
    rows = [(spoken(name), s["stated"], s["distinct"], s["commonest"]) for name, s in statements.items()]
    yield table_of(
        "statements", "Variety of the statements", ("Parameter", "Stated", "Different", "Most frequent"), rows
    )


def coverage_blocks(part: Part) -> Iterator[Block]:
    m = part.measured
    conditions = [(spoken(name), n) for name, n in m["items_by_condition"].items()]
    yield table_of("conditions", "Items by condition", ("Condition", "Items"), conditions)
    yield table_of("queries", "Queries by category", ("Category", "Queries"), [*m["queries_by_category"].items()])
    absent = m["categories_of_the_taxonomy_without_queries"]
    if absent:
        yield Prose(f"Categories of the taxonomy without a query: {', '.join(absent)}.")


def how_made(audit: Audit) -> Table:
    rows = [("benchmark digest", audit.digest), *((name, str(value)) for name, value in vars(audit.options).items())]
    return table_of("made", "How this was made", ("Setting", "Value"), rows)
