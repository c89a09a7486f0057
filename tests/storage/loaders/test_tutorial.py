"""The tutorial's loader, installed as its page says, gives a benchmark by name."""

import re
import shlex
from pathlib import Path

import pytest
from tests.support.command import invoke

import casewise

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "add-a-benchmark.md"


def block(kind):
    (found,) = re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return found


@pytest.fixture
def package(install):
    points = "[casewise.benchmarks]\nward = ward_cases:WARD\nbroken = ward_cases:VOTES\n"
    install("ward", points, ward_cases=block("python"))
    Path("ward.csv").write_text(block("csv"))


def test_the_tutorials_loader_is_short_and_its_commands_run(package):
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 32
    for line in block("console").splitlines():
        done = invoke(*shlex.split(line.removeprefix("$ casewise ")))
        assert done.code == 0, done.output

    found = casewise.load("ward")
    assert (found.counts.items, found.counts.ratings, len(found.annotators)) == (2, 4, 2)
    assert "Requests on a ward" in invoke("show", "ward").out


def test_a_file_in_another_shape_and_a_part_that_is_no_loader_are_refused(package):
    Path("ward.csv").write_text(block("csv").replace(",?", ",perhaps"))
    refused = invoke("data", "fetch", "ward", "--accept-terms", "--from", "ward.csv")
    assert refused.code == 2
    assert "ward.csv:5: 'answer' is 'perhaps', not one of yes, no, ?" in refused.err.replace("\\", "")
    assert "its type is dict, not Loader" in invoke("data", "fetch", "broken").err
    assert "cannot be loaded, see casewise show plugins" in invoke("data", "list").out
