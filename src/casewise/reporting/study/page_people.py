"""The part of a study's report that is about people: agreement, ceilings, panels, annotators, strata, drop-out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from casewise.reporting.charts import study as study_charts
from casewise.reporting.charts.drawing import for_page
from casewise.reporting.document import Block, Figure, Prose, Section, count, interval, number, percent, table_of
from casewise.stats.people.annotators import FALSE_POSITIVES, MOST_FOR_DAWID_SKENE
from casewise.stats.people.attrition import STEPS
from casewise.stats.people.strata import FEWEST_PEOPLE, StratumRates
from casewise.studies.analysing.analysis import StudyAnalysis

__all__ = ["people_sections"]


def people_sections(analysis: StudyAnalysis) -> Iterator[Section]:
    """The sections, some of them perhaps without blocks."""
    yield Section("agreement", "How far people agree", tuple(agreement(analysis)), brief=True)
    yield Section("ceilings", "The best that a judge could score", tuple(ceilings(analysis)), brief=True)
    yield Section("panel", "How many people is a judge worth?", tuple(panel(analysis)))
    yield Section("annotators", "Annotators", tuple(annotators(analysis)))
    yield Section("strata", "Strata", tuple(block for stratum in analysis.strata for block in strata(stratum)))
    yield Section("flow", "Who dropped out", tuple(flow(analysis)))


def agreement(analysis: StudyAnalysis) -> Iterator[Block]:
    cells = []
    for name, found in analysis.agreement.items():
        constant = "undefined: all votes alike"
        cells.append(
            (
                "All" if name == "all" else name,
                found.items,
                f"{percent(found.raw)} {limits(found.raw_interval)}",
                constant if found.alpha is None else f"{number(found.alpha)} {limits(found.alpha_interval)}",
                constant if found.kappa is None else f"{number(found.kappa)} {limits(found.kappa_interval)}",
                f"{number(found.ac1)} {limits(found.ac1_interval)}",
            )
        )
    if cells:
        heads = ("Items", "Number", "Raw agreement", "Krippendorff's α", "Fleiss' κ", "Gwet's AC1")
        yield table_of("agreement", "Agreement, with 95 % intervals", heads, cells)
    if analysis.agreement:
        yield safe_rates(analysis)


def limits(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else interval(*pair)


def safe_rates(analysis: StudyAnalysis) -> Figure:
    counts, ratings = analysis.ratings.by_item, analysis.ratings
    bins = np.minimum((counts.successes / counts.sizes * 10).astype(int), 9)
    frame = (
        pl.DataFrame({"condition": [ratings.condition.names[c] for c in ratings.item_condition], "bin": bins})
        .group_by("condition", "bin")
        .agg(items=pl.len())
        .sort("condition", "bin")
        .with_columns(low=pl.col("bin") / 10, high=(pl.col("bin") + 1) / 10)
    )
    drawn = study_charts.safe_rate_histogram(
        frame.select("low", "high", "items", "condition"), conditions=ratings.condition.names
    )
    cells = [(r["condition"], f"{r['low']:.1f} to {r['high']:.1f}", r["items"]) for r in frame.to_dicts()]
    caption = "Items by safe rate"
    return Figure(
        "safe-rates",
        caption,
        "A histogram for each condition; the table gives the bins.",
        for_page(drawn, name="safe-rates"),
        table_of("safe-rates-table", caption, ("Condition", "Safe rate", "Items"), cells, frame=frame),
    )


def ceilings(analysis: StudyAnalysis) -> Iterator[Block]:
    rows: list[tuple[str, str, str]] = []
    r, c, oracle = analysis.reliability, analysis.ceilings, analysis.oracle
    if r is not None:
        rows.append(("Reliability of an item's safe rate", number(r.analytic), f"95 % {limits(r.analytic_interval)}"))
        if r.split_half is not None:
            rows.append(("… by split halves, Spearman-Brown", number(r.split_half), f"mean of {r.splits} splits"))
    if c is not None:
        rows += [
            ("Pearson's r, at most", number(c.pearson), "root of the reliability"),
            ("BCE, at least", number(c.bce_floor), f"nats; plug-in entropy {number(c.bce_plug_in)} is below any judge"),
            ("Brier score, at least", number(c.brier_floor, digits=4), "noise of the rates themselves"),
        ]
    if oracle is not None:
        priors = ", ".join(f"{name} {number(value)}" for name, value in oracle.by_prior.items())
        rows.append(
            (
                "Accuracy of one who knows what a very large crowd says",
                f"{number(oracle.low)} to {number(oracle.high)}",
                f"by prior: {priors}; whatever the prior {interval(oracle.ci_low, oracle.ci_high)}",
            )
        )
    if rows:
        yield table_of("ceilings", "Ceilings and floors, from the votes alone", ("What", "Value", "How"), rows)


def panel(analysis: StudyAnalysis) -> Iterator[Block]:
    curve = analysis.panel
    if curve is None:
        return
    frame = pl.DataFrame(
        {
            "people": curve.sizes,
            "agreement": curve.agreement,
            "low": curve.ci_low,
            "high": curve.ci_high,
            "modelled": curve.modelled,
        }
    ).filter(pl.col("people") % 2 == 1)
    cells = [
        (
            r["people"],
            percent(r["agreement"]),
            interval(r["low"], r["high"]),
            "modelled" if r["modelled"] else "counted",
        )
        for r in frame.to_dicts()
    ]
    caption = (
        f"Agreement of a panel's majority with that of {curve.reference_size} other people, over {curve.items:,} items"
    )
    heads = ("People", "Agreement", "95 % interval", "How")
    yield Figure(
        "panel-curve",
        caption,
        "A rising curve with its interval; filled dots are counted from the votes, rings predicted.",
        for_page(study_charts.panel_chart(frame), name="panel-curve"),
        table_of("panel", caption, heads, cells, frame=frame),
    )
    yield Prose(
        "A judge is worth as many people as the panel that agrees with the same references as well as it does. A panel of "
        "even size is worth no more than the odd one below it, so only odd sizes are drawn."
    )


def annotators(analysis: StudyAnalysis) -> Iterator[Block]:
    found = analysis.annotators
    if found is None:
        return
    table = found.table
    quartiles = []
    names = {
        "ratings": "Ratings",
        "safe_rate": "Safe rate",
        "agreement_with_rest": "Agreement with the rest",
        "median_seconds": "Median seconds",
        "safe_if_safe": "P(safe | safe), Dawid-Skene",
        "unsafe_if_unsafe": "P(unsafe | unsafe), Dawid-Skene",
    }
    for column, title in names.items():
        if column in table.columns:
            cuts = [table[column].quantile(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
            quartiles.append((title, *(number(cut, digits=2) for cut in cuts)))
    heads = ("Over annotators", "5 %", "25 %", "Median", "75 %", "95 %")
    yield table_of("annotators", f"{len(table):,} annotators", heads, quartiles, frame=table)
    if "safe_if_safe" not in table.columns:
        yield Prose(
            f"Dawid-Skene was not fitted: above {MOST_FOR_DAWID_SKENE:,} ratings it would take longer than all the rest."
        )
    rates = found.false_positive_rates
    flags = [
        (
            "Answers do not depend on the item",
            int(table["unresponsive"].sum()),
            percent(rates["unresponsive"], digits=2),
        ),
        ("The same answer throughout, unlikely so", int(table["constant"].sum()), percent(rates["constant"], digits=2)),
    ]
    yield table_of("flags", "Flags", ("Flag", "Raised", "At simulated attentive annotators"), flags)
    yield Prose(
        f"Each flag is set to be raised at {percent(FALSE_POSITIVES, digits=0)} of attentive annotators; annotators differ in "
        f"their readiness to say safe by {number(found.shift_sd, digits=2)} logits (standard deviation), and nobody is "
        "flagged for being strict or lenient. Agreement with the rest is shown and is no ground for removing anybody: "
        "without the dissenters the safe rates would be falsely extreme."
    )


def strata(found: StratumRates) -> Iterator[Block]:
    cells = [
        (
            r["value"],
            r["condition"],
            f"fewer than {FEWEST_PEOPLE}" if r["people"] is None else count(r["people"]),
            percent(r["safe_rate"]),
            number(r["error"]),
        )
        for r in found.table.to_dicts()
    ]
    heads = (found.name, "Condition", "People", "Safe rate", "Error")
    yield table_of(f"stratum-{found.name}", f"Safe rate by {found.name}", heads, cells, frame=found.table)
    if found.p is not None:
        yield Prose(
            f"Do conditions differ alike in all values of {found.name}? Interaction: F = {found.f:.2f} on "
            f"{found.df} and {found.people_df:.0f} degrees of freedom, p = {found.p:.3g} (errors clustered by annotator)."
        )


def flow(analysis: StudyAnalysis) -> Iterator[Block]:
    found = analysis.attrition
    if found is None:
        return
    steps = [step for step in STEPS if step in found.flow.counts]
    cells: list[tuple[Any, ...]] = []
    for step in steps:
        counts = found.flow.counts[step]
        known = len(counts) == len(found.flow.conditions)
        each = [count(n) for n in counts] if known else [""] * len(found.flow.conditions)
        cells.append((step, *each, count(sum(counts))))
    yield table_of("flow", "People at each step", ("Step", *found.flow.conditions, "All"), cells)
    lost = [
        (r["condition"], r["assigned"], r["finished"], r["lost"], percent(r["share_lost"]))
        for r in found.table.to_dicts()
    ]
    yield table_of("attrition", "Lost after assignment", ("Condition", "Assigned", "Finished", "Lost", "Share"), lost)
    yield Prose(
        f"Do conditions lose different shares? Chi-square {found.chi_square:.2f} on {found.df} degrees of freedom, "
        f"p = {found.p:.3g}."
    )
    if found.bounds is not None and len(found.bounds):
        bounds = [
            (r["condition"], percent(r["safe_rate"]), interval(r["if_unsafe"], r["if_safe"]))
            for r in found.bounds.to_dicts()
        ]
        heads = ("Condition", "Safe", "Bounds")
        yield table_of("bounds", "Safe rates whatever the lost would have said (Manski)", heads, bounds)
