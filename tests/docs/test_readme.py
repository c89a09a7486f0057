"""The README tells the truth about the tree, and every command is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from casewise.cli.app import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def tree() -> list[str]:
    """Paths named in the README's file tree, from its indentation."""
    found = re.search(r"```text\n(casewise/\n.*?)```", README, re.DOTALL)
    assert found, "the README has no file tree"
    stack: list[str] = []
    paths = []
    for line in found[1].splitlines()[1:]:
        name = line.strip().split("  ")[0]
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        stack = [*stack[:depth], name.rstrip("/")]
        paths.append("/".join(stack))
    return paths


@pytest.mark.parametrize("path", tree())
def test_what_the_tree_names_is_there(path):
    assert (ROOT / path).exists()


def test_the_tree_names_every_package():
    packages = {p.parent.name for p in (ROOT / "src" / "casewise").glob("*/__init__.py")}

    assert packages <= {Path(path).name for path in tree()}


def commands(group: typer.Typer, *above: str) -> list[str]:
    click_group = typer.main.get_command(group)
    return [" ".join(("casewise", *above, *names)) for names in walk(click_group)]


def walk(command: object, *above: str) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", None)
    if not inner:
        return [above]
    return [names for name, one in inner.items() if not one.hidden for names in walk(one, *above, name)]


@pytest.mark.parametrize("command", commands(app))
def test_every_command_is_in_the_command_reference(command):
    reference = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    assert f"## `{command}`" in reference


def test_the_command_reference_is_what_the_commands_say():
    from scripts.write_commands import reference

    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference(), (
        "run: python scripts/write_commands.py"
    )


def test_no_page_names_a_folder_of_a_developers_machine():
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        assert not re.search(r"/(work|root|home)/\w", page.read_text(encoding="utf-8")), page
