"""What people call each item, by the label policy that was decided beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from casewise.stats.agreeing.labels import LabelPolicy, labels
from casewise.stats.people.coded_ratings import CodedRatings

__all__ = ["label_table"]

INTENT = {"safe": True, "unsafe": False}
"""How the paper's conditions begin that say what an author meant."""


def label_table(ratings: CodedRatings, policy: LabelPolicy) -> pl.DataFrame:
    """One row a condition: `items`, and how many of them are `safe`, `unsafe`, `tied` (half of each) or without a label.

    What an author meant is read from the names of the paper's conditions; an item of another one has no intent.
    """
    weight = labels(_items(ratings), policy).weight
    rows: list[dict[str, Any]] = []
    for index, name in enumerate(ratings.condition.names):
        own = weight[ratings.item_condition == index]
        rows.append(
            {
                "condition": name,
                "items": len(own),
                "safe": int((own == 1).sum()),
                "unsafe": int((own == 0).sum()),
                "tied": int((own == 0.5).sum()),
                "without": int(np.isnan(own).sum()),
            }
        )
    return pl.DataFrame(rows)


def _items(ratings: CodedRatings) -> pl.DataFrame:
    intents = [INTENT.get(name.split("_")[0]) for name in ratings.condition.names]
    of_query = None if ratings.category is None else [ratings.category.names[code] for code in ratings.category.codes]
    return pl.DataFrame(
        {
            "n_safe": ratings.by_item.successes,
            "n_votes": ratings.by_item.sizes,
            "intended_safe": pl.Series([intents[c] for c in ratings.item_condition], dtype=pl.Boolean),
            "published_rate": pl.Series([None] * len(ratings.item), dtype=pl.Float64),
            "category": [None if of_query is None else of_query[q] for q in ratings.item_query],
        },
        schema_overrides={"category": pl.String},
    )
