"""A kind of run that judges nothing: what two numbers add up to, asked of whoever says so."""

from casewise.records.base import Record
from casewise.storage.runs.log_kind import AnyManifest, LogKind


class SumIdentity(Record):
    adder: str
    settings: dict[str, int]


class SumManifest(AnyManifest):
    format_version: int = 2
    kind: str = "sums"
    identity: SumIdentity


class Sum(Record):
    """One attempt at a sum; None where there was none."""

    left: int
    right: int
    attempt: int = 0
    value: int | None = None
    cost_usd: float = 0.0
    shared_with: str | None = None


def key(one: Sum) -> tuple[str, ...]:
    return (str(one.left), str(one.right))


def attempt(one: Sum) -> int:
    return one.attempt


SUMS = LogKind("sums", SumManifest, Sum, key=key, attempt=attempt, newest=2)


def sum_manifest(adder: str = "abacus", **settings: int) -> SumManifest:
    return SumManifest(identity=SumIdentity(adder=adder, settings=settings))
