"""The frame of the table: a section simulates settings and yields rows, and rows sum up to the data file and the page."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import mean

from pydantic import TypeAdapter

__all__ = ["Row", "Section", "Summary", "page", "printed", "read_summaries", "summaries", "write_summaries"]


@dataclass(frozen=True)
class Row:
    """One setting of one number: `right` of `studies`, and what is wanted.

    Attributes
    ----------
    what
        The name that the product prints; every name that a section `covers` has a row.
    measure
        What happened so often: `holds the truth`, `rejects without a difference`, `passes at the margin`, `finds it`, ...
    wanted
        The bound in words, such as `≥ 92 %`; `no claim` for what is shown beside it.
    width
        Of intervals: their median width.
    beside
        Of intervals: the median width of Korn and Graubard's, or of another yardstick, in the same studies.
    """

    what: str
    setting: str
    measure: str
    right: int
    studies: int
    wanted: str
    width: float | None = None
    beside: float | None = None

    @property
    def share(self) -> float:
        return self.right / self.studies if self.studies else float("nan")

    @property
    def error(self) -> float:
        """Standard error of the simulation; from one more of each kind, so that none is never sure."""
        share = (self.right + 1) / (self.studies + 2)
        return sqrt(share * (1 - share) / max(self.studies, 1))


@dataclass(frozen=True)
class Section:
    """Numbers that are simulated together.

    Attributes
    ----------
    title
        What is simulated, in words for `docs/reference/coverage.md`.
    covers
        The names that the product prints which have their rows here; `tests/docs/test_coverage.py` asks for all of them.
    tried
        The settings, in words for `docs/reference/coverage.md`.
    run
        From how many studies a setting gets, to rows.
    quick, full
        That number with `--quick` and without.
    """

    name: str
    title: str
    covers: tuple[str, ...]
    tried: str
    run: Callable[[int], Iterator[Row]]
    quick: int = 100
    full: int = 1_000


def printed(row: Row) -> str:
    """The row as one of a Markdown table."""
    share = f"{row.share:.1%} ± {row.error:.1%}"
    width = "–" if row.width is None else f"{row.width:.3g}"
    if row.width is not None and row.beside:
        width += f" ({row.width / row.beside:.2f} of the yardstick's)"
    return f"| {row.what} | {row.setting} | {row.measure} | {share} | {row.studies:,} | {row.wanted} | {width} |"


@dataclass(frozen=True)
class Summary:
    """One number over all its settings: a row of `docs/reference/coverage.csv`.

    Attributes
    ----------
    settings
        How many settings had enough studies in which the number exists.
    share, lowest, highest
        The share of studies in which `measure` happened: over all settings together, and in the extreme settings.
    error
        The largest simulation error of one setting.
    narrowest, widest
        Of intervals: the median widths in the extreme settings, and as ratios to the yardstick's; empty without any.
    commit
        The last commit when the row was written.
    """

    section: str
    number: str
    measure: str
    wanted: str
    settings: int
    share: float
    lowest: float
    lowest_setting: str | None
    highest: float
    error: float
    fewest_studies: int
    most_studies: int
    narrowest: float | None
    widest: float | None
    narrowest_ratio: float | None
    widest_ratio: float | None
    commit: str

    @property
    def claimed(self) -> bool:
        """Whether casewise claims a bound; other rows are shown for comparison."""
        return self.wanted not in ("no claim", "yardstick", "power")


def summaries(section: Section, rows: Iterable[Row], *, commit: str) -> list[Summary]:
    """Sum up the rows of a section by number, in the order of the names that it covers."""
    order = {name: place for place, name in enumerate(section.covers)}

    def kind(row: Row) -> tuple[int, str, str, str]:
        return order.get(row.what, len(order)), row.what, row.measure, row.wanted

    return [summary(section.name, list(group), commit) for _, group in groupby(sorted(rows, key=kind), key=kind)]


def summary(section: str, rows: list[Row], commit: str) -> Summary:
    # A setting in which hardly a study has an interval says nothing of intervals.
    known = [row for row in rows if 10 * row.studies >= max(one.studies for one in rows) > 0]
    low, high = min(known, key=lambda row: row.share), max(known, key=lambda row: row.share)
    own = [row.width for row in known if row.width is not None]
    ratios = [row.width / row.beside for row in known if row.width is not None and row.beside]
    return Summary(
        section=section,
        number=low.what,
        measure=low.measure,
        wanted=low.wanted,
        settings=len(known),
        share=round(sum(row.right for row in known) / sum(row.studies for row in known), 4),
        lowest=round(low.share, 4),
        lowest_setting=low.setting,
        highest=round(high.share, 4),
        error=round(max(row.error for row in known), 4),
        fewest_studies=min(row.studies for row in known),
        most_studies=max(row.studies for row in known),
        narrowest=float(f"{min(own):.3g}") if own else None,
        widest=float(f"{max(own):.3g}") if own else None,
        narrowest_ratio=round(min(ratios), 2) if ratios else None,
        widest_ratio=round(max(ratios), 2) if ratios else None,
        commit=commit,
    )


def read_summaries(path: Path) -> list[Summary]:
    """Read the data file; an empty cell is None."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [{name: cell or None for name, cell in line.items()} for line in csv.DictReader(file)]
    return TypeAdapter(list[Summary]).validate_python(lines)


def write_summaries(path: Path, found: Iterable[Summary]) -> None:
    """Write the data file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Summary)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in found)


INTRODUCTION = """\
# Coverage of intervals and tests

`python -m benchmarks.coverage` simulates studies whose truth is known. It counts how often each interval contains the truth
and how often each test rejects without a difference. *Overall* is the mean over all settings and numbers of a kind. *Lowest*
and *highest* are the extreme settings, and *studies* is the number of simulated studies in each. With 60 studies, chance
alone moves a share of 95 % to between 88 and 100 %, and the lowest of 45 such shares to between 85 and 88 %. Settings that
are not listed are not covered by any claim.

[coverage.csv](coverage.csv) holds each number with its lowest setting, simulation error, interval width and commit. It also
holds methods that are simulated for comparison only. [Statistics of a study](../explanation/study-statistics.md) says which
number to use.
"""


def page(sections: Sequence[Section], found: Sequence[Summary]) -> str:
    """Return the page of the documentation: one row for each kind of number, with its extremes and what was tried."""
    lines = ["| simulated | numbers | event | wanted | overall | lowest | highest | studies | settings |"]
    lines.append("|---|---:|---|---|---:|---:|---:|---:|---|")
    for section in sections:
        claimed = [one for one in found if one.section == section.name and one.claimed]
        kinds = dict.fromkeys((one.measure, one.wanted) for one in claimed)
        for place, (measure, wanted) in enumerate(kinds):
            of_kind = [one for one in claimed if (one.measure, one.wanted) == (measure, wanted)]
            fewest, most = (end(one.most_studies for one in of_kind) for end in (min, max))
            cells = (
                section.title if place == 0 else "",
                str(len(of_kind)),
                measure,
                wanted,
                f"{mean(one.share for one in of_kind):.1%}",
                f"{min(one.lowest for one in of_kind):.1%}",
                f"{max(one.highest for one in of_kind):.1%}",
                f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}",
                section.tried if place == 0 else "the same",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return f"{INTRODUCTION}\n" + "\n".join(lines) + "\n"
