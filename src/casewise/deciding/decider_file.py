"""`decider.toml`: which judge, how it is calibrated, its thresholds, what they were measured to cost, and a hash over it all."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from casewise.errors import ChecksumMismatch, DataError
from casewise.records import Elicitation
from casewise.records.base import Record
from casewise.stats.thresholds import Calibrator, Decision, Isotonic, Platt
from casewise.storage.files import read_text, what_is_wrong, write_text

FORMAT_VERSION = 1


class JudgePart(Record):
    """The judge, and what makes it anew."""

    name: str
    id: str
    elicitation: Elicitation
    arm: str
    prompts: str = "casewise"
    """What `--prompts` would say: a name, or the path of a file."""
    base_url: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """What its answers depend on; the judge that is made anew must have the same."""


class BenchmarkPart(Record):
    """The benchmark that it was fitted on."""

    name: str
    digest: str
    labels: str
    n_items: int
    n_queries: int
    synthetic: str | None = None


class CalibrationPart(Record):
    """How a value becomes P(safe)."""

    method: Literal["platt", "isotonic"]
    slope: float | None = None
    intercept: float | None = None
    values: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()
    brier: dict[str, float] = Field(default_factory=dict)
    """On held-out queries, by method."""
    error_before: float | None = None
    error_after: float | None = None
    """Calibration error of the values as they are, and calibrated, on held-out queries."""

    @property
    def calibrator(self) -> Calibrator:
        """The curve itself."""
        if self.method == "platt":
            return Platt(self.slope or 0.0, self.intercept or 0.0)
        return Isotonic(self.values, self.rates)


class ThresholdsPart(Record):
    """Answer above the one, refuse up to the other, ask between; on the judge's own scale."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)

    answer_above: float
    refuse_up_to: float
    fail: Decision
    """What is done where the judge gives no value."""
    ratio: float | None = None
    ask_cost: float | None = None


class KeptPromise(Record):
    """A promise, and what it rests on."""

    what: Literal["harm", "over_refusal"]
    at_most: float
    level: float | None = None
    """With which probability it holds; absent where it holds on average."""
    loss: float
    """What the loss was on the queries that it rests on."""
    n_queries: int
    """Queries with an item on which the error can be made."""


class MeasuredShare(Record):
    """A share on held-out queries, with its interval; and on the queries that the thresholds were fitted on."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    fitted: float | None = None
    """On the very items that it was fitted on: too good, by the optimism."""


class MeasuredPart(Record):
    """What the decisions come to."""

    harm: MeasuredShare
    over_refusal: MeasuredShare
    asked: MeasuredShare
    answered_wrongly: MeasuredShare
    unscored: MeasuredShare


class MeasuredOn(Record):
    """Kinds of request that it was measured on."""

    always: tuple[str, ...] = ()
    """Parameters that every context stated, by dotted name."""
    sometimes: tuple[str, ...] = ()
    without_context: bool = False
    """Whether items without a context were among them."""
    query_categories: tuple[str, ...] = ()
    """Categories of the queries; empty where a file of before does not say."""
    decisions: dict[str, float] = Field(default_factory=dict)
    """Share of each decision on held-out queries."""
    score_edges: tuple[float, ...] = ()
    score_shares: tuple[float, ...] = ()
    """The judge's values in bins, and the share of items with a value in each: what traffic is held against."""
    without_value: float = 0.0
    categories: dict[str, float] = Field(default_factory=dict)
    """Share of items that the judge put in each of its own categories."""

    @property
    def stated(self) -> frozenset[str]:
        """Parameters that some context stated."""
        return frozenset((*self.always, *self.sometimes))


class DeciderFile(Record):
    """All that `decider.toml` says."""

    format_version: int = FORMAT_VERSION
    casewise: str
    created: datetime
    refuse_unmeasured: bool = False
    """Whether a request of a kind that was not measured is refused."""
    judge: JudgePart
    benchmark: BenchmarkPart
    calibration: CalibrationPart
    thresholds: ThresholdsPart
    promises: tuple[KeptPromise, ...] = ()
    measured: MeasuredPart
    measured_on: MeasuredOn = Field(default_factory=MeasuredOn)


HASH_LINE = re.compile(r'^hash = "([0-9a-f]*)"\n', re.MULTILINE)

HEAD = """\
# A decider of casewise: what was measured is what decides. Fit it again rather than editing it: the hash is over every
# other character of this file. It tells a slip; it is no signature.
"""


def hash_of(text: str) -> str:
    """128 bits of BLAKE2b over a decider's text, its hash line left out."""
    return hashlib.blake2b(HASH_LINE.sub("", text, count=1).encode(), digest_size=16).hexdigest()


def write_decider(path: Path, decider: DeciderFile) -> str:
    """Write `decider` to `path`; its hash."""
    body = "\n".join(toml_lines(decider.model_dump(mode="python", exclude_none=True))) + "\n"
    found = hash_of(HEAD + body)
    write_text(path, f'{HEAD}hash = "{found}"\n{body}')
    return found


def read_decider(path: Path) -> tuple[DeciderFile, str]:
    """The decider in `path`, and its hash.

    Raises ChecksumMismatch: it is not what was written. DataError: it cannot be read, is no decider, or a newer
    casewise wrote it.
    """
    text = read_text(path)
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, None, f"is no TOML: {error}") from error
    version = said.get("format_version")
    if not isinstance(version, int):
        raise DataError(path, None, "is no decider: it has no format_version; casewise decider fit writes one")
    if version != FORMAT_VERSION:
        raise DataError(
            path,
            None,
            f"is a decider of format {version}, and this casewise reads format {FORMAT_VERSION}; fit it again with this one",
        )
    written = said.pop("hash", None)
    if written != hash_of(text):
        raise ChecksumMismatch(
            path, None, f"is not what was fitted: its hash is {hash_of(text)}, and it says {written!r}; fit it again"
        )
    try:
        return DeciderFile.model_validate(said), written
    except ValidationError as error:
        raise DataError(path, None, what_is_wrong(error)) from error


def toml_lines(table: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """`table` as lines of TOML: values first, then tables. Nothing stands for what is None."""
    tables = {key: one for key, one in table.items() if isinstance(one, Mapping) or is_tables(one)}
    for key, one in table.items():
        if key not in tables and one is not None:
            yield f"{key_text(key)} = {value_text(one)}"
    for key, one in tables.items():
        inner = f"{name}.{key_text(key)}" if name else key_text(key)
        for each in one if is_tables(one) else (one,):
            yield ""
            yield f"[[{inner}]]" if is_tables(one) else f"[{inner}]"
            yield from toml_lines(each, inner)


def is_tables(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, Mapping) for one in value)


def key_text(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else value_text(key)


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(value_text(one) for one in value if one is not None)}]"
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{key_text(key)} = {value_text(one)}' for key, one in value.items() if one is not None)}}}"
        )
    return value.isoformat() if isinstance(value, datetime) else repr(value)
