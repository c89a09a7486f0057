import asyncio
import doctest
import importlib
import pkgutil
import subprocess
import sys

import polars as pl
import pytest

import casewise
from casewise.errors import BenchmarkError, CasewiseError, DataError, JudgeError

OPTIONAL = ("casewise.share", "casewise.models.local", "casewise.web")
HEAVY = ("polars", "numpy", "scipy", "sklearn", "altair", "pandas", "pydantic", "rich", "aiohttp", "jinja2")


def loaded_by(code):
    """What of the heavy libraries a fresh interpreter has loaded after `code`."""
    check = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_casewise_loads_nothing_heavy():
    assert loaded_by("import casewise; casewise.__version__; dir(casewise)") == []


def test_the_command_line_starts_with_nothing_heavy():
    assert set(loaded_by("import casewise.cli.app")) <= {"rich"}


@pytest.mark.slow
def test_replaying_loads_neither_a_classifier_nor_a_chart_library():
    assert not set(loaded_by("from casewise.evaluate.replay import replay")) & {
        "scipy",
        "sklearn",
        "altair",
        "pandas",
    }


@pytest.mark.slow
def test_a_report_with_its_charts_needs_no_chart_library():
    draws = "import casewise; casewise.report(casewise.judge('demo', 'constant:safe')).to_html()"

    assert "altair" not in loaded_by(draws)


def submodules():
    return [name for _, name, _ in pkgutil.walk_packages(casewise.__path__, "casewise.")]


@pytest.mark.slow
def test_every_submodule_is_imported_and_then_the_api_works():
    code = f"""
import importlib, pkgutil, casewise
for _, name, _ in pkgutil.walk_packages(casewise.__path__, "casewise."):
    if name != "casewise.__main__" and not name.startswith({OPTIONAL!r}):
        importlib.import_module(name)
run = casewise.judge(casewise.load("demo"), "constant:safe")
print(casewise.report(run).metrics.height > 5, callable(casewise.replay), casewise.judge.__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "True", "casewise.api.judging"]


def test_no_submodule_has_the_name_of_a_public_function():
    assert not {f"casewise.{name}" for name in dir(casewise)} & set(submodules())


def test_every_public_name_is_there():
    for name in dir(casewise):
        assert getattr(casewise, name) is not None
    with pytest.raises(AttributeError, match="casewise attribute nothing"):
        getattr(casewise, "nothing")  # noqa: B009  (mypy knows that there is no such name)


@pytest.mark.parametrize("module", ["casewise", "casewise.api", "casewise.stats"])
def test_every_name_that_a_module_offers_is_there(module):
    loaded = importlib.import_module(module)
    for name in dir(loaded):
        assert hasattr(loaded, name)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["storage.load", "api.judging", "api.evaluating"])
def test_the_examples_of_the_api_run(module):
    failed, tried = doctest.testmod(importlib.import_module(f"casewise.{module}"), optionflags=doctest.ELLIPSIS)

    assert tried
    assert not failed


def test_judge_works_inside_a_running_event_loop():
    async def notebook():
        return casewise.judge("demo", "constant:intended").summary.n_judged

    assert asyncio.run(notebook()) == 90


def test_an_error_inside_a_running_event_loop_is_the_same_error():
    async def notebook():
        casewise.judge("demo", "nobody")

    with pytest.raises(JudgeError, match="no judge is called 'nobody'"):
        asyncio.run(notebook())


def test_a_planned_run_is_awaited():
    run = asyncio.run(casewise.plan_run("demo", lambda query, context: "safe").perform())

    assert run.summary.n_judged == 90
    assert run.judgements["value"].unique().to_list() == [1.0]


@pytest.mark.slow
def test_a_report_has_polars_tables_and_shows_itself(tmp_path):
    run = casewise.judge("demo", "constant:intended", out=tmp_path / "run")
    report = casewise.report(run)

    for table in (report.metrics, report.categories, report.domains, report.unscored):
        assert isinstance(table, pl.DataFrame)
    assert "SYNTHETIC" in report._repr_html_()
    assert "SYNTHETIC" in run._repr_html_()
    assert "The answer" in run._repr_html_()
    assert "<html" not in report._repr_html_()
    assert "<html" in report.to_html()
    assert len(report._repr_html_()) < len(report.to_html()) / 2
    assert report.to_markdown().startswith("# constant:intended (binary) on demo")


@pytest.mark.slow
def test_a_report_is_made_from_a_path_or_a_run(tmp_path):
    run = casewise.judge("demo", "constant:safe", out=tmp_path / "run")

    assert casewise.report(tmp_path / "run").metrics.equals(run.report().metrics)


@pytest.mark.slow
def test_a_run_without_a_place_leaves_nothing_behind():
    run = casewise.judge("demo", "constant:safe")
    path = run.path
    report = run.report()
    assert path.exists()
    del run

    assert not path.exists()
    assert report.metrics.height


def test_a_table_of_cases_is_no_benchmark_and_the_message_names_the_commands_that_read_one(tmp_path):
    table = tmp_path / "my cases.csv"
    table.write_text("query,label\nHello,safe\n")
    with pytest.raises(
        DataError,
        match=r"not a benchmark; to import it: casewise data import '.*my cases.csv' --out FOLDER; .* casewise check",
    ):
        casewise.load(table)


def test_what_is_no_judge_no_run_and_no_benchmark_is_an_error(tmp_path):
    with pytest.raises(JudgeError, match="5 is not a judge"):
        casewise.judge("demo", 5)  # type: ignore[arg-type]
    with pytest.raises(BenchmarkError, match="give at least one run"):
        casewise.report()
    with pytest.raises(DataError, match="no such benchmark"):
        casewise.load(tmp_path / "nothing")
    with pytest.raises(CasewiseError, match="is no run folder"):
        casewise.report(tmp_path)
