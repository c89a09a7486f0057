"""Charts that another process draws: the same SVG, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from casewise.reports import charts_apart as apart
from casewise.reports.charts import field, mark, svg

WAITS = """
import time
from casewise.reports import charts_apart as apart
apart.draw_apart()
print(apart.RUNNING[0].pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def other():
    apart.draw_apart()
    yield apart.RUNNING[0]
    apart.stop()


def bars(*heights):
    rows = pl.DataFrame({"name": [str(one) for one in heights], "height": heights})
    return svg(mark("bar", rows, {"x": field("name:N"), "y": field("height:Q")}))


def test_another_process_draws_the_same_and_this_one_where_it_is_no_more(other, monkeypatch):
    monkeypatch.setattr(apart, "drawn_here", lambda _spec: "drawn here")
    apart.ahead(bars(*heights) for heights in ((1, 2), (3, 4)))
    waited_for, found = list(apart.AHEAD), [bars(1, 2), bars(3, 4), bars(5, 6)]
    other.kill()
    without = bars(5, 6)
    monkeypatch.undo()

    assert len(waited_for) == 2
    assert found == [bars(1, 2), bars(3, 4), bars(5, 6)]
    assert (without, apart.RUNNING) == ("drawn here", [])


@pytest.mark.usefixtures("other")
def test_what_cannot_be_drawn_fails_as_it_does_in_this_process_and_the_next_is_drawn():
    with pytest.raises(ValueError, match="Vega-Lite"):
        svg({"mark": 3})
    assert bars(1, 2).startswith("<svg")
    assert len(apart.RUNNING) == 1


def test_a_process_that_is_killed_leaves_none_behind(tmp_path):
    waits = subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    with waits:
        assert waits.stdout is not None
        other = int(waits.stdout.readline())
        there = runs(other)
        os.kill(waits.pid, signal.SIGKILL)
    end = time.monotonic() + 30
    while runs(other) and time.monotonic() < end:
        time.sleep(0.05)

    assert there
    assert not runs(other)


def runs(pid):
    """Whether it does; one that has ended and that nobody has asked about does not."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
