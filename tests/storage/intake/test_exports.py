"""Exports of annotation tools, made by hand after their documentation, become benchmarks that know who rated."""

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.command import invoke
from tests.support.exports import (
    ARGILLA_HUB,
    EXPORTS,
    LABEL_STUDIO,
    POTATO,
    POTATO_LINES,
    POTATO_STATE,
    TEXTS,
    WHOLE,
    annotation,
    choice,
    said,
    write,
)
from tests.support.mutations import mutated
from tests.support.workbooks import workbook

from casewise.errors import CasewiseError
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import import_cases, load


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_imported_with_who_rated_and_without_what_was_not_submitted(name, tmp_path):
    file = write(tmp_path, name, EXPORTS[name])
    who = ("--annotator", "ResponseId") if name == "qualtrics.csv" else ()
    done = invoke("data", "import", file, "--out", tmp_path / "mine", "--query", "text", "--vote", "verdict", *who)

    assert done.code == 0, done.output
    assert said(load(tmp_path / "mine")) == WHOLE


def test_answers_without_texts_are_joined_to_the_file_that_was_annotated(tmp_path):
    answers, texts = write(tmp_path, "potato.jsonl", POTATO_LINES), write(tmp_path, "texts.jsonl", TEXTS)
    columns = ("--query", "text", "--vote", "verdict", "--annotator", "annotator")

    assert invoke("data", "import", texts, "--out", tmp_path / "mine", *columns, "--ratings", answers).code == 0
    assert said(load(tmp_path / "mine")) == WHOLE
    state = write(tmp_path, "user_state.json", POTATO_STATE)
    assert invoke("data", "import", texts, "--out", tmp_path / "one", *columns, "--ratings", state).code == 0
    assert said(load(tmp_path / "one")) == [one for one in WHOLE if one[1] == "1"]


BROKEN: dict[str, Any] = {
    "a question called as a field": (
        "label-studio.json",
        [LABEL_STUDIO[0] | {"annotations": [annotation(1, choice("text", "safe"))]}],
        "the question 'text' is called as a field of the data",
    ),
    "nobody answered": (
        "label-studio.json",
        [LABEL_STUDIO[0] | {"annotations": []}],
        "no case has a submitted answer yet",
    ),
    "no annotator": (
        "label-studio.json",
        [LABEL_STUDIO[0] | {"annotations": [{"result": []}]}],
        "row 1, annotations 1: 'completed_by' is not there",
    ),
    "lists of different lengths": (
        "argilla-hub.jsonl",
        [ARGILLA_HUB[0] | {"verdict.responses.users": ["1"]}],
        "3 responses, 1 users",
    ),
    "a survey's page alone": (
        "potato.jsonl",
        [POTATO[0] | {"instance_id": "consent.html"}],
        "no case has a submitted answer yet",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_export_that_cannot_be_read_is_refused_with_the_place(how, tmp_path):
    name, content, problem = BROKEN[how]
    file = write(tmp_path, name, content)
    refused = invoke("data", "import", file, "--out", tmp_path / "mine", "--query", "text", "--vote", "verdict")

    assert refused.code == 2
    assert (problem in refused.err, str(file) in refused.err) == (True, True), refused.err


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("name", [name for name in EXPORTS if not name.endswith("sv")])
@given(data=st.data())
def test_an_export_that_was_changed_at_random_is_imported_or_refused(name, place, data):
    file = write(place, name, data.draw(mutated(EXPORTS[name])))
    try:
        assert import_cases(file, columns=CaseColumns(query="text", vote="verdict")).counts.items > 0
    except CasewiseError as error:
        refused = str(error)
    else:
        return
    assert refused


# Folders, and files of programs that people keep tables in.


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "arrow", "feather"])
def test_tables_of_programs_are_read_whatever_the_file_is_called(tmp_path, kind):
    path = tmp_path / "mine.txt"
    columns = {"id": [1, 2], "query": ["Who?", "When?"], "label": ["safe", "unsafe"], "note": [None, "x"]}
    if kind == "xlsx":
        pytest.importorskip("fastexcel")
        workbook(path, [list(columns), *map(list, zip(*columns.values(), strict=True))])
    elif kind == "parquet":
        pl.DataFrame(columns).write_parquet(path)
    elif kind == "arrow":
        pl.DataFrame(columns).write_ipc_stream(path)
    else:
        pl.DataFrame(columns).write_ipc(path)
    found = import_cases(path)

    assert [(item.source_id, found.votes[item.id].safe) for item in found.items] == [("1", 1), ("2", 0)]
