import json

import polars as pl
import pytest
from tests.support.command import invoke

import casewise


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        str(casewise.judge("demo", name, out=folder / name.replace(":", "-")).path)
        for name in ("constant:safe", "constant:intended")
    ]


def casewise_(*arguments):
    done = invoke(*arguments)
    assert done.code == 0, done.err
    return done


def test_a_comparison_is_printed(runs):
    said = casewise_("compare", *runs).out

    assert "of the row's judge less that of the column's judge" in " ".join(said.split())
    assert len(said.splitlines()) <= 40


def test_json_is_one_document_and_nothing_else(runs):
    found = json.loads(casewise_("compare", *runs, "--json").out)

    assert found["n_items"] == 90
    assert {"p_exact", "p_mid", "p_holm"} <= set(found["pairs"][0]["exact_test"])


def test_every_face_is_written_where_it_was_asked_for(runs, tmp_path):
    casewise_(
        "compare", *runs, "--html", tmp_path / "c.html", "--markdown", tmp_path / "c.md", "--latex", tmp_path / "c.tex",
        "--figures", tmp_path / "figures", "--tables", tmp_path / "tables",
    )  # fmt: skip

    assert "<html" in (tmp_path / "c.html").read_text()
    assert r"\toprule" in (tmp_path / "c.tex").read_text()
    assert "only one of two judges is right" in (tmp_path / "c.md").read_text()
    assert (tmp_path / "figures" / "judges.png").exists()
    assert pl.read_parquet(tmp_path / "tables" / "tests-table.parquet")["n"].to_list()[0] > 0


@pytest.mark.slow
def test_a_report_writes_its_figures_and_tables_too(runs, tmp_path):
    casewise_("report", runs[0], "--html", tmp_path / "r.html", "--figures", tmp_path / "f", "--tables", tmp_path / "t")

    assert (tmp_path / "f" / "cost-curve.svg").exists()
    assert (tmp_path / "t" / "pairs-table.parquet").exists()


def test_a_benchmark_is_converted_and_read_again(tmp_path):
    casewise_("export", "demo", "--out", tmp_path / "p", "--to", "hf")

    assert json.loads(casewise_("show", tmp_path / "p", "--json").out)["counts"]["items"] == 90


def test_what_is_lost_is_said(tmp_path):
    done = casewise_("export", "demo", "--to", "published", "--out", tmp_path / "demo.json")

    assert "no room for who gave 1,890 ratings" in done.err


def test_a_spreadsheet_says_what_it_is_not_for(tmp_path):
    done = casewise_("export", "demo", "--to", "csv", "--out", tmp_path / "x.csv")

    assert "not to read back" in done.err
    assert (tmp_path / "x.csv").exists()
