"""What a failure of an endpoint means, how long a call waits, and how many calls are under way."""

import pytest

from casewise.errors import Unauthorised
from casewise.models.client import (
    AdaptiveGate,
    ClientOptions,
    EndpointClient,
    Fault,
    RetryPolicy,
    interpret_failure,
    is_retried,
)
from casewise.models.endpoints import ENDPOINTS, ApiKey, Extra
from casewise.models.protocol import Rejected
from casewise.models.wire import ServerError

OPENAI = ENDPOINTS["openai"]


def meaning(status: int, message: str = "no", code: str = "", *, has_answered: bool = False, **headers: str) -> object:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = ServerError(code, message)
    return interpret_failure(status, named, error, endpoint=OPENAI, model="m", has_answered=has_answered)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529, 599])
def test_a_failure_that_another_try_may_cure_is_tried_again(status):
    fault = meaning(status, Retry_After="7")

    assert is_retried(status)
    assert fault == Fault(f"openai answered {status}: no", 7.0, overloaded=status in (429, 529))


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422, 499])
def test_no_other_failure_is_tried_again(status):
    assert not is_retried(status)
    assert not isinstance(meaning(status), Fault)


@pytest.mark.parametrize("status", [400, 402, 403, 429])
@pytest.mark.parametrize("words", ["You have insufficient quota", "credit balance is too low", "billing_hard_limit"])
def test_an_account_without_credit_stops_the_run(status, words):
    error = meaning(status, words)

    assert isinstance(error, Unauthorised)
    assert (
        str(error)
        == f"openai answered {status}: {words}. Top up the account that OPENAI_API_KEY belongs to, then resume."
    )


def test_words_on_credit_in_a_failure_that_may_pass_are_none_of_the_account():
    assert isinstance(meaning(503, "billing is away"), Fault)


@pytest.mark.parametrize("words", ["content_filter", "the content policy", "was flagged", "ResponsibleAI"])
def test_a_filters_refusal_costs_one_call(words):
    for status in (400, 403):
        error = meaning(status, words)
        assert isinstance(error, Rejected)
        assert error.reason == "content_filter"
    assert isinstance(meaning(500, words), Fault)


@pytest.mark.parametrize(
    ("status", "passes"), [(204, True), (302, True), (403, True), (404, True), (405, True), (401, False), (400, False)]
)
def test_after_good_answers_a_gateways_refusal_may_pass(status, passes):
    assert isinstance(meaning(status, has_answered=True), Fault) is passes
    assert not isinstance(meaning(status), Fault)


@pytest.mark.parametrize(
    ("status", "message", "advice"),
    [
        (401, "no", "Check OPENAI_API_KEY, and that it may use 'm'."),
        (403, "no", "Check OPENAI_API_KEY, and that it may use 'm'."),
        (
            302,
            "no",
            "Check the model's name, 'm', and the address, https://api.openai.com/v1 (it usually ends in /v1).",
        ),
        (402, "no", "Check the model's name, 'm'"),
        (404, "no", "Check the model's name, 'm'"),
        (405, "no", "Check the model's name, 'm'"),
        (400, "model_not_found", "Check the model's name, 'm'"),
        (400, "The model `m` does not exist", "Check the model's name, 'm'"),
    ],
)
def test_a_wrong_key_address_or_name_stops_the_run_with_what_to_check(status, message, advice):
    error = meaning(status, message)

    assert isinstance(error, Unauthorised)
    assert f"openai answered {status}: {message}. {advice}" in str(error)


def test_any_other_refusal_costs_one_call():
    for error in (meaning(400, "the prompt is too long"), meaning(400, "model_not_found", has_answered=True)):
        assert isinstance(error, Rejected)
        assert error.reason == "bad_request"


class Bound:
    """Draws the end of an interval."""

    def __init__(self, place: int) -> None:
        self.place = place

    def uniform(self, *ends: float) -> float:
        return ends[self.place]


@pytest.mark.parametrize(
    ("attempt", "requested", "least", "most"),
    [(1, None, 0.25, 0.5), (2, None, 0.5, 1.0), (4, None, 2.0, 4.0), (9, None, 15.0, 30.0), (1, 0.0, 0.0, 0.0), (5, 10.0, 10.0, 11.0), (1, 999.0, 300.0, 330.0)],
)  # fmt: skip
def test_a_wait_grows_with_the_attempts_or_is_the_one_that_is_asked_for(attempt, requested, least, most):
    waits = [RetryPolicy().wait_s(attempt, requested_s=requested, rng=Bound(place)) for place in (0, 1)]  # type: ignore[arg-type]

    assert waits == pytest.approx([least, most])


def test_the_number_of_calls_doubles_with_each_round_until_the_first_overload(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("casewise.models.client.time.monotonic", lambda: now[0])
    gate = AdaptiveGate(most=20, start=16)
    limits = [gate.limit]

    for happens in ("succeeded", "overloaded", "overloaded", "succeeded"):
        getattr(gate, happens)()
        limits.append(gate.limit)
    assert limits == [16.0, 17.0, 8.5, 8.5, 8.5 + 1 / 8.5]
    now[0] += 0.999
    gate.overloaded()
    assert gate.limit == limits[-1]
    now[0] += 0.001
    gate.overloaded()
    assert gate.limit == limits[-1] / 2


def test_the_number_of_calls_stays_between_one_and_the_most(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("casewise.models.client.time.monotonic", lambda: now[0])
    gate = AdaptiveGate(most=2, start=16)
    assert gate.limit == 2.0
    gate.succeeded()
    assert gate.limit == 2.0
    for _ in range(5):
        gate.overloaded()
        now[0] += 1.0
    assert gate.limit == 1.0
    for _ in range(9):
        gate.succeeded()
    assert gate.limit == 2.0


def test_a_key_goes_into_the_header_that_is_wanted_and_out_of_texts():
    extra = Extra(values={"X-Team": ApiKey("blue team")})
    connected = EndpointClient(OPENAI, key=ApiKey("sk-1234"), options=ClientOptions(), extra=extra)
    azure = EndpointClient(ENDPOINTS["azure"], key=ApiKey("sk-1234"), options=ClientOptions())

    assert connected.key_header() == {"Authorization": "Bearer sk-1234"}
    assert (connected.key_header("x-key"), azure.key_header()) == ({"x-key": "sk-1234"}, {"api-key": "sk-1234"})
    assert connected.redact("sk-1234 of the blue team") == "[key] of the [key]"
    keyless = EndpointClient(OPENAI, key=None, options=ClientOptions())
    assert (keyless.key_header(), keyless.redact("sk-1234")) == ({}, "sk-1234")


@pytest.mark.parametrize(("name", "is_open"), [("openai", False), ("vllm", True)])
def test_a_server_of_ones_own_is_tried_with_more_than_the_protocol_has(name, is_open):
    can = EndpointClient(ENDPOINTS[name], key=None, options=ClientOptions()).can

    assert (can.choice, can.most_top_logprobs) == (is_open, 2000 if is_open else 20)
