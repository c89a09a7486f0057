from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.deciders import decider_file

from casewise.deciding.decider_file import read_decider, write_decider
from casewise.errors import ChecksumMismatch, DataError


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return decider_file(tmp_path)


def test_what_is_written_is_read_back(path, tmp_path):
    file, found = read_decider(path)

    assert write_decider(tmp_path / "again.json", file) == found
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [('"answer_above": ', '"answer_above": 1'), ("{\n", "{ \n"), ('"hash": "', '"hash": "0')],
)
def test_a_file_that_was_changed_is_refused(path, old, new):
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(ChecksumMismatch, match="was changed after fitting"):
        read_decider(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"format_version": 3}', "format 3, but this casewise reads format 2"),
        ('{"format_version": 1}', "fit it again"),
        ('{"name": 1}', "no format_version"),
        ("[1]", "no format_version"),
        ("= nonsense", "is not a decider file"),
        ("{nonsense", "is not a decider file"),
        ('hash = "bb"\nformat_version = 1\n', "format 1; casewise decider fit RUN writes one that"),
    ],
)
def test_a_file_of_another_version_or_kind_says_so(tmp_path, text, problem):
    (tmp_path / "other.json").write_text(text)

    with pytest.raises(DataError, match=problem):
        read_decider(tmp_path / "other.json")


def test_thresholds_without_an_end_are_plain_json(path, tmp_path):
    file, _ = read_decider(path)
    never = file.model_copy(update={"thresholds": replace(file.thresholds, answer_above=math.inf)})
    write_decider(tmp_path / "never.json", never)

    assert "Infinity" in json.dumps(json.loads((tmp_path / "never.json").read_text(), parse_constant=pytest.fail))
    assert read_decider(tmp_path / "never.json")[0] == never
