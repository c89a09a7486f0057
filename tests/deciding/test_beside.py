from __future__ import annotations

import json

import pytest
from tests.support.deciders import judged_demo
from typer.testing import CliRunner

import casewise
from casewise.api.deciding import beside_each_other
from casewise.cli.app import app
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.judging.judge import Answer, LocalJudge
from casewise.records import Elicitation, Scored


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged_demo(tmp_path)
    casewise.judge("demo", "fake/rehearsal", elicitations="score", out=tmp_path / "fake")
    return tmp_path


def test_judges_are_laid_beside_each_other_and_beside_people(runs):
    found = beside_each_other(runs / "fake", runs / "run", n_resamples=200)
    page = found.to_markdown()

    poor, good = (one.curve.harm.mean() for one in found.found.contenders)
    assert good < poor - 0.1
    assert "majority of 3" in page
    assert "on the doubtful" in page
    assert "SYNTHETIC" in page
    cheap, *_, dear = found.found.together
    assert cheap.usd_per_1000 is None or cheap.usd_per_1000 == 0
    assert dear.measurement.cost is not None
    assert cheap.measurement.cost is not None
    assert dear.measurement.cost < cheap.measurement.cost


def test_the_command_prints_numbers(runs):
    said = CliRunner().invoke(
        app, ["decider", "beside", str(runs / "run"), "--ratios", "2,9", "--resamples", "100", "--json"]
    )

    (judge,) = json.loads(said.stdout)["judges"]
    assert judge["harm"][0] >= judge["harm"][-1]
    assert all(low <= high for low, high in zip(judge["low"], judge["high"], strict=True))


def test_judges_of_other_items_are_not_laid_beside_each_other(runs, tmp_path):
    from casewise.api import RunOptions, Selection

    casewise.judge("demo", "constant:safe", out=tmp_path / "few", options=RunOptions(selection=Selection(limit=20)))

    with pytest.raises(BenchmarkError, match="not asked the same items"):
        beside_each_other(runs / "run", tmp_path / "few")
    with pytest.raises(ConfigurationError, match="ratios above 0"):
        beside_each_other(runs / "run", ratios=(0,))


class ThreeClasses(LocalJudge):
    """A judge of three classes: controversial where the query is long, and unsafe with a category where it asks for a joke."""

    id = name = "three"
    elicitations: tuple[Elicitation, ...] = ("scalar",)

    async def answer(self, ask):
        text = ask.shown.query
        value = 0.5 if len(text) > 100 else 1.0 if len(text) % 2 else 0.0
        return Answer(Scored(value=value), categories=("Odd",) if value == 0 else ())


def test_a_middle_class_and_categories_are_held_against_how_people_split(tmp_path):
    run = casewise.judge("demo", ThreeClasses(), out=tmp_path / "three")
    found = {one.category: one for one in beside_each_other(run, n_resamples=100).found.categories}
    demo = casewise.load("demo")
    rates, long = [], []
    for item in demo.items:
        votes = demo.votes[item.id]
        rates.append(votes.safe / votes.total)
        long.append(len(demo.query[item.query_id].text) > 100)
    split = [0.3 <= rate <= 0.7 for rate in rates]
    middle = [one for one, is_long in zip(split, long, strict=True) if is_long]

    assert set(found) == {"Odd", "(middle class)"}
    assert found["(middle class)"].n == len(middle)
    assert found["(middle class)"].split == pytest.approx(sum(middle) / len(middle))
    assert found["(middle class)"].split_elsewhere == pytest.approx((sum(split) - sum(middle)) / (90 - len(middle)))
