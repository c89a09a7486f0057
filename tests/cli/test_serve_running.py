"""What `casewise serve`, `backup`, `doctor` and `invite` start, write and print, and what they refuse before that."""

import json
import os
import signal
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.databases import empty_database
from tests.support.study import SECRET

from casewise import database
from casewise.cli import serve as commands
from casewise.cli.printing import gathering_results
from casewise.database.tables import staff
from casewise.deciding.monitor import ServiceOptions
from casewise.errors import ConfigurationError

# What is served, and where.


@pytest.fixture
def started(monkeypatch):
    """What was started on which port; a port is free unless it is named 9."""
    calls = list[Any]()

    def free_port(host, port):
        if port == 9:
            raise ConfigurationError(f"cannot listen on {host}:9")
        return port

    monkeypatch.setattr("casewise.cli.serve.free_port", free_port)
    for name in ("serve_app", "serve_decider", "serve_runs", "preview"):
        monkeypatch.setattr(f"casewise.cli.serve.{name}", lambda *given, name=name: calls.append((name, *given)))
    return calls


@pytest.mark.parametrize("port", [None, 5000])
def test_each_kind_is_served_on_its_own_port_unless_another_is_named(started, port):
    decider, run, study = Path("d.json"), Path("run"), Path("s.toml")
    for what in ((), (decider,), (run, Path("other")), (study,)):
        commands.serve(what, port=port)

    service, options, view = ServiceOptions(), commands.DeciderOptions(), commands.ViewOptions()
    assert started == [
        ("serve_app", commands.AppOptions(), "127.0.0.1", port or 8000),
        ("serve_decider", decider, service, options, "127.0.0.1", port or 8108),
        ("serve_runs", (run, Path("other")), view, port or 8109),
        ("preview", study, port or 0),
    ]


def test_the_app_and_a_decider_listen_where_they_are_told_to(started):
    for what in ((), (Path("d.json"),)):
        commands.serve(what, host="0.0.0.0", port=0)
        with pytest.raises(ConfigurationError, match=r"cannot listen on 10\.0\.0\.1:9"):
            commands.serve(what, host="10.0.0.1", port=9)
    assert [(call[0], *call[-2:]) for call in started] == [
        ("serve_app", "0.0.0.0", 0),
        ("serve_decider", "0.0.0.0", 0),
    ]


@pytest.fixture
def uvicorn(monkeypatch):
    """What uvicorn was asked to run."""
    runs = list[Any]()
    monkeypatch.setattr("uvicorn.run", lambda app, **options: runs.append((app, options)))
    return runs


def test_the_app_is_announced_and_gets_its_settings_by_the_environment(uvicorn, capsys, monkeypatch, tmp_path):
    path = empty_database(tmp_path / "x.db")
    for name in ("CASEWISE_DATABASE", "CASEWISE_SITE_URL"):
        monkeypatch.setenv(name, "")  # and back, after the test
    monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET)
    commands.serve_app(commands.AppOptions(path), "127.0.0.1", 8000)
    printed, notes = capsys.readouterr()
    assert printed == "casewise is at http://127.0.0.1:8000\n"
    assert notes.startswith("There is no account yet. Create the first one: casewise invite ")
    named = ("CASEWISE_DATABASE", "CASEWISE_SITE_URL", "CASEWISE_SECRET_KEY")
    assert [os.environ[name] for name in named] == [path, "http://127.0.0.1:8000", SECRET]
    ((app, options),) = uvicorn
    assert (app, options["factory"], options["host"], options["port"]) == (
        "casewise.web.app:app",
        True,
        "127.0.0.1",
        8000,
    )
    assert (options["workers"], options["access_log"], options["server_header"]) == (1, False, False)
    assert (options["timeout_worker_healthcheck"], options["timeout_keep_alive"]) == (60, 150)


def test_the_address_of_the_app_is_the_one_that_is_named(uvicorn, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("casewise.database.staff.has_no_active_people", lambda _connection: False)
    path = empty_database(tmp_path / "x.db")
    for name in ("CASEWISE_DATABASE", "CASEWISE_SECRET_KEY"):
        monkeypatch.setenv(name, "" if name == "CASEWISE_DATABASE" else SECRET)
    monkeypatch.setenv("CASEWISE_SITE_URL", "https://one.org")
    commands.serve_app(commands.AppOptions(path), "127.0.0.1", 8000)
    assert capsys.readouterr() == ("casewise is at https://one.org\n", "")
    with gathering_results(json=True):
        commands.serve_app(commands.AppOptions(path, "https://two.org"), "127.0.0.1", 8000)
    assert json.loads(capsys.readouterr().out) == {"address": "https://two.org"}
    with pytest.raises(ConfigurationError, match="several workers need a database server"):
        commands.serve_app(commands.AppOptions(path, workers=2), "127.0.0.1", 8000)
    assert len(uvicorn) == 2


# A decider.


class Loaded:
    """A decider that was loaded, and the decision where its judge gives no value."""

    def __init__(self, decision: str = "fitted") -> None:
        self.judge = SimpleNamespace(sends_to="judge.org")
        self.file = SimpleNamespace(judge=SimpleNamespace(name="vllm/m"))
        self.hash, self.decision = "abc", decision

    def with_failure_decision(self, decision: str) -> "Loaded":
        return Loaded(decision)


@pytest.fixture
def service(monkeypatch):
    """What happened: loading, consent, and the service that ran."""
    events = list[Any]()

    class Server:
        def __init__(self, config):
            self.config = config

        def run(self):
            events.append(("ran", self.config))

    def load(file, *, model):
        events.append(("loaded", file, model))
        return Loaded()

    monkeypatch.setattr("casewise.cli.serve.api.deciding.Decider.load", load)
    monkeypatch.setattr("casewise.cli.serve.confirm_sending", lambda *asked: events.append(("asked", *asked)))
    monkeypatch.setattr("casewise.web.deciding.create_service", lambda loaded, options: ("service", loaded, options))
    monkeypatch.setattr("casewise.web.connections.GracefulServer", Server)
    monkeypatch.setattr("uvicorn.Config", lambda app, **options: (app, options))
    return events


D = Path("d.json")


def test_a_decider_answers_other_machines_only_with_keys_or_where_that_is_said(service):
    keyless, open_to_all = commands.DeciderOptions(), commands.DeciderOptions(without_keys=True)
    with pytest.raises(
        ConfigurationError, match=r"^0\.0\.0\.0 accepts requests from other machines; give --keys FILE, or"
    ):
        commands.serve_decider(D, ServiceOptions(), keyless, "0.0.0.0", 8108)
    assert service == []
    for host in ("127.0.0.1", "::1", "localhost"):
        commands.serve_decider(D, ServiceOptions(), keyless, host, 8108)
    commands.serve_decider(D, ServiceOptions(keys=Path("keys")), keyless, "0.0.0.0", 8108)
    commands.serve_decider(D, ServiceOptions(), open_to_all, "0.0.0.0", 8108)
    assert [event[0] for event in service] == ["loaded", "asked", "ran"] * 5


def test_a_decider_is_served_after_consent_with_limits_that_end_before_its_clients(service, capsys):
    options = ServiceOptions(timeout=2.5)
    commands.serve_decider(D, options, commands.DeciderOptions(base_url="http://model/v1"), "127.0.0.1", 8108)

    (_, file, model), asked, (_, (app, config)) = service
    assert (file, model.base_url, model.client.timeout_s, model.client.longest_outage_s) == (
        D,
        "http://model/v1",
        25.0,
        0.0,
    )
    assert (model.client.concurrency, model.client.retry.retries) == (256, 1)
    assert asked == ("asked", "requests", "judge.org")
    assert (app[1].decision, app[2], config["timeout_graceful_shutdown"]) == ("fitted", options, 7)
    assert (config["host"], config["port"], config["access_log"], config["server_header"]) == (
        "127.0.0.1",
        8108,
        False,
        False,
    )
    assert capsys.readouterr() == ("", "the decider of vllm/m answers POST http://127.0.0.1:8108/v1/decide\n")


def test_a_decider_in_shadow_mode_says_so_and_its_decision_without_a_value_can_be_set(service, capsys):
    commands.serve_decider(D, ServiceOptions(shadow=True), commands.DeciderOptions(fail="ask"), "127.0.0.1", 8108)
    assert capsys.readouterr().err.endswith("/v1/decide in shadow mode: every request passes\n")
    assert service[-1][1][0][1].decision == "ask"
    with gathering_results(json=True):
        commands.serve_decider(D, ServiceOptions(), commands.DeciderOptions(), "127.0.0.1", 8108)
    assert json.loads(capsys.readouterr().out) == {
        "address": "http://127.0.0.1:8108",
        "decide": "http://127.0.0.1:8108/v1/decide",
        "judge": "vllm/m",
        "decider": "abc",
        "shadow": False,
    }


# Runs, and a study's pages.


def viewed_runs(*, restricted=False, of_replies=False) -> Any:
    table = SimpleNamespace(
        items=["a", "b"],
        series=[SimpleNamespace(name="linear")],
        benchmark=SimpleNamespace(restricted=restricted),
        of_replies=of_replies,
    )
    return SimpleNamespace(table=table)


@pytest.fixture
def viewed(monkeypatch):
    """The runs that are viewed, and what was asked and written of them."""
    asked = SimpleNamespace(view=viewed_runs(), calls=list[Any](), written=list[Any]())

    def view(*runs, **options):
        asked.calls.append((runs, options))
        return asked.view

    class Written(SimpleNamespace):
        def _asdict(self) -> dict[str, Any]:
            return vars(self)

    def write_view(view, out, **options):
        asked.written.append((view, out, options))
        return Written(path=out / "index.html", n_items=2, n_lists=1)

    monkeypatch.setattr("casewise.cli.serve.api.view", view)
    monkeypatch.setattr("casewise.web.viewing.create_view", lambda view, *, port: ("view", view, port))
    monkeypatch.setattr("casewise.web.viewing.write_view", write_view)
    return asked


def test_runs_are_served_on_this_machine_alone(viewed, uvicorn, capsys):
    commands.serve_runs((Path("run"),), commands.ViewOptions("demo", "intended"), 0)

    assert viewed.calls == [((Path("run"),), {"benchmark": "demo", "labels": "intended"})]
    ((app, options),) = uvicorn
    assert app == ("view", viewed.view, 0)
    assert (options["host"], options["port"], options["access_log"], options["server_header"]) == (
        "127.0.0.1",
        0,
        False,
        False,
    )
    assert capsys.readouterr() == ("", "2 items are at http://127.0.0.1:0 (Ctrl-C ends it)\n")
    with gathering_results(json=True):
        commands.serve_runs((Path("run"),), commands.ViewOptions(), 0)
    assert json.loads(capsys.readouterr().out) == {"address": "http://127.0.0.1:0", "n_items": 2, "series": ["linear"]}


@pytest.mark.parametrize("options", [commands.ViewOptions(only="q=x"), commands.ViewOptions(with_texts=True)])
def test_a_part_or_the_texts_of_runs_are_for_pages_on_disk(viewed, uvicorn, options):
    with pytest.raises(ConfigurationError, match="--only and --with-texts work only with --out"):
        commands.serve_runs((Path("run"),), options, 0)
    assert (viewed.calls, uvicorn) == ([], [])


GATED = "the benchmark is gated: queries, contexts, replies and notes are withheld; --with-texts writes them"
QUOTED = "chatbots' replies are withheld; --with-texts writes them, for your own reading only"


@pytest.mark.parametrize(
    ("restricted", "of_replies", "with_texts", "note"),
    [
        (False, False, False, ()),
        (True, True, False, (GATED,)),
        (False, True, False, (QUOTED,)),
        (True, True, True, ()),
    ],
)
def test_pages_of_runs_have_texts_of_a_gated_benchmark_or_a_chatbot_only_on_request(
    viewed, uvicorn, capsys, restricted, of_replies, with_texts, note
):
    viewed.view = viewed_runs(restricted=restricted, of_replies=of_replies)
    out = Path("pages")
    options = commands.ViewOptions(out=out, only="?q=tea&unscored=", with_texts=with_texts)
    commands.serve_runs((Path("run"),), options, 0)

    ((view, where, written),) = viewed.written
    assert (view, where, uvicorn) == (viewed.view, out, [])
    withheld = restricted and not with_texts
    assert (written["withheld"], written["quoted"], written["only"].q) == (withheld, with_texts, "tea")
    printed, notes = capsys.readouterr()
    assert (printed, notes.splitlines()) == ("pages/index.html\n", [*note, "2 items and 1 list; begin at:"])


def test_pages_of_runs_say_as_json_whether_texts_were_withheld(viewed, capsys):
    with gathering_results(json=True):
        commands.serve_runs((Path("run"),), commands.ViewOptions(out=Path("pages")), 0)
    assert json.loads(capsys.readouterr().out) == {
        "path": "pages/index.html",
        "n_items": 2,
        "n_lists": 1,
        "texts_withheld": False,
    }


def test_a_preview_of_a_study_ends_with_a_signal(monkeypatch, capsys):
    handlers = dict[int, Any]()
    monkeypatch.setattr("casewise.cli.serve.signal.signal", handlers.__setitem__)

    @contextmanager
    def previewing(study, *, port):
        assert (study, port) == (Path("s.toml"), 0)
        handlers[signal.SIGTERM](signal.SIGTERM, None)
        yield "http://127.0.0.1:1/study/x"

    monkeypatch.setattr("casewise.web.app.previewing", previewing)
    commands.preview(Path("s.toml"), 0)
    assert set(handlers) == {signal.SIGINT, signal.SIGTERM}
    assert capsys.readouterr().out.splitlines() == [
        "Look at http://127.0.0.1:1/study/x (stop with Ctrl+C; nothing is kept)",
        "Nothing was kept.",
    ]


# The doctor, backups and invitations.

REPORT: dict[str, Any] = {
    "versions": {"casewise": "1.0", "python": "3.11"},
    "extras": [{"name": "web", "missing": []}, {"name": "local", "missing": ["torch", "transformers"]}],
    "endpoints": [
        {"name": "openai", "key": "OPENAI_API_KEY set", "reachable": None, "address": "api.openai.com"},
        {"name": "vllm", "key": "no key", "reachable": None, "address": "http://localhost"},
    ],
    "data": ["casebench is not fetched"],
}


def test_the_doctor_lists_versions_extras_and_endpoints(monkeypatch, capsys):
    asked = list[bool]()

    def checkup(_environment, *, reach):
        asked.append(reach)
        for endpoint, answers in zip(REPORT["endpoints"], (True, False), strict=True):
            endpoint["reachable"] = answers if reach else None
        return REPORT

    monkeypatch.setattr("casewise.share.checkup.checkup", checkup)
    commands.doctor()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == ["casewise       1.0", "python         3.11", "", "[web]          installed", lines[4]]
    assert lines[4].startswith("[local]        missing torch, transformers: ")
    assert lines[4].endswith("[local]'")
    assert lines[5:] == [
        "",
        "openai/        OPENAI_API_KEY set   api.openai.com",
        "vllm/          no key               http://localhost",
        "",
        "casebench is not fetched",
    ]
    commands.doctor(reach=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[6:8] == [
        "openai/        OPENAI_API_KEY set  answers    api.openai.com",
        "vllm/          no key              no answer  http://localhost",
    ]
    with gathering_results(json=True):
        commands.doctor()
    assert json.loads(capsys.readouterr().out) == REPORT
    assert asked == [False, True, False]


def test_a_backup_is_written_and_noted_in_the_database(capsys, tmp_path):
    path, file = empty_database(tmp_path / "x.db"), tmp_path / "b.jsonl"
    commands.backup(file, database=path)
    printed, notes = capsys.readouterr()
    count = int(printed.split()[0])
    assert printed == f"{count} rows are in {file}\n"
    assert notes.startswith("it holds personal data and password hashes: keep it safe")
    with database.open(path) as store, store.read() as connection:
        (noted,) = connection.execute(select(staff.events.c.kind, staff.events.c.detail))
    assert tuple(noted) == ("backed up", {"rows": count})


def test_a_backup_is_read_back_with_the_people_who_are_erased_again(monkeypatch, capsys):
    asked = list[Any]()

    def restore_backup(file, database, *, erasures):
        asked.append((file, database, erasures))
        return SimpleNamespace(rows=1, database="x.db", erased_again=2)

    monkeypatch.setattr("casewise.api.studies.restore_backup", restore_backup)
    commands.backup(Path("b.jsonl"), restore=True, erasures=Path("list"), database="x.db")
    assert asked == [(Path("b.jsonl"), "x.db", Path("list"))]
    assert capsys.readouterr() == (
        "1 row is restored to x.db\n2 people were erased after the backup, and casewise erased them again\n",
        "",
    )
    with gathering_results(json=True):
        commands.backup(Path("b.jsonl"), restore=True)
    assert json.loads(capsys.readouterr().out) == {"rows": 1, "database": "x.db", "erased": 2}


def test_people_are_invited_to_a_study_or_a_colleague_to_an_account(monkeypatch, capsys, tmp_path):
    asked = list[Any]()

    def study(*where):
        def invite(people):
            asked.append((*where, people))
            return ["link 1", "link 2"]

        return SimpleNamespace(invite=invite)

    monkeypatch.setattr("casewise.cli.serve.api.Study", study)
    commands.invite("s.toml", people=2, phase="pilot", database="x.db", site_url="https://tea.edu")
    assert asked == [("s.toml", "pilot", "x.db", "https://tea.edu", 2)]
    assert capsys.readouterr().out == "link 1\nlink 2\n"
    monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET)
    path = empty_database(tmp_path / "x.db")
    with gathering_results(json=True):
        commands.invite("ada@uni.edu", role=("reviewer",), database=path, site_url="https://tea.edu")
    said = json.loads(capsys.readouterr().out)
    assert said["email"] == "ada@uni.edu"
    assert said["link"].startswith("https://tea.edu/join/")
