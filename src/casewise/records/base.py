"""The base of all records: frozen, checked, with an id made of what they say."""

from __future__ import annotations

import hashlib
import json
import reprlib
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, model_validator
from pydantic_core import ErrorDetails

from casewise.errors import DataError, did_you_mean

# The representation of an object: one line, however much it holds, so that a traceback or a notebook prints no benchmark.


MOST = 300
"""Characters of one object."""

SHORT = reprlib.Repr()
SHORT.maxstring = SHORT.maxother = 60
SHORT.maxtuple = SHORT.maxlist = SHORT.maxdict = SHORT.maxset = 2
SHORT.maxlevel = 2


def short_repr(name: str, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> str:
    """Return `Name(field=value, …)` with every value, and the whole, cut short.

    Examples
    --------
    >>> short_repr("Table", {"name": "t", "rows": tuple(range(1000))})
    "Table(name='t', rows=(0, 1, ...))"
    """
    written: list[str] = []
    remaining = MOST
    for key, value in dict(values).items():
        part = f"{key}={SHORT.repr(value)}"
        remaining -= len(part)
        if remaining < 0:
            return f"{name}({', '.join([*written, '…'])})"
        written.append(part)
    return f"{name}({', '.join(written)})"


class ShortRepr:
    """Base of dataclasses that may hold much; they are made with `repr=False`."""

    def __repr__(self) -> str:
        shown = {part.name: getattr(self, part.name) for part in fields(self) if part.repr}  # type: ignore[arg-type]  # subclasses are dataclasses
        return short_repr(type(self).__name__, shown)


# All records: they are frozen, refuse unknown keys, and have an id that is a hash of their content.


SORTED = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return `value` as JSON text that depends on its meaning only."""
    return SORTED.encode(canonical(value))


def canonical(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if isinstance(value, (dict, Mapping)):
        return {canonical(str(key)): canonical(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    return value


def digest(value: Any) -> str:
    """Return 32 hexadecimal digits (128 bits) of BLAKE2b over the canonical JSON of `value`."""
    return digest_of_json(canonical_json(value))


def digest_of_json(canonical_text: str) -> str:
    return hashlib.blake2b(canonical_text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def escape_surrogates(text: str) -> str:
    """Return `text` with lone surrogates (halves of characters) written as escapes: JSON can hold them, UTF-8 and files
    cannot.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def escape_all_surrogates(value: Any) -> Any:
    """Return a JSON value with `escape_surrogates` applied to every text and key."""
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, list):
        return [escape_all_surrogates(part) for part in value]
    return (
        {escape_all_surrogates(key): escape_all_surrogates(part) for key, part in value.items()}
        if isinstance(value, dict)
        else value
    )


def content_id(kind: str, value: Any) -> str:
    """Return `kind`, an underscore and the digest of `value`, plain JSON values: `q_5f0c…`."""
    content = {"kind": kind, "value": value}
    text = SORTED.encode(content)
    if not text.isascii() or ":null" in text:  # only these may differ from their canonical form
        text = canonical_json(content)
    return f"{kind}_{digest_of_json(text)}"


ALREADY_VALIDATED: dict[str, Any] = {}
"""The context of a validation of text that was validated before, to the byte: its id is not made anew."""


class Record(BaseModel):
    """A frozen record. Unknown keys are errors: a misspelt key must not pass for an absent one."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", allow_inf_nan=False)

    def __repr__(self) -> str:
        return short_repr(type(self).__name__, self)

    def line(self) -> str:
        """Return the record as one line of JSONL, without the line break; what is null is left out."""
        return self.model_dump_json(exclude_none=True)

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain JSON values; what is null is left out."""
        return self.model_dump(mode="json", exclude_none=True)


class Provenance(Record):
    """The origin of a record. Never part of its identity."""

    by: str
    """A person's study or staff id, a model with its version, or a program with its version."""
    at: datetime | None = None
    detail: dict[str, str] | None = None


class ContentRecord(Record):
    """A record whose id is a hash of the fields named in `identity`.

    The id may be left out when a record is made. One that is given is checked, so that a record edited by hand
    cannot keep the id of what it was.
    """

    kind: ClassVar[str]
    identity: ClassVar[tuple[str, ...]]

    id: str = ""

    def content(self) -> dict[str, Any]:
        """Return the fields that are the record's identity, as plain JSON values."""
        return self.model_dump(mode="json", include=set(self.identity), exclude_none=True)

    @model_validator(mode="after")
    def _id_is_content(self, info: ValidationInfo) -> Self:
        if self.id and info.context is ALREADY_VALIDATED:
            return self
        expected = content_id(self.kind, self.content())
        if not self.id:
            object.__setattr__(self, "id", expected)
        elif self.id != expected:
            raise ValueError(
                f"id is {self.id!r}, but the content gives {expected!r}; leave the id out to have it computed"
            )
        return self


# TOML files that users write, and those that are shipped.


M = TypeVar("M", bound=BaseModel)


def read_toml(path: Path, title: str) -> dict[str, Any]:
    """Return the tables of a user's file.

    Raises DataError: it cannot be read or is not TOML; the message says that it is no `title`, such as "a taxonomy".
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(path, None, f"not {title} in TOML: {error}") from error


def read_record(path: Path, kind: type[M], title: str) -> M:
    """Return a user's file as a record of this kind.

    Raises DataError: as of `read_toml`; or it is no such record, and the message says where.
    """
    try:
        return kind.model_validate(read_toml(path, title))
    except ValidationError as error:
        raise DataError(path, None, problems(error, kind)[0]) from error


def reason_of(problem: ErrorDetails) -> str:
    """Return what a validation says of a value: the message of the `ValueError` that a validator raised, else pydantic's."""
    raised = problem.get("ctx", {}).get("error")
    return str(raised) if isinstance(raised, ValueError) else problem["msg"]


def problems(error: ValidationError, kind: type[BaseModel], whole: str = "") -> list[str]:
    """Return the problems that a validation found: the place, the problem, and the value where there is one.

    Names that are not known come first, each with the nearest known name. `whole` stands for the record itself.
    """
    lines = []
    for problem in sorted(error.errors(include_url=False), key=lambda entry: entry["type"] != "extra_forbidden"):
        steps = problem["loc"]
        where, text = ".".join(map(str, steps)) or whole, reason_of(problem)
        if problem["type"] == "extra_forbidden":
            lines.append(f"{where} is not known{did_you_mean(str(steps[-1]), field_names(kind, steps[:-1]))}")
            continue
        if problem["type"] == "missing":
            lines.append(f"{where} is missing")
            continue
        value = problem["input"]
        shown = f" (it is {value!r})" if isinstance(value, (str, int, float)) else ""
        lines.append(f"{where}: {text}{shown}" if where else f"{text}{shown}")
    return lines


def field_names(kind: type[BaseModel], steps: Sequence[int | str]) -> list[str]:
    """Return the names of the fields that a validation error's location goes through."""
    for step in steps:
        if isinstance(step, str) and (field := kind.model_fields.get(step)) is not None:
            models = [
                part
                for part in inner_annotations(field.annotation)
                if isinstance(part, type) and issubclass(part, BaseModel)
            ]
            if not models:
                return []
            kind = models[0]
    return list(kind.model_fields)


def inner_annotations(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and its parts."""
    yield annotation
    for part in get_args(annotation):
        yield from inner_annotations(part)


def shipped_toml(package: str, name: str) -> dict[str, Any]:
    """Return the tables of a file within casewise."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
