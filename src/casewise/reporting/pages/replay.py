"""A judge's published output, scored again and laid out: the release's numbers beside ours."""

from __future__ import annotations

from casewise.evaluation.published.replay import Replay
from casewise.reporting.document import Document, Table, count, interval_or, number, of_tables, table_of
from casewise.stats.agreeing.metrics import metric_named

__all__ = ["replay_page", "replay_table"]

HOW_TO_READ = (
    "published: the release's own rules (the intent counts as a vote, an unparsed reply as 1.0).",
    "votes: people's votes alone, a tie half and half, an unscored item a miss; 95 % intervals over queries.",
)


def replay_page(found: Replay) -> Document:
    """The published numbers and ours, how to read them, and what is odd about the file."""
    return of_tables(f"{found.judge}, scored again", [replay_table(found)], [*HOW_TO_READ, *found.notes])


def replay_table(found: Replay) -> Table:
    """The published numbers and ours side by side."""
    rows = []
    for name, ours in found.votes.items():
        published = found.published.get(name)
        rows.append(
            (
                metric_named(name).title,
                number(published, digits=5),
                number(ours.estimate, digits=5),
                interval_or(ours.ci_low, ours.ci_high, ours.method),
                count(ours.n),
            )
        )
    omitted = f", without {', '.join(found.omitted)}" if found.omitted else ""
    caption = f"{found.judge}, {found.elicitation}{omitted}: {found.n:,} items, {found.n_unscored:,} unscored"
    return table_of("replay", caption, ("Metric", "published", "votes", "95 % interval", "Items"), rows)
