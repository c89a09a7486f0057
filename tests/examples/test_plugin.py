"""`examples/plugin` is built and installed, and its metric and its elicitation are used by name."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web
from tests.support.fault_server import FaultServer, completion
from tests.support.served import served

from casewise.plugins import add_command

pytest.importorskip("hatchling", reason="needs hatchling, which builds the example")

FOLDER = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(FOLDER, folder / "source")
    offline = ["--no-deps", "--no-index", "--no-build-isolation"]
    words = [*shlex.split(add_command(str(source))), "-q", *offline, "--target", folder / "site"]
    subprocess.run(words, check=True)
    return folder / "site"


def casewise(site, *words):
    done = subprocess.run(
        [sys.executable, "-m", "casewise", *words],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_elicitation_is_asked_and_its_metric_reported(site):
    def agreeing(_request, body):
        agreement = 4 if "nurse" in json.dumps(body) else 2
        return web.json_response(completion(body, json.dumps({"judgement": agreement, "explanation": "So."})))

    parts = {part["name"]: part for part in json.loads(casewise(site, "show", "plugins", "--json"))["plugins"]}
    assert {name: part["problem"] for name, part in parts.items()} == {"likert": None, "g_mean": None}

    with served(FaultServer(refuse=agreeing)) as server:
        words = ("judge", "demo", "--judge", "vllm/m", "--base-url", server.url, "--yes", "--out", "run")
        casewise(site, *words, "--elicit", "likert")
    logged = [json.loads(line) for line in Path("run/judgements.jsonl").read_text().splitlines()]
    assert {judgement["outcome"]["value"] for judgement in logged} == {2.0, 4.0}

    numbers = json.loads(casewise(site, "report", "run", "--json"))
    assert "g_mean" in json.dumps(numbers)
    assert "Geometric mean of recalls" in Path("run/report.html").read_text()
    assert "g_mean" in casewise(site, "gate", "run", "--baseline", "run", "--max-drop", "g_mean=0.2", "--json")
