"""The service: its two forms, what it refuses, and what it does when its model is down, slow or odd."""

from __future__ import annotations

import asyncio
import io
import json
import re
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from pydantic import JsonValue
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance
from tests.support.deciders import decider_file, known_backgrounds, mostly_right

from casewise import load
from casewise.api.deciding import Decider, DecisionRequest, Requirements
from casewise.deciding.monitor import ServiceOptions, read_traffic
from casewise.errors import ConfigurationError
from casewise.web.deciding import create_service

KEY = "a-key-of-the-tests-that-is-long"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decider")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return Decider.load(decider_file(folder, Requirements(ratio=1)))


@pytest.fixture
def decider(fitted):
    """Answers what the judge of the tests knows to be safe, refuses what it knows to be unsafe, asks about the rest."""
    limits = replace(fitted.file.thresholds, answer_above=0.574, refuse_up_to=0.426)
    return Decider(fitted.file.model_copy(update={"thresholds": limits}), fitted.judge, file_hash=fitted.hash)


def context_of(value: float) -> dict[str, dict[str, str]]:
    """A context of the demo of which the judge of the tests thinks so."""
    return {"recipient": {"background": next(text for text, said in known_backgrounds().items() if said == value)}}


def client(decider, **options) -> TestClient:
    return TestClient(create_service(decider, ServiceOptions(**options)), raise_server_exceptions=False)


def test_a_query_in_its_context_is_decided(decider):
    out = client(decider).post("/v1/decide", json={"query": "What now?", "context": context_of(0.7)}).json()

    assert out["decision"] == out["decided"] == decider.decide("What now?", context_of(0.7)).decision == "answer"
    assert out["decider"] == decider.hash
    assert "does not state" in out["unmeasured"][0]
    assert out["measured"]["harm"]["ci_high"] > 0


def test_a_chat_is_decided(decider):
    chat = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "What now?"},
    ]
    out = client(decider).post("/v1/decide", json={"messages": chat, "context": context_of(0.3)}).json()

    assert out["decision"] == "refuse"
    assert "earlier turns" in out["unmeasured"][1]


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/v1/decide", {"query": "What now?", "context": "A nurse asks.", "category": "x"}),
        ("/v1/calls", {"caller": "an agent", "tool": "send", "arguments": {"to": "a nurse"}, "purpose": None}),
        ("/v1/moderations", {"input": ["What now?", "Why?"]}),
    ],
)
def test_the_route_answers_a_valid_request_as_fastapi_does(decider, route, body):
    own, general = (
        client(decider).post(route, content=json.dumps(body | {"id": "a"}), headers={"Content-Type": kind})
        for kind in ("application/json", "application/json; charset=utf-8")
    )

    assert own.status_code == 200
    assert own.headers["content-type"] == general.headers["content-type"]
    assert re.sub(r'"latency_s":[^,}]+', "", own.text) == re.sub(r'"latency_s":[^,}]+', "", general.text)


@pytest.mark.slow
@pytest.mark.inspect
def test_the_official_client_asks_for_a_moderation(decider):
    openai = pytest.importorskip("openai", reason="comes with the extra [inspect]")
    with client(decider, keys=None) as http:
        official = openai.OpenAI(api_key="unused", base_url="http://testserver/v1", http_client=http)
        said = official.moderations.create(input=["What now?", "What then?"], extra_body={"context": context_of(0.3)})
        scored = 1 - http.post("/v1/decide", json={"query": "What now?", "context": context_of(0.3)}).json()["p_safe"]
        fine = official.moderations.create(input="What now?", extra_body={"context": context_of(0.7)})

    assert [one.flagged for one in said.results] == [True, True]
    assert fine.results[0].flagged is False
    assert said.results[0].to_dict()["category_scores"] == pytest.approx({"inappropriate_in_context": scored})


def test_a_service_that_ends_closes_its_judge_and_its_log(decider, tmp_path, monkeypatch):
    closed = []

    async def close():
        closed.append("judge")

    monkeypatch.setattr(decider.judge, "close", close)
    http = client(decider, capture=tmp_path / "log.jsonl")
    log = http.app.state.service.log  # type: ignore[attr-defined]  # the app of a test client is typed as a function
    with http:
        assert (closed, log.file.closed) == ([], False)
    assert (closed, log.file.closed) == (["judge"], True)


def test_what_ask_is_to_a_moderation_client_is_a_setting(decider):
    unsure = {"input": "What else?"}
    said = [
        client(decider, ask_as=way).post("/v1/moderations", json=unsure).json()["results"][0]
        for way in ("flagged", "passed")
    ]

    assert [one["casewise"]["decision"] for one in said] == ["ask", "ask"]
    assert [one["flagged"] for one in said] == [True, False]


@pytest.mark.slow
def test_shadow_lets_everything_through_and_says_what_it_would_have_done(decider, tmp_path):
    with client(decider, shadow=True, capture=tmp_path / "log.jsonl") as http:
        out = http.post("/v1/decide", json={"query": "What now?", "context": context_of(0.3)}).json()

    assert (out["decision"], out["decided"], out["shadow"]) == ("answer", "refuse", True)
    (line,) = read_traffic(tmp_path / "log.jsonl").lines
    assert (line.decision, line.shadow) == ("refuse", True)
    assert 'casewise_decisions_total{decision="refuse",shadow="true"} 1' in http.get("/metrics").text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe\x00", 400),
        (b'{"query": "\\ud800"}', 400),
        (b"[" * 100_000, 400),
        (b"{}", 422),
        (b'{"query": " "}', 422),
        (b'{"query": "a", "messages": []}', 422),
        (b'{"query": "a", "context": {"recipient": "a nurse"}}', 422),
        (b'{"query": "a", "context": {"secret word": "secret word"}}', 422),
        (b'{"query": "a", "context": {"recipient": {"type": {"secret word": [" "]}}}}', 422),
        (b'{"query": "a", "secret word": 1}', 422),
        (b'{"query": "a", "context": {"x": {"y": NaN}}}', 422),
        (b'{"messages": [{"role": "assistant", "content": "x"}]}', 422),
        (b'{"query": "' + b"a" * 1_100_000 + b'"}', 413),
    ],
)
def test_a_body_that_is_no_request_is_refused_in_the_clients_form_and_not_repeated(decider, body, status):
    answer = client(decider).post("/v1/decide", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["code"] == status
    assert "secret word" not in answer.text
    assert "aaa" not in answer.text


def test_who_has_no_key_is_not_answered(decider, tmp_path):
    (tmp_path / "keys").write_text(f"# of the shop\n{KEY}\n")
    http = client(decider, keys=tmp_path / "keys")
    ask = {"query": "What now?"}

    assert http.post("/v1/decide", json=ask).status_code == 401
    assert http.post("/v1/decide", json=ask, headers={"authorization": f"Bearer {KEY}x"}).status_code == 401
    assert http.post("/v1/decide", json=ask, headers={"authorization": f"Bearer {KEY}"}).status_code == 200
    assert http.get("/healthz").status_code == 200
    (tmp_path / "keys").write_text("short\n")
    with pytest.raises(ConfigurationError, match="at least 20"):
        client(decider, keys=tmp_path / "keys")


def test_who_asks_too_much_is_told_to_wait_and_others_are_not(decider):
    app = create_service(decider, ServiceOptions(per_minute=2))
    service = app.state.service

    assert [service.takes_token("a", 0.0), service.takes_token("a", 0.0), service.takes_token("a", 1.0)] == [
        True,
        True,
        False,
    ]
    assert service.takes_token("b", 1.0)
    assert service.takes_token("a", 31.0)
    http = TestClient(app)
    assert [http.post("/v1/decide", json={"query": "x"}).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("fail", ["refuse", "answer", "ask"])
def test_a_judge_that_is_too_slow_or_broken_is_decided_as_was_said_and_counted(decider, fail, monkeypatch):
    async def never(query, context):
        await asyncio.Event().wait()

    async def broken(query, context):
        raise RuntimeError("a secret word")

    async def odd(query, context):
        return "no number"

    decider.decide("What now?")  # a function that has never answered fails in another way
    http = client(decider.with_failure_decision(fail), timeout=0.02)
    for function in (never, broken, odd):
        monkeypatch.setattr(decider.judge.own, "function", function)
        out = http.post("/v1/decide", json={"query": "What now?"})
        assert out.json()["decision"] == fail
        assert "secret word" not in out.text
    counted = http.get("/metrics").text
    for reason in ("timeout", "judge_failed", "unparsed"):
        assert f'casewise_failures_total{{reason="{reason}"}} 1' in counted
    assert "casewise_decision_seconds_count 3" in counted


@pytest.mark.slow
def test_no_text_is_written_down(decider, tmp_path, caplog, capfd):
    plain, ask = tmp_path / "plain.jsonl", {"query": "a secret word", "context": {"recipient": {"type": "secret too"}}}
    for options in ({}, {"capture": plain}):
        with client(decider, **options) as http:
            http.post("/v1/decide", json=ask)

    written = plain.read_text() + caplog.text + "".join(capfd.readouterr())
    assert "secret" not in written
    assert json.loads(plain.read_text())["stated"] == ["recipient.type"]
    assert plain.stat().st_mode & 0o077 == 0


def test_requests_decisions_and_what_was_not_measured_are_counted(decider):
    http = client(decider)
    for path, body in (
        ("/v1/decide", {"query": "What now?"}),
        ("/v1/decide", {"query": " "}),
        ("/v1/moderations", {"input": ["What now?", "And then?"]}),
        ("/no/such/path", {}),
    ):
        http.post(path, json=body)
    counted = set(http.get("/metrics").text.splitlines())

    assert {line for line in counted if line.startswith("casewise_requests_total{")} == {
        'casewise_requests_total{route="/v1/decide",status="200"} 1.0',
        'casewise_requests_total{route="/v1/decide",status="422"} 1.0',
        'casewise_requests_total{route="/v1/moderations",status="200"} 1.0',
        'casewise_requests_total{route="other",status="404"} 1.0',
    }
    assert {"casewise_unmeasured_total 3.0", "casewise_decision_seconds_count 3.0"} <= counted


def test_prometheus_can_read_every_line(decider):
    http = client(decider)
    http.post("/v1/decide", json={"query": "What now?"})
    http.get("/no/such/path")

    for line in http.get("/metrics").text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line), line


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/decide", "/v1/moderations"])
def test_the_api_is_as_it_describes_itself_whatever_is_sent(decider, path):
    route = schemathesis.openapi.from_asgi("/openapi.json", create_service(decider))[path]["POST"]
    stated: JsonValue = {"query" if path == "/v1/decide" else "input": "What now?"}

    @given(case=route.as_strategy(generation_mode=GenerationMode.POSITIVE))
    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def send(case):
        case.call_and_validate(checks=[not_a_server_error, status_code_conformance, response_schema_conformance])

    send()
    answer = route.Case(body=stated, media_type="application/json").call_and_validate()
    assert answer.status_code == 200


def test_a_log_is_its_owners_alone_and_a_service_that_cannot_write_one_does_not_start(decider, tmp_path):
    log = tmp_path / "log.jsonl"
    log.touch(mode=0o644)
    create_service(decider, ServiceOptions(capture=log)).state.service.log.close()

    assert log.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigurationError, match="cannot be written"):
        create_service(decider, ServiceOptions(capture=tmp_path / "none" / "log.jsonl"))


def test_a_full_disk_does_not_end_decisions(decider, tmp_path):
    class Full(io.BytesIO):
        def write(self, _data):
            raise OSError(28, "No space left on device")

    app = create_service(decider, ServiceOptions(capture=tmp_path / "log.jsonl"))
    app.state.service.log.close()
    app.state.service.log.file = Full()
    http = TestClient(app)

    assert http.post("/v1/decide", json={"query": "What now?"}).status_code == 200
    assert "\ncasewise_capture_errors_total 1.0\n" in http.get("/metrics").text
    assert http.get("/healthz").json()["problems"] == ["1 decision could not be written to the log"]


@pytest.mark.slow
def test_a_line_that_a_kill_broke_off_is_cut_off_and_counted(decider, tmp_path):
    """A service was killed in the middle of a line; what the next one writes is not glued to it."""
    log, ask = tmp_path / "log.jsonl", {"query": "What now?"}
    with client(decider, capture=log) as http:
        http.post("/v1/decide", json=ask)
    whole = log.read_bytes()
    log.write_bytes(whole + whole[:60])
    with client(decider, capture=log) as http:
        http.post("/v1/decide", json=ask)
        counted = http.get("/metrics").text

    assert len(read_traffic(log).lines) == 2
    assert log.read_bytes().startswith(whole)
    assert "\ncasewise_torn_lines_total 1.0\n" in counted
    (tmp_path / "notes.txt").write_text("no log, and not to be touched")
    with pytest.raises(ConfigurationError, match="is not a decider's log"):
        create_service(decider, ServiceOptions(capture=tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_text() == "no log, and not to be touched"


@pytest.mark.slow
def test_calls_that_hang_hold_no_others_and_health_says_so(decider, monkeypatch):
    """Sixty calls of a sync judge never return; the next request is decided by the judge all the same."""
    released = threading.Event()

    def judge(query, context):
        if query == "hang":
            released.wait(60)
        return mostly_right(query, context)

    monkeypatch.setattr(decider.judge.own, "function", judge)
    app = create_service(decider, ServiceOptions(timeout=0.3))
    service = app.state.service

    async def traffic():
        hung = await asyncio.gather(*(service.decide(DecisionRequest("hang")) for _ in range(60)))
        assert {one.failed for one in hung} == {"timeout"}
        troubled = TestClient(app).get("/healthz")
        return await service.decide(DecisionRequest("What now?", context_of(0.7))), troubled

    try:
        found, troubled = asyncio.run(traffic())
        assert (found.decision, found.failed) == ("answer", None)
        assert troubled.json()["status"] == "degraded"
        assert "calls of the judge have not returned" in troubled.json()["problems"][0]
        assert "the judge gave no answer to the last 60 requests" in troubled.json()["problems"]
        monkeypatch.setattr("casewise.web.deciding.MOST_HUNG", 1)
        assert TestClient(app).get("/healthz").status_code == 503
    finally:
        released.set()
    deadline = time.monotonic() + 20
    while decider.hung_calls:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    after = TestClient(app).get("/healthz").json()
    assert (after["decider"], after["judge"], after["labels"]) == (
        decider.hash,
        decider.file.judge.name,
        decider.file.benchmark.label_words,
    )
    assert "60 of the last 61 replies of the judge did not come (limit 21.3 %; where it was fitted 0.0 %)" in str(after)
    assert "calls of the judge" not in str(after)


@pytest.mark.parametrize("path", ["/v1/decide", "/v1/moderations"])
def test_a_field_that_no_request_has_is_refused_by_its_name(decider, path):
    body = {"query": "a", "input": "a", "contxt": {}}
    del body["input" if path == "/v1/decide" else "query"]
    answer = client(decider).post(path, json=body)

    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "'contxt' is an unknown field (did you mean 'context'?)"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/decide", {"messages": [{"role": "user", "content": "IMAGE"}]}),
        ("/v1/moderations", {"input": "IMAGE"}),
    ],
)
def test_an_image_is_refused_with_a_reason(decider, path, body):
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,x"}}]
    http = client(decider)
    sent = json.loads(json.dumps(body).replace('"IMAGE"', json.dumps(parts)))
    answer = http.post(path, json=sent)

    assert answer.status_code == 422
    assert "holds an image, and a decider reads text only" in answer.json()["error"]["message"]
    sent = json.loads(json.dumps(body).replace('"IMAGE"', json.dumps(parts[:1])))
    assert http.post(path, json=sent).status_code == 200


def test_a_context_comes_over_http_as_it_does_at_the_command_line(decider):
    http, background = client(decider), context_of(0.7)["recipient"]["background"]
    contexts = [context_of(0.7), {"recipient.background": background}, {"recipient": context_of(0.7)["recipient"]}]
    said = [
        [
            http.post("/v1/decide", json={"query": "What now?", "context": context}).json(),
            http.post("/v1/moderations", json={"input": "What now?", "context": context}).json()["results"][0][
                "casewise"
            ],
        ]
        for context in contexts
    ]
    text = http.post("/v1/decide", json={"query": "What now?", "context": "A nurse asks."}).json()

    assert {one["value"] for pair in said for one in pair} == {said[0][0]["value"]}
    assert {one["decision"] for pair in said for one in pair} == {"answer"}
    assert "free text" in str(text["unmeasured"])


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/v1/decide", "/v1/moderations"])
def test_a_decision_has_the_callers_id_in_answer_and_log_or_a_new_one(decider, tmp_path, path):
    """The caller's own id, from the body or a proxy's header, joins the service's log with the application's."""
    log = tmp_path / "log.jsonl"
    body = {"query" if path == "/v1/decide" else "input": "What now?"}
    with client(decider, capture=log) as http:
        answers = [
            http.post(path, json={**body, "id": "order 7/ä"}, headers={"x-request-id": "from-the-proxy"}),
            http.post(path, json=body, headers={"x-request-id": "from-the-proxy"}),
            *(http.post(path, json=body) for _ in range(2)),
        ]
    ids = [answer.json()["id"] for answer in answers]

    assert ids[:2] == ["order 7/ä", "from-the-proxy"]
    assert len(set(ids)) == 4
    assert [line.id for line in read_traffic(log).lines] == ids


def test_texts_of_one_moderation_have_ids_of_their_own(decider):
    out = client(decider).post("/v1/moderations", json={"input": ["a", "b"], "id": "mine"}).json()

    assert (out["id"], [one["casewise"]["id"] for one in out["results"]]) == ("mine", ["mine.0", "mine.1"])


@pytest.mark.parametrize("own", ["", "a\nb", "a" * 201, 7])
def test_an_id_that_cannot_stand_in_a_log_is_refused(decider, own):
    assert client(decider).post("/v1/decide", json={"query": "a", "id": own}).status_code == 422


@pytest.mark.parametrize(
    ("befallen", "problem"),
    [
        (lambda log: log.unlink(), "another program removed the log (3 decisions); SIGHUP acknowledges it"),
        (lambda log: log.replace(log.with_suffix(".1")), None),
        (lambda log: log.write_bytes(b""), "another program shortened the log (3 decisions); SIGHUP acknowledges it"),
        (
            lambda log: log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:1])),
            "another program shortened the log (2 decisions); SIGHUP acknowledges it",
        ),
    ],
)
def test_what_befalls_a_log_is_noticed_before_the_next_decision(decider, tmp_path, befallen, problem):
    log = tmp_path / "log.jsonl"
    app = create_service(decider, ServiceOptions(capture=log))
    http = TestClient(app)

    def decide(n):
        for _ in range(n):
            assert http.post("/v1/decide", json={"query": "What now?"}).status_code == 200

    decide(3)
    befallen(log)
    problems = http.get("/healthz").json()["problems"]
    decide(2)

    assert len(read_traffic(log).lines) == (3 if "(2" in str(problem) else 2)
    assert len(problems) == (problem is not None)
    assert problem is None or problems[0].startswith(problem)
    counted = http.get("/metrics").text
    assert f"casewise_capture_lost_total {3.0 if problem and 'removed' in problem else 0.0}" in counted
    assert "casewise_capture_errors_total 0.0" in counted
    app.state.service.reopen()
    assert http.get("/healthz").json()["problems"] == []


@pytest.mark.parametrize(("on_full", "decided"), [("answer", "answer"), ("refuse", "refuse")])
def test_a_decision_that_cannot_be_written_is_given_or_is_refuse_as_was_said(decider, tmp_path, on_full, decided):
    folder = tmp_path / "logs"
    folder.mkdir()
    http = client(decider, capture=folder / "log.jsonl", on_full=on_full)
    ask = {"query": "What now?", "context": context_of(0.7)}
    assert http.post("/v1/decide", json=ask).json()["decision"] == "answer"
    (folder / "log.jsonl").unlink()
    folder.rmdir()
    out = http.post("/v1/decide", json=ask).json()

    assert out["decision"] == decided
    assert ("could not be written" in out["why"]) == (on_full == "refuse")
    health = http.get("/healthz").json()
    assert health["status"] == "degraded"
    assert "1 decision could not be written to the log" in health["problems"]


@pytest.mark.parametrize(
    ("reply", "kind"), [("no number", "unreadable"), (None, "unreadable"), (RuntimeError(), "failed")]
)
def test_six_replies_of_which_none_gives_a_value_are_no_health(decider, monkeypatch, reply, kind):
    async def odd(query, context):
        if isinstance(reply, Exception):
            raise reply
        return reply

    decider.decide("What now?")
    monkeypatch.setattr(decider.judge.own, "function", odd)
    http = client(decider)
    states = []
    for _ in range(6):
        http.post("/v1/decide", json={"query": "What now?"})
        states.append(http.get("/healthz").json())

    assert states[-1]["status"] == "degraded"
    (first,) = states[-1]["recent"][kind]
    assert (first["count"], first["n_requests"], first["share"], first["fitted"], first["is_over_limit"]) == (
        6,
        6,
        1.0,
        0.0,
        True,
    )
    assert f'casewise_recent_share{{kind="{kind}",window="10"}} 1.0' in http.get("/metrics").text


@pytest.mark.slow
def test_traffic_unlike_the_benchmark_is_a_problem_and_traffic_like_it_is_none(decider):
    """Five hundred requests drawn from the demo, and five hundred to all of which the judge gives one value."""
    demo, http = load("demo"), client(decider)
    app_decides = http.app.state.service.decide  # type: ignore[attr-defined]  # FastAPI's
    contexts = np.random.default_rng(1).choice(len(demo.contexts), 500)

    async def traffic(same):
        for place in contexts:
            context = demo.contexts[0 if same else int(place)]
            await app_decides(DecisionRequest(demo.query[context.query_id].text, context.shown()))

    asyncio.run(traffic(same=False))
    like = http.get("/healthz").json()
    asyncio.run(traffic(same=True))
    unlike = http.get("/healthz").json()

    assert like["problems"] == []
    assert like["drift"]["tests"]["scores"]["smallest_shift"] < 0.5
    assert unlike["problems"][0].startswith("the last 500 requests differ from the benchmark in scores, decisions")
