import hashlib
import http.server
import io
import json
import threading
from dataclasses import replace

import pytest
from tests.support.command import invoke as command
from tests.support.public_benchmarks import FILES, write_files, written

import casewise
from casewise import plugins
from casewise.api import fetch, public_benchmarks
from casewise.errors import ChecksumMismatch, ConfigurationError, DataError
from casewise.storage.files import cache_folder
from casewise.storage.loaders import registry
from casewise.storage.loaders.public import CASEBENCH
from casewise.storage.loaders.registry import checksum_file, fetched_file

RELEASE = written("release.json", FILES["casebench"]["CASEBench_data.json"])


class Server(http.server.ThreadingHTTPServer):
    """What it serves, and what it was asked for."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
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
def served(server, monkeypatch):
    """Puts the made-up files of a benchmark on the test's own server, pinned or not, and has its loader look there."""

    def serve(name, *, pinned=True):
        loader, files = registry.loader_named(name), []
        for file in loader.files:
            content = written(file.name, FILES[name][file.name])
            server.files[f"/{file.name}"] = content
            url = f"http://127.0.0.1:{server.server_port}/{file.name}"
            files.append(replace(file, url=url, sha256=hashlib.sha256(content).hexdigest() if pinned else None))
        elsewhere = f"http://127.0.0.1:{server.server_port}"
        extra = {
            option: tuple(
                replace(file, url=f"{elsewhere}/{(file.url or '').partition('/exp/')[2] or 'template.py'}")
                for file in files
            )
            for option, files in loader.extra.items()
        }
        local = replace(loader, files=tuple(files), extra=extra)
        own = plugins.builtin_parts
        monkeypatch.setattr(
            plugins, "builtin_parts", lambda kind: {**own(kind), name: local} if kind == "benchmarks" else own(kind)
        )
        return local

    return serve


def cached():
    return sorted(path.name for path in cache_folder().glob("*")) if cache_folder().exists() else []


@pytest.mark.parametrize("name", ["casebench", "pluriharms", "xstest"])
def test_a_benchmark_is_fetched_once_checked_and_loaded_by_its_name(name, server, served, capsys):
    local = served(name)
    first = fetch(name, accept_terms=True)
    again = fetch(name, accept_terms=True)

    assert first.files == again.files == {**first.files, name: local.cache_path(local.files[0])}
    assert server.asked == [f"/{file.name}" for file in local.files]
    assert "known_hash" not in capsys.readouterr().err
    assert casewise.load(name).name == name
    assert command("show", name).code == 0
    assert command("judge", name, "--judge", "constant:safe", "--out", "run").code == 0
    assert public_benchmarks().filter(name=name)["fetched"].item()


def test_a_file_that_was_damaged_since_is_fetched_again(served):
    local = served("casebench")
    path = fetch(accept_terms=True).files["casebench"]
    path.write_bytes(b"damaged")

    with pytest.raises(ChecksumMismatch, match=r"not .* of the pinned release; fetch it again"):
        casewise.load("casebench")
    assert fetch(accept_terms=True).files["casebench"].read_bytes() == RELEASE
    assert cached() == [local.cache_path(local.files[0]).name]


def test_nothing_is_asked_for_before_licence_and_terms_were_shown_and_accepted(server, served):
    served("casebench")
    refused = command("data", "fetch", "casebench", "--prompts", "--from", "my copy.py")

    assert refused.code == 2
    assert "To accept: casewise data fetch casebench --prompts '--from=my copy.py' --accept-terms" in refused.err
    assert "SORRY-Bench" in refused.err
    assert "Licence:" in refused.err
    assert "BriansIDP/CASEBench @135f221" in refused.err
    assert server.asked == []


def test_another_file_than_the_pinned_one_is_not_kept(server, served):
    served("casebench")
    server.files["/CASEBench_data.json"] = RELEASE + b" "

    with pytest.raises(ChecksumMismatch, match="is not the pinned release"):
        fetch(accept_terms=True)
    assert cached() == []


def test_a_file_that_is_gone_says_what_to_download_from_where_and_how_to_give_it(server, served):
    local = served("pluriharms")
    server.files.clear()

    with pytest.raises(ConfigurationError, match=r"cannot download .* of pluriharms") as refused:
        fetch("pluriharms", accept_terms=True)
    assert all(file.url in str(refused.value) for file in local.files)
    assert "casewise data fetch pluriharms --from annotations.csv --from prompts.csv" in str(refused.value)
    assert cached() == []


def test_prompts_that_are_gone_are_asked_for_by_name_where_the_benchmark_is_here(server, served):
    local = served("casebench")
    fetch(accept_terms=True)

    with pytest.raises(ConfigurationError, match=r"cannot download prompts\.py of casebench") as refused:
        fetch(accept_terms=True, prompts=True)
    assert local.extra["prompts"][0].url in str(refused.value)
    assert str(refused.value).endswith("casewise data fetch casebench --prompts --from template.py")


def test_a_cache_that_cannot_be_written_is_told(served):
    served("casebench")
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("in the way")

    with pytest.raises(ConfigurationError, match="cannot write"):
        fetch(accept_terms=True)


def test_an_unpinned_file_shows_its_checksum_and_the_first_copy_is_the_one_that_counts(server, served):
    local = served("xstest", pinned=False)
    content = server.files["/xstest_prompts.csv"]
    done = command("data", "fetch", "xstest", "--accept-terms")

    assert done.code == 0
    assert hashlib.sha256(content).hexdigest() in done.err
    target = local.cache_path(local.files[0])
    target.write_bytes(content + b"3,another,homonyms,safe,kill,\n")
    with pytest.raises(ChecksumMismatch):
        casewise.load("xstest")
    target.unlink()
    server.files["/xstest_prompts.csv"] = content + b"3,another,homonyms,safe,kill,\n"
    refused = command("data", "fetch", "xstest", "--accept-terms")
    assert refused.code == 2
    assert str(checksum_file(target)) in refused.err
    checksum_file(target).unlink()
    assert command("data", "fetch", "xstest", "--accept-terms").code == 0


def test_an_unpinned_benchmark_says_so_before_anything_is_fetched():
    told = command("data", "fetch", "dices_990").err

    assert "Not pinned: diverse_safety_adversarial_dialog_990.csv" in told
    assert "CC-BY-4.0" in told


def test_copies_are_taken_by_name_or_in_order_and_written_to_a_folder(served, tmp_path):
    local = served("pluriharms")
    files = write_files(local, tmp_path)
    other = tmp_path / "mine.csv"
    other.write_bytes(files["prompts.csv"].read_bytes())

    few = command("data", "fetch", "pluriharms", "--accept-terms", "--from", files["prompts.csv"])
    assert (few.code, "2 files and --from names 1" in few.err) == (2, True)
    wrong = ["--from", other, "--from", files["annotations.csv"]]
    assert command("data", "fetch", "pluriharms", "--accept-terms", *wrong).code == 2
    assert cached() == []
    by_name = ["--from", files["prompts.csv"], "--from", files["annotations.csv"], "--out", tmp_path / "out"]
    assert command("data", "fetch", "pluriharms", "--accept-terms", *by_name).code == 0
    assert casewise.load(tmp_path / "out").digest == casewise.load("pluriharms").digest


def test_a_copy_of_something_else_is_not_taken(served, tmp_path):
    served("casebench")
    copy = tmp_path / "copy.json"
    copy.write_bytes(RELEASE[:-1])

    with pytest.raises(ChecksumMismatch, match="is not the pinned release"):
        fetch(copies=copy, accept_terms=True)
    with pytest.raises(DataError, match="no such file"):
        fetch(copies=tmp_path / "nothing.json", accept_terms=True)
    assert cached() == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,text,type\n1,a request,homonyms\n", ":2: 'prompt' is not there"),
        ("<!DOCTYPE html>\n<title>Not found</title>\n", ": is a web page (HTML) or XML, not a table"),
    ],
)
def test_an_unpinned_copy_in_another_shape_is_refused_and_not_kept(tmp_path, text, problem):
    copy = tmp_path / "copy.csv"
    copy.write_text(text)
    refused = command("data", "fetch", "xstest", "--accept-terms", "--from", copy)

    assert refused.code == 2
    assert f"{copy}{problem}" in refused.err
    assert cached() == []


def test_a_set_that_is_not_offered_asks_for_a_copy_and_takes_it(tmp_path):
    refused = command("data", "fetch", "judgebench_qags", "--accept-terms")
    assert (refused.code, "casewise data fetch judgebench_qags --from qags.json" in refused.err) == (2, True)
    copy = tmp_path / "mine.json"
    copy.write_bytes(written("a.json", FILES["judgebench_newsroom"]["newsroom.json"]))
    assert command("data", "fetch", "judgebench_qags", "--accept-terms", "--from", copy).code == 0
    assert casewise.load("judgebench_qags").counts.items == 2


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("", 2)])
def test_at_a_terminal_the_terms_are_shown_and_asked_about(answer, code, server, served, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    served("casebench")
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    told = command("data", "fetch", "casebench")

    assert told.code == code
    assert told.err.count("SORRY-Bench") == 1
    assert len(server.asked) == (code == 0)


def test_the_list_says_what_each_benchmark_is():
    listed = json.loads(command("data", "list", "--json").out)["benchmarks"]
    by_name = {one["name"]: one for one in listed}

    assert {"casebench", "dices_350", "dices_990", "pluriharms", "privacylens", "confaide"} <= set(by_name)
    assert {"opensafeintent", "safepyramid", "xstest", "judgebench_dices_350_crowdsourced"} <= set(by_name)
    assert (
        by_name["privacylens"] | {"fetched": False, "pinned": True, "labels_by": "author", "judged": "action"}
        == (by_name["privacylens"])
    )
    assert not by_name["safepyramid"]["pinned"]
    table = command("data", "list").out
    assert all(name in table for name in by_name)


def test_the_release_is_pinned_as_its_design_says():
    (data,) = CASEBENCH.files
    assert data.sha256 == "49bc10879c5350061eb1239b4f14f1a756683ca39e7e2abfc85fba70f9faac0c"
    assert data.url is not None
    assert "135f221e0e3e4cdc9a7d17288fa6b54c8aa45d0a" in data.url
    assert CASEBENCH.cache_path(data).name == "casebench-49bc10879c53.json"
    assert CASEBENCH.cache_path(CASEBENCH.extra["prompts"][0]).name == "casebench-prompts-1b83b0e36a5e.py"
    with pytest.raises(
        DataError, match=r"a part of casebench is not here yet; run: casewise data fetch casebench --prompts"
    ):
        fetched_file(CASEBENCH, CASEBENCH.extra["prompts"][0])


def test_published_outputs_are_fetched_into_a_folder_by_checksum_and_named_by_the_benchmark(
    server, served, tmp_path, monkeypatch
):
    local = served("casebench")
    every = local.extra["outputs"]
    assert len({local.cache_path(file) for file in every}) == len(every) == 43

    contents = {file.name: f"[] of {file.name}".encode() for file in every[:2]}
    few = tuple(replace(file, sha256=hashlib.sha256(contents[file.name]).hexdigest()) for file in every[:2])
    monkeypatch.setitem(local.extra, "outputs", few)
    for file in few:
        server.files[str(file.url).removeprefix(f"http://127.0.0.1:{server.server_port}")] = contents[file.name]

    fetched = fetch(accept_terms=True, outputs=True)
    assert fetched.files["casebench-outputs"] == cache_folder() / "casebench-outputs"
    assert local.cache_path(few[1]).read_bytes() == contents[few[1].name]

    local.cache_path(few[0]).write_bytes(b"damaged")
    with pytest.raises(ChecksumMismatch):
        fetched_file(local, few[0])
    exp = tmp_path / "exp"
    for file in few:
        copy = exp.joinpath(*file.name.split("/")[1:])
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(contents[file.name])
    fetch(accept_terms=True, outputs=True, copies=exp)
    assert fetched_file(local, few[0]).read_bytes() == contents[few[0].name]

    server.files.clear()
    local.cache_path(few[0]).unlink()
    with pytest.raises(ConfigurationError) as refused:
        fetch(accept_terms=True, outputs=True)
    assert str(refused.value).endswith("casewise data fetch casebench --outputs --from FOLDER")
    with pytest.raises(ConfigurationError, match="xstest has no outputs to fetch; leave --outputs out"):
        fetch("xstest", accept_terms=True, outputs=True)
