"""`--batch` and `casewise show jobs`, as typed."""

import json
from pathlib import Path

import pytest
from tests.support.batched import KEYS, taking_batches
from tests.support.command import invoke


@pytest.fixture
def casewise(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in KEYS.values():
        monkeypatch.setenv(name, "sk-tests")
    return invoke


def over(server, *more):
    return ("--base-url", server.address("openai"), "--batch", *more)


@pytest.mark.slow
def test_what_is_out_is_said_and_collected_by_the_same_command(casewise):
    with taking_batches(looks=1) as server:
        command = (
            "judge",
            "demo",
            "--judge",
            "openai/tiny",
            *over(server, "--price-in", 1, "--price-out", 1),
            "--out",
            "runs/a",
        )
        first, jobs, said = casewise(*command), casewise("show", "jobs", "--json"), casewise("show", "jobs")
        last = casewise(*command, "--wait")
        after = casewise("show", "jobs")
        every = json.loads(casewise("show", "jobs", "runs/a", "--all", "--json").out)["jobs"]

    (job,) = json.loads(jobs.out)["jobs"]
    assert first.code == 4
    assert "89 calls are at the provider (casewise show jobs runs/a)" in first.err
    assert (job["n_requests"], job["stage"], job["provider"], job["batch"]) == (89, "out", "openai", "b1")
    assert job["cost_at_most_usd"] > 0
    assert job["expires"] > job["since"]
    assert said.out.splitlines()[1].split()[:4] == ["b1", "openai", "tiny", "0/89"]
    assert last.code == 0
    assert "90 verdicts" in last.out
    assert "no batch job is open" in after.err
    assert [(one["stage"], one["state"]) for one in every] == [("ended", "completed")]


@pytest.mark.slow
def test_replies_and_their_grades_come_over_the_batch_interface(casewise):
    with taking_batches() as server:
        collect = ("replies", "collect", "demo", "--model", "openai/tiny", *over(server), "--out", "replies/a")
        first, second = casewise(*collect), casewise(*collect, "--wait")
        grade = casewise("replies", "grade", "replies/a", "--grader", "rubric:openai/tiny", *over(server, "--wait"))

    assert (first.code, second.code) == (4, 0)
    assert "next:" not in first.err
    assert "next: casewise replies grade" in second.err
    assert "90 replies" in second.out
    assert "68 calls" in grade.out
    assert [len(batch.requests) for batch in server.batches] == [89, 67]
    assert (len(list(Path("replies/a").rglob("batches.jsonl")))) == 2


@pytest.mark.slow
def test_an_attack_and_contexts_are_handed_over_too(casewise):
    with taking_batches() as server:
        attack = ("attack", "demo", "--judge", "openai/tiny", "--attacks", "claim:authority/user", "--noise", "none")
        attacked = casewise(*attack, *over(server, "--wait"), "--limit", 4)
        casewise("contexts", "select", "demo", "--queries-only", "--draft", "d", "--per-category", 1)
        generate = ("contexts", "generate", "d", "--model", "openai/tiny", "--attempts", 1, *over(server))
        first, second = casewise(*generate), casewise(*generate)

    assert attacked.code == 0
    assert first.code == 4
    assert "are at the provider" in first.err
    assert "89 failed, in 89 calls" in second.out
    assert [len(batch.requests) for batch in server.batches[1:]] == [89, 1]  # what failed live is asked again


@pytest.mark.slow
def test_waiting_goes_with_batches_and_a_local_judge_is_not_asked_over_one(casewise):
    assert "--wait works only with --batch" in casewise("judge", "demo", "--judge", "linear", "--wait").err
    assert "cannot be used over a batch interface" in casewise("judge", "demo", "--judge", "linear", "--batch").err
    assert "add --yes" in casewise("judge", "demo", "--judge", "openai/gpt-4o-mini", "--batch").err


@pytest.mark.slow
def test_judges_over_batches_share_what_they_may_cost(casewise):
    two = ("judge", "demo", "--judge", "openai/one", "--judge", "openai/two", "--price-in", 1, "--price-out", 1)
    with taking_batches(looks=3) as server:
        first = casewise(*two, *over(server), "--max-cost", 0.2, "--out", "runs/both")
        jobs = json.loads(casewise("show", "jobs", "--json").out)["jobs"]
        again = casewise(*two, *over(server), "--max-cost", 0.2, "--out", "runs/both")
        still = json.loads(casewise("show", "jobs", "--json").out)["jobs"]

    assert (first.code, again.code) == (4, 4)
    assert {job["model"]: job["n_requests"] for job in jobs} == {"one": 89, "two": 21}
    assert 0.15 < sum(job["cost_at_most_usd"] for job in jobs) <= 0.2
    assert [job["batch"] for job in still] == [job["batch"] for job in jobs]
