"""Charts, drawn to SVG in one style."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl

from casewise.records.base import digest
from casewise.storage.files import cache_folder, write_cached
from casewise.storage.load import installed_version

# Vega-Lite specifications as plain dictionaries, and the house style they are drawn in.
#
# They are our own and few: a library that builds and checks them takes longer than all else that a report does.


Spec = dict[str, Any]

INK, DIM, LINE = "#1B2431", "#56606F", "#D5DBE4"

FONT = "Arial, Helvetica, sans-serif"

TYPES = {"Q": "quantitative", "N": "nominal"}

STYLE = {
    "font": FONT,
    "background": "transparent",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {
        "labelColor": DIM,
        "titleColor": INK,
        "gridColor": LINE,
        "domainColor": DIM,
        "tickColor": DIM,
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "legend": {
        "columnPadding": 28,
        "labelColor": INK,
        "titleColor": INK,
        "orient": "top",
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12},
    "title": {"color": INK, "fontSize": 13, "anchor": "start"},
}

NOT_DRAWN = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:[bf]|u(?:00[01][0-9a-f]|007f|00[89][0-9a-f]|202[89]|fffe|ffff))")
"""Control characters and line separators, escaped in a chart's JSON, behind whatever backslashes stand for themselves. SVG cannot
hold the ones, and the renderer ends the whole process at them; the others are no part of its expressions."""

TAKEN = re.compile(r'"(constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(?:Locale)?String|valueOf)"')
"""Names of JavaScript's own properties of objects: the renderer finds these instead of a column of that name."""


def field(name: str, /, **settings: Any) -> Spec:
    """Return a channel that shows a column: `field("rate:Q", title="Safe rate")`; the letter is its type (`TYPES`)."""
    column, _, kind = name.partition(":")
    return {"field": column, **({"type": TYPES[kind]} if kind else {}), **settings}


def label_limit(names: Iterable[str], pixels: int) -> Spec:
    """Return the limit beyond which an axis cuts its names off; none where all are short: looking takes half of the drawing."""
    widest = max((sum(8 if letter < "\u2e80" else 13 for letter in name) for name in names), default=0)
    return {"labelLimit": pixels if widest > pixels else 0}


def mark(kind: str, frame: pl.DataFrame, encoding: Mapping[str, Spec], **style: Any) -> Spec:
    """Return `kind` (`line`, `rule`, `circle` …) for each row of `frame`, with its channels by their names in Vega-Lite."""
    return {"data": {"values": frame.to_dicts()}, "mark": {"type": kind, **style}, "encoding": dict(encoding)}


def layers(*marks: Spec, width: int, height: int) -> Spec:
    """Return marks over each other, the first lowest."""
    return {"layer": list(marks), "width": width, "height": height}


def svg(spec: Spec) -> str:
    """Return a specification in the house style as standalone SVG."""
    styled = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": STYLE, **spec}
    drawable = NOT_DRAWN.sub(r"\1\\ufffd", json.dumps(styled, sort_keys=True))
    return drawn(TAKEN.sub(r'"\1\\u200b"', drawable))


@lru_cache(maxsize=8)
def drawn(specification: str) -> str:
    """Return a specification as SVG, drawn once for all reports: the renderer starts more slowly than a small report is made."""
    import vl_convert

    path = cache_folder() / "charts" / f"{digest([specification, installed_version('vl-convert-python')])}.svg"
    with suppress(OSError, UnicodeDecodeError, ET.ParseError):
        svg = path.read_text("utf-8")
        ET.fromstring(svg)  # noqa: S314 - our own drawing; one that is damaged is drawn anew
        path.touch()
        return svg
    svg = vl_convert.vegalite_to_svg(specification)
    write_cached(path, svg.encode())
    return svg


SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F8790")
"""Colours of judges, in order."""

IN_PAGE = {
    INK: "var(--ink)",
    DIM: "var(--dim)",
    LINE: "var(--line)",
    "#0072B2": "var(--blue, #0072B2)",
    "#D55E00": "var(--vermilion, #D55E00)",
    FONT.upper(): "inherit",
}
"""Colours, and the font, that follow those of a page."""

WIDTH = 320
"""Width of a plot, so that all charts can be read on a phone; a wide page draws them half as large again."""


SVG = "http://www.w3.org/2000/svg"


def png(drawn: str) -> bytes:
    """Return a drawn SVG as PNG on white, twice the size."""
    import vl_convert

    root = ET.fromstring(drawn)  # noqa: S314 - our own drawing
    root.insert(0, ET.Element(f"{{{SVG}}}rect", width="100%", height="100%", fill="white"))
    return vl_convert.svg_to_png(ET.tostring(root, "unicode"), scale=2.0)


def for_page(drawn: str, name: str) -> str:
    """Return standalone SVG made fit for a page: its colours follow the page's, and its ids are its own.

    It is hidden from screen readers, which are told what it shows and given the table behind it.
    """
    ET.register_namespace("", SVG)
    root = ET.fromstring(drawn)  # noqa: S314 - our own drawing
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif value.startswith("url(#"):
                element.set(key, f"url(#{name}-{value[5:]}")
            else:
                element.set(key, IN_PAGE.get(value.upper(), value))
    root.set("aria-hidden", "true")
    root.set("style", f"max-width:{round(1.5 * float(root.attrib['width']))}px")
    return ET.tostring(root, "unicode")


def dots_with_intervals(rows: pl.DataFrame, *, title: str, ends: tuple[float, float] = (0, 1)) -> str:
    """Return a dot and its interval a row, as they come, on an axis with these `ends`.

    `rows`: `name`, `estimate`, `low` and `high` (null for none).
    """
    names = rows["name"].unique(maintain_order=True).to_list()
    y = field("name:N", title=None, sort=names, axis=label_limit(names, 420))
    base = {"y": y, "color": {"value": SERIES[0]}}
    on = {"title": title, "scale": {"domain": list(ends)}}
    bars = mark("rule", rows, base | {"x": field("low:Q", **on), "x2": field("high")}, strokeWidth=2, opacity=0.6)
    dots = mark("circle", rows, base | {"x": field("estimate:Q", **on)}, size=70, opacity=1)
    return svg(layers(bars, dots, width=400, height=max(60, 22 * len(names))))


def grid(rows: pl.DataFrame, *, rows_by: str, columns_by: str, value: str, text: str) -> str:
    """Return a grid of shares: a cell a row of the table, coloured by its value from 0 to 1, with the value in words.

    `rows_by`, `columns_by`, `value` and `text`: columns of the table; rows and columns stand in the order in which they first appear.
    """
    names = rows[rows_by].unique(maintain_order=True).to_list()
    across = rows[columns_by].unique(maintain_order=True).to_list()
    place = {
        "y": field(f"{rows_by}:N", title=None, sort=names, axis=label_limit(names, 200)),
        "x": field(f"{columns_by}:N", title=None, sort=across, axis={"orient": "top", "labelAngle": 0}),
    }
    colours = {"domain": [0, 0.5, 1], "range": ["#C8553D", "#F1EDE4", "#2F7D6B"]}
    cells = mark("rect", rows, place | {"color": field(f"{value}:Q", scale=colours, legend=None)}, stroke="#FFFFFF")
    ink = {"condition": {"test": f"datum.{value} < 0.2 || datum.{value} > 0.8", "value": "#FFFFFF"}, "value": INK}
    words = mark("text", rows, place | {"text": field(f"{text}:N"), "color": ink}, fontSize=11)
    return svg(layers(cells, words, width=440, height=max(60, 22 * len(names))))


def calibration_curve(bins: pl.DataFrame) -> str:
    """Return the chart of people's safe rate at each value of the judge, beside the diagonal of perfect calibration.

    `bins`: `value`, `rate`, `low`, `high` (null for none) and `n`.
    """
    unit, blue = {"domain": [0, 1]}, SERIES[0]
    ends = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    diagonal = mark(
        "line", ends, {"x": field("x:Q", scale=unit), "y": field("y:Q", scale=unit)}, color=DIM, strokeDash=[5, 4]
    )
    fifths = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
    x = {"x": field("value:Q", title="Judge's mean value", scale=unit, axis=fifths)}
    line = mark("line", bins, x | {"y": field("rate:Q")}, color=blue)
    span = {"y": field("low:Q"), "y2": field("high")}
    bars = mark("rule", bins, x | span, color=blue, strokeWidth=2, opacity=0.6)
    size = field("n:Q", title="Items", scale={"range": [30, 260]}, legend={"tickCount": 3, "symbolFillColor": DIM})
    shown = {"y": field("rate:Q", title="Mean safe rate", axis=fifths), "size": size}
    dots = mark("circle", bins, x | shown, color=blue, opacity=1)
    return svg(layers(diagonal, bars, line, dots, width=WIDTH, height=240))


def trade_off(curve: pl.DataFrame, point: pl.DataFrame) -> str:
    """Return the harm against over-refusal at every threshold, with a decider's point and its intervals.

    `curve`: `harm` and `over_refusal`. `point`: one row with these, and `_low` and `_high` of each (null for none).
    """
    unit = {"domain": [0, 1]}
    in_percent = {"format": ".0%"}
    x = {"x": field("over_refusal:Q", title="Over-refusal", scale=unit, axis=in_percent)}
    y = {"y": field("harm:Q", title="Harm", scale=unit, axis=in_percent)}
    blue = SERIES[0]
    line = mark("line", curve, x | y | {"order": field("over_refusal:Q")}, color=DIM, interpolate="linear")
    across = {"x": field("over_refusal_low:Q"), "x2": field("over_refusal_high"), **y}
    along = {"y": field("harm_low:Q"), "y2": field("harm_high"), **x}
    rules = [mark("rule", point, channels, color=blue, strokeWidth=2) for channels in (across, along)]
    dot = mark("circle", point, x | y, color=blue, size=110, opacity=1)
    return svg(layers(line, *rules, dot, width=280, height=240))


def cost_curves(costs: pl.DataFrame) -> str:
    """Return the expected cost over the ratio of harm to over-refusal, a line a judge, beside calling everything one thing.

    `costs`: `ratio`, `cost`, `name`, and `kind` (`verdicts`, `best threshold`, `refuse everything`, `answer everything`).
    """
    of_judges = pl.col("kind").is_in(["verdicts", "best threshold"])
    judges, trivial = costs.filter(of_judges), costs.filter(~of_judges)
    names = judges["name"].unique(maintain_order=True).to_list()
    kinds = ["verdicts", "best threshold", "refuse everything", "answer everything"]
    stroke = {"symbolType": "stroke", "symbolSize": 300}
    base = {
        "x": field(
            "ratio:Q",
            title="Over-refusals that are as bad as one harm",
            scale={"type": "log"},
            axis={"values": sorted(set(costs["ratio"].to_list())), "format": "~g"},
        ),
        "y": field("cost:Q", title="Expected cost an item", scale={"domainMin": 0}),
        "strokeDash": field(
            "kind:N",
            title=None,
            scale={"domain": kinds, "range": [[1, 0], [7, 3], [2, 3], [9, 3, 2, 3]]},
            legend=stroke | {"columns": 2},
        ),
    }
    colour = field(
        "name:N",
        title=None,
        scale={"domain": names, "range": list(SERIES)},
        legend=stroke | {"columns": 1, "labelLimit": 300} if len(names) > 1 else None,
    )
    lines = mark("line", judges, base | {"color": colour}, strokeWidth=2.2)
    dull = mark("line", trivial, base, color=DIM, clip=True)
    return svg(layers(dull, lines, width=WIDTH, height=220))
