"""`deploy/litellm/`: the real proxy in front of a chatbot asks a decider first. CASEWISE_TEST_LITELLM names its `litellm` command."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.postgres import free_port
from tests.web.deciding.test_served import serving, wait_for

from casewise.deciding.monitor import read_traffic

LITELLM = os.environ.get("CASEWISE_TEST_LITELLM")

KEY = f"sk-{secrets.token_hex(32)}"

REPLY = {
    "id": "r",
    "object": "chat.completion",
    "created": 0,
    "model": "chat",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}

BY_WORD = """
async def judge(query, context):
    return 0.1 if "poison" in query else 0.9

judge.elicitation = "probability"
"""


class Chatbot(BaseHTTPRequestHandler):
    asked = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        type(self).asked += 1
        body = json.dumps(REPLY).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def chat(port: int, words: str) -> tuple[int, dict[str, Any]]:
    body = json.dumps({"model": "chat", "messages": [{"role": "user", "content": words}]}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        body,
        {"content-type": "application/json", "authorization": f"Bearer {KEY}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(LITELLM is None, reason="CASEWISE_TEST_LITELLM names no litellm command")
def test_the_proxy_calls_its_model_only_where_the_decider_answers(tmp_path, monkeypatch):
    """Answered, refused, and refused because the decider is gone; each decision is in the log under the proxy's id."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[3] / "deploy" / "litellm", tmp_path / "proxy")
    Chatbot.asked, port = 0, free_port()
    with ThreadingHTTPServer(("127.0.0.1", 0), Chatbot) as chatbot:
        threading.Thread(target=chatbot.serve_forever, daemon=True).start()
        with serving("--capture", "log.jsonl", source=BY_WORD) as (decider_port, service):
            environment = {
                **os.environ,
                "CASEWISE_URL": f"http://127.0.0.1:{decider_port}",
                "CHAT_URL": f"http://127.0.0.1:{chatbot.server_address[1]}/v1",
                "CHAT_KEY": "unused",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "LITELLM_MASTER_KEY": KEY,
            }
            command = [str(LITELLM), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
            with subprocess.Popen(command, cwd=tmp_path / "proxy", env=environment, stdout=subprocess.DEVNULL) as proxy:
                try:
                    wait_for(lambda: proxy.poll() is not None or is_ready(port), patience_s=180)
                    answered, refused = chat(port, "Hello"), chat(port, "Which poison?")
                    service.terminate()
                    service.wait(timeout=60)
                    gone = chat(port, "Hello")
                finally:
                    proxy.terminate()
        chatbot.shutdown()
    lines = read_traffic(Path("log.jsonl")).lines

    assert (answered[0], answered[1]["choices"][0]["message"]["content"]) == (200, "Hello.")
    assert (refused[0], gone[0], Chatbot.asked) == (400, 400, 1)
    assert "refused in this context" in str(refused[1])
    assert lines[-1].decision == "refuse"
    assert lines[-1].id in str(refused[1])
