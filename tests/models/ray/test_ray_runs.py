import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.ray_cluster import two_nodes
from tests.support.tiny_classifier import make_tiny_classifier
from tests.support.tiny_llama import make_tiny_llama

pytest.importorskip("ray", reason="needs the extra [ray]")
pytest.importorskip("torch", reason="needs the extra [local]: torch and transformers")
pytest.importorskip("transformers", reason="needs the extra [local]: torch and transformers")
pytestmark = [pytest.mark.ray, pytest.mark.slow]

REPEATS = 4


@pytest.fixture(scope="module")
def cluster(homes):
    with two_nodes() as made:
        yield made


@pytest.fixture(scope="module")
def model(homes, tmp_path_factory):
    return make_tiny_llama(tmp_path_factory.mktemp("tiny"), layers=1, width=32)


@pytest.fixture(scope="module")
def alone(model, tmp_path_factory):
    """What one process gives."""
    out = tmp_path_factory.mktemp("alone") / "run"
    finish(judging(model, out), out)
    return values(out)


def judging(model, out, *engine, **environment):
    """`casewise judge` in a process of its own: one thread, for two that spin on two busy cores take a hundred times as long."""
    command = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", f"hf:{model}", "--elicit", "probability"]
    asked = ["--repeats", str(REPEATS), "--device", "cpu", "--batch-tokens", "2048", "--out", str(out), "--json"]
    Path(out).mkdir(exist_ok=True)
    printed, said = printed_by(out)
    with printed.open("w") as to, said.open("w") as beside:  # Ray's own notes, at whatever moment, go beside
        return subprocess.Popen(
            [*command, *asked, *engine],
            stdout=to,
            stderr=beside,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        )


def printed_by(out):
    return (Path(out).parent / f"{Path(out).name}.{kind}" for kind in ("printed", "said"))


def finish(process, out):
    code = process.wait(timeout=600)
    printed, said = (file.read_text() for file in printed_by(out))
    assert code == 0, said
    return json.JSONDecoder().raw_decode(printed, printed.index("{\n"))[0]


def values(out):
    lines = [json.loads(line) for line in (Path(out) / "judgements.jsonl").read_text().splitlines()]
    found = {(one["item_id"], one["repeat"]): one["outcome"]["value"] for one in lines}
    assert len(found) == len(lines)  # no ask is answered twice
    return found


def wait_for_some(process, out):
    """Until something was answered and not everything."""
    log = Path(out) / "judgements.jsonl"
    while process.poll() is None and not (log.exists() and log.stat().st_size):
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"


def test_copies_on_two_nodes_give_what_one_process_gives(cluster, model, alone, tmp_path):
    run = tmp_path / "run"
    summary = finish(judging(model, run, "--engine", "ray", RAY_ADDRESS=cluster.address), run)

    assert summary["n_calls"] == 90 * REPEATS
    assert values(run) == pytest.approx(alone, abs=1e-4)


def test_a_run_whose_driver_is_killed_goes_on_and_may_end_in_one_process(cluster, model, alone, tmp_path):
    run = tmp_path / "run"
    driver = judging(model, run, "--engine", "ray", "--ray-address", cluster.address)
    wait_for_some(driver, run)
    driver.send_signal(signal.SIGKILL)
    driver.wait()

    summary = finish(judging(model, run), run)

    assert 0 < summary["resumed"] < 90 * REPEATS
    assert values(run) == pytest.approx(alone, abs=1e-4)


def test_a_copy_that_is_killed_costs_no_answer(cluster, model, alone, tmp_path):
    run = tmp_path / "run"
    driver = judging(model, run, "--engine", "ray", "--ray-address", cluster.address, "--ray-copies", "2")
    wait_for_some(driver, run)

    assert cluster.kill_copy() in ("1", "2")  # the second may not have come up yet

    assert finish(driver, run)["n_unscored"] == 0
    assert values(run) == pytest.approx(alone, abs=1e-4)


def test_a_machine_that_dies_costs_no_answer(cluster, model, alone, tmp_path):
    cluster.two_again()
    run = tmp_path / "run"
    driver = judging(model, run, "--engine", "ray", "--ray-address", cluster.address, "--ray-copies", "2")
    wait_for_some(driver, run)

    cluster.kill_node()

    assert finish(driver, run)["n_unscored"] == 0
    assert values(run) == pytest.approx(alone, abs=1e-4)
    cluster.two_again()


def test_a_guard_that_is_a_classifier_gives_what_it_gives_alone_in_a_cluster_of_its_own(homes, tmp_path):
    folder = make_tiny_classifier(tmp_path / "guard", ("safe", "unsafe"))
    command = [sys.executable, "-m", "casewise", "judge", "demo", "--judge", f"guard:classifier@hf:{folder}", "--json"]
    for out, engine in (("alone", []), ("ray", ["--engine", "ray", "--ray-copies", "1"])):
        subprocess.run(
            [*command, "--limit", "20", "--device", "cpu", "--out", str(tmp_path / out), *engine],
            check=True,
            capture_output=True,
            timeout=600,
        )

    def first(out):
        lines = (tmp_path / out / "judgements.jsonl").read_text().splitlines()
        return {one["item_id"]: one["outcome"]["value"] for one in map(json.loads, lines)}

    assert first("ray") == pytest.approx(first("alone"), abs=1e-4)
