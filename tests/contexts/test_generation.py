import asyncio
import json
from dataclasses import replace

import pytest
from tests.contexts.drafts import queries
from tests.support.app import NOW
from tests.support.databases import new_database

from casewise import database
from casewise.contexts.drafts import create_draft, progress
from casewise.contexts.generation import (
    REHEARSALS,
    GenerationOptions,
    faulty_reply,
    generate,
    well_formed_reply,
)
from casewise.contexts.review import Act, Phase, ReviewAction
from casewise.contexts.store import act, all_places, events_of
from casewise.database.engine import job_lock
from casewise.errors import RunConflict, Unauthorised
from casewise.models.load import ModelOptions, load_model
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel, Rejected, Usage
from casewise.records import sorry_bench
from casewise.runs.limits import Limits, RunObserver


@pytest.fixture
def store(request, tmp_path):
    """A database file, or where a test is for both a PostgreSQL server."""
    if getattr(request, "param", "sqlite") == "postgresql":
        opened = database.open(request.getfixturevalue("postgres_url"))
    else:
        opened = new_database(tmp_path / "x.db")
    yield opened
    opened.close()


on_both = pytest.mark.parametrize(
    "store", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)


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


def test_every_place_gets_its_context_once_and_its_history_says_what_was_asked_of_whom_and_when(store, draft):
    summary = run(store, draft, rehearsal("fake/contexts"))
    idle = FakeModel(well_formed_reply)

    assert (summary.n_usable, summary.n_calls) == (20, 20)
    assert counts(store, draft) == {Phase.GENERATED: 20}
    assert (run(store, draft, idle).n_calls, idle.calls) == (0, [])
    with store.read() as connection:
        event = events_of(connection, all_places(connection, draft.id)[0].id)[0]
    assert event.by == "fake/contexts"
    assert event.detail is not None
    assert event.detail["prompt"].startswith("casewise-contexts@1+")
    assert event.wording is not None
    said = json.loads(event.detail["raw_reply"])["recipient"]["type"]
    assert said == event.wording.fields()["recipient.type"]
    assert event.detail["model_version"] == "rehearsal-1"
    assert set(event.detail["session"]) == {"started", "versions"}
    assert "casewise" in event.detail["session"]["versions"]
    assert event.detail["attempt"] == 1


def test_with_a_model_that_does_everything_wrong_each_context_ends_valid_or_failed_with_its_reason(store, draft):
    summary = run(store, draft, rehearsal("fake/misbehaving"), attempts=1)

    assert summary.n_usable + summary.failed.total() == 20
    with store.read() as connection:
        for place in all_places(connection, draft.id):
            assert (place.state.wording is None) == (place.state.problem is not None)


def test_failed_ones_are_generated_again_alone(store, draft):
    first = run(store, draft, rehearsal("fake/misbehaving"), attempts=1)

    model = FakeModel(well_formed_reply)
    second = run(store, draft, model, which="failed")

    assert second.n_calls == len(model.calls) == first.failed.total()
    assert counts(store, draft) == {Phase.GENERATED: 20}


def test_an_interrupted_run_goes_on_with_what_is_left(store, draft):
    calls = []

    def stopping(messages, options):
        calls.append(1)
        return Unauthorised("the key is wrong") if len(calls) > 7 else well_formed_reply(messages, options)

    with pytest.raises(Unauthorised):
        run(store, draft, FakeModel(stopping), limits=Limits(concurrency=1))
    assert counts(store, draft)[Phase.GENERATED] == 7

    assert run(store, draft, FakeModel(well_formed_reply)).n_calls == 13


def test_a_call_that_is_rejected_fails_that_context_alone(store, draft):
    def sometimes(messages, options):
        return (
            Rejected("content_filter", "no")
            if "number 3" in messages[0].content
            else well_formed_reply(messages, options)
        )

    summary = run(store, draft, FakeModel(sometimes), attempts=1)

    assert summary.failed == {"content filter": 2}
    assert summary.n_usable == 18


def test_one_intent_alone(store, draft):
    run(store, draft, FakeModel(well_formed_reply), intents="unsafe")

    with store.read() as connection:
        assert {p.intended_safe for p in all_places(connection, draft.id) if p.state.wording} == {False}


def test_what_is_beyond_repair_is_generated_anew_when_asked_for(store, draft):
    run(store, draft, FakeModel(well_formed_reply))
    with store.write() as connection:
        place = all_places(connection, draft.id)[0]
        act(connection, place.id, ReviewAction(by="ada", act=Act.GIVE_UP, reason="no"), seen=None, now=NOW)

    assert run(store, draft, FakeModel(well_formed_reply)).n_calls == 0
    assert run(store, draft, FakeModel(well_formed_reply), which="beyond repair").n_usable == 1


def test_the_misbehaving_model_does_all_that_models_do_wrong(store, draft):
    """Otherwise the tests above would prove less than they say."""
    run(store, draft, FakeModel(faulty_reply), attempts=12)
    with store.read() as connection:
        reasons = {
            (event.reason or "").split(":")[0]
            for place in all_places(connection, draft.id)
            for event in events_of(connection, place.id)
            if event.act == Act.FAIL
        }
    assert reasons >= {"refused", "no JSON", "parameters missing", "truncated", "repeats itself"}


def test_two_at_once_do_not_pay_twice(store, draft):
    model = FakeModel(well_formed_reply)

    with job_lock(store, "generating x"), pytest.raises(RunConflict):
        run(store, draft, model)

    assert model.calls == []


def priced(messages, options):
    return replace(well_formed_reply(messages, options), usage=Usage(300, 100))


@on_both
def test_a_limit_counts_all_that_was_ever_generated_for_the_draft(store, draft):
    """At 1,000 dollars a million tokens a reply costs 0.4, and may cost more than 1.5."""
    limits = Limits(concurrency=1, max_cost=4.0)
    prices = Prices(1000.0, 1000.0)
    first = run(store, draft, FakeModel(priced), limits=limits, prices=prices)
    second = run(store, draft, FakeModel(priced), limits=limits, prices=prices)

    assert first.stopped == second.stopped == "the cost limit of $4"
    assert first.n_calls > 0
    assert second.n_calls == 0


def test_a_limit_on_tokens_counts_earlier_sessions_too(store, draft):
    first = run(store, draft, FakeModel(priced), limits=Limits(concurrency=1, max_tokens_total=4000))
    second = run(store, draft, FakeModel(priced), limits=Limits(concurrency=1, max_tokens_total=5000))

    assert first.stopped == "the limit of 4,000 tokens"
    assert (first.n_calls + second.n_calls) * 400 <= 5000
    assert second.n_calls > 0


def test_a_stop_lets_what_is_in_flight_finish_and_the_same_call_goes_on(store, draft):
    watch = RunObserver()
    watch.progress = lambda progress, _total: watch.stop.ask("interrupted") if progress.n_done == 3 else None
    options = GenerationOptions(limits=Limits(concurrency=1))
    first = asyncio.run(generate(store, draft, FakeModel(well_formed_reply), options=options, watch=watch))
    second = run(store, draft, FakeModel(well_formed_reply))

    assert (first.n_usable, first.stopped) == (3, "interrupted")
    assert (second.n_usable, second.stopped) == (17, None)
