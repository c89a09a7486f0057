"""How often what is printed is right: intervals that hold the truth, tests that raise no false alarm, and their power.

    python -m benchmarks.coverage [--quick] [--write] [SECTION ...]

Crowds and judges are simulated whose truth is known, and each number is computed by the function that the reports call.
A row says what was tried, in which setting, how often it came out so (with the simulation's own error), and what is
wanted. Without a section all are run; `--quick` takes fewer studies; `--write` puts each section's summary into its place
in `docs/statistics.md`. What is simulated stands in `benchmarks/covered/`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.covered import (
    annotators,
    attacks,
    conditions,
    crowds,
    decisions,
    details,
    judges,
    judges_and_people,
    people,
    promises,
)
from benchmarks.covered.rows import Section, block, printed, replaced

__all__ = ["PAGE", "SECTIONS", "main"]

SECTIONS: tuple[Section, ...] = (
    *judges.SECTIONS,
    *decisions.SECTIONS,
    *crowds.SECTIONS,
    *judges_and_people.SECTIONS,
    *annotators.SECTIONS,
    *people.SECTIONS,
    *details.SECTIONS,
    *conditions.SECTIONS,
    *attacks.SECTIONS,
    *promises.SECTIONS,
)

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"


def main() -> None:
    words = sys.argv[1:]
    names = [word for word in words if not word.startswith("-")]
    print("| what | setting | how often | share | studies | wanted | width |\n|---|---|---|---:|---:|---|---:|")
    for section in SECTIONS:
        if names and section.name not in names:
            continue
        start, rows = time.process_time(), []
        for row in section.run(section.quick if "--quick" in words else section.full):
            print(printed(row), flush=True)
            rows.append(row)
        print(f"({section.name}: {time.process_time() - start:.0f} s of processor time)", file=sys.stderr)
        if "--write" in words:
            PAGE.write_text(replaced(PAGE.read_text("utf-8"), section.name, block(section, rows)), "utf-8")


if __name__ == "__main__":
    main()
