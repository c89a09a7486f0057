"""How often what is printed is right: intervals that hold the truth, tests that raise no false alarm, and their power.

    python -m benchmarks.coverage [--quick] [--write] [--workers N] [SECTION ...]

Crowds and judges are simulated whose truth is known, and each number is computed by the function that the reports call.
A row says what was tried, in which setting, how often it came out so (with the simulation's own error), and what is
wanted. Without a section all are run; `--quick` takes fewer studies; `--write` puts each section's numbers into
`docs/reference/coverage.csv`, with the commit, and writes `coverage.md` from it. What is simulated stands in
`benchmarks/covered/`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.covered import (
    annotators,
    attacks,
    conditions,
    decisions,
    deployed,
    details,
    flags,
    judges,
    judges_and_people,
    people,
    promises,
    unseen,
)
from benchmarks.covered.rows import Row, Section, page, printed, read_summaries, summaries, write_summaries

__all__ = ["DATA", "PAGE", "SECTIONS", "main"]

SECTIONS: tuple[Section, ...] = (
    *judges.SECTIONS,
    *decisions.SECTIONS,
    *judges_and_people.SECTIONS,
    *annotators.SECTIONS,
    *people.SECTIONS,
    *details.SECTIONS,
    *conditions.SECTIONS,
    *attacks.SECTIONS,
    *promises.SECTIONS,
    *deployed.SECTIONS,
    *flags.SECTIONS,
    *unseen.SECTIONS,
)

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "coverage.md"
DATA = PAGE.with_suffix(".csv")


def simulated(name: str, *, quick: bool) -> tuple[list[Row], float]:
    """The rows of one section, and the seconds of processor time that they took."""
    (section,) = (one for one in SECTIONS if one.name == name)
    start = time.process_time()
    rows = list(section.run(section.quick if quick else section.full))
    return rows, time.process_time() - start


def write(section: Section, rows: list[Row]) -> None:
    """Put a section's numbers into the data file in place of its old ones, and write the page from it."""
    revision = ["git", "rev-parse", "--short=9", "HEAD"]
    commit = subprocess.run(revision, cwd=PAGE.parent, check=True, capture_output=True, text=True).stdout.strip()
    found = {one.name: [old for old in read_summaries(DATA) if old.section == one.name] for one in SECTIONS}
    found[section.name] = summaries(section, rows, commit=commit)
    every = [number for numbers in found.values() for number in numbers]
    write_summaries(DATA, every)
    PAGE.write_text(page(SECTIONS, every), "utf-8")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("sections", nargs="*", metavar="SECTION")
    words.add_argument("--quick", action="store_true", help="fewer studies")
    words.add_argument("--write", action="store_true", help="write docs/reference/coverage.csv and coverage.md")
    words.add_argument("--workers", type=int, default=1, help="processes, each with a section at a time")
    asked = words.parse_args()
    chosen = [section for section in SECTIONS if not asked.sections or section.name in asked.sections]
    print("| what | setting | how often | share | studies | wanted | width |\n|---|---|---|---:|---:|---|---:|")
    total = 0.0
    with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as pool:
        found = pool.map(partial(simulated, quick=asked.quick), [section.name for section in chosen])
        for section, (rows, seconds) in zip(chosen, found, strict=True):
            for row in rows:
                print(printed(row), flush=True)
            total += seconds
            print(f"({section.name}: {seconds:.0f} s of processor time, {total:.0f} s in all)", file=sys.stderr)
            if asked.write:
                write(section, rows)


if __name__ == "__main__":
    main()
