"""The multiverse of label and verdict rules, laid out as one table."""

from __future__ import annotations

from casewise.evaluate.multiverse import MultiverseNumbers
from casewise.notation import NOTHING
from casewise.reports.document import Block, Columns, Document, Prose, Section, Table, how_made, paragraph, table_by
from casewise.stats.metrics import find_metric
from casewise.storage.wording import noun_of
from casewise.text import count_of, join, text

MOST = 4
"""Most judges with a column; of more, the table has the first ones under the first combination."""


def multiverse_page(report: MultiverseNumbers) -> Document:
    """Return `report` as a document for any face: a sentence, and a row for each combination of rules."""
    about, judges = report.benchmark.about, report.judges
    facts = (
        ("Benchmark", f"{about.name} {about.version}, digest {report.benchmark.digest}"),
        ("Intervals over", text("{clusters}")),
        ("Seed", str(report.options.seed)),
    )
    blocks: list[Block] = [Prose(report.sentence, lead=True), table(report)]
    if report.without_effect:
        blocks.append(paragraph("Without effect here. {rules}", rules=join(" ", report.without_effect)))
    return Document(
        title=text(
            "{judges} on {benchmark} under every rule",
            judges=judges[0] if len(judges) == 1 else count_of(len(judges), "judge"),
            benchmark=about.name,
        ),
        subtitle=f"{find_metric(report.metric).heading} under {count_of(len(report.worlds), 'combination')} of rules",
        notices=report.notes,
        sections=(
            Section("answer", "The answer", tuple(blocks), first=True),
            Section("made", "How this was made", how_made("report --policies", report.runs.paths, "votes", facts)),
        ),
        noun=noun_of(report.benchmark),
        cluster=report.runs.cluster_noun,
    )


def table(report: MultiverseNumbers) -> Table:
    """Return a row for each combination of rules, with the judges' numbers and who is first."""
    heads = {"labels": "Labels", "ties": "Ties", "unsure": "Unsure", "unscored": "Unscored"}
    columns: Columns = {
        head: (lambda value: value or NOTHING, f"rules.{rule}")
        for rule, head in heads.items()
        if any(getattr(world.rules, rule) for world in report.worlds)
    }
    columns["Items"] = "n_items"
    columns |= {judge: (lambda numbers, judge=judge: numbers.get(judge), "numbers") for judge in report.judges[:MOST]}
    if len(report.judges) > 1:
        columns |= {"First": lambda world: join(", ", world.first)}
        columns |= {"May be best": lambda world: join(", ", world.may_be_best)}
    caption = f"{find_metric(report.metric).heading} under each combination of rules, 95 % intervals"
    return table_by("policies", caption, report.worlds, columns)
