"""Subsets of a benchmark that tell judges apart better than all of it: `--items clear`, `close`, `low-margin`, `hard`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from casewise.auditing.findings import Part
from casewise.auditing.subject import Subject
from casewise.errors import BenchmarkError, ConfigurationError, did_you_mean
from casewise.records import Item
from casewise.stats.agreeing.hard_items import halves
from casewise.stats.agreeing.terms import AGREEMENT, ROUNDING
from casewise.stats.core.arrays import BoolArray
from casewise.storage.benchmarks.benchmark import Benchmark
from casewise.storage.record_columns import records_at

__all__ = ["SUBSETS", "audit_subsets", "subset", "subset_rows"]

LOW_MARGIN = 1 / 3
"""Share of items that are called low-margin: those about which the classifier is least sure."""

POSSIBLY_HARD = 0.05
"""An item belongs to `hard` where so many splits of its votes would choose it."""

SUBSETS: dict[str, str] = {
    "clear": f"at least {100 * AGREEMENT:.0f} % of people agree",
    "close": f"fewer than {100 * AGREEMENT:.0f} % of people agree",
    "low-margin": "the third of items about which a classifier on the context's words is least sure; no label is looked at",
    "hard": "that classifier is wrong, by one half of the votes; scored by the other half",
}
"""What `--items` can be."""


def subset(benchmark: Benchmark, name: str) -> Sequence[Item]:
    """The items of the subset called `name`, in the order of the benchmark.

    `hard` is every item that some half of its votes would choose; a report scores each by the other half
    (`casewise.stats.agreeing.hard_items.hard_score`).

    Raises ConfigurationError: there is no such subset; the message lists those that there are. BenchmarkError: the
    benchmark cannot say which items these are, or there are none.
    """
    rows = subset_rows(Subject(benchmark), name)
    return records_at(benchmark.items, np.flatnonzero(rows))


def subset_rows(subject: Subject, name: str) -> BoolArray:
    """The subset called `name` as a mask over the items. Raises as `subset` does."""
    if name not in SUBSETS:
        listed = "\n".join(f"  {known}: {what}" for known, what in SUBSETS.items())
        raise ConfigurationError(f"no subset is called {name!r}{did_you_mean(name, SUBSETS)}; there are\n{listed}")
    rows = CHOOSE[name](subject)
    if not rows.any():
        raise BenchmarkError(f"{subject.benchmark.name!r} has no items that are {name!r} ({SUBSETS[name]})")
    return rows


def audit_subsets(subject: Subject) -> Part:
    """How many items each subset has."""
    sizes: dict[str, int] = {}
    left_out: list[str] = []
    for name in SUBSETS:
        try:
            sizes[name] = int(subset_rows(subject, name).sum())
        except BenchmarkError as error:
            left_out.append(f"subset {name}: {error}.")
    return Part(name="subsets", measured={"items_by_subset": sizes}, left_out=tuple(left_out))


def clear(subject: Subject) -> BoolArray:
    rate = rates(subject, "clear")
    agreed: BoolArray = np.abs(rate - 0.5) >= AGREEMENT - 0.5 - ROUNDING
    return agreed & ~np.isnan(rate)


def close(subject: Subject) -> BoolArray:
    rate = rates(subject, "close")
    apart: BoolArray = np.abs(rate - 0.5) < AGREEMENT - 0.5 - ROUNDING
    return apart & ~np.isnan(rate)


def rates(subject: Subject, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if not subject.benchmark.ratings:
        raise BenchmarkError(f"--items {name} needs people's ratings, and {subject.benchmark.name!r} has none")
    rated = subject.n_votes > 0
    return np.where(rated, subject.n_safe / np.where(rated, subject.n_votes, 1), np.nan)


def low_margin(subject: Subject) -> BoolArray:
    need_baseline(subject, "low-margin")
    unsure = np.abs(subject.baseline - 0.5)  # nan, which is sorted last, where no words are read
    n = max(1, round(LOW_MARGIN * int(subject.words_read.sum())))
    found = np.zeros(len(unsure), dtype=bool)
    found[np.argsort(unsure, kind="stable")[:n]] = True
    return found


def hard(subject: Subject) -> BoolArray:
    need_baseline(subject, "hard")
    verdict = (subject.baseline > 0.5).astype(float)
    chosen = halves(subject.n_safe, subject.n_votes, verdict=verdict).chosen >= POSSIBLY_HARD
    return chosen & subject.words_read


def need_baseline(subject: Subject, name: str) -> None:
    if subject.why_no_baseline is not None:
        raise BenchmarkError(
            f"--items {name} needs a classifier on the contexts' words, and {subject.benchmark.name!r} allows none: "
            f"{subject.why_no_baseline}"
        )


CHOOSE: Mapping[str, Callable[[Subject], BoolArray]] = {
    "clear": clear,
    "close": close,
    "low-margin": low_margin,
    "hard": hard,
}
