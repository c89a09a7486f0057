"""Who waits is told what took long, and of nothing else; a page names no path of a machine."""

import pytest

from casewise import api
from casewise.reports.document import from_here
from casewise.storage import files as long_steps
from casewise.storage.files import long_step, telling_long_steps


@pytest.fixture
def clock(monkeypatch):
    """A clock that each look sets on."""
    seconds = iter([0.0, 12.34, 100.0, 101.9, 200.0, 299.0])
    monkeypatch.setattr(long_steps, "perf_counter", lambda: next(seconds))


@pytest.mark.usefixtures("clock")
def test_what_took_long_is_told_and_what_did_not_is_not():
    told: list[str] = []
    with telling_long_steps(told.append):
        with long_step("the first"):
            pass
        with long_step("the second"):
            pass
    with long_step("with nobody there"):
        pass

    assert told == ["12.3 s: the first"]


def test_a_report_and_what_it_keeps_are_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(long_steps, "LONG_S", 0.0)
    run = api.judge("demo", "constant:safe", out=tmp_path / "run").path
    told: list[str] = []
    with long_steps.telling_long_steps(told.append):
        api.report(run)

    assert told[-1].endswith("the report's numbers, all told")


@pytest.mark.slow
def test_a_page_says_how_to_make_it_again_without_the_path_of_a_machine(tmp_path, monkeypatch):
    run = api.judge("demo", "constant:safe", out=tmp_path / "runs" / "one").path
    monkeypatch.chdir(tmp_path)
    page = api.report(run).to_html()

    assert "casewise report runs/one" in page
    assert str(tmp_path) not in page
    assert from_here(tmp_path.parent / "elsewhere") == "elsewhere"
