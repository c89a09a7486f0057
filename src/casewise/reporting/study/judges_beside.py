"""What judges beside people add to a study's report: rates from fewer people, and what revising contexts was worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from casewise.evaluation.study.rates_with_judge import RatesWithJudge
from casewise.evaluation.study.worth_of_revision import WorthOfRevision
from casewise.reporting.document import Block, Notice, Prose, Section, count, interval, number, percent, table_of

__all__ = ["revision_section", "with_judge_section"]

HOW = (
    "Each row averages over the queries that have both, and its interval is over these queries. Safe less unsafe is how far "
    "the two contexts of a query move people apart. Where the generated contexts were rated in another study than the revised "
    "ones, other people rated them at another time, and a difference between these people is in every row that is theirs. "
    "A majority of two errs more often than one of twenty: compare majorities where both have about as many ratings."
)


def revision_section(found: WorthOfRevision) -> Section:
    """The table and how to read it."""
    cells = [
        (
            row["who"],
            row["measure"],
            "safe less unsafe" if row["intent"] == "both" else row["intent"],
            count(row["queries"]),
            percent(row["generated"]),
            percent(row["revised"]),
            f"{number(row['difference'])} {interval(row['ci_low'], row['ci_high'])}",
        )
        for row in found.table.to_dicts()
    ]
    heads = ("Who", "What", "Contexts", "Queries", "Generated", "Revised", "Revised less generated")
    table = table_of(
        "revision", "Generated against revised contexts of the same queries", heads, cells, frame=found.table
    )
    return Section("revision", "The worth of revision", (table, Prose(HOW)), brief=True)


def with_judge_section(judges: Sequence[RatesWithJudge]) -> Section:
    """A table a judge, and how to read it; nothing where people rated every item, for then there is nothing to help with."""
    some = [found for found in judges if not len(found.table) or (found.table["labels"] < found.table["items"]).any()]
    said = tuple(block for place, found in enumerate(some) for block in blocks(found, place))
    return Section("with-judge", "People's rates, with a judge on every item", said, brief=True)


def blocks(found: RatesWithJudge, place: int) -> Iterator[Block]:
    if len(found.table):
        cells = [
            (
                row["condition"],
                f"{count(row['labels'])} of {count(row['items'])}",
                f"{percent(row['by_labels'])} {interval(row['by_labels_low'], row['by_labels_high'])}",
                f"{percent(row['estimate'])} {interval(row['ci_low'], row['ci_high'])}",
                number(row["weight"], digits=2),
                number(row["worth"], digits=0),
            )
            for row in found.table.to_dicts()
        ]
        heads = ("Condition", "Rated", "People alone", "With the judge", "Weight", "Worth so many rated")
        caption = f"Safe rate of items, by people and {found.judge}"
        name = "rates-with-judge" + (f"-{place + 1}" if place else "")
        yield table_of(name, caption, heads, cells, frame=found.table)
        yield Prose(
            "The judge's errors are measured where people rated, so the rate is people's however good or bad the judge is "
            "(prediction-powered inference, power-tuned; errors over queries). It holds where the rated items are a random "
            "part of all. Each item counts once, however many people rated it."
        )
    for condition, why in found.not_available.items():
        yield Notice(f"{condition}: no rate with the judge; {why}.")
