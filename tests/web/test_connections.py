"""Connections that are given up, and a server that resets none when it ends."""

import asyncio
import socket
import sys
import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn
from tests.support.databases import empty_database
from tests.support.server import KEY

from casewise.settings import Settings
from casewise.web import connections
from casewise.web.app import free_port, serving
from casewise.web.connections import GracefulServer, HeaderTimeout, drop_new_connections

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Half", b"whole"])
def test_a_connection_that_stops_in_its_headers_is_closed(tmp_path, monkeypatch, sent):
    monkeypatch.setattr(connections, "PATIENCE_S", 0.3)
    whole = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    port = free_port()
    settings = Settings(database=empty_database(tmp_path / "casewise.db"), secret_key=KEY, site_url="http://testserver")
    with serving(settings, port=port), socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        if sent == b"whole":  # one request is answered, and the next one stops
            client.sendall(whole)
            assert b"200 OK" in client.recv(4096)
            sent = whole[:20]
        client.sendall(sent)
        while client.recv(4096):
            pass


async def hello(scope, receive, send):
    """Answer the path /slow only after a while."""
    await receive()
    if scope["path"] == "/slow":
        await asyncio.sleep(0.3)
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


@contextmanager
def running(**options):
    """A server that ends gracefully, and its port."""
    port = free_port()
    config = uvicorn.Config(hello, port=port, lifespan="off", log_level="error", http=HeaderTimeout, **options)
    server = GracefulServer(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server, port
    finally:
        server.should_exit = True
        thread.join(10)
    assert not thread.is_alive()


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=5)


def all_from(client):
    """What comes until the other side closes."""
    return b"".join(iter(lambda: client.recv(4096), b""))


def test_an_answer_that_takes_longer_than_headers_may_is_not_cut_off(monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE_S", 0.1)
    with running() as (_, port), connected(port) as client:
        client.sendall(REQUEST.replace(b"/", b"/slow", 1))
        answer = b""
        while not answer.endswith(b"hello"):
            more = client.recv(4096)
            assert more, "the connection was closed before the answer"
            answer += more


def test_after_an_answer_the_next_headers_are_waited_for_anew(monkeypatch):
    monkeypatch.setattr(connections, "PATIENCE_S", 1.0)
    with running() as (_, port), connected(port) as client:
        for _ in range(3):
            time.sleep(0.4)
            client.sendall(REQUEST)
            assert b"hello" in client.recv(4096)


def test_a_server_that_ends_answers_who_had_connected_and_says_that_it_was_the_last_answer(monkeypatch):
    monkeypatch.setattr(connections, "ACCEPTING_S", 0.1)
    with running() as (server, port), connected(port) as idle, connected(port) as early:
        idle.sendall(REQUEST)
        assert b"connection: close" not in idle.recv(4096)
        server.should_exit = True
        time.sleep(0.2)  # the port is closed by now, and what is idle stays open for a moment
        early.sendall(REQUEST)
        assert b"connection: close" in all_from(early)
        idle.sendall(REQUEST)
        assert b"connection: close" in all_from(idle)
        with pytest.raises(ConnectionRefusedError):
            connected(port)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux drops connections so")
def test_the_kernel_keeps_connections_that_had_begun_and_drops_new_ones():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with connected(port) as begun:
            drop_new_connections(listening)
            accepted, _ = listening.accept()
            with accepted:
                begun.sendall(b"still here")
                assert accepted.recv(64) == b"still here"
            with pytest.raises(TimeoutError):
                socket.create_connection(("127.0.0.1", port), timeout=0.2)
