"""What chatbots do and say, laid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from casewise.audits.words import SUBSETS
from casewise.evaluate.behaviour import Corrected, CorrectedRate, GraderPair, WhatItDoes, behaviours_of
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.says_does import Gap, SaysDoes, SaysDoesNumbers
from casewise.notation import count, percent, points, share
from casewise.records import Arm
from casewise.replies.behaviour import DOES, POLICIES, Behaviour
from casewise.reports import charts
from casewise.reports.document import (
    Block,
    Document,
    Figure,
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    all_numbers,
    from_here,
    table_of,
)
from casewise.stats.estimates import Estimate

# What chatbots do, laid out: outcomes by people's verdict, strict beside lenient, grounds, and whether graders
# agree.


LABELS = ("respond", "refuse", "tie", "none")

IN_WORDS = {
    "respond": "People say respond",
    "refuse": "People say refuse",
    "tie": "People are split evenly",
    "none": "No votes",
}


def behaviour_sections(report: JudgeNumbers) -> Iterator[Section]:
    """What chatbots do; nothing where there is none."""
    found, pairs, checked = report.does, report.grader_pairs, report.corrected
    if not found:
        return
    yield Section("does", "What it does", tuple(blocks(found)), brief=True)
    if checked:
        yield Section("grader", "Is the grader right?", tuple(checked_blocks(checked)), brief=True)
    if pairs:
        yield Section("graders", "Do the graders agree?", tuple(grader_blocks(pairs)), brief=True)
    behaviours = behaviours_of(report.runs)
    yield Section("methods", "Methods, to quote", tuple(Prose(text) for text in methods(behaviours, checked)))


def methods(behaviours: Sequence[Behaviour], checked: Sequence[Corrected]) -> Iterator[str]:
    """How each chatbot was asked and graded, as a paper would say it."""
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
    """What is to be said of chatbots first; nothing where there is none."""
    yield from (Prose(behaviour_sentence(one)) for one in found)
    for one in checked:
        rights = (f"{corrected_in_words(rate)} ({rate.policy})" for rate in one.rates if rate.rate == "right")
        yield Prose(
            f"{one.model}, graded by {one.grader}, corrected by people's labels of {one.n_labelled:,} replies: it does what people "
            f"find right in {'; '.join(rights)}."
        )
    if found and not checked:
        yield Prose(
            "No person has checked the grader: what it gets wrong moves every rate here. Have people label some, drawn at "
            "random (casewise study init REPLIES --question reply), and give what they said with --grader-labels."
        )


def blocks(found: Sequence[WhatItDoes]) -> Iterator[Block]:
    for index, one in enumerate(found):
        yield outcome_table(f"does-{index}", title(one), one.counts)
    yield rates_table(found)
    yield Prose(
        "Strict counts a partial answer as a refusal, lenient as an answer; a provider's refusal is a refusal under both. "
        "Replies without a grade are left out of the rates and counted as unscored. Intervals are over queries, with people's "
        "labels taken as given. In the rest of this report a reply that "
        "answers is called safe and one that refuses unsafe, as a judge's verdicts are."
    )
    if grounds := [(title(one), ground, count(n)) for one in found for ground, n in one.grounds.items()]:
        yield table_of(
            "grounds",
            "What refusals and partial answers give as their ground",
            ("Replies of", "Ground", "Replies"),
            grounds,
        )


def behaviour_sentence(one: WhatItDoes) -> str:
    strict, lenient = one.rates
    return (
        f"{title(one)}: it does what people find right in {percent(strict.right.estimate)} of replies when a partial answer "
        f"counts as a refusal and in {percent(lenient.right.estimate)} when it counts as an answer; always answering would "
        f"give {percent(one.always_answer)}, always refusing {percent(one.always_refuse)}."
        + (f" {one.cut_off:,} replies met the limit on their length." if one.cut_off else "")
    )


def title(one: WhatItDoes) -> str:
    arm = "" if Arm.named(one.arm).shows_all else f", {one.arm}"
    return f"{one.model}{arm}, graded by {one.grader}"


def outcome_table(name: str, caption: str, counts: pl.DataFrame) -> Table:
    """Replies by people's verdict and what they do."""
    known = {(row["label"], row["does"]): row["replies"] for row in counts.to_dicts()}
    rows = []
    for label in LABELS:
        cells = [known.get((label, does), 0) for does in DOES]
        if sum(cells):
            rows.append((IN_WORDS[label], *(count(n) for n in cells), count(sum(cells))))
    head = ("", *(does.capitalize() for does in DOES), "Replies")
    return table_of(name, caption, head, rows, frame=counts)


def rates_table(found: Sequence[WhatItDoes]) -> Table:
    rows = [
        (
            title(one),
            rates.policy,
            rates.right.as_share,
            rates.over_refusal.as_share,
            rates.harm.as_share,
            count(rates.right.n_unscored),
        )
        for one in found
        for rates in one.rates
    ]
    head = ("Replies of", "Partial answers", "Right", "Over-refusal", "Harm", "Unscored")
    caption = (
        "Right: what people find right. Over-refusal: refuses where people say respond. Harm: answers where people say "
        "refuse. 95 % intervals over queries"
    )
    return table_of("rates", caption, head, rows)


def grader_blocks(pairs: Sequence[GraderPair]) -> Iterator[Block]:
    rows = [
        (
            one.model,
            one.first,
            one.second,
            count(one.n),
            percent(one.agree),
            "; ".join(f"{a} / {b} {n}" for a, b, n in one.parted[:3]) or "–",
        )
        for one in pairs
    ]
    head = ("Replies of", "First", "Second", "Replies", "Agree", "Where they part (first / second)")
    yield table_of("grader-pairs", "Two graders of the same replies", head, rows)
    yield Prose("How far graders part says how much of a rate is the grader's and not the chatbot's.")


RATES = {
    "right": "Right",
    "over_refusal": "Over-refusal",
    "harm": "Harm",
    "does_right": "Does what people find right",
    "says_safe_refuses": "Says safe, refuses",
    "says_unsafe_answers": "Says unsafe, answers",
}


def checked_blocks(checked: Sequence[Corrected]) -> Iterator[Block]:
    """Each grader against people's labels, and the rates that they correct."""
    for index, one in enumerate(checked):
        yield Prose(
            f"{one.grader}: of {one.n_labelled:,} replies of {one.model} that people labelled, it says the same of "
            f"{one.agree.as_share}."
            + (
                f" {one.n_strangers:,} labels are of replies that are not here or have no grade."
                if one.n_strangers
                else ""
            )
        )
        rows = [
            (
                row["person"],
                row["grader"],
                count(row["replies"]),
                share(row["share"], row["ci_low"], row["ci_high"])
                + (f" ({row['method']})" if row["ci_low"] is None else ""),
            )
            for row in one.confusion.to_dicts()
        ]
        yield table_of(
            f"confusion-{index}",
            f"What people say of replies, and what {one.grader} says of these; 95 % intervals over queries",
            ("By people", "By the grader", "Replies", "Share of those by people"),
            rows,
            frame=one.confusion,
        )
    yield corrected_table([(f"{one.model}, graded by {one.grader}", one.rates) for one in checked])
    yield Prose(
        "A corrected rate weights what people say of the replies that the grader calls answered and refused by how often the "
        "grader says each (clustered by query, the items' labels taken as given). What the provider refused, or the model declined "
        "without words, needs no label and counts as it is. Its "
        "interval allows for errors that no label has shown yet. It holds only if the labelled replies were drawn at random. The last column says how many labels in all "
        "would halve the interval; where that is more than the replies that the rate is over, collect more replies."
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
    rows = []
    for name, rates in checked:
        for rate in rates:
            found = rate.found
            rows.append(
                (
                    name,
                    RATES[rate.rate],
                    rate.policy,
                    percent(rate.by_grader),
                    share(found.estimate, found.ci_low, found.ci_high) if found else rate.why,
                    share(found.by_labels, found.by_labels_low, found.by_labels_high) if found else "–",
                    count(found.labels) if found else "–",
                    labels_for_half(rate),
                )
            )
    head = (
        "Replies of",
        "Rate",
        "Partial answers",
        "By the grader",
        "Corrected",
        "By the labels alone",
        "Labels",
        "Labels for half the interval",
    )
    return table_of("corrected", "Rates corrected by people's labels, 95 % intervals", head, rows)


# What models say against what they do, laid out.


SAYS = ("safe", "unsafe", "unscored")


def says_does_page(found: SaysDoesNumbers) -> Document:
    """`found` as a document for any face."""
    models = list(dict.fromkeys(one.model for one in found.models))
    *first, last = models if len(models) < 4 else [*models[:3], "others"]
    said = f"{', '.join(first)} and {last} say and do" if first else f"{last} says and does"
    return Document(
        title=f"What {said} on {found.benchmark.name}",
        subtitle=f"{found.benchmark.title}; labels: {found.options.labels.name}",
        notices=found.notes,
        sections=(
            Section("gap", "Does it do what it says?", tuple(answer(found)), brief=True),
            all_numbers(
                (
                    Section("items", "Item by item", tuple(item_blocks(found))),
                    Section("where", "Where it parts", tuple(where_blocks(found))),
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
        yield Prose(says_does_sentence(one, name))
        if one.corrected:
            yield Prose(corrected_sentence(one))
    if n := len(pairs[IN_FULL:]):
        yield Prose(f"{n:,} more {'pair stands' if n == 1 else 'pairs stand'} in the table.")
    yield gap_table("gaps", "Agreement with people: what is said, what is done, and the difference", found, ("all",))
    if found.pooled is not None:
        yield Prose(
            f"Over {found.n_pooled} pairs together the difference is {found.pooled.as_share} (partial answers as refusals; "
            "interval over queries, the models and people's labels as they are)."
        )
    if checked := [(name, one.corrected) for name, one in pairs if one.corrected]:
        yield corrected_table(checked)
    for model, difference in found.wording:
        yield Prose(
            f"How much of it is the wording: asked as a judge, {model} says what people find right on "
            f"{difference.as_share} more items than asked in the chatbot's own messages (a difference of shares)."
        )
    yield Prose(
        "Both sides are over the items that were asked on both; an item that is unscored on a side counts as wrong there. "
        "A partial answer counts as a refusal (strict) or as an answer (lenient). The difference is paired by item, with a "
        "95 % interval over queries."
    )
    yield Forest("right", "Agreement with people; 95 % intervals over queries", tuple(sides(found)), heads=RIGHT)
    if groups := tuple(against(found)):
        yield Forest("against", "What it says and does not do; 95 % intervals over queries", groups, heads=HEADS)


def corrected_sentence(one: SaysDoes) -> str:
    """The strict rates as people's labels correct them."""
    strict = {rate.rate: corrected_in_words(rate) for rate in one.corrected if rate.policy == POLICIES[0]}
    return (
        f"Corrected by people's labels of some replies (strict): it does what people find right in {strict['does_right']}; of the "
        f"items it calls safe it refuses {strict['says_safe_refuses']}; of those it calls unsafe it answers "
        f"{strict['says_unsafe_answers']}."
    )


def says_does_sentence(one: SaysDoes, name: str) -> str:
    strict, lenient = (one.overall(policy) for policy in POLICIES)
    by_policy = "; ".join(f"{one.policy}, {apart(one.gap)}" for one in (strict, lenient))
    return (
        f"{name}: it says what people find right on {percent(strict.says_right.estimate)} of items and does it on "
        f"{percent(strict.does_right.estimate)} (strict) or {percent(lenient.does_right.estimate)} (lenient): {by_policy}. Of "
        f"the items it calls safe it refuses {percent(strict.says_safe_refuses.estimate)} (strict) or "
        f"{percent(lenient.says_safe_refuses.estimate)} (lenient); of those it calls unsafe it answers "
        f"{percent(strict.says_unsafe_answers.estimate)} or {percent(lenient.says_unsafe_answers.estimate)}."
    )


def apart(gap: Estimate) -> str:
    """Whether agreement of what is said lies above that of what is done, by the interval of the difference."""
    if gap.estimate is None or not gap.beyond_chance:
        told = "the two are not told apart"
    else:
        told = f"it {'says' if gap.estimate > 0 else 'does'} so more often"
    return f"{told}, {points(gap.estimate, gap.ci_low, gap.ci_high)}"


def gap_table(name: str, caption: str, found: SaysDoesNumbers, wheres: tuple[str, ...]) -> Table:
    rows = [
        (
            called,
            *((gap.where,) if len(wheres) != 1 else ()),
            gap.policy,
            count(gap.n_items),
            gap.says_right.as_share,
            gap.does_right.as_share,
            gap.gap.as_share,
            gap.says_safe_refuses.as_share,
            gap.says_unsafe_answers.as_share,
        )
        for called, one in named(found)
        for gap in one.gaps
        if (gap.where in wheres if wheres else gap.where != "all")
    ]
    frame = pl.DataFrame([row_of(one, gap) for one in found.models for gap in one.gaps], infer_schema_length=None)
    head = (
        "Model",
        *(("Items where",) if len(wheres) != 1 else ()),
        "Partial answers",
        "Items",
        "Says right",
        "Does right",
        "Difference",
        "Says safe, refuses",
        "Says unsafe, answers",
    )
    return table_of(name, caption, head, rows, frame=frame)


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


def gap_chart(found: SaysDoesNumbers) -> Figure:
    """The same as `sides`, as one figure for a paper."""
    rows = pl.DataFrame(
        [(name, row.label, row.estimate, row.low, row.high) for name, rows in sides(found) for row in rows],
        schema={
            "name": pl.String,
            "series": pl.String,
            "estimate": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
        },
        orient="row",
    )
    order = rows["name"].unique(maintain_order=True).to_list()
    drawn = charts.dots_with_intervals(rows.drop_nulls("estimate"), title="Agreement with people", order=order)
    return Figure(
        "says-does",
        "What is said and what is done, against what people find right; 95 % intervals over queries.",
        "Dot chart of agreement with people: verdicts beside replies. The first table gives the numbers.",
        charts.for_page(drawn, name="says-does"),
    )


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
        head = ("People", "Verdict", *(does.capitalize() for does in DOES))
        yield table_of(f"items-{index}", name, head, rows, frame=one.counts)


def where_blocks(found: SaysDoesNumbers) -> Iterator[Block]:
    yield gap_table("where-clear", f"By how clear people are (clear: {SUBSETS['clear']})", found, ("clear", "close"))
    yield gap_table("where-all", "By category and by how clear people are", found, ())
    yield gap_chart(found)


def how_made(found: SaysDoesNumbers) -> Table:
    facts = [
        ("Benchmark digest", found.benchmark.digest),
        ("Labels", found.options.labels.name),
        *((name, f"the question was asked {one.asked}") for name, one in named(found)),
        *((f"Run {path.name}", from_here(path)) for path in found.runs.paths),
    ]
    return table_of("how-made", "Sources and settings", ("What", "Value"), [(a, b) for a, b in facts])
