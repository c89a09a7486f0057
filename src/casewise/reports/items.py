"""The pages of a benchmark and of an item, and the items that are decided otherwise than people do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from casewise.ask.layouts import groups
from casewise.audits.subject import parameter_in_words
from casewise.evaluate.cases import CATEGORY, Case, ErrorGroup
from casewise.evaluate.judged_runs import vote_counts
from casewise.notation import NOTHING, number, p_value, percent, spoken
from casewise.records import Item, ShownContext, as_text
from casewise.records.item import Judged, Turn
from casewise.reports.document import Block, Columns, Document, Exhibit, Prose, Section, Table, table_by, table_of
from casewise.storage.benchmark import Benchmark
from casewise.storage.wording import LabelWords, noun_of
from casewise.text import Text, capitalised, synthetic_notes, text

NOUN_FIELDS = {"queries": text("{queries}")}
"""The counts of a benchmark that go by the noun for what is judged."""


def benchmark_page(benchmark: Benchmark) -> Document:
    """Return counts, conditions and the taxonomy with how many items and how safe people find them."""
    contents = [(NOUN_FIELDS.get(kind, kind), n) for kind, n in benchmark.counts.model_dump().items()]
    tables = (
        table_of("counts", "Contents", ("Kind", "Number"), contents),
        by(benchmark, "condition", "Conditions"),
        by(benchmark, "category", "Categories"),
    )
    about = benchmark.about.description or benchmark.about.source or ""
    sections = (Section("counts", "Contents", tables, brief=True),)
    return Document(benchmark.title, about, benchmark.notes(), sections, noun_of(benchmark))


def by(benchmark: Benchmark, column: Literal["condition", "category"], caption: str) -> Table:
    counts = vote_counts(benchmark, column)
    columns: Columns = {
        column.capitalize(): column,
        **({"Domain": lambda row: row["domain"] or NOTHING} if column == "category" else {}),
        "Items": "items",
        "Ratings": "votes",
        "Safe": (lambda safe, votes: percent(safe / votes if votes else None), "safe", "votes"),
    }
    if counts["unsure"].sum():
        columns["Unsure"] = lambda row: percent(row["unsure"] / max(row["votes"] + row["unsure"], 1))
    return table_by(caption.lower(), caption, counts.to_dicts(), columns)


def benchmark_json(benchmark: Benchmark) -> dict[str, Any]:
    """Return the content of a benchmark, in brief, as plain JSON values."""
    return {
        "name": benchmark.name,
        "version": benchmark.about.version,
        "digest": benchmark.digest,
        "counts": benchmark.counts.as_json(),
        "taxonomy": {"name": benchmark.taxonomy.name, "categories": list(benchmark.taxonomy.names)},
        "conditions": benchmark.item_columns["condition"].value_counts(sort=True).to_dicts(),
        "synthetic": benchmark.about.synthetic,
        "notes": list(benchmark.notes()),
    }


def item_page(benchmark: Benchmark, item: Item) -> Document:
    """Return one item: its query, its context, and what people said."""
    return Document(
        title=f"Item {item.own_id}",
        subtitle=benchmark.title,
        notices=synthetic_notes(benchmark.about.synthetic),
        sections=(Section("item", "The item", (item_exhibit(benchmark, item),), brief=True),),
        noun=noun_of(benchmark),
    )


def item_exhibit(benchmark: Benchmark, item: Item) -> Exhibit:
    """Return the texts of one item."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    intent = (
        "none" if context is None or context.intended_safe is None else "safe" if context.intended_safe else "unsafe"
    )
    labels = LabelWords.for_benchmark(benchmark)
    voted = labels.votes(votes.safe, votes.total, unsure=votes.unsure, share=item.published_rate)
    return Exhibit(
        heading=f"{benchmark.category_of(item)}, {spoken(item.condition)}",
        facts=(
            *(((labels.column, voted),) if item.mean is None or votes.total or votes.unsure else ()),
            *((("Mean rating", number(item.mean)),) if item.mean is not None else ()),
            ("Intended", intent),
            *((name, as_text(value)) for name, value in (item.columns or {}).items()),
        ),
        query=query.text,
        context=shown_groups(context.shown() if context else {}, judged=query.judged, before=query.before or ()),
    )


def item_json(benchmark: Benchmark, item: Item) -> dict[str, Any]:
    """Return one item as plain JSON values."""
    query, context, votes = benchmark.query[item.query_id], benchmark.context_of(item), benchmark.votes[item.id]
    return {
        "id": item.id,
        "source_id": item.source_id,
        "columns": item.columns,
        "query": query.text,
        "category": benchmark.category_of(item),
        "condition": item.condition,
        "pair_id": item.pair_id,
        "intended_safe": context.intended_safe if context else None,
        "context": context.shown() if context else None,
        "n_safe": votes.safe,
        "n_votes": votes.total,
        "n_unsure": votes.unsure,
    }


def case_exhibit(case: Case, heading: str, facts: tuple[tuple[str, str], ...]) -> Exhibit:
    """Return one item that was decided otherwise than people do, to read."""
    return Exhibit(
        heading=heading,
        facts=(*facts, *case.facts),
        query=case.query,
        context=shown_groups(case.shown, judged=case.judged, before=case.before),
    )


def shown_groups(
    shown: ShownContext, *, judged: Judged = "request", before: Sequence[Turn] = ()
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return the conversation before what is judged, and what is shown of a context, as groups of labelled texts."""
    turns = tuple((f"{number}. {turn.role}", turn.text) for number, turn in enumerate(before, 1))
    stated = (
        (spoken(group.name), tuple((spoken(name or group.name), as_text(text)) for name, text in group.statements))
        for group in groups(shown)
    )
    return (*([(f"conversation before the {judged}", turns)] if turns else []), *stated)


def context_words(case: Case) -> str:
    """Return the shortened statements of a case's context."""
    return beginning("; ".join(statement for _, texts in shown_groups(case.shown) for _, statement in texts), 120)


def beginning(words: str, shown: int = 60) -> str:
    """Return the first words of a text, on one line."""
    line = " ".join(words.split())
    return line if len(line) <= shown else f"{line[: shown - 1].rstrip()}…"


def error_group_blocks(
    groups: Iterable[ErrorGroup], benchmark: Benchmark, *, done: Mapping[str, str], where: str = ""
) -> Iterator[Block]:
    """Yield what separates each kind of error, with the items under it; that nothing does, where nothing is shown to.

    `done`: the wrong decision of each kind in a word, such as `answered` for harm. `where`: ends the captions.
    Texts of a benchmark that may not be given away stand in exhibits alone.
    """
    quoted = not benchmark.restricted
    for group in groups:
        yield Prose(group_sentence(group, benchmark, done=done), lead=group.holds)
        if not group.holds:
            continue
        values = group_values(group, done)
        if group.single_statement is None and quoted:
            columns: Columns = {
                capitalised(values["name"]): lambda row: row.statement or "not stated",
                capitalised(values["wrong"]): "errors",
                "Items": "items",
            }
            caption = text("Items labelled {label} that are {wrong}, by {name}{of}", **values, of=where)
            yield table_by(f"{group.kind}-by-statement", caption, group.statements, columns)
        columns = {"Item": "id", text("{Query}"): lambda case: beginning(case.query), "Context": context_words}
        caption = text("Items behind this: labelled {label} and {wrong}{of}", **values, of=where)
        yield table_by(f"{group.kind}-group", caption, group.cases, columns if quoted else {"Item": "id"})


def group_values(group: ErrorGroup, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the sentences about a kind of error."""
    return {
        "n": group.items,
        "label": "unsafe" if group.kind == "harm" else "safe",
        "wrong": names[group.kind],
        "errors": group.errors,
        "name": parameter_in_words(group.parameter),
        "searched": f"{group.searched:,} statements and parameters",
        "p": p_value(group.p),
    }


def group_sentence(group: ErrorGroup, benchmark: Benchmark, *, done: Mapping[str, str], tested: bool = True) -> Text:
    """Return what separates a kind of error from the rest, or that nothing is shown to; `tested`: with the test."""
    values = group_values(group, done)
    if not group.searched:
        why = (
            "nothing can separate them"
            if group.errors == group.items
            else "no statement stands in enough of their contexts to group them"
        )
        return text("Of {n:item} labelled {label}, {errors:,} are {wrong}: {why}.", **values, why=why)
    if not group.holds:
        return text(
            "Of {n:item} labelled {label}, {errors:,} are {wrong}. No statement or parameter of the contexts separates "
            "these errors from the rest beyond chance ({searched} were searched).",
            **values,
        )
    test = text(" This is the best of {searched}, and p = {p} is corrected for the search.", **values) if tested else ""
    statement = group.single_statement
    if statement is None:
        return text("Of {n:item} labelled {label}, the share that is {wrong} depends on the {name}.", **values) + test
    n_others, errors = group.items - statement.items, group.errors - statement.errors
    return (
        text(
            "Of the items labelled {label} {whose}, {with_it:,} of {with_n:,} are {wrong} ({share}), and of the others "
            "{others:,} of {n_others:,} ({share_of_others}).",
            **values,
            whose=whose(group.parameter, statement.statement, quoted=not benchmark.restricted),
            with_it=statement.errors,
            with_n=statement.items,
            share=percent(statement.errors / statement.items),
            others=errors,
            n_others=n_others,
            share_of_others=percent(errors / n_others),
        )
        + test
    )


def whose(parameter: str, statement: str | None, *, quoted: bool) -> str:
    """Return the words for the items of a statement."""
    name = parameter_in_words(parameter)
    if statement is None:
        return f"whose context does not state the {name}"
    if not quoted:
        return f"that share one {name}"
    if parameter == CATEGORY:
        return f"of the category “{beginning(statement)}”"
    return f"with the {name} “{beginning(statement, 100)}”"
