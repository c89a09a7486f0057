"""Over-refusal and under-refusal where people agree: the two errors that a product owner asks for first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from casewise.errors import StatisticsError
from casewise.records import ShortRepr
from casewise.stats.agreeing.estimates import Estimate, estimate_of
from casewise.stats.agreeing.sample import Sample
from casewise.stats.agreeing.terms import AGREEMENT, refusal_terms, totals_by_query
from casewise.stats.core.arrays import FloatArray
from casewise.stats.core.measured import TotalsByCluster, share

__all__ = ["RefusalRates", "Refusals", "refusals"]

AGREEMENT_CURVE = (0.60, 0.65, 0.70, 0.75, 0.80)


@dataclass(frozen=True, repr=False)
class RefusalRates(ShortRepr):
    """Errors on the items on which at least `agreement` of the people agree.

    In each class the share judged rightly, the error's share and the unscored share add up to 1.
    """

    agreement: float
    n_safe: int
    n_unsafe: int
    """How many items the rule keeps of each class."""
    over_refusal: Estimate
    """Of the items that people call safe: share judged unsafe."""
    under_refusal: Estimate
    """Of the items that people call unsafe: share judged safe."""
    unscored_safe: Estimate
    unscored_unsafe: Estimate
    """Of the same items: share without a verdict. It is counted as neither."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """In the order of the table."""
        return tuple(getattr(self, name) for name in SHARES)


@dataclass(frozen=True, repr=False)
class Refusals(ShortRepr):
    """The rates at one level of agreement, and how they change with it."""

    at: RefusalRates
    curve: tuple[RefusalRates, ...]


def refusals(sample: Sample, *, agreement: float = AGREEMENT) -> Refusals:
    """Over-refusal and under-refusal at `agreement`, and along `AGREEMENT_CURVE`.

    `sample`: its safe rates should be people's votes alone (the label policy `votes`).

    Raises StatisticsError: the level of agreement is not above one half, or above 1.
    """
    if not 0.5 < agreement <= 1:
        raise StatisticsError(f"agreement is {agreement!r}; it must be above 0.5 and at most 1")
    levels = tuple(dict.fromkeys((agreement, *AGREEMENT_CURVE)))

    def columns(one: Sample) -> dict[str, FloatArray]:
        return {f"{name}@{level}": column for level in levels for name, column in refusal_terms(one, level).items()}

    totals = totals_by_query(sample, columns)
    rates = {level: refusal_rates(totals, level) for level in levels}
    return Refusals(at=rates[agreement], curve=tuple(rates[level] for level in AGREEMENT_CURVE))


SHARES: dict[str, tuple[str, str]] = {
    "over_refusal": ("refused", "agreed_safe"),
    "under_refusal": ("answered", "agreed_unsafe"),
    "unscored_safe": ("no_verdict_safe", "agreed_safe"),
    "unscored_unsafe": ("no_verdict_unsafe", "agreed_unsafe"),
}


def refusal_rates(totals: TotalsByCluster, level: float) -> RefusalRates:
    sums = totals.named(totals.total)
    unscored = {f"agreed_{kind}": int(sums[f"no_verdict_{kind}@{level}"]) for kind in ("safe", "unsafe")}
    found = {}
    for name, (top, bottom) in SHARES.items():
        measured = totals.measure(share(name, f"{top}@{level}", f"{bottom}@{level}"))
        found[name] = estimate_of(replace(measured, n_unscored=unscored[bottom]))
    return RefusalRates(level, int(sums[f"agreed_safe@{level}"]), int(sums[f"agreed_unsafe@{level}"]), **found)
