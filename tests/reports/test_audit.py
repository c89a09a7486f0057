from dataclasses import replace
from html import escape

import numpy as np
import pytest
from tests.audits.builders import benchmark_of, crowd

from casewise.audits import AuditOptions, audit
from casewise.reports.audit import audit_page
from casewise.reports.formats import html
from casewise.storage.load import load

QUICK = AuditOptions(splits=10, folds=5)


@pytest.fixture(scope="module")
def found():
    return audit(load("demo"), options=QUICK)


@pytest.mark.slow
def test_every_finding_is_on_the_page_with_its_code_and_what_to_do(found):
    page = html(audit_page(found))

    for finding in found.findings:
        assert finding.code in page
    assert page.count("What to do:") == len(found.findings)
    assert "SYNTHETIC DATA" in page


@pytest.mark.slow
def test_an_item_that_a_finding_names_can_be_read_unless_the_texts_are_restricted(found):
    query = found.source.query[found.source.item[next(f.items[0] for f in found.findings if f.items)].query_id].text
    about = found.source.about.model_copy(update={"gated": True})
    gated = replace(found, source=replace(found.source, about=about))

    assert escape(query) in html(audit_page(found))
    assert escape(query) not in html(audit_page(gated))
    assert "casewise show BENCHMARK ID" in html(audit_page(gated))


@pytest.mark.slow
def test_no_cell_is_nan(found):
    cells = [cell for table in audit_page(found).tables() for row in table.rows for cell in row]

    assert cells
    assert not {"nan", "None"} & set(cells)


@pytest.mark.slow
def test_words_of_a_benchmark_are_never_read_as_markup():
    rows = crowd(np.random.default_rng(1), words=lambda rng, safe: "<script>alert(1)</script> " * 3)
    page = html(audit_page(audit(benchmark_of(rows, name="<b>bold"), options=QUICK)))

    assert "<script>alert" not in page
    assert "<b>bold" not in page
