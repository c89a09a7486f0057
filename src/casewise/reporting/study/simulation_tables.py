"""What a simulated design is worth, as tables."""

from __future__ import annotations

from casewise.reporting.document import Document, Table, interval, number, of_tables, percent, table_of
from casewise.studies.analysing.simulation import SimulatedStudies

__all__ = ["simulation_page"]


def simulation_page(found: SimulatedStudies) -> Document:
    """What each analysis found and how often it was right, ready for any face."""
    title = f"{found.repeats:,} simulated studies of this design, seed {found.seed}"
    return of_tables(title, simulation_tables(found))


def simulation_tables(found: SimulatedStudies) -> list[Table]:
    """Rejections and coverage of each analysis by contrast, and the share of significant tasks."""
    tables = []
    for pair in found.plan.contrasts:
        rows = [row for row in found.contrasts.to_dicts() if (row["first"], row["second"]) == pair]
        if not rows:
            continue
        cells = [
            (
                row["title"],
                percent(row["rejected"]),
                interval(row["rejected_low"], row["rejected_high"]),
                row["is"],
                percent(row["coverage"]),
            )
            for row in rows
        ]
        caption = (
            f"{pair[0]} − {pair[1]}: true difference {number(round(rows[0]['true_difference'], 3) + 0.0)}, "
            f"over {found.repeats:,} studies (seed {found.seed})"
        ).replace("_", " ")
        heads = ("Analysis", "Rejects", "95 % interval", "Rejections are", "95 % interval covers")
        tables.append(table_of(f"{pair[0]}-{pair[1]}", caption, heads, cells))
    shares = [(row["test"], percent(row["share_significant"])) for row in found.tasks.to_dicts()]
    tables.append(table_of("tasks", f"Tasks significant at {found.plan.alpha:g}", ("Test", "Share of tasks"), shares))
    return tables
