"""The simulations of `benchmarks/coverage.py` have a place in the docs, and a name once."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest
from benchmarks.coverage import PAGE, SECTIONS
from benchmarks.covered.printed import BEHIND, DERIVED, WITHOUT
from benchmarks.covered.rows import Row, Section, block, replaced

import casewise
from casewise.stats.comparison import gated
from casewise.stats.metrics import FLOORS, METRICS, REFUSALS
from casewise.stats.pairs import SHARES


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_each_section_has_a_place_on_the_page(section: Section) -> None:
    assert replaced(PAGE.read_text("utf-8"), section.name, "what was found").count("what was found") == 1


def test_every_metric_and_share_of_pairs_is_simulated() -> None:
    names = {metric.name for metric in (*METRICS, *FLOORS, *REFUSALS)} | set(SHARES) | set(gated())

    assert names - {name for section in SECTIONS for name in section.covers} == set()


def test_sections_have_names_of_their_own() -> None:
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)


def test_a_block_shows_the_least_and_the_most_over_all_settings_of_a_number() -> None:
    section = Section("one", ("accuracy", "brier"), "Two sizes.", run=lambda studies: iter(()))
    rows = [
        Row("brier", "15 queries", "holds the truth", 90, 100, "≥ 92 %", width=0.2, beside=0.1),
        Row("accuracy", "15 queries", "holds the truth", 93, 100, "≥ 92 %"),
        Row("accuracy", "60 queries", "holds the truth", 97, 100, "≥ 92 %"),
    ]

    lines = block(section, rows).splitlines()

    assert lines[0] == "Two sizes."
    assert lines[-2].startswith(
        "| `accuracy` | holds the truth; 2 settings | 95.0%; from 93.0% (15 queries) to 97.0%, each ± 2.7%"
    )
    assert lines[-1].endswith("| 0.2 (2.00 to 2.00 of the yardstick's) |")


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no place for 'gap'"):
        replaced("nothing here", "gap", "found")


def asked_of_statistics() -> set[str]:
    """Every function of statistics that the rest of the package imports."""
    found = set()
    source = Path(casewise.__file__).parent
    for path in source.rglob("*.py"):
        if path.is_relative_to(source / "stats"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            if isinstance(node, ast.ImportFrom) and module.startswith("casewise.stats"):
                loaded = importlib.import_module(str(node.module))
                found |= {name.name for name in node.names if inspect.isfunction(getattr(loaded, name.name, None))}
    return found


@pytest.mark.slow
def test_whatever_gives_commands_an_interval_or_a_p_value_has_a_section_or_says_what_it_rests_on() -> None:
    known = set(BEHIND) | set(DERIVED) | WITHOUT

    assert asked_of_statistics() - known == set()
    assert set(BEHIND.values()) <= {section.name for section in SECTIONS}


def test_the_page_says_what_rests_on_a_section_and_what_is_exact() -> None:
    text = PAGE.read_text("utf-8")

    assert [name for name in DERIVED if f"`{name}`" not in text] == []
