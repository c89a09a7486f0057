import re
import zlib

import polars as pl
import pytest
import vl_convert

from casewise.reports import charts
from casewise.reports.charts import dots_with_intervals, drawn, for_page, label_limit, png
from casewise.storage.files import cache_folder

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


@pytest.fixture
def drawings(monkeypatch):
    """The specifications that were drawn; each gives its own text. What this process remembers is forgotten before and after."""
    done = []

    def draw(specification):
        done.append(specification)
        return f"<svg>{specification}</svg>"

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", draw)
    drawn.cache_clear()
    yield done
    drawn.cache_clear()


def test_a_chart_is_drawn_once_for_all_reports_of_a_user(drawings):
    first = drawn("one"), drawn("another")
    drawn.cache_clear()

    assert (drawn("one"), drawn("another")) == first == ("<svg>one</svg>", "<svg>another</svg>")
    assert drawings == ["one", "another"]


def test_another_version_of_the_renderer_draws_again(drawings, monkeypatch):
    drawn("one")
    drawn.cache_clear()
    monkeypatch.setattr(charts, "installed_version", lambda _: "0")
    drawn("one")

    assert drawings == ["one", "one"]


def test_where_nothing_can_be_kept_a_chart_is_drawn_each_time(drawings):
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("a file in the way", encoding="utf-8")
    drawn("one")
    drawn.cache_clear()

    assert drawn("one") == "<svg>one</svg>"
    assert drawings == ["one", "one"]


@pytest.mark.parametrize("content", [b"", b"<svg>half", b"\xff"])
def test_a_damaged_drawing_in_the_cache_is_drawn_anew(drawings, content):
    drawn("one")
    (kept,) = (cache_folder() / "charts").iterdir()
    kept.write_bytes(content)
    drawn.cache_clear()

    assert drawn("one") == "<svg>one</svg>"
    assert drawings == ["one", "one"]
