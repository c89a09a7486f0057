"""A fitted decider and its file: which judge, how it is calibrated, its thresholds, what they were measured to cost, and a hash."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import from_json

from casewise.errors import ChecksumMismatch, DataError
from casewise.records import Elicitation
from casewise.records.base import Record
from casewise.stats.thresholds import Fitted, Isotonic, Measurement, Platt, TradeOff, Wanted
from casewise.storage.files import read_text, what_is_wrong, write_text

FORMAT_VERSION = 2


class MeasuredJudge(Record):
    """The judge that was measured, and what makes it anew."""

    name: str
    id: str
    elicitation: Elicitation
    arm: str
    prompts: str = "casewise"
    """What `--prompts` would say: a name, or the path of a file."""
    base_url: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    """What its answers depend on; the judge that is made anew must have the same."""
    wording: str | None = None
    """Version and digest of the words that it asks in; None where it asks nobody in words, and in deciders of before."""


class FittedOn(Record):
    """The benchmark that it was fitted on."""

    name: str
    digest: str
    labels: str
    n_items: int
    n_queries: int
    synthetic: str | None = None


class Calibration(Record):
    """How a value becomes P(safe)."""

    curve: Platt | Isotonic
    brier: dict[str, float] = Field(default_factory=dict)
    """On held-out queries, by method; the lowest was taken."""
    error_before: float | None = None
    error_after: float | None = None
    """Calibration error of the values as they are, and calibrated, on held-out queries."""


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
    """The judge's values in bins, and the share of items with a value in each: what traffic is compared with."""
    without_value: float = 0.0
    categories: dict[str, float] = Field(default_factory=dict)
    """Share of items that the judge put in each of its own categories."""

    @property
    def stated(self) -> frozenset[str]:
        """Parameters that some context stated."""
        return frozenset((*self.always, *self.sometimes))


class FittedDecider(Record):
    """A judge with fitted thresholds, and all that was measured: what the file holds."""

    model_config = ConfigDict(allow_inf_nan=True, ser_json_inf_nan="strings")

    format_version: int = FORMAT_VERSION
    casewise: str
    created: datetime
    refuse_unmeasured: bool = False
    """Whether a request of a kind that was not measured is refused."""
    judge: MeasuredJudge
    benchmark: FittedOn
    calibration: Calibration
    wanted: Wanted
    """What the thresholds were to do, and what is done where the judge gives no value."""
    thresholds: Fitted
    measured: Measurement
    """What the decisions come to on held-out queries."""
    measured_where_fitted: Measurement
    """The same on the items that it was fitted on: too good, by the optimism."""
    measured_on: MeasuredOn = Field(default_factory=MeasuredOn)
    trade_offs: tuple[TradeOff, ...] = ()
    """Harm and over-refusal at other thresholds, on the items that it was fitted on; empty in files of before."""


HASH_LINE = re.compile(r'^(hash = "[0-9a-f]*"| *"hash": "[0-9a-f]*",)\n', re.MULTILINE)


def hash_of(text: str) -> str:
    """128 bits of BLAKE2b over a decider's text, its hash line left out. It tells a slip; it is no signature."""
    return hashlib.blake2b(HASH_LINE.sub("", text, count=1).encode(), digest_size=16).hexdigest()


def write_decider(path: Path, decider: FittedDecider) -> str:
    """Write `decider` to `path`; its hash."""
    text = decider.model_dump_json(indent=2) + "\n"
    found = hash_of(text)
    write_text(path, text.replace("{\n", f'{{\n  "hash": "{found}",\n', 1))
    return found


def read_decider(path: Path) -> tuple[FittedDecider, str]:
    """The decider in `path`, and its hash. Files of format 1, which are TOML, are read too.

    Raises ChecksumMismatch: it is not what was written. DataError: it cannot be read, is no decider, or a newer
    casewise wrote it.
    """
    text = read_text(path)
    try:
        said = from_json(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise DataError(path, None, f"is no decider: {error}") from error
    version = said.get("format_version")
    if not isinstance(version, int):
        raise DataError(path, None, "is no decider: it has no format_version; casewise decider fit writes one")
    if not 1 <= version <= FORMAT_VERSION:
        raise DataError(
            path,
            None,
            f"is a decider of format {version}, and this casewise reads up to format {FORMAT_VERSION}; fit it again with this one",
        )
    written = said.pop("hash", None)
    if written != hash_of(text):
        raise ChecksumMismatch(
            path, None, f"is not what was fitted: its hash is {hash_of(text)}, and it says {written!r}; fit it again"
        )
    try:
        return FittedDecider.model_validate(of_format_1(said) if version == 1 else said), written
    except (ValidationError, KeyError) as error:
        what = what_is_wrong(error) if isinstance(error, ValidationError) else f"it has no {error}"
        raise DataError(path, None, what) from error


def of_format_1(said: dict[str, Any]) -> dict[str, Any]:
    """What a file of format 1 says, as this format has it; how an interval was made was not kept."""
    limits, promises, calibration = said["thresholds"], said.pop("promises", []), said["calibration"]
    level = promises[0].get("level") if promises else None

    def measured(estimate: str, low: str = "", high: str = "") -> dict[str, Any]:
        return {
            name: {
                "name": name,
                "estimate": share.get(estimate),
                "ci_low": share.get(low),
                "ci_high": share.get(high),
                "n": 0,
                "n_unscored": 0,
                "method": "",
            }
            for name, share in said["measured"].items()
        }

    def promised(one: Mapping[str, Any]) -> dict[str, Any]:
        threshold = limits["refuse_up_to" if one["what"] == "over_refusal" else "answer_above"]
        promise = {"kind": one["what"], "at_most": one["at_most"], "level": one.get("level")}
        return {"promise": promise, "threshold": threshold, "loss": one["loss"], "n_queries": one["n_queries"]}

    return said | {
        "format_version": FORMAT_VERSION,
        "calibration": {
            "curve": {name: calibration.pop(name) for name in CURVE_FIELDS[calibration.pop("method")]},
            **{name: value for name, value in calibration.items() if name in Calibration.model_fields},
        },
        "wanted": {
            "ratio": limits.get("ratio"),
            "ask_cost": limits.get("ask_cost"),
            **{f"max_{one['what']}": one["at_most"] for one in promises},
            "level": None if level is None else 1 - len(promises) * (1 - level),
            "fail": limits["fail"],
        },
        "thresholds": {
            "answer_above": limits["answer_above"],
            "refuse_up_to": limits["refuse_up_to"],
            "promised": [promised(one) for one in promises],
        },
        "measured": measured("estimate", "low", "high"),
        "measured_where_fitted": measured("fitted"),
    }


CURVE_FIELDS = {"platt": ("slope", "intercept"), "isotonic": ("values", "rates")}
