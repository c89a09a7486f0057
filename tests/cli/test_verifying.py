"""The commands that hold contexts against facts, and that extract what is known, as a person types them."""

import json

import pytest
from aiohttp import web
from tests.support.command import Command
from tests.support.fault_server import FaultServer, completion
from tests.support.served import served

from casewise import api

AT = ("--at", "2026-06-01")


@pytest.fixture
def command(monkeypatch, capsys):
    return Command(monkeypatch, capsys)


def says(content):
    return FaultServer(refuse=lambda request, body: web.json_response(completion(body, content)))


def test_a_verifier_is_reached_where_base_url_says_and_an_arm_takes_its_word(command, tmp_path):
    made = api.forge_contexts("demo", tmp_path / "forged", at="2026-06-01")
    verify = ("contexts", "verify", made.folder, "--facts", made.facts, *AT, "--verifier", "rubric:vllm/tiny")
    kept = ("--calls", tmp_path / "calls", "--out", tmp_path / "v.json", "--price-in", "1", "--price-out", "1")
    planned = json.loads(command(*verify, *kept[:2], "--dry-run", "--json", "--base-url", "http://127.0.0.1:9/v1").out)
    with served(says('{"verdict": "entailed"}')) as server:
        done = command(*verify, *kept, "--base-url", server.url)
        assert len(server.bodies) == planned["rubric:vllm/tiny"]["n_calls"] > 0
    assert done.code == 0, done.err
    found = json.loads((tmp_path / "v.json").read_text())
    assert {one["step"] for one in found["claims"]} >= {"words", "rubric:vllm/tiny"}
    arms = (
        "--attacks",
        "claim:authority/user/safe",
        "--noise",
        "none",
        "--defences",
        f"verified:{tmp_path / 'v.json'}",
    )
    assert command("attack", "demo", "--judge", "fake/rehearsal", *arms, "--out", tmp_path / "run").code == 0


def test_a_text_is_read_by_a_model_at_base_url_within_its_budget(command, tmp_path):
    (tmp_path / "prompt.txt").write_text("You serve ward nurses. Be kind.")
    extract = ("contexts", "extract", "--text", tmp_path / "prompt.txt", "--model", "vllm/tiny")
    more = ("--calls", tmp_path / "calls", "--out", tmp_path / "known.jsonl", "--price-in", "1", "--price-out", "1")
    with served(says('{"recipient.type": "ward nurses"}')) as server:
        stopped = command(*extract, *more, "--base-url", server.url, "--max-tokens-total", "1")
        assert not server.bodies
        assert (stopped.code, (tmp_path / "known.jsonl").exists()) == (2, False)
        assert command(*extract, *more, "--base-url", server.url).code == 0
    rows = [json.loads(line) for line in (tmp_path / "known.jsonl").read_text().splitlines()]
    assert [one["value"] for one in rows if "value" in one] == ["ward nurses"]


def test_batches_are_not_offered_where_they_are_not_used(command, tmp_path):
    said = command("contexts", "verify", "demo", "--facts", tmp_path / "f.jsonl", "--batch")
    assert said.code == 2
    assert "No such option" in said.err
