import asyncio
import contextlib
import gzip
import json
import socket
import ssl
import subprocess
import threading
from datetime import UTC, datetime

import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion, prompt_of, refusing
from tests.support.served import served

from casewise.errors import ConnectionLost, ExitCode, Unauthorised, Unavailable, Unreachable
from casewise.models.client import (
    AdaptiveGate,
    ClientOptions,
    EndpointClient,
    OpenAICompatibleModel,
    RetryPolicy,
    encode_body,
    requested_wait_s,
)
from casewise.models.endpoints import ApiKey, find_endpoint
from casewise.models.protocol import Rejected, ReplyOptions, user_messages

ASK = user_messages("Is it safe?")
WORDS = ReplyOptions(max_tokens=64)
FIRST_TOKEN = ReplyOptions(1, top_logprobs=20, first_words=("safe", "unsafe"))
QUICK = RetryPolicy(retries=4, first_wait_s=0.001, longest_wait_s=0.01)


def client(
    server: FaultServer, *, name: str = "openai/tiny", key: str | None = None, **options
) -> OpenAICompatibleModel:
    endpoint = find_endpoint(name, base_url=server.url, environment={})
    options = {"timeout_s": 5.0, "retry": QUICK, **options}
    connected = EndpointClient(endpoint, key=ApiKey(key) if key else None, options=ClientOptions(**options))
    return OpenAICompatibleModel(name, connected)


def ask(server: FaultServer, options: ReplyOptions = WORDS, **settings):
    async def go():
        async with server:
            model = client(server, **settings)
            try:
                return await model.reply(ASK, options)
            finally:
                await model.close()

    return asyncio.run(go())


def ask_twice(server: FaultServer, options: ReplyOptions):
    async def go():
        async with server:
            model = client(server)
            replies = [await model.reply(ASK, options) for _ in range(2)]
            await model.close()
            return replies

    return asyncio.run(go())


def test_a_reply_says_what_came_back():
    server = FaultServer()
    reply = ask(server)

    assert server.bodies[0]["model"] == "tiny"
    assert json.loads(reply.text)["judgement"] in ("safe", "unsafe")
    assert reply.finish_reason == "stop"
    assert reply.model_version == "tiny-2026-01-01"
    assert reply.usage.output_tokens == 10
    assert reply.latency_s > 0
    assert reply.attempts == 1


CURED = [
    "429",
    "429 retry-after",
    "429 date",
    "500",
    "502",
    "503",
    "reset",
    "torn json",
    "wrong shape",
    "html",
    "html as success",
]


@pytest.mark.parametrize("fault", CURED)
def test_what_may_pass_is_tried_again(fault):
    n_faults = 1 if fault == "429 date" else 2

    assert ask(FaultServer(script=[fault] * n_faults)).attempts == n_faults + 1


def test_a_slow_answer_is_given_up_and_asked_for_again():
    reply = ask(FaultServer(script=["slow"], slow_s=2.0), timeout_s=0.2)

    assert reply.attempts == 2


def test_what_does_not_pass_is_unavailable():
    with pytest.raises(Unavailable, match=r"answered 503: overloaded \(tried 5 times\)"):
        ask(FaultServer(script=["503"] * 10))


def test_a_server_that_is_not_there_is_said_before_five_seconds_are_over(monkeypatch):
    server, waited = FaultServer(), []

    async def no_time(seconds):
        waited.append(seconds)

    async def go():
        await server.start()
        await server.stop()
        model = client(server, retry=RetryPolicy(), timeout_s=120.0)
        monkeypatch.setattr("casewise.models.client.asyncio.sleep", no_time)
        monkeypatch.setattr("casewise.models.client.time.monotonic", lambda: 100.0 + sum(waited))
        with pytest.raises(
            Unreachable, match=r"nothing answers: openai at .*Cannot connect.*Check that the server runs"
        ):
            await model.reply(ASK, WORDS)
        await model.close()

    asyncio.run(go())
    assert 0 < sum(waited) < 5


def test_a_server_that_does_not_come_back_stops_the_run_as_one_that_can_be_gone_on_with():
    async def go():
        server = FaultServer()
        await server.start()
        model = client(server, longest_outage_s=0.0)
        await model.reply(ASK, WORDS)
        await server.stop()
        with pytest.raises(ConnectionLost, match=r"did not return within 0 s.*the same command resumes") as gone:
            await model.reply(ASK, WORDS)
        await model.close()
        return gone.value.exit_code

    assert asyncio.run(go()) == ExitCode.STOPPED


def test_calls_wait_together_for_a_server_that_went_away_and_that_is_said_once():
    lines: list[str] = []

    async def go():
        server = FaultServer()
        await server.start()
        model = client(server, retry=RetryPolicy(retries=0, first_wait_s=0.01, longest_wait_s=0.02))
        model.set_notifier(lines.append)
        await model.reply(ASK, WORDS)
        port = server.port
        await server.stop()
        asking = [asyncio.create_task(model.reply(ASK, WORDS)) for _ in range(5)]
        while not lines:
            await asyncio.sleep(0)
        await server.start(port)
        replies = await asyncio.gather(*asking)
        await model.close()
        await server.stop()
        return replies

    assert len(asyncio.run(go())) == 5
    assert len(lines) == 2
    assert lines[0].startswith("the run waits for a server that stopped answering: openai at http://127.0.0.1")
    assert lines[1].endswith("answers again")


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "Incorrect API key provided", "invalid_api_key"),
        (403, "Your account may not use this model", None),
        (404, "The model `tiny` does not exist", "model_not_found"),
        (400, "model 'tiny' not found", None),
        (402, "Insufficient balance", None),
        (429, "You exceeded your current quota", "insufficient_quota"),
        (308, "Moved", None),
    ],
)
def test_what_no_call_can_cure_stops_the_run_at_once(status, message, code):
    server = refusing(message, status, code=code)
    with pytest.raises(Unauthorised, match=r"OPENAI_API_KEY|'tiny'"):
        ask(server)

    assert len(server.bodies) == 1


@pytest.mark.parametrize(("fault", "reason"), [("400", "bad_request"), ("400 filter", "content_filter")])
def test_what_one_call_is_refused_costs_that_call_only(fault, reason):
    with pytest.raises(Rejected) as refused:
        ask(FaultServer(script=[fault] * 3))

    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("field", "status", "message", "options"),
    [
        (
            "max_tokens",
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            WORDS,
        ),
        (
            "temperature",
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
            WORDS,
        ),
        (
            "response_format",
            422,
            "response_format: Extra inputs are not permitted",
            ReplyOptions(9, json_schema={"type": "object"}),
        ),
        ("seed", 400, "Unrecognized request argument supplied: seed", ReplyOptions(9, seed=3)),
    ],
)
def test_a_parameter_that_is_refused_is_left_out_from_then_on(field, status, message, options):
    server = refusing(message, status, field=field)

    replies = ask_twice(server, options)

    assert all(reply.text for reply in replies)
    assert [field in body for body in server.bodies] == [True, False, False]


def test_an_effort_is_sent_as_it_was_asked_for_and_a_refusal_stops_the_run():
    server = FaultServer()
    ask(server, ReplyOptions(9, reasoning_effort="low"))
    assert server.bodies[0]["reasoning_effort"] == "low"

    with pytest.raises(Unauthorised, match="Leave out --reasoning-effort"):
        ask(refusing("Unrecognized request argument: reasoning_effort"), ReplyOptions(9, reasoning_effort="low"))


def test_the_token_limit_is_kept_under_its_other_name():
    server = refusing("Unsupported parameter: 'max_tokens'", field="max_tokens")
    ask(server)

    assert server.bodies[-1]["max_completion_tokens"] == 64


def test_fewer_logprobs_are_asked_for_where_twenty_are_too_many():
    def refuse(request, body):
        if body["top_logprobs"] > 5:
            return web.json_response({"error": {"message": "top_logprobs must be between 0 and 5"}}, status=400)
        return None

    server = FaultServer(refuse=refuse)
    reply = ask(server, FIRST_TOKEN)

    assert server.bodies[-1]["top_logprobs"] == 5
    assert reply.token_logprobs


def test_a_model_without_logprobs_is_asked_no_second_time():
    server = refusing("You are not allowed to request logprobs from this model", 403, field="logprobs")

    async def go():
        async with server:
            model = client(server)
            for _ in range(3):
                with pytest.raises(Rejected) as refused:
                    await model.reply(ASK, FIRST_TOKEN)
                assert refused.value.reason == "no_logprobs"
            await model.close()

    asyncio.run(go())

    assert len(server.bodies) == 1


def test_the_number_of_calls_under_way_grows_from_few_to_the_cap():
    under_way = []

    async def go():
        gate = AdaptiveGate(most=40, start=16)

        async def one():
            async with gate:
                under_way.append(gate.in_flight)
                await asyncio.sleep(0)
            gate.succeeded()

        await asyncio.gather(*(one() for _ in range(200)))

    asyncio.run(go())

    assert max(under_way[:16]) == 16
    assert 16 < max(under_way) <= 40


def test_a_call_that_is_cancelled_as_its_turn_comes_leaves_it_to_the_next():
    async def go():
        gate = AdaptiveGate(most=1, start=1)

        async def enter():
            async with gate:
                return gate.in_flight

        async with gate:
            cancelled, waiting = asyncio.create_task(enter()), asyncio.create_task(enter())
            await asyncio.sleep(0)
        cancelled.cancel()
        return await asyncio.wait_for(waiting, 5)

    assert asyncio.run(go()) == 1


def test_a_model_that_was_closed_is_asked_again_in_another_event_loop():
    with served(FaultServer()) as server:
        model = client(server, concurrency=1)

        async def go():
            replies = await asyncio.gather(*(model.reply(ASK, WORDS) for _ in range(3)))
            await model.close()
            return replies

        assert len(asyncio.run(go())) == len(asyncio.run(go())) == 3


@pytest.mark.parametrize(("address", "calls"), [("http://127.0.0.1:8000/v1", 40), ("https://192.0.2.7/v1", 16)])
def test_a_server_on_this_machine_is_sent_as_many_calls_at_once_as_it_ever_will(address, calls):
    endpoint = find_endpoint("openai/tiny", base_url=address, environment={})

    assert EndpointClient(endpoint, key=None, options=ClientOptions(40)).gate.limit == calls


@pytest.mark.parametrize("fault", ["429", "slow"])
def test_the_number_of_calls_under_way_shrinks_when_there_are_too_many(fault):
    async def go():
        async with FaultServer(script=[fault], slow_s=2.0) as server:
            model = client(server, concurrency=16, timeout_s=0.2)
            await model.reply(ASK, WORDS)
            await model.close()
            return model.client.gate.limit

    assert asyncio.run(go()) < 9


def test_an_error_in_the_body_of_a_success_is_an_error():
    answers = iter([web.json_response({"error": {"message": "Provider returned error", "code": 502}}), None])
    server = FaultServer(refuse=lambda request, body: next(answers))

    assert ask(server).attempts == 2


def test_connections_are_reused():
    peers = set()

    def refuse(request, body):
        peers.add(request.transport.get_extra_info("peername"))

    async def go():
        async with FaultServer(refuse=refuse) as server:
            model = client(server)
            for _ in range(10):
                await model.reply(ASK, WORDS)
            await model.close()

    asyncio.run(go())

    assert len(peers) == 1


def failing(status, *, field, body=None):
    """A server that fails without a word on the reason wherever a body holds a field."""

    def refuse(_request, sent):
        return web.json_response(body or {"error": "Internal Server Error"}, status=status) if field in sent else None

    return FaultServer(refuse=refuse)


SCHEMA = ReplyOptions(9, json_schema={"type": "object"})
LLAMA_CPP_PYTHON = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' or "
    "'json_object'\", 'input': 'json_schema'}]"
)


def test_a_parameter_is_learnt_to_be_refused_whatever_the_status():
    server = refusing(LLAMA_CPP_PYTHON, 500, field="response_format")
    ask_twice(server, SCHEMA)

    assert ["response_format" in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize(("status", "n_tries"), [(500, 5), (400, 2)])
@pytest.mark.parametrize("field", ["response_format", "seed", "temperature"])
def test_where_a_server_fails_without_a_reason_each_parameter_is_left_out_once(status, n_tries, field):
    server = failing(status, field=field)
    options = ReplyOptions(9, 0.5, seed=3, json_schema={"type": "object"})
    replies = ask_twice(server, options)

    assert all(reply.text for reply in replies)
    with_field = [field in body for body in server.bodies]
    assert n_tries <= sum(with_field) <= n_tries + 2
    assert with_field[-1] is False


def test_a_refusal_that_does_not_come_again_teaches_nothing():
    answers = iter([web.json_response({"error": {"message": "Bad request."}}, status=400), None, None])
    server = FaultServer(refuse=lambda _request, _body: next(answers))

    assert all(reply.text for reply in ask_twice(server, SCHEMA))
    assert all("response_format" in body for body in server.bodies)


def test_after_good_answers_a_failure_is_not_put_down_to_a_parameter():
    answers = iter([None, *(web.json_response({"error": "oh"}, status=500) for _ in range(5)), None])
    server = FaultServer(refuse=lambda _request, _body: next(answers))

    async def go():
        async with server:
            model = client(server)
            await model.reply(ASK, SCHEMA)
            with pytest.raises(Unavailable):
                await model.reply(ASK, SCHEMA)
            await model.reply(ASK, SCHEMA)
            await model.close()

    asyncio.run(go())
    assert all("response_format" in body for body in server.bodies)


def after_an_answer(*responses):
    """Ask twice a server that answers once well, then with `responses`, then well."""
    answers = iter([None, *responses, None])
    server = FaultServer(refuse=lambda _request, _body: next(answers))
    return ask_twice(server, WORDS)[1]


@pytest.mark.parametrize("status", [204, 302, 403, 404, 405])
def test_after_good_answers_a_gateways_whim_is_tried_again(status):
    response = web.Response(status=status, headers={"Location": "/"} if status == 302 else {})

    assert after_an_answer(response).attempts == 2


def test_a_refusal_that_repeats_the_request_changes_nothing():
    echo = {"error": {"message": "the prompt is invalid"}, "request": {"max_tokens": 1, "response_format": "unknown"}}
    answers = iter([None, *(web.json_response(echo, status=400) for _ in range(3)), None])
    server = FaultServer(refuse=lambda _request, _body: next(answers))

    async def go():
        async with server:
            model = client(server)
            await model.reply(ASK, SCHEMA)
            for _ in range(3):
                with pytest.raises(Rejected):
                    await model.reply(ASK, SCHEMA)
            await model.reply(ASK, SCHEMA)
            await model.close()

    asyncio.run(go())
    assert len(server.bodies) == 5
    assert all({"max_tokens", "response_format"} <= body.keys() for body in server.bodies)


def test_a_token_limit_that_is_refused_under_both_names_is_asked_for_twice():
    server = refusing("Unsupported parameter: 'max_tokens', 'max_completion_tokens'")
    with pytest.raises(Rejected):
        ask(server, ReplyOptions(9, None))

    assert len(server.bodies) == 2


def test_a_long_wait_that_a_server_asks_for_is_said(monkeypatch):
    lines: list[str] = []
    slept: list[float] = []

    async def no_time(seconds):
        slept.append(seconds)

    async def go():
        async with FaultServer(refuse=lambda _request, _body: next(answers)) as server:
            model = client(server)
            model.set_notifier(lines.append)
            monkeypatch.setattr("casewise.models.client.asyncio.sleep", no_time)
            await model.reply(ASK, WORDS)
            await model.close()

    answers = iter([*(web.json_response({}, status=429, headers={"Retry-After": "3600"}) for _ in range(2)), None])
    asyncio.run(go())
    assert len(lines) == 1
    assert "asks to wait 3,600 s; its calls are tried again in 3" in lines[0]
    assert [300 <= seconds <= 330 for seconds in slept if seconds] == [True, True]


@pytest.mark.slow
def test_a_certificate_that_cannot_be_verified_is_said_to_be_that(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def shake_hands(listener):
        with contextlib.suppress(OSError):
            while True:
                line, _address = listener.accept()
                with line, contextlib.suppress(OSError), context.wrap_socket(line, server_side=True):
                    pass

    async def go(port):
        endpoint = find_endpoint("openai/tiny", base_url=f"https://127.0.0.1:{port}/v1", environment={})
        model = OpenAICompatibleModel("openai/tiny", EndpointClient(endpoint, key=None, options=ClientOptions()))
        try:
            await model.reply(ASK, WORDS)
        finally:
            await model.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=shake_hands, args=(listener,))
        thread.start()
        try:
            with pytest.raises(Unreachable, match=r"certificate cannot be verified .*self-signed.*SSL_CERT_FILE"):
                asyncio.run(go(listener.getsockname()[1]))
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_an_encrypted_address_of_a_plain_server_is_said_to_be_one():
    async def go():
        async with FaultServer() as server:
            address = server.url.replace("http:", "https:")
            endpoint = find_endpoint("openai/tiny", base_url=address, environment={})
            model = OpenAICompatibleModel("openai/tiny", EndpointClient(endpoint, key=None, options=ClientOptions()))
            try:
                await model.reply(ASK, WORDS)
            finally:
                await model.close()

    with pytest.raises(Unreachable, match="begins with http://"):
        asyncio.run(go())


def test_an_answer_without_end_is_read_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("casewise.models.client.MOST_BYTES", 1000)

    def endless(_request, body):
        response = web.Response(text=json.dumps({"choices": [{"message": {"content": "x" * 5000}}]}))
        response.enable_chunked_encoding()
        return response

    with pytest.raises(Unavailable, match="cut off or garbled"):
        ask(FaultServer(refuse=endless), retry=RetryPolicy(retries=0))


def test_a_short_answer_that_unfolds_to_a_long_one_is_read_up_to_the_same_limit(monkeypatch):
    monkeypatch.setattr("casewise.models.client.MOST_BYTES", 1000)

    def folded(_request, body):
        text = gzip.compress(json.dumps(completion(body, "x" * 5000)).encode())
        return web.Response(body=text, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    with pytest.raises(Unavailable, match="cut off or garbled"):
        ask(FaultServer(refuse=folded), retry=RetryPolicy(retries=0))


def test_what_a_refusal_names_is_forgotten_where_no_answer_came_without_it():
    """The first item of a run is refused, in a message that repeats its request."""

    def refuse(_request, body):
        if prompt_of(body) == "too long":
            return web.json_response({"error": {"message": f"invalid prompt: {json.dumps(body)}"}}, status=400)
        return None

    server = FaultServer(refuse=refuse)

    async def go():
        async with server:
            model = client(server)
            with pytest.raises(Rejected):
                await model.reply(user_messages("too long"), SCHEMA)
            await model.reply(ASK, SCHEMA)
            await model.close()

    asyncio.run(go())
    assert len(server.bodies) < 12
    assert {"max_tokens", "temperature", "response_format"} <= server.bodies[-1].keys()


def test_a_parameter_is_learnt_to_be_refused_where_a_server_calls_itself_unavailable():
    server = refusing("logprobs are not supported", 503, field="logprobs")
    with pytest.raises(Rejected) as refused:
        ask(server, FIRST_TOKEN)

    assert refused.value.reason == "no_logprobs"
    assert len(server.bodies) == 1


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:07 GMT"}, 7),
        ({"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-4"}, None),
        ({"Retry-After": "nan"}, None),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
    ],
)
def test_the_wait_that_a_server_asks_for_is(headers, seconds):
    assert requested_wait_s(headers, now=NOW) == pytest.approx(seconds)


def test_waits_grow_and_have_a_ceiling():
    class Most:
        def uniform(self, low: float, high: float) -> float:
            return high

    policy = RetryPolicy(first_wait_s=1, longest_wait_s=5)

    assert [policy.wait_s(n, requested_s=None, rng=Most()) for n in range(1, 6)] == [1, 2, 4, 5, 5]  # type: ignore[arg-type]
    assert policy.wait_s(1, requested_s=10, rng=Most()) == pytest.approx(11)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["plain", "café ☕", "half \ud800", '\x00\n"\\'])
def test_a_body_is_read_as_it_was_meant(text):
    body = {"model": "tiny", "messages": [{"role": "user", "content": text}], "n": 1, "top_p": 0.5, "stop": None}

    assert json.loads(encode_body(body)) == body
