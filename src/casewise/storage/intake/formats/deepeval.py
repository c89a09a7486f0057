"""DeepEval's test runs, after `deepeval/test_run/api.py` of github.com/confident-ai/deepeval (3.x) and public files of it.

The files of `DEEPEVAL_RESULTS_FOLDER` have `testCases` with names as in JavaScript; `.deepeval/.latest_test_run.json` has the same
under `testRunData`. The `EvaluationResult` of `evaluate`, dumped as JSON, has `test_results` with names as in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import Format, reader

CASES = ("testCases", "test_results")

OUTER = "testRunData"


def cases_in(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the test cases of a run: input, output, and the score of each metric."""
    run = entry.entry(OUTER) if OUTER in entry.values else entry
    for case in run.entries(CASES[0] if CASES[0] in run.values else CASES[1]):
        cells: dict[str, Any] = {
            "id": case.values.get("name"),
            "query": case.values.get("input"),
            "reply": either(case.values, "actualOutput", "actual_output"),
            "expected": either(case.values, "expectedOutput", "expected_output"),
            "success": case.values.get("success"),
        }
        for metric in either(case.values, "metricsData", "metrics_data") or ():
            if isinstance(metric, Mapping):
                name = str(metric.get("name", "metric"))
                cells |= {f"{name} success": metric.get("success"), f"{name} score": metric.get("score")}
                cells |= {f"{name} reason": metric.get("reason")}
                cells |= {"model": either(metric, "evaluationModel", "evaluation_model")}
        yield cells


def either(values: Mapping[str, Any], *names: str) -> Any:
    """Return the value under the first of the names that is there."""
    return next((values[name] for name in names if name in values), None)


def is_run(seen: Mapping[str, Any]) -> bool:
    run = seen.get(OUTER, seen)
    return isinstance(run, Mapping) and isinstance(either(run, *CASES), list)


FORMATS = (Format("DeepEval", "objects", "DeepEval 3.x, test run", is_run, reader(cases_in)),)
