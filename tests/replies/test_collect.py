import json
import stat
from pathlib import Path
from typing import Any

import pytest

import casewise
from casewise.api import parse_arms
from casewise.api.replying import PlannedReplies, chat_model
from casewise.ask.prompts import chat_with
from casewise.errors import ConfigurationError, DataError, RunConflict, Unavailable
from casewise.judges.plan import Selection
from casewise.models.load import LoadedModel, ModelOptions
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel, Rejected, Reply
from casewise.records import FULL
from casewise.replies.behaviour import read_replies
from casewise.replies.collect import CollectOptions, chat_plan
from casewise.reports.published import replies_json
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import Limits

DEMO: Any = casewise.load("demo")
FEW = Selection(limit=6)


def collected(tmp_path, model, **more):
    return casewise.collect("demo", model, out=tmp_path / "replies", **more)


def test_the_query_stands_alone_in_the_users_turn_and_the_context_in_the_system_message(tmp_path):
    model = FakeModel("Here you are.")
    collected(tmp_path, model, selection=FEW)

    (system, user), _ = model.calls[0]
    item = DEMO.items[0]
    assert (system.role, user.role) == ("system", "user")
    assert user.content == DEMO.query[item.query_id].text
    assert "Recipient" in system.content
    assert "verified" not in system.content
    model = FakeModel("Here you are.")
    casewise.collect("demo", model, out=tmp_path / "in-user", selection=FEW, chat=chat_with(role="user"))
    (user,), _ = model.calls[0]
    assert "Recipient" in user.content
    assert user.content.endswith(DEMO.query[DEMO.items[0].query_id].text)


def test_the_deployers_own_prompt_holds_the_context_where_it_says(tmp_path):
    file = tmp_path / "system.txt"
    file.write_text("You work for the town library.\n\nWho asks:\n{context}\n\nBe brief.")
    model = FakeModel("Here you are.")
    collected(tmp_path, model, selection=FEW, chat=chat_with(system=file), arms="full none")

    systems = {messages[0].content for messages, _ in model.calls}
    assert all(text.startswith("You work for the town library.") and text.endswith("Be brief.") for text in systems)
    assert any("Nothing is known of the circumstances." in text for text in systems)


def test_a_deployers_prompt_has_a_place_for_the_context_and_says_itself_what_is_verified(tmp_path):
    file = tmp_path / "system.txt"
    file.write_text("You work for the town library.")

    with pytest.raises(DataError, match=r"does not hold \{context\}"):
        chat_with(system=file)
    with pytest.raises(ConfigurationError, match="says itself"):
        chat_with(system=file, verified=True)


def test_without_a_context_the_query_is_all_that_is_sent_and_sent_once_for_both_items_of_a_pair(tmp_path):
    model = FakeModel("Here you are.")
    found = collected(tmp_path, model, arms="none")

    assert len(model.calls) == 45
    assert all(len(messages) == 1 for messages, _ in model.calls)
    assert found.summary.n_usable == 90
    assert found.frame["shared_with"].is_not_null().sum() == 45


def test_the_same_call_again_asks_nothing_and_a_larger_plan_only_what_is_new(tmp_path):
    first, second, third = FakeModel("a"), FakeModel("a"), FakeModel("a")
    collected(tmp_path, first, selection=FEW)
    again = collected(tmp_path, second, selection=FEW)
    collected(tmp_path, third, selection=FEW, repeats=2)

    assert (len(first.calls), len(second.calls), len(third.calls)) == (6, 0, 6)
    assert again.summary.resumed == 6


def test_a_line_that_a_kill_tore_is_asked_again_and_stops_nothing(tmp_path):
    collected(tmp_path, FakeModel(), selection=Selection(sample=3))
    log = tmp_path / "replies" / "replies.jsonl"
    log.write_bytes(log.read_bytes()[:-40])

    again = collected(tmp_path, FakeModel(), selection=Selection(sample=3))

    assert again.summary.n_calls == 1
    assert len(read_replies(again.path)) == 3


def test_another_wording_or_temperature_is_another_run(tmp_path):
    collected(tmp_path, FakeModel("a"), selection=FEW)

    with pytest.raises(RunConflict, match="chat: it has"):
        collected(tmp_path, FakeModel("a"), selection=FEW, chat=chat_with(verified=True))
    with pytest.raises(RunConflict, match="temperature"):
        collected(tmp_path, FakeModel("a"), selection=FEW, options=CollectOptions(temperature=1.0))


def test_a_run_of_replies_is_no_judges_run(tmp_path):
    collected(tmp_path, FakeModel("a"), selection=FEW)

    with pytest.raises(RunConflict, match="holds a run of replies, not of judgements"):
        casewise.judge("demo", "constant:safe", out=tmp_path / "replies")


def test_a_providers_refusal_is_an_answer_and_a_failure_is_none(tmp_path):
    answers: Any = iter(
        [Rejected("content_filter", "blocked"), Rejected("bad_request", "too long"), Unavailable("gone")]
    )
    model = FakeModel(lambda _messages, _options: next(answers, "Here you are."))
    found = collected(tmp_path, model, selection=FEW, options=CollectOptions(limits=Limits(concurrency=1)))

    reasons = found.frame["unanswered"].to_list()
    assert reasons == ["content_filter", "bad_request", "unavailable", None, None, None]
    assert (found.summary.n_usable, found.summary.n_unusable) == (4, 2)
    (shown,) = replies_json(found.path, None)["replies"]
    assert (shown["replies"], shown["unanswered"], shown["why"]) == (4, 2, "bad_request, unavailable")


def test_half_a_character_in_a_reply_or_an_error_is_kept_as_its_escape(tmp_path):
    replies: Any = iter(["half \ud83d", Rejected("bad_request", "half \udc00"), *["whole \U0001f600"] * 4])
    found = collected(tmp_path, FakeModel(lambda _messages, _options: next(replies)), selection=FEW)

    assert {"half \\ud83d", "whole \U0001f600"} <= set(found.frame["text"])
    assert "half \\udc00" in set(found.frame["detail"])
    assert casewise.grade(found, "rubric:fake/rehearsal").n_usable == 5
    words: Any = iter(["answers", "\ud800", *["answers"] * 3])
    assert casewise.grade(found, lambda query, reply: next(words)).n_unusable in (1, 2)


def test_a_filter_that_cuts_the_reply_off_is_the_providers_refusal_too(tmp_path):
    found = collected(tmp_path, FakeModel(Reply("Here is", "content_filter")), selection=FEW)

    assert set(found.frame["unanswered"]) == {"content_filter"}
    assert found.frame["text"].null_count() == 6


def test_a_model_out_of_reach_is_asked_again_and_what_failed_otherwise_where_that_is_wanted(tmp_path):
    answers: Any = iter([Unavailable("gone"), Rejected("bad_request", "too long")])
    model = FakeModel(lambda _messages, _options: next(answers, "Here you are."))
    options = [CollectOptions(retries=n, limits=Limits(concurrency=1)) for n in (0, 0, 1)]
    unusable = [collected(tmp_path, model, selection=FEW, options=each).summary.n_unusable for each in options]

    assert (unusable, len(model.calls)) == ([2, 1, 0], 8)


def test_an_arm_that_cannot_be_shown_costs_no_call(tmp_path, monkeypatch):
    (tmp_path / "mine_for_replies.py").write_text("def change(shown, scene):\n    raise ValueError('not this one')\n")
    monkeypatch.chdir(tmp_path)
    model = FakeModel("a")
    found = collected(tmp_path, model, selection=FEW, arms="python:mine_for_replies:change")

    assert model.calls == []
    assert set(found.frame["unanswered"]) == {"not_shown"}
    assert "not this one" in found.frame["detail"][0]


def planned(model, arms=(FULL,)):
    demo = casewise.load("demo")
    return PlannedReplies(Path("unused"), demo, model, chat_plan(demo.items, arms))


def test_what_it_would_take_is_reckoned_without_a_call():
    model = FakeModel("a")
    found: Any = planned(LoadedModel(model, Prices(1.0, 1.0)), arms=parse_arms("full none")).estimate()

    assert found.n_calls == 90 + 45
    assert model.calls == []
    assert found.cost_at_most_usd > found.cost_usd > 0


def test_over_a_batch_interface_a_listed_model_is_reckoned_at_what_that_costs(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    live, over = (
        planned(chat_model("openai/gpt-4o-mini", ModelOptions(batch=batch is not None))).estimate()
        for batch in (None, BatchOptions())
    )

    assert live.cost_usd is not None
    assert over.cost_usd == pytest.approx(live.cost_usd / 2)


def test_a_rehearsal_says_in_every_reply_that_it_is_one(tmp_path):
    found = collected(tmp_path, "fake/rehearsal")

    assert found.frame["text"].str.contains("A rehearsal: no model wrote this").all()
    with pytest.raises(ConfigurationError, match="no rehearsal is called"):
        chat_model("fake/other")


def test_seeds_differ_between_repeats_and_the_log_keeps_each_text_with_its_digest(tmp_path):
    model = FakeModel("Here you are.")
    folder = collected(tmp_path, model, selection=Selection(limit=1), repeats=3, options=CollectOptions(seed=7)).path
    assert [options.seed for _, options in model.calls] == [7, 8, 9]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700, "only its owner may look into the folder"
    lines = [json.loads(line) for line in (folder / "replies.jsonl").read_text().splitlines()]

    assert len({line["text_digest"] for line in lines}) == 1
    assert lines[0]["text"] == "Here you are."
