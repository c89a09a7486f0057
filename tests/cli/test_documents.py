"""Every command that prints a document takes the same options, and writes what they name."""

import json

import pytest
from tests.support.command import invoke as program

import casewise
from casewise.cli.printing import DocumentOptions, gathering_results
from casewise.errors import ConfigurationError
from casewise.reports.formats import FORMATS

DOCUMENTS = {
    "report": ("report", "RUN"),
    "compare": ("compare", "RUN", "OTHER"),
    "leaderboard": ("leaderboard", "RUN"),
    "show a run": ("show", "RUN"),
    "show": ("show", "demo"),
    "paper": ("paper", "--benchmark", "demo"),
    "gate": ("gate", "RUN", "--baseline", "RUN", "--max-drop", "accuracy=0.5"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("safe", "intended"):
        casewise.judge("demo", f"constant:{name}", out=folder / name)
    return {"RUN": folder / "safe", "OTHER": folder / "intended"}


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_written_where_out_says_by_its_ending(name, runs, tmp_path):
    words = [runs.get(word, word) for word in DOCUMENTS[name]]

    said = program(*words, "--out", tmp_path / "page.md")

    assert said.code == 0, said.err
    assert said.out == ""
    assert (tmp_path / "page.md").read_text(encoding="utf-8").startswith("# ")
    assert f"written: {tmp_path / 'page.md'}" in said.err


@pytest.mark.slow
def test_a_format_is_printed(runs):
    for form, begins in {"html": "<!doctype html", "markdown": "# ", "latex": "%", "text": "Leaderboard"}.items():
        said = program("leaderboard", runs["RUN"], "--format", form)
        assert said.code == 0, said.err
        assert said.out.lower().startswith(begins.lower()), form


@pytest.mark.slow
def test_json_is_a_format_like_the_others(runs, tmp_path):
    by_flag = program("leaderboard", runs["RUN"], "--json").out

    assert program("leaderboard", runs["RUN"], "--format", "json").out == by_flag
    program("leaderboard", runs["RUN"], "--out", tmp_path / "board.json")
    assert (tmp_path / "board.json").read_text(encoding="utf-8") == by_flag
    assert json.loads(by_flag)["n_items"] == 90


@pytest.mark.slow
def test_what_names_no_format_is_refused(runs, tmp_path):
    for words, says in (
        (("--format", "markdwon"), "did you mean 'markdown'?"),
        (("--out", tmp_path / "page.odt"), "casewise knows no format by this ending"),
        (("--format", "html", "--json"), "name two formats"),
    ):
        said = program("leaderboard", runs["RUN"], *words)
        assert said.code == 2
        assert says in said.err


def test_every_format_has_endings_that_no_other_has():
    endings = [ending for one in FORMATS.values() for ending in one.endings]

    assert len(endings) == len(set(endings))


@pytest.mark.slow
def test_the_flags_of_each_format_write_beside_what_is_printed(runs, tmp_path):
    places = {name: tmp_path / name for name in ("html", "markdown", "latex", "figures", "tables")}
    words = [word for name, path in places.items() for word in (f"--{name}", path)]

    said = program("leaderboard", runs["RUN"], *words)

    assert said.code == 0, said.err
    assert "Leaderboard" in said.out
    assert all(path.exists() for path in places.values())
    assert all(f"written: {path}" in said.err for path in places.values())


def test_two_wishes_are_refused_before_anything_is_printed():
    with gathering_results(json=True), pytest.raises(ConfigurationError, match="two formats"):
        _ = DocumentOptions(form="html").wants_json
