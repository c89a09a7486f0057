"""promptfoo's results, version 3: JSON and JSON Lines.

`EvaluateResult`, `EvaluateSummaryV3` and `GradingResult` in `src/types/index.ts` of github.com/promptfoo/promptfoo (commit
03c4cf29), and public files of 2025 and 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry, text_or_json
from casewise.storage.intake.formats.annotations import metadata_columns
from casewise.storage.intake.formats.format import TableFormat, reader
from casewise.storage.intake.table import at, object_at

FAILED_TO_RUN = 2
"""The `failureReason` of a result that an error kept from being judged; 1 is an assertion that failed."""


def is_result(seen: Mapping[str, Any]) -> bool:
    marks = {"response", "gradingResult", "testCase", "promptIdx"}  # a result with an error may lack the first two
    return isinstance(seen.get("vars"), Mapping) and "success" in seen and bool(marks & set(seen))


def is_file(seen: Mapping[str, Any]) -> bool:
    results = seen.get("results")
    results = results if isinstance(results, list) else at(results, "results")
    return isinstance(results, list) and (not results or is_result(object_at(results, 0)))


def results_in(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the results of a file, or the one of a line."""
    if is_result(entry.values):
        yield cells_of(entry)
        return
    outer = entry.entry("results") if isinstance(entry.values.get("results"), Mapping) else entry
    for result in outer.entries("results"):
        yield cells_of(result)


def cells_of(result: Entry) -> dict[str, Any]:
    """Return a result: the test's variables and metadata, the prompt, the reply, what the assertions said, and each named score."""
    output, provider = at(result.values, "response", "output"), result.values.get("provider")
    grade = object_at(result.values, "gradingResult")
    judged = result.values.get("failureReason") != FAILED_TO_RUN
    return {
        **(object_at(grade, "namedScores") if judged else {}),
        **metadata_columns(result.values.get("metadata")),
        "sent prompt": at(result.values, "prompt", "raw"),
        **result.entry("vars").values,
        "reply": None if output is None else text_or_json(output),
        "error": result.values.get("error") if output is None or not judged else None,
        "model": provider.get("label") or provider.get("id") if isinstance(provider, Mapping) else provider,
        "success": result.values.get("success") if judged else None,
        "grade": grade.get("score", result.values.get("score")) if judged else None,
        "reason": grade.get("reason"),
    }


FORMATS = (
    TableFormat(
        "promptfoo",
        "objects",
        "promptfoo, results version 3",
        lambda seen: is_file(seen) or is_result(seen),
        reader(results_in),
    ),
)
