"""Judges and items on one scale, laid out."""

from __future__ import annotations

from collections.abc import Iterator

from casewise.evaluation.board.scale import JudgeScale
from casewise.reporting.document import Block, Prose, Section, interval, number, percent, table_of

__all__ = ["scale_sections"]

MOST = 20
"""Suspect labels laid out; all stand in the JSON."""


def scale_sections(scale: JudgeScale | None) -> Iterator[Section]:
    """Judges, labels in doubt and the items that place a new judge; nothing where no scale was asked for."""
    if scale is not None:
        yield Section("scale", "Judges and items on one scale", tuple(blocks(scale)), brief=True)


def blocks(scale: JudgeScale) -> Iterator[Block]:
    cells = [
        (
            row["judge"],
            number(row["ability"], digits=2),
            interval(row["ci_low"], row["ci_high"], digits=2),
            number(row["accuracy"]),
        )
        for row in scale.judges.to_dicts()
    ]
    heads = ("Judge", "Ability (logits)", "95 % interval", "Accuracy")
    caption = f"Abilities over {len(scale.items):,} items with a majority"
    yield table_of("abilities", caption, heads, cells, frame=scale.judges)
    yield Prose(placing(scale))
    if len(scale.suspects):
        yield suspects(scale)
        yield Prose(
            "Good judges are wrong on these items where poor ones are not, or all are where the others' answers make that "
            "unlikely: read them, and the votes. Labels are taken as given on this scale. Judges of one make err together, which looks the same."
        )


def placing(scale: JudgeScale) -> str:
    """What the chosen items are worth, as tried on judges that were left out."""
    chosen = f"The {len(scale.chosen)} items that tell most of a new judge stand in the JSON (`items_that_place`)."
    if scale.tried is None:
        return f"{chosen} With fewer than three judges nobody can be left out, so how well they place is not known."
    return (
        f"{chosen} Each judge left out and placed by as many items chosen without it: its accuracy on all items was "
        f"predicted to within 0.03 for {percent(scale.tried.within, digits=0)} of {len(scale.tried.true)} judges, and off by "
        f"{number(scale.tried.typical)} typically (root mean square). A judge unlike those here is placed worse."
    )


def suspects(scale: JudgeScale) -> Block:
    rows = scale.suspects.head(MOST).to_dicts()
    cells = [
        (
            row["item_id"],
            row["category"],
            f"{row['n_safe']} of {row['n_votes']}",
            f"{row['right']} of {len(scale.judges)}",
            percent(row["reversed_label"], digits=0),
        )
        for row in rows
    ]
    heads = ("Item", "Category", "People say safe", "Judges agree", "Label likely the other")
    caption = f"Labels that good judges contradict: {len(rows)} of {len(scale.suspects)}"
    return table_of("label-suspects", caption, heads, cells, frame=scale.suspects)
