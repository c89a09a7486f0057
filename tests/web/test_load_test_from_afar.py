"""Where `study rehearse` is pointed at a server that is away, or that nobody vouches for."""

import asyncio
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

import pytest

from casewise.errors import StudyError
from casewise.studies.rounds import RehearsalOptions
from casewise.web import load_test as clients
from casewise.web.app import free_port


def rehearsed_at(url):
    plan = clients.RehearsalPlan(url=f"{url}/study/1", options=RehearsalOptions(annotators=2, at_once=2))
    return asyncio.run(clients.rehearse(plan, cast("Any", None), arrival=lambda number: {"person": str(number)}))


def test_a_server_that_stays_away_is_said_in_one_sentence(monkeypatch):
    monkeypatch.setattr(clients, "PATIENCE_S", 0.0)

    with pytest.raises(StudyError, match="is `casewise serve` running"):
        rehearsed_at(f"http://127.0.0.1:{free_port()}")


@pytest.fixture
def unvouched(tmp_path):
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -keyout key.pem -out cert.pem"
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_certificate_that_is_not_trusted_is_not_tried_again(unvouched):
    begun = time.monotonic()

    with pytest.raises(StudyError, match="SSL_CERT_FILE"):
        rehearsed_at(unvouched)

    assert time.monotonic() - begun < clients.PATIENCE_S / 2
