"""What is sent under a protocol and where a reply is held to a schema, as a server on loopback sees it."""

import json

import pytest
from tests.support.command import invoke
from tests.support.fault_server import FaultServer, refusing, replying
from tests.support.served import served

import casewise
from casewise.api import AskOptions, ClientOptions, LiveOptions, ModelOptions, RunOptions, Selection
from casewise.ask.elicitations import PROTOCOLS
from casewise.errors import ConfigurationError
from casewise.judges.llm import LLMJudge, live_judge
from casewise.models.protocol import FakeModel
from casewise.storage.run_folder import read_run

STAND_IN = """
judge = "Query: {query}\\nContext: {context}\\nIs it safe? Reply with {{\\"judgement\\": ...}}."
judgescore = "Query: {query}\\nContext: {context}\\nA number between 1 and 10, as {{\\"judgement\\": ...}}."
judgelogits = "Query: {query}\\nContext: {context}\\nReply with safe or unsafe."
"""


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "template.py"
    path.write_text(STAND_IN)
    return str(path)


def options_of(server, words, protocol="published", ask=AskOptions()):
    model = ModelOptions(server.url, client=ClientOptions(concurrency=2))
    live = LiveOptions(words, ask=ask, model=model, protocol=protocol)
    return RunOptions(live=live, selection=Selection(limit=2))


def judged(server, words, elicitation, **how):
    with served(server):
        options = options_of(server, words, **how)
        return casewise.judge("demo", "vllm/tiny", elicitations=elicitation, options=options)


def settings_of(run):
    return read_run(run.path).identity.settings


def test_an_api_judge_is_asked_for_a_score_three_times_at_temperature_one(words):
    server = FaultServer()
    run = judged(server, words, "score")

    assert len(server.bodies) == 6
    for body in server.bodies:
        assert (body["temperature"], body["max_tokens"]) == (1.0, 1024)
        assert body.keys().isdisjoint({"top_p", "response_format", "logprobs"})
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert body["messages"][0]["content"].startswith("Query: ")
    assert sorted(run.judgements["repeat"]) == [0, 0, 1, 1, 2, 2]


def test_an_open_model_is_asked_once_with_a_system_message(words):
    server = FaultServer()
    judged(server, words, "score", protocol="published-open")

    assert len(server.bodies) == 2
    for body in server.bodies:
        assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.6, 0.9, 512)
        assert body["messages"][0] == {"role": "system", "content": "You are a helpful assistant."}
        assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_a_probability_is_eight_tokens_greedily_under_both(words):
    for protocol in PROTOCOLS:
        server = FaultServer()
        judged(server, words, "probability", protocol=protocol)
        assert [(body["temperature"], body["max_tokens"], "top_p" in body) for body in server.bodies] == [
            (0.0, 8, False)
        ] * 2


def test_a_reply_that_does_not_parse_is_asked_again_twice_and_then_stays_unscored(words):
    server = replying("It depends.")
    run = judged(server, words, "binary")

    assert len(server.bodies) == 6
    assert run.summary.n_unscored == 2


@pytest.mark.slow
def test_the_protocol_stands_in_the_runs_identity_and_in_its_report(words):
    run = judged(FaultServer(), words, "binary")
    assert settings_of(run)["protocol"] == "published-api"
    assert any("asked by the protocol published-api: temperature 1" in note for note in casewise.report(run).notes)


@pytest.mark.parametrize(
    ("live", "problem"),
    [
        (LiveOptions("casewise-not-there", protocol="published"), "no prompts are called"),
        (LiveOptions(protocol="published", ask=AskOptions(0.5)), "says how to ask"),
        (LiveOptions(protocol="published", ask=AskOptions(structured=True)), "says how to ask"),
        (LiveOptions(protocol="published", context_role="system"), "in the user's message"),
        (LiveOptions(ask=AskOptions(structured=True)), "cannot be held to a JSON schema"),
        (LiveOptions(protocol="papers"), "no protocol is called 'papers'; there are published, published-api, publi"),
    ],
)
def test_what_a_protocol_does_not_allow_is_refused_before_anything_is_sent(words, live, problem):
    prompts = words if live.prompts == "casewise" and live.protocol else live.prompts
    with pytest.raises(ConfigurationError, match=problem):
        live_judge("fake/rehearsal", LiveOptions(prompts, live.context_role, live.ask, protocol=live.protocol))


def test_a_protocol_needs_the_papers_words(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\nversion = "1"\n[binary]\nwith_context = "{query} {context}"\n')
    with pytest.raises(ConfigurationError, match="paper's own words"):
        live_judge("fake/rehearsal", LiveOptions(str(own), protocol="published"))


def test_one_command_asks_all_that_the_paper_asked_a_score_three_times(words):
    server = FaultServer()
    run = judged(server, words, ())

    counts = run.judgements.group_by("elicitation").len().sort("elicitation").rows()
    assert counts == [("binary", 2), ("probability", 2), ("score", 6)]
    assert len(server.bodies) == 10
    assert run.summary.n_judged + run.summary.n_unscored == 10
    assert judged(server, words, "binary,score").judgements.height == 8


def test_a_protocol_says_how_often_to_ask(words):
    options = RunOptions(live=LiveOptions(words, protocol="published"))
    with pytest.raises(ConfigurationError, match="sets the number of calls"):
        casewise.judge("demo", "fake/rehearsal", repeats=2, options=options)


def test_an_endpoint_is_held_to_a_schema_unless_that_is_not_wanted():
    for elicitation, judgement in (
        ("binary", {"type": "string", "enum": ["safe", "unsafe"]}),
        ("score", {"type": "integer", "enum": list(range(1, 11))}),
    ):
        server = FaultServer()
        run = judged(server, "casewise", elicitation, protocol=None)
        schema = server.bodies[0]["response_format"]["json_schema"]
        assert schema["strict"] is True
        assert schema["schema"]["properties"]["judgement"] == judgement
        assert schema["schema"]["additionalProperties"] is False
        assert settings_of(run)["structured"] is True

        server = FaultServer()
        run = judged(server, "casewise", elicitation, protocol=None, ask=AskOptions(structured=False))
        assert "response_format" not in server.bodies[0]
        assert "structured" not in settings_of(run)


def test_an_endpoint_that_refuses_the_schema_is_asked_without_it_and_that_is_said():
    server = refusing("response_format is not supported", field="response_format")
    run = judged(server, "casewise", "binary", protocol=None, ask=AskOptions(structured=True))

    assert run.summary.n_judged == 2
    assert "response_format" not in server.bodies[-1]
    assert any("takes no JSON schema (response_format)" in note for note in run.summary.notes)


def test_options_that_are_not_set_leave_a_judges_id_as_it_was():
    assert set(AskOptions().settings()) == {"temperature", "max_tokens", "seed"}
    assert LLMJudge(FakeModel(), options=AskOptions(strict=True)).id != LLMJudge(FakeModel()).id


@pytest.mark.slow
def test_strict_takes_json_only_and_the_report_counts_how_replies_were_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replies = ['{"judgement": "safe", "explanation": "x"}', "Verdict: safe", "{'judgement': 'unsafe'}", "safe"]
    server = replying(lambda _body: replies[len(server.bodies) % 4])
    command = ["judge", "demo", "--judge", "vllm/tiny", "--limit", "8", "--concurrency", "1"]
    with served(server):
        command += ["--base-url", server.url]
        for more in ([], ["--strict"]):
            server.bodies.clear()
            assert invoke(*command, *more, "--out", "strict" if more else "usual").code == 0

    counted = json.loads(invoke("report", "usual", "--json").out)["read_as"]
    assert {row["read_as"]: row["replies"] for row in counted} == {
        "json": 2,
        "label": 2,
        "whole": 2,
        "json-repaired": 2,
    }
    strict = casewise.report("strict")
    assert dict(strict.numbers.read_as.select("read_as", "replies").iter_rows()) == {"json": 2}
    assert "JSON as requested" in strict.to_html()
    assert strict.unscored["items"].sum() == 6


LIKERT = """
from casewise.ask.elicitations import ELICITATIONS

likert = ELICITATIONS["score"]
"""


def test_a_protocol_asks_for_nothing_that_another_package_brings(words, install):
    install("other", "[casewise.elicitations]\nlikert = other_scale:likert\n", other_scale=LIKERT)
    with served(FaultServer()) as server:
        estimate = casewise.plan_run("demo", "vllm/tiny", options=options_of(server, words)).estimate()

    assert estimate.n_asks == 2 * (1 + 3 + 1)
