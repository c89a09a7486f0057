"""Verdicts that an attack turns, paired with the same items unattacked, and the gate that bounds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from benchmarks.covered.rows import Row, Section

from casewise.evaluate.robustness import with_limits_of_gate
from casewise.stats.arrays import FloatArray
from casewise.stats.estimates import Estimate, estimate_of
from casewise.stats.measured import Measured
from casewise.stats.pairs import difference_of_means, flips, mean_of_shares, no_change_p

__all__ = ["SECTIONS"]

RIGHT = 0.8
"""How many items the judge has right without an attack."""
SILENT = 0.05
"""Verdicts that the attack silences."""
NOISE = 0.05
"""Verdicts that turn under perturbations."""


def believed(rng: np.random.Generator, queries: int, each: int, share: float, *, alike: bool) -> FloatArray:
    """Whether each item's verdict turns: `share` of them, a query's together to some degree where `alike`."""
    if share in (0.0, 1.0) or not alike:
        return (rng.random(queries * each) < share).astype(float)
    own = rng.beta(2 * share, 2 * (1 - share), queries)
    return (rng.random(queries * each) < np.repeat(own, each)).astype(float)


def studied(
    rng: np.random.Generator, queries: int, each: int, share: float, *, alike: bool
) -> dict[str, tuple[Estimate, float]]:
    """Each number with its truth, of one study: `each` items a query that people find unsafe."""
    n = queries * each
    cluster = np.repeat(np.arange(queries), each)
    before = (rng.random(n) > RIGHT).astype(float)
    turned = believed(rng, queries, each, share, alike=alike)
    noisy = believed(rng, queries, each, NOISE, alike=alike)
    after = np.where(rng.random(n) < SILENT, np.nan, np.where(turned == 1, 1.0, before))
    every = np.ones(n, dtype=np.bool_)
    found = flips(before, after, cluster, mask=every, towards="safe")
    noise = mean_of_shares(
        [flips(before, np.where(noisy == 1, 1 - before, before), cluster, mask=every, towards="safe").turned]
    )
    own = mean_of_shares([found.turned])
    numbers = {
        "turned": (estimate_of(found.turned), share),
        "change": (estimate_of(found.change), RIGHT * share),
        "silenced": (estimate_of(found.silenced), SILENT),
    }
    if own is not None and noise is not None:
        numbers["beyond noise"] = (difference_of_means(own, noise), share - NOISE)
    return numbers


def covered(studies: int) -> Iterator[Row]:
    """Intervals around shares that are rare, middling and almost all."""
    rng = np.random.default_rng(14)
    for queries in (20, 90, 450):
        for each, share, alike in ((1, 0.02, False), (1, 0.3, False), (1, 0.9, False), (3, 0.1, True), (3, 0.5, True)):
            held: Counter[str] = Counter()
            widths: dict[str, list[float]] = {}
            for _ in range(studies):
                for name, (found, truth) in studied(rng, queries, each, share, alike=alike).items():
                    if found.ci_low is not None and found.ci_high is not None:
                        held[name] += found.ci_low <= truth <= found.ci_high
                        widths.setdefault(name, []).append(found.ci_high - found.ci_low)
            setting = f"{queries} queries of {each}, {share:.0%} turned{', together' if alike else ''}"
            for name, known in widths.items():
                yield Row(name, setting, "holds the truth", held[name], len(known), "≥ 92 %", float(np.median(known)))
    yield from nothing_there(rng, studies)


def nothing_there(rng: np.random.Generator, studies: int) -> Iterator[Row]:
    """A judge whose verdicts turn at random both ways: how often an attack that does nothing is found to do something."""
    for queries in (20, 90, 450):
        found = beyond = 0
        for _ in range(studies):
            cluster = np.repeat(np.arange(queries), 2)
            every = np.ones(2 * queries, dtype=np.bool_)
            first, second, third = ((rng.random(2 * queries) > RIGHT).astype(float) for _ in range(3))
            attacked, noise = (flips(first, other, cluster, mask=every, towards="safe") for other in (second, third))
            found += no_change_p(attacked.change) < 0.05
            one, two = mean_of_shares([attacked.turned]), mean_of_shares([noise.turned])
            beyond += one is not None and two is not None and difference_of_means(one, two).beyond_chance
        setting = f"{queries} queries of 2, verdicts at random"
        yield Row("change", setting, "rejects without a difference", found, studies, "≤ 6 %")
        yield Row("beyond noise", setting, "rejects without a difference", beyond, studies, "≤ 6 %")


def with_wording_variance(studies: int) -> Iterator[Row]:
    """Intervals around the mean rate of all wordings of an attack, of which each query is shown one of five."""
    rng = np.random.default_rng(36)
    for queries, spread in product((30, 90, 450), (0.0, 0.05, 0.1, 0.2)):
        held, widths = Counter[str](), dict[str, list[float]]()
        for _ in range(studies):
            rates, wording = np.clip(rng.normal(0.4, spread, 5), 0, 1), rng.integers(0, 5, queries)
            before, after = (
                np.zeros(2 * queries),
                (rng.random(2 * queries) < np.repeat(rates[wording], 2)).astype(float),
            )
            how = {"cluster": np.repeat(np.arange(queries), 2), "mask": before == 0}
            for name, shown in (("turned, five wordings", wording), ("turned, over queries alone", None)):
                found = estimate_of(flips(before, after, towards="safe", wording=shown, **how).turned)
                if found.ci_low is not None and found.ci_high is not None:
                    held[name] += found.ci_low <= 0.4 <= found.ci_high
                    widths.setdefault(name, []).append(found.ci_high - found.ci_low)
        setting = f"{queries} queries, wordings {spread:g} apart"
        for name, known in widths.items():
            wanted = "no claim" if "alone" in name else "≥ 92 %"
            yield Row(name, setting, "holds the truth", held[name], len(known), wanted, float(np.median(known)))


BOUND = 0.2
"""The share beyond noise that the gate allows."""


def gated(rng: np.random.Generator, items: int, noise: float, moved: float) -> Estimate:
    """The share beyond noise that a gate bounds: the worst of two attacks towards safe, which turn a share `moved` of unsafe verdicts.

    Each query has an item of either label. Every verdict is wrong at random with probability `noise`.
    """
    truth, cluster = np.tile([0.0, 1.0], items // 2), np.repeat(np.arange(items // 2), 2)

    def asked(moved: float = 0.0) -> FloatArray:
        verdicts = np.where(rng.random(items) < noise, 1 - truth, truth)
        return np.where(rng.random(items) < moved, 1.0, verdicts)

    plain = asked()

    def turned(after: FloatArray) -> Measured:
        return flips(plain, after, cluster, mask=truth == 0, towards="safe").turned

    perturbed = mean_of_shares([turned(asked()) for _ in range(2)])
    assert perturbed is not None
    attacks = [with_limits_of_gate(partial(difference_of_means, turned(asked(moved)), perturbed)) for _ in range(2)]
    return max(attacks, key=lambda attack: attack.ci_high or 1.0)


def bounded(studies: int) -> Iterator[Row]:
    """A judge of pure noise, a judge at the bound, and a weak judge, before the gate of one-shot attacks."""
    rng = np.random.default_rng(53)
    for items, noise in product((60, 150, 450), (0.05, 0.1, 0.2)):
        at_bound = BOUND / (1 - noise)  # an attack moves verdicts that noise has not
        for judge, moved in (("pure noise", 0.0), ("at the bound", at_bound), ("weak, 50% turned", 0.5)):
            found = [gated(rng, items, noise, moved) for _ in range(studies)]
            passed = sum(one.ci_high is not None and one.ci_high <= BOUND for one in found)
            failed = sum(one.ci_low is not None and one.ci_low > BOUND for one in found)
            setting = f"{items} items, {noise:.0%} errors at random, {judge}"
            wanted = {"pure noise": "power", "at the bound": "≤ 6 %", "weak, 50% turned": "≤ 1 %"}[judge]
            yield Row("max_turned", setting, f"passes: {judge}", passed, studies, wanted)
            wanted = {"pure noise": "≤ 1 %", "at the bound": "≤ 6 %", "weak, 50% turned": "power"}[judge]
            yield Row("max_turned", setting, f"fails: {judge}", failed, studies, wanted)


SECTIONS = (
    Section(
        "attacks",
        "effects of attacks",
        ("turned", "change", "silenced", "beyond noise"),
        "20, 90 and 450 queries with one item that people find unsafe, or three that turn together to some degree; a judge that "
        "has 80 % right, an attack that turns 2 to 90 % and silences 5 %, perturbations that turn 5 %; and a judge whose verdicts "
        "are drawn anew each time, so that an attack does nothing.",
        covered,
        quick=1_000,
    ),
    Section(
        "attack-wordings",
        "effect of an attack in several wordings",
        ("turned, five wordings",),
        "30, 90 and 450 queries with two items that people find unsafe, each query shown one of five wordings; the wordings' rates of "
        "turned verdicts have the mean 40 % and a standard deviation of 0 to 0.2.",
        with_wording_variance,
        quick=1_000,
    ),
    Section(
        "attack-gate",
        "gate of one-shot attacks",
        ("max_turned",),
        "60, 150 and 450 items, half of them unsafe, verdicts that are wrong at random in 5, 10 and 20 %, two perturbations, two attacks "
        "and a bound of 0.2: a judge of pure noise, one whose verdicts turn beyond noise in 20 %, and a weak one.",
        bounded,
        quick=300,
    ),
)
