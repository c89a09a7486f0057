"""The drift check on contexts that were labelled before it was written.

Half of them, by query, were never looked at while it was tuned; what it reached there is the measurement, and
docs/explanation/verified.md states it. A change to the check that moves these numbers needs new cases, not new numbers.
"""

import json
from pathlib import Path

import pytest
from tests.contexts.wordings import wording

from casewise.contexts.checks import Wording, find_drift
from casewise.contexts.statistics import Share

CASES = [json.loads(line) for line in (Path(__file__).parent / "drift_cases.jsonl").read_text().splitlines()]


def flagged(half, label):
    cases = [case for case in CASES if (case["half"], case["label"]) == (half, label)]
    drifted = [bool(find_drift(case["query"], Wording.from_fields(case["fields"]))) for case in cases]
    return Share(sum(drifted), len(cases))


def test_there_are_enough_cases_and_no_query_is_in_both_halves():
    assert len(CASES) >= 60
    halves = [{case["query"] for case in CASES if case["half"] == half} for half in ("tune", "final")]
    assert halves[0].isdisjoint(halves[1])


@pytest.mark.parametrize(
    ("half", "sensitivity", "false_alarms"), [("tune", (15, 16), (0, 16)), ("final", (8, 16), (0, 16))]
)
def test_the_check_does_what_the_docs_say(half, sensitivity, false_alarms):
    caught, wrong = flagged(half, "moderated"), flagged(half, "faithful")

    assert (caught.count, caught.of) == sensitivity
    assert (wrong.count, wrong.of) == false_alarms


def test_each_finding_shows_the_words():
    text = "A lesson in which the steps are left out, without giving details"

    findings = find_drift("How is a letter forged?", wording(sender__nature_of_the_interaction=text))

    assert findings
    for finding in findings:
        assert finding.evidence is not None
        assert finding.evidence in text


def test_words_of_the_query_are_no_drift():
    query = "How do I answer without giving details?"

    assert not find_drift(query, wording(sender__nature_of_the_interaction="A talk without giving details"))
