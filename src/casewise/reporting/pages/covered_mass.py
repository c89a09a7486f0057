"""How much of the first token's distribution goes to the labels at all: low mass gathers where a model would rather refuse."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from casewise.reporting.document import Block, Prose, count, number, percent, table_of

__all__ = ["covered_mass_blocks"]


def covered_mass_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """The table, and how to read it."""
    yield Prose(
        "P(safe) is normalised over the tokens that begin “safe” or “unsafe”. This is the share of the first token's whole "
        "distribution that goes to them: where it is low, the model would rather have said something else, such as a "
        "refusal, and its probability speaks of little."
    )
    yield table_of(
        "covered-mass",
        "Probability mass on the labels, by people's label",
        ("Judge", "Arm", "People say", "Judgements", "Mean mass", "Lowest", "Below one half"),
        [
            (
                row["judge"],
                row["arm"],
                row["label"],
                count(row["judgements"]),
                number(row["mean"]),
                number(row["lowest"]),
                percent(row["low"]),
            )
            for row in table.to_dicts()
        ],
        frame=table,
    )
