"""An audit laid out to read: what was found, weightiest first, then what was measured, part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from casewise.audits import CODES, Audit, Finding, Part
from casewise.audits.subject import EFFECTS
from casewise.audits.words import SUBSETS
from casewise.notation import interval, number, percent
from casewise.reports.charts import for_page, votes_by_intent
from casewise.reports.document import Block, Document, Figure, Prose, Section, Table, table_of

EFFECT_WORDS = {"label": "labels are not what they seem", "score": "a score means less", "note": "to know"}

CONSTANTS = {
    "constant:safe": "always safe",
    "constant:unsafe": "always unsafe",
    "constant:intended": "the author's intent",
}


def audit_page(audit: Audit) -> Document:
    """`audit` as a document for any face."""
    c = audit.counts
    return Document(
        title=f"Audit of {audit.benchmark}",
        subtitle=f"{c['items']:,} items, {c['queries']:,} queries, {c['ratings']:,} ratings",
        notices=audit.notes,
        sections=tuple(sections(audit)),
    )


def sections(audit: Audit) -> Iterator[Section]:
    yield Section("findings", "What was found", tuple(summary(audit)), brief=True)
    yield Section("details", "Each finding, with its evidence", tuple(details(audit)))
    for name, heading, blocks in (
        ("baseline", "How far vocabulary goes", baseline_blocks),
        ("phrases", "Which phrases carry the baseline", phrase_blocks),
        ("subsets", "Subsets that tell judges apart", subset_blocks),
        ("people", "What people's agreement allows", people_blocks),
        ("intent", "Intent against people", intent_blocks),
        ("labels", "Votes", label_blocks),
        ("contexts", "Contexts", context_blocks),
        ("coverage", "Coverage", coverage_blocks),
    ):
        found = tuple(blocks(audit.parts["baseline" if name == "phrases" else name]))
        if found:
            yield Section(name, heading, found, brief=name == "baseline")
    yield Section("left-out", "What was not looked at", tuple(left_out(audit)), brief=bool(audit.left_out))
    yield Section("how", "How this was made", (how_made(audit),))


def summary(audit: Audit) -> Iterator[Block]:
    if not audit.findings:
        yield Prose("Nothing was found.")
        return
    rows = [(f"{f.weight:.2f}", f.code, f.title) for f in audit.findings]
    yield table_of("findings-table", "Findings, the weightiest first", ("Weight", "Code", "What"), rows)
    yield Prose(
        "A weight is the share of items (or of the way from a constant verdict to a perfect one) that a finding touches, "
        f"times {EFFECTS['label']:g} where labels are not people's, {EFFECTS['score']:g} where a score means less than it "
        f"seems, {EFFECTS['note']:g} where it is to be known. Findings that rest on a test are made at p < 0.001."
    )


def details(audit: Audit) -> Iterator[Block]:
    for finding in audit.findings:
        yield Prose(f"{finding.title} Weight {finding.weight:.2f}: {EFFECT_WORDS[finding.effect]}.")
        yield evidence(finding)
        yield Prose(f"What to do: {finding.advice}")


def evidence(finding: Finding) -> Table:
    rows = [(name.replace("_", " "), written(value)) for name, value in flat(finding.evidence)]
    if finding.items:
        rows.append(("items to look at", ", ".join(finding.items[:5])))
    return table_of(
        f"evidence-{finding.code.replace('.', '-')}", f"{finding.code}: {CODES[finding.code]}", ("What", "Value"), rows
    )


def flat(value: Mapping[str, Any], *, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        heading = f"{above}{name}"
        if isinstance(inner, Mapping):
            yield from flat(inner, above=f"{heading}: ")
        else:
            yield heading, inner


def written(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        whole = value == int(value)
        return f"{value:.3g}" if value and abs(value) < 0.001 else number(value, digits=0 if whole else 3)
    if isinstance(value, (list, tuple)):
        return ", ".join(written(one) for one in value)
    return str(value)


def baseline_blocks(part: Part) -> Iterator[Block]:
    rows = part.measured.get("baselines")
    if not rows:
        return
    cells = [
        (
            row["reads"].replace("transmission_principle.", "").replace("_", " ").replace(".", " "),
            row["held_out"],
            number(row["votes"]["accuracy"]["estimate"]),
            interval(row["votes"]["accuracy"]["ci_low"], row["votes"]["accuracy"]["ci_high"]),
            number(row["votes"]["pearson"]["estimate"] if "pearson" in row["votes"] else None),
            number(row["published"]["accuracy"]["estimate"]),
        )
        for row in rows
    ]
    cells += [
        (CONSTANTS[name], "–", number(found.get("votes")), "–", "–", number(found.get("published")))
        for name, found in part.measured["constants"].items()
    ]
    head = ("Verdicts from", "Held out", "Accuracy", "95 % interval", "r", "Published")
    yield table_of(
        "baselines",
        "Accuracy of a linear classifier on words, and of verdicts without reading",
        head,
        cells,
    )
    yield Prose(
        "A classifier on words has not understood a case. Where it goes far, a judge's accuracy alone does not tell whether "
        "the judge weighed the case or met the words. People read the same words, so this is a baseline and no accusation. "
        "The last column is against the labels of the policy published."
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
    yield table_of("phrases-table", "Phrases that carry the baseline on contexts", head, rows)


def subset_blocks(part: Part) -> Iterator[Block]:
    sizes = part.measured["items_by_subset"]
    rows = [(name, sizes[name], SUBSETS[name]) for name in SUBSETS if name in sizes]
    if rows:
        yield table_of("subsets-table", "What --items can be", ("Name", "Items", "Which"), rows)


def people_blocks(part: Part) -> Iterator[Block]:
    m = part.measured
    rows: list[tuple[str, str, str]] = []
    if "agreement" in m:
        a = m["agreement"]
        limits = a["alpha_interval"] or (None, None)
        rows.append(("Krippendorff's alpha", number(a["alpha"]), interval(*limits)))
        rows.append(("Two people agree", percent(a["raw"]), interval(*(a["raw_interval"] or (None, None)))))
    if "ceilings" in m:
        c = m["ceilings"]
        rows.append(("Highest possible Pearson's r", number(c["pearson"]), "–"))
        rows.append(("Lowest attainable cross-entropy", number(c["cross_entropy_floor"]), "–"))
        rows.append(("Lowest possible Brier score", number(c["brier_floor"], digits=4), "–"))
    if rows:
        yield table_of("people-table", "What people's votes allow", ("What", "Value", "95 % interval"), rows)
    if "ceilings" in m:
        yield Prose(
            f"Of the ceiling of r: {100 * m['ceilings']['between_conditions']:.0f} % of the rates' variance lies between conditions."
        )
    if "panel" in m:
        panel = [
            (
                str(r["people"]),
                percent(r["agreement"]),
                interval(r["ci_low"], r["ci_high"]),
                "yes" if r["modelled"] else "no",
            )
            for r in m["panel"]
        ]
        caption = f"How often a majority of so many people agrees with that of {m['panel'][0]['reference']} others"
        yield table_of("panel", caption, ("People", "Agreement", "95 % interval", "By a model"), panel)


def intent_blocks(part: Part) -> Iterator[Block]:
    m = part.measured
    for key, caption in (
        ("by_condition", "Agreement of intent and people, by condition"),
        ("by_category", "By category"),
    ):
        if key in m:
            found = sorted(m[key].items(), key=lambda pair: pair[1]["estimate"])
            rows = [
                (name, number(e["n"], digits=0), percent(e["estimate"]), interval(e["ci_low"], e["ci_high"]))
                for name, e in found
            ]
            yield table_of(f"intent-{key}", caption, ("Where", "Items", "Agreement", "95 % interval"), rows)


def label_blocks(part: Part) -> Iterator[Block]:
    counts = {word: part.measured.get(f"counts_{word}_intended") for word in ("safe", "unsafe")}
    if not any(counts.values()):
        return
    frame = pl.DataFrame(
        [
            {"votes": votes, "items": items, "intended": word}
            for word, histogram in counts.items()
            for votes, items in enumerate(histogram or [])
        ]
    )
    rows = [
        (str(votes), *(str(h[votes]) if h else "–" for h in counts.values()))
        for votes in range(max(len(h) for h in counts.values() if h))
    ]
    head = ("Safe votes", "Safe-intended", "Unsafe-intended")
    yield Figure(
        "votes",
        "How many items have how many safe votes, by the author's intent.",
        "Two histograms of items over safe votes, by intent; the table below gives every count.",
        for_page(votes_by_intent(frame), name="votes"),
        table_of("votes-table", "Items by number of safe votes", head, rows, frame=frame),
    )


def context_blocks(part: Part) -> Iterator[Block]:
    statements = part.measured.get("statements")
    if not statements:
        return
    rows = [(name, str(s["stated"]), str(s["distinct"]), str(s["commonest"])) for name, s in statements.items()]
    yield table_of(
        "statements", "How varied statements are", ("Parameter", "Stated", "Different", "Commonest stands"), rows
    )


def coverage_blocks(part: Part) -> Iterator[Block]:
    m = part.measured
    yield table_of("conditions", "Items by condition", ("Condition", "Items"), [*m["items_by_condition"].items()])
    yield table_of("queries", "Queries by category", ("Category", "Queries"), [*m["queries_by_category"].items()])
    absent = m["categories_of_the_taxonomy_without_queries"]
    if absent:
        yield Prose(f"Categories of the taxonomy without a query: {', '.join(absent)}.")


def left_out(audit: Audit) -> Iterator[Block]:
    if not audit.left_out:
        yield Prose("Every part of the audit could be done.")
    for line in audit.left_out:
        yield Prose(line[:1].upper() + line[1:])


def how_made(audit: Audit) -> Table:
    options = audit.as_json()["options"]
    rows = [("benchmark digest", audit.digest), *((name, json.dumps(value)) for name, value in options.items())]
    return table_of("made", "How this was made", ("What", "Value"), rows)
