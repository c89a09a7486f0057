"""The task folder for lm-evaluation-harness: the same accuracy as here on the same replies, told by the harness itself."""

import json
import subprocess
import sys

import numpy as np
import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion, prompt_of, share_of
from tests.support.served import served

from casewise import api
from casewise.api.judging import RunOptions
from casewise.errors import ConfigurationError
from casewise.evaluate.judged_runs import read_runs


def some_odd(_request, body):
    """A reply without a verdict to one prompt in five; the others are answered as ever."""
    if share_of(prompt_of(body)) % 0.1 > 0.08:
        return web.json_response(completion(body, "It depends on much."))
    return None


def test_the_harness_finds_the_accuracy_that_we_find_on_the_same_replies(tmp_path, monkeypatch):
    pytest.importorskip("lm_eval", reason="needs lm-evaluation-harness: pip install 'lm-eval[api]'")
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    api.hand_on(["demo"], tmp_path / "task", to="lm-eval")
    with served(FaultServer(refuse=some_odd)) as server:
        model = f"model=m,base_url={server.url}/chat/completions,num_concurrent=8,tokenized_requests=False"
        asked = ["--tasks", "casewise_demo_binary,casewise_demo_score", "--model", "local-chat-completions"]
        told = ["--model_args", model, "--apply_chat_template", "--output_path", str(tmp_path / "out")]
        command = [sys.executable, "-m", "lm_eval", "run", "--include_path", str(tmp_path / "task"), *asked, *told]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]

        live = api.LiveOptions(model=api.ModelOptions(base_url=server.url))
        options = RunOptions(live=live)
        run = api.judge("demo", "openai/m", elicitations="binary,score", out=tmp_path / "run", options=options)
    harness = json.loads(next((tmp_path / "out").rglob("results_*.json")).read_text())["results"]

    runs = read_runs([run.path])
    assert {one.elicitation for one in runs.series} == {"binary", "score"}
    for series in runs.series:
        sample = runs.whole_sample(series)
        right = np.where(sample.safe == 1, sample.weight, np.where(sample.safe == 0, 1 - sample.weight, 0.0))
        found = harness[f"casewise_demo_{series.elicitation}"]
        assert found["accuracy,none"] == pytest.approx(right.mean())
        assert found["unscored,none"] == pytest.approx(sample.unscored.mean())
        assert sample.unscored.any()


def test_the_folder_asks_as_a_judge_is_asked_and_leaves_out_what_has_no_label(tmp_path):
    done = api.hand_on(["demo"], tmp_path / "task", to="lm-eval")
    rows = [json.loads(line) for line in (done.path / "items.jsonl").read_text().splitlines()]
    benchmark = api.load("demo")
    item = benchmark.items[0]
    context = benchmark.context_of(item)
    asked = api.messages(benchmark.query[item.query_id].text, context.shown() if context else {})

    assert len(rows) == 90
    assert rows[0]["binary"] == asked[0]["content"]
    assert {row["safe"] for row in rows} <= {0.0, 0.5, 1.0}


def test_a_gated_benchmark_needs_consent(tmp_path):
    api.convert("demo", tmp_path / "gated")
    manifest = tmp_path / "gated" / "benchmark.json"
    said = json.loads(manifest.read_text())
    said["about"]["gated"] = True
    manifest.write_text(json.dumps(said))

    with pytest.raises(ConfigurationError, match="--with-texts"):
        api.hand_on([tmp_path / "gated"], tmp_path / "task", to="lm-eval")
    assert not (tmp_path / "task").exists()
    assert (api.hand_on([tmp_path / "gated"], tmp_path / "task", to="lm-eval", with_texts=True).path).is_dir()
