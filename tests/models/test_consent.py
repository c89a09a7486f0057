"""No text leaves this machine without consent, whichever command, function or model it is for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.command import invoke
from tests.support.fault_server import FaultServer
from tests.support.served import served

import casewise
from casewise.api.deciding import fit_decider
from casewise.errors import ConfigurationError
from casewise.models import consent
from casewise.models.consent import agreed_receivers, allow_sending
from casewise.models.endpoints import Endpoint
from casewise.models.inspect_bridge import InspectModel
from casewise.models.load import ModelOptions, load_model
from casewise.models.protocol import ReplyOptions, user_messages

MODELS = Path(consent.__file__).parent
ONE = casewise.RunOptions(selection=casewise.Selection(limit=1))


def here(server: FaultServer) -> casewise.RunOptions:
    live = casewise.LiveOptions(model=ModelOptions(server.url))
    return casewise.RunOptions(selection=ONE.selection, live=live)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A server on loopback that passes for one of another machine."""
    monkeypatch.setattr(Endpoint, "remote", property(lambda self: True))
    with served(FaultServer()) as server:
        yield server


PATHS: dict[str, Callable[[FaultServer, Path], Any]] = {
    "judge": lambda server, _: casewise.judge("demo", "vllm/m", options=here(server)),
    "guard": lambda server, _: casewise.judge("demo", "guard:llm@vllm/m", options=here(server)),
    "moderation": lambda server, _: casewise.judge("demo", "guard:moderation@vllm/m", options=here(server)),
    "attacker": lambda server, _: casewise.attack(
        "demo", lambda query, context: "unsafe", attacker="m", options=here(server), noise="none"
    ),
    "maker of texts": lambda server, _: casewise.judge(
        "demo", "constant:safe", arms="full filter:m", options=here(server)
    ),
    "chatbot": lambda server, folder: casewise.collect("demo", "vllm/m", out=folder, base_url=server.url),
    "test of a connection": lambda server, _: casewise.try_connection(
        casewise.make_judge("vllm/m", casewise.load("demo"), live=here(server).live)
    ),
}


@pytest.mark.parametrize("path", PATHS)
def test_without_consent_python_sends_nothing(elsewhere, path, tmp_path):
    with pytest.raises(ConfigurationError, match=r"nothing was sent to 127\.0\.0\.1"):
        PATHS[path](elsewhere, tmp_path / "replies")

    assert elsewhere.bodies == []


def test_after_consent_python_sends(elsewhere):
    casewise.allow_sending("127.0.0.1")

    assert PATHS["judge"](elsewhere, Path()).summary.n_judged == 1


def test_a_receiver_that_the_environment_names_is_agreed_to(elsewhere, monkeypatch):
    monkeypatch.setenv(consent.VARIABLE, "api.example, 127.0.0.1")

    assert PATHS["judge"](elsewhere, Path()).summary.n_judged == 1
    assert agreed_receivers(remembered=False) >= {"api.example", "127.0.0.1"}


def test_a_decider_sends_nothing_without_consent(elsewhere, tmp_path):
    allow_sending("127.0.0.1")
    live = casewise.LiveOptions(model=ModelOptions(elsewhere.url))
    run = casewise.judge("demo", "vllm/m", elicitations="binary", options=casewise.RunOptions(live=live))
    fit_decider(run, ratio=1).save(tmp_path / "decider.json")
    consent.consent_file().unlink()
    sent = len(elsewhere.bodies)
    decider = casewise.Decider.load(tmp_path / "decider.json")

    with pytest.raises(ConfigurationError, match="nothing was sent"):
        decider.decide("Which dose?", "a nurse asks")
    decider.close()
    for words in (["decider", "ask", tmp_path / "decider.json", "--query", "?"], ["serve", tmp_path / "decider.json"]):
        said = invoke(*words)
        assert said.code == 2
        assert "harmful by design, to 127.0.0.1" in said.err
    assert len(elsewhere.bodies) == sent


@pytest.mark.parametrize(
    "beside",
    [("attack", "--attacker", "ollama/a", "--noise", "none"), ("judge", "--reader", "ollama/a"), ("judge", "--arms", "full filter:ollama/a")],
)  # fmt: skip
def test_yes_is_for_the_judge_and_not_for_a_model_beside_it(elsewhere, beside):
    command, *options = beside
    judge = ("--judge", "vllm/m", "--base-url", elsewhere.url, "--limit", 1, "--yes", "--out", "run")
    said = invoke(command, "demo", *judge, *options)

    assert said.code == 2
    assert f"to localhost. If its terms and yours allow that, set {consent.VARIABLE}=localhost." in said.err
    assert elsewhere.bodies == []


def test_another_library_is_asked_only_after_consent():
    model = InspectModel("inspect:openai/m", object())
    with pytest.raises(ConfigurationError, match="nothing was sent to openai"):
        asyncio.run(model.reply(user_messages("?"), ReplyOptions(max_tokens=8)))


def test_a_model_is_asked_only_after_consent(elsewhere):
    model = load_model("vllm/m", ModelOptions(elsewhere.url)).model
    with pytest.raises(ConfigurationError, match="nothing was sent"):
        asyncio.run(model.reply(user_messages("?"), ReplyOptions(max_tokens=8)))


def test_every_connection_asks_for_consent():
    opened = re.compile(r"^(.*)\n\s+self\._session = aiohttp\.ClientSession\(", re.MULTILINE)
    sources = {path: path.read_text(encoding="utf-8") for path in MODELS.rglob("*.py")}
    before = [line for source in sources.values() for line in opened.findall(source)]

    assert before
    assert all("require_consent(" in line for line in before)
    assert sum(source.count("ClientSession(") for source in sources.values()) == len(before)


def test_consent_for_one_program_is_not_remembered_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(consent.VARIABLE, "once.example, ,")
    allow_sending("always.example")
    assert agreed_receivers() == {"once.example", "always.example"}

    monkeypatch.delenv(consent.VARIABLE)
    assert agreed_receivers() == {"always.example"}
    with pytest.raises(ConfigurationError, match=r"nothing was sent to once\.example"):
        consent.require_consent("once.example")


def test_an_address_without_a_host_has_no_consent() -> None:
    assert Endpoint("m", "example.org/v1").receiver == ""
    with pytest.raises(ConfigurationError, match="nothing was sent"):
        consent.require_consent("")
