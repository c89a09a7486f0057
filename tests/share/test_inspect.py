import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_server import FaultServer

from casewise.api import attack, judge
from casewise.api.judging import PlannedRun
from casewise.errors import ConfigurationError
from casewise.judges.llm import LiveOptions, live_judge
from casewise.judges.plan import Plan, Selection
from casewise.models.load import ModelOptions
from casewise.records import Unscored, UnscoredReason
from casewise.storage.load import load

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]: inspect-ai")
pytestmark = [
    pytest.mark.inspect,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # inside Inspect AI
]

INSPECT = Path(sys.executable).with_name("inspect")


def environment(server=None):
    found = {**os.environ, "INSPECT_LOG_FORMAT": "eval", "OPENAI_API_KEY": "sk-anything", "INSPECT_DISPLAY": "plain"}
    return found | ({"OPENAI_BASE_URL": server.url} if server else {})


def program(*words, server=None):
    done = subprocess.run(
        [str(INSPECT), *words], env=environment(server), capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def the_log(folder):
    (path,) = Path(folder).glob("*.eval")
    return json.loads(program("log", "dump", str(path)))


def test_a_log_of_inspect_comes_in_as_a_recorded_judge():
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ModelOutput

    items = load("demo").items[:3]
    replies = ('{"judgement": "safe"}', '{"judgement": "unsafe"}', "I cannot say.")
    samples = [
        EvalSample(id=item.id, epoch=1, input="?", target="", output=ModelOutput.from_content("m", reply))
        for item, reply in zip(items, replies, strict=True)
    ]
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="any",
        dataset=EvalDataset(),
        model="m",
        config=EvalConfig(),
        task_args={"elicitation": "binary"},
    )
    write_eval_log(EvalLog(eval=spec, samples=samples), "log.eval")
    judged = judge("demo", "recorded:log.eval", elicitations=("binary",), out="run").judgements

    values = dict(zip(judged["item_id"], judged["value"], strict=True))
    assert [values[item.id] for item in items] == [1, 0, None]


def test_a_model_of_inspect_is_a_judge_of_ours(monkeypatch, tmp_path):
    benchmark = load("demo")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-anything")

    async def go(server):
        async with server:
            judge = live_judge("inspect:openai-api/openai/tiny", LiveOptions(model=ModelOptions(server.url)))
            plan = Plan.of(benchmark, judge, elicitations=("binary", "probability"), selection=Selection(limit=6))
            return (await PlannedRun(tmp_path / "run", benchmark, judge, plan).perform()).summary

    summary = asyncio.run(go(FaultServer()))

    assert (summary.n_judged, summary.n_unscored) == (12, 0)
    assert summary.output_tokens == 120


def test_a_run_is_exported_as_a_log_that_inspect_reads():
    from casewise.share.inspect_log import export_inspect_log

    judge("demo", "fake/rehearsal", elicitations=("binary", "score"), out="run")
    export = [
        "-c",
        "from casewise.cli.app import main; main()",
        "export",
        "run",
        "--to",
        "inspect",
        "--out",
        "run.eval",
    ]
    done = subprocess.run([sys.executable, *export], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for place, problem in (("run.eval", "nothing is overwritten"), ("log", "ends in .eval or .json")):
        with pytest.raises(ConfigurationError, match=problem):
            export_inspect_log(Path("run"), Path(place))
    log = json.loads(program("log", "dump", done.stdout.strip()))

    assert len(log["samples"]) == 180
    assert log["eval"]["model"] == "fake/rehearsal"
    assert {sample["scores"]["verdict"]["answer"] for sample in log["samples"]} == {"safe", "unsafe"}


def test_the_log_has_what_was_shown_under_an_attack_and_what_a_model_made_of_it():
    from casewise.share.inspect_log import export_inspect_log

    attacks = "claim:agreed,claim:authority/system,paraphrase:fake/rehearsal"
    attack("demo", "fake/rehearsal", attacks=attacks, noise="none", out="run")
    export_inspect_log(Path("run"), Path("log.eval"))
    shown: dict[str, Any] = {}
    for one in json.loads(program("log", "dump", "log.eval"))["samples"]:
        shown.setdefault(one["metadata"]["arm"], one["metadata"])

    assert "answered" in str(shown["claim@2:agreed/user/safe"]["earlier"])
    assert "answered" in str(shown["claim@2:authority/system/safe"]["system"])
    assert "In other words:" in str(shown["paraphrase:fake/rehearsal"]["shown"])
    assert "earlier" not in shown["full"]


def test_an_item_without_a_verdict_has_no_score_in_the_log(tmp_path):
    from inspect_ai.log import read_eval_log

    from casewise.share.inspect_log import export_inspect_log

    def half(query, context):
        return "safe" if len(query) % 2 else Unscored(reason=UnscoredReason.REFUSED)

    run = judge("demo", half, out=tmp_path / "run")
    (score,) = read_eval_log(str(export_inspect_log(tmp_path / "run", tmp_path / "run.eval"))).results.scores
    assert (score.scored_samples, score.unscored_samples) == (run.summary.n_judged, run.summary.n_unscored)
    assert score.unscored_samples > 0
    assert score.metrics["mean"].value > 0
