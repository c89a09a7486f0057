"""Every command that prints a document takes the same options, and writes what they name."""

import json

import pytest
from tests.support.command import invoke as program

import casewise
from casewise.cli.printing import DocumentOptions, gathering_results
from casewise.errors import ConfigurationError
from casewise.reports.document import CHATBOT, Document, Exhibit, Prose, Section, table_of
from casewise.reports.formats import FORMATS, Report

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


REPLY = Exhibit("An item", (), "Who is on call?", (), reply="Dr Roe.", reply_by=CHATBOT)
TABLE = table_of("one", "A table", ("name", "n"), [("a", 7)])


def report(*blocks):
    answer = Section("answer", "The answer", (Prose("It is 7."),), first=True)
    rest = Section("rest", "The rest", (TABLE, *blocks), brief=True)
    return Report({"n": 7}, lambda _: Document("A title", "", (), (answer, rest)))


@pytest.mark.parametrize("full", [True, False])
def test_a_document_is_printed_whole_or_in_its_answer(full, capsys):
    DocumentOptions().present(report(), full=full)

    printed, notes = capsys.readouterr()
    assert "It is 7." in printed
    assert ("A table" in printed) is full
    assert notes == ""


def test_json_is_the_numbers_by_flag_by_format_and_by_ending(tmp_path, capsys):
    with gathering_results(json=True):
        DocumentOptions().present(report())
    DocumentOptions(form="json").present(report())
    DocumentOptions(out=tmp_path / "a.json").present(report())
    DocumentOptions(out=tmp_path / "a.txt", form="json").present(report())

    whole = '{\n "n": 7\n}\n'
    assert capsys.readouterr() == (2 * whole, f"written: {tmp_path / 'a.json'}\nwritten: {tmp_path / 'a.txt'}\n")
    assert {path.read_text() for path in tmp_path.iterdir()} == {whole}


def test_an_ending_counts_where_no_format_is_named(tmp_path, capsys):
    assert not DocumentOptions(out=tmp_path / "a.json", form="markdown").wants_json
    DocumentOptions(out=tmp_path / "a.md").present(report())
    DocumentOptions(form="markdown").present(report())

    assert capsys.readouterr().out == (tmp_path / "a.md").read_text()
    assert (tmp_path / "a.md").read_text().startswith("# A title")


def test_further_formats_are_written_beside_what_is_printed(tmp_path, capsys):
    names = ("html", "markdown", "latex", "figures", "tables")
    DocumentOptions(**{name: tmp_path / name for name in names}).present(report())

    printed, notes = capsys.readouterr()
    assert "It is 7." in printed
    assert notes.splitlines() == [f"written: {tmp_path / name}" for name in names]
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["one.parquet"]
    assert (tmp_path / "html").read_text().startswith("<!doctype html")


@pytest.mark.parametrize(("blocks", "mode"), [((), 0o644), ((REPLY,), 0o600)])
def test_files_with_chatbots_replies_are_readable_by_their_owner_alone(tmp_path, blocks, mode):
    DocumentOptions(html=tmp_path / "a.html", out=tmp_path / "a.md").present(report(*blocks))

    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {mode}
