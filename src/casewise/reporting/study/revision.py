"""What revising contexts was worth, laid out."""

from __future__ import annotations

from casewise.evaluation.study.worth_of_revision import WorthOfRevision
from casewise.reporting.document import Prose, Section, count, interval, percent, table_of

__all__ = ["revision_section"]

HOW = (
    "Each row averages over the queries that have both, and its interval is over these queries. Safe less unsafe is how far "
    "the two contexts of a query move people apart. Where the generated contexts were rated in another study than the revised "
    "ones, other people rated them at another time, and a difference between these people is in every row that is theirs."
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
            percent(row["difference"]),
            interval(row["ci_low"], row["ci_high"]),
        )
        for row in found.table.to_dicts()
    ]
    heads = (
        "Who",
        "What",
        "Contexts meant",
        "Queries",
        "Generated",
        "Revised",
        "Revised less generated",
        "95 % interval",
    )
    table = table_of(
        "revision", "Generated against revised contexts of the same queries", heads, cells, frame=found.table
    )
    return Section("revision", "The worth of revision", (table, Prose(HOW)), brief=True)
