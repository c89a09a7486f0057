from __future__ import annotations

import json
import math
import tomllib
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

    with pytest.raises(ChecksumMismatch, match="is not what was fitted"):
        read_decider(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("format_version = 3\n", "format 3, and this casewise reads up to format 2"),
        ("name = 1\n", "no format_version"),
        ("= nonsense", "is no decider"),
        ("{nonsense", "is no decider"),
    ],
)
def test_a_file_of_another_version_or_kind_says_so(tmp_path, text, problem):
    (tmp_path / "other.toml").write_text(text)

    with pytest.raises(DataError, match=problem):
        read_decider(tmp_path / "other.toml")


def test_a_file_of_format_1_is_read_with_the_same_numbers():
    """Written by casewise before the fitted object was the file."""
    path = Path(__file__).parent / "decider_of_format_1.toml"
    said = tomllib.loads(path.read_text())
    file, found = read_decider(path)

    assert found == said["hash"]
    assert (file.thresholds.answer_above, file.thresholds.refuse_up_to) == (0.36865000000000003, 0.3613)
    assert (file.wanted.ratio, file.wanted.fail, file.wanted.level, file.wanted.max_harm) == (2.0, "refuse", None, 0.3)
    assert [(one.promise.kind, one.promise.at_most, one.promise.level) for one in file.thresholds.promised] == [
        ("harm", 0.3, None),
        ("over_refusal", 0.3, None),
    ]
    assert file.measured.harm.picked() == {
        "estimate": said["measured"]["harm"]["estimate"],
        "ci_low": said["measured"]["harm"]["low"],
        "ci_high": said["measured"]["harm"]["high"],
    }
    assert file.measured_where_fitted.harm.estimate == said["measured"]["harm"]["fitted"]
    between = (0.5 - 0.4238) / (0.5808 - 0.4238)  # of two knots of the curve
    at_half = 0.3488372093023256 + between * (0.9444444444444444 - 0.3488372093023256)
    assert file.calibration.curve.at(0.5) == pytest.approx(at_half)
    assert file.measured_on.always == tuple(said["measured_on"]["always"])
    assert file.judge.as_json() == said["judge"]


def test_thresholds_without_an_end_are_plain_json(path, tmp_path):
    file, _ = read_decider(path)
    never = file.model_copy(update={"thresholds": replace(file.thresholds, answer_above=math.inf)})
    write_decider(tmp_path / "never.json", never)

    assert "Infinity" in json.dumps(json.loads((tmp_path / "never.json").read_text(), parse_constant=pytest.fail))
    assert read_decider(tmp_path / "never.json")[0] == never
