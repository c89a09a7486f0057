"""A run as a log that Inspect reads, and a model of Inspect as a judge."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_server import FaultServer
from tests.support.inspect_program import program

from casewise.api import attack, judge
from casewise.api.judging import PlannedRun
from casewise.errors import ConfigurationError
from casewise.judges.llm import LiveOptions, live_judge
from casewise.judges.plan import Plan, Selection
from casewise.models.load import ModelOptions
from casewise.records import Unscored, UnscoredReason
from casewise.storage.load import load
from casewise.transforms.attacks import shipped_claims

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]: inspect-ai")
pytestmark = [
    pytest.mark.inspect,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # inside Inspect AI
]


def test_a_model_of_inspect_is_a_judge_of_ours(monkeypatch, tmp_path):
    benchmark = load("demo")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-anything")

    async def go(server):
        async with server:
            judge = live_judge("inspect:openai-api/openai/tiny", LiveOptions(model=ModelOptions(server.url)))
            plan = Plan.for_benchmark(
                benchmark, judge, elicitations=("binary", "probability"), selection=Selection(limit=6)
            )
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


@pytest.mark.parametrize("elicitation", ["binary", "score", "probability"])
def test_an_exported_log_comes_back_with_the_same_values(elicitation):
    from casewise.share.inspect_log import export_inspect_log

    there = judge("demo", "fake/rehearsal", elicitations=elicitation, out="there")
    export_inspect_log(there.path, Path("log.json"))
    back = judge("demo", "recorded:log.json", out="back")

    values = [
        {row["item_id"]: row["value"] for row in run.judgements.select("item_id", "value").to_dicts()}
        for run in (there, back)
    ]
    assert len(values[0]) == 90
    assert values[0] == values[1]


def test_the_log_has_what_was_shown_under_an_attack_and_what_a_model_made_of_it():
    from casewise.share.inspect_log import export_inspect_log

    attacks = "claim:agreed,claim:authority/system,paraphrase:fake/rehearsal"
    attack("demo", "fake/rehearsal", attacks=attacks, noise="none", out="run")
    export_inspect_log(Path("run"), Path("log.eval"))
    shown: dict[str, Any] = {}
    for one in json.loads(program("log", "dump", "log.eval"))["samples"]:
        shown.setdefault(one["metadata"]["arm"], one["metadata"])

    (authority, agreed) = (shipped_claims()[name].words["safe"] for name in ("authority", "agreed"))
    earlier, system = shown["claim@4:agreed/user/safe"]["earlier"], shown["claim@4:authority/system/safe"]["system"]
    assert any(words.partition("\n\n")[0] in str(earlier) for words in agreed)
    assert any(words in str(system) for words in authority)
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
