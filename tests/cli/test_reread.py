"""`casewise reread RUN`: unread replies by shape, other readers on stored replies, a new reading beside the old one."""

import csv
import itertools
import json
import re
from pathlib import Path

import pytest
from aiohttp import web
from tests.support.command import invoke
from tests.support.fault_server import FaultServer, completion, replying
from tests.support.served import served

REPLIES = [
    '{"judgement": "safe", "explanation": "x"}',
    "ALLOW",
    "BLOCK",
    '{"outcome": "block", "why": "x"}',
    "I would let this one through.",
]
PATTERN = "(?P<safe>allow)|(?P<unsafe>block)"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of ten replies, of which two gave a verdict."""
    monkeypatch.chdir(tmp_path)
    server = replying(lambda _body: REPLIES[len(server.bodies) % len(REPLIES)])
    command = ("judge", "demo", "--judge", "vllm/tiny", "--limit", "10", "--concurrency", "1", "--out", "run")
    with served(server):
        said = invoke(*command, "--base-url", server.url)
    assert said.code == 0
    return said


def judgements(folder):
    return [json.loads(line) for line in Path(folder, "judgements.jsonl").read_text(encoding="utf-8").splitlines()]


def marked(path, verdicts):
    """Fill in the sample at `path` by reply."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["verdict"] = verdicts.get(row["reply"], "none")
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_the_last_line_of_a_run_points_to_it_where_many_replies_are_unread(run):
    assert run.err.splitlines()[-1].endswith("casewise reread run")


def test_unread_replies_are_shown_by_shape_with_a_sample_and_what_to_do(run):
    said = json.loads(invoke("reread", "run", "--json").out)

    assert (said["replies"], said["unread"]) == (10, 8)
    groups = {group["shape"]: (group["replies"], group["sample"]) for group in said["groups"]}
    assert groups["the words 'allow'"] == (2, "ALLOW")
    assert groups["JSON with the keys outcome, why"] == (2, REPLIES[3])
    assert groups["prose that says neither safe nor unsafe"] == (2, REPLIES[4])
    assert all(group["advice"] for group in said["groups"])


def test_a_pattern_makes_a_new_reading_beside_the_old_one_without_a_call(run):
    before = Path("run/judgements.jsonl").read_bytes()
    said = invoke("reread", "run", "--pattern", PATTERN, "--out", "again")

    assert said.code == 0
    assert "pattern: finds a verdict in 6 of the 8 unread replies" in said.out
    assert Path("run/judgements.jsonl").read_bytes() == before
    values = {row["raw_reply"]: row["outcome"].get("value") for row in judgements("again")}
    assert values == {REPLIES[0]: 1.0, "ALLOW": 1.0, "BLOCK": 0.0, REPLIES[3]: 0.0, REPLIES[4]: None}
    read = next(row for row in judgements("again") if row["raw_reply"] == "ALLOW")
    assert (read["read_as"], read["detail"]) == ("pattern", {"first_reading": "no_verdict", "reread_by": "pattern"})


def test_a_second_model_gets_the_headers_of_the_command(run, monkeypatch):
    monkeypatch.setenv("TEAM_TOKEN", "blue")
    sent = []

    def answered(request, body):
        sent.append(request.headers.get("X-Team"))
        return web.json_response(completion(body, '{"verdict": "safe"}'))

    with served(FaultServer(refuse=answered)) as server:
        named = ("--reader", "vllm/other", "--base-url", server.url, "--header", "X-Team=TEAM_TOKEN")
        said = invoke("reread", "run", *named, "--out", "again")

    assert said.code == 0, said.err
    assert set(sent) == {"blue"}


@pytest.mark.slow
def test_a_new_reading_says_where_it_comes_from_and_is_reported_like_any_run(run):
    invoke("reread", "run", "--pattern", PATTERN, "--out", "again")

    reading = json.loads(Path("again/run.json").read_text(encoding="utf-8"))["identity"]["settings"]["reading"]
    assert (reading["by"], reading["pattern"], reading["of"]) == ("pattern", PATTERN, "run")
    report = invoke("report", "again")
    assert report.code == 0
    assert "were read again by the pattern" in report.out
    assert "It was not checked on a marked sample" in report.out


def test_each_reader_is_measured_on_the_replies_that_the_user_marks(run):
    first = invoke("reread", "run", "--marks", "sample.csv")
    assert "sample.csv: 5 replies to mark" in first.out
    marked(
        "sample.csv", {REPLIES[0]: "safe", "ALLOW": "safe", "BLOCK": "unsafe", REPLIES[3]: "unsafe", REPLIES[4]: "safe"}
    )
    said = json.loads(invoke("reread", "run", "--marks", "sample.csv", "--pattern", PATTERN, "--json").out)

    rules, pattern = said["measured_rules"], said["measured_pattern"]
    assert (rules["right"], rules["missed"], rules["wrong"], rules["marked"]) == (1, 4, 0, 5)
    assert (pattern["right"], pattern["missed"], pattern["wrong"], pattern["marked"]) == (3, 1, 0, 4)
    assert 0.4 < pattern["wrong_at_most"] < 0.5


def test_a_wrong_reading_is_counted_and_stands_in_the_note_of_the_new_reading(run):
    invoke("reread", "run", "--marks", "sample.csv")
    marked("sample.csv", {REPLIES[0]: "safe", "ALLOW": "unsafe"})
    invoke("reread", "run", "--marks", "sample.csv", "--pattern", PATTERN, "--out", "again")

    (note,) = json.loads(Path("again/notes.json").read_text(encoding="utf-8"))
    assert "On 4 replies that a person marked it was right on 0 and wrong on 3" in note


def test_a_second_model_reads_stored_replies_and_the_judge_is_not_asked(run):
    server = replying(lambda _body: '{"verdict": "safe"}')
    with served(server):
        said = invoke("reread", "run", "--reader", "vllm/second", "--base-url", server.url, "--out", "again")

    assert said.code == 0
    assert {body["model"] for body in server.bodies} == {"second"}
    assert len(server.bodies) == 4  # different unread replies
    assert re.search(r"^model: 4 calls, [\d,]+ tokens$", said.out, re.MULTILINE)
    assert {row["outcome"]["value"] for row in judgements("again") if row["raw_reply"] != REPLIES[0]} == {1.0}


def test_a_second_model_is_asked_only_as_long_as_the_most_that_a_call_can_cost_fits(run):
    server = replying(lambda _body: '{"verdict": "safe"}')
    prices = ("--price-in", "0", "--price-out", "1000", "--max-cost", "1.04")  # a reply costs $1.024 at most, and $0.01
    with served(server):
        said = invoke("reread", "run", "--reader", "vllm/second", "--base-url", server.url, *prices, "--out", "again")

    assert said.code == 0
    assert len(server.bodies) == 2
    assert "4 replies were not read, because --max-cost 1.04 is spent" in said.err
    assert re.search(r"^model: 2 calls, [\d,]+ tokens, \$0\.0200$", said.out, re.MULTILINE)
    assert [row["outcome"].get("value") for row in judgements("again")].count(None) == 4


def test_what_a_second_model_was_billed_for_a_lost_answer_counts(run):
    """The answer comes at the third try, and each try may have been billed with $1.024."""
    statuses = itertools.cycle((504, 504, 200))

    def refuse(_request, body):
        status = next(statuses)
        return web.json_response(completion(body, '{"verdict": "safe"}') if status == 200 else {}, status=status)

    prices = ("--price-in", "0", "--price-out", "1000", "--max-cost", "2.5")
    with served(FaultServer(refuse=refuse)) as server:
        said = invoke("reread", "run", "--reader", "vllm/second", "--base-url", server.url, *prices, "--out", "again")

    assert said.code == 0
    assert len(server.bodies) <= 2 * 3
    assert "not read, because --max-cost 2.5 is spent" in said.err
    assert ", $0.0200, and at most $4.0960 more for calls whose tokens the endpoint did not report" in said.out


def test_a_second_model_is_not_asked_where_the_new_reading_cannot_be_written(run):
    server = replying(lambda _body: '{"verdict": "safe"}')
    with served(server):
        refused = invoke("reread", "run", "--reader", "vllm/second", "--base-url", server.url, "--out", "run")

    assert "run exists" in refused.err
    assert server.bodies == []


def test_thoughts_that_never_come_to_a_reply_are_a_group_of_their_own(run):
    log = Path("run/judgements.jsonl")
    thoughts = log.read_text(encoding="utf-8").replace('"raw_reply":"BLOCK"', '"raw_reply":"<think>It is"').replace("no_verdict", "empty")  # fmt: skip
    log.write_text(thoughts, encoding="utf-8")
    groups = json.loads(invoke("reread", "run", "--json").out)["groups"]

    assert [group["replies"] for group in groups if group["shape"] == "thoughts that never come to a reply"] == [2]


@pytest.mark.parametrize(
    ("reply", "shape"), [("<think>It is", "thoughts that never come to a reply"), ("", "no words at all")]
)
def test_the_last_line_of_a_run_points_to_it_where_replies_are_thoughts_or_nothing(tmp_path, monkeypatch, reply, shape):
    monkeypatch.chdir(tmp_path)
    server = replying(lambda _body: reply)
    with served(server):
        said = invoke("judge", "demo", "--judge", "vllm/tiny", "--limit", "3", "--out", "run", "--base-url", server.url)
    (group,) = json.loads(invoke("reread", "run", "--json").out)["groups"]

    assert said.err.splitlines()[-1].endswith("casewise reread run")
    assert (group["shape"], group["replies"]) == (shape, 3)


def test_the_rules_of_this_version_read_every_reply_again(run):
    said = invoke("reread", "run", "--by", "rules", "--out", "again")

    assert "a new reading with 0 changed verdicts" in said.out
    assert [row["outcome"] for row in judgements("again")] == [row["outcome"] for row in judgements("run")]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--pattern", "("), "is no regular expression"),
        (("--pattern", "safe"), "has no group"),
        (("--by", "pattern"), "--by pattern needs --pattern"),
        (("--by", "rules", "--out", "run"), "run exists"),
        (("--reader", "vllm/second", "--price-in", "1"), "--price-out is missing"),
        (("--marks", "bad.csv"), "'verdict' is 'yes'"),
        (("--marks", "empty.csv"), "has no mark"),
        (("--marks", "other.csv"), "has no column"),
    ],
)
def test_bad_input_says_what_is_wrong(run, tmp_path, options, problem):
    (tmp_path / "bad.csv").write_text("id,elicitation,reply,verdict\nx,binary,ALLOW,yes\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("id,elicitation,reply,verdict\nx,binary,ALLOW,\n", encoding="utf-8")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    said = invoke("reread", "run", *options)

    assert said.code != 0
    assert problem in said.err
