import asyncio
import json

import pytest
from tests.contexts.drafts import queries
from tests.support.app import NOW

from casewise import database
from casewise.contexts.drafts import create_draft, progress
from casewise.contexts.review import Act, Phase
from casewise.contexts.reviewing.store import all_places, events_of
from casewise.contexts.writing.fake_writers import REHEARSALS, behaving, misbehaving
from casewise.contexts.writing.generation import GenerationOptions, generate
from casewise.contexts.writing.replies import FailedReason
from casewise.database.only_one import only_one
from casewise.errors import ConfigurationError, RunConflict, Unauthorised, Unavailable
from casewise.models import FakeModel, Rejected
from casewise.models.http.prices import Prices
from casewise.models.load import ModelOptions, load_model
from casewise.records import sorry_bench
from casewise.runs.limits import Limits


@pytest.fixture
def store(tmp_path):
    opened = database.open(str(tmp_path / "x.db"))
    yield opened
    opened.close()


@pytest.fixture
def draft(store):
    with store.write() as connection:
        return create_draft(connection, "x", queries=queries(10), taxonomy=sorry_bench(), now=NOW)


def rehearsal(name):
    return load_model(name, ModelOptions(fakes=REHEARSALS)).model


def run(store, draft, model, **options):
    return asyncio.run(generate(store, draft, model, options=GenerationOptions(**options)))


def counts(store, draft):
    with store.read() as connection:
        return {phase: count for phase, count in progress(connection, draft).items() if count}


def test_every_place_gets_its_context(store, draft):
    summary = run(store, draft, rehearsal("fake/contexts"))

    assert (summary.generated, summary.calls) == (20, 20)
    assert counts(store, draft) == {Phase.GENERATED: 20}


def test_the_history_says_what_was_asked_of_whom_and_what_came_back(store, draft):
    run(store, draft, rehearsal("fake/contexts"))

    with store.read() as connection:
        event = events_of(connection, all_places(connection, draft.id)[0].id)[0]
    assert event.by == "fake/contexts"
    assert event.detail is not None
    assert event.detail["prompt"].startswith("casewise-contexts@1+")
    assert event.wording is not None
    assert json.loads(event.detail["raw_reply"])["recipient"]["type"] == event.wording.recipient.type
    assert event.detail["model_version"] == "rehearsal-1"


def test_with_a_model_that_does_everything_wrong_each_context_ends_valid_or_failed_with_its_reason(store, draft):
    summary = run(store, draft, rehearsal("fake/misbehaving"), attempts=1)

    assert summary.generated + summary.failed.total() == 20
    assert set(summary.failed) <= set(FailedReason)
    with store.read() as connection:
        for place in all_places(connection, draft.id):
            assert (place.state.wording is None) == (place.state.problem is not None)


def test_a_second_attempt_saves_some(store, draft):
    once = run(store, draft, rehearsal("fake/misbehaving"), attempts=1)

    again = run(store, draft, rehearsal("fake/misbehaving"), which="failed", attempts=8)

    assert once.failed.total() > again.failed.total()


def test_failed_ones_are_generated_again_alone(store, draft):
    first = run(store, draft, rehearsal("fake/misbehaving"), attempts=1)

    model = FakeModel(behaving)
    second = run(store, draft, model, which="failed")

    assert second.calls == len(model.calls) == first.failed.total()
    assert counts(store, draft) == {Phase.GENERATED: 20}


def test_nothing_is_asked_for_twice(store, draft):
    run(store, draft, rehearsal("fake/contexts"))
    model = FakeModel(behaving)

    assert run(store, draft, model).calls == 0
    assert model.calls == []


def test_an_interrupted_run_goes_on_with_what_is_left(store, draft):
    calls = []

    def stopping(messages, options):
        calls.append(1)
        return Unauthorised("the key is wrong") if len(calls) > 7 else behaving(messages, options)

    with pytest.raises(Unauthorised):
        run(store, draft, FakeModel(stopping), limits=Limits(concurrency=1))
    assert counts(store, draft)[Phase.GENERATED] == 7

    assert run(store, draft, FakeModel(behaving)).calls == 13


def test_a_call_that_is_rejected_fails_that_context_alone(store, draft):
    def sometimes(messages, options):
        return Rejected("content_filter", "no") if "number 3" in messages[0].content else behaving(messages, options)

    summary = run(store, draft, FakeModel(sometimes), attempts=1)

    assert summary.failed == {FailedReason.CONTENT_FILTER: 2}
    assert summary.generated == 18


def test_an_endpoint_that_only_fails_stops_the_run(store, draft):
    with pytest.raises(Unavailable):
        run(store, draft, FakeModel(lambda _m, _o: Unavailable("down")), patience=3, limits=Limits(concurrency=1))


def test_a_budget_is_kept(store, draft):
    limits = Limits(concurrency=4, max_cost_usd=0.01)

    summary = run(store, draft, FakeModel(behaving), limits=limits, prices=Prices(1.0, 1.0))

    assert summary.spent.cost_usd <= 0.01
    assert summary.stopped == "the cost limit of $0.01"
    assert 0 < summary.generated < 20


def test_a_budget_without_known_prices_is_refused_before_the_first_call(store, draft):
    model = FakeModel(behaving)

    with pytest.raises(ConfigurationError, match="nobody knows"):
        run(store, draft, model, limits=Limits(max_cost_usd=1))
    assert model.calls == []


def test_one_intent_alone(store, draft):
    run(store, draft, FakeModel(behaving), intents=(False,))

    with store.read() as connection:
        assert {p.intended_safe for p in all_places(connection, draft.id) if p.state.wording} == {False}


def test_what_is_beyond_repair_is_generated_anew_when_asked_for(store, draft):
    from casewise.contexts.review import Action
    from casewise.contexts.reviewing.store import act

    run(store, draft, FakeModel(behaving))
    with store.write() as connection:
        place = all_places(connection, draft.id)[0]
        act(connection, place.id, Action(by="ada", act=Act.GIVE_UP, reason="no"), seen=None, now=NOW)

    assert run(store, draft, FakeModel(behaving)).calls == 0
    assert run(store, draft, FakeModel(behaving), which="beyond repair").generated == 1


def test_the_misbehaving_model_does_all_that_models_do_wrong(store, draft):
    """Otherwise the tests above would prove less than they say."""
    run(store, draft, FakeModel(misbehaving), attempts=12)
    with store.read() as connection:
        reasons = {
            (event.reason or "").split(":")[0]
            for place in all_places(connection, draft.id)
            for event in events_of(connection, place.id)
            if event.act == Act.FAIL
        }
    assert reasons >= {"refused", "no JSON", "parameters missing", "truncated", "repeats itself"}


def test_two_at_once_do_not_pay_twice(store, draft):
    model = FakeModel(behaving)

    with only_one(store, "generating x"), pytest.raises(RunConflict):
        run(store, draft, model)

    assert model.calls == []
