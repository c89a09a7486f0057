"""What names in a report's tables mean: said once, for every page and for the reference."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from casewise.audits.words import SUBSETS
from casewise.records.base import shipped_toml
from casewise.reports.document import Table
from casewise.stats.metrics import FLOORS, ON_SCALE, all_metrics


@cache
def written() -> Mapping[str, Any]:
    return shipped_toml("casewise.reports", "terms.toml")


@cache
def meanings() -> Mapping[str, str]:
    """Name to meaning, in the order of the page; what holds in some tables alone is called `TABLE/NAME`."""
    metrics = {one.title: one.how for one in (*all_metrics(), *FLOORS, *ON_SCALE)}
    return metrics | SUBSETS | dict(written()["terms"])


def meanings_in(table: Table) -> dict[str, str]:
    """What the names of a table's columns and rows mean, as far as that is not plain."""
    known, kind = meanings(), table.name.rstrip("-0123456789")
    names = [*table.columns, *(cell for row in table.rows for cell in row), *written()["also"].get(table.name, ())]
    found = {}
    for name in dict.fromkeys(map(str.strip, names)):
        bare = name.removesuffix(", 95 % interval")
        keys = (f"{kind}/{bare}", name, bare, name.partition(" (")[0], name[:1].upper() + name[1:])
        if meaning := next((known[key] for key in keys if key in known), None):
            found[name] = meaning
    return found
