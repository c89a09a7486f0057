"""What `casewise decider` hands to the API, what it asks before it sends a request, and what it prints."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casewise.cli import decider as commands
from casewise.cli.printing import DocumentOptions, gathering_results
from casewise.deciding.decider import DecisionRequest
from casewise.deciding.fitting import FitOptions
from casewise.errors import ConfigurationError
from casewise.stats.thresholds import Requirements

RUN, OUT, DECIDER = Path("run"), Path("decider.json"), Path("decider.json")


@pytest.fixture
def presented(monkeypatch):
    """The reports that were printed, each with how and where."""
    shown = list[Any]()

    def present(self, report):
        shown.append((report, self.html, self.markdown))

    def present_with_page(_self, report, page, *, full):
        shown.append((report, page, full))

    monkeypatch.setattr("casewise.cli.decider.DocumentOptions.present", present)
    monkeypatch.setattr("casewise.cli.decider.DocumentOptions.present_with_page", present_with_page)
    return shown


@pytest.fixture
def fitted(monkeypatch, presented):
    """What was fitted; a fit writes its file."""
    calls = list[Any]()

    def fit_decider(run, requirements, **options):
        calls.append((run, requirements, options))
        return SimpleNamespace(save=lambda path: path.write_text("a decider"))

    monkeypatch.setattr("casewise.cli.decider.api.deciding.fit_decider", fit_decider)
    return calls


def test_a_decider_is_fitted_with_the_options_that_were_given(fitted, presented, capsys):
    goal = Requirements(max_harm=0.1, level=0.9)
    commands.fit(RUN, requirements=goal, labels="intended", benchmark="demo", elicit="score", html=Path("page.html"))
    assert capsys.readouterr() == ("", "written: decider.json\n")
    assert OUT.read_text() == "a decider"
    assert presented[0][1:] == (Path("page.html"), None)
    commands.fit(RUN, requirements=goal, on_average=True, out=Path("other.json"))

    (run, first, options), (_, second, others) = fitted
    assert (run, first, second) == (RUN, goal, Requirements(max_harm=0.1, level=None))
    assert options == {"benchmark": "demo", "labels": "intended", "options": FitOptions(elicitation="score")}
    assert others == {"benchmark": None, "labels": "votes", "options": FitOptions()}


def test_a_decider_that_is_in_use_is_replaced_only_where_that_is_said(fitted, presented):
    OUT.write_text("in use")
    with pytest.raises(ConfigurationError, match=r"decider\.json exists, and may be in use; choose another place"):
        commands.fit(RUN, requirements=Requirements(ratio=2))
    assert (fitted, presented, OUT.read_text()) == ([], [], "in use")
    commands.fit(RUN, requirements=Requirements(ratio=2), overwrite=True)
    assert (len(fitted), OUT.read_text()) == (1, "a decider")


def test_a_decider_for_nothing_is_refused(fitted):
    with pytest.raises(ConfigurationError, match="say what the threshold is for"):
        commands.fit(RUN)
    assert fitted == []


def test_a_recommendation_is_for_equal_costs_unless_a_goal_is_given(presented, monkeypatch):
    asked = list[Any]()
    monkeypatch.setattr("casewise.cli.decider.api.recommend", lambda *runs, **goal: asked.append((runs, goal)))
    commands.recommend([RUN, Path("other")])
    commands.recommend([RUN], requirements=Requirements(max_harm=0.1), on_average=True, labels="mean", benchmark="demo")

    assert asked == [
        ((RUN, Path("other")), {"requirements": Requirements(ratio=1), "benchmark": None, "labels": "votes"}),
        ((RUN,), {"requirements": Requirements(max_harm=0.1, level=None), "benchmark": "demo", "labels": "mean"}),
    ]
    assert presented == [(None, RUN / "recommend.html", False)] * 2


# Asking.


class Loaded:
    """A decider that keeps what becomes of it."""

    def __init__(self, events: list[Any]) -> None:
        self.events, self.measured, self.judge = events, {"harm": 0.1}, SimpleNamespace(sends_to="judge.org")
        share = SimpleNamespace
        measured = share(harm=share(as_share="10.0 % [2, 20]"), over_refusal=share(as_share="5.0 % [1, 9]"))
        self.file = share(measured=measured, benchmark=share(name="demo", label_words="votes"))

    def ask(self, request: DecisionRequest) -> Any:
        self.events.append(("decided", request))
        if request.query == "fail":
            raise ConfigurationError("no answer")
        facts = {"decision": "refuse", "why": "0.2 is below 0.5", "unmeasured": ["it has no context", "it is a chat"]}
        return SimpleNamespace(**facts, as_json=lambda: facts)

    def close(self) -> None:
        self.events.append("closed")


@pytest.fixture
def events(monkeypatch):
    """What happens: loading, the question for consent, the decision, and the end of the judge."""
    happened = list[Any]()

    def load(file, *, base_url):
        happened.append(("loaded", file, base_url))
        return Loaded(happened)

    monkeypatch.setattr("casewise.cli.decider.api.deciding.Decider.load", load)
    monkeypatch.setattr("casewise.cli.decider.confirm_sending", lambda *asked: happened.append(("asked", *asked)))
    return happened


def test_a_request_is_decided_after_consent_and_told_with_what_was_measured(events, capsys, tmp_path):
    (tmp_path / "reply.txt").write_text("Take two.")
    given: dict[str, Any] = {
        "query": "What dose?",
        "context": "A ward.",
        "category": "drugs",
        "reply": tmp_path / "reply.txt",
    }
    commands.ask(DECIDER, **given, base_url="http://model/v1")

    loaded, asked, (_, request), closed = events
    assert loaded == ("loaded", DECIDER, "http://model/v1")
    assert asked == ("asked", "the request's texts", "judge.org")
    assert (request.query, request.context, request.category, request.reply) == (
        "What dose?",
        {"situation": {"description": "A ward."}},
        "drugs",
        "Take two.",
    )
    assert closed == "closed"
    assert capsys.readouterr().out.splitlines() == [
        "refuse",
        "  0.2 is below 0.5",
        "  not measured: it has no context",
        "  not measured: it is a chat",
        "  measured on demo (labels: votes): harm 10.0 % [2, 20], over-refusal 5.0 % [1, 9]",
    ]
    with gathering_results(json=True):
        commands.ask(DECIDER, **given)
    document = json.loads(capsys.readouterr().out)
    assert (document["decision"], document["measured"]) == ("refuse", {"harm": 0.1})


def test_a_chat_is_decided_with_its_category_and_context(events, tmp_path):
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": "What dose?"}]))
    commands.ask(DECIDER, messages=tmp_path / "chat.json", category="drugs", parameter=("recipient.type=a nurse",))

    (_, request) = events[2]
    assert (request.query, request.category, request.context) == (
        "What dose?",
        "drugs",
        {"recipient": {"type": "a nurse"}},
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "give either --query or --messages"),
        ({"query": "What?", "messages": Path("chat.json")}, "give either --query or --messages"),
        (
            {"messages": Path("chat.json"), "reply": Path("reply.txt")},
            "the last message is the reply; leave --reply out",
        ),
    ],
)
def test_a_request_is_a_query_or_a_chat(events, tmp_path, options, problem):
    for name in ("chat.json", "reply.txt"):
        Path(name).write_text("[]")
    with pytest.raises(ConfigurationError, match=problem):
        commands.ask(DECIDER, **options)
    assert [event[0] for event in events] == ["loaded"], "and nothing was asked"


def test_a_judge_is_closed_also_where_it_fails(events):
    with pytest.raises(ConfigurationError, match="no answer"):
        commands.ask(DECIDER, query="fail")
    assert events[-1] == "closed"


def test_without_consent_no_request_is_sent(events, monkeypatch):
    def refuse(*_asked):
        raise ConfigurationError("nothing was sent")

    monkeypatch.setattr("casewise.cli.decider.confirm_sending", refuse)
    with pytest.raises(ConfigurationError, match="nothing was sent"):
        commands.ask(DECIDER, query="What dose?")
    assert [event[0] for event in events] == ["loaded"]


def test_traffic_is_tested_with_the_width_that_was_given(presented, monkeypatch):
    asked = list[Any]()
    monkeypatch.setattr(
        "casewise.cli.decider.api.deciding.monitor_decider", lambda *files, **width: asked.append((files, width))
    )
    commands.monitor(DECIDER, Path("log"), half_width=0.1, documents=DocumentOptions(html=Path("page.html")))
    assert asked == [((DECIDER, Path("log")), {"half_width": 0.1})]
    assert presented == [(None, Path("page.html"), None)]
