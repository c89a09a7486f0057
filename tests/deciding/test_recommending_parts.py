"""A recommendation by its parts: alternatives without a judge, what promises need, and who can be a candidate."""

from __future__ import annotations

import itertools
import shlex
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.worlds import CLEAR, World, always

import casewise
from casewise.deciding.recommending import (
    Alternative,
    Need,
    Recommendation,
    commands,
    compare_alternatives,
    deployable_series,
    needs,
)
from casewise.evaluate.judged_runs import read_runs
from casewise.stats.estimates import Estimate
from casewise.stats.labels import VOTES, LabelPolicy
from casewise.stats.thresholds import Evidence, Requirements, RiskPromise, Trial, fewest_queries, queries_at

N = 120


def trial_of(requirements, *, wrong=6):
    """A judge of 120 queries with an item each, half of them safe; it is wrong on so many of either kind."""
    safe = np.arange(N) % 2
    right = np.arange(N) >= 2 * wrong
    value = np.where(right == (safe == 1), 0.8, 0.2) + np.random.default_rng(1).permutation(N) / 10_000
    return Trial.from_evidence(Evidence(value, safe.astype(float), np.arange(N)), requirements, method="platt")


def alternatives(requirements, *, words=None, **options):
    """The alternatives, where a classifier of words gives these values; None where there is none."""
    subject = SimpleNamespace(why_no_baseline="too few" if words is None else None, words_read=np.full(N, True))
    reference: Any = SimpleNamespace(subject=subject, words=words)
    trial = trial_of(requirements, **options)
    judge: Any = SimpleNamespace(trial=trial, places=np.arange(N))
    return {
        alternative.name: alternative for alternative in compare_alternatives(judge, reference, requirements, seed=0)
    }, trial


def test_a_judge_is_compared_with_answering_and_refusing_everything():
    found, trial = alternatives(Requirements(ratio=3))

    assert list(found) == ["refusing everything", "answering everything"]
    assert found["refusing everything"].cost.estimate == pytest.approx(0.5)
    assert found["answering everything"].cost.estimate == pytest.approx(1.5)
    for alternative in found.values():
        assert alternative.saved.estimate == pytest.approx((alternative.cost.estimate or 0) - trial.cost.value)
        assert alternative.beaten
        assert alternative.more_queries is None


@pytest.mark.parametrize(
    ("requirements", "names"),
    [
        (Requirements(max_harm=0.3), ["refusing everything"]),
        (Requirements(max_over_refusal=0.3), ["answering everything"]),
        (Requirements(max_harm=0.3, max_over_refusal=0.3), ["asking a person about everything"]),
        (
            Requirements(ratio=1, ask_cost=0.1),
            ["refusing everything", "answering everything", "asking a person about everything"],
        ),
        (Requirements(max_harm=0.001), ["refusing everything", "answering everything"]),
    ],
)
def test_an_alternative_that_breaks_a_promise_that_the_judge_keeps_is_none(requirements, names):
    assert list(alternatives(requirements)[0]) == names


def test_words_are_compared_as_another_judge_would_be():
    safe = np.arange(N) % 2
    words, trial = alternatives(Requirements(ratio=1), words=safe * 0.6 + 0.2 + np.arange(N) / 10_000)

    alternative = words["words alone"]
    assert alternative.cost.estimate == pytest.approx(0, abs=0.01)
    assert alternative.saved.estimate == pytest.approx((alternative.cost.estimate or 0) - trial.cost.value)
    assert alternative.better
    assert alternative.more_queries is None


def test_words_that_tell_nothing_are_no_alternative():
    assert "words alone" not in alternatives(Requirements(ratio=1), words=np.full(N, np.nan))[0]


def test_a_saving_that_is_not_shown_needs_more_queries():
    found, _ = alternatives(Requirements(ratio=1), wrong=27)
    alternative = found["refusing everything"]

    assert (alternative.saved.estimate or 0) > 0
    assert not alternative.beaten
    assert alternative.more_queries is not None
    assert alternative.more_queries > 0


def limits(found, kind):
    return [need.promise.at_most for need in found if need.promise.kind == kind]


def test_promises_that_are_not_made_are_listed_from_the_loosest_to_the_strictest():
    requirements = Requirements(max_harm=0.3)
    found = list(needs(trial_of(requirements), requirements))

    assert limits(found, "harm") == [0.1, 0.05, 0.02, 0.01]
    assert limits(found, "over_refusal") == [0.1, 0.05, 0.02, 0.01]
    assert limits(needs(trial_of(requirements), Requirements(max_harm=0.05)), "harm") == [0.02, 0.01]


def test_a_promise_that_could_not_be_made_is_among_those_that_need_more():
    requirements = Requirements(max_harm=0.03)
    trial = trial_of(requirements)

    assert trial.broken is not None
    assert limits(needs(trial, requirements), "harm") == [0.1, 0.05, 0.03, 0.02, 0.01]


def test_a_need_says_the_rate_and_how_many_queries_carry_the_promise():
    requirements = Requirements(ratio=1)
    trial = trial_of(requirements)
    need = next(
        need for need in needs(trial, requirements) if need.promise == RiskPromise("harm", 0.1, requirements.level)
    )
    unsafe = trial.evidence.weight == 0

    assert need.rate == pytest.approx(np.mean(trial.decisions[unsafe] == 2))
    assert need.n_queries == N // 2
    assert need.fewest == fewest_queries(need.promise)
    assert need.at_this_rate == queries_at(need.promise, need.rate, whole=True)


@pytest.mark.parametrize(
    ("requirements", "level"),
    [
        (Requirements(ratio=1), 0.95),
        (Requirements(ratio=1, chosen_from=2), 0.975),
        (Requirements(max_harm=0.3, max_over_refusal=0.3, chosen_from=5), 0.995),
        (Requirements(ratio=1, level=None), None),
    ],
)
def test_a_promise_is_needed_at_the_level_that_all_together_and_the_choice_leave(requirements, level):
    (found,) = {need.promise.level for need in needs(trial_of(Requirements(ratio=1)), requirements)}

    assert found == (level if level is None else pytest.approx(level))


def test_an_error_that_no_item_can_show_needs_nothing():
    evidence = Evidence(np.arange(40) / 40, np.ones(40), np.arange(40))
    trial = Trial.from_evidence(evidence, Requirements(ratio=1), method="platt")

    assert {need.promise.kind for need in needs(trial, Requirements(ratio=1))} == {"over_refusal"}


@pytest.mark.parametrize(("at_this_rate", "more"), [(None, None), (250, 150), (100, 0), (90, 0)])
def test_the_queries_that_are_there_count(at_this_rate, more):
    need = Need(RiskPromise("harm", 0.05), 0.04, 100, 59, at_this_rate)

    assert need.more_queries == more
    assert need.as_json() == {
        "kind": "harm",
        "at_most": 0.05,
        "more_queries": more,
        "rate": 0.04,
        "n_queries": 100,
        "fewest": 59,
        "at_this_rate": at_this_rate,
    }


def silent_judge():
    calls = itertools.count()

    def silent(query, context):
        return None if next(calls) % 5 else 0.5

    return silent


def test_judges_that_no_decider_can_be_made_of_are_left_out_with_the_reason():
    runs = read_runs(
        [
            casewise.judge("demo", judge, elicitations=elicitations, repeats=repeats)
            for judge, elicitations, repeats in (
                ("constant:safe", "binary", 1),
                ("constant:intended", "binary", 1),
                ("fake/rehearsal", "binary", 2),
                (silent_judge(), "probability", 1),
            )
        ]
    )
    series, left_out = deployable_series(runs)
    reasons = {str(name).partition(" ")[0]: why for name, why in left_out.items()}

    assert [judged.run.manifest.judge_name for judged in series] == ["constant:safe"]
    assert (
        reasons["constant:intended"] == "it returns what a context's author meant, which is unknown for a new request"
    )
    assert reasons["fake/rehearsal"] == "it was asked 2 times, but a decider asks once: judge with --repeats 1"
    assert reasons["python:silent"].startswith("it gave no value on ")
    assert len(reasons) == 3


def recommended(requirements=Requirements(ratio=3), *, others=(), labels=VOTES, benchmark=None, arm="full"):
    """As much of a recommendation as its commands are made of; `others`: elicitation and arm of the run's other series."""
    run = SimpleNamespace(path="runs/my judge")
    best, *rest = (
        SimpleNamespace(run=run, elicitation=elicitation, arm=arm) for elicitation, arm in (("binary", arm), *others)
    )
    elsewhere = SimpleNamespace(run=SimpleNamespace(path="runs/other"), elicitation="score", arm="none")
    found: Any = SimpleNamespace(
        best=SimpleNamespace(series=best, labels=labels, decider=SimpleNamespace(requirements=requirements)),
        runs=SimpleNamespace(main_series=[best, *rest, elsewhere]),
        benchmark_given=benchmark,
    )
    return list(commands(found))


@pytest.mark.parametrize(
    ("options", "further"),
    [
        ({}, "--ratio 3"),
        ({"requirements": Requirements(max_harm=0.05, fail="ask")}, "--max-harm 0.05 --fail ask"),
        ({"requirements": Requirements(max_harm=0.05, level=None)}, "--max-harm 0.05 --on-average"),
        ({"others": [("score", "full")]}, "--elicit binary --ratio 3"),
        ({"others": [("score", "full")], "arm": "none"}, "--elicit binary --arm none --ratio 3"),
        ({"arm": "none"}, "--ratio 3"),
        ({"labels": LabelPolicy.parse("mean")}, "--ratio 3 --labels mean"),
        ({"benchmark": "my cases"}, "--ratio 3 --benchmark 'my cases'"),
    ],
)
def test_the_commands_repeat_every_choice_that_is_not_the_usual_one(options, further):
    assert recommended(**options) == [
        f"casewise decider fit 'runs/my judge' {further}",
        "casewise serve decider.json",
    ]
    assert shlex.split(recommended(**options)[0])[3] == "runs/my judge"


def recommendation(folder, requirements=Requirements(ratio=3), **judges):
    world = World("few", CLEAR * 30, judges)
    return Recommendation.from_runs([*world.runs(folder).values()], requirements, benchmark=world.benchmark)


def alternative(low):
    return Alternative(
        "words alone", Estimate("cost", 0.5, 0.4, 0.6, 30.0, 0, ""), Estimate("cost", 0.2, low, 0.4, 30.0, 0, ""), None
    )


RIGHT, WRONG = ("s", "u") * 30, ("u", "s") * 30


def test_a_judge_is_good_enough_where_it_keeps_its_promises_and_beats_every_alternative(tmp_path):
    found = recommendation(tmp_path, right=RIGHT, bold=always("s", 60))

    assert str(found.best.name) == "right (binary)"
    assert [
        replace(found, alternatives=compared).good_enough
        for compared in ((alternative(0.1),), (alternative(0.1), alternative(-0.1)))
    ] == [
        True,
        False,
    ]
    assert not found.shown_to_fail
    assert found.as_json()["requirements"]["promises_kept"]


def test_a_promise_that_cannot_be_made_makes_no_judge_good_enough(tmp_path):
    found = replace(
        recommendation(tmp_path, Requirements(max_harm=0.02), right=RIGHT), alternatives=(alternative(0.1),)
    )

    assert not found.good_enough
    assert not found.as_json()["requirements"]["promises_kept"]
    assert [(part.kind, part.holds) for part in found.conclusions] == [("better", True), ("promise", False)]


def test_judges_are_shown_to_fail_where_each_of_them_costs_more_than_something_without_a_judge(tmp_path):
    assert recommendation(tmp_path / "both", wrong=WRONG, bold=always("s", 60)).shown_to_fail
    assert not recommendation(tmp_path / "one", wrong=WRONG, right=RIGHT).shown_to_fail
