"""What a type checker tells a user of casewise: each planted mistake of a script, and nothing besides."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import casewise

SCRIPT = Path(__file__).parent / "user_script.txt"
MISTAKE = re.compile(r"# mistake: ([a-z-]+)$")


@pytest.mark.slow
def test_mypy_strict_finds_each_planted_mistake_of_a_users_script_and_no_other(tmp_path):
    script = tmp_path / "user_script.py"
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    planted = [
        (number, match[1])
        for number, line in enumerate(script.read_text().splitlines(), 1)
        if (match := MISTAKE.search(line))
    ]

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", "--no-pretty", script],
        env={"MYPYPATH": str(Path(casewise.__file__).parents[1]), "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )

    found = re.findall(r"user_script\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    assert [(int(number), code) for number, code in found] == planted, done.stdout + done.stderr
