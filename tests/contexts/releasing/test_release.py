import hashlib
import json

import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import wording
from tests.support.app import NOW
from tests.support.databases import new_database

from casewise.contexts.release import ReleaseOptions, release
from casewise.errors import BenchmarkError, ChecksumMismatch, ConfigurationError
from casewise.storage.benchmark_folder import read_benchmark
from casewise.storage.load import load

CHANGED = wording(recipient__type="Cashier")


@pytest.fixture
def here(tmp_path):
    store = new_database(tmp_path / "x.db")
    yield room(store)
    store.close()


@pytest.fixture
def approved(here):
    for place in here.places():
        here.approve(place, CHANGED if place.position == 0 else wording())
    return here


def released(here, folder, **options):
    with here.store.read() as connection:
        return release(connection, here.draft, folder, options=ReleaseOptions(version="1.0.0", **options), now=NOW)


def test_nothing_is_released_while_anything_is_unsigned(here, tmp_path):
    here.approve(here.place(), CHANGED)

    with pytest.raises(BenchmarkError, match="3 of 4 contexts are not approved"):
        released(here, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_release_is_a_benchmark_with_its_revisions(approved, tmp_path):
    benchmark = load(released(approved, tmp_path / "out"))

    assert benchmark.counts.items == 4
    assert {item.condition for item in benchmark.items} == {"safe_revised", "unsafe_revised"}
    shown = [benchmark.context_of(item) for item in benchmark.items]
    assert [context.shown()["recipient"]["type"] for context in shown if context] == ["Cashier", *["Bank clerk"] * 3]
    assert len(benchmark.revisions) == 2
    assert {revision.reviewer for revision in benchmark.revisions} == {"person-1", "person-2"}
    assert {revision.before_id for revision in benchmark.revisions} <= set(benchmark.context)
    assert shown[0] is not None
    assert {revision.after_id for revision in benchmark.revisions} == {shown[0].id}
    assert shown[0].lineage_id == benchmark.revisions[0].before_id


def test_it_is_gated_with_terms_a_card_statistics_a_canary_in_every_context_and_no_name_of_a_person(approved, tmp_path):
    folder = released(approved, tmp_path / "out", licence="CC-BY-4.0")
    about = load(folder).about

    assert about.gated
    assert about.canary is not None
    lines = (folder / "contexts.jsonl").read_text().splitlines()
    assert all(about.canary in line for line in lines)
    card = (folder / "DATA_CARD.md").read_text()
    assert about.canary in card
    assert "CC-BY-4.0" in card
    assert "misused" in (folder / "TERMS.md").read_text()
    statistics = json.loads((folder / "statistics.json").read_text())
    assert statistics["changed"]["value"] == 0.25
    assert "work" not in statistics
    everything = "".join(path.read_text() for path in folder.iterdir())
    for person in (approved.ada, approved.ben, approved.cleo):
        assert person.id not in everything
        assert person.email not in everything


def test_every_file_is_checksummed_and_a_changed_one_noticed_and_nothing_is_overwritten(approved, tmp_path):
    folder = released(approved, tmp_path / "out")
    with pytest.raises(ConfigurationError, match="never overwritten"):
        released(approved, tmp_path / "out")

    lines = (folder / "SHA256SUMS").read_text().splitlines()

    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert set(sums) == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in sums.items())
    with (folder / "contexts.jsonl").open("a") as file:
        file.write(" ")

    with pytest.raises(ChecksumMismatch):
        read_benchmark(folder)


def test_all_five_conditions_where_they_are_wanted(approved, tmp_path):
    benchmark = load(released(approved, tmp_path / "out", with_no_context=True, with_generated=True))

    conditions = [item.condition for item in benchmark.items]
    assert conditions.count("no_context") == 2
    assert conditions.count("safe_generated") == conditions.count("unsafe_generated") == 2
    assert conditions.count("safe_revised") == conditions.count("unsafe_revised") == 2


def test_contexts_that_nobody_reviewed_are_released_as_such_in_the_generated_conditions(here, tmp_path):
    folder = released(here, tmp_path / "out", unreviewed=True, with_no_context=True)
    found = load(folder)

    assert {item.condition for item in found.items} == {"no_context", "safe_generated", "unsafe_generated"}
    assert {context.origin for context in found.contexts} == {"generated"}
    assert not found.revisions
    assert "Nobody reviewed" in (folder / "DATA_CARD.md").read_text()
    assert "Two reviewers" not in (folder / "DATA_CARD.md").read_text()
    assert "\n- model: 4 contexts, 2026-" in (folder / "DATA_CARD.md").read_text()
