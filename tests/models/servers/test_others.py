"""What servers of others give: LiteLLM's proxy, transformers serve, and LLMock, which judges its clients."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_server import FaultServer
from tests.support.real_servers import free_port, program, running
from tests.support.served import served
from tests.support.tiny_llama import make_tiny_llama

from casewise import api
from casewise.ask.elicitations import AskOptions
from casewise.errors import Unauthorised
from casewise.judges.llm import LiveOptions
from casewise.models.client import ClientOptions, RetryPolicy
from casewise.models.load import ModelOptions
from casewise.storage.run_folder import JUDGEMENTS

pytestmark = pytest.mark.slow


def judged(name: str, address: str, out: Path, **how: Any) -> api.Run:
    """Judge six items with a model behind a server, two calls at a time."""
    client = ClientOptions(retry=RetryPolicy(first_wait_s=0.05))
    options = api.RunOptions(
        live=LiveOptions(ask=AskOptions(max_tokens=16), model=ModelOptions(f"{address}/v1", client=client)),
        selection=api.Selection(limit=6),
        limits=api.Limits(concurrency=2),
    )
    return api.judge("demo", name, out=out, options=options, **how)


def outcomes(run: api.Run) -> list[dict[str, Any]]:
    return [json.loads(line)["outcome"] for line in (run.path / JUDGEMENTS).read_text().splitlines()]


# LiteLLM's proxy, in front of a server that fails a third of the time.


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    faults = ("429", "500", "502", "503", "reset", "torn json")
    with served(FaultServer(fail=0.3, faults=faults)) as behind:
        route = {"model": "openai/tiny", "api_base": behind.url, "api_key": "none"}
        config = {
            "model_list": [{"model_name": "tiny", "litellm_params": route}],
            "litellm_settings": {"num_retries": 0},
        }
        (folder / "config.yaml").write_text(json.dumps(config))
        command = (program("litellm"), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port))
        quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
        with running(*command, port=port, ready="health/liveliness", log=folder / "log", **quiet) as address:
            yield address


@pytest.mark.servers
@pytest.mark.parametrize("elicitation", ["binary", "probability"])
def test_through_litellms_proxy_each_item_has_a_verdict_whatever_fails_behind_it(proxy, tmp_path, elicitation):
    run = judged("tiny", proxy, tmp_path / "run", elicitations=elicitation)

    assert (run.summary.n_judged, run.summary.n_unscored) == (6, 0)
    assert run.summary.n_calls == 6


@pytest.mark.servers
def test_a_model_that_litellm_does_not_route_is_named(proxy, tmp_path):
    with pytest.raises(Unauthorised, match=r"Check the model's name, 'nobody'"):
        judged("nobody", proxy, tmp_path / "run")


# LLMock, which says of a client what it did wrong.


def told(address: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{address}/_llmock/{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())


@pytest.fixture
def llmock(tmp_path):
    port = free_port()
    command = (program("llmock"), "serve", "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning")
    with running(*command, port=port, ready="_llmock/verdict", log=tmp_path / "log") as address:
        yield address


@pytest.mark.servers
def test_llmock_finds_nothing_wrong_with_the_client(llmock, tmp_path):
    failures = [{"status": 429, "retry_after": 1, "times": 2}, {"status": 503, "times": 2}, {"status": 500, "times": 1}]
    told(llmock, "scenario", {"behaviors": [{"type": "fail", **failure} for failure in failures]})
    run = judged("tiny", llmock, tmp_path / "run")
    verdict = told(llmock, "verdict")

    assert [outcome["kind"] for outcome in outcomes(run)] == ["scored"] * 6
    assert verdict["faults_injected"] == 5
    assert (verdict["errors"], verdict["warnings"]) == (0, 0)


@pytest.mark.servers
def test_a_server_without_log_probabilities_says_which_elicitation_will_do(llmock, tmp_path):
    run = judged("tiny", llmock, tmp_path / "run", elicitations="probability")

    assert run.summary.n_unscored == 6
    assert all("ask for --elicit score or binary" in outcome["detail"] for outcome in outcomes(run))


# transformers serve, with a model of random weights.


@pytest.mark.local_model
def test_transformers_serve_answers_and_has_no_log_probabilities(tmp_path):
    for package in ("torch", "transformers", "fastapi", "uvicorn", "openai"):
        pytest.importorskip(package, reason=f"needs {package}: pip install 'transformers[serving]'")
    model, port = str(make_tiny_llama(tmp_path / "tiny")), free_port()
    command = (sys.executable, "-m", "transformers.cli.transformers", "serve", model)
    where = ("--host", "127.0.0.1", "--port", str(port), "--device", "cpu")
    offline = {"HF_HUB_OFFLINE": "1"}
    with running(*command, *where, port=port, ready="health", log=tmp_path / "log", **offline) as address:
        words = judged(model, address, tmp_path / "words", elicitations="binary")
        tokens = judged(model, address, tmp_path / "tokens", elicitations="probability")

    assert words.summary.n_calls == tokens.summary.n_calls == 6
    assert {outcome["reason"] for outcome in outcomes(words)} <= {"no_verdict", "empty", "truncated", "unparsed"}
    assert {outcome["reason"] for outcome in outcomes(tokens)} == {"no_logprobs"}
