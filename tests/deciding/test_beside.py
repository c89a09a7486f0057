from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.support.deciders import judged_demo
from typer.testing import CliRunner

import casewise
from casewise.api.deciding import Wanted, beside_each_other, fit_decider
from casewise.cli.app import app
from casewise.deciding.fitting import rated_items
from casewise.errors import BenchmarkError, ConfigurationError
from casewise.judges.judge import Answer, LocalJudge
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
    assert found.found.together is not None
    cheap, *_, dear = [one for one in found.found.together.ways if one.ratio == 5]
    assert cheap.usd_per_1000 is None or cheap.usd_per_1000 == 0
    assert dear.measurement.cost is not None
    assert cheap.measurement.cost is not None
    assert dear.measurement.cost < cheap.measurement.cost


def test_a_cascade_costs_what_its_ends_cost_where_nothing_and_everything_is_sent_on(runs):
    pair = beside_each_other(runs / "fake", runs / "run", ratios=(1, 9), n_resamples=100).found.together

    assert pair is not None
    assert list(pair.costs) == [1, 9]
    for ratio, curve in pair.costs.items():
        alone = [one for one in pair.ways if one.ratio == ratio and one.sent_on in (0, 1)]
        for end, one in ((0, alone[0]), (-1, alone[-1])):
            assert one.measurement.cost is not None
            assert curve.value[end] == pytest.approx(one.measurement.cost / (1 + ratio))
        assert (curve.low <= curve.value + 1e-6).all()


def test_a_stricter_promise_refuses_more_and_one_that_the_queries_cannot_carry_is_left_out(runs):
    (one,) = beside_each_other(runs / "run", n_resamples=100).found.contenders
    curve = one.promises

    assert curve.at_most
    assert min(curve.at_most) > 0.02  # 45 queries cannot carry 2 %: that takes 149
    assert (np.diff(curve.over_refusal.value) <= 1e-9).all()
    assert (np.diff(curve.not_answered.value) <= 1e-9).all()
    for at_most, refused in zip(curve.at_most, curve.over_refusal.value, strict=True):
        fitted = fit_decider(runs / "run", Wanted(max_harm=at_most)).found.file
        assert fitted.measured.over_refusal.fitted == pytest.approx(refused, abs=1e-6)


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
    held = found["(middle class)"].split
    assert held.inside == pytest.approx(sum(middle) / len(middle))
    assert held.elsewhere == pytest.approx((sum(split) - sum(middle)) / (90 - len(middle)))
    assert held.inside is not None
    assert held.elsewhere is not None
    assert held.low is not None
    assert held.high is not None
    assert held.low < held.inside - held.elsewhere < held.high


def test_an_item_turns_where_most_people_say_otherwise_of_another_context_of_its_query():
    votes = [(1, 5), (4, 5), (4, 5), (5, 5), (2, 4), (5, 5), (0, 5)]
    table = pl.DataFrame(
        {
            "item_id": list("abcdefg"),
            "query_id": ["turns", "turns", "stays", "stays", "tied", "tied", "alone"],
            "n_safe": [safe for safe, _ in votes],
            "n_votes": [of for _, of in votes],
        }
    )

    assert rated_items(table)["turns"].to_list() == [True, True, False, False, None, None, None]


def test_what_the_weights_of_a_model_that_runs_here_take_is_kept_with_the_run_and_shown(tmp_path):
    here = ThreeClasses()
    here.weights_bytes = 3 * 2**30
    found = beside_each_other(casewise.judge("demo", here, out=tmp_path / "here"), n_resamples=100)

    assert found.found.contenders[0].calls["weights_gib"] == 3
    assert "weights GiB" in found.to_markdown()
