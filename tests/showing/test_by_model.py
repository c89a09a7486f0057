"""Models that stand before a judge: asked once a text, within the run's limits, and looked up when an item is shown."""

import json

import pytest
from tests.support.lied_to import DEMO, Gullible

from casewise import api
from casewise.errors import ConfigurationError
from casewise.models.fake import FakeModel
from casewise.models.http.prices import Prices
from casewise.models.load import LoadedModel
from casewise.runs.limits import Limits
from casewise.runs.made_texts import made_in
from casewise.showing import made_before
from casewise.showing.by_model import rehearsed
from casewise.storage.runs.run_folder import MADE_BEFORE

FILTER, DETECT, ASK = "filter:fake/rehearsal", "detect:fake/rehearsal", "detect-ask:fake/rehearsal"
USER = "claim:authority/user/safe"
PARAMETER = "claim:authority/parameter/safe"


def robust(defences, attacks=PARAMETER, noise="none", **more):
    return api.robustness(api.attack(DEMO, Gullible(), attacks=attacks, defences=defences, noise=noise, **more))


def test_a_filter_takes_out_of_parameters_what_a_gullible_judge_believes_and_leaves_the_query():
    found = robust(f"none,{FILTER}", attacks=f"{PARAMETER},{USER}")
    turned = {(row.setting.attack, row.setting.defence): row.turned.estimate for row in found.rows}
    assert turned == {(PARAMETER, "none"): 1.0, (PARAMETER, FILTER): 0.0, (USER, "none"): 1.0, (USER, FILTER): 1.0}


def test_what_a_detector_finds_is_refused_or_asked_about_and_its_false_alarms_are_shown():
    found = robust(f"none,{DETECT},{ASK}", attacks=USER)
    rows = {row.setting.defence: row for row in found.rows}
    assert (rows["none"].turned.estimate, rows[DETECT].turned.estimate) == (1.0, 0.0)
    assert rows[ASK].silenced.estimate == 1.0
    assert [(one.shown, one.share.estimate) for one in found.held_back] == [("as they are", 0.0), ("attacked", 1.0)] * 2
    assert "false alarms" in found.to_markdown()


def test_a_judge_that_reads_nothing_is_seen_to_be_that_behind_a_detector_too():
    found = api.robustness(
        api.attack(DEMO, "linear", attacks=f"{USER},claim:authority/user/unsafe", defences=f"none,{DETECT}")
    )
    assert any(row.turned.estimate for row in found.rows)
    assert found.unmoved
    assert "No verdict moved in any arm, but by detectors that hold items back" in found.to_markdown()


def test_a_detector_that_cries_wolf_is_seen_to(monkeypatch):
    wolf = FakeModel(lambda messages, options: '{"attack": true}')
    monkeypatch.setattr("casewise.showing.by_model.load_model", lambda name, options: LoadedModel(wolf, Prices(0, 0)))
    found = robust(DETECT, attacks=USER)
    assert {one.share.estimate for one in found.held_back} == {1.0}


def test_each_text_is_asked_about_once_and_kept_when_the_run_is_gone_on_with(tmp_path, monkeypatch):
    models = []

    def loaded(name, options):
        models.append(FakeModel(rehearsed))
        return LoadedModel(models[-1], Prices(0, 0))

    monkeypatch.setattr("casewise.showing.by_model.load_model", loaded)
    chain = {"noise": "paraphrase:m", "attacks": "paraphrase:m", "defences": "none,filter:m", "out": tmp_path / "run"}
    run = api.attack(DEMO, Gullible(), **chain)
    assert run.summary.stopped is None
    asked = [messages[0].content for model in models for messages, _ in model.calls]
    assert len(asked) == len(set(asked)) == len(made_in(tmp_path / "run"))
    assert any("In other words" in text for text in asked)
    api.attack(DEMO, Gullible(), **chain)
    assert sum(len(model.calls) for model in models) == len(asked)


def test_a_limit_holds_for_all_models_together_and_nothing_is_judged_before_all_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "casewise.showing.by_model.load_model",
        lambda name, options: LoadedModel(FakeModel(rehearsed), Prices(1.0, 1.0)),
    )
    options = api.RunOptions(limits=Limits(max_cost_usd=0.01))
    arms = api.arms_under_attack(DEMO, USER, defences=DETECT, noise="none")
    estimate = api.estimate(DEMO, "constant:safe", arms=arms)
    assert (estimate.before[DETECT].cost_usd or 0) > 0.01
    run = api.judge(DEMO, "constant:safe", arms=arms, out=tmp_path / "run", options=options)
    assert "the cost limit of $0.01" in str(run.summary.stopped)
    assert run.summary.n_usable == 0
    assert made_in(tmp_path / "run")


def test_a_reply_that_makes_nothing_leaves_the_item_unscored_with_the_reason(monkeypatch):
    silent = FakeModel("I would rather not.")
    monkeypatch.setattr("casewise.showing.by_model.load_model", lambda name, options: LoadedModel(silent, Prices(0, 0)))
    run = api.attack(DEMO, Gullible(), attacks=USER, defences=FILTER, noise="none")
    assert any("no JSON object" in problem for problem in run.summary.problems)


def test_whoever_is_sent_texts_besides_the_judge_is_named(monkeypatch):
    elsewhere = FakeModel("x")
    elsewhere.sends_to = "filters.example"
    monkeypatch.setattr("casewise.showing.by_model.load_model", lambda name, options: LoadedModel(elsewhere, None))
    arms = api.arms_under_attack(DEMO, USER, defences=FILTER, noise="none")
    assert api.others_asked(arms, api.ModelOptions()) == ("filters.example",)


def test_an_address_and_prices_are_of_the_model_that_is_judged_and_of_names_that_say_no_provider(monkeypatch):
    given = {}

    def loaded(name, options):
        given[name] = (options.base_url, options.prices)
        return LoadedModel(FakeModel("x"), None)

    monkeypatch.setattr("casewise.showing.by_model.load_model", loaded)
    own = api.ModelOptions(base_url="http://127.0.0.1:1/v1", prices=Prices(1.0, 2.0))
    arms = api.arms_under_attack(DEMO, USER, defences="filter:openai/a,filter:b,filter:openai/c", noise="none")
    made_before.makers_of(arms, made_before.MakingOptions(own, asked="openai/c"))
    assert given["openai/a"] == (None, None)
    assert given["b"] == given["openai/c"] == (own.base_url, own.prices)


def test_replies_are_guarded_too(tmp_path):
    arms = api.arms_under_attack(DEMO, USER, defences=f"{DETECT},{ASK}", noise="none")
    replies = api.collect(DEMO, "fake/rehearsal", out=tmp_path / "replies", arms=arms)
    api.grade(replies, "words")
    found = api.robustness(tmp_path / "replies")
    assert {(one.shown, one.share.estimate) for one in found.held_back} == {("as they are", 0.0), ("attacked", 1.0)}
    assert (tmp_path / "replies" / MADE_BEFORE).is_dir()
    log = [json.loads(line) for line in (tmp_path / "replies" / "replies.jsonl").read_text().splitlines()]
    assert {one.get("unanswered") for one in log} == {None, "content_filter", "asked_about"}


@pytest.mark.parametrize("defence", ["filter:", "detect"])
def test_a_model_has_to_be_named(defence):
    with pytest.raises(ConfigurationError, match="no defence is called"):
        api.arms_under_attack(DEMO, USER, defences=defence)
