import json

import pytest
from tests.support.command import invoke as run


@pytest.mark.slow
def test_the_audit_of_the_demo_is_one_json_document_and_fails_when_asked_to(tmp_path):
    page = tmp_path / "audit.html"

    result = run("audit", "demo", "--json", "--html", str(page), "--fail-on", "coverage.thin")

    codes = [finding["code"] for finding in json.loads(result.out)["findings"]]
    assert "coverage.thin" in codes
    assert result.code == 1
    assert "coverage.thin" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_finding_that_is_not_made_does_not_fail():
    result = run("audit", "demo", "--fail-on", "labels.intent-in-votes")

    assert result.code == 0
    assert "intent.predicts-labels" in result.out


def test_a_code_that_does_not_exist_is_refused_before_the_audit():
    result = run("audit", "demo", "--fail-on", "labels.nothing")

    assert "labels.nothing" in result.err
