"""The frame of the table: a section simulates settings and yields rows; rows print, and sum up to lines of the docs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import sqrt

__all__ = ["Row", "Section", "block", "printed", "replaced"]


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
    covers: tuple[str, ...]
    tried: str
    run: Callable[[int], Iterator[Row]]
    quick: int = 100
    full: int = 1_000


def printed(row: Row) -> str:
    """The row as one of a Markdown table."""
    share = f"{row.share:.1%} ± {row.error:.1%}"
    return (
        f"| {row.what} | {row.setting} | {row.measure} | {share} | {row.studies:,} | {row.wanted} | {widths([row])} |"
    )


def block(section: Section, rows: Iterable[Row]) -> str:
    """A section for the docs: what was tried, and for each number all settings together, the least and the most."""
    lines = [section.tried, "", "| number | how often | came out so | wanted | studies a setting | width |"]
    lines.append("|---|---|---|---|---|---:|")
    ordered = sorted(rows, key=lambda row: (row.measure, row.wanted))
    order = {name: place for place, name in enumerate(section.covers)}
    ordered.sort(key=lambda row: order.get(row.what, len(order)))
    for (what, measure, wanted), group in groupby(ordered, key=lambda row: (row.what, row.measure, row.wanted)):
        lines.append(line(what, measure, wanted, list(group)))
    return "\n".join(lines)


def line(what: str, measure: str, wanted: str, rows: list[Row]) -> str:
    # A setting in which hardly a study has an interval says nothing of intervals.
    known = [row for row in rows if 10 * row.studies >= max(one.studies for one in rows) > 0]
    low, high = min(known, key=lambda row: row.share), max(known, key=lambda row: row.share)
    worst = max(row.error for row in known)
    together = sum(row.right for row in known) / sum(row.studies for row in known)
    came = f"{together:.1%}"
    if len(known) > 1:
        came += f"; from {low.share:.1%} ({low.setting}) to {high.share:.1%}"
    fewest, most = min(row.studies for row in known), max(row.studies for row in known)
    studies = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    settings = "1 setting" if len(known) == 1 else f"{len(known)} settings"
    return f"| `{what}` | {measure}; {settings} | {came}, each ± {worst:.1%} | {wanted} | {studies} | {widths(known)} |"


def widths(rows: list[Row]) -> str:
    found = [row.width for row in rows if row.width is not None]
    if not found:
        return "–"
    own = f"{min(found):.3g}" if len(found) == 1 else f"{min(found):.3g} to {max(found):.3g}"
    ratios = [row.width / row.beside for row in rows if row.width is not None and row.beside]
    return own + (f" ({min(ratios):.2f} to {max(ratios):.2f} of the yardstick's)" if ratios else "")


def replaced(page: str, section: str, text: str) -> str:
    """The page with the section's block in place of the old one.

    Raises
    ------
    ValueError
        The page has no place for the section.
    """
    place = re.compile(rf"(<!-- coverage: {section} -->\n).*?(<!-- /coverage -->)", re.DOTALL)
    if not place.search(page):
        raise ValueError(f"the page has no place for {section!r}: <!-- coverage: {section} --> … <!-- /coverage -->")
    return place.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page)
