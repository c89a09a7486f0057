"""lm-evaluation-harness's samples. https://github.com/EleutherAI/lm-evaluation-harness (0.4.9), `samples_TASK_TIME.jsonl`.

A task with several filters writes a sample once for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casewise.errors import DataError
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
    """Return a row a sample. Raises DataError: samples stand there once for each of several filters."""
    table = given.table(rows_of(given, cells_of))
    filters = list(dict.fromkeys(map(str, table.columns.get("filter", ()))))
    if len(filters) > 1:
        raise DataError(given.path, None, f"holds each sample after several filters ({', '.join(filters)}); keep one")
    return table


FORMATS = (
    Format(
        "lm-eval samples",
        "objects",
        "lm-evaluation-harness 0.4.9",
        lambda seen: {"doc", "resps", "filtered_resps"} <= set(seen),
        read,
    ),
)
