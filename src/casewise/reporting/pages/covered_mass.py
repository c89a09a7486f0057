"""How much of the first token's distribution goes to the labels at all: low mass gathers where a model would rather refuse."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from casewise.reporting.document import Block, Prose, count, number, percent, table_by

__all__ = ["covered_mass_blocks"]


def covered_mass_blocks(table: pl.DataFrame) -> Iterator[Block]:
    """The table, and how to read it."""
    yield Prose(
        "P(safe) is normalised over the tokens that begin “safe” or “unsafe”. This is the share of the first token's whole "
        "distribution that goes to them: where it is low, the model would rather have said something else, such as a "
        "refusal, and its probability speaks of little."
    )
    yield table_by(
        "covered-mass",
        "Probability mass on the labels, by people's label",
        table.to_dicts(),
        {
            "Judge": lambda row: row["judge"],
            "Arm": lambda row: row["arm"],
            "People say": lambda row: row["label"],
            "Judgements": lambda row: count(row["judgements"]),
            "Mean mass": lambda row: number(row["mean"]),
            "Lowest": lambda row: number(row["lowest"]),
            "Below one half": lambda row: percent(row["low"]),
        },
        frame=table,
    )
