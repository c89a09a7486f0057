"""What `casewise judge` prints of plans, runs and endpoints, and where runs lie."""

import json
from pathlib import Path

import pytest

from casewise import api
from casewise.cli.judge import (
    all_complete,
    folders_of,
    judge_folders,
    label_tokens,
    print_planned,
    print_probe,
    print_several,
    print_summary,
    runs_json,
    title_with_prompts,
)
from casewise.cli.printing import gathering_results
from casewise.errors import ConfigurationError
from casewise.judges.llm import LiveOptions
from casewise.judges.plan import Selection
from casewise.models.wire import Probe
from casewise.storage.files import json_value


def planned(name="constant:safe", *, folder="run", prompts="casewise", benchmark="demo", limit=2):
    options = api.RunOptions(selection=Selection(limit=limit), live=LiveOptions(prompts=prompts))
    return api.plan_run(api.load(benchmark), name, out=Path("runs") / folder, options=options)


def performed(*plans):
    return api.judge_several(plans)


def test_each_judge_has_a_folder_and_each_benchmark_one_for_all_of_them():
    assert judge_folders(["linear", "constant:safe"], Path("out")) == {
        "linear": Path("out/linear"),
        "constant:safe": Path("out/constant-safe"),
    }
    assert folders_of(["demo", "data/own.json"], ["linear"], Path("out")) == {
        "demo": {"linear": Path("out/demo/linear")},
        "data/own.json": {"linear": Path("out/own/linear")},
    }
    with pytest.raises(
        ConfigurationError, match=r"two benchmarks would share a folder; judge each with --out: a/x, b/x\.json"
    ):
        folders_of(["a/x", "b/x.json"], ["linear"], Path("out"))


def test_prompts_are_named_where_there_are_several():
    one, other = planned("fake/rehearsal"), planned("fake/rehearsal", prompts="bridge", folder="other")

    assert title_with_prompts(one, [one], "m") == "m"
    assert title_with_prompts(one, [one, one], "m") == "m"
    assert title_with_prompts(other, [one, other], "m") == "m, prompts bridge"


def test_a_run_is_told_in_a_line_with_the_next_command(capsys):
    (run,) = performed(planned(folder="my run"))

    print_summary(run.summary, run.path)
    printed, notes = capsys.readouterr()
    assert printed.startswith("2 verdicts, 0 unscored; 2 calls in ")
    assert printed.endswith(" s: runs/my run\n")
    assert notes.splitlines()[-1] == "next: casewise report 'runs/my run'"
    print_summary(run.summary, run.path, then=None)
    assert "next:" not in capsys.readouterr().err
    with gathering_results(json=True):
        print_summary(run.summary, run.path)
    assert json.loads(capsys.readouterr().out) == json_value(run.summary.as_json())


def test_several_runs_of_a_benchmark_are_told_one_by_one(capsys):
    plans = [planned(folder="safe"), planned("constant:unsafe", folder="unsafe")]
    runs = performed(*plans)

    with gathering_results(json=True):
        print_several(runs, plans)
    safe, unsafe = (json_value(run.summary.as_json()) for run in runs)
    assert json.loads(capsys.readouterr().out) == {"runs": {"constant:safe": safe, "constant:unsafe": unsafe}}
    print_several(runs[:1], plans)
    printed, notes = capsys.readouterr()
    assert printed.splitlines()[0] == f"{plans[0].label}:"
    assert "next:" not in notes


def test_runs_over_several_benchmarks_are_told_by_benchmark():
    plans = [planned(folder="demo/safe"), planned(folder="actions/safe", benchmark="demo-actions")]
    runs = performed(*plans)

    assert runs_json(runs, plans) == {
        "demo": {"constant:safe": runs[0].summary.as_json()},
        "actions": {"constant:safe": runs[1].summary.as_json()},
    }
    assert runs_json([], plans) == {}


def test_runs_are_complete_if_none_is_missing_stopped_or_at_the_provider():
    plan = planned()
    (run,) = performed(plan)

    assert all_complete([run], [plan])
    assert not all_complete([run], [plan, plan])
    run.summary.n_pending = 1
    assert not all_complete([run], [plan])
    run.summary.n_pending, run.summary.stopped = 0, "interrupted"
    assert not all_complete([run], [plan])


def test_a_plan_is_told_with_its_calls_and_cost(capsys):
    run = planned("fake/rehearsal")
    print_planned([run], [run.estimate()])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fake/rehearsal: 2 judgements of 2 items in 2 calls"
    assert lines[1].endswith(" out (a rough estimate)")
    assert lines[2] == "cost: about $0.00, at most $0.00"
    assert len(lines) == 3


def test_several_plans_have_a_total_and_the_names_of_their_benchmarks(capsys):
    two = [planned("fake/rehearsal"), planned("constant:safe", benchmark="demo-actions", folder="other")]
    estimates = [run.estimate() for run in two]
    print_planned(two, estimates)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fake/rehearsal on demo: ")
    assert lines[-1] == "together: at most $0.00"
    with gathering_results(json=True):
        print_planned(two[:1], estimates[:1])
        alone = json.loads(capsys.readouterr().out)
        print_planned(two, estimates)
    both = json.loads(capsys.readouterr().out)["judges"]
    assert (alone["judge"], "benchmark" in alone, alone["n_calls"]) == ("fake/rehearsal", False, 2)
    assert [row["benchmark"] for row in both] == ["demo", api.load("demo-actions").name]


def test_only_a_local_model_has_tokens_for_labels():
    assert label_tokens(planned().judge) == {}


PROBE = {"model": "vllm/m", "model_version": "m-1", "latency_s": 0.25, "temperature": True, "top_logprobs": 20, "json_schema": True, "seed": True, "reply": "safe"}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, ["vllm/m answered in 0.25 s as m-1", "yes", "yes, 20 tokens", "yes", "taken"]),
        (
            {"model_version": None, "temperature": False, "top_logprobs": 0, "json_schema": False, "seed": False},
            [
                "vllm/m answered in 0.25 s as a model it does not name",
                "no, the model uses its own",
                "no: --elicit probability will not work",
                "no (casewise needs none)",
                "no",
            ],
        ),
    ],
)
def test_a_test_of_a_connection_says_what_the_endpoint_can_do(capsys, change, lines):
    print_probe(Probe(**PROBE | change))

    first, *others = capsys.readouterr().out.splitlines()
    assert [first, *(line.partition(":")[2].strip() for line in others)] == lines
    assert [line.partition(":")[0] for line in others] == ["temperature", "logprobs", "JSON schema", "seed"]
