import re
import zlib

import polars as pl

from casewise.reports.charts import dots_with_intervals, for_page, label_limit, png

ROWS = pl.DataFrame({"name": ["one"], "estimate": [0.5], "low": [0.4], "high": [0.6]})


def test_a_chart_in_a_page_follows_its_colours_and_has_ids_of_its_own():
    chart = for_page(dots_with_intervals(ROWS, title="Accuracy"), "accuracy-0")
    ids = re.findall(r'id="([^"]+)"', chart)

    assert "var(--ink)" in chart
    assert "aria-hidden" in chart
    assert all(name.startswith("accuracy-0-") for name in ids)
    assert len(ids) == len(set(ids))


def test_a_png_stands_on_white():
    picture = png(dots_with_intervals(ROWS, title="Accuracy"))

    chunks, at = b"", 8
    while at < len(picture):
        size = int.from_bytes(picture[at : at + 4], "big")
        chunks += picture[at + 8 : at + 8 + size] if picture[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + size
    assert (
        zlib.decompress(chunks)[1:5] == b"\xff" * 4
    )  # a row begins with its filter, which leaves a first pixel as it is


def test_a_name_is_cut_off_only_where_it_would_leave_no_room():
    def shown(name):
        return dots_with_intervals(ROWS.with_columns(name=pl.lit(name)), title="Accuracy")

    assert f">{'n' * 52}<" in shown("n" * 52)
    long = shown("n" * 120)
    assert f">{'n' * 120}<" not in long
    assert "n…<" in long
    assert label_limit(["字" * 33], 420) == {"labelLimit": 420}
