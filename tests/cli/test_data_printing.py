"""What `casewise data`, `audit`, `show` and `export` print, and the exit codes and consents of them."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise import api
from casewise.cli import data as commands
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError, ExitCode


@pytest.fixture
def presented(monkeypatch):
    """The reports that were printed."""
    reports = list[Any]()
    monkeypatch.setattr("casewise.cli.data.DocumentOptions.present", lambda _self, report: reports.append(report))
    return reports


# Public benchmarks.

ROWS = [
    {"name": "tea", "size": "9", "judged": "requests", "labels_by": None, "licence": "MIT", "metrics": None, "source": "hub", "pinned": True, "fetched": True},
    {"name": "ale", "size": "7", "judged": "replies", "labels_by": "people", "licence": "CC", "metrics": "two", "source": "git", "pinned": False, "fetched": False},
]  # fmt: skip


def test_public_benchmarks_are_a_table_with_what_is_not_stated_in_words(monkeypatch, capsys):
    monkeypatch.setattr("casewise.cli.data.api.public_benchmarks", lambda: SimpleNamespace(to_dicts=lambda: ROWS))
    commands.list_()
    printed, notes = capsys.readouterr()
    _, *rows = printed.splitlines()
    assert notes.startswith("casewise data fetch NAME fetches one; unpinned: ")
    assert [" ".join(row.split()) for row in rows] == [
        "tea 9 requests see its file MIT one hub yes",
        "ale 7 replies people CC two git, unpinned no",
    ]
    with gathering_results(json=True):
        commands.list_()
    assert json.loads(capsys.readouterr().out) == {"benchmarks": ROWS}


@pytest.fixture
def fetched(monkeypatch):
    """What was fetched, and how."""
    calls = list[Any]()

    def fetch(name, **options):
        calls.append((name, options))
        return SimpleNamespace(checksums={"a.csv": "0a1b"}, files={"benchmark": Path("here")})

    monkeypatch.setattr("casewise.cli.data.api.fetch", fetch)
    return calls


def test_a_benchmark_is_fetched_with_the_terms_accepted_by_an_option_or_by_asking(fetched, capsys):
    commands.fetch("tea", accept_terms=True, prompts=True, from_=(Path("copy"),), out=Path("out"))
    commands.fetch("tea", outputs=True)

    (name, first), (_, second) = fetched
    assert (name, first["accept_terms"], first["prompts"], first["outputs"]) == ("tea", True, True, False)
    assert (first["copies"], first["target"], first["progress"]) == ((Path("copy"),), Path("out"), False)
    assert (second["accept_terms"], second["prompts"], second["outputs"]) == (commands.accepts_terms, False, True)
    printed, notes = capsys.readouterr()
    assert printed == "benchmark is at here\n" * 2
    assert notes.startswith("casewise had no checksum of a.csv; it recorded the one of this copy: sha256 0a1b\n")


@pytest.mark.parametrize(("says", "terminal"), [(True, True), (False, True), (True, False)])
def test_terms_are_accepted_by_a_yes_at_a_terminal_alone(monkeypatch, capsys, says, terminal):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("casewise.cli.data.confirm", lambda _question: says)
    if terminal and not says:
        with pytest.raises(ConfigurationError, match="the terms are not accepted, so nothing was fetched"):
            commands.accepts_terms("Do no harm.")
    else:
        assert commands.accepts_terms("Do no harm.") is terminal
    assert capsys.readouterr().err == ("Do no harm.\n" if terminal else "")


# The audit, and what is shown.


@pytest.mark.parametrize("codes", [(), ("ties", "chance")])
def test_an_audit_ends_with_1_where_it_has_a_finding_that_fails(presented, monkeypatch, capsys, codes):
    asked = list[Any]()
    findings = [SimpleNamespace(code=code) for code in codes]

    def audit(benchmark, *, seed):
        asked.append((benchmark, seed))
        return SimpleNamespace(select_findings=select_findings)

    def select_findings(names):
        asked.append(len(names) > 0)
        return findings

    monkeypatch.setattr("casewise.cli.data.api.audit", audit)
    if codes:
        with pytest.raises(SystemExit) as ended:
            commands.audit("demo", fail_on=("any",), seed=3)
        assert ended.value.code == ExitCode.NO
        assert capsys.readouterr().err == "exit code 1: the audit has findings of --fail-on: ties, chance\n"
    else:
        commands.audit("demo", seed=3)
    assert (asked, len(presented)) == ([("demo", 3), bool(codes)], 1)


def test_a_run_or_a_benchmark_or_an_item_of_either_is_shown(presented, monkeypatch):
    monkeypatch.setattr("casewise.cli.data.api.exporting.is_run", lambda what: what == "run")
    monkeypatch.setattr("casewise.cli.data.api.show_run", lambda *names, benchmark: ("run", *names, benchmark))
    monkeypatch.setattr("casewise.cli.data.api.show_benchmark", lambda *names: ("benchmark", *names))
    commands.show("run", ("1",), benchmark="moved")
    commands.show("run")
    commands.show("demo", ("1",))
    assert presented == [("run", "run", "1", "moved"), ("run", "run", None), ("benchmark", "demo", "1")]
    for given, problem in (
        ({"names": ("1", "2")}, "casewise show prints one item at a time; give one of 1, 2"),
        ({"benchmark": "other"}, "--benchmark works only with a run"),
    ):
        names: Any = given.pop("names", ())
        with pytest.raises(ConfigurationError, match=problem):
            commands.show("demo", names, **given)


def test_attacks_are_listed_for_the_parameters_of_a_benchmark_where_one_is_named(monkeypatch, capsys):
    asked = list[Any]()

    def list_attacks(benchmark):
        asked.append(benchmark)
        return SimpleNamespace(as_json=lambda: {"offered": []}, document="the page")

    monkeypatch.setattr("casewise.cli.data.api.list_attacks", list_attacks)
    monkeypatch.setattr("casewise.cli.data.print_document", print)
    commands.show("attacks", ("demo",))
    commands.show("attacks")
    assert capsys.readouterr().out == "the page\n" * 2
    with gathering_results(json=True):
        commands.show("attacks")
    assert json.loads(capsys.readouterr().out) == {"offered": []}
    assert asked == ["demo", None, None]


JOB = {"batch": "b-1", "job": "j1", "provider": "openai", "model": "m", "n_done": 1200, "n_requests": 3000, "state": "in_progress", "stage": "out", "since": "2026-11-20T09:00:00+00:00", "expires": "2026-11-21T09:00:00+00:00", "cost_at_most_usd": 0.5, "run": "runs/a"}  # fmt: skip
BEGUN = JOB | {"batch": None, "state": None, "expires": None, "cost_at_most_usd": None}


def test_batch_jobs_are_a_table_with_the_most_that_each_can_cost(monkeypatch, capsys):
    asked = list[Any]()

    def batch_jobs(runs, *, ended):
        asked.append((runs, ended))
        return [JOB, BEGUN]

    monkeypatch.setattr("casewise.cli.data.api.batch_jobs", batch_jobs)
    commands.show("jobs", ("runs",), all_=True)
    printed, notes = capsys.readouterr()
    assert [" ".join(line.split()) for line in printed.splitlines()] == [
        "batch provider model done stage since expires at most run",
        "b-1 openai m 1,200/3,000 in_progress 2026-11-20T09:00 2026-11-21T09:00 $0.5000 runs/a",
        "j1 openai m 1,200/3,000 out 2026-11-20T09:00 unknown runs/a",
    ]
    assert notes == "times are in UTC; to collect the replies of a job, repeat the command that submitted it\n"
    with gathering_results(json=True):
        commands.show("jobs")
    assert json.loads(capsys.readouterr().out) == {"jobs": [JOB, BEGUN]}
    assert asked == [(("runs",), True), ((), False)]


# Exports.


@pytest.fixture
def handed(monkeypatch):
    """What was handed on, of a source whose `kind` is laid down."""
    world = SimpleNamespace(kind="run", calls=list[Any]())

    def export(source, out, **options):
        world.calls.append((source, out, options))
        return SimpleNamespace(path=out, notes=("texts are withheld",))

    monkeypatch.setattr("casewise.cli.data.api.exporting.kind_of_source", lambda _source: world.kind)
    monkeypatch.setattr("casewise.cli.data.api.exporting.check_format", lambda _source, to: to or "first")
    monkeypatch.setattr("casewise.cli.data.api.export", export)
    return world


def test_an_export_has_texts_only_on_request_and_prints_its_place(handed, capsys):
    commands.export("run", out=Path("out"))
    commands.export("run", to="csv", out=Path("out"), about=Path("a.toml"), benchmark="moved", labels="intended", with_texts=True)  # fmt: skip
    assert capsys.readouterr() == ("out\n" * 2, "note: texts are withheld\n" * 2)
    (source, out, first), (_, _, second) = handed.calls
    assert (source, out, first["to"], first["about"], first["benchmark"]) == ("run", Path("out"), "first", None, None)
    assert (first["with_texts"], second["with_texts"]) == (False, True)
    assert first["options"] == api.report_options("votes")
    assert second["options"] == api.report_options("intended")
    assert (second["to"], second["about"], second["benchmark"]) == ("csv", Path("a.toml"), "moved")
    with gathering_results(json=True):
        commands.export("run", out=Path("out"))
    assert json.loads(capsys.readouterr().out) == {"format": "first", "path": "out", "notes": ["texts are withheld"]}


@pytest.mark.parametrize("exact", [True, False])
def test_the_ratings_of_a_study_are_exported_and_what_is_missing_is_said(handed, monkeypatch, capsys, exact):
    where = list[Any]()
    exported = SimpleNamespace(folder=Path("rated"), ratings=1200, excluded=3, exact=exact)

    def study(*given):
        where.append(given)
        return SimpleNamespace(export=lambda _out: exported)

    handed.kind = "study"
    monkeypatch.setattr("casewise.cli.data.api.Study", study)
    commands.export("s.toml", out=Path("rated"), phase="pilot", database="x.db")
    assert where == [("s.toml", "pilot", "x.db")]
    printed, notes = capsys.readouterr()
    assert printed == "rated: 1,200 ratings, and 3 excluded in excluded.jsonl\n"
    assert notes == ("" if exact else "The study is not complete: some items have fewer ratings than promised.\n")
    with gathering_results(json=True):
        commands.export("s.toml", out=Path("rated"))
    facts = {"folder": "rated", "ratings": 1200, "excluded": 3, "exact": exact}
    assert json.loads(capsys.readouterr().out) == facts
    assert handed.calls == []


def test_two_benchmarks_are_joined_into_a_folder_alone(handed, monkeypatch, capsys):
    handed.kind, joined = "benchmark", list[Any]()

    def join(*sources):
        joined.append(sources)
        return api.load("demo")

    monkeypatch.setattr("casewise.cli.data.api.join", join)
    with pytest.raises(ConfigurationError, match="--join writes a benchmark folder; leave --to out"):
        commands.export("demo", to="csv", out=Path("both"), join="other")
    assert joined == []
    commands.export("demo", to="folder", out=Path("both"), join="other")
    assert (joined, handed.calls) == ([("demo", "other", Path("both"))], [])
    assert capsys.readouterr().out.startswith("demo is at both: 90 items, ")
