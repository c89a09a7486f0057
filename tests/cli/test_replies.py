import json
import shutil
import stat
from collections import Counter

import pytest
from aiohttp import web
from tests.support.command import invoke as command
from tests.support.fault_server import FaultServer
from tests.support.served import served


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "replies"
    assert command("replies", "collect", "demo", "--model", "fake/rehearsal", "--out", folder).code == 0
    assert command("replies", "grade", folder, "--grader", "rubric:fake/rehearsal").code == 0
    return folder


@pytest.fixture
def graded(prepared, tmp_path):
    """A copy of graded replies to the demo."""
    return shutil.copytree(prepared, tmp_path / "replies")


@pytest.mark.slow
def test_replies_are_collected_graded_and_reported(graded):
    said = command("report", graded)

    assert said.code == 0
    assert "Replies by label" in (graded / "report.html").read_text()
    assert "The grader is not checked" in said.out


@pytest.mark.slow
def test_every_step_speaks_json(tmp_path):
    folder = tmp_path / "replies"
    collected = command("replies", "collect", "demo", "--model", "fake/rehearsal", "--out", folder, "--json")
    graded = command("replies", "grade", folder, "--grader", "rubric:fake/rehearsal", "--json")
    report = command("report", folder, "--json")

    assert json.loads(collected.out)["n_replies"] == 90
    assert [one["n_graded"] for one in json.loads(graded.out)] == [90]
    assert len(json.loads(report.out)["does"]) == 1
    assert "A rehearsal: no model" not in report.out


def test_a_dry_run_calls_nobody_and_writes_nothing(tmp_path):
    said = command("replies", "collect", "demo", "--model", "fake/rehearsal", "--out", tmp_path / "r", "--dry-run")

    assert said.code == 0
    assert "90 calls" in said.out
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_says_and_does_stand_beside_each_other(graded, tmp_path):
    judged = tmp_path / "says"
    command("judge", "demo", "--judge", "fake/rehearsal", "--prompts", "bridge", "--out", judged)
    said = command("compare", "--says", judged, "--does", graded)

    assert said.code == 0
    assert "its verdicts are right on" in " ".join(said.out.split())


def test_a_run_of_replies_or_of_grades_shows_what_it_holds(graded):
    (grades,) = (graded / "grades").iterdir()
    found = json.loads(command("show", graded, "--json").out)
    of_grades = json.loads(command("show", grades, "--json").out)
    outcomes = Counter(json.loads(line)["outcome"] for line in (grades / "grades.jsonl").read_text().splitlines())
    printed = command("show", graded)

    assert found["replies"] == [{"arm": "full", "replies": 90, "unanswered": 0, "why": ""}]
    assert found["grades"] == of_grades["grades"]
    assert {name: n for name, n in found["grades"][0].items() if n} == {
        "grader": "fake/rehearsal, strict rubric",
        **outcomes,
    }
    assert printed.code == 0
    assert "Replies of fake/rehearsal on demo" in printed.out
    assert "SYNTHETIC DATA" in printed.out
    assert "casewise serve REPLIES shows them item by item" in command("show", graded, "1").err


@pytest.mark.parametrize("to", ["eee", "inspect"])
def test_replies_and_grades_are_no_judges_run_to_hand_on(graded, tmp_path, to):
    for folder in (graded, next((graded / "grades").iterdir())):
        said = command("export", folder, "--to", to, "--out", tmp_path / "x")

        assert said.code == 2
        assert f"--to {to} takes a run, and {folder} is replies, which can go to table" in said.err
        assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replies", "grade", "nowhere", "--grader", "rubric:fake/rehearsal"], "is no run folder"),
        (["replies", "collect", "demo", "--model", "fake/other"], "no rehearsal is called"),
        (
            ["replies", "collect", "demo", "--model", "fake/rehearsal", "--context-role", "assistant"],
            'Choose from: "user", "system"',
        ),
        (["replies", "collect", "demo", "--model", "fake/rehearsal", "--arms", "nothing"], "no arm is called"),
        (["replies", "grade", "--grader", "keywords"], "REPLIES is missing"),
        (["compare", "--says", "a"], "give --says and --does together"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments, words):
    said = command(*arguments)

    assert said.code == 2
    assert words in said.err
    assert "Traceback" not in said.err


def test_harmful_text_leaves_the_machine_only_with_consent(graded, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    for words, what in (
        (("collect", "demo", "--model", "openai/gpt-4o", "--out", tmp_path / "r"), "the benchmark's queries, which"),
        (("grade", graded, "--grader", "rubric:openai/gpt-4o"), "the benchmark's queries and the replies"),
    ):
        said = command("replies", *words)
        assert said.code == 2
        assert f"This sends {what}" in said.err
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
def test_texts_are_removed_where_that_is_asked(graded):
    said = command("replies", "grade", graded, "--grader", "rubric:fake/rehearsal", "--discard-replies")

    assert said.code == 0
    assert "the texts of 90 replies were removed" in said.err
    assert "no model wrote this" not in (graded / "replies.jsonl").read_text()
    assert command("report", graded).code == 0
    again = command("replies", "collect", "demo", "--model", "fake/rehearsal", "--out", graded)
    assert f"next: casewise report {graded}" in again.err


@pytest.mark.slow
def test_a_file_with_replies_is_its_owners_alone_wherever_it_lies(graded, tmp_path):
    files = [tmp_path / name for name in ("page.html", "page.md", "page.json", "tables.tex")]
    page, markdown, out, tables = files
    written = ("--html", page, "--markdown", markdown, "--out", out, "--latex", tables)
    assert command("report", graded, *written).code == 0
    assert "no model wrote this" not in page.read_text()
    assert command("report", graded, *written, "--with-replies").code == 0
    assert "no model wrote this" in page.read_text()
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_who_makes_texts_for_an_arm_is_named_before_anything_is_sent_and_reckoned(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-anything")
    collect = ("replies", "collect", "demo", "--model", "fake/rehearsal", "--arms", "filter:openai/gpt-4o")
    refused = command(*collect)
    assert (refused.code, "to api.openai.com" in refused.err) == (2, True)
    assert "before that, filter:openai/gpt-4o" in command(*collect, "--dry-run").out


def test_queries_that_got_no_reply_end_the_command_with_4_and_are_sent_by_the_next(tmp_path):
    left = iter(range(2))
    busy = FaultServer(
        refuse=lambda _request, _body: web.json_response({}, status=503) if next(left, None) is not None else None
    )
    codes = []
    for server in (busy, FaultServer()):
        with served(server):
            said = command(
                *("replies", "collect", "demo", "--model", "vllm/tiny", "--base-url", server.url, "--retries", 0),
                *("--limit", 6, "--out", tmp_path / "replies", "--json"),
            )
        codes.append((said.code, json.loads(said.out).get("unavailable"), len(server.bodies)))

    assert codes == [(4, 2, 6), (0, None, 2)]
