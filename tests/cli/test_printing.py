"""What commands print: results to stdout as lines or as one JSON document, everything else to stderr."""

import io
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from casewise.cli.printing import (
    announce,
    confirm,
    confirm_sending,
    exit_with_status,
    gathering_results,
    is_json_output,
    print_before,
    print_estimate,
    print_failures,
    print_first_notes,
    print_table,
    print_unfinished,
    progress_display,
    progress_fields,
    say,
    session_line,
)
from casewise.errors import ConfigurationError, ExitCode
from casewise.models.consent import VARIABLE, agreed_receivers, allow_sending
from casewise.runs.limits import RunProgress
from casewise.runs.run import CallEstimate


class Terminal(io.StringIO):
    """A stream that a person sits at."""

    def isatty(self):
        return True


@pytest.fixture
def typed(monkeypatch):
    """What the person at the terminal types."""

    def give(text):
        monkeypatch.setattr(sys, "stdin", Terminal(text))

    return give


@pytest.mark.parametrize(
    ("progress", "code"),
    [
        ({}, None),
        ({"n_usable": 1, "n_unusable": 5}, None),
        ({"n_unusable": 5}, ExitCode.NOTHING_SCORED),
        ({"n_usable": 1, "stopped": "interrupted"}, ExitCode.STOPPED),
        ({"n_usable": 1, "n_pending": 1}, ExitCode.STOPPED),
        ({"n_unusable": 1, "n_unavailable": 1}, ExitCode.STOPPED),
    ],
)
def test_a_run_that_is_not_done_or_found_nothing_has_an_exit_code(progress, code):
    if code is None:
        exit_with_status(RunProgress(**progress))
        return
    with pytest.raises(SystemExit) as end:
        exit_with_status(RunProgress(**progress))
    assert end.value.code == code


NOT_REPORTED = "more for calls whose tokens the endpoint did not report"


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        ({"n_usable": 1, "n_calls": 1, "seconds": 0.25}, "1 verdict, 0 unusable; 1 call in 0.2 s"),
        (
            {"n_usable": 1200, "n_unusable": 3, "resumed": 1000, "n_calls": 203, "seconds": 9.0, "cost_usd": 0.5},
            "1,200 verdicts (1,000 from earlier sessions), 3 unusable; 203 calls in 9.0 s, $0.5000",
        ),
        (
            {"cost_usd": 0.5, "assumed_tokens": 2000, "assumed_cost_usd": 0.25},
            f"0 verdicts, 0 unusable; 0 calls in 0.0 s, $0.5000, and at most $0.2500 {NOT_REPORTED}",
        ),
        (
            {"assumed_tokens": 2000},
            f"0 verdicts, 0 unusable; 0 calls in 0.0 s, and at most 2,000 tokens {NOT_REPORTED}",
        ),
    ],
)
def test_a_session_is_told_in_a_line(progress, line):
    assert session_line(RunProgress(**progress), "verdict") == line


def test_the_most_frequent_problems_are_told_first(capsys):
    print_failures(RunProgress(problems=Counter(a=1, b=1200, c=3, d=2)))

    assert capsys.readouterr().err.splitlines() == [
        f"{n} unusable in this session: {problem}" for n, problem in (("1,200", "b"), ("3", "c"), ("2", "d"))
    ]


def test_what_is_left_of_a_run_is_told_with_what_to_do(capsys):
    print_unfinished(RunProgress(n_pending=2, stopped="the cost limit of $1", n_unavailable=1), Path("my runs/a"))

    assert capsys.readouterr().err.splitlines() == [
        "2 calls are at the provider (casewise show jobs 'my runs/a'); the same command with --batch collects what is ready",
        "stopped: the cost limit of $1; the same command resumes",
        "1 item got no answer; the same command asks for them again",
    ]
    print_unfinished(RunProgress(n_usable=3), Path("a"))
    assert capsys.readouterr() == ("", "")


def test_results_are_lines_or_members_of_one_document(capsys):
    with gathering_results(json=False):
        assert not is_json_output()
        say("three items", n=3)
        say("", more=4)
    assert capsys.readouterr().out == "three items\n"
    with gathering_results(json=True):
        assert is_json_output()
        say("three items", n=3)
        say("", more=[4])
    assert json.loads(capsys.readouterr().out) == {"n": 3, "more": [4]}
    assert not is_json_output()


def say_and_end(text, **facts):
    say(text, **facts)
    raise SystemExit(1)


def test_a_command_that_ends_early_prints_what_it_found(capsys):
    with pytest.raises(SystemExit), gathering_results(json=True):
        say_and_end("three items", n=3)
    assert json.loads(capsys.readouterr().out) == {"n": 3}
    with pytest.raises(ZeroDivisionError), gathering_results(json=True):
        say("three items", n=3 // 0)
    with gathering_results(json=True):
        pass
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("err", "place"), [(False, "out"), (True, "err")])
def test_an_announcement_is_a_line_or_a_document_of_its_own(capsys, err, place):
    announce("listening", err=err, port=1)
    assert getattr(capsys.readouterr(), place) == "listening\n"
    with gathering_results(json=True):
        announce("listening", err=err, port=1)
        assert json.loads(capsys.readouterr().out) == {"port": 1}


def test_of_many_notes_three_are_printed(capsys):
    print_first_notes(["a", "b", "c"])
    print_first_notes(["d", "e", "f", "g", "h"])

    assert capsys.readouterr().err.splitlines() == [*"abcdef", "and 2 more like the last (all of them: --json)"]


@pytest.mark.parametrize(
    ("text", "agreed"),
    [("y\n", True), ("YES \n", True), ("\n", False), ("", False), ("no\n", False), ("what?\nyes\n", True)],
)
def test_a_question_is_asked_until_it_is_answered(typed, capsys, text, agreed):
    typed(text)

    assert confirm("Continue?") is agreed
    assert capsys.readouterr().err == "Continue? [y/N]: " * max(1, text.count("\n"))


def test_words_stand_to_the_left_of_their_columns_and_numbers_to_the_right(capsys):
    print_table(["name", "n", "kind"], [["a", 1200, "x"], ["bcdef", 7, ""]])

    assert capsys.readouterr().out == "name      n  kind\na      1200  x\nbcdef     7\n"


ESTIMATE = CallEstimate(n_calls=3, input_tokens=1200, output_tokens=1, cost_usd=0.5, cost_at_most_usd=1.25)
FREE = CallEstimate(n_calls=1, input_tokens=1, output_tokens=1, cost_usd=None, cost_at_most_usd=None)


def test_an_estimate_states_calls_tokens_and_cost(capsys):
    print_estimate(ESTIMATE, "openai/m", {"openai/writer": FREE})

    assert capsys.readouterr().out.splitlines() == [
        "openai/m: 3 calls",
        "about 1,200 tokens in and 1 out (a rough estimate)",
        "cost: about $0.50, at most $1.25",
        "before that, openai/writer writes 1 text",
        "about 1 token in and 1 out (a rough estimate)",
        "cost: unknown; give --price-in and --price-out",
    ]
    print_before({})
    assert capsys.readouterr().out == ""


def test_an_estimate_as_json_states_what_there_is(capsys):
    with gathering_results(json=True):
        print_estimate(ESTIMATE, "openai/m")
        alone = json.loads(capsys.readouterr().out)
        print_estimate(ESTIMATE, "openai/m", {"openai/writer": FREE}, ("claim:authority",))
    whole = json.loads(capsys.readouterr().out)

    assert alone == {
        "asked": "openai/m", "n_calls": 3, "input_tokens": 1200, "output_tokens": 1, "cost_usd": 0.5, "cost_at_most_usd": 1.25,
    }  # fmt: skip
    assert whole["before"]["openai/writer"]["cost_usd"] is None
    assert whole["not_shown"] == ["claim:authority"]


def test_nothing_is_asked_where_texts_stay_here_or_were_agreed_to(monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, "a.example")
    allow_sending("b.example")

    confirm_sending("texts", None, "a.example", "b.example")

    assert capsys.readouterr() == ("", "")


def test_agreement_at_the_terminal_is_remembered_and_asked_for_once(typed, capsys):
    typed("yes\n")

    confirm_sending("the texts", "a.example", "a.example")

    assert agreed_receivers() == {"a.example"}
    asked = capsys.readouterr().err
    assert asked.startswith("This sends the texts, which are harmful by design, to a.example.\n")
    assert asked.count("Do its terms and yours allow that? [y/N]: ") == 1


def test_nothing_is_sent_against_the_word_of_the_person(typed):
    typed("no\n")

    with pytest.raises(ConfigurationError, match="nothing was sent"):
        confirm_sending("texts", "a.example")
    assert agreed_receivers() == frozenset()


@pytest.mark.parametrize(
    ("agreed", "remedy"),
    [
        (False, f"add --yes, or set {VARIABLE}=a.example"),
        (True, f"set {VARIABLE}=b.example"),
    ],
)
def test_yes_counts_for_the_first_receiver_alone(monkeypatch, agreed, remedy):
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))

    with pytest.raises(ConfigurationError) as refused:
        confirm_sending("texts", "a.example", "b.example", agreed=agreed)
    assert str(refused.value).endswith(f"If its terms and yours allow that, {remedy}.")
    assert ("a.example" in agreed_receivers()) is agreed


def test_an_earlier_agreement_may_be_left_out_of_account(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    allow_sending("a.example")

    with pytest.raises(ConfigurationError, match=r"to a\.example"):
        confirm_sending("texts", None, "a.example", remembered=False)


@pytest.mark.parametrize(
    ("progress", "fields"),
    [
        ({}, "0 unusable"),
        ({"n_unusable": 2, "cost_usd": 0.0}, "$0.00, 2 unusable"),
        ({"n_calls": 2, "n_tries": 3}, "0 unusable, 1 retry"),
        ({"n_calls": 2, "n_tries": 4, "cost_usd": 1.005}, "$1.00, 0 unusable, 2 retries"),
    ],
)
def test_the_line_of_a_run_states_cost_failures_and_retries(progress, fields):
    assert progress_fields(RunProgress(**progress)) == fields


def test_a_run_that_nobody_watches_prints_its_words_only(capsys):
    with progress_display("judging") as observer:
        observer.say("finishing")

    assert observer.progress is None
    assert capsys.readouterr() == ("", "finishing\n")


def test_a_run_at_a_terminal_is_followed_by_a_line(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with progress_display("judging") as observer:
        assert observer.progress is not None
        observer.progress(RunProgress(n_usable=2, n_unusable=1), 9)
        observer.say("[finishing]")
    with gathering_results(json=True), progress_display("judging") as silent:
        assert silent.progress is None

    assert "3/9" in terminal.getvalue()
    assert "[finishing]" in terminal.getvalue()
