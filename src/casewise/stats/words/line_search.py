"""How far to go along a line: the search of Moré and Thuente, as L-BFGS-B uses it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import NamedTuple

__all__ = ["searched"]

ENOUGH, FLAT, NARROW = 1e-3, 0.9, 0.1
"""Of the promised decrease; of the slope at the beginning; of the interval that is left."""

MOST_TRIES = 50


class LineStep(NamedTuple):
    """A step, the value there, and the slope."""

    step: float
    value: float
    slope: float


def searched(
    value: Callable[[float], float], slope: Callable[[float], float], *, began: float, at_zero: tuple[float, float]
) -> float | None:
    """A step after which the value has fallen enough and the slope is flat enough; None where none is found.

    References
    ----------
    .. [1] Moré & Thuente (1994), Line search algorithms with guaranteed sufficient decrease, ACM TOMS 20, 286-307.
       MINPACK-2's `dcsrch` and `dcstep`.
    """
    start = LineStep(0.0, *at_zero)
    promised = ENOUGH * start.slope
    best = other = start
    bracketed, first_stage, step = False, True, began
    width = before = inf
    low, high = 0.0, 5 * began
    for _ in range(MOST_TRIES):
        here = LineStep(step, value(step), slope(step))
        bound = start.value + step * promised
        if here.value <= bound and abs(here.slope) <= FLAT * -start.slope:
            return step
        if bracketed and (not low < step < high or high - low <= NARROW * high):
            return best.step or None
        first_stage = first_stage and not (here.value <= bound and here.slope >= 0)
        lowered = promised if first_stage and bound < here.value <= best.value else 0.0
        flattened = [
            LineStep(one.step, one.value - one.step * lowered, one.slope - lowered) for one in (best, other, here)
        ]
        moved = next_step(*flattened, bracketed=bracketed, low=low, high=high)
        kept = {one.step: one for one in (best, other, here)}
        best, other = kept[moved.best.step], kept[moved.other.step]
        bracketed, step = moved.bracketed, moved.step
        if bracketed:
            span = abs(other.step - best.step)
            if span >= 0.66 * before:
                step = best.step + 0.5 * (other.step - best.step)
            before, width = width, span
            low, high = sorted((best.step, other.step))
        else:
            low, high = step + 1.1 * (step - best.step), step + 4 * (step - best.step)
    return None


class Moved(NamedTuple):
    """The interval after a try, and the step to try next."""

    best: LineStep
    other: LineStep
    step: float
    bracketed: bool


def next_step(best: LineStep, other: LineStep, here: LineStep, *, bracketed: bool, low: float, high: float) -> Moved:
    """A step by cubic and quadratic interpolation, safeguarded."""
    turned = here.slope * best.slope < 0
    if here.value > best.value:
        cubic = best.step + cubic_share(best, here) * (here.step - best.step)
        chord = (best.value - here.value) / (here.step - best.step) + best.slope
        quadratic = best.step + best.slope / chord / 2 * (here.step - best.step)
        near = abs(cubic - best.step) <= abs(quadratic - best.step)
        return Moved(best, here, cubic if near else cubic + (quadratic - cubic) / 2, bracketed=True)
    if turned:
        cubic = here.step + cubic_share(here, best) * (best.step - here.step)
        secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)
        far = abs(cubic - here.step) > abs(secant - here.step)
        return Moved(here, best, cubic if far else secant, bracketed=True)
    if abs(here.slope) < abs(best.slope):
        return Moved(here, other, flatter(best, other, here, bracketed=bracketed, low=low, high=high), bracketed)
    if bracketed:
        return Moved(here, other, here.step + cubic_share(here, other) * (other.step - here.step), bracketed)
    return Moved(here, other, high if here.step > best.step else low, bracketed)


def flatter(best: LineStep, other: LineStep, here: LineStep, *, bracketed: bool, low: float, high: float) -> float:
    """The next step where the value falls on and ever less."""
    share = cubic_share(here, best)
    beyond = high if here.step > best.step else low
    cubic = here.step + share * (best.step - here.step) if share < 0 else beyond
    secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)
    near = abs(cubic - here.step) < abs(secant - here.step)
    if bracketed:
        reach = here.step + 0.66 * (other.step - here.step)
        chosen = cubic if near else secant
        return min(reach, chosen) if here.step > best.step else max(reach, chosen)
    return min(max(secant if near else cubic, low), high)


def cubic_share(one: LineStep, other: LineStep) -> float:
    """Where the cubic through two points with these slopes is least: the share of the way from `one` to `other`."""
    theta = 3 * (one.value - other.value) / (other.step - one.step) + one.slope + other.slope
    scale = max(abs(theta), abs(one.slope), abs(other.slope))
    root = scale * sqrt(max(0.0, (theta / scale) ** 2 - one.slope / scale * (other.slope / scale)))
    root = root if other.step > one.step else -root
    return ((root - one.slope) + theta) / (((root - one.slope) + root) + other.slope)
