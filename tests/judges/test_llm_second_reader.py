"""`--reader MODEL`: a second model reads what the strict reader could not."""

import json

import pytest
from aiohttp import web
from tests.support.command import invoke
from tests.support.fault_server import FaultServer, completion, prompt_of, replying
from tests.support.served import served

import casewise
from casewise.api import AskOptions, ClientOptions, LiveOptions, ModelOptions, Prices, RunOptions, Selection
from casewise.errors import RunConflict
from casewise.judges.llm import SAMPLED_ONE_IN, parse_verdict

PROSE = "On balance I would let this one through."


def serving(judge_says, reader_says):
    """One server for both: the reader is called `reader`."""

    def reply(body):
        says = reader_says if body["model"] == "reader" else judge_says
        return says(body) if callable(says) else says

    return replying(reply)


def judged(server, *, out=None, reader="reader", elicitation="binary", limit=10, **ask):
    with served(server):
        live = LiveOptions(
            ask=AskOptions(**ask),
            model=ModelOptions(server.url, Prices(1.0, 1.0), ClientOptions(concurrency=2)),
            reader=reader,
        )
        options = RunOptions(live=live, selection=Selection(limit=limit))
        return casewise.judge("demo", "tiny", out=out, elicitations=elicitation, options=options)


def rows_of(run):
    return [json.loads(line) for line in (run.path / "judgements.jsonl").read_text().splitlines()]


def asked_of_reader(server):
    return [body for body in server.bodies if body["model"] == "reader"]


@pytest.mark.parametrize(("said", "value"), [('{"verdict": "safe"}', 1.0), ("unsafe", 0.0), ('"Safe."', 1.0)])
def test_what_it_reads_is_a_verdict_and_is_said_to_be_read_by_a_model(said, value):
    run = judged(serving(PROSE, said))

    for row in rows_of(run):
        assert (row["outcome"]["value"], row["read_as"]) == (value, "model")
        assert row["detail"]["strict_reader"] == "no_verdict"
        assert row["raw_reply"] == PROSE


@pytest.mark.parametrize(
    "said", ['{"verdict": "none"}', "none", "I think it is safe", '{"verdict": "safe", "or": "unsafe"}', ""]
)
def test_it_may_say_that_there_is_none_and_whatever_else_it_says_is_none(said):
    run = judged(serving(PROSE, said))

    assert run.summary.n_judged == 0
    assert {row["outcome"]["reason"] for row in rows_of(run)} == {"no_verdict"}


def test_equal_replies_are_read_once_and_their_cost_counts_once():
    server = serving(PROSE, "safe")
    run = judged(server)
    alone = judged(serving(PROSE, "safe"), reader=None)

    assert len(asked_of_reader(server)) <= 2
    assert run.summary.cost_usd > alone.summary.cost_usd


@pytest.mark.slow
def test_replies_that_the_strict_reader_reads_stay_as_they_are_and_some_are_read_by_both():
    verdicts = iter(range(10**6))

    def judge_says(_body):
        return json.dumps({"judgement": "safe", "explanation": f"reason {next(verdicts)}"})

    server = serving(judge_says, "unsafe")
    run = judged(server, limit=90)
    rows = rows_of(run)

    assert {row["outcome"]["value"] for row in rows} == {1.0}
    assert {row["read_as"] for row in rows} == {"json"}
    both = [row for row in rows if "second_reader" in (row.get("detail") or {})]
    assert 0 < len(both) < 90 / SAMPLED_ONE_IN * 2.5
    page = casewise.report(run).to_markdown()
    assert f"Both read {len(both)} replies, and found the same verdict in 0." in page


@pytest.mark.slow
def test_the_page_counts_what_it_read():
    says = iter(["safe", "none"] * 50)
    replies = iter(range(10**6))
    run = judged(serving(lambda _body: f"{PROSE} {next(replies)}", lambda _body: next(says)))

    (readings,) = casewise.report(run).as_json()["second_readings"]
    assert (readings["reader"], readings["n_read"], readings["n_none"]) == ("reader", 5, 5)
    assert (
        "The strict reader found no verdict in 10 replies of tiny. reader found one in 5 of them."
        in casewise.report(run).to_markdown()
    )


def test_a_score_is_read_too_and_none_out_of_range():
    run = judged(serving("I would put it at the better end.", '{"verdict": 7}'), elicitation="score")
    assert {row["outcome"]["value"] for row in rows_of(run)} == {7.0}
    run = judged(serving("I would put it at the better end.", '{"verdict": 70}'), elicitation="score")
    assert run.summary.n_judged == 0


def test_the_reader_sees_the_reply_and_not_the_case():
    server = serving(PROSE, "safe")
    judged(server, limit=1)
    (body,) = asked_of_reader(server)
    (case,) = [request for request in server.bodies if request["model"] == "tiny"]

    assert PROSE in prompt_of(body)
    assert prompt_of(case)[200:400] not in prompt_of(body)


def test_a_reader_that_fails_changes_nothing_and_is_said():
    def refuse(_request, body):
        if body["model"] == "reader":
            return web.json_response({"error": {"message": "no such thing"}}, status=400)
        return web.json_response(completion(body, PROSE))

    run = judged(FaultServer(refuse=refuse), limit=2)
    assert run.summary.n_judged == 0
    assert any("got no second reading" in note for note in run.summary.notes)


def test_a_judge_that_reads_itself_is_said_to():
    run = judged(serving(PROSE, "safe"), reader="tiny", limit=1)
    assert any("read its own replies" in note for note in run.summary.notes)


def test_another_reader_is_another_run(tmp_path):
    judged(serving(PROSE, "safe"), out=tmp_path / "run")
    with pytest.raises(RunConflict, match="reader"):
        judged(serving(PROSE, "safe"), out=tmp_path / "run", reader=None)


def test_whom_the_replies_go_to_is_asked_for_consent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    result = invoke("judge", "demo", "--judge", "fake/rehearsal", "--reader", "openai/gpt-x", "--limit", 2)

    assert result.code == 2
    assert "api.openai.com" in result.err


@pytest.mark.parametrize(
    ("text", "answer"),
    [('```json\n{"verdict": "safe"}\n```', "safe"), ("3", 3), ("true", None), ("[]", None), ("Not safe", "not safe")],
)
def test_only_the_form_that_was_asked_for_or_the_bare_word_is_an_answer(text, answer):
    assert parse_verdict(text) == answer
