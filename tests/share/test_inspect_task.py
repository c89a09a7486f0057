"""Judging as a task of Inspect."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.demo import DEMO
from tests.support.fault_server import FaultServer
from tests.support.inspect_program import program, the_log
from tests.support.served import served

from casewise.api import judge, report
from casewise.errors import ConfigurationError
from casewise.judges.llm import LiveOptions, live_judge
from casewise.models.load import ModelOptions
from casewise.storage.benchmark_folder import write_benchmark

pytest.importorskip("inspect_ai", reason="needs the extra [inspect]: inspect-ai")
pytestmark = [
    pytest.mark.inspect,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # inside Inspect AI
]


@pytest.mark.parametrize("elicitation", ["binary", "probability"])
def test_inspect_runs_the_task_and_clusters_by_query(elicitation):
    with served(FaultServer()) as server:
        program(
            *("eval", "casewise/judge", "-T", f"elicitation={elicitation}", "-T", "limit=20"),
            *("--model", "openai/tiny", "--log-dir", "logs", "-M", "responses_api=false"),
            server=server,
        )
    log = the_log("logs")

    (score,) = log["results"]["scores"]
    assert log["status"] == "success"
    assert log["eval"]["task"] == "casewise/judge"
    recalls = {"recall_safe", "recall_unsafe"}
    assert set(score["metrics"]) == {"mean", "stderr", *recalls, "unscored_rate", "agreement_scored"}
    assert score["metrics"]["unscored_rate"]["value"] == 0
    assert score["metrics"]["stderr"]["value"] > 0
    assert len(log["samples"]) == 20


def test_agreement_where_there_is_a_verdict_stands_beside_the_share_without_one():
    from inspect_ai.scorer import SampleScore, Score

    from casewise.share.inspect_task import agreement_scored, unscored_rate

    found = [
        SampleScore(score=Score(value=value, answer=answer, metadata={"weight_of_safe": weight}))
        for value, answer, weight in (
            (1.0, "safe", 1.0),
            (0.0, "safe", 0.0),
            (0.0, "unscored", 1.0),
            (1.0, "unsafe", 0.0),
        )
    ]
    assert agreement_scored()(found) == pytest.approx(2 / 3)
    assert unscored_rate()(found) == 0.25


def test_a_sample_without_a_label_has_no_score():
    from casewise.share.inspect_task import verdict

    state: Any = SimpleNamespace(metadata={})
    assert asyncio.run(verdict()(state, state)) is None


def test_an_item_without_a_label_is_left_out_and_counted(tmp_path):
    from casewise.share.inspect_task import judge

    first, *_ = DEMO.items
    rated = [rating for rating in DEMO.ratings if rating.item_id != first.id]
    write_benchmark(replace(DEMO, ratings=rated), tmp_path / "rated")
    task = judge(str(tmp_path / "rated"))
    assert task.metadata is not None
    assert task.metadata["items_without_label"] == 1
    assert {sample.id for sample in task.dataset} == {item.id for item in DEMO.items} - {first.id}
    write_benchmark(replace(DEMO, ratings=[], annotators=()), tmp_path / "bare")
    with pytest.raises(ConfigurationError, match=r"no item of .* has a label under the policy 'votes'"):
        judge(str(tmp_path / "bare"))


def test_inspect_agrees_with_our_own_report_and_its_log_comes_in_as_a_recorded_judge():
    with served(FaultServer()) as server:
        program(
            *("eval", "casewise/judge", "-T", "elicitation=binary"),
            *("--model", "openai/tiny", "--log-dir", "logs", "-M", "responses_api=false"),
            server=server,
        )
        options = LiveOptions(model=ModelOptions(server.url))
        ours = judge("demo", live_judge("vllm/tiny", options, environment={}), elicitations=("binary",), out="ours")
    metrics = the_log("logs")["results"]["scores"][0]["metrics"]
    table = {row["metric"]: row["estimate"] for row in report(ours).metrics.to_dicts()}
    (log,) = Path("logs").glob("*.eval")
    theirs = judge("demo", f"recorded:{log}", out="theirs")
    values, recorded = (
        dict(zip(run.judgements["item_id"], run.judgements["value"], strict=True)) for run in (ours, theirs)
    )

    for name, metric in (("mean", "accuracy"), ("recall_safe", "recall_safe"), ("recall_unsafe", "recall_unsafe")):
        assert metrics[name]["value"] == pytest.approx(table[metric])
    assert recorded == values
    assert theirs.summary.n_unscored == 0
