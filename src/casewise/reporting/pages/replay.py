"""A judge's published output, scored again and laid out: the release's numbers beside ours."""

from __future__ import annotations

from casewise.evaluation.replay import Replay
from casewise.reporting.document import Table, count, interval, number, table_of
from casewise.stats.agreeing.metrics import metric_named

__all__ = ["replay_table"]


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
                interval(ours.ci_low, ours.ci_high) if ours.ci_low is not None else ours.method,
                count(ours.n),
            )
        )
    omitted = f", without {', '.join(found.omitted)}" if found.omitted else ""
    caption = f"{found.judge}, {found.elicitation}{omitted}: {found.n:,} items, {found.n_unscored:,} unscored"
    return table_of("replay", caption, ("Metric", "published", "votes", "95 % interval", "Items"), rows)
