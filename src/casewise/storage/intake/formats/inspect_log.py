"""Inspect's logs of any task, log version 2: `.eval` archives and JSON.

After `log/_recorders/eval.py`, `log/_recorders/chunked/format.py`, `scorer/_metric.py` and `model/_model_output.py` of inspect-ai
0.3.285 (github.com/UKGovernmentBEIS/inspect_ai), and the logs among its tests. Newer archives are compressed with Zstandard.
Samples in chunks are not read.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.plugins import add_command
from casewise.storage.entries import Entry
from casewise.storage.files import LENIENT, parse
from casewise.storage.intake.chats import turns_of
from casewise.storage.intake.formats.format import GivenFile, TableFormat, reader
from casewise.storage.intake.table import Table, at, object_at, table_of

HEADERS, SAMPLES = ("header.json", "_journal/start.json", "start.json"), "samples/"
"""Files that state the task; a log that was not finished has the second, and the oldest logs the third."""

SAMPLE = re.compile(rf"{SAMPLES}.*_epoch_\d+\.json", re.DOTALL)
"""The name of a whole sample. One in chunks is a folder."""

OWN_TASK, UNSCORED = "casewise/judge", "unscored"
"""The task that casewise brings to Inspect, and the answer of its scorer where a reply gives no verdict."""


def is_archive(file: GivenFile) -> bool:
    return any(name.startswith(SAMPLES) for name in file.members)


def read_archive(file: GivenFile) -> Table:
    """Return a row a sample of an `.eval` archive.

    Raises DataError: it is damaged or holds none. ConfigurationError: the package for its compression is missing.
    """
    with suppress(ImportError):
        import zipfile_zstd  # noqa: F401  (gives zipfile the compression that Python has from 3.14 on)
    rows = []
    try:
        with zipfile.ZipFile(file.path) as archive:
            stated = next((name for name in HEADERS if name in file.members), None)
            header = json.loads(archive.read(stated)) if stated else {}
            files = sorted(filter(SAMPLE.fullmatch, file.members))
            if not files:
                problem = (
                    "holds its samples in chunks; write it as JSON and give that: inspect log dump FILE > log.json"
                )
                raise DataError(file.path, None, problem)
            for number, name in enumerate(files, 1):
                sample = parse(archive.read(name).decode("utf-8"), path=file.path, decoder=LENIENT)
                entry = Entry(file.path, None, sample, name)
                rows.append(Entry(file.path, number, cells_of(entry, header.get("eval") or {})))
    except NotImplementedError as error:
        problem = (
            f"is compressed with Zstandard, which needs Python 3.14 or zipfile-zstd: {add_command('zipfile-zstd')}"
        )
        raise ConfigurationError(f"{file.path} {problem}") from error
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(file.path, None, f"is no log of Inspect: {error}") from error
    return table_of(file.path, rows)


def cells_of(sample: Entry, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sample: its input, the reply, the target, the metadata, and the value and answer of each scorer."""
    output, usage = object_at(sample.values, "output"), object_at(sample.values, "output", "usage")
    completion = output.get("completion")
    if not completion and (turns := turns_of([at(output, "choices", 0, "message")])):
        completion = turns[-1]["text"]
    cells = dict(object_at(sample.values, "metadata"))
    cells |= {
        "id": sample.values.get("id"),
        "epoch": sample.values.get("epoch"),
        "query": sample.values.get("input"),
        "target": sample.values.get("target"),
        "reply": completion,
        "model": output.get("model") or evaluation.get("model"),
        "error": at(sample.values, "error", "message") or sample.values.get("error"),
        "stop_reason": at(output, "choices", 0, "stop_reason"),
        "elicitation": at(evaluation, "task_args", "elicitation") or cells.get("elicitation"),
        "arm": at(evaluation, "task_args", "arm") or cells.get("arm"),
    }
    if usage:
        cells |= {name: usage.get(name) for name in ("input_tokens", "output_tokens")}
    for name in object_at(sample.values, "scores"):
        score = object_at(sample.values, "scores", name)
        answer, number = score.get("answer"), at(score, "metadata", "value")
        if evaluation.get("task") != OWN_TASK:
            cells |= {name: score.get("value"), f"{name} answer": answer}
        elif answer == UNSCORED:
            cells[name] = None
        else:  # the value is the agreement with people, and the answer the verdict
            cells[name] = answer if number is None or cells["elicitation"] == "binary" else number
    return cells


def is_json(seen: Mapping[str, Any]) -> bool:
    return isinstance(seen.get("eval"), Mapping) and isinstance(seen.get("samples"), list) and "status" in seen


def samples_in(entry: Entry) -> Iterator[dict[str, Any]]:
    for sample in entry.entries("samples"):
        yield cells_of(sample, entry.values["eval"])


FORMATS = (
    TableFormat("Inspect log", "bytes", "Inspect, log version 2, source", is_archive, read_archive),
    TableFormat("Inspect log (JSON)", "objects", "Inspect, log version 2, source", is_json, reader(samples_in)),
)
