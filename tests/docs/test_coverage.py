"""The simulations of `benchmarks/coverage.py` have a place in the docs, and a name once."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest
from benchmarks.coverage import DATA, PAGE, SECTIONS
from benchmarks.covered.printed import BEHIND, DERIVED, WITHOUT
from benchmarks.covered.rows import Row, Section, page, read_summaries, summaries, write_summaries

import casewise
from casewise.stats.comparison import gate_metrics
from casewise.stats.metrics import FLOORS, METRICS, ON_SCALE, REFUSALS
from casewise.stats.pairs import SHARES


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_each_section_has_numbers_in_the_data_file(section: Section) -> None:
    assert [one.number for one in read_summaries(DATA) if one.section == section.name] != []


def test_the_page_is_written_from_the_data_file() -> None:
    assert page(SECTIONS, read_summaries(DATA)) == PAGE.read_text("utf-8")


def test_the_data_file_reads_back_as_it_was_written(tmp_path: Path) -> None:
    written = tmp_path / "coverage.csv"

    write_summaries(written, read_summaries(DATA))

    assert written.read_bytes() == DATA.read_bytes()


def test_every_metric_and_share_of_pairs_is_simulated_but_those_on_a_scale() -> None:
    names = {metric.name for metric in (*METRICS, *FLOORS, *REFUSALS)} | set(SHARES) | set(gate_metrics())
    names -= {metric.name for metric in ON_SCALE}  # no crowd here rates on a scale

    assert names - {name for section in SECTIONS for name in section.covers} == set()


def test_sections_have_names_of_their_own() -> None:
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)


def test_the_page_shows_the_lowest_and_the_highest_share_over_all_settings_and_numbers_of_a_kind() -> None:
    section = Section("one", "two numbers", ("accuracy", "brier"), "Two sizes.", run=lambda studies: iter(()))
    rows = [
        Row("brier", "15 queries", "holds the truth", 90, 100, "≥ 92 %", width=0.2, beside=0.1),
        Row("accuracy", "15 queries", "holds the truth", 93, 100, "≥ 92 %"),
        Row("accuracy", "60 queries", "holds the truth", 97, 100, "≥ 92 %"),
        Row("accuracy", "60 queries", "holds the truth by another method", 70, 100, "no claim"),
    ]

    found = summaries(section, rows, commit="abc")

    assert [(one.number, one.share, one.lowest_setting) for one in found if one.claimed] == [
        ("accuracy", 0.95, "15 queries"),
        ("brier", 0.9, "15 queries"),
    ]
    assert found[-1].widest_ratio == 2
    assert page([section], found).splitlines()[-1] == (
        "| two numbers | 2 | holds the truth | ≥ 92 % | 92.5% | 90.0% | 97.0% | 100 | Two sizes. |"
    )


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
