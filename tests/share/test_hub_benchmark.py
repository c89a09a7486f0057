"""A benchmark for the hub: what eval.yaml says is a task in Inspect's own form, and finds the verdicts that we find."""

import asyncio
from types import SimpleNamespace

import polars as pl
import pytest

from casewise import api
from casewise.records import Scored

REPLIES = ['{"judgement": "%s", "explanation": "It is."}', "%s", "  **%s**.", '{"judgement":"%s"}']


@pytest.fixture
def folder(tmp_path):
    return api.hand_on(["demo"], tmp_path / "out", to="hf").path


def read_task(folder):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((folder / "eval.yaml").read_text())


def test_it_says_what_the_hub_wants_and_reads_back_as_it_was(folder):
    said = read_task(folder)
    assert set(said) == {"name", "description", "evaluation_framework", "tasks"}
    (task,) = said["tasks"]
    asked = pl.read_parquet(folder / f"data/{task['config']}.parquet")

    assert f"config_name: {task['config']}\n" in (folder / "README.md").read_text()
    assert set(asked["label"]) == {"safe", "unsafe"}
    assert set(asked["item_id"]) <= {item.id for item in api.load("demo").items}
    assert api.load(folder).digest == api.load("demo").digest


def test_inspect_takes_the_task_and_reads_replies_as_we_do(folder):
    inspected = pytest.importorskip("inspect_ai._eval.task.hf", reason="needs inspect-ai")
    from inspect_ai._eval.loader import scorer_from_spec
    from inspect_ai.scorer import Target
    from inspect_ai.scorer._scorer import ScorerSpec

    (written,) = read_task(folder)["tasks"]
    task = inspected.HFTask.model_validate(written)
    rows = pl.read_parquet(folder / f"data/{task.config}.parquet").to_dicts()
    scorer = scorer_from_spec(ScorerSpec(scorer=task.scorers[0].name), task_path=None, **task.scorers[0].args)

    def scored(text, target):
        state = SimpleNamespace(output=SimpleNamespace(completion=text))
        return asyncio.run(scorer(state, Target(target))).value == "C"

    for number, row in enumerate(rows):
        sample = inspected._record_to_sample_hf(row, task.field_spec)
        text = REPLIES[number % len(REPLIES)] % ("safe", "unsafe")[number // 2 % 2]
        assert sample.input == row["prompt"]
        ours = api.read_reply(text, elicitation="binary")
        assert isinstance(ours, Scored)
        assert scored(text, sample.target) is (ours.value == float(row["label"] == "safe"))
    assert not scored("It depends on much.", "safe")
