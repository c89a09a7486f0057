import numpy as np
import polars as pl

from casewise.reporting.charts.drawing import MOST_DOTS, judge_against_people


def drawn(n):
    draws = np.random.default_rng(0)
    points = pl.DataFrame({"rate": draws.integers(0, 21, n) / 20, "value": draws.random(n), "label": ["safe"] * n})
    return judge_against_people(points, value_title="Judge's value", domain=(0.0, 1.0))


def dots(svg):
    return svg.count('aria-roledescription="circle"')


def test_every_item_is_a_dot_until_they_only_hide_each_other():
    assert dots(drawn(300)) == 300
    assert dots(drawn(MOST_DOTS + 1)) == MOST_DOTS
