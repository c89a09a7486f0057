"""Vega-Lite specifications as plain dictionaries, and the house style they are drawn in.

They are our own and few: a library that builds and checks them takes longer than all else that a report does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from casewise.reporting.charts.apart import drawn

__all__ = ["DIM", "INK", "LINE", "Spec", "faceted", "field", "label_limit", "layers", "mark", "svg"]

Spec = dict[str, Any]

INK, DIM, LINE = "#1B2431", "#56606F", "#D5DBE4"

TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}

STYLE = {
    "font": "Arial, Helvetica, sans-serif",
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
    "legend": {"labelColor": INK, "titleColor": INK, "orient": "top", "labelFontSize": 12, "titleFontSize": 12},
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12},
    "title": {"color": INK, "fontSize": 13, "anchor": "start"},
}

NOT_DRAWN = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:[bf]|u(?:00[01][0-9a-f]|007f|00[89][0-9a-f]|202[89]|fffe|ffff))")
"""Control characters and line separators, escaped in a chart's JSON, behind whatever backslashes stand for themselves. SVG cannot
hold the ones, and the renderer ends the whole process at them; the others are no part of its expressions."""

TAKEN = re.compile(r'"(constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(?:Locale)?String|valueOf)"')
"""Names that every object of JavaScript has: the renderer finds these instead of what is called so."""


def field(name: str, /, **settings: Any) -> Spec:
    """A channel that shows a column: `field("rate:Q", title="Safe rate")`; the letter is its type (`TYPES`)."""
    column, _, kind = name.partition(":")
    return {"field": column, **({"type": TYPES[kind]} if kind else {}), **settings}


def label_limit(names: Iterable[str], pixels: int) -> Spec:
    """The limit beyond which an axis cuts its names off; none where all are short: looking takes half of the drawing."""
    widest = max((sum(8 if letter < "\u2e80" else 13 for letter in name) for name in names), default=0)
    return {"labelLimit": pixels if widest > pixels else 0}


def mark(kind: str, frame: pl.DataFrame, encoding: Mapping[str, Spec], **style: Any) -> Spec:
    """`kind` (`line`, `rule`, `circle` …) for each row of `frame`, with its channels by their names in Vega-Lite."""
    return {
        "data": {"values": frame.to_dicts()},
        "mark": {"type": kind, **style},
        "encoding": dict(encoding),
    }


def layers(*marks: Spec, width: int, height: int) -> Spec:
    """Marks over each other, the first lowest."""
    return {"layer": list(marks), "width": width, "height": height}


def faceted(spec: Spec, facet: Spec) -> Spec:
    """A panel of `spec` for each value of a column."""
    return {"data": spec["data"], "facet": facet, "spec": {name: part for name, part in spec.items() if name != "data"}}


def svg(spec: Spec) -> str:
    """A specification in the house style as standalone SVG."""
    styled = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": STYLE, **spec}
    drawable = NOT_DRAWN.sub(r"\1\\ufffd", json.dumps(styled, sort_keys=True))
    return drawn(TAKEN.sub(r'"\1\\u200b"', drawable))
