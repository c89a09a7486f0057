"""A gateway's question about a call of a tool: allow, deny or ask, an id, and the arguments that it is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from pydantic import JsonValue

import casewise
from casewise.api.deciding import Requirements, fit_decider
from casewise.deciding.decider import Decider
from casewise.deciding.monitor import ServiceOptions, read_traffic
from casewise.storage.actions import arguments_digest
from casewise.web.deciding import create_service

ARGUMENTS: dict[str, JsonValue] = {"to": "m.keller@example.org"}

CALL = {
    "caller": "an assistant of a nurse at a clinic",
    "tool": "send_email",
    "arguments": ARGUMENTS,
    "purpose": "the doctor needs the values",
    "recipient": "the doctor who treats the patient",
}


def rule(action: str, context: dict[str, dict[str, str]]) -> str:
    """Allow what goes to a doctor, ask about what was not recorded, deny the rest."""
    if "not recorded" in action:
        return "ask"
    return "allow" if "doctor" in context.get("recipient", {}).get("who", "") else "deny"


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory) -> Decider:
    folder = tmp_path_factory.mktemp("decider")
    run = casewise.judge("demo-actions", rule, elicitations="permission", out=folder / "run")
    fit_decider(run, Requirements(ratio=1), judge=rule).save(folder / "decider.json")
    loaded = Decider.load(folder / "decider.json", judge=rule)
    limits = replace(loaded.file.thresholds, answer_above=0.75, refuse_up_to=0.25)
    return Decider(loaded.file.model_copy(update={"thresholds": limits}), loaded.judge, file_hash=loaded.hash)


def client(decider: Decider, options: ServiceOptions = ServiceOptions()) -> TestClient:
    return TestClient(create_service(decider, options), raise_server_exceptions=False)


def test_a_call_is_allowed_denied_or_asked_about_under_an_id_of_its_own(decider: Decider):
    service = client(decider)
    allowed = service.post("/v1/calls", json=CALL).json()
    denied = service.post("/v1/calls", json={**CALL, "recipient": "the patient's employer"}).json()
    asked = service.post("/v1/calls", json={**CALL, "arguments": None}).json()
    assert [answer["permission"] for answer in (allowed, denied, asked)] == ["allow", "deny", "ask"]
    assert len({answer["id"] for answer in (allowed, denied, asked)}) == 3
    assert allowed["arguments_digest"] == arguments_digest(ARGUMENTS)
    assert allowed["unmeasured"] == []
    assert allowed["decider"] == decider.hash


def test_a_gateway_may_keep_the_arguments_and_send_their_digest(decider: Decider):
    digest = arguments_digest(ARGUMENTS)
    sent = {**CALL, "arguments": None, "arguments_digest": digest}
    answer = client(decider).post("/v1/calls", json=sent).json()
    assert (answer["permission"], answer["arguments_digest"]) == ("ask", digest)


def test_a_digest_of_other_arguments_is_refused(decider: Decider):
    wrong = client(decider).post("/v1/calls", json={**CALL, "arguments_digest": arguments_digest({})})
    assert wrong.status_code == 422
    assert "does not match the arguments" in wrong.json()["error"]["message"]


def test_what_was_not_measured_is_said(decider: Decider):
    service = client(decider)
    strange = service.post("/v1/calls", json={**CALL, "context": {"weather": {"sky": "blue"}}}).json()
    request = service.post("/v1/decide", json={"query": "What now?"}).json()
    assert "weather.sky" in strange["unmeasured"][0]
    assert any("it is a request, and actions were measured" in why for why in request["unmeasured"])


def test_in_the_shadow_everything_is_let_through_and_written_down(decider: Decider, tmp_path: Path):
    service = client(decider, ServiceOptions(shadow=True, capture=tmp_path / "log.jsonl"))
    answer = service.post("/v1/calls", json={**CALL, "recipient": "a stranger"}).json()
    assert (answer["permission"], answer["decision"], answer["shadow"]) == ("allow", "refuse", True)
    assert [line.decision for line in read_traffic(tmp_path / "log.jsonl").lines] == ["refuse"]


def test_an_unknown_field_is_named(decider: Decider):
    wrong = client(decider).post("/v1/calls", json={**CALL, "reason": "?"})
    assert wrong.status_code == 422
    assert "'reason' is an unknown field" in wrong.json()["error"]["message"]
