"""`examples/school`: made-up ratings of a small study become its report."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "school"


def test_the_script_says_which_context_changes_what_people_allow_and_writes_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["school.py", "--out", str(tmp_path / "report")])
    runpy.run_path(str(FOLDER / "school.py"), run_name="__main__")
    said = " ".join(capsys.readouterr().out.split())

    assert "480 ratings of 48 items (16 queries) under 3 conditions; 30 annotators" in said
    assert "Largest difference" in said
    assert "[-60.6, -33.1], uncorrected" in (tmp_path / "report" / "report.html").read_text()
    assert (
        "A difference between no context and pupil asks is not shown"
        in (tmp_path / "report" / "report.html").read_text()
    )
    assert (tmp_path / "report" / "report.html").is_file()
