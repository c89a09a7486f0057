"""The pages of chatbots' replies, and of verdicts compared with replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from casewise.audits.words import SUBSETS
from casewise.evaluate.behaviour import (
    Corrected,
    CorrectedRate,
    Gap,
    GraderPair,
    SaysDoes,
    SaysDoesNumbers,
    WhatItDoes,
    behaviours_of,
)
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.notation import NOTHING, count, percent, points, share
from casewise.records import Arm
from casewise.replies.behaviour import DOES, POLICIES, Behaviour
from casewise.reports.document import (
    Block,
    Document,
    Folded,
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    all_numbers,
    difference_cell,
    from_here,
    table_by,
    table_of,
)
from casewise.stats.estimates import Estimate

# Replies laid out: outcomes by people's verdict, strict and lenient, grounds, and whether graders agree.


LABELS = ("respond", "refuse", "tie", "none")

IN_WORDS = {
    "respond": "Label: respond",
    "refuse": "Label: refuse",
    "tie": "Label: a tie",
    "none": "No votes",
}


def behaviour_sections(report: JudgeNumbers) -> Iterator[Section]:
    """The sections on replies; nothing where there are none."""
    found, pairs, checked = report.does, report.grader_pairs, report.corrected
    if not found:
        return
    yield Section("does", "Replies by label", tuple(blocks(found)))
    if checked:
        yield Section("grader", "Grader compared with people", tuple(checked_blocks(checked)))
    if pairs:
        yield Section("graders", "Agreement of the graders", tuple(grader_blocks(pairs)))
    behaviours = behaviours_of(report.runs)
    yield Section(
        "methods", "Methods paragraph for a paper", tuple(Prose(text) for text in methods(behaviours, checked))
    )


def methods(behaviours: Sequence[Behaviour], checked: Sequence[Corrected]) -> Iterator[str]:
    """How each chatbot was asked and graded, in the words of a paper."""
    for folder in dict.fromkeys(one.folder for one in behaviours):
        graded = [one for one in behaviours if one.folder == folder]
        made, rows = graded[0].manifest, graded[0].rows
        identity, times = made.identity, rows["repeat"].n_unique()
        versions = ", ".join(sorted(rows["model_version"].drop_nulls().unique()))
        set_to = ", ".join(
            f"{name.replace('_', ' ')} {identity.settings[name]}"
            for name in ("temperature", "max_tokens", "seed")
            if identity.settings.get(name) is not None
        )
        yield (
            f"We sent {rows['item_id'].n_unique():,} items of {made.benchmark_name} (digest {identity.benchmark[:12]}) to "
            f"{identity.model}{f' ({versions})' if versions else ''} as a user would, {'once' if times == 1 else f'{times:,} times'} "
            f"each, the context worded as {identity.chat}{f' ({set_to})' if set_to else ''}; {len(rows):,} calls, of which "
            f"{(rows['does'] == 'refused by the provider').sum():,} were refused by the provider. Each reply was graded as "
            f"answering, answering in part or refusing by {'; '.join(one.grader_id for one in graded)}. Partial answers count "
            "as refusals (strict) or as answers (lenient); both are given. Intervals are 95 %, over queries."
        )
    for one in checked:
        yield (
            f"People labelled {one.n_labelled:,} of the replies of {one.model}; rates by {one.grader} were corrected by "
            "the labels within strata of the grader's answer (prediction-powered inference, Angelopoulos et al. 2023), with Jeffreys "
            "limits in each stratum combined as by Zou & Donner (2008), clustered by query."
        )


def behaviour_answer(found: Sequence[WhatItDoes], checked: Sequence[Corrected]) -> Iterator[Prose]:
    """The answer about chatbots; nothing where there are none."""
    yield from (Prose(behaviour_sentence(one)) for one in found)
    for one in checked:
        rights = (f"{corrected_in_words(rate)} ({rate.policy})" for rate in one.rates if rate.rate == "right")
        yield Prose(
            f"Corrected by people's labels of {one.n_labelled:,} replies, {one.model} (graded by {one.grader}) does what people find "
            f"right in {'; '.join(rights)} of replies."
        )
    if found and not checked:
        yield Prose(
            "Nobody has checked the grader, and its errors move every rate here. Have some replies labelled, drawn at random "
            "(casewise study init REPLIES --question reply), and pass the labels with --grader-labels."
        )


def blocks(found: Sequence[WhatItDoes]) -> Iterator[Block]:
    yield rates_table(found)
    yield Prose(
        "Strict counts a partial answer as a refusal, lenient as an answer. A provider's refusal is a refusal under both. "
        "Replies without a grade are unscored and left out of the rates. Intervals are over queries and take the labels as "
        "given. The rest of this report calls a reply that answers safe, and a reply that refuses unsafe."
    )
    tables = [outcome_table(f"does-{index}", title(one), one.counts) for index, one in enumerate(found)]
    if grounds := [(title(one), ground, count(n)) for one in found for ground, n in one.grounds.items()]:
        caption = "Reasons that refusals and partial answers give"
        tables.append(table_of("grounds", caption, ("Replies of", "Reason", "Replies"), grounds))
    yield Folded("Every grade by label", tuple(tables))


def behaviour_sentence(one: WhatItDoes) -> str:
    strict, lenient = one.rates
    return (
        f"{title(one)}: {strict.right.as_share} of replies do what the labels ask for if a partial answer counts as a refusal, and "
        f"{lenient.right.as_share} if it counts as an answer. Always answering gives {percent(one.always_answer)}, always "
        f"refusing {percent(one.always_refuse)}."
        + (f" {one.cut_off:,} replies reached the limit on their length." if one.cut_off else "")
    )


def title(one: WhatItDoes) -> str:
    arm = "" if Arm.named(one.arm).shows_all else f", {one.arm}"
    return f"{one.model}{arm}, graded by {one.grader}"


def outcome_table(name: str, caption: str, counts: pl.DataFrame) -> Table:
    """Replies by label and by grade."""
    known = {(row["label"], row["does"]): row["replies"] for row in counts.to_dicts()}
    rows = []
    for label in LABELS:
        cells = [known.get((label, does), 0) for does in DOES]
        if sum(cells):
            rows.append((IN_WORDS[label], *(count(n) for n in cells), count(sum(cells))))
    head = ("", *(does.capitalize() for does in DOES), "Replies")
    return table_of(name, caption, head, rows, frame=counts)


def rates_table(found: Sequence[WhatItDoes]) -> Table:
    rows = [(one, rates) for one in found for rates in one.rates]
    columns: dict[str, Callable[[Any], str]] = {
        "Replies of": lambda row: title(row[0]),
        "Partial answers": lambda row: row[1].policy,
        "Right": lambda row: row[1].right.as_share,
        "Over-refusal": lambda row: row[1].over_refusal.as_share,
        "Harm": lambda row: row[1].harm.as_share,
        "Unscored": lambda row: count(row[1].right.n_unscored),
    }
    caption = (
        "Right: does what the labels ask for. Over-refusal: refuses where the label is respond. Harm: answers where the label is "
        "refuse. 95 % intervals over queries"
    )
    return table_by("rates", caption, rows, columns)


def grader_blocks(pairs: Sequence[GraderPair]) -> Iterator[Block]:
    columns: dict[str, Callable[[GraderPair], str]] = {
        "Replies of": lambda one: one.model,
        "First": lambda one: one.first,
        "Second": lambda one: one.second,
        "Replies": lambda one: count(one.n),
        "Agree": lambda one: percent(one.agree),
        "Commonest differences (first / second)": lambda one: (
            "; ".join(f"{a} / {b} {n}" for a, b, n in one.parted[:3]) or NOTHING
        ),
    }
    yield table_by("grader-pairs", "Two graders of the same replies", pairs, columns)
    yield Prose("Where two graders differ, a rate depends on the grader and not on the chatbot alone.")


RATES = {
    "right": "Right",
    "over_refusal": "Over-refusal",
    "harm": "Harm",
    "does_right": "Does what the labels ask for",
    "says_safe_refuses": "Says safe, refuses",
    "says_unsafe_answers": "Says unsafe, answers",
}


def checked_blocks(checked: Sequence[Corrected]) -> Iterator[Block]:
    """Each grader compared with people's labels, and the corrected rates."""
    for index, one in enumerate(checked):
        yield Prose(
            f"{one.grader} gives people's label to {one.agree.as_share} of the {one.n_labelled:,} replies of {one.model} that people "
            "labelled."
            + (
                f" {one.n_strangers:,} labels belong to replies that are not here or have no grade."
                if one.n_strangers
                else ""
            )
        )
        columns: dict[str, Callable[[dict[str, Any]], str]] = {
            "By people": lambda row: row["person"],
            "By the grader": lambda row: row["grader"],
            "Replies": lambda row: count(row["replies"]),
            "Share of those by people": lambda row: (
                share(row["share"], row["ci_low"], row["ci_high"])
                + (f" ({row['method']})" if row["ci_low"] is None else "")
            ),
        }
        caption = f"Labels by people and by {one.grader}; 95 % intervals over queries"
        yield table_by(f"confusion-{index}", caption, one.confusion.to_dicts(), columns, frame=one.confusion)
    yield corrected_table([(f"{one.model}, graded by {one.grader}", one.rates) for one in checked])
    yield Prose(
        "A corrected rate combines people's labels within each grade, weighted by how often the grader gives the grade. Errors are "
        "clustered by query, and the items' labels are taken as given. Refusals by the provider and replies without words need no "
        "label. The interval allows for errors that no label has shown yet. It holds only if the labelled replies were drawn at "
        "random. The last column gives the number of labels that would halve the interval. If it exceeds the number of replies, "
        "collect more replies."
    )


def labels_for_half(rate: CorrectedRate) -> str:
    if rate.labels_for_half is not None:
        return count(rate.labels_for_half)
    return "not known" if rate.found is None else f"more than all {rate.found.items:,}"


def corrected_in_words(rate: CorrectedRate) -> str:
    if rate.found is None:
        return f"not known, {rate.why}"
    return share(rate.found.estimate, rate.found.ci_low, rate.found.ci_high)


def corrected_table(checked: Sequence[tuple[str, Sequence[CorrectedRate]]]) -> Table:
    rows = [(name, rate, rate.found) for name, rates in checked for rate in rates]
    columns: dict[str, Callable[[Any], str]] = {
        "Replies of": lambda row: row[0],
        "Rate": lambda row: RATES[row[1].rate],
        "Partial answers": lambda row: row[1].policy,
        "By the grader": lambda row: percent(row[1].by_grader),
        "Corrected": lambda row: share(row[2].estimate, row[2].ci_low, row[2].ci_high) if row[2] else row[1].why,
        "By the labels alone": lambda row: (
            share(row[2].by_labels, row[2].by_labels_low, row[2].by_labels_high) if row[2] else NOTHING
        ),
        "Labels": lambda row: count(row[2].labels if row[2] else None),
        "Labels for half the interval": lambda row: labels_for_half(row[1]),
    }
    return table_by("corrected", "Rates corrected by people's labels, 95 % intervals", rows, columns)


# Verdicts of models compared with their replies, laid out.


SAYS = ("safe", "unsafe", "unscored")


def says_does_page(found: SaysDoesNumbers) -> Document:
    """`found` as a document for any face."""
    models = list(dict.fromkeys(one.model for one in found.models))
    *first, last = models if len(models) < 4 else [*models[:3], "others"]
    names = f"{', '.join(first)} and {last}" if first else last
    return Document(
        title=f"Verdicts and replies of {names} on {found.benchmark.name}",
        subtitle=f"{found.benchmark.title}; labels: {found.options.labels.name}",
        notices=found.notes,
        sections=(
            Section("gap", "The answer", tuple(answer(found)), first=True, brief=True),
            all_numbers(
                (
                    Section("items", "Verdicts and replies, item by item", tuple(item_blocks(found))),
                    Section("where", "By category and by how clear the labels are", tuple(where_blocks(found))),
                    Section("made", "How this was made", (how_made(found),)),
                )
            ),
        ),
    )


def named(found: SaysDoesNumbers) -> list[tuple[str, SaysDoes]]:
    """The pairs, each by its model and what else tells it from the others; by its folders only where nothing else does."""
    names, models = [one.model for one in found.models], found.models
    for parts, is_folder in (
        ([f"asked {one.asked}" for one in models], False),
        ([one.how for one in models], False),
        ([f"by {one.grader}" for one in models], False),
        ([f"replies in {from_here(one.does_in)}" for one in models], True),
        ([f"verdicts in {from_here(one.says_in)}" for one in models], True),
    ):
        if len(set(parts)) > 1 and not (is_folder and len(set(names)) == len(names)):
            names = [f"{name}, {part}" for name, part in zip(names, parts, strict=True)]
    return list(zip(names, models, strict=True))


IN_FULL = 3
"""Pairs that are told in sentences; the others stand in the table."""


def answer(found: SaysDoesNumbers) -> Iterator[Block]:
    pairs = named(found)
    for name, one in pairs[:IN_FULL]:
        yield Prose(says_does_sentence(one, name), lead=True)
        if one.corrected:
            yield Prose(corrected_sentence(one))
    if n := len(pairs[IN_FULL:]):
        yield Prose(f"The table has {n:,} more {'pair' if n == 1 else 'pairs'}.")
    if found.pooled is not None:
        yield Prose(
            f"Over all {found.n_pooled} pairs the difference is {difference_cell(found.pooled)}. Partial answers count as refusals. "
            "The interval is over queries, for these models and labels."
        )
    for model, difference in found.wording:
        yield Prose(
            f"Effect of the wording: agreement of {model} as a judge, less its agreement when asked in the chatbot's own "
            f"messages, is {difference_cell(difference)}."
        )
    yield Forest("right", "Agreement with the labels; 95 % intervals over queries", tuple(sides(found)), heads=RIGHT)
    if groups := tuple(against(found)):
        caption = "Replies against the model's own verdict; 95 % intervals over queries"
        yield Forest("against", caption, groups, heads=HEADS)
    tables = [gap_table("gaps", "Agreement with the labels: verdicts, replies, and the difference", found, ("all",))]
    if checked := [(name, one.corrected) for name, one in pairs if one.corrected]:
        tables.append(corrected_table(checked))
    yield Folded("These numbers as a table", tuple(tables))
    yield Prose(
        "Both sides are over the items that have a verdict request and a reply request. An item that is unscored on one side counts "
        "as wrong there. A partial answer counts as a refusal (strict) or as an answer (lenient). The difference is paired by "
        "item, with a 95 % interval over queries."
    )


def corrected_sentence(one: SaysDoes) -> str:
    """The strict rates as people's labels correct them."""
    strict = {rate.rate: corrected_in_words(rate) for rate in one.corrected if rate.policy == POLICIES[0]}
    return (
        f"Corrected by people's labels of some replies (strict), {strict['does_right']} of replies do what the labels ask for. The "
        f"chatbot refuses {strict['says_safe_refuses']} of the items that it calls safe, and answers "
        f"{strict['says_unsafe_answers']} of those that it calls unsafe."
    )


def says_does_sentence(one: SaysDoes, name: str) -> str:
    strict, lenient = (one.overall(policy) for policy in POLICIES)

    def both(strict_value: str, lenient_value: str) -> str:
        """Both values, or the one that they share."""
        return (
            strict_value if strict_value == lenient_value else f"{strict_value} (strict) or {lenient_value} (lenient)"
        )

    def share_of(name: str) -> str:
        return both(percent(getattr(strict, name).estimate), percent(getattr(lenient, name).estimate))

    return (
        f"{name}: its verdicts are right on {percent(strict.says_right.estimate)} of items, its replies on "
        f"{share_of('does_right')}: {both(apart(strict.gap), apart(lenient.gap))}. It refuses {share_of('says_safe_refuses')} of "
        f"the items that it calls safe, and answers {share_of('says_unsafe_answers')} of those that it calls unsafe."
    )


def apart(gap: Estimate) -> str:
    """Whether verdicts or replies are right more often, by the interval of the difference."""
    if gap.estimate is None or not gap.beyond_chance:
        told = "the two are not told apart"
    else:
        told = f"its {'verdicts' if gap.estimate > 0 else 'replies'} are right more often"
    return f"{told}, {points(gap.estimate, gap.ci_low, gap.ci_high)}"


def gap_table(name: str, caption: str, found: SaysDoesNumbers, wheres: tuple[str, ...]) -> Table:
    rows = [
        (called, gap)
        for called, one in named(found)
        for gap in one.gaps
        if (gap.where in wheres if wheres else gap.where != "all")
    ]
    columns: dict[str, Callable[[tuple[str, Gap]], str]] = {
        "Model": lambda row: row[0],
        "Items where": lambda row: row[1].where,
        "Partial answers": lambda row: row[1].policy,
        "Items": lambda row: count(row[1].n_items),
        "Says right": lambda row: row[1].says_right.as_share,
        "Does right": lambda row: row[1].does_right.as_share,
        "Difference": lambda row: difference_cell(row[1].gap),
        "Says safe, refuses": lambda row: row[1].says_safe_refuses.as_share,
        "Says unsafe, answers": lambda row: row[1].says_unsafe_answers.as_share,
    }
    frame = pl.DataFrame([row_of(one, gap) for one in found.models for gap in one.gaps], infer_schema_length=None)
    return table_by(name, caption, rows, columns, several="Items where", frame=frame)


def row_of(one: SaysDoes, gap: Gap) -> dict[str, object]:
    numbers = {
        name: getattr(gap, name)
        for name in ("says_right", "does_right", "gap", "says_safe_refuses", "says_unsafe_answers")
    }
    return {
        "model": one.model,
        "says": one.says,
        "does": one.does,
        "grader": one.grader,
        "bridged": one.bridged,
        "where": gap.where,
        "partial_answers": gap.policy,
        "n_items": gap.n_items,
        **{f"{name}{end}": getattr(each, field) for name, each in numbers.items() for end, field in ENDS},
    }


ENDS = (("", "estimate"), ("_ci_low", "ci_low"), ("_ci_high", "ci_high"))


RIGHT = ("Side", "Model", "Agreement")


def sides(found: SaysDoesNumbers) -> Iterator[tuple[str, tuple[ForestRow, ...]]]:
    """Of each pair, how often it says, and how often it does, what people find right."""
    for name, one in named(found):
        strict, lenient = (one.overall(policy) for policy in POLICIES)
        of = (("says", strict.says_right), ("does, strict", strict.does_right), ("does, lenient", lenient.does_right))
        yield name, tuple(ForestRow(side, each.estimate, each.ci_low, each.ci_high) for side, each in of)


HEADS = ("Of the items", "Model", "Share")


def against(found: SaysDoesNumbers) -> Iterator[tuple[str, tuple[ForestRow, ...]]]:
    for name, one in named(found):
        rows = [
            ForestRow(f"{words}, {policy}", each.estimate, each.ci_low, each.ci_high)
            for policy in POLICIES
            for words, each in (
                ("called safe, refuses", one.overall(policy).says_safe_refuses),
                ("called unsafe, answers", one.overall(policy).says_unsafe_answers),
            )
        ]
        if known := tuple(row for row in rows if row.estimate is not None):
            yield name, known


def item_blocks(found: SaysDoesNumbers) -> Iterator[Block]:
    for index, (name, one) in enumerate(named(found)):
        known = {(row["label"], row["says"], row["does"]): row["items"] for row in one.counts.to_dicts()}
        rows = [
            (IN_WORDS[label], f"says {says}", *(count(known.get((label, says, does), 0)) for does in DOES))
            for label in LABELS
            for says in SAYS
            if any((label, says, does) in known for does in DOES)
        ]
        head = ("Label", "Verdict", *(does.capitalize() for does in DOES))
        yield table_of(f"items-{index}", name, head, rows, frame=one.counts)


def where_blocks(found: SaysDoesNumbers) -> Iterator[Block]:
    yield gap_table(
        "where-clear", f"By how clear the labels are (clear: {SUBSETS['clear']})", found, ("clear", "close")
    )
    yield gap_table("where-all", "By category and by how clear the labels are", found, ())


def how_made(found: SaysDoesNumbers) -> Table:
    facts = [
        ("Benchmark digest", found.benchmark.digest),
        ("Labels", found.options.labels.name),
        *((name, f"the question was asked {one.asked}") for name, one in named(found)),
        *((f"Run {path.name}", from_here(path)) for path in found.runs.paths),
    ]
    return table_of("how-made", "Sources and settings", ("What", "Value"), [(a, b) for a, b in facts])
