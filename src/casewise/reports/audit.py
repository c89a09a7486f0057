"""The page of an audit: each finding with its weight, its evidence and what to do; all numbers in folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from casewise.audits import Audit, AuditPart, Finding, kinds
from casewise.audits.subject import EFFECTS, Effect, parameter_in_words
from casewise.audits.words import SUBSETS
from casewise.notation import NOTHING, hyphened, interval, number, p_value, percent, points, share
from casewise.reports.document import (
    Block,
    Columns,
    Document,
    Folded,
    IntervalHead,
    LargeFigure,
    Prose,
    Section,
    all_numbers,
    large_figures,
    next_step,
    paragraph,
    table_by,
    table_of,
)
from casewise.reports.items import item_exhibit
from casewise.stats.estimates import Estimate
from casewise.storage.wording import LabelWords, noun_of
from casewise.text import Text, count_of, join, text

EFFECT_WORDS: dict[Effect, tuple[str, str]] = {
    "label": ("concerns the labels", "concern the labels"),
    "score": ("limits what a score shows", "limit what a score shows"),
    "note": ("is for your information", "are for your information"),
}
"""The predicate of one finding, and of several."""

CONSTANTS = {
    "constant:safe": "always safe",
    "constant:unsafe": "always unsafe",
    "constant:intended": "the author's intent",
}

SHOWN_ITEMS = 3
"""Items that a finding lays out to read."""


def audit_page(audit: Audit) -> Document:
    """Return `audit` as a document for any face."""
    counts, labels = audit.counts, LabelWords.for_benchmark(audit.source).counted(audit.counts["ratings"])
    parts = (
        ("baseline", "Baselines: a classifier on words, and constant verdicts", baseline_blocks),
        ("phrases", "Phrases with the largest weights in the baseline", phrase_blocks),
        ("subsets", "Subsets of the items for --items", subset_blocks),
        ("people", "Limits that people's agreement sets", people_blocks),
        ("intent", "The author's intent compared with the labels", intent_blocks),
        ("contexts", "Variety of the contexts", context_blocks),
    )
    settings = {"benchmark digest": audit.digest} | {name: str(value) for name, value in vars(audit.options).items()}
    provenance = table_of("made", "How this was made", ("Setting", "Value"), settings.items())
    numbers = (
        Section(name, heading, tuple(blocks(audit.parts["baseline" if name == "phrases" else name])))
        for name, heading, blocks in parts
    )
    shown = tuple(
        Folded(text("{place}. {title}", place=place, title=finding.title), tuple(evidence(audit, finding)))
        for place, finding in enumerate(audit.findings, 1)
    )
    return Document(
        title=f"Audit of {audit.benchmark}",
        subtitle=text(
            "{items:item}, {queries:query}, {labels}", items=counts["items"], queries=counts["queries"], labels=labels
        ),
        notices=audit.notes,
        sections=(
            Section("answer", "The answer", tuple(answer(audit)), first=True),
            Section("findings", "All findings", tuple(findings(audit)), brief=True),
            Section("evidence", "Evidence", shown),
            all_numbers(numbers),
            Section("made", "How this was made", (Prose(WEIGHTS), provenance)),
        ),
        noun=noun_of(audit.source),
    )


WEIGHTS = (
    "A weight is the share of items that a finding affects. For a baseline it is its gain over a constant verdict, divided by the gain "
    f"of a perfect judge. The weight is multiplied by {EFFECTS['label']:g} if labels are in doubt, by {EFFECTS['score']:g} if a score "
    f"means less than it seems, and by {EFFECTS['note']:g} otherwise. A finding that rests on a test needs p < 0.001."
)


def answer(audit: Audit) -> Iterator[Block]:
    """Yield whether labels or scores are in doubt, the three numbers that say most about that, the main finding, and what to do."""
    findings = audit.findings
    by_effect = Counter(finding.effect for finding in findings)
    listed = [f"{n} {words[n > 1]}" for effect, words in EFFECT_WORDS.items() if (n := by_effect[effect])]
    verdict: str = "The audit finds nothing that changes the meaning of a score."
    if by_effect["note"] < len(findings):
        verdict = text("{n:finding}: {listed}.", n=len(findings), listed=", ".join(listed))
    elif findings:
        verdict = f"{verdict} {count_of(len(findings), 'finding is')} for your information."
    yield Prose(verdict, lead=True)
    yield large_figures("audit-figures", "Accuracy on these labels of", key_figures(audit))
    if findings:
        yield paragraph("Main finding: {title}", title=findings[0].title)
        yield next_step(findings[0].advice)
    else:
        yield next_step("judge it, and state with the result that the audit finds nothing: casewise judge.")


def key_figures(audit: Audit) -> Iterator[LargeFigure]:
    """Yield the accuracies to compare a judge's with, from the highest to the lowest; in place of one that is not known, the reason."""
    measured = {name: part.measured for name, part in audit.parts.items()}
    items, words = audit.counts["items"], measured["baseline"].get("baselines", [{}])[0]
    rated = LabelWords.for_benchmark(audit.source).rated
    again, why = ("A second study", "not predicted") if rated else ("Labelling again", "one label for each item")
    for title, row, why_not in (
        (again, measured["labels"].get("second_study"), why),
        ("Words alone", words.get("votes", {}).get("accuracy"), measured["baseline"].get("why_no_words", "")),
    ):
        if row is None:
            yield title, ("not known", why_not), items
        else:
            estimate = Estimate("accuracy", row["estimate"], row["ci_low"], row["ci_high"], items, 0, "no interval")
            yield title, estimate, row.get("n", items)
    constants = [measured["baseline"]["constants"][f"constant:{verdict}"]["votes"] for verdict in ("safe", "unsafe")]
    known = [accuracy for accuracy in constants if accuracy is not None]
    constant = (percent(max(known)), "a fact of these labels") if known else ("not known", "no item has a label")
    yield "A constant verdict", constant, items


def findings(audit: Audit) -> Iterator[Block]:
    """Yield each finding with its weight and advice, and the checks that were left out."""
    for place, finding in enumerate(audit.findings, 1):
        yield paragraph("{place}. {title}", place=place, title=finding.title, lead=True)
        yield paragraph(
            "What to do: {advice} (Weight {weight:.2f} of 1: it {effect}; {code}.)",
            advice=join(" ", filter(None, (finding.advice, finding.explanation))),
            weight=finding.weight,
            effect=EFFECT_WORDS[finding.effect][0],
            code=finding.code,
        )
    yield from (Prose("Not checked: " + line) for line in audit.left_out)


def evidence(audit: Audit, finding: Finding) -> Iterator[Block]:
    rows = [
        (join(" – ", map(measure_name, path)), value if path[-1] == "interval" else written(path, value))
        for path, value in flat(finding.evidence)
    ]
    name, kind = f"evidence-{hyphened(finding.code)}", kinds()[finding.code]
    caption = text("{code}: {title}", code=finding.code, title=kind.title)
    yield table_of(name, caption, ("Measure", "Value"), rows)
    yield paragraph("The audit makes this finding when: {condition}.", condition=kind.condition)
    if finding.items and audit.source.restricted:
        listed = ", ".join(audit.source.item[item].own_id for item in finding.items[:SHOWN_ITEMS])
        yield Prose(
            f"Examples of affected items: {listed}. The benchmark's texts are restricted, so this page does not show them: use casewise show BENCHMARK ID."
        )
        return
    if len(finding.items) > SHOWN_ITEMS:
        yield Prose(f"{SHOWN_ITEMS} of the affected items; casewise audit --json lists up to twenty.")
    for item in map(audit.source.item.__getitem__, finding.items[:SHOWN_ITEMS]):
        exhibit = item_exhibit(audit.source, item)
        yield replace(exhibit, heading=f"{item.own_id}: {exhibit.heading}")


Names = tuple[str, ...]
"""The names that lead to a number of evidence, the outermost first."""

NO_SHARES = {
    *("z", "p", "r", "r_of_others", "alpha", "ac1", "log_chance", "largest_chance", "largest_difference"),
    *("median_words", "median_words_by_intent", "usual_limit_for_tentative_conclusions"),
    "least_jaccard_of_three_word_sequences",
}
"""Numbers of evidence that are no shares."""


def flat(value: Mapping[str, Any], above: Names = ()) -> Iterator[tuple[Names, Any]]:
    """Yield each number of evidence with the names that lead to it; an estimate with its interval is one."""
    for name, inner in value.items():
        if not isinstance(inner, Mapping):
            yield (*above, name), inner
        elif "ci_low" in inner:
            yield (*above, name, "interval"), share(inner["estimate"], inner["ci_low"], inner["ci_high"])
        else:
            yield from flat(inner, (*above, name))


OWN_NAMES = CONSTANTS | {
    "interval": "95 % interval",
    "query": text("{query}"),
    "queries": text("{queries}"),
    "query+context": text("{query}+context"),
}


def measure_name(name: str) -> str:
    """Return the name of a measurement in words."""
    return name if isinstance(name, Text) else OWN_NAMES.get(name) or parameter_in_words(name)


def written(path: Names, value: Any) -> str:
    """Return a value of evidence as a person writes it: shares in per cent, gains in points."""
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(limit, float) for limit in value):
            return interval(*value)
        return ", ".join(map(str, value)) or NOTHING
    if not isinstance(value, float):
        return NOTHING if value is None else value if isinstance(value, str) else str(value)
    if path[-1] == "p":
        return p_value(value)
    if not NO_SHARES.intersection(path):
        return points(value) if path[-1] == "gain" else percent(value)
    return number(value, digits=0) if abs(value) >= 100 else f"{value:.3g}"


def key_blocks(part: AuditPart) -> Iterator[Block]:
    single_statements = {row["reads"]: row for row in part.measured.get("statements_alone", ())}
    crossed = {row["reads"]: row for row in part.measured.get("baselines", ())}
    cells = [
        (
            measure_name(name),
            share(*row["accuracy"].values()),
            share(*crossed[name]["votes"]["accuracy"].values()) if name in crossed else NOTHING,
            crossed[name]["held_out"] if name in crossed else NOTHING,
        )
        for name, row in single_statements.items()
    ]
    if cells:
        head = ("Parameter", text("Whole statement, {queries} held out"), "Words of it", "Held out for the words")
        yield table_of("statements-alone", "Accuracy of single parameters", head, cells)


def baseline_blocks(part: AuditPart) -> Iterator[Block]:
    yield from key_blocks(part)
    rows = part.measured.get("baselines")
    if not rows:
        return
    cells = [
        (
            measure_name(row["reads"]),
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
    head = ("Verdicts from", "Held out", IntervalHead("Accuracy"), "r", "Accuracy under the policy published")
    yield table_of("baselines", "Accuracy of a linear classifier on words, and of constant verdicts", head, cells)
    yield Prose(
        "If words alone predict the labels well, a judge's accuracy does not show whether it weighed the case. The labels rest on the "
        "same words, so a good baseline does not show that they took a shortcut. The classifier was trained on these labels, with "
        "the groups of the second column held out."
    )


def phrase_blocks(part: AuditPart) -> Iterator[Block]:
    if part.measured.get("phrases_for_safe"):
        phrases = zip(part.measured["phrases_for_safe"], part.measured["phrases_for_unsafe"], strict=True)
        weight = partial(number, digits=2)
        columns: Columns = {
            "Speaks for safe": "0.text",
            "Weight": (weight, "0.coefficient"),
            "Speaks for unsafe": "1.text",
            "Weight ": (weight, "1.coefficient"),
        }
        caption = "Phrases with the largest weights in the baseline on contexts"
        yield table_by("phrases-table", caption, phrases, columns)


def subset_blocks(part: AuditPart) -> Iterator[Block]:
    sizes = part.measured["items_by_subset"]
    rows = [(name, sizes[name], SUBSETS[name]) for name in SUBSETS if name in sizes]
    if rows:
        yield table_of("subsets-table", "Values of --items", ("Name", "Items", "Definition"), rows)


def people_blocks(part: AuditPart) -> Iterator[Block]:
    m = part.measured
    rows: list[tuple[str, str]] = []

    def with_limits(of: str, limits: str, *, value: str = "alpha") -> str:
        return " ".join((number(m[of][value]), *([interval(*m[of][limits])] if m[of][limits] else [])))

    if "agreement" in m:
        raw = share(m["agreement"]["raw"], *(m["agreement"]["raw_interval"] or ()))
        rows += ("Krippendorff's alpha", with_limits("agreement", "alpha_interval")), ("Two people agree", raw)
    for name, words in (
        ("agreement_with_unsure", "Krippendorff's alpha, unsure as an answer of its own"),
        ("agreement_on_scale", "Krippendorff's alpha of the ratings on the scale"),
    ):
        if name in m:
            rows.append((words, with_limits(name, "interval")))
    if "ceilings" in m:
        rows += [
            ("Highest possible Pearson's r", with_limits("ceilings", "pearson_interval", value="pearson")),
            ("Lowest attainable cross-entropy", number(m["ceilings"]["cross_entropy_floor"])),
            ("Lowest possible Brier score", number(m["ceilings"]["brier_floor"])),
        ]
    if rows:
        yield table_of("people-table", "Limits that people's votes set", ("Measure", IntervalHead("Value")), rows)
    if "ceilings" in m:
        yield Prose(
            f"{percent(m['ceilings']['between_conditions'])} of the variance of the safe rates lies between conditions. A judge that "
            "only knows the condition reaches this part of the highest possible r."
        )
    if "panel" in m:
        columns: Columns = {
            "People": (str, "people"),
            IntervalHead("Agreement"): (share, "agreement", "ci_low", "ci_high"),
            "By a model": (lambda modelled: "yes" if modelled else "no", "modelled"),
        }
        caption = f"Agreement of a panel's majority with the majority of {m['panel'][0]['reference']} other people, by the panel's size"
        yield table_by("panel", caption, m["panel"], columns)


def intent_blocks(part: AuditPart) -> Iterator[Block]:
    columns: Columns = {
        "Items": (measure_name, "0"),
        "Number": "1.n",
        IntervalHead("Agreement"): (share, "1.estimate", "1.ci_low", "1.ci_high"),
    }
    for kind in ("condition", "category"):
        rows = sorted(part.measured.get(f"by_{kind}", {}).items(), key=lambda pair: pair[1]["estimate"])
        if rows:
            yield table_by(f"intent-by_{kind}", f"Agreement of intent and labels, by {kind}", rows, columns)


def context_blocks(part: AuditPart) -> Iterator[Block]:
    if statements := part.measured.get("statements"):
        columns: Columns = {
            "Parameter": (measure_name, "0"),
            "Stated": "1.stated",
            "Different": "1.distinct",
            "Most frequent": "1.commonest",
        }
        yield table_by("statements", "Variety of the statements", statements.items(), columns)
