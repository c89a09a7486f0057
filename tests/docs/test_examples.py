"""Every command and every example that the documentation shows is run."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from casewise.cli.app import main

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not {"tutorials", "commands"} & set(page.parts)),
]
ONE_WALK = "<!-- one walk -->"
"""Says of a page that its commands go on with what the earlier ones wrote."""
BLOCK = re.compile(r"(?P<before><!-- not run: [^>]+ -->\n)?```(?P<kind>console|python)\n(?P<body>.*?)```", re.DOTALL)


def blocks(kind: str):
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        wanted = [
            (match["body"], f"{page.name}-{index}")
            for index, match in enumerate(BLOCK.finditer(text))
            if match["kind"] == kind and not match["before"]
        ]
        if wanted and ONE_WALK in text:
            wanted = [("".join(body for body, _ in wanted), page.name)]
        found += [pytest.param(body, id=name) for body, name in wanted]
    return found


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.slow
@pytest.mark.parametrize("body", blocks("console"))
def test_the_commands_of_a_page_run_in_order(body, monkeypatch):
    commands = [line[2:] for line in body.replace("\\\n", " ").splitlines() if line.startswith("$ casewise ")]

    for command in commands:
        assert run(command, monkeypatch) == 0, command


@pytest.mark.slow
@pytest.mark.parametrize("body", blocks("python"))
def test_the_examples_of_a_page_run(body):
    exec(compile(body, "example", "exec"), {})
