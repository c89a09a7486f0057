"""`examples/plugin` is built and installed, and its metric and its elicitation are used by name."""

import csv
import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from aiohttp import web
from tests.support.command import invoke
from tests.support.fault_server import FaultServer, completion
from tests.support.packages import forget
from tests.support.served import served

import casewise
from casewise.plugins import add_command
from casewise.records import Scored

pytest.importorskip("hatchling", reason="needs hatchling, which builds the example")

FOLDER = Path(__file__).parents[2] / "examples" / "plugin"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(FOLDER, folder / "source")
    offline = ["--no-deps", "--no-index", "--no-build-isolation"]
    words = [*shlex.split(add_command(str(source))), "-q", *offline, "--target", folder / "site"]
    subprocess.run(words, check=True)
    return folder / "site"


@pytest.fixture(autouse=True)
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(site)
    forget()
    yield
    forget()


def casewise_does(*words):
    done = invoke(*words)
    assert done.code == 0, done.output
    return done.out


def judge(*words, replies=lambda body: '{"judgement": 4, "explanation": "So."}'):
    """Judge the demo by agreement; `replies` gives the text of a reply to a request."""

    def answering(_request, body):
        return web.json_response(completion(body, replies(body)))

    with served(FaultServer(refuse=answering)) as server:
        model = ("judge", "demo", "--judge", "vllm/m", "--base-url", server.url, "--yes", "--elicit", "likert")
        return casewise_does(*model, *words)


def by_nurses(body):
    return json.dumps({"judgement": 4 if "nurse" in json.dumps(body) else 2, "explanation": "So."})


def values_in(run):
    logged = [json.loads(line) for line in Path(run, "judgements.jsonl").read_text().splitlines()]
    assert {judgement["elicitation"] for judgement in logged} == {"likert"}
    return {judgement["item_id"]: judgement["outcome"].get("value") for judgement in logged}


def test_its_parts_are_listed():
    parts = {part["name"]: part for part in json.loads(casewise_does("show", "plugins", "--json"))["plugins"]}

    assert {name: part["problem"] for name, part in parts.items()} == {"likert": None, "g_mean": None}


def test_its_elicitation_has_its_name_in_report_compare_and_leaderboard_and_its_metric_a_column():
    judge("--out", "run", replies=by_nurses)
    assert set(values_in("run").values()) == {2.0, 4.0}
    casewise_does("judge", "demo", "--judge", "linear", "--out", "linear")

    assert "g_mean" in json.dumps(json.loads(casewise_does("report", "run", "--json")))
    page = Path("run/report.html").read_text()
    assert "Geometric mean of recalls" in page
    assert "likert" in page
    pair = casewise.compare("run", "linear").comparison
    assert pair.names == ("vllm/m (likert)", "linear (probability)")
    assert "likert" in casewise_does("compare", "run", "linear")
    assert "vllm/m (likert)" in casewise.leaderboard("run", "linear").rows["judge"].to_list()
    assert "g_mean" in casewise_does("gate", "run", "--baseline", "run", "--max-drop", "g_mean=0.2", "--json")


@pytest.mark.parametrize(
    ("column", "written"), [("likert", "{}"), ("reply", '{{"judgement": {}, "explanation": "So."}}')]
)
def test_its_values_are_recorded_as_numbers_or_as_replies(column, written):
    items = [item.id for item in casewise.load("demo").items]
    with Path("answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("item_id", column), *((item, written.format(1 + at % 5)) for at, item in enumerate(items))]
        )

    casewise_does("judge", "demo", "--judge", "recorded:answers.csv", "--elicit", "likert", "--out", "run")

    assert values_in("run") == {item: 1.0 + at % 5 for at, item in enumerate(items)}


def test_a_second_reader_reads_its_replies():
    def replies(body):
        asked_to_read = "lines of dashes" in json.dumps(body)
        return '{"verdict": 5}' if asked_to_read else "I would put my agreement at the very top."

    judge("--reader", "vllm/m", "--out", "run", replies=replies)

    assert set(values_in("run").values()) == {5.0}


def test_its_replies_are_read_from_python():
    read = casewise.read_reply('{"judgement": 3, "explanation": "So."}', elicitation="likert")

    assert isinstance(read, Scored)
    assert read.value == 3.0
