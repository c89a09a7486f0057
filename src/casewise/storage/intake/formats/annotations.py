"""Parts that the readers of annotation tools share: a row a person and case, with a column a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casewise.storage.entries import Entry, text_or_json

ANNOTATOR = "annotator"
"""The column with who answered."""

NOBODY = "nobody has answered yet: no case has an answer that was submitted"


def beside(entry: Entry, cells: Mapping[str, Any], answers: Mapping[str, Any], annotator: str) -> dict[str, Any]:
    """Return the fields of a case and one person's answers. No question may have the name of a column of the case."""
    if twice := set(answers) & set(cells):
        entry.refuse(f"the question {min(twice)!r} is called as a field of the data; rename one of them in the tool")
    return {**cells, **answers, ANNOTATOR: annotator}


def single(values: Any) -> Any:
    """Return one answer as itself, and several as a text with commas."""
    if not isinstance(values, list):
        return values
    return values[0] if len(values) == 1 else ", ".join(map(text_or_json, values))
