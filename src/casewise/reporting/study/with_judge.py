"""People's rates from fewer people and a judge, laid out."""

from __future__ import annotations

from collections.abc import Iterator

from casewise.evaluation.rates_with_judge import RatesWithJudge
from casewise.reporting.document import Block, Notice, Prose, Section, count, interval, number, percent, table_of

__all__ = ["with_judge_section"]


def with_judge_section(found: RatesWithJudge) -> Section:
    """The table and how to read it."""
    return Section("with-judge", "People's rates, with a judge on every item", tuple(blocks(found)), brief=True)


def blocks(found: RatesWithJudge) -> Iterator[Block]:
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
        yield table_of("rates-with-judge", caption, heads, cells, frame=found.table)
        yield Prose(
            "The judge's errors are measured where people rated, so the rate is people's however good or bad the judge is "
            "(prediction-powered inference, power-tuned; errors over queries). It holds where the rated items are a random "
            "part of all. Each item counts once, however many people rated it."
        )
    for condition, why in found.not_available.items():
        yield Notice(f"{condition}: no rate with the judge; {why}.")
