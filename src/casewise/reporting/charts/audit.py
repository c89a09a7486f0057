"""The charts of the audit, the leaderboard and the paper's pages, in the style of `casewise.reporting.charts.drawing`."""

from __future__ import annotations

import polars as pl

from casewise.reporting.charts.drawing import COLOURS, WIDTH, data, svg

__all__ = ["votes_by_intent"]


def votes_by_intent(counts: pl.DataFrame) -> str:
    """Items over safe votes, a panel for each intent.

    Parameters
    ----------
    counts
        `votes`, `items` and `intended` (`safe` or `unsafe`).
    """
    import altair as alt

    colour = alt.Color(
        "intended:N",
        title="Intended",
        scale=alt.Scale(domain=["safe", "unsafe"], range=[COLOURS["safe"], COLOURS["unsafe"]]),
    )
    bars = (
        alt.Chart(data(counts))
        .mark_bar()
        .encode(
            x=alt.X("votes:O", title="Safe votes", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("items:Q", title="Items"),
            color=colour,
        )
        .properties(width=WIDTH, height=130)
    )
    return svg(bars.facet(row=alt.Row("intended:N", title=None)))
