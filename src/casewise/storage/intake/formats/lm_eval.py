"""lm-evaluation-harness's samples, `samples_TASK_TIME.jsonl`.

After `save_results_samples` in `lm_eval/loggers/evaluation_tracker.py` of github.com/EleutherAI/lm-evaluation-harness (commit
034ab036), `sanitize_list`, which writes every answer as text, public sample files of 2026 and files that 0.4.13 wrote.

A task with several filters writes a sample once for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.storage.entries import Entry
from casewise.storage.files import shortened_json
from casewise.storage.intake.formats.format import GivenFile, TableFormat, rows_of
from casewise.storage.intake.table import Table

OF_THE_HARNESS = ("doc", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash", "metrics")

SEVERAL = "replies after the filter"
"""The column with the number of a sample's replies, where its filter keeps several."""

UNCONDITIONAL = "acc_mutual_info"
"""The metric whose tasks ask for each choice twice: after the prompt, and after nothing."""


def cells_of(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield a sample: the document's own fields, the target, the reply after the task's filter, and its metrics."""
    other = {name: cell for name, cell in entry.values.items() if name not in OF_THE_HARNESS}
    document = entry.value("doc")
    cells = dict(document) if isinstance(document, Mapping) else {"query": document}
    cells |= {name: cell for name, cell in other.items() if name not in cells}
    if "id" not in cells:
        cells["id"] = entry.name("doc_id")
    filtered = entry.list("filtered_resps")
    if filtered and all(isinstance(a, list) and len(a) == 2 and str(a[1]) in ("True", "False") for a in filtered):
        # log-likelihoods of choices, each with whether it is the likeliest text
        chances = [likelihood(entry, each[0]) for each in filtered]
        if UNCONDITIONAL in entry.values:  # after the likelihoods of the choices stand those without the prompt
            chances = chances[: len(chances) // 2]
        if len(chances) > 1:
            cells["choice"] = max(range(len(chances)), key=chances.__getitem__)
    else:
        first = filtered[0] if filtered else None
        cells["reply"] = first[0] if isinstance(first, list) and first else first
        cells[SEVERAL] = len(first) if isinstance(first, list) and len(first) > 1 else None
    yield cells


def likelihood(entry: Entry, stated: Any) -> float:
    """Return a log-likelihood, which the harness writes as a number or as a text. Raises DataError: it is none."""
    try:
        chance = float(stated)
    except (TypeError, ValueError):
        chance = math.nan
    if math.isnan(chance):
        entry.refuse(f"'filtered_resps' has {shortened_json(stated)}, which is no log-likelihood")
    return chance


def read(given: GivenFile) -> Table:
    """Return a row a sample. Raises ConfigurationError: samples stand there once for each of several filters."""
    table = given.table(rows_of(given, cells_of)).where(given.options.where)
    filters = list(dict.fromkeys(map(str, table.columns.get("filter", ()))))
    if len(filters) > 1:
        raise ConfigurationError(
            f"{given.path} holds each sample after several filters ({', '.join(filters)}); give --where filter={filters[0]} "
            f"or another, or recorded:FILE?filter={filters[0]}"
        )
    for place, n in enumerate(table.columns.pop(SEVERAL, ())):
        if n is not None:
            table.row(place).refuse(f"the sample has {n} replies after its filter; choose a filter that keeps one")
    return table


def refuse_results(given: GivenFile) -> Table:
    problem = "holds the scores of whole tasks; run the harness with --log_samples and give its samples_TASK_TIME.jsonl"
    raise DataError(given.path, None, problem)


FORMATS = (
    TableFormat(
        "lm-eval samples",
        "objects",
        "lm-evaluation-harness 0.4, source",
        lambda seen: {"doc", "resps", "filtered_resps"} <= set(seen),
        read,
    ),
    TableFormat(
        "lm-eval results",
        "objects",
        "lm-evaluation-harness 0.4, source",
        lambda seen: isinstance(seen.get("results"), dict) and "configs" in seen and "versions" in seen,
        refuse_results,
    ),
)
