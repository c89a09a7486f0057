"""Answers to questions of power, ready for any face: the number, what it rests on, and what to remember with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.errors import ConfigurationError, StatisticsError
from casewise.reporting.charts.study import power_curve
from casewise.reporting.document import Document, Table, of_tables, table_of
from casewise.stats.power import anova as power_anova
from casewise.stats.power import chi_square as power_chi_square
from casewise.stats.power import kruskal as power_kruskal
from casewise.stats.power import proportions as power_proportions

__all__ = [
    "KruskalQuestion",
    "PowerAnswer",
    "anova_answer",
    "chi_square_answer",
    "kruskal_answer",
    "proportions_answer",
]

WORDS = {
    "groups": "Conditions",
    "effect_size": "Effect size",
    "alpha": "Alpha",
    "n_per_group": "Annotators per condition",
    "n_total": "In all",
    "actual_power": "Actual power",
    "critical_f": "Critical F",
    "noncentrality": "Noncentrality",
    "df_between": "df between",
    "df_within": "df within",
    "p1": "First safe rate",
    "p2": "Second safe rate",
    "sides": "Sides",
    "method": "Method",
    "cohen_h": "Cohen's h",
    "n_exact": "n before rounding up",
    "df": "df",
    "critical_chi_square": "Critical chi-square",
    "safe_rates": "Safe rates",
    "exact": "Exact p",
    "ci_low": "Simulation error, low",
    "ci_high": "Simulation error, high",
    "repeats": "Simulated tasks",
    "seed": "Seed",
    "allowance": "Declared allowance",
    "n_per_group_with_allowance": "With allowance, per condition",
    "n_total_with_allowance": "With allowance, in all",
    "power_with_allowance": "Power with allowance",
    "bonferroni_alpha": "Bonferroni level",
    "bonferroni_n_per_group": "n per condition at that level",
    "difference": "Difference in accuracy",
    "n_queries": "Queries",
    "n_items": "Items",
    "n_ratings": "Ratings, at as many an item as now",
    "more_ratings": "Of these not there yet",
    "observed_difference": "Difference in the runs",
    "discordance": "Items on which only one is right",
    "items_per_query": "Items per query",
    "correlation": "Correlation within a query",
    "half_width": "Half width of the interval",
    "rate": "Rate",
    "judge_correlation": "Judge's correlation with labels",
    "n_labels": "Items that people rate, beside the judge",
    "n_labels_alone": "The same without a judge",
    "simulated_studies": "Simulated studies",
    "safe_rate_difference": "Difference of safe rates to be found",
    "pilot_difference": "Difference in the pilot",
    "variance_of_difference": "Variance of the difference between queries",
    "variance_of_difference_interval": "95 % interval over the pilot's queries",
    "variance_of_annotators": "Variance of annotators",
    "variance_of_ratings": "Variance left of a rating",
    "per_item": "Ratings of each item",
    "per_annotator": "Items of each annotator",
    "deviation": "Standard deviation over queries",
    "n_queries_twice_votes": "Queries, with twice as many people an item",
    "n_queries_ten_times_votes": "Queries, with ten times as many",
}


@dataclass(frozen=True)
class PowerAnswer:
    """One answer."""

    title: str
    numbers: dict[str, Any]
    """Everything that `--json` prints, unrounded."""
    remarks: tuple[str, ...]
    """Sentences to read with the numbers."""
    n: int
    power_at: Callable[[int], float]
    """Power for a number of annotators, for the curve."""
    axis: str = "Annotators per condition"

    def as_json(self) -> dict[str, Any]:
        """The numbers, with tuples as lists."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in self.numbers.items()}

    def table(self) -> Table:
        """The numbers, written out."""
        rows = [
            (WORDS[key], written(value)) for key, value in self.numbers.items() if value is not None and key in WORDS
        ]
        return table_of("power", "Numbers", ("", "Value"), rows)

    @property
    def document(self) -> Document:
        """The table and its remarks, ready for any face."""
        return of_tables(self.title, [self.table()], self.remarks)

    def curve(self) -> str:
        """Power against n as SVG, with the answer marked."""
        points = sorted({2, self.n, *(max(2, round(self.n * share / 20)) for share in range(2, 41))})
        rows = [{"n": n, "power": self.power_at(n)} for n in points]
        return power_curve(pl.DataFrame(rows), marked=self.n, title=self.axis)


def anova_answer(
    groups: int,
    effect_size: float | None,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    n: int | None = None,
    allowance: str | None = None,
) -> PowerAnswer:
    """Sample size (no `n`), power (both), or detectable effect (no `effect_size`), with what the paper adds to it.

    Raises ConfigurationError: neither an effect nor a number of annotators is given, or the allowance cannot be read.
    StatisticsError: the question has no answer.
    """
    if effect_size is None:
        found = power_anova.anova_detectable_effect(groups, needed(n, "--effect-size"), alpha=alpha, power=power)
    elif n is None:
        found = power_anova.anova_sample_size(groups, effect_size, alpha=alpha, power=power)
    else:
        found = power_anova.anova_power(groups, effect_size, alpha=alpha, n_per_group=n)

    def at(size: int) -> float:
        return power_anova.anova_power(groups, found.effect_size, alpha=alpha, n_per_group=size).actual_power

    numbers, remarks = dict(vars(found)), []
    if allowance is not None:
        more = with_allowance(found.n_per_group, allowance)
        numbers |= {
            "allowance": allowance,
            "n_per_group_with_allowance": more,
            "n_total_with_allowance": more * groups,
            "power_with_allowance": at(more),
        }
        remarks.append(
            f"The step from {found.n_per_group} to {more} per condition is the declared allowance ({allowance}); "
            "it is no result of the power analysis."
        )
    if n is None:
        numbers |= at_bonferroni_level(groups, found.effect_size, alpha=alpha, power=power)
        remarks.append(
            f"At the Bonferroni level {numbers['bonferroni_alpha']:g} ({alpha:g} over the {groups - 1} contrasts of one "
            f"condition with each other) the design needs {numbers['bonferroni_n_per_group']} per condition."
        )
    return PowerAnswer("One-way analysis of variance", numbers, tuple(remarks), found.n_per_group, at)


def at_bonferroni_level(groups: int, effect_size: float, *, alpha: float, power: float) -> dict[str, Any]:
    """What the same design needs when `alpha` is shared among the contrasts with one condition."""
    level = alpha / (groups - 1)
    stricter = power_anova.anova_sample_size(groups, effect_size, alpha=level, power=power)
    return {"bonferroni_alpha": level, "bonferroni_n_per_group": stricter.n_per_group}


def proportions_answer(
    p1: float,
    p2: float | None,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    n: int | None = None,
    sides: int = 2,
    method: str = "arcsine",
) -> PowerAnswer:
    """As `anova_answer`, for two safe rates."""
    if p2 is None:
        found = power_proportions.proportions_detectable_effect(
            p1, needed(n, "--p2"), alpha=alpha, power=power, sides=sides
        )
    elif n is None:
        found = power_proportions.proportions_sample_size(p1, p2, alpha=alpha, power=power, sides=sides, method=method)
    else:
        found = power_proportions.proportions_power(p1, p2, alpha=alpha, n_per_group=n, sides=sides, method=method)

    def at(size: int) -> float:
        return power_proportions.proportions_power(
            found.p1, found.p2, alpha=alpha, n_per_group=size, sides=sides, method=found.method
        ).actual_power

    remark = "Ratings count as independent here; with annotators who rate many items each, plan with `study simulate`."
    return PowerAnswer("Two safe rates", dict(vars(found)), (remark,), found.n_per_group, at)


def chi_square_answer(
    df: int, effect_size: float | None, *, alpha: float = 0.05, power: float = 0.8, n: int | None = None
) -> PowerAnswer:
    """As `anova_answer`, for a chi-square test on `n` ratings in all."""
    if effect_size is None:
        found = power_chi_square.chi_square_detectable_effect(needed(n, "--effect-size"), df, alpha=alpha, power=power)
    elif n is None:
        found = power_chi_square.chi_square_sample_size(effect_size, df, alpha=alpha, power=power)
    else:
        found = power_chi_square.chi_square_test_power(effect_size, df, alpha=alpha, n_total=n)

    def at(size: int) -> float:
        return power_chi_square.chi_square_test_power(found.effect_size, df, alpha=alpha, n_total=size).actual_power

    return PowerAnswer("Chi-square test", dict(vars(found)), (), found.n_total, at, axis="Ratings in all")


@dataclass(frozen=True)
class KruskalQuestion:
    """A profile of safe rates, as text, and how it is simulated."""

    rates: str
    alpha: float = 0.05
    exact: bool = True
    repeats: int = 20_000
    seed: int = 0

    def profile(self) -> tuple[float, ...]:
        """The rates as numbers. Raises ConfigurationError: one of them is no number."""
        try:
            return tuple(float(part) for part in self.rates.split(","))
        except ValueError:
            raise ConfigurationError(f"--rates is {self.rates!r}; write safe rates as 0.4,0.8,0.2") from None


def kruskal_answer(question: KruskalQuestion, *, power: float = 0.8, n: int | None = None) -> PowerAnswer:
    """Sample size (no `n`) or power of Kruskal-Wallis on 0/1 ratings, by simulation."""
    profile = question.profile()
    how: dict[str, Any] = {name: getattr(question, name) for name in ("alpha", "exact", "repeats", "seed")}

    def at(size: int) -> power_kruskal.KruskalPower:
        return power_kruskal.kruskal_power(profile, n_per_group=size, **how)

    found = at(n) if n is not None else power_kruskal.kruskal_sample_size(profile, power=power, **how)
    remark = "By simulation; the power of one task with this profile. Its error is the simulation's own."
    return PowerAnswer(
        "Kruskal-Wallis on 0/1 ratings",
        dict(vars(found)),
        (remark,),
        found.n_per_group,
        lambda size: at(size).actual_power,
    )


def needed(n: int | None, option: str) -> int:
    """`n`, where it is the only thing that the question can start from."""
    if n is None:
        raise ConfigurationError(f"give {option}, or --n to ask what so many annotators can find")
    return n


def with_allowance(n: int, allowance: str) -> int:
    """`n` with a declared allowance on top: a number of people, or a share such as `30%`, rounded up."""
    text = allowance.strip()
    try:
        extra = n * float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ConfigurationError(f"--allowance is {allowance!r}; write a number of people, or a share as 30%") from None
    if extra < 0 or not math.isfinite(extra):
        raise StatisticsError(f"--allowance is {allowance!r}; an allowance adds people")
    return n + math.ceil(round(extra, 9))


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(f"{part:g}" for part in value)
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
