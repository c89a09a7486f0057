"""The file of a decider: what is written is read back, and anything else is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from casewise.deciding.decider_file import FittedOn, MeasuredOn, hash_text, read_decider
from casewise.errors import ChecksumMismatch, DataError


def test_the_hash_stands_in_the_first_line_of_the_file_and_is_that_of_the_rest(path):
    first, rest = path.read_text().removeprefix("{\n").split("\n", 1)
    _, found = read_decider(path)

    assert first == f'  "hash": "{found}",'
    assert found == hash_text(f"{{\n{rest}") == hash_text(path.read_text())
    assert len(found) == 32


def test_a_second_line_with_a_hash_is_part_of_what_is_hashed():
    line = '  "hash": "0f",\n'

    assert hash_text(f"{{\n{line}}}") == hash_text("{\n}")
    assert hash_text(f"{{\n{line}{line}}}") != hash_text("{\n}")


def test_a_field_that_no_decider_has_is_named(path):
    text = path.read_text().replace('"refuse_unmeasured": false', '"refuse_unmeasured": 3')
    first, rest = text.removeprefix("{\n").split("\n", 1)
    path.write_text("{\n" + first.replace(first.split('"')[3], hash_text(f"{{\n{rest}")) + "\n" + rest)

    with pytest.raises(DataError, match="refuse_unmeasured"):
        read_decider(path)


@pytest.mark.parametrize(("source", "words"), [(None, "votes"), ("as stated", "as stated")])
def test_labels_are_named_by_whose_they_are_or_else_by_their_policy(source, words):
    fitted_on = FittedOn(name="b", digest="d", labels="votes", label_source=source, n_items=1, n_queries=1)

    assert fitted_on.label_words == words


def test_what_some_context_stated_includes_what_each_did():
    assert MeasuredOn(always=("a.b",), sometimes=("c.d",)).stated == {"a.b", "c.d"}


def test_what_is_written_is_read_back(path, tmp_path):
    file, found = read_decider(path)

    assert file.save(tmp_path / "again.json") == found
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"), [('"answer_above": ', '"answer_above": 1'), ("{\n", "{ \n"), ('"hash": "', '"hash": "0')]
)
def test_a_file_that_was_changed_is_refused(path, old, new):
    path.write_text(path.read_text().replace(old, new, 1))

    with pytest.raises(ChecksumMismatch, match="was changed after fitting"):
        read_decider(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"format_version": 3}', "format 3, but this casewise reads format 1"),
        ('{"format_version": 0}', "fit it again"),
        ('{"name": 1}', "no format_version"),
        ("[1]", "no format_version"),
        ("= nonsense", "is not a decider file"),
        ("{nonsense", "is not a decider file"),
    ],
)
def test_a_file_of_another_version_or_kind_says_so(tmp_path, text, problem):
    (tmp_path / "other.json").write_text(text)

    with pytest.raises(DataError, match=problem):
        read_decider(tmp_path / "other.json")


def test_thresholds_without_an_end_are_plain_json(path, tmp_path):
    file, _ = read_decider(path)
    never = file.model_copy(update={"thresholds": replace(file.thresholds, answer_above=math.inf)})
    never.save(tmp_path / "never.json")

    assert "Infinity" in json.dumps(json.loads((tmp_path / "never.json").read_text(), parse_constant=pytest.fail))
    assert read_decider(tmp_path / "never.json")[0] == never
