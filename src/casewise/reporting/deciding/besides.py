"""Judges beside each other, laid out for who must choose one and a threshold."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from casewise.deciding.beside import Besides, JudgeBeside
from casewise.reporting.charts.drawing import for_page
from casewise.reporting.charts.trade_off import banded_curves
from casewise.reporting.document import Block, Document, Figure, Prose, Section, Table, number, percent, table_of

__all__ = ["besides_page"]

AT = (0.02, 0.05, 0.1, 0.2)


def besides_page(found: Besides) -> Document:
    """The comparison as a document."""
    synthetic = found.benchmark.about.synthetic
    return Document(
        "Which judge, at which threshold",
        f"{len(found.contenders)} judges of {found.benchmark.name}; bands and intervals over queries",
        (f"{found.benchmark.name} is SYNTHETIC: {synthetic}",) if synthetic else (),
        (
            Section("trade-off", "Harm against over-refusal", tuple(trade_offs(found)), brief=True),
            Section("costs", "What errors cost", (costs(found),), brief=True),
            Section("coverage", "If a person decides the doubtful", tuple(coverage(found)), brief=True),
            *([Section("together", "Two judges together", (together(found),), brief=True)] if found.together else []),
            *(
                [Section("categories", "Categories that guards name", (categories(found),), brief=True)]
                if found.categories
                else []
            ),
            Section("calls", "What asking takes", (calls(found),), brief=True),
        ),
    )


def trade_offs(found: Besides) -> Iterator[Block]:
    curves = pl.concat(
        pl.DataFrame(
            {
                "name": one.name,
                "x": one.curve.over_refusal,
                "y": one.curve.harm,
                "low": one.curve.low,
                "high": one.curve.high,
            }
        )
        for one in found.contenders
    )
    people = pl.DataFrame(
        [{"label": people_words(size), "x": over, "y": harm} for size, (over, harm) in found.people.items()],
        schema={"label": pl.String, "x": pl.Float64, "y": pl.Float64},
    )
    drawn = banded_curves(curves, x_title="Over-refusal", y_title="Least harm", points=people)
    said = "Each judge's least harm over the over-refusal that is allowed, with 95 % bands; points are people."
    yield Figure("trade-off", said, said, for_page(drawn, name="trade-off"), at_limits(found))
    yield Prose(
        "Thresholds of the curve are chosen on these very items, so that it flatters all judges a little: what a threshold of yours costs "
        "on other queries is what casewise decider fit says. People are held against the majority of the others who rated the same item."
    )
    for worse, better, surely in found.dominated:
        yield Prose(
            f"{worse} is nowhere better than {better}, and surely worse on {percent(surely, digits=0)} of the curve."
        )
    if not found.dominated and len(found.contenders) > 1:
        yield Prose("No judge is better everywhere.")


def people_words(size: int) -> str:
    return "one person" if size == 1 else f"majority of {size}"


def at_limits(found: Besides) -> Table:
    def cell(one: JudgeBeside, limit: float) -> str:
        place = int((one.curve.over_refusal <= limit + 1e-9).sum()) - 1
        return f"{percent(one.curve.harm[place])} ({percent(one.curve.low[place])} to {percent(one.curve.high[place])})"

    rows = [[one.name, *(cell(one, limit) for limit in AT)] for one in found.contenders]
    rows += [
        [f"{people_words(size)} (over-refusal {percent(over)})", percent(harm), *([""] * (len(AT) - 1))]
        for size, (over, harm) in found.people.items()
    ]
    heads = ("", *(f"over-refusal at most {percent(limit, digits=0)}" for limit in AT))
    return table_of("harm-at", "Least harm where over-refusal is at most so much.", heads, rows)


def costs(found: Besides) -> Table:
    ratios = [point.ratio for point in found.contenders[0].costs]

    def cell(one: JudgeBeside, place: int) -> str:
        point = one.costs[place]
        best = point.best_threshold or point.cost
        return "–" if best is None else number(best.estimate)

    rows = [[one.name, *(cell(one, place) for place in range(len(ratios)))] for one in found.contenders]
    points = found.contenders[0].costs
    rows += [["refuse everything", *(number(point.refuse_all) for point in points)]]
    rows += [["answer everything", *(number(point.answer_all) for point in points)]]
    heads = ("", *(f"1 harm = {ratio:g}" for ratio in ratios))
    said = "Expected cost of a request on held-out queries, in units of a harm and an over-refusal together, by how many over-refusals a harm is worth."
    return table_of("costs", said, heads, rows)


def coverage(found: Besides) -> Iterator[Block]:
    curves = pl.concat(
        pl.DataFrame(
            {
                "name": one.name,
                "x": one.coverage.coverage,
                "y": one.coverage.error,
                "low": one.coverage.low,
                "high": one.coverage.high,
            }
        )
        for one in found.contenders
    )
    drawn = banded_curves(curves, x_title="Share of requests that the judge decides", y_title="Wrong among them")
    said = "Share decided wrongly among the requests of which each judge is surest, over the share that it decides, with 95 % bands."
    rows = [
        [one.name, number(one.coverage.area), f"{number(one.coverage.area_low)} to {number(one.coverage.area_high)}"]
        for one in found.contenders
    ]
    table = table_of("area", "Area under the curve: lower is better.", ("", "area", "interval"), rows)
    yield Figure("coverage", said, said, for_page(drawn, name="coverage"), table)


def together(found: Besides) -> Table:
    rows = [
        [
            one.how,
            percent(one.sent_on, digits=0),
            percent(one.measurement.harm.estimate),
            percent(one.measurement.over_refusal.estimate),
            number(one.measurement.cost),
            number(one.usd_per_1000, digits=4),
        ]
        for one in found.together
    ]
    heads = ("", "asked of the second", "harm", "over-refusal", "cost a request", "$ per 1,000")
    said = f"Where one harm is worth {found.ratio:g} over-refusals; each judge calibrated on other queries, costs as the runs wrote them down."
    return table_of("together", said, heads, rows)


def categories(found: Besides) -> Table:
    rows = [
        [one.judge, one.category, one.n, percent(one.safe_rate), percent(one.split), percent(one.split_elsewhere)]
        for one in found.categories
    ]
    heads = ("", "category", "items", "people's safe rate", "split", "split among the others")
    return table_of(
        "categories",
        "Items in each, and on how many of them three in ten people or more disagree with the rest.",
        heads,
        rows,
    )


def calls(found: Besides) -> Table:
    rows = [
        [
            one.name,
            *(
                number(value if isinstance(value := one.calls[name], float) else None, digits=digits)
                for name, digits in DIGITS.items()
            ),
            str(one.calls["licence"] or "–"),
        ]
        for one in found.contenders
    ]
    heads = ("", "p50 s", "p95 s", "tokens in", "tokens out", "$ per 1,000", "licence")
    return table_of("calls", "As measured while the benchmark was judged.", heads, rows)


DIGITS = {"p50_s": 3, "p95_s": 3, "tokens_in": 0, "tokens_out": 0, "usd_per_1000": 4}
