"""The documentation site has every page, every public statistic, and formulas that a browser draws by itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import casewise.stats

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def pages(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in pages(part)]  # type: ignore[attr-defined]  # a list or a table, as TOML has it


def test_every_page_has_its_place_in_the_sites_navigation():
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]

    assert sorted(pages(nav)) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_every_public_statistic_stands_once_in_the_reference():
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference" / "stats").glob("*.md"))

    assert sorted(re.findall(r"^::: casewise\.stats\.(\w+)$", text, re.MULTILINE)) == sorted(dir(casewise.stats))


def test_formulas_and_references_of_a_docstring_become_markdown():
    pytest.importorskip("griffe")
    from scripts.site_docstrings import as_markdown

    text = "On :math:`x_1\n  + 1`,\n\n.. math:: a = b,\n    c = d\n\nand so.\n\n.. [1] Some (1990),\n    a journal.\n"

    assert as_markdown(text) == (
        "On `#!math x_1 + 1`,\n\n```math\na = b, c = d\n```\n\nand so.\n\n1. Some (1990), a journal.\n"
    )


def test_a_formula_is_drawn_by_the_browser_itself():
    pytest.importorskip("latex2mathml")
    from scripts.site_math import display, inline

    assert inline(r"\tfrac12", "math", "math", None).startswith("<math ")
    assert 'display="block"' in display("a < b", "math", "math", {}, None)
