import hashlib
import http.server
import json
import threading

import pytest
from tests.support.command import Command
from tests.support.published import released_rows

import casewise
from casewise.api import benchmarks as asked_for
from casewise.errors import ChecksumMismatch, ConfigurationError, DataError
from casewise.storage import load as loading
from casewise.storage import published as fetching
from casewise.storage.published import CASEBENCH, Pinned, cache_folder, fetch, fetched, take

RELEASE = json.dumps(released_rows(4)).encode()


class Local(Pinned):
    """A pinned file on a server of the test's own."""

    @property
    def url(self):
        return self.repository + self.path


class Server(http.server.ThreadingHTTPServer):
    """What it serves, and what it was asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {"/release.json": RELEASE}
        self.asked: list[str] = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        assert isinstance(self.server, Server)
        self.server.asked.append(self.path)
        found = self.server.files.get(self.path)
        self.send_response(200 if found is not None else 404)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *_):
        return


@pytest.fixture
def server():
    with Server() as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


@pytest.fixture
def pinned(server, monkeypatch):
    local = Local(**CASEBENCH._asdict())._replace(
        repository=f"http://127.0.0.1:{server.server_port}",
        path="/release.json",
        sha256=hashlib.sha256(RELEASE).hexdigest(),
    )
    monkeypatch.setattr(fetching, "CASEBENCH", local)
    monkeypatch.setattr(loading, "CASEBENCH", local)
    monkeypatch.setattr(asked_for, "CASEBENCH", local)
    monkeypatch.setattr(loading, "fetched", lambda: fetched(local))
    return local


@pytest.fixture
def command(monkeypatch, capsys):
    return Command(monkeypatch, capsys)


def cached():
    return [path.name for path in cache_folder().glob("*")] if cache_folder().exists() else []


def test_the_release_is_fetched_once_checked_and_loaded_by_its_name(server, pinned):
    path = fetch(pinned, accept_terms=True, progress=False)
    fetch(pinned, accept_terms=True, progress=False)

    assert path.read_bytes() == RELEASE
    assert server.asked == ["/release.json"]
    assert fetched(pinned) == path
    assert casewise.load("casebench").counts.items == 4


def test_a_file_that_was_damaged_since_is_fetched_again(server, pinned):
    path = fetch(pinned, accept_terms=True, progress=False)
    path.write_bytes(b"damaged")

    with pytest.raises(ChecksumMismatch, match=r"not .* of the pinned release; fetch it again"):
        fetched(pinned)
    fetch(pinned, accept_terms=True, progress=False)
    assert fetched(pinned).read_bytes() == RELEASE


def test_nothing_is_asked_for_before_the_terms_are_accepted(server, pinned):
    with pytest.raises(ConfigurationError, match=r"(?s)SORRY-Bench.*--accept-terms"):
        fetch(pinned, accept_terms=False)
    assert server.asked == []


def test_another_file_than_the_pinned_one_is_not_kept(server, pinned):
    server.files["/release.json"] = RELEASE + b" "

    with pytest.raises(ChecksumMismatch, match="the download is not the pinned release"):
        fetch(pinned, accept_terms=True, progress=False)
    assert cached() == []


def test_a_file_that_is_gone_says_what_else_to_do(server, pinned):
    server.files.clear()

    with pytest.raises(ConfigurationError, match=r"cannot download casebench .*--from FILE"):
        fetch(pinned, accept_terms=True, progress=False)
    assert cached() == []


def test_a_cache_that_cannot_be_written_is_said(pinned):
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("in the way")

    with pytest.raises(ConfigurationError, match="cannot write"):
        fetch(pinned, accept_terms=True, progress=False)


def test_a_copy_is_taken_once_the_terms_are_accepted(pinned, tmp_path, command):
    copy = tmp_path / "copy.json"
    copy.write_bytes(RELEASE)

    refused = command("data", "fetch", "casebench", "--from", copy)
    assert refused.code == 2
    assert "SORRY-Bench" in refused.err
    assert "--accept-terms" in refused.err
    assert cached() == []

    taken = command("data", "fetch", "casebench", "--from", copy, "--accept-terms")
    assert taken.code == 0
    assert fetched(pinned).read_bytes() == RELEASE
    assert command("show", "casebench").code == 0


def test_a_copy_of_something_else_is_not_taken(pinned, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes(RELEASE[:-1])

    with pytest.raises(ChecksumMismatch, match="of the pinned release"):
        take(copy, pinned, accept_terms=True)
    with pytest.raises(DataError, match="no such file"):
        take(tmp_path / "nothing.json", pinned, accept_terms=True)
    assert cached() == []


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("", 2)])
def test_at_a_terminal_the_terms_are_shown_and_asked_about(answer, code, server, pinned, command, monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal(answer))
    said = command("data", "fetch", "casebench")

    assert said.code == code
    assert said.err.count("SORRY-Bench") == 1
    assert len(server.asked) == (code == 0)


def test_the_release_is_pinned_as_its_design_says():
    assert CASEBENCH.sha256 == "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c"
    assert CASEBENCH.commit in CASEBENCH.url
    assert CASEBENCH.url.startswith("https://")
