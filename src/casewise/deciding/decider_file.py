"""A fitted decider and its file: which judge, how it is calibrated, its thresholds, what they were measured to cost, and a hash."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import from_json

from casewise.errors import ChecksumMismatch, DataError
from casewise.records import Elicitation
from casewise.records.base import Record
from casewise.stats.calibrators import Isotonic, Platt
from casewise.stats.thresholds import FittedThresholds, Measurement, Requirements, TradeOff
from casewise.storage.files import first_problem, read_text, write_text

FORMAT_VERSION = 1


class MeasuredJudge(Record):
    """The judge that was measured, with the settings to rebuild it."""

    name: str
    id: str
    elicitation: Elicitation
    arm: str
    prompts: str = "casewise"
    """The value of `--prompts`: a name, or the path of a file."""
    base_url: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """The settings that its answers depend on; the judge that is made anew must have the same."""
    wording: str | None = None
    """Version and digest of the words that it asks in; None for a judge that is not asked in words."""


class FittedOn(Record):
    """The benchmark that it was fitted on."""

    name: str
    digest: str
    labels: str
    """The label policy, as `--labels` takes it."""
    label_source: str | None = None
    """Whose labels these are, in words; None where people voted."""
    n_items: int
    n_queries: int
    synthetic: str | None = None

    @property
    def label_words(self) -> str:
        """Whose labels these are, or the policy that made them from votes; completes "labels: …"."""
        return self.label_source or self.labels


class FittedCalibration(Record):
    """A calibration: the curve from a value to P(safe), and its errors."""

    curve: Platt | Isotonic
    brier: dict[str, float] = Field(default_factory=dict)
    """Brier score on held-out queries, by method; the lowest was taken."""
    error_before: float | None = None
    error_after: float | None = None
    """Calibration error of the values as they are, and calibrated, on held-out queries."""


class MeasuredOn(Record):
    """Kinds of request that it was measured on."""

    always: tuple[str, ...] = ()
    """Parameters that every context stated, by dotted name."""
    sometimes: tuple[str, ...] = ()
    without_context: bool = False
    """True if items without a context were among them."""
    kinds: tuple[str, ...] = ("request",)
    """The kinds of what was judged: requests, requests after a conversation, replies, actions
    (`casewise.ask.layouts.Kind`)."""
    query_categories: tuple[str, ...] = ()
    """Categories of the queries."""
    decisions: dict[str, float] = Field(default_factory=dict)
    """Share of each decision on held-out queries."""
    score_edges: tuple[float, ...] = ()
    score_shares: tuple[float, ...] = ()
    """The judge's values in bins, and the share of items with a value in each: what traffic is compared with."""
    without_value: float = 0.0
    unscored: dict[str, float] = Field(default_factory=dict)
    """Share of the asked items without a value, by reason."""
    categories: dict[str, float] = Field(default_factory=dict)
    """Share of items that the judge put in each of its own categories."""

    @property
    def stated(self) -> frozenset[str]:
        """Parameters that some context stated."""
        return frozenset((*self.always, *self.sometimes))


class FittedDecider(Record):
    """The content of a decider's file: a judge with fitted thresholds, and its measurements."""

    model_config = ConfigDict(allow_inf_nan=True, ser_json_inf_nan="strings")

    format_version: int = FORMAT_VERSION
    casewise: str
    created: datetime
    refuse_unmeasured: bool = False
    """True if a request of a kind that was not measured is refused."""
    judge: MeasuredJudge
    benchmark: FittedOn
    calibration: FittedCalibration
    requirements: Requirements
    """The aims of the thresholds, and the decision where the judge gives no value."""
    thresholds: FittedThresholds
    measured: Measurement
    """The measured results of the decisions on held-out queries."""
    measured_where_fitted: Measurement
    """The same on the items that it was fitted on: too good, by the optimism."""
    measured_on: MeasuredOn = Field(default_factory=MeasuredOn)
    trade_offs: tuple[TradeOff, ...] = ()
    """Harm and over-refusal at other thresholds, on the items that it was fitted on."""

    def save(self, path: str | Path) -> str:
        """Write the decider to `path`; its hash."""
        text = self.model_dump_json(indent=2) + "\n"
        file_hash = hash_text(text)
        write_text(Path(path), text.replace("{\n", f'{{\n  "hash": "{file_hash}",\n', 1))
        return file_hash


HASH_LINE = re.compile(r'^ *"hash": "[0-9a-f]*",\n', re.MULTILINE)


def hash_text(text: str) -> str:
    """Return 128 bits of BLAKE2b over a decider's text, its hash line left out. It tells a slip; it is no signature."""
    return hashlib.blake2b(HASH_LINE.sub("", text, count=1).encode(), digest_size=16).hexdigest()


def read_decider(path: Path) -> tuple[FittedDecider, str]:
    """Return the decider in `path`, and its hash.

    Raises ChecksumMismatch: it is not what was written. DataError: it cannot be read, is no decider, or another version of
    casewise wrote it.
    """
    text = read_text(path)
    try:
        stated = from_json(text)
    except ValueError as error:
        raise DataError(path, None, f"is not a decider file ({error}); casewise decider fit RUN writes one") from error
    version = stated.get("format_version") if isinstance(stated, dict) else None
    if version is None:
        raise DataError(path, None, "is not a decider file: it has no format_version; casewise decider fit writes one")
    if version != FORMAT_VERSION:
        problem = (
            f"has decider format {version}, but this casewise reads format {FORMAT_VERSION}; fit it again with this one"
        )
        raise DataError(path, None, problem)
    written = stated.pop("hash", None)
    if written != hash_text(text):
        problem = f"was changed after fitting: its hash is {hash_text(text)}, but it states {written!r}; fit it again"
        raise ChecksumMismatch(path, None, problem)
    try:
        return FittedDecider.model_validate(stated), written
    except ValidationError as error:
        raise DataError(path, None, first_problem(error)) from error
