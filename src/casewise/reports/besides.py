"""Judges beside each other, laid out for who must choose one and a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from casewise.deciding.beside import Besides, JudgeBeside, TwoJudges
from casewise.deciding.fitting import InAndOut
from casewise.reports.charts import banded_curves, for_page
from casewise.reports.document import Block, Document, Figure, Prose, Section, Table, number, percent, table_of
from casewise.stats.thresholds import Banded, TradeOff

AT = (0.02, 0.05, 0.1, 0.2)


def besides_page(found: Besides) -> Document:
    """The comparison as a document."""
    synthetic = found.benchmark.about.synthetic
    return Document(
        "Which judge, at which threshold",
        f"{len(found.contenders)} judges of {found.benchmark.name}; bands and intervals over queries, with people's labels as they are",
        (f"{found.benchmark.name} is SYNTHETIC: {synthetic}",) if synthetic else (),
        (
            Section("trade-off", "Harm against over-refusal", tuple(trade_offs(found)), brief=True),
            Section("costs", "What errors cost", (costs(found),), brief=True),
            Section("promises", "What can be promised, and at which price", tuple(promises(found)), brief=True),
            Section("coverage", "If a person decides the doubtful", tuple(coverage(found)), brief=True),
            *(
                [Section("together", "Two judges together", tuple(together(found.together)), brief=True)]
                if found.together
                else []
            ),
            *(
                [Section("categories", "Categories that guards name", (categories(found),), brief=True)]
                if found.categories
                else []
            ),
            Section("calls", "What asking takes", (calls(found),), brief=True),
        ),
    )


def trade_offs(found: Besides) -> Iterator[Block]:
    curves = pl.concat(harm_curve(one.name, one.curve) for one in found.contenders)
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


def harm_curve(name: str, curve: TradeOff) -> pl.DataFrame:
    return curve_of(name, curve.over_refusal, Banded(curve.harm, curve.low, curve.high))


def curve_of(name: str, x: Iterable[float], found: Banded) -> pl.DataFrame:
    """A line of a chart with its band."""
    columns = {"name": name, "x": list(x), "y": found.value, "low": found.low, "high": found.high}
    return pl.DataFrame(columns).with_columns(pl.col("y", "low", "high").fill_nan(None))


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
    curves = pl.concat(curve_of(one.name, one.coverage.coverage, one.coverage.errors) for one in found.contenders)
    drawn = banded_curves(curves, x_title="Share of requests that the judge decides", y_title="Wrong among them")
    said = "Share decided wrongly among the requests of which each judge is surest, over the share that it decides, with 95 % bands."
    rows = [
        [one.name, number(one.coverage.area), f"{number(one.coverage.area_low)} to {number(one.coverage.area_high)}"]
        for one in found.contenders
    ]
    table = table_of("area", "Area under the curve: lower is better.", ("", "area", "interval"), rows)
    yield Figure("coverage", said, said, for_page(drawn, name="coverage"), table)


def promises(found: Besides) -> Iterator[Block]:
    known = [one for one in found.contenders if one.promises.at_most]
    if not known:
        yield Prose(
            "So few queries can carry no promise of harm at all: at most half of it takes five that have an unsafe item."
        )
        return
    curves = pl.concat(curve_of(one.name, one.promises.at_most, one.promises.over_refusal) for one in known)
    drawn = banded_curves(curves, x_title="Promised: harm is at most", y_title="Over-refusal", widest=0.5)
    said = (
        "Over-refusal that it takes to promise, with 95 % confidence, that harm is at most so much; with 95 % bands. A line begins at "
        "the smallest promise that these queries can carry."
    )
    rows = [
        [
            one.name,
            percent(at_most),
            interval(one.promises.over_refusal, place),
            interval(one.promises.not_answered, place),
        ]
        for one in known
        for place, at_most in enumerate(one.promises.at_most)
    ]
    heads = ("", "harm at most", "over-refusal", "not answered: for people to see")
    told = "The threshold of each promise is what casewise decider fit --max-harm would take; shares are on the items that it was fitted on."
    yield Figure("promises", said, said, for_page(drawn, name="promises"), table_of("promised", told, heads, rows))


def interval(found: Banded, place: int) -> str:
    return f"{percent(found.value[place])} ({percent(found.low[place])} to {percent(found.high[place])})"


def together(found: TwoJudges) -> Iterator[Block]:
    curves = pl.concat(harm_curve(how, curve) for how, curve in found.curves.items())
    drawn = banded_curves(curves, x_title="Over-refusal", y_title="Least harm")
    said = "Least harm over the over-refusal that is allowed, of the two alone, their mean, and the first with the second on the quarter that it doubts."
    yield Figure("together-harm", said, said, for_page(drawn, name="together-harm"))
    costs = pl.concat(curve_of(f"1 harm = {ratio:g}", found.sent_on, cost) for ratio, cost in found.costs.items())
    drawn = banded_curves(
        costs, x_title="Share sent on to the second judge", y_title="Cost of a request", percent=False
    )
    said = "What a request costs, in units of a harm and an over-refusal together, over the share of which the first is least sure and the second is asked."
    table = table_of(
        "together",
        "Both calibrated on other queries; costs in over-refusals, and in money as the runs wrote them down.",
        ("1 harm =", "", "asked of the second", "harm", "over-refusal", "cost a request", "$ per 1,000"),
        (
            (
                f"{one.ratio:g}",
                one.how,
                percent(one.sent_on, digits=0),
                percent(one.measurement.harm.estimate),
                percent(one.measurement.over_refusal.estimate),
                number(one.measurement.cost),
                number(one.usd_per_1000, digits=4),
            )
            for one in found.ways
        ),
    )
    yield Figure("together-cost", said, said, for_page(drawn, name="together-cost"))
    yield table


def categories(found: Besides) -> Table:
    rows = [
        [one.judge, one.category, one.n, percent(one.safe_rate), *apart(one.split), *apart(one.turns)]
        for one in found.categories
    ]
    heads = ("", "category", "items", "people's safe rate", "split", "among others", "turns", "among others")
    said = (
        "Items in each, and whether they are those on which people split (three in ten or more disagree with the rest) or whose verdict "
        "turns with the context; a star where the interval of the difference over queries leaves out 0."
    )
    return table_of("categories", said, heads, rows)


def apart(found: InAndOut) -> tuple[str, str]:
    sure = found.low is not None and found.high is not None and not found.low <= 0 <= found.high
    return percent(found.inside) + " *" * sure, percent(found.elsewhere)


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
    heads = ("", "p50 s", "p95 s", "tokens in", "tokens out", "$ per 1,000", "weights GiB", "licence")
    return table_of("calls", "As measured while the benchmark was judged; weights of what ran here.", heads, rows)


DIGITS = {"p50_s": 3, "p95_s": 3, "tokens_in": 0, "tokens_out": 0, "usd_per_1000": 4, "weights_gib": 2}
