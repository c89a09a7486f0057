"""The audit from Python."""

import polars as pl
import pytest

import casewise
from casewise.audits import AuditOptions
from casewise.errors import ConfigurationError


@pytest.fixture(scope="module")
def audit():
    return casewise.audit("demo", options=AuditOptions(splits=10, folds=5))


@pytest.mark.slow
def test_its_findings_are_a_frame_the_weightiest_first(audit):
    assert audit.findings["weight"].is_sorted(descending=True)
    assert audit.findings.schema["title"] == pl.String
    assert audit.findings["code"].to_list() == [found["code"] for found in audit.as_json()["findings"]]


@pytest.mark.slow
def test_findings_are_asked_for_by_code_or_part(audit):
    every = audit.select_findings(["any"])

    assert len(every) == audit.findings.height
    assert {found.part for found in audit.select_findings([every[0].part])} == {every[0].part}
    with pytest.raises(ConfigurationError, match="no finding is called"):
        audit.select_findings(["nothing"])
