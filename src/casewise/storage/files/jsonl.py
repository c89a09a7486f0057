"""JSON as text, and one record a line: errors name the file and the line; a million lines stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from casewise.errors import DataError
from casewise.records.base import CHECKED_BEFORE, Record
from casewise.storage.files.atomic import cannot_read, replacing
from casewise.storage.files.strict_json import parse, what_is_wrong

__all__ = ["decoded", "json_text", "known_record", "numbered_lines", "read_jsonl", "record", "write_jsonl"]

R = TypeVar("R", bound=Record)


def read_jsonl(path: Path, model: type[R], *, growing: bool = False) -> Iterator[R]:
    """The records of a JSONL file, one at a time; of a `growing` one, a last line without its line break is passed over.

    Raises DataError: a line is not UTF-8, not JSON or not such a record; the message names it. A missing file, too.
    """
    for number, line in numbered_lines(path, growing=growing):
        yield record(line, model, path=path, line=number)


def record(text: str, model: type[R], *, path: Path, line: int) -> R:
    """The record that one line of a file holds; no value passes for one of another type."""
    parse(text, path=path, line=line)
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise DataError(path, line, what_is_wrong(error)) from error


def known_record(text: str, model: type[R]) -> R:
    """The record of a line that `record` has read before, to the byte: a third of its time."""
    return model.model_validate_json(text, strict=True, context=CHECKED_BEFORE)


def numbered_lines(path: Path, *, growing: bool = False) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file with their numbers from 1; blank ones are passed over, and the torn last one of a `growing` file."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                if growing and not raw.endswith(b"\n"):
                    return
                line = decoded(raw, path=path, line=number)
                if line.strip():
                    yield number, line
    except OSError as error:
        raise cannot_read(path, error) from error


def decoded(raw: bytes, *, path: Path, line: int) -> str:
    """The text of one line of a UTF-8 file; a byte order mark before the first is passed over."""
    try:
        return raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise DataError(path, line, problem) from error


def write_jsonl(path: Path, records: Iterable[Record]) -> None:
    """Write `records` to `path`, one a line, whole or not at all."""
    with replacing(path) as file:
        for item in records:
            file.write(item.line().encode("utf-8"))
            file.write(b"\n")


def json_text(value: Any) -> str:
    """`value` as one JSON document; `n`, `n_…` and `items` are whole numbers (a tie, which counts half in each class, may be half)."""
    return json.dumps(counted(value), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def counted(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: counted(one, str(key)) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [counted(one) for one in value]
    is_count = name in ("n", "items") or name.startswith("n_")
    return int(value) if is_count and isinstance(value, float) and value.is_integer() else value
