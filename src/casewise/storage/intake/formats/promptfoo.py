"""promptfoo's results, version 3: JSON and JSON Lines.

`EvaluateResult`, `EvaluateSummaryV3` and `GradingResult` in `src/types/index.ts` of github.com/promptfoo/promptfoo (commit
03c4cf29), and public files of 2025 and 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry, text_or_json
from casewise.storage.intake.formats.annotations import metadata_columns
from casewise.storage.intake.formats.format import Format, reader

FAILED_TO_RUN = 2
"""The `failureReason` of a result that an error kept from being judged; 1 is an assertion that failed."""


def is_result(seen: Mapping[str, Any]) -> bool:
    beside = {"response", "gradingResult", "testCase", "promptIdx"}  # a result with an error may lack the first two
    return isinstance(seen.get("vars"), Mapping) and "success" in seen and bool(beside & set(seen))


def is_file(seen: Mapping[str, Any]) -> bool:
    results = seen.get("results")
    inner = results.get("results") if isinstance(results, Mapping) else results
    return isinstance(inner, list) and all(isinstance(result, Mapping) and is_result(result) for result in inner[:1])


def results_in(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the results of a file, or the one of a line."""
    if is_result(entry.values):
        yield cells_of(entry)
        return
    outer = entry.entry("results") if isinstance(entry.values["results"], Mapping) else entry
    for result in outer.entries("results"):
        yield cells_of(result)


def cells_of(result: Entry) -> dict[str, Any]:
    """Return a result: the test's variables and metadata, the prompt, the reply, what the assertions said, and each named score."""
    names = ("response", "gradingResult", "provider", "prompt")
    response, grading, provider, prompt = (result.values.get(name) for name in names)
    output = response.get("output") if isinstance(response, Mapping) else None
    grade = grading if isinstance(grading, Mapping) else {}
    judged = result.values.get("failureReason") != FAILED_TO_RUN
    scores = grade.get("namedScores")
    return {
        **(scores if isinstance(scores, Mapping) and judged else {}),
        **metadata_columns(result.values.get("metadata")),
        "sent prompt": prompt.get("raw") if isinstance(prompt, Mapping) else None,
        **result.entry("vars").values,
        "reply": None if output is None else text_or_json(output),
        "error": result.values.get("error") if output is None or not judged else None,
        "model": provider.get("label") or provider.get("id") if isinstance(provider, Mapping) else provider,
        "success": result.values.get("success") if judged else None,
        "grade": grade.get("score", result.values.get("score")) if judged else None,
        "reason": grade.get("reason"),
    }


FORMATS = (
    Format(
        "promptfoo",
        "objects",
        "promptfoo, results version 3",
        lambda seen: is_file(seen) or is_result(seen),
        reader(results_in),
    ),
)
