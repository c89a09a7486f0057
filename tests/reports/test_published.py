import pytest
from tests.audits.builders import benchmark_of, crowd, published_votes
from tests.support.published import output_rows, write

import casewise
from casewise.evaluate.published import paper_numbers
from casewise.reports.document import Prose
from casewise.reports.published import paper_document
from casewise.storage.load import load


def paper_page(benchmark, *, outputs=()):
    return paper_document(paper_numbers(benchmark, outputs=outputs), benchmark)


@pytest.fixture(scope="module")
def page(shared):
    return paper_page(
        benchmark_of(published_votes(shared)),
        outputs=sorted((shared / "data" / "published_outputs").rglob("output_*.json")),
    )


def table(page, name):
    return next(found for found in page.tables() if found.name == name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "row", "cells"),
    [
        ("power-table", 0, {1: "16", 2: "80"}),
        ("power-table", 1, {1: "22"}),
        ("ablation-table", 0, {1: "recipient", 2: "recall_safe", 3: "0.619 [0.570, 0.666]", 4: "0.524 [0.475, 0.573]"}),
    ],
)
def test_a_cell_of_the_paper_is_found_again(page, name, row, cells):
    found = table(page, name).rows[row]
    assert {place: found[place] for place in cells} == cells


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows"),
    [("figure-3-table", 45), ("religion-promotion-table", 10), ("social-stereotype-promotion-table", 10)],
)
def test_every_category_and_every_query_of_a_case_study_has_a_row(page, name, rows):
    assert len(table(page, name).rows) == rows


@pytest.mark.slow
def test_the_judges_numbers_are_the_published_ones(page):
    rows = {row[:2]: row for row in table(page, "judges-table").rows}

    binary = rows["gpt-4o-mini-2024-07-18", "binary"]
    assert [cell.partition(" ")[0] for cell in binary[2:5]] == ["0.820", "0.674", "0.936"]
    assert binary[2] == "0.820 [0.797, 0.841]"
    assert rows["mixtral8x7B", "score"][5].startswith("0.603 [")
    assert len(rows) == 5


@pytest.mark.slow
def test_a_run_stands_in_the_papers_tables_with_the_numbers_of_its_output(shared, tmp_path):
    """A run that repeats a published output has that output's row."""
    folder = next((shared / "data" / "published_outputs").glob("*gpt-4o-mini*"))
    whole, less = folder / "output_score.json", folder / "output_score_recipient.json"
    benchmark = load(shared / "data" / "casebench_shapes.json")
    for file in (whole, less):
        casewise.judge(benchmark, f"recorded:{file}", out=tmp_path / file.stem)
    found = casewise.paper(
        tmp_path / whole.stem, tmp_path / less.stem, benchmark=benchmark, outputs=[whole, less]
    ).document

    mine, theirs = sorted(table(found, "judges-table").rows, key=lambda row: "(your run)" not in row[0])
    assert mine[0].endswith(" (your run)")
    assert mine[2:] == theirs[2:]
    assert [row[3:] for row in table(found, "ablation-table").rows[2:]] == [
        row[3:] for row in table(found, "ablation-table").rows[:2]
    ]
    assert [section.anchor for section in found.sections[:2]] == ["answer", "table-2"]


def test_the_papers_own_numbers_stand_beside_a_run_over_the_release_alone(tmp_path):
    run = casewise.judge("demo", "constant:safe", out=tmp_path / "run")
    found = casewise.paper(run, outputs=())

    assert [row[0] for row in table(found.document, "judges-table").rows] == ["constant:safe (your run)"]
    assert any("is not the CASE-Bench release" in notice for notice in found.document.notices)
    assert any("was not asked by the paper's protocol" in notice for notice in found.document.notices)


def test_an_output_that_cannot_be_read_is_named_and_the_others_are_scored(tmp_path):
    good = write(tmp_path / "safety_good" / "output_score.json", output_rows([3, 8, 9, 2], judge="good"))
    bad = write(tmp_path / "safety_bad" / "output_score.json", [{"query": 3}])

    page = paper_page(load("demo"), outputs=[bad, good])

    assert any(str(bad) in notice and "no judge's value" in notice for notice in page.notices)
    assert [row[0] for row in table(page, "judges-table").rows] == ["good"]


def test_without_outputs_and_categories_the_rest_is_shown():
    import numpy as np

    page = paper_page(benchmark_of(crowd(np.random.default_rng(1))))

    said = " ".join(block.text for section in page.sections for block in section.blocks if isinstance(block, Prose))
    assert "No judge outputs were given" in said
    assert "No query of" in said
