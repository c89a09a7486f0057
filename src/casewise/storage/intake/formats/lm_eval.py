"""lm-evaluation-harness's samples. https://github.com/EleutherAI/lm-evaluation-harness (0.4.9), `samples_TASK_TIME.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.storage.entries import Entry
from casewise.storage.intake.formats.format import Format, GivenFile, rows_of
from casewise.storage.intake.table import Table

OF_THE_HARNESS = ("doc", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash", "metrics")


def cells_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield a sample: the document's own fields, the target, the reply after the task's filter, and its metrics."""
    other = {name: cell for name, cell in entry.values.items() if name not in OF_THE_HARNESS}
    document = entry.values["doc"]
    cells = dict(document) if isinstance(document, Mapping) else {"query": document}
    cells |= {name: cell for name, cell in other.items() if name not in cells}
    if "id" not in cells:
        cells["id"] = entry.name("doc_id")
    filtered = entry.list("filtered_resps")
    first = filtered[0] if filtered else None
    if len(filtered) > 1 and all(isinstance(each, list) and len(each) == 2 for each in filtered):
        chances = [float(each[0]) for each in filtered]  # of each choice: its log-likelihood, and whether it is greedy
        cells["choice"] = max(range(len(chances)), key=chances.__getitem__)
    else:
        cells["reply"] = first[0] if isinstance(first, list) and len(first) == 1 else first
    yield cells


def read(given: GivenFile) -> Table:
    return given.table(rows_of(given, cells_of))


FORMATS = (
    Format(
        "lm-eval samples",
        "objects",
        "lm-evaluation-harness 0.4.9",
        lambda seen: {"doc", "resps", "filtered_resps"} <= set(seen),
        read,
    ),
)
