from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.support.deciders import decider_file

from casewise.deciding.decider_file import read_decider, toml_lines, write_decider
from casewise.errors import ChecksumMismatch, DataError


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return decider_file(tmp_path)


def test_what_is_written_is_read_back(path, tmp_path):
    file, found = read_decider(path)

    assert write_decider(tmp_path / "again.toml", file) == found
    assert (tmp_path / "again.toml").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [("answer_above = ", "answer_above = 1"), ("# A decider", "#  A decider"), ('hash = "', 'hash = "0')],
)
def test_a_file_that_was_changed_is_refused(path, old, new):
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(ChecksumMismatch, match="is not what was fitted"):
        read_decider(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("format_version = 2\n", "format 2, and this casewise reads format 1"),
        ("name = 1\n", "no format_version"),
        ("= nonsense", "is no TOML"),
    ],
)
def test_a_file_of_another_version_or_kind_says_so(tmp_path, text, problem):
    (tmp_path / "other.toml").write_text(text)

    with pytest.raises(DataError, match=problem):
        read_decider(tmp_path / "other.toml")


def test_any_table_is_written_as_toml_that_says_the_same():
    table = {
        "text": 'quotes " and \\ and\nlines and \x7f and 🙂',
        "numbers": [1, 2.5, float("inf")],
        "true": True,
        "odd key": {"inner": {"deep": [1]}, "also": "x"},
        "tables": [{"a": 1}, {"a": 2, "b": {"c": "d"}}],
    }

    assert tomllib.loads("\n".join(toml_lines({**table, "nothing": None}))) == table
