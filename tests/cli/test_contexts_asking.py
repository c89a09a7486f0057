"""What `casewise contexts` asks before it sends a draft's texts, under which limits, and how it ends."""

import json
from collections import Counter
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.cli import contexts as commands
from casewise.cli.calls import Calls
from casewise.cli.printing import gathering_results
from casewise.contexts.generation import GenerationSummary
from casewise.contexts.opinions import OpinionSummary
from casewise.contexts.selection import SelectedQueries, SelectionOptions
from casewise.errors import ConfigurationError, ExitCode
from casewise.runs.limits import Limits
from casewise.runs.run import CallEstimate

ESTIMATE = CallEstimate(n_calls=2, input_tokens=20, output_tokens=4, cost_usd=0.0, cost_at_most_usd=0.0)


@pytest.fixture
def world(monkeypatch):
    """A draft whose texts a model elsewhere is asked about; `events` is what happens, `summary` what it comes to."""
    world = SimpleNamespace(events=list[Any](), summary=GenerationSummary(n_usable=2, n_calls=2))
    loaded = SimpleNamespace(model=SimpleNamespace(sends_to="model.org"), prices="the prices")
    store = SimpleNamespace(write=lambda: nullcontext("connection"))

    @contextmanager
    def open_draft(draft, database):
        world.events.append(("opened", draft, database))
        yield store, SimpleNamespace(parameters=None, vary=())

    def context_model(model, base_url, calls, *, dry_run):
        world.events.append(("model", model, base_url, dry_run))
        return loaded

    async def asks(*_asked, options, **where):
        world.events.append(("performed", options.limits, where.get("folder")))
        return world.summary

    lines = SimpleNamespace(lines=lambda: ["the report"], as_json=dict)
    monkeypatch.setattr("casewise.cli.contexts.open_draft", open_draft)
    monkeypatch.setattr("casewise.cli.contexts.context_model", context_model)
    monkeypatch.setattr("casewise.cli.contexts.confirm_sending", lambda what, *to, agreed: world.events.append(("asked", what, to, agreed)))  # fmt: skip
    monkeypatch.setattr("casewise.cli.contexts.generate_contexts", asks)
    monkeypatch.setattr("casewise.cli.contexts.ask_opinions", asks)
    for name in ("generation", "opinions"):
        monkeypatch.setattr(f"casewise.cli.contexts.estimate_{name}", lambda *_asked: ESTIMATE)
    prompt = SimpleNamespace(id="paper-1", about="the paper's")
    monkeypatch.setattr("casewise.cli.contexts.named_prompt", lambda *_named: prompt)
    monkeypatch.setattr("casewise.cli.contexts.check_draft", lambda *_draft: lines)
    monkeypatch.setattr("casewise.cli.contexts.json_fields", lambda _report: {"contexts": 2})
    monkeypatch.setattr("casewise.cli.contexts.read_record", lambda *_draft: None)
    monkeypatch.setattr("casewise.cli.contexts.draft_queries", lambda *_draft: None)
    monkeypatch.setattr("casewise.cli.contexts.pairs_of", lambda *_draft, vary: None)
    monkeypatch.setattr("casewise.cli.contexts.pairs_table", lambda _pairs: "the pairs")
    monkeypatch.setattr("casewise.cli.contexts.review_statistics", lambda _record: lines)
    world.prompt = prompt
    return world


LIMITED = Calls(limits=Limits(max_cost=1.5))


def test_contexts_are_generated_after_consent_under_the_limits_that_were_given(world, capsys):
    commands.generate("my draft", model="m", base_url="http://x/v1", calls=LIMITED, yes=True, database="x.db")

    assert world.events == [
        ("model", "m", "http://x/v1", False),
        ("opened", "my draft", "x.db"),
        ("asked", "the draft's queries", ("model.org",), True),
        ("performed", Limits(max_cost=1.5), None),
    ]
    assert capsys.readouterr() == (
        "2 contexts generated, 0 failed, in 2 calls\n",
        "next: casewise contexts check 'my draft'\n",
    )


def test_what_was_not_generated_is_told_with_the_way_on_and_its_code(world, capsys):
    world.summary = GenerationSummary(n_usable=1, n_calls=1, failed=Counter({"refused": 2}), stopped="the limit")
    with pytest.raises(SystemExit) as ended:
        commands.generate("d", model="m")
    assert ended.value.code == ExitCode.STOPPED
    printed, notes = capsys.readouterr()
    assert printed == "1 context generated, 2 failed, in 1 call\n"
    assert notes.splitlines() == [
        "  2 refused",
        "stopped: the limit; the same command resumes",
        "to try only these again: casewise contexts generate d --which failed --model MODEL",
        "next: casewise contexts check d",
    ]
    world.summary.n_pending = 3
    with pytest.raises(SystemExit), gathering_results(json=True):
        commands.generate("d", model="m")
    printed, notes = capsys.readouterr()
    assert (json.loads(printed)["failed"], json.loads(printed)["pending"], notes) == ({"refused": 2}, 3, "")
    with pytest.raises(SystemExit):
        commands.generate("d", model="m")
    assert "3 calls are at the provider (casewise show jobs)" in capsys.readouterr().err


@pytest.mark.parametrize("about", ["", "the paper's"])
def test_a_dry_run_of_generating_names_the_prompt_and_asks_nobody(world, capsys, about):
    world.prompt.about = about
    commands.generate("d", model="m", dry_run=True)
    assert world.events == [("model", "m", None, True), ("opened", "d", None)]
    printed, notes = capsys.readouterr()
    assert printed.startswith("m: 2 calls\n")
    assert notes == ("prompt paper-1: the paper's\n" if about else "prompt paper-1\n")


def test_a_draft_is_checked_by_rules_without_a_model(world, capsys):
    commands.check("d", pairs=Path("pairs.csv"))
    assert world.events == [("opened", "d", None)]
    assert capsys.readouterr().out == "the report\nthe report\n"
    assert Path("pairs.csv").read_text() == "the pairs"
    with gathering_results(json=True):
        commands.check("d")
    assert json.loads(capsys.readouterr().out) == {"contexts": 2, "review": {}}
    with pytest.raises(ConfigurationError, match="--dry-run estimates the calls to a model; give --ask MODEL with it"):
        commands.check("d", dry_run=True)


def test_a_model_is_asked_for_opinions_after_consent_and_kept_in_a_run_folder(world, capsys):
    world.summary = OpinionSummary(n_usable=2)
    commands.check("d", ask="m", calls=LIMITED)
    commands.check("d", ask="m", out=Path("own"), yes=True)

    first, second = world.events[:4], world.events[4:]
    assert first == [
        ("opened", "d", None),
        ("model", "m", None, False),
        ("asked", "the draft's queries and contexts", ("model.org",), False),
        ("performed", Limits(max_cost=1.5), Path("runs/d-opinions-m")),
    ]
    assert (second[2][-1], second[3][-1]) == (True, Path("own"))
    assert capsys.readouterr().err == "m was asked about 2 contexts; 0 replies contain no opinion\n" * 2


@pytest.mark.parametrize("counts", [{"stopped": "the limit"}, {"n_pending": 1}, {"n_unavailable": 1, "n_unusable": 1}])
def test_opinions_that_are_missing_have_a_code_of_their_own_after_the_report(world, capsys, counts):
    world.summary = OpinionSummary(n_usable=1, **counts)
    with pytest.raises(SystemExit) as ended:
        commands.check("d", ask="m")
    assert ended.value.code == ExitCode.STOPPED
    printed, notes = capsys.readouterr()
    assert printed == "the report\nthe report\n"
    assert len(notes.splitlines()) == 2


def test_a_dry_run_of_opinions_counts_the_calls_and_asks_nobody(world, capsys):
    commands.check("d", ask="m", dry_run=True)
    assert world.events == [("opened", "d", None), ("model", "m", None, True)]
    assert capsys.readouterr().out.startswith("m: 2 calls\n")


# What is selected.


def query(category: str, judged: str = "request") -> Any:
    return SimpleNamespace(category=category, judged=judged, text=f"about {category}")


def test_a_selection_is_told_with_what_was_left_out_and_what_is_next(capsys):
    duplicates: Any = [
        SimpleNamespace(dropped=query("a"), kept=query("b"), similarity=similarity) for similarity in (1.0, 0.91)
    ]
    chosen = SelectedQueries([query("a"), query("a")], duplicates, {"b": 1, "c": 0, "d": 0}, notes=("a note",))
    commands.print_selection("my draft", chosen, SelectionOptions(per_category=2))
    printed, notes = capsys.readouterr()
    assert printed == "my draft: 2 queries in 1 category\n"
    assert notes.splitlines() == [
        "left out, again: 'about a' (kept: 'about b')",
        "left out, nearly again (91%): 'about a' (kept: 'about b')",
        "b: only 1 of 2",
        "the file has no query in 2 categories: c; d",
        "a note",
        "next: casewise contexts generate 'my draft' --model MODEL",
    ]


@pytest.mark.parametrize(
    ("came", "line"),
    [
        ({"imported": 1}, "1 context imported for review"),
        ({"adopted": 2}, "2 contexts imported with their approval"),
        ({"missing": 3}, "3 contexts left for reviewers to write"),
    ],
)
def test_contexts_that_came_with_their_queries_are_checked_next(capsys, came, line):
    chosen = SelectedQueries([query("a", "action")], [], {}, **came)
    commands.print_selection("d", chosen, SelectionOptions())
    printed, notes = capsys.readouterr()
    assert printed == f"d: 1 action in 1 category\n{line}\n"
    assert notes == "next: casewise contexts check d\n"
    with gathering_results(json=True):
        commands.print_selection("d", chosen, SelectionOptions())
    facts = json.loads(capsys.readouterr().out)
    assert {name: facts[name] for name in came} == came
    assert (facts["draft"], facts["queries"], facts["categories"], facts["left_out"]) == ("d", 1, 1, 0)
