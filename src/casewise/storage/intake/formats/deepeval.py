"""DeepEval's test runs, after `test_run/api.py`, `test_run/test_run.py` and `evaluate/types.py` of deepeval 4.3 and public files of 3.x and 4.x.

The files of `DEEPEVAL_RESULTS_FOLDER` have `testCases` and `conversationalTestCases` with names as in JavaScript;
`.deepeval/.latest_test_run.json` has the same under `testRunData`. The `EvaluationResult` of `evaluate`, dumped as JSON, has
`test_results` with names as in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.annotations import metadata_columns
from casewise.storage.intake.formats.format import TableFormat, reader
from casewise.storage.intake.table import at, first_of, objects_at

CASES = ("testCases", "conversationalTestCases", "test_results")

OUTER = "testRunData"


def cases_in(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the test cases of a run: the input or the chat, the output, the score of each metric and the label of each classifier."""
    run = entry.entry(OUTER) if OUTER in entry.values else entry
    for case in (case for key in CASES if run.values.get(key) for case in run.entries(key)):
        cells: dict[str, Any] = {
            **metadata_columns(case.values.get("metadata")),
            "id": case.values.get("name"),
            "query": first_of(case.values, ("input", "turns")),
            **({} if case.values.get("turns") else {"reply": first_of(case.values, ("actualOutput", "actual_output"))}),
            "expected": first_of(case.values, ("expectedOutput", "expected_output", "expectedOutcome")),
            "success": case.values.get("success"),
        }
        for metric in objects_at(case.values, "metricsData") or objects_at(case.values, "metrics_data"):
            name = metric.get("name", "metric")
            cells |= {f"{name} {fact}": metric.get(fact) for fact in ("success", "score", "reason")}
            cells["model"] = first_of(metric, ("evaluationModel", "evaluation_model"))
        for label in objects_at(case.values, "classifications"):
            name = label.get("name", "classifier")
            cells[f"{name} label"] = label.get("label")
            cells[f"{name} expected"] = first_of(label, ("expectedLabel", "expected_label"))
        yield cells


def is_run(seen: Mapping[str, Any]) -> bool:
    return any(isinstance(at(seen.get(OUTER, seen), key), list) for key in CASES)


FORMATS = (TableFormat("DeepEval", "objects", "DeepEval 3.x and 4.3, test run", is_run, reader(cases_in)),)
