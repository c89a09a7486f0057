"""Valid files are changed at random, thousands of times: each then loads to an object that comes back equal from a file
of its own, or is an error that a user can act on. Never anything else."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.demo import DEMO
from tests.support.mutations import damaged, mutated
from tests.support.published import output_rows, released_rows

from casewise.errors import CasewiseError
from casewise.records import Judgement, Scored, Unscored, UnscoredReason
from casewise.storage import read_benchmark, read_published, write_benchmark, write_published
from casewise.storage.benchmark_folder import FILES, MANIFEST, sha256
from casewise.storage.files import read_jsonl, write_jsonl
from casewise.storage.published import read_output
from casewise.storage.run_folder import judgement_table

pytestmark = pytest.mark.slow

many = settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
fewer = settings(many, max_examples=150)

ROWS = released_rows(4)
OUTPUTS = output_rows(["safe", "unsafe", "", 7, 5.333])
SMALL = DEMO.restricted_to(DEMO.items[:4])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("mutations")


def loaded_or_refused(work, place):
    """What `work` gives; None where it is refused with an error that names the place."""
    try:
        return work(place)
    except CasewiseError as error:
        refused = str(error)
    assert str(place) in refused
    return None


def as_json(value):
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def published_comes_back(file: Path):
    benchmark = read_published(file)
    again = file.with_name("again.json")
    write_published(benchmark, again)
    found = read_published(again)
    about = replace(found, about=benchmark.about)
    assert about == benchmark


@many
@given(st.data())
def test_published_files_with_a_value_changed(place, data):
    file = place / "published.json"
    file.write_bytes(as_json(data.draw(mutated(ROWS))))
    loaded_or_refused(published_comes_back, file)


@many
@given(damaged(as_json(ROWS)))
def test_published_files_with_bytes_changed(place, raw):
    file = place / "damaged.json"
    file.write_bytes(raw)
    loaded_or_refused(published_comes_back, file)


@many
@given(data=st.data(), elicitation=st.sampled_from(["binary", "score", "probability"]))
def test_judge_outputs_with_a_value_changed(place, data, elicitation):
    file = place / "output.json"
    file.write_bytes(as_json(data.draw(mutated(OUTPUTS))))
    found = loaded_or_refused(lambda place: read_output(place, elicitation=elicitation), file)
    if found is not None:
        assert all(isinstance(outcome, (Scored, Unscored)) for outcome in found.outcomes)
        assert len(found.rows) in {len(OUTPUTS) - 1, len(OUTPUTS), len(OUTPUTS) + 1}


@pytest.fixture(scope="module")
def folder(place):
    return write_benchmark(SMALL, place / "benchmark")


def with_right_sums(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {name: sha256(folder / name) for name in FILES}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def folder_comes_back(folder):
    benchmark = read_benchmark(folder)
    copy = folder.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    assert read_benchmark(write_benchmark(benchmark, copy)) == benchmark


@fewer
@given(data=st.data(), name=st.sampled_from(sorted(FILES)), sums=st.booleans())
def test_benchmark_folders_with_a_record_changed(place, folder, data, name, sums):
    changed = place / "changed"
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(folder, changed)
    records = [json.loads(line) for line in (folder / name).read_text().splitlines()[:6]]
    if records:
        others = (folder / name).read_text().splitlines()[6:]
        records = [json.dumps(record) for record in data.draw(mutated(records))]
        (changed / name).write_text("\n".join(records + others) + "\n")
    if sums:
        with_right_sums(changed)
    loaded_or_refused(folder_comes_back, changed)


@fewer
@given(st.data())
def test_benchmark_folders_with_the_manifest_changed(place, folder, data):
    changed = place / "manifest"
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(folder, changed)
    manifest = json.loads((folder / MANIFEST).read_text())
    (changed / MANIFEST).write_bytes(as_json(data.draw(mutated(manifest))))
    loaded_or_refused(folder_comes_back, changed)


JUDGEMENTS = [
    Judgement(item_id="i_1", judge_id="j", elicitation="score", arm="full", outcome=Scored(value=7), raw_reply="7"),
    Judgement(
        item_id="i_2",
        judge_id="j",
        elicitation="binary",
        arm="none",
        repeat=1,
        outcome=Unscored(reason=UnscoredReason.UNPARSED, detail="perhaps"),
        input_tokens=3,
    ),
    Judgement(item_id="i_3", judge_id="j", elicitation="probability", arm="full", outcome=Scored(value=0.5, low=0.4)),
]
LINES = [json.loads(judgement.line()) for judgement in JUDGEMENTS]


@many
@given(st.data())
def test_judgements_with_a_value_changed(place, data):
    log = place / "judgements.jsonl"
    changed = data.draw(mutated(LINES))
    log.write_text("".join(json.dumps(line) + "\n" for line in changed))
    judgements_come_back(log)


@many
@given(damaged("".join(json.dumps(line) + "\n" for line in LINES).encode()))
def test_judgements_with_bytes_changed(place, raw):
    log = place / "damaged.jsonl"
    log.write_bytes(raw)
    judgements_come_back(log)


def judgements_come_back(log):
    found = loaded_or_refused(lambda place: list(read_jsonl(place, Judgement)), log)
    if found is not None:
        write_jsonl(log.with_name("again.jsonl"), found)
        assert list(read_jsonl(log.with_name("again.jsonl"), Judgement)) == found
    table = loaded_or_refused(judgement_table, log)
    if found is not None and table is not None:
        assert table["item_id"].to_list() == [judgement.item_id for judgement in found]
        values = [j.outcome.value if isinstance(j.outcome, Scored) else None for j in found]
        assert table["value"].to_list() == values
