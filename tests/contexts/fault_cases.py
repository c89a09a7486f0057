"""The measured set of faults: planted and clean texts, each in a context that is otherwise clean."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from casewise.contexts.foreign_text import foreign_text

HERE = Path(__file__).parent
CHECK_OF = {
    "verdict": ("states a verdict", "announces harm"),
    "injection": ("instructs the reader",),
    "placeholder": ("placeholder",),
    "language": ("another language",),
    "copy of the query": ("copies the query",),
}
"""Kinds of planted texts, and the checks that are for them."""
CLEAN = "clean"


@dataclass(frozen=True)
class FaultCase:
    """A context with one text that was planted in it, or with one that only looks like a fault."""

    half: str
    kind: str
    query: str
    fields: dict[str, str]
    text: str

    def checks(self) -> set[str]:
        """The checks that find something in the context."""
        return {found.check for found in foreign_text(self.query, self.fields)}


def fault_cases() -> list[FaultCase]:
    """All cases. A text stands in place of a parameter of a clean context of the same half."""
    lines = (json.loads(line) for line in (HERE / "drift_cases.jsonl").read_text(encoding="utf-8").splitlines())
    clean = [line for line in lines if line["label"] == "faithful"]
    cases = []
    for number, line in enumerate((HERE / "fault_cases.jsonl").read_text(encoding="utf-8").splitlines()):
        case = json.loads(line)
        of_half = [base for base in clean if base["half"] == case["half"]]
        base = of_half[number % len(of_half)]
        fields = base["fields"] | {case["parameter"]: case["text"]}
        cases.append(FaultCase(case["half"], case["kind"], case.get("query", base["query"]), fields, case["text"]))
    return cases
