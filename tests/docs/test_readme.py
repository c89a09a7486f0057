"""Every command is documented, and no page names a developer's folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.write_commands import leaves, reference

from casewise.cli.app import app

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("command", [" ".join(("casewise", *names)) for names in leaves(app)])
def test_every_command_is_in_the_command_reference(command):
    reference = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    assert f"## `{command}`" in reference


def test_the_command_reference_is_what_the_commands_say():
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference(), (
        "run: python scripts/write_commands.py"
    )


def test_no_page_names_a_folder_of_a_developers_machine():
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        assert not re.search(r"/(work|root|home)/\w", page.read_text(encoding="utf-8")), page
