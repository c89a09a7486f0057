from dataclasses import replace

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd

from casewise.audits import AuditOptions, audit
from casewise.evaluate.published import published_numbers
from casewise.reports.audit import audit_page
from casewise.reports.formats import html
from casewise.storage import load_benchmark
from casewise.storage.benchmark import Published

QUICK = AuditOptions(splits=10, folds=5)


@pytest.fixture(scope="module")
def found():
    return audit(load_benchmark("demo"), options=QUICK)


def test_every_finding_is_on_the_page_with_its_code_and_what_to_do(found):
    page = html(audit_page(found))

    for finding in found.findings:
        assert finding.code in page
    assert page.count("What to do:") == len(found.findings)
    assert "SYNTHETIC DATA" in page


def test_no_cell_is_nan(found):
    cells = [cell for table in audit_page(found).tables() for row in table.rows for cell in row]

    assert cells
    assert not {"nan", "None"} & set(cells)


def test_words_of_a_benchmark_are_never_read_as_markup():
    rows = crowd(np.random.default_rng(1), words=lambda rng, safe: "<script>alert(1)</script> " * 3)
    page = html(audit_page(audit(benchmark_of(rows, name="<b>bold"), options=QUICK)))

    assert "<script>alert" not in page
    assert "<b>bold" not in page


def baselines_of(found):
    (table,) = [table for table in audit_page(found).tables() if table.name == "baselines"]
    return table


def said_to_be_published(found, *, items, rates_count_intent=True):
    published = Published(file="data.json", rates_count_intent=rates_count_intent, votes_hold_intent=False)
    return replace(found, counts={**found.counts, "items": items}, published=published)


def test_the_best_published_judges_stand_below_the_baseline_on_the_release(found):
    table = baselines_of(said_to_be_published(found, items=900))

    assert [row[0] for row in table.rows[-3:]] == [
        "claude-3.5-sonnet (its best ways)",
        "mixtral8x7B (score)",
        "gpt-4o-mini-2024-07-18 (binary)",
    ]
    assert table.rows[-3][2:] == ("–", "–", "–", "0.901")
    assert table.rows[-2][2:] == ("0.809", "–", "0.595", "0.831")


def test_on_a_part_of_the_release_published_judges_are_said_to_be_over_all_of_it(found):
    page = audit_page(said_to_be_published(found, items=240))

    assert "mixtral8x7B (score), all 900 items" in html(page)
    assert "do not compare them line by line" in html(page)


@pytest.mark.parametrize(
    "make", [lambda found: found, lambda found: said_to_be_published(found, items=900, rates_count_intent=False)]
)
def test_no_published_judge_stands_beside_another_benchmark(found, make):
    page = html(audit_page(make(found)))

    assert not [judge for judge in published_numbers().judges if judge.name in page]


@pytest.mark.slow
def test_the_published_file_itself_is_recognised(shared):
    benchmark = load_benchmark(shared / "data" / "casebench_subset.json")
    found = audit(benchmark, options=QUICK)

    assert baselines_of(found).rows[-1][0] == "gpt-4o-mini-2024-07-18 (binary), all 900 items"
