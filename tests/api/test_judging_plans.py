"""Planned runs: what is known before the first call, and several runs under one budget."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.support.demo import DEMO

from casewise import api
from casewise.api import judging
from casewise.api.judging import PlannedRun, make_judge
from casewise.errors import ConfigurationError, JudgeError
from casewise.judges.baselines import CallableJudge
from casewise.judges.judge import UserJudge
from casewise.judges.llm import LiveOptions, LLMJudge, SecondReader
from casewise.models.load import ModelOptions
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel
from casewise.records import FULL, NO_CONTEXT
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import Limits, RunObserver, run_sync
from casewise.runs.run import run_spend
from casewise.storage.run_folder import JUDGEMENT_LOG

TWO = api.RunOptions(selection=api.Selection(limit=2))


class Remote(FakeModel):
    """A model at an address of its own."""

    sends_to = "models.example"


def planned(judge: Any, **more: Any) -> PlannedRun:
    return api.plan_run(DEMO, judge, **{"options": TWO} | more)


def test_a_judge_is_made_of_a_name_a_function_or_any_object_that_answers():
    class Own:
        name = "own"

        async def answer(self, ask): ...

    scored = make_judge(lambda query, context: 0.5, DEMO, elicitations=("probability", "score"))
    own: Any = Own()
    ready = LLMJudge(FakeModel())

    assert make_judge("constant:safe", DEMO).name == "constant:safe"
    assert isinstance(scored, CallableJudge)
    assert scored.elicitations == ("probability",)
    assert isinstance(make_judge(own, DEMO), UserJudge)
    assert make_judge(ready, DEMO) is ready
    nothing: Any = 5
    with pytest.raises(JudgeError, match="5 is not a judge; give a judge's name, a function"):
        make_judge(nothing, DEMO)


def test_a_plan_has_a_name_and_calls_no_model():
    model = FakeModel(name="m")
    plan = planned(LLMJudge(model), elicitations="binary,score", arms="full none", repeats=3)

    assert plan.label == "m on demo"
    assert plan.estimate().n_asks == 2 * 2 * 2 * 3
    assert (plan.plan.elicitations, plan.plan.arms, len(plan.plan.items)) == (
        ("binary", "score"),
        (FULL, NO_CONTEXT),
        2,
    )
    assert plan.options.benchmark_source == "demo"
    assert not model.calls


def test_a_plan_keeps_the_source_of_its_benchmark_and_the_retries_that_are_given():
    options = replace(TWO, benchmark_source="elsewhere", retry_unscored=2)

    assert planned("constant:safe", options=options).options.benchmark_source == "elsewhere"
    assert planned("constant:safe", options=options).plan.retry_unscored == 2


@pytest.mark.slow
def test_a_run_without_a_folder_has_one_until_nothing_holds_it(tmp_path):
    temporary = planned("constant:safe").folder

    run = run_sync((held := planned("constant:safe")).perform())
    folder = held.folder
    del held
    gc.collect()
    assert not temporary.parent.exists()
    assert run.path == folder
    assert len(run.judgements) == 2
    assert planned("constant:safe", out=tmp_path / "kept").temporary is None


def test_the_receivers_of_texts_are_the_judge_the_makers_and_the_second_reader_each():
    reader = SecondReader(Remote(name="reader"), None)
    judge = LLMJudge(FakeModel(), reader=reader)

    assert planned(LLMJudge(FakeModel())).sends_to() == (None,)
    assert planned(LLMJudge(Remote())).sends_to() == ("models.example",)
    assert planned(judge).sends_to() == (None, "models.example")


def test_makers_of_texts_are_reached_as_the_judge_is():
    live = LiveOptions(model=ModelOptions(base_url="http://127.0.0.1:9/v1"))
    limits, watch = Limits(max_cost=1.0), RunObserver()
    options = replace(TWO, live=live, limits=limits, watch=watch, command="casewise judge")
    making = planned(LLMJudge(FakeModel(name="m")), options=options).making

    assert (making.model.base_url, making.asked, making.command) == ("http://127.0.0.1:9/v1", "m", "casewise judge")
    assert (making.limits, making.watch) == (limits, watch)
    assert planned("constant:safe").making.asked == ""


def test_an_address_replaces_that_of_the_options_and_is_refused_without_a_name():
    plan = planned("vllm/tiny", base_url="http://127.0.0.1:9/v1")

    assert plan.options.live.model.base_url == "http://127.0.0.1:9/v1"
    assert plan.judge.endpoint is not None
    assert plan.judge.endpoint.base_url == "http://127.0.0.1:9/v1"
    with pytest.raises(ConfigurationError, match="base_url is the address of a model that is given by its name"):
        planned(LLMJudge(FakeModel()), base_url="http://127.0.0.1:9/v1")


def test_a_protocol_sets_the_number_of_calls_itself(monkeypatch):
    monkeypatch.setattr(judging, "make_judge", lambda judge, *_, **__: LLMJudge(FakeModel(name=judge)))
    live = LiveOptions(protocol="published")
    plan = planned("m", options=replace(TWO, live=live))

    assert plan.plan.elicitations == ("binary", "score", "probability")
    assert plan.plan.repeats == {"binary": 1, "score": 3, "probability": 1}
    assert plan.plan.retry_unscored == 2
    for more in ({"repeats": 2}, {"options": replace(TWO, live=live, retry_unscored=1)}):
        with pytest.raises(ConfigurationError, match="sets the number of calls; leave repeats and retries out"):
            planned("m", **{"options": replace(TWO, live=live)} | more)


def test_a_protocol_leaves_elicitations_that_are_given_and_a_judge_that_asks_no_model_as_they_are(monkeypatch):
    options = replace(TWO, live=LiveOptions(protocol="published"))

    assert planned("constant:safe", options=options, repeats=2).plan.repeats == 2
    monkeypatch.setattr(judging, "make_judge", lambda judge, *_, **__: LLMJudge(FakeModel(name=judge)))
    assert planned("m", options=options, elicitations="score").plan.repeats == {"score": 3}


def test_a_batch_is_asked_of_a_judge_that_is_reached_for_batches(monkeypatch):
    reached = []

    def made(*_, live, **__):
        reached.append(live.model.batch)
        return LLMJudge(FakeModel())

    monkeypatch.setattr(judging, "make_judge", made)

    plans = [planned("m", options=replace(TWO, batch=batch)) for batch in (None, BatchOptions())]
    assert reached == [False, True]
    assert [plan.options.live.model.batch for plan in plans] == [False, False]


def test_a_judge_is_closed_after_its_run_unless_another_follows():
    class Closing(LLMJudge):
        closed = 0

        async def close(self):
            self.closed += 1

    judge = Closing(FakeModel())
    plan = planned(judge)

    first = run_sync(plan.perform(closing=False))
    assert (judge.closed, first.summary.n_judged, first.summary.n_items) == (0, 2, 2)
    assert run_sync(plan.perform()).summary.n_calls == 0
    assert judge.closed == 1


def test_the_notes_of_a_judge_stand_with_its_run():
    run = run_sync(planned(LLMJudge(FakeModel(), options=api.AskOptions(strict=True))).perform())

    assert run.summary.notes == ("Only the requested JSON of fake/rehearsal was read.",)
    assert repr(run) == "<Run on demo: 2 judged, 0 unscored>"


DEAR = Prices(1000.0, 1000.0)


def test_a_run_that_is_stopped_says_so_where_it_is_printed():
    options = replace(TWO, limits=Limits(max_cost=0.0))
    run = run_sync(planned(LLMJudge(FakeModel(), prices=DEAR), options=options).perform())

    assert repr(run).startswith("<Run on demo: 0 judged, 0 unscored, stopped: the cost limit of $0")


def test_two_runs_of_one_folder_are_refused(tmp_path):
    twice = [planned(name, out=tmp_path / "run") for name in ("constant:safe", "constant:unsafe")]

    with pytest.raises(ConfigurationError, match="share a folder: constant:safe on demo, constant:unsafe on demo"):
        api.judge_several(twice)


def test_each_of_several_runs_is_watched_and_one_that_is_stopped_is_the_last(tmp_path):
    judges = {name: LLMJudge(FakeModel(name=name), prices=DEAR) for name in "abc"}
    limits = {"a": None, "b": 0.0, "c": None}
    runs = [
        planned(judge, out=tmp_path / name, options=replace(TWO, limits=Limits(max_cost=limits[name])))
        for name, judge in judges.items()
    ]
    seen = set()

    @contextmanager
    def watch(run):
        yield RunObserver(progress=lambda _progress, total: seen.add((run.label, total)))

    done = api.judge_several(runs, watch=watch)

    assert [(run.summary.n_calls, bool(run.summary.stopped)) for run in done] == [(2, False), (0, True)]
    assert ("a on demo", 2) in seen
    assert "c on demo" not in {label for label, _ in seen}


def test_the_budget_is_one_for_all_and_what_was_spent_before_counts(tmp_path):
    def asked(dollars):
        limits = Limits(concurrency=1, max_cost=dollars)
        demo = api.load("demo")
        planned = [
            api.plan_run(
                demo,
                LLMJudge(FakeModel(name=name), prices=Prices(1000.0, 1000.0)),
                out=tmp_path / name,
                options=api.RunOptions(limits=limits),
            )
            for name in ("a", "b")
        ]
        return dict(zip(("a", "b"), api.judge_several(planned), strict=True))

    whole = asked(None)
    cost = {name: run_spend(tmp_path / name, JUDGEMENT_LOG).cost_usd for name in whole}
    assert cost["a"] > 0
    (tmp_path / "b" / "judgements.jsonl").unlink()

    again = asked(cost["a"] + cost["b"] / 2)
    assert again["a"].summary.n_calls == 0
    assert again["b"].summary.stopped
    assert run_spend(tmp_path / "b", JUDGEMENT_LOG).cost_usd <= cost["b"] / 2
