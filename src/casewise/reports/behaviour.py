"""The pages of chatbots' replies, and of verdicts compared with replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from casewise.evaluate.behaviour import (
    ChatbotRates,
    CorrectedRate,
    CorrectedRates,
    SaysDoes,
    SaysDoesNumbers,
    behaviours_of,
)
from casewise.evaluate.conclusions import Unknown, compared
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.notation import NOTHING, percent, points, share, spoken
from casewise.records import Arm
from casewise.replies.behaviour import POLICIES, REPLY_BEHAVIOURS, Behaviour
from casewise.reports.document import (
    Block,
    Columns,
    Document,
    Folded,
    Forest,
    ForestRow,
    Prose,
    Section,
    Table,
    all_numbers,
    difference_cell,
    paragraph,
    table_by,
    table_of,
    why_none,
)
from casewise.stats.estimates import Estimate
from casewise.storage.wording import noun_of
from casewise.text import Text, count_of, first_few, join, path_text, text

LABELS = {"respond": "Label: respond", "refuse": "Label: refuse", "tie": "Label: a tie", "none": "No votes"}


def behaviour_sections(report: JudgeNumbers) -> Iterator[Section]:
    """Yield the sections on replies; nothing where there are none."""
    checked = report.corrected
    if not report.does:
        return
    yield Section("does", "Replies by label", tuple(blocks(report.does)))
    if checked:
        yield Section("grader", "Grader compared with people", tuple(checked_blocks(checked)))
    paragraphs = tuple(map(Prose, methods(behaviours_of(report.runs), checked)))
    yield Section("methods", "Methods paragraph for a paper", paragraphs)


def methods(behaviours: Sequence[Behaviour], checked: Sequence[CorrectedRates]) -> Iterator[str]:
    """Yield the methods of asking and grading each chatbot, in the words of a paper."""
    for folder in dict.fromkeys(behaviour.folder for behaviour in behaviours):
        graded = [behaviour for behaviour in behaviours if behaviour.folder == folder]
        manifest, rows = graded[0].manifest, graded[0].rows
        identity, times = manifest.identity, rows["repeat"].n_unique()
        versions = ", ".join(sorted(rows["model_version"].drop_nulls().unique()))
        set_to = ", ".join(
            f"{spoken(name)} {identity.settings[name]}"
            for name in ("temperature", "max_tokens", "seed")
            if identity.settings.get(name) is not None
        )
        yield text(
            "We sent {items:item} of {benchmark} (digest {digest}) to {model}{versions} as a user would, {times} each. The "
            "context was worded as {chat}{settings}. The provider refused {refused:,} of {calls:call}. {graders} graded each "
            "reply as answering, answering in part or refusing. We count partial answers as refusals (strict) and as answers "
            "(lenient). Intervals are 95 %, over {clusters}.",
            items=rows["item_id"].n_unique(),
            benchmark=manifest.benchmark_name,
            digest=identity.benchmark[:12],
            model=identity.model,
            versions=f" ({versions})" if versions else "",
            times="once" if times == 1 else f"{times:,} times",
            chat=identity.chat,
            settings=f" ({set_to})" if set_to else "",
            calls=len(rows),
            refused=(rows["does"] == "refused by the provider").sum(),
            graders="; ".join(behaviour.grader_id for behaviour in graded),
        )
    for rates in checked:
        yield text(
            "People labelled {n_labelled:,} of the replies of {model}. We corrected the rates by {grader} with these labels, "
            "within strata of the grader's answer (prediction-powered inference, Angelopoulos et al. 2023). Limits are "
            "Jeffreys limits in each stratum, combined after Zou & Donner (2008) and clustered by {cluster}.",
            n_labelled=rates.n_labelled,
            model=rates.model,
            grader=rates.grader,
        )


def behaviour_answer(chatbots: Sequence[ChatbotRates], checked: Sequence[CorrectedRates]) -> Iterator[Prose]:
    """Yield the answer about chatbots; nothing where there are none."""
    for chatbot in chatbots:
        strict, lenient = chatbot.rates
        cut_off = f" {count_of(chatbot.cut_off, 'reply')} reached the limit on length." if chatbot.cut_off else ""
        yield Prose(
            f"{title(chatbot)}: {strict.right.as_share} of replies do what the labels ask for if a partial answer counts as a refusal, "
            f"and {lenient.right.as_share} if it counts as an answer. Always answering gives {percent(chatbot.always_answer)}, always "
            f"refusing {percent(chatbot.always_refuse)}.{cut_off}",
            lead=True,
        )
    by_people = [corrected for corrected in checked if corrected.n_labelled]
    for corrected in by_people:
        rights = (f"{corrected_in_words(rate)} ({rate.policy})" for rate in corrected.rates if rate.rate == "right")
        yield Prose(
            f"Corrected by people's labels of {count_of(corrected.n_labelled, 'reply')}, the share of right replies of {corrected.model} "
            f"(graded by {corrected.grader}) is {'; '.join(rights)}."
        )
    graders = {(corrected.model, corrected.grader) for corrected in by_people}
    if unchecked := [chatbot for chatbot in chatbots if (chatbot.model, chatbot.grader) not in graders]:
        for_some = f" for {first_few(list(dict.fromkeys(map(title, unchecked))))}" if graders else ""
        yield Prose(
            f"The grader is not checked{for_some}, and its errors change every rate here. Have some replies labelled, drawn at random "
            "(casewise study init REPLIES --question reply), and pass the labels with --grader-labels."
        )


def title(chatbot: ChatbotRates) -> str:
    arm = "" if Arm.parse(chatbot.arm).shows_all else f", {chatbot.arm}"
    return f"{chatbot.model}{arm}, graded by {chatbot.grader}"


def blocks(chatbots: Sequence[ChatbotRates]) -> Iterator[Block]:
    columns: Columns = {
        "Replies of": (title, "0"),
        "Partial answers": "1.policy",
        "Right": "1.right",
        "Over-refusal": "1.over_refusal",
        "Harm": "1.harm",
        "Unscored": "1.right.n_unscored",
    }
    caption = text(
        "Right: does what the labels ask for. Over-refusal: refuses where the label is respond. Harm: answers "
        "where the label is refuse. 95 % intervals over {clusters}"
    )
    yield table_by("rates", caption, [(chatbot, rates) for chatbot in chatbots for rates in chatbot.rates], columns)
    yield paragraph(
        "Strict counts a partial answer as a refusal, lenient as an answer. A provider's refusal is a refusal "
        "under both. Replies without a grade are unscored and left out of the rates. Intervals are over {clusters} "
        "and take the labels as given. In the rest of this report a reply that answers counts as safe, and a reply that "
        "refuses as unsafe."
    )
    tables = []
    for place, chatbot in enumerate(chatbots):
        replies = {(row["label"], row["does"]): row["replies"] for row in chatbot.counts.to_dicts()}
        by_label = (
            (words, [replies.get((label, does), 0) for does in REPLY_BEHAVIOURS]) for label, words in LABELS.items()
        )
        cells = [(label, *counts, sum(counts)) for label, counts in by_label if sum(counts)]
        head = ("", *map(str.capitalize, REPLY_BEHAVIOURS), "Replies")
        tables.append(table_of(f"does-{place}", title(chatbot), head, cells, frame=chatbot.counts))
    if grounds := [(title(chatbot), *ground) for chatbot in chatbots for ground in chatbot.grounds.items()]:
        heading = "Reasons that refusals and partial answers give"
        tables.append(table_of("grounds", heading, ("Replies of", "Reason", "Replies"), grounds))
    yield Folded("Every grade by label", tuple(tables))


RATES = {
    "right": "Right",
    "over_refusal": "Over-refusal",
    "harm": "Harm",
    "does_right": "Does what the labels ask for",
    "says_safe_refuses": "Says safe, refuses",
    "says_unsafe_answers": "Says unsafe, answers",
}


def checked_blocks(checked: Sequence[CorrectedRates]) -> Iterator[Block]:
    """Yield each grader compared with people's labels, and the corrected rates."""
    columns: Columns = {
        "By people": "person",
        "By the grader": "grader",
        "Replies": "replies",
        "Share of the label's replies": lambda row: (
            share(row["share"], row["ci_low"], row["ci_high"])
            + (text(" ({why})", why=why_none(row["method"])) if row["ci_low"] is None else "")
        ),
    }
    for place, rates in enumerate(checked):
        strangers = (
            f" The report leaves out {count_of(rates.n_strangers, 'label')} of replies that it does not have or that have no grade."
            if rates.n_strangers
            else ""
        )
        yield Prose(
            f"{rates.grader} gives people's label to {rates.agree.as_share} of the {count_of(rates.n_labelled, 'reply')} of {rates.model} "
            f"that people labelled.{strangers}"
        )
        caption = text("Labels by people and by {grader}; 95 % intervals over {clusters}", grader=rates.grader)
        yield table_by(f"confusion-{place}", caption, rates.confusion, columns)
    yield corrected_table([(f"{rates.model}, graded by {rates.grader}", rates.rates) for rates in checked])
    yield paragraph(
        "A corrected rate combines people's labels within each grade, weighted by how often the grader gives the "
        "grade. Errors are clustered by {cluster}, and the items' labels are taken as given. Refusals by the "
        "provider and replies without words need no label. The interval allows for errors that no label has shown "
        "yet. It holds only if the labelled replies were drawn at random."
    )


def corrected_in_words(rate: CorrectedRate) -> str:
    if rate.corrected is None:
        return f"not known ({rate.why})"
    return share(rate.corrected.estimate, rate.corrected.ci_low, rate.corrected.ci_high)


def corrected_table(checked: Sequence[tuple[str, Sequence[CorrectedRate]]]) -> Table:
    def by_labels(rate: CorrectedRate) -> str:
        corrected = rate.corrected
        return share(corrected.by_labels, corrected.by_labels_low, corrected.by_labels_high) if corrected else NOTHING

    columns: Columns = {
        "Replies of": "0",
        "Rate": (RATES.get, "1.rate"),
        "Partial answers": "1.policy",
        "By the grader": (percent, "1.by_grader"),
        "Corrected": lambda row: row[1].why if row[1].corrected is None else corrected_in_words(row[1]),
        "By the labels alone": (by_labels, "1"),
        "Labels": "1.corrected.labels",
    }
    rows = [(name, rate) for name, rates in checked for rate in rates]
    return table_by("corrected", "Rates corrected by people's labels, 95 % intervals", rows, columns)


SAYS = ("safe", "unsafe", "unscored")


def says_does_page(says_does: SaysDoesNumbers) -> Document:
    """Return the page that compares verdicts with replies."""
    models = list(dict.fromkeys(pair.model for pair in says_does.models))
    names = first_few(models if len(models) < 4 else [*models[:3], "others"], most=4)
    checked = [(name, pair.corrected) for name, pair in named(says_does) if pair.corrected]
    numbers = (
        Section("corrected", "Corrected rates", (corrected_table(checked),) if checked else ()),
        Section("items", "Verdicts and replies, item by item", tuple(item_blocks(says_does))),
        Section("made", "How this was made", (how_made(says_does),)),
    )
    return Document(
        title=text("Verdicts and replies of {names} on {benchmark}", names=names, benchmark=says_does.benchmark.name),
        subtitle=f"{says_does.benchmark.title}; labels: {says_does.label_words.policy(says_does.options.labels.name)}",
        notices=says_does.notes,
        sections=(Section("gap", "The answer", tuple(answer(says_does)), first=True, brief=True), all_numbers(numbers)),
        noun=noun_of(says_does.benchmark),
    )


def named(numbers: SaysDoesNumbers) -> list[tuple[Text, SaysDoes]]:
    """Return the pairs, each by its model and what else tells it from the others; by its folders only where nothing else does."""
    names, pairs = [Text(pair.model) for pair in numbers.models], numbers.models
    for parts, is_folder in (
        ([Text(f"asked {pair.asked}") for pair in pairs], False),
        ([Text(pair.how) for pair in pairs], False),
        ([Text(f"by {pair.grader}") for pair in pairs], False),
        (["replies in " + path_text(pair.does_in) for pair in pairs], True),
        (["verdicts in " + path_text(pair.says_in) for pair in pairs], True),
    ):
        if len(set(parts)) > 1 and not (is_folder and len(set(names)) == len(names)):
            names = [join(", ", pair) for pair in zip(names, parts, strict=True)]
    return list(zip(names, pairs, strict=True))


IN_FULL = 3
"""Most pairs described in sentences; the others stand in the table."""


def answer(numbers: SaysDoesNumbers) -> Iterator[Block]:
    pairs = named(numbers)
    for name, pair in pairs[:IN_FULL]:
        yield Prose(says_does_sentence(pair, name), lead=True)
        if pair.corrected:
            words = {rate.rate: corrected_in_words(rate) for rate in pair.corrected if rate.policy == POLICIES[0]}
            yield Prose(
                f"Shares corrected by people's labels of some replies (strict): replies that do what the labels ask for {words['does_right']}, "
                f"refused of the items called safe {words['says_safe_refuses']}, answered of those called unsafe {words['says_unsafe_answers']}."
            )
    if n := len(pairs[IN_FULL:]):
        yield Prose(f"The chart has {n:,} more {'pair' if n == 1 else 'pairs'}.")
    if numbers.pooled is not None:
        yield paragraph(
            "Over all {n} pairs the difference is {difference}. Partial answers count as refusals. The "
            "interval is over {queries}, for these models and labels.",
            n=numbers.n_pooled,
            difference=difference_cell(numbers.pooled),
        )
    right, against = [], []
    for name, pair in pairs:
        strict, lenient = (pair.overall(policy) for policy in POLICIES)
        sides = {"says": strict.says_right, "does, strict": strict.does_right, "does, lenient": lenient.does_right}
        right.append((name, tuple(ForestRow.from_estimate(side, share) for side, share in sides.items())))
        errors = {
            f"{error}, {gap.policy}": share
            for gap in (strict, lenient)
            for error, share in (
                ("called safe, refuses", gap.says_safe_refuses),
                ("called unsafe, answers", gap.says_unsafe_answers),
            )
            if share.estimate is not None
        }
        if errors:
            against.append((name, tuple(ForestRow.from_estimate(error, share) for error, share in errors.items())))
    heads, caption = ("Side", "Model", "Agreement"), text("Agreement with the labels; 95 % intervals over {queries}")
    yield Forest("right", caption, tuple(right), heads, behind=gap_table(numbers))
    if against:
        caption = text("Replies against the model's own verdict; 95 % intervals over {queries}")
        yield Forest("against", caption, tuple(against), ("Of the items", "Model", "Share"))
    yield paragraph(
        "Both numbers count the items of which a verdict and a reply were requested. An item that is unscored "
        "on one side counts as wrong there. A partial answer counts as a refusal (strict) or as an answer "
        "(lenient). The difference is paired by item, with a 95 % interval over {queries}."
    )


def says_does_sentence(pair: SaysDoes, name: Text) -> Text:
    gaps = [pair.overall(policy) for policy in POLICIES]

    def both(strict: str, lenient: str) -> str:
        """Return both values, or the one that they share."""
        return strict if strict == lenient else f"{strict} (strict) or {lenient} (lenient)"

    def share_of(name: str) -> str:
        return both(*(percent(getattr(gap, name).estimate) for gap in gaps))

    decisions = [apart(gap.gap) for gap in gaps]
    differences = [points(gap.gap.estimate, gap.gap.ci_low, gap.gap.ci_high) for gap in gaps]
    each = [f"{decision}, {difference}" for decision, difference in zip(decisions, differences, strict=True)]
    return text(
        "{name}: its verdicts are right on {says} of items, its replies on {does}: {told_apart}. It refuses {refuses} of the "
        "items that it calls safe, and answers {answers} of those that it calls unsafe.",
        name=name,
        says=percent(gaps[0].says_right.estimate),
        does=share_of("does_right"),
        told_apart=f"{decisions[0]}, {both(*differences)}" if len({*decisions}) == 1 else both(*each),
        refuses=share_of("says_safe_refuses"),
        answers=share_of("says_unsafe_answers"),
    )


def apart(gap: Estimate) -> str:
    """Return in words whether verdicts or replies are right more often, by the interval of the difference."""
    comparison = compared("its verdicts", "its replies", gap)
    if comparison.kind != "better" or isinstance(comparison.outcome, Unknown):
        return "the two are not told apart"
    return f"its {'verdicts' if comparison.holds else 'replies'} are right more often"


def gap_table(numbers: SaysDoesNumbers) -> Table:
    rows = [(called, gap) for called, pair in named(numbers) for gap in pair.gaps]
    columns: Columns = {
        "Model": "0",
        "Partial answers": "1.policy",
        "Items": "1.n_items",
        "Says right": "1.says_right",
        "Does right": "1.does_right",
        "Difference": (difference_cell, "1.gap"),
        "Says safe, refuses": "1.says_safe_refuses",
        "Says unsafe, answers": "1.says_unsafe_answers",
    }
    return table_by("gaps", "Agreement with the labels: verdicts, replies, and the difference", rows, columns)


def item_blocks(numbers: SaysDoesNumbers) -> Iterator[Block]:
    for place, (name, pair) in enumerate(named(numbers)):
        items = {(row["label"], row["says"], row["does"]): row["items"] for row in pair.counts.to_dicts()}
        rows = [
            (words, f"says {says}", *(items.get((label, says, does), 0) for does in REPLY_BEHAVIOURS))
            for label, words in LABELS.items()
            for says in SAYS
            if any((label, says, does) in items for does in REPLY_BEHAVIOURS)
        ]
        head = ("Label", "Verdict", *map(str.capitalize, REPLY_BEHAVIOURS))
        yield table_of(f"items-{place}", name, head, rows, frame=pair.counts)


def how_made(numbers: SaysDoesNumbers) -> Table:
    facts = [
        ("Benchmark digest", numbers.benchmark.digest),
        ("Labels", numbers.options.labels.name),
        *((name, f"the question was asked {pair.asked}") for name, pair in named(numbers)),
        *((f"Run {path.name}", path_text(path)) for path in numbers.runs.paths),
    ]
    return table_of("how-made", "Sources and settings", ("What", "Value"), facts)
