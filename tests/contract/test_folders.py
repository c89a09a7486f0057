"""The benchmark folder, the run folder and the decider that the first release promises to read.

A change of a format raises its version, and a folder of that version is pinned here beside the earlier ones.
"""

import json
from pathlib import Path

import pytest

import casewise
from casewise import Decider
from casewise.deciding import decider_file
from casewise.deciding.decider_file import FittedDecider, read_decider
from casewise.records import (
    Annotator,
    Context,
    Item,
    Judgement,
    Query,
    Rating,
    Revision,
    Scored,
    Unscored,
)
from casewise.storage import benchmark_folder, run_folder
from casewise.storage.batch_jobs import JobEvent
from casewise.storage.benchmark import About, BenchmarkCounts, Published
from casewise.storage.benchmark_folder import Manifest, read_benchmark
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import (
    JUDGEMENTS,
    ItemNote,
    RunIdentity,
    RunManifest,
    Session,
    judgement_table,
    last_session,
    read_run,
    run_notes,
)
from casewise.text import RefusalNote

PINNED = Path(__file__).parent

NEWEST = {
    "benchmark": benchmark_folder.FORMAT_VERSION,
    "run": run_folder.FORMAT_VERSION,
    "decider": decider_file.FORMAT_VERSION,
}


def pinned(kind):
    return sorted(path.name for path in PINNED.glob(f"{kind}-*"))


def log_of(run):
    return [json.loads(line) for line in (PINNED / run / JUDGEMENTS).read_text().splitlines()]


@pytest.mark.parametrize("kind", NEWEST)
def test_each_version_of_a_format_is_pinned(kind):
    ending = ".json" if kind == "decider" else ""

    assert pinned(kind) == [f"{kind}-{version}{ending}" for version in range(1, NEWEST[kind] + 1)]


def test_a_pinned_log_states_each_field_of_a_judgement_and_no_other():
    """A field that is added or renamed raises `FORMAT_VERSION` of the run folder, and a folder of that version is pinned."""
    newest = f"run-{run_folder.FORMAT_VERSION}"

    assert {name for line in log_of(newest) for name in line} == set(Judgement.model_fields)
    outcomes = set(Scored.model_fields) | set(Unscored.model_fields)
    assert {name for line in log_of(newest) for name in line["outcome"]} == outcomes


FIELDS = {
    Manifest: "format_version about counts taxonomy parameters files",
    About: "name version description licence terms gated canary synthetic source remarks receipt published labels_by scale",
    BenchmarkCounts: "queries contexts items ratings revisions annotators",
    Published: "file rates_count_intent votes_hold_intent",
    Query: "id text judged before action category source category_as_published",
    Context: (
        "id query_id intended_safe sender recipient transmission_principle subject information_type own origin lineage_id provenance"
    ),
    Item: ("id query_id context_id condition repeat pair_id published_rate category cluster mean source_id columns"),
    Rating: "item_id annotator_id position verdict value seconds at",
    Revision: "id before_id after_id reviewer reason at",
    Annotator: "id traits",
    RunManifest: "format_version identity judge_name benchmark_name benchmark_source synthetic address wordings created",
    RunIdentity: "benchmark judge settings seed",
    ItemNote: "item_id text tags at",
    JobEvent: (
        "job stage at provider model path names capabilities cost_at_most_usd tokens_at_most file batch expires state words n_done late"
    ),
    Session: "started versions options command weights_bytes planned_items planned_asks",
    FittedDecider: (
        "format_version casewise created refuse_unmeasured judge benchmark calibration requirements thresholds measured "
        "measured_where_fitted measured_on trade_offs"
    ),
}
"""Of version 1."""


@pytest.mark.parametrize("record", FIELDS, ids=lambda record: record.__name__)
def test_a_record_has_the_fields_of_its_version(record):
    assert set(record.model_fields) == set(FIELDS[record].split())


@pytest.mark.parametrize("folder", pinned("benchmark"))
def test_a_pinned_benchmark_is_read_with_the_same_items_and_ratings(folder):
    benchmark = read_benchmark(PINNED / folder)

    assert benchmark.digest == "c32513127b74ccbbd84dc542c55d84c6"
    assert (len(benchmark.queries), len(benchmark.items), len(benchmark.ratings)) == (4, 8, 24)
    assert benchmark.items[0].id == "i_70ab3391480ed6846cd81659ad4be3e7"


@pytest.mark.parametrize("folder", pinned("run"))
def test_a_pinned_run_is_read_with_its_last_attempts(folder):
    run = read_run(PINNED / folder)
    log = list(read_jsonl(PINNED / folder / JUDGEMENTS, Judgement))
    session = last_session(PINNED / folder)

    assert run.wordings.keys() == {"binary", "probability"}
    assert session is not None
    assert session.planned_items == 2
    assert [judgement.attempt for judgement in log[:2]] == [0, 1]
    assert isinstance(log[1].outcome, Scored)
    assert (log[1].outcome.low, log[1].categories, log[1].detail) == (0.5, ("access",), {"tries": 2})
    assert len(judgement_table(PINNED / folder / JUDGEMENTS)) == len(log)
    bought, refused = run_notes(PINNED / folder)
    assert bought == "its answers are bought"
    assert isinstance(refused, RefusalNote)
    assert (refused.option, refused[:26]) == ("temperature", "recorded takes no temperat")


@pytest.mark.parametrize("folder", pinned("run"))
def test_a_pinned_run_is_reported(folder):
    report = casewise.report(PINNED / folder, benchmark=PINNED / "benchmark-1")

    accuracy = report.metrics.filter(metric="accuracy", elicitation="binary", arm="full", label_policy="votes")
    assert accuracy["n"].to_list() == [2.0]


@pytest.mark.parametrize("file", pinned("decider"))
def test_a_pinned_decider_is_loaded_and_decides(file):
    fitted, _ = read_decider(PINNED / file)

    assert fitted.judge.name == "constant:safe"
    assert Decider.load(PINNED / file).decide("May I see the rota?").decision == "refuse"
