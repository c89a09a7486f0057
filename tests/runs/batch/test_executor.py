"""Runs over a server that plays the batch interfaces."""

import json
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from tests.support.batched import KEYS, QUICK, SHAPES, STAYING, judged, lines_of, steps_of, taking_batches

from casewise import api
from casewise.errors import ConfigurationError, ModelError
from casewise.models.batches.terms import TERMS
from casewise.runs.run import run_spend
from casewise.storage.run_folder import JUDGEMENT_LOG


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in KEYS.values():
        monkeypatch.setenv(name, "sk-never-to-be-seen")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "run"


def verdicts(out):
    return {line["item_id"]: line["outcome"] for line in lines_of(out)}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_handed_over_is_collected_by_the_same_call_and_is_what_a_live_run_finds(out, tmp_path, shape):
    with taking_batches(looks=1) as server:
        first = judged(server, out, shape).summary
        second = judged(server, out, shape).summary
        third = judged(server, out, shape).summary
        live = judged(server, tmp_path / "live", batch=None)

    assert (first.n_pending, first.n_calls) == (90, 0)
    assert (second.n_pending, second.n_calls) == (90, 0)
    assert (third.n_pending, third.n_calls, third.n_judged) == (0, 90, 90)
    assert verdicts(out) == verdicts(live.path)
    assert len(server.batches) == 1
    assert set(server.paid.values()) == {1}
    assert steps_of(out) == [*["intended", "uploaded", "out"][:: 1 if shape == "openai" else 2], "ended"]
    assert "sk-never-to-be-seen" not in "".join(path.read_text() for path in out.rglob("*.json*"))


def test_what_expires_fails_or_is_missing_is_asked_again_and_counts_once(out):
    with taking_batches(
        fates=["expired", "failed:server_error", "cancelled"], missing=0.1, broken=0.1, twice=0.3
    ) as server:
        summary = judged(server, out, batch=replace(STAYING, tries=20)).summary

    assert (summary.n_judged, summary.n_pending, summary.n_calls) == (90, 0, 90)
    assert len({line["item_id"] for line in lines_of(out)}) == len(lines_of(out)) == 90
    assert set(server.paid.values()) == {1}
    assert len(server.batches) > 3
    assert any(job["n_late"] for job in api.batch_jobs([out], ended=True))


def test_a_request_that_no_batch_answers_is_unscored_and_asked_again_by_a_later_session(out):
    few = api.Selection(limit=20)
    with taking_batches(broken=1.0) as server:
        first = judged(server, out, batch=STAYING, selection=few).summary
        server.broken = 0.0
        second = judged(server, out, batch=STAYING, selection=few).summary

    assert (first.n_judged, first.n_unscored, first.stopped) == (0, 20, None)
    assert "3 batches ended without an answer" in next(iter(first.problems))
    assert (second.n_judged, second.n_unscored) == (20, 0)
    assert len(server.batches) == 4


def test_a_batch_that_no_listing_shows_yet_stays_out_until_it_may_be_taken_for_lost(out):
    patient = replace(QUICK, lost_after_s=300.0)
    with taking_batches(lost_answers=1, hidden=1) as server:
        first = judged(server, out, batch=patient).summary
        second = judged(server, out, batch=patient).summary

    assert (first.n_pending, second.n_judged) == (90, 90)
    assert len(server.batches) == 1


@pytest.mark.slow
def test_an_answer_that_comes_late_is_recorded_and_not_counted_and_its_cost_is(out):
    with taking_batches(lost_answers=1, hidden=2) as server:
        for _ in range(3):
            judged(server, out, prices=api.Prices(100.0, 100.0))

    late = [job["n_late"] for job in api.batch_jobs([out], ended=True)]
    assert len(lines_of(out)) == 90
    assert sorted(late) == [0, 90]
    assert run_spend(out, JUDGEMENT_LOG).cost_usd > 2 * sum(line["cost_usd"] for line in lines_of(out))


def test_429_ends_the_session_and_the_same_call_goes_on(out):
    with taking_batches(too_many=3) as server:
        first = judged(server, out).summary
        second = judged(server, out, batch=STAYING).summary

    assert first.n_pending == 0
    assert "429" in str(first.stopped)
    assert second.n_judged == 90
    assert len(server.batches) == 1


def test_after_a_full_queue_batches_are_half_as_large(out):
    with taking_batches(fates=["failed:token_limit_exceeded"]) as server:
        summary = judged(server, out, batch=STAYING).summary

    assert summary.n_judged == 90
    assert [len(batch.requests) for batch in server.batches] == [90, 45, 45]


def test_what_the_endpoint_does_not_take_is_learnt_from_its_refusals(out):
    def no_temperature(body):
        return "temperature is not supported with this model" if "temperature" in body else None

    with taking_batches(complain=no_temperature) as server:
        summary = judged(server, out, batch=STAYING).summary

    assert (summary.n_judged, summary.n_unscored) == (90, 0)
    assert len(server.batches) == 2


def test_a_limit_on_cost_is_kept_at_submission_over_all_that_is_out(out):
    prices = api.Prices(100.0, 100.0)
    with taking_batches(looks=2) as server:
        first = judged(server, out, prices=prices, limits=api.Limits(max_cost=2.0)).summary
        second = judged(server, out, prices=prices, limits=api.Limits(max_cost=2.0)).summary
        jobs = api.batch_jobs([out])

    assert first.stopped == second.stopped == "the cost limit of $2"
    assert 0 < first.n_pending == second.n_pending < 90
    assert len(server.batches) == 1
    assert 0 < jobs[0]["cost_at_most_usd"] <= 2.0


def test_results_without_tokens_count_as_what_was_set_aside_for_them(out):
    prices, limits = api.Prices(100.0, 100.0), api.Limits(max_cost=2.0)
    with taking_batches(counts=False) as server:
        for _ in range(4):
            summary = judged(server, out, prices=prices, limits=limits).summary

    lines = lines_of(out)
    jobs = api.batch_jobs([out], ended=True)
    assert len(server.batches) == 1
    assert 0 < len(lines) == len(server.paid) < 90
    assert sum(line["assumed_cost_usd"] for line in lines) == pytest.approx(jobs[0]["cost_at_most_usd"])
    assert (summary.stopped, summary.cost_usd) == ("the cost limit of $2", None)


@pytest.mark.parametrize("batch", [QUICK, None])
def test_a_batch_of_which_nobody_knows_what_it_took_stays_set_aside(out, batch):
    """It was lost, or the provider no longer has its results: its requests may have been billed."""
    prices, limits = api.Prices(100.0, 100.0), api.Limits(max_cost=2.0)
    with taking_batches(forgets=True) as server:
        judged(server, out, prices=prices, limits=limits)
        judged(server, out, prices=prices, limits=limits)
        again = judged(server, out, batch=batch, prices=prices, limits=limits).summary

    assert len(server.batches) == 1
    assert again.stopped == "the cost limit of $2"
    assert again.n_calls == 0


def test_runs_are_cut_into_batches_that_fit(out, monkeypatch):
    monkeypatch.setitem(TERMS, "openai", replace(TERMS["openai"], most_requests=40, most_bytes=60_000))
    with taking_batches() as server:
        summary = judged(server, out, batch=STAYING).summary

    assert summary.n_judged == 90
    assert all(len(batch.requests) <= 40 for batch in server.batches)
    assert all(len(content) <= 60_000 for content in server.files.values())


def test_a_judge_without_a_batch_interface_is_refused_before_anything_is_asked(out):
    with pytest.raises(ConfigurationError, match="linear cannot be used over a batch interface"):
        api.judge("demo", "linear", out=out, options=api.RunOptions(batch=QUICK))
    with pytest.raises(ConfigurationError, match="fireworks is not known to have a batch interface"):
        api.judge(
            "demo",
            "fireworks/tiny",
            out=out,
            options=api.RunOptions(batch=QUICK, live=api.LiveOptions(model=api.ModelOptions(needs_key=False))),
        )


def test_a_moderation_endpoint_is_asked_in_batches_too(out):
    with taking_batches() as server:
        live = api.LiveOptions(model=api.ModelOptions(server.address("openai")))
        run = api.judge("demo", "moderation:openai/mod", out=out, options=api.RunOptions(batch=STAYING, live=live))

    assert run.summary.n_judged == 90
    assert len(server.batches) == 1


def test_list_prices_are_less_by_the_discount():
    def cost(batch):
        live = api.LiveOptions(model=api.ModelOptions(needs_key=False))
        return (
            api.plan_run("demo", "openai/gpt-4o-mini", options=api.RunOptions(live=live, batch=batch))
            .estimate()
            .calls.cost_usd
        )

    assert cost(QUICK) == pytest.approx(cost(None) / 2)


VALUES = (True, 3, 3.5, "words", [1], {"code": "x", "message": [True]}, None)
ODD: dict[str, list[tuple[dict[str, Any], ...]]] = {
    "openai": [
        ({"response": value}, {"error": value}, {"response": {"status_code": value, "body": value}}) for value in VALUES
    ],
    "anthropic": [
        (
            {"result": value},
            {"result": {"type": "errored", "error": value}},
            {"result": {"type": "succeeded", "message": value}},
        )
        for value in VALUES
    ],
    "google": [({"error": value}, {"response": value}, {"response": {"candidates": value}}) for value in VALUES],
}
NAMED: dict[str, dict[str, Any]] = {
    "openai": {"custom_id": "NAME"},
    "anthropic": {"custom_id": "NAME"},
    "google": {"metadata": {"key": "NAME"}},
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", ODD)
def test_an_answer_of_an_odd_shape_costs_its_own_request_and_no_other(out, shape):
    odd = [line | NAMED[shape] for lines in ODD[shape] for line in lines]
    with taking_batches(odd=tuple(odd)) as server:
        judged(server, out, shape)
        first = judged(server, out, shape).summary
        last = judged(server, out, shape, batch=STAYING).summary

    assert first.n_calls >= 90 - len(odd)
    assert last.n_judged + last.n_unscored == 90
    assert last.n_judged >= 90 - len(odd)


@pytest.mark.parametrize("step", ["upload", "create", "listing", "look"])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_that_cannot_be_read_loses_nothing(out, shape, step):
    patient = replace(QUICK, lost_after_s=300.0)
    with taking_batches(astray=step, lost_answers=int(step == "listing")) as server:
        sessions = [judged(server, out, shape, batch=patient).summary for _ in range(2)]
        server.astray = ""
        last = judged(server, out, shape, batch=STAYING).summary

    assert last.n_judged == 90
    assert sum(summary.n_calls for summary in (*sessions, last)) == 90
    assert len(server.batches) == 1


def test_what_is_out_or_has_come_is_not_asked_for_by_a_live_session(out):
    first_items, more_items = api.Selection(limit=40), api.Selection(limit=60)
    with taking_batches(looks=1) as server:
        judged(server, out, selection=first_items)
        live = judged(server, out, batch=None).summary
        again = judged(server, out, batch=None, limits=api.Limits(max_tokens_total=10**7)).summary
        last = judged(server, out, batch=STAYING).summary
        (out / "judgements.jsonl").write_text("".join((out / "judgements.jsonl").read_text().splitlines(True)[:50]))
        torn = judged(server, out, batch=None, selection=more_items).summary

    assert (live.n_calls, live.n_pending) == (50, 40)
    assert (again.n_calls, again.n_pending) == (0, 40)
    assert (last.n_calls, last.n_judged) == (40, 90)
    assert torn.n_pending > 0
    assert torn.n_calls == 0
    assert set(server.paid.values()) == {1}


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_damaged_line_among_results_costs_its_own_request_and_a_damaged_file_none(out, shape):
    with taking_batches(damaged="all") as server:
        judged(server, out, shape)
        none = judged(server, out, shape).summary
        server.damaged = "one"
        most = judged(server, out, shape).summary
        server.damaged = ""
        last = judged(server, out, shape, batch=STAYING).summary

    assert (none.n_calls, most.n_calls, last.n_calls, last.n_judged) == (0, 89, 1, 90)


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_key_goes_to_no_other_host_than_it_is_for(out, shape, monkeypatch):
    monkeypatch.setenv(KEYS[shape], "sk-secret")
    with taking_batches() as server, taking_batches() as stranger:
        judged(server, out, shape)
        server.elsewhere = f"http://127.0.0.1:{stranger.port}"
        judged(server, out, shape)
        server.elsewhere = ""
        summary = judged(server, out, shape, batch=STAYING).summary

    assert "sk-secret" in str(server.headers)
    assert "sk-secret" not in str(stranger.headers)
    assert summary.n_judged == 90


def test_a_refusal_that_stops_the_run_does_so_once(out):
    def shut(body):
        return "You have insufficient credit" if "Explain" not in json.dumps(body) else None

    with taking_batches(complain=shut) as server:
        judged(server, out)
        with pytest.raises(ModelError, match="insufficient credit"):
            judged(server, out)
        server.complain = lambda _body: None
        summary = judged(server, out, batch=STAYING).summary

    assert summary.n_judged == 90


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("off_s", [-3600.0, 0.0, 3600.0])
def test_a_batch_that_was_accepted_without_an_answer_is_found_whatever_the_clocks_say(out, shape, off_s):
    with taking_batches(lost_answers=1, clock_off_s=off_s) as server:
        summary = judged(server, out, shape, batch=STAYING).summary

    assert summary.n_judged == 90
    assert len(server.batches) == 1


# A run over a batch interface makes its first call live, so that no batch comes back refused.

FIRST_LIVE = replace(STAYING, first_live=True)
REFUSED = "temperature is deprecated for this model."


def refuse(_request, body):
    if "temperature" in body:
        return web.json_response({"error": {"message": REFUSED}}, status=400)
    return None


def refusing():
    return taking_batches(refuse=refuse, complain=lambda body: REFUSED if "temperature" in body else None)


def test_what_a_model_refuses_is_learnt_by_one_live_call(tmp_path):
    with refusing() as server:
        run = judged(server, tmp_path / "run", batch=FIRST_LIVE)

        assert run.summary.n_judged == 90
        assert len(server.batches) == 1
        assert len(server.batches[0].requests) == 89
        assert all("temperature" not in body for body in server.batches[0].requests.values())
    assert any("takes no temperature" in note for note in run.summary.notes)


def test_a_later_session_knows_it_without_another_live_call(tmp_path):
    with refusing() as server:
        judged(server, tmp_path / "run", batch=FIRST_LIVE, selection=api.Selection(limit=10))
        n_before = len(server.bodies)
        run = judged(server, tmp_path / "run", batch=FIRST_LIVE, selection=api.Selection(limit=30))

        assert run.summary.n_judged == 30
        assert len(server.bodies) == n_before
        assert len(server.batches) == 2
        assert all("temperature" not in body for body in server.batches[1].requests.values())


def test_a_run_of_one_call_makes_no_batch(tmp_path):
    with refusing() as server:
        run = judged(server, tmp_path / "run", batch=FIRST_LIVE, selection=api.Selection(limit=1))
        assert (run.summary.n_judged, server.batches) == (1, [])


@pytest.mark.parametrize("shape", ["anthropic", "google"])
def test_it_is_so_for_every_interface(tmp_path, shape):
    with taking_batches() as server:
        run = judged(server, tmp_path / "run", shape, batch=FIRST_LIVE, selection=api.Selection(limit=10))
        assert run.summary.n_judged == len(lines_of(tmp_path / "run")) == 10
        assert len(server.batches[0].requests) == 9
