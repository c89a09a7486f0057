"""Files that are never half-written, and JSON that is read strictly."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import platformdirs
from pydantic import ValidationError

from casewise.errors import ConfigurationError, DataError
from casewise.records.base import Record, reason_of
from casewise.text import count_of

# Writing so that a reader finds the old file or the new one, and never half of one.


OS_ERROR = re.compile(r"\(os error (\d+)\)")
"""The form in which a library in Rust states a system error, in an exception of its own."""


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Yield a temporary file that becomes `path` when the block ends, and is removed when the block raises. A `private`
    file (mode 0600), such as one with chatbots' replies, is readable by its owner alone.

    Raises ConfigurationError: the folder is not writable, or the disk is full; `path` is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o600 if private else 0o666 & ~current_umask())
        Path(name).replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    except Exception as error:
        if (code := OS_ERROR.search(str(error))) is None:
            raise
        raise cannot_write(path, OSError(int(code[1]), os.strerror(int(code[1])))) from error
    finally:
        with suppress(OSError):
            Path(name).unlink()


@contextmanager
def owner_only_files() -> Iterator[None]:
    """Create files (0600) and folders (0700) in the block with permissions for their owner alone."""
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


def cannot_write(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot write {path}: {error.strerror or error}; choose another place or make room, nothing was changed there"
    )


def cannot_append(path: Path, error: OSError) -> ConfigurationError:
    """Return the same of a file that lines are added to."""
    return ConfigurationError(
        f"cannot write {path}: {error.strerror or error}; what it holds is kept: make room, and run the same again"
    )


def cannot_read(path: Path, error: OSError) -> DataError:
    return DataError(path, None, f"cannot be read: {error.strerror or error}")


def cache_folder() -> Path:
    """Return the folder in which casewise keeps fetched files and computed results for this user."""
    return Path(platformdirs.user_cache_dir("casewise"))


MOST_CACHED = 64
"""Computed files of a kind in the cache; of more, those that were used longest ago are removed."""


def write_cached(path: Path, content: bytes) -> None:
    """Write a file of the cache, and remove the oldest beside it. Where nothing can be written, nothing is kept."""
    with suppress(OSError, ConfigurationError):
        with replacing(path, private=True) as file:
            file.write(content)
        for oldest in sorted(path.parent.glob(f"*{path.suffix}"), key=lambda file: file.stat().st_mtime)[:-MOST_CACHED]:
            oldest.unlink(missing_ok=True)


def current_umask() -> int:
    """Return the umask of this process: the permissions that new files and folders do not get."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all; `private` as of `replacing`."""
    with replacing(path, private=private) as file:
        file.write(text.encode("utf-8"))


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises DataError: the file cannot be read, or its bytes are no UTF-8; the message names the line.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8 (it may be Windows-1252)"
        raise DataError(path, line, problem) from error


# JSON read strictly: no repeated keys, no NaN, no lone surrogates, and errors that name the line.


MAX_DIGITS = 300
"""Most digits of a whole number: with more it may not fit a floating-point number."""

MAX_DEPTH = 200
"""Arrays and objects in one another; how many more the interpreter can take differs from one Python to the next."""

BETWEEN_ROWS = re.compile(r"[ \t\n\r,]*")

UNION_MEMBER = re.compile(r"function-wrap\[|nullable\[")
"""The names that pydantic gives in an error's place to the forms of a value; no user knows them."""

MAY_BE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that is half a character unless its other half follows."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return value


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def null_for_nan(name: str) -> None:
    if name != "NaN":
        refuse_constant(name)


def finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {shortened(digits)} is too large")
    return value


def whole_number(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"the number {shortened(digits)} is too large")
    return int(digits)


def shortened(digits: str) -> str:
    return digits if len(digits) <= 24 else f"{digits[:12]}... ({len(digits)} digits)"


def refuse_surrogates(text: str, value: Any) -> None:
    """Refuse escaped lone surrogates. They are valid in JSON, but can be neither written nor printed."""
    if MAY_BE_SURROGATE.search(text) is None:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise ValueError(f"{half} is half a character (a lone surrogate)") from error


def refuse_depth(text: str, value: Any) -> None:
    """Refuse values that are nested too deep for recursive functions."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        nested = [outer for outer in level if isinstance(outer, (dict, list))]
        level = [inner for outer in nested for inner in (outer.values() if isinstance(outer, dict) else outer)]
        if not level:
            return
    raise ValueError("nested too deep")


DECODER = json.JSONDecoder(
    object_pairs_hook=unique_keys, parse_constant=refuse_constant, parse_float=finite, parse_int=whole_number
)


LENIENT = json.JSONDecoder(
    object_pairs_hook=unique_keys, parse_constant=null_for_nan, parse_float=finite, parse_int=whole_number
)
"""Decoder for files of other programs, some of which write NaN for a missing value."""


def parse(text: str, *, path: Path, line: int | None = None, decoder: json.JSONDecoder = DECODER) -> Any:
    """Return the value of a JSON text.

    `text`: the whole text of `path`, or, with `line`, that one line of it.

    Raises DataError: the text is no JSON; the message names the line.
    """
    if not text.strip():
        raise DataError(path, line, "the file is empty" if line is None else "the line is empty")
    try:
        value = decoder.decode(text)
        refuse_depth(text, value)
        refuse_surrogates(text, value)
        return value
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        raise DataError(path, at, f"not JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        problem = "nested too deep" if isinstance(error, RecursionError) else error
        raise DataError(path, line, f"not JSON that can be read: {problem}") from error


def rows(text: str, *, path: Path, decoder: json.JSONDecoder = DECODER) -> Iterator[tuple[int, Any]]:
    """Yield the elements of a JSON array, each after the line it begins on.

    Raises DataError: the text is no JSON, or not an array.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = parse(text, path=path)  # which says what is wrong
    if not isinstance(values, list):
        raise DataError(path, None, "not a JSON array of rows")
    line, counted, end = 1, 0, text.index("[") + 1
    for number in range(1, len(values) + 1):
        start = BETWEEN_ROWS.match(text, end).end()  # type: ignore[union-attr]  # it may match nothing
        line, counted = line + text.count("\n", counted, start), start
        try:
            value, end = decoder.raw_decode(text, start)
            refuse_depth(text[start:end], value)
            refuse_surrogates(text[start:end], value)
        except ValueError as error:
            raise DataError(path, line, f"row {number}: {error}") from error
        yield line, value


def first_problem(error: ValidationError, *, above: str = "") -> str:
    """Return the first problem of a validation in one line: the place, the value, and the expected value.

    `above` is where the value that was validated stands itself.
    """
    first = error.errors(include_url=False)[0]
    steps = [str(step) for step in first["loc"] if not UNION_MEMBER.match(str(step))]
    where = repr(".".join([above, *steps] if above else steps))
    problem, value = reason_of(first), first["input"]
    if first["type"] in {"missing", "value_error"} or isinstance(value, (dict, list)):
        return f"{where}: {problem}" if steps or above else problem
    return f"{where} is {shortened_json(value)}: {problem}" if steps or above else f"{shortened_json(value)}: {problem}"


def shortened_json(value: Any) -> str:
    """Return `value` as one line of at most 80 characters, for a message."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


# JSON as text, and one record a line: errors name the file and the line; a million lines stream.


R = TypeVar("R", bound=Record)


def read_jsonl(path: Path, model: type[R], *, growing: bool = False) -> Iterator[R]:
    """Yield the records of a JSONL file. In a `growing` file a last line without a line break is skipped.

    Raises DataError: a line is not UTF-8, not JSON or not such a record; the message names it. A missing file, too.
    """
    for number, line in numbered_lines(path, growing=growing):
        yield record(line, model, path=path, line=number)


def record(text: str, model: type[R], *, path: Path, line: int) -> R:
    """Return the record in one line of a file. Types are checked strictly."""
    parse(text, path=path, line=line)
    try:
        return model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise DataError(path, line, first_problem(error)) from error


def numbered_lines(path: Path, *, growing: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file with their numbers from 1. Blank lines are skipped, and an incomplete last line of a
    `growing` file."""
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
    """Return the text of one line of a UTF-8 file, without a byte order mark before the first line."""
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


def shipped_text(package: str, name: str) -> str:
    """Return the text of a file within casewise."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def filled_template(package: str, name: str, values: Mapping[str, Any]) -> str:
    """Return the text that a Jinja template within casewise makes of `values`."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, trim_blocks=True)  # noqa: S701
    # JSON's strings, booleans and arrays are TOML's
    environment.filters |= {"toml": lambda value: json.dumps(value, ensure_ascii=False), "count_of": count_of}
    return environment.from_string(shipped_text(package, name)).render(values)


def json_value(value: Any) -> Any:
    """Return `value` in the types of JSON: dataclasses by field, tables by row, paths as text. Numbers that are none become
    null.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return value.as_json() if hasattr(value, "as_json") else json_fields(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    for name in ("to_dicts", "tolist"):  # a table of polars, an array or a number of numpy
        if hasattr(value, name):
            return json_value(getattr(value, name)())
    return str(value) if isinstance(value, Path) else value


def json_fields(value: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a dataclass in the types of JSON, by name."""
    return {part.name: json_value(getattr(value, part.name)) for part in fields(value) if part.name not in without}


def append_line(path: Path, record: Record, *, sync: bool = False) -> None:
    """Add a record to a file as a line, and with `sync` see to it that it is on the disk. Raises ConfigurationError: it cannot be."""
    try:
        with path.open("ab") as file:
            file.write((record.line() + "\n").encode())
            if sync:
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise cannot_append(path, error) from error


def json_text(value: Any) -> str:
    """Return `value` as one JSON document; `n`, `n_…` and `items` are whole numbers (a tie, which counts half in each class,
    may be half).
    """
    return json.dumps(counted(value), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def counted(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: counted(element, str(key)) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [counted(element) for element in value]
    is_count = name in ("n", "items") or name.startswith("n_")
    return int(value) if is_count and isinstance(value, float) and value.is_integer() else value
