"""DeepEval's test runs. https://deepeval.com/docs (3.x): the JSON that `DEEPEVAL_RESULTS_FOLDER` and `.deepeval` hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import Format, GivenFile, rows_of
from casewise.storage.intake.table import Table


def cases_in(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the test cases of a run: input, output, and the score of each metric."""
    for case in entry.entries("testCases"):
        cells: dict[str, Any] = {
            "id": case.values.get("name"),
            "query": case.values.get("input"),
            "reply": case.values.get("actualOutput"),
            "expected": case.values.get("expectedOutput"),
            "success": case.values.get("success"),
        }
        for metric in case.values.get("metricsData") or ():
            if isinstance(metric, Mapping):
                name = str(metric.get("name", "metric"))
                cells |= {f"{name} success": metric.get("success"), f"{name} score": metric.get("score")}
                cells |= {f"{name} reason": metric.get("reason"), "model": metric.get("evaluationModel")}
        yield cells


def read(given: GivenFile) -> Table:
    return given.table(rows_of(given, cases_in))


FORMATS = (
    Format("DeepEval", "objects", "DeepEval 3.x, test run", lambda seen: isinstance(seen.get("testCases"), list), read),
)
