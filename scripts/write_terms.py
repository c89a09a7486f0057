"""Writes the last section of docs/metrics.md: what names in reports mean, as the reports' own folds say it."""

from __future__ import annotations

from pathlib import Path

from casewise.reports.terms import meanings

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
HEADING = "## Names in reports"


def section() -> str:
    """The section."""
    rows = ""
    for key, meaning in meanings().items():
        table, _, name = key.rpartition("/")
        called, where = name.replace("|", "\\|"), f" (table `{table}`)" if table else ""
        rows += f"| {called}{where} | {meaning} |\n"
    return (
        f"{HEADING}\n\nUnder each table of a report's page \u201cAbout these numbers\u201d says what its names mean, in these words "
        f"(`scripts/write_terms.py` writes this section).\n\n| name | what it means |\n|---|---|\n{rows}"
    )


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").partition(HEADING)[0].rstrip()
    PAGE.write_text(f"{before}\n\n{section()}", encoding="utf-8")
