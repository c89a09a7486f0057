"""The package for a registry says what was frozen, names every exported field, and gives nothing away."""

import hashlib
import json
from dataclasses import replace

import pytest
from tests.support.databases import new_database
from tests.support.study import START, exported, finished, opened_plan, tea

from casewise.errors import ConfigurationError, StudyError
from casewise.studies.export import deposit, deposit_files
from casewise.studies.rounds import freeze_plan, read_plan


@pytest.fixture
def plan(tmp_path):
    own = '[[questions]]\nname = "sure"\nkind = "scale"\nask = "How sure?"\n[recruiter]'
    path = tea(tmp_path / "study.toml", "prolific", (r"\[recruiter\]", own))
    freeze_plan(read_plan(path), at=START)
    return read_plan(path)


def test_it_holds_the_plan_with_its_digest_and_the_texts_with_their_sums(plan, tmp_path):
    folder = deposit(plan, tmp_path / "package")
    said = (folder / "preregistration.md").read_text()

    assert plan.frozen.digest in said
    assert "The safe rates of `safe_revised` and `unsafe_revised` differ" in said
    assert "exactly 21 valid ratings" in said
    assert json.loads((folder / "study.frozen.json").read_text())["digest"] == plan.frozen.digest
    assert "18" in (folder / "texts" / "consent.md").read_text()
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        sum_, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sum_
    with pytest.raises(ConfigurationError, match="exists"):
        deposit(plan, folder)


def test_no_code_no_query_no_context_and_no_path_is_given_away(plan):
    elsewhere = replace(plan, design=plan.design.model_copy(update={"benchmark": "/home/ada/bench"}))
    text = "\n".join(deposit_files(elsewhere).values())

    assert plan.design.recruiter.completion_code not in text
    assert not any(query.text in text for query in plan.benchmark.queries)
    assert "/home/ada" not in text
    assert '"benchmark": "bench"' in text


def test_what_is_not_frozen_cannot_be_deposited_and_a_departure_is_said(plan, tmp_path):
    with pytest.raises(StudyError, match="not frozen"):
        deposit(replace(plan, frozen=None), tmp_path / "package")
    later = replace(plan, design=plan.design.model_copy(update={"seed": 7}))
    assert "seed: frozen as 1, now 7" in deposit_files(later)["preregistration.md"]


def test_the_codebook_names_every_file_and_field_of_an_export(plan, tmp_path):
    rated = tmp_path / "rated"
    with new_database(tmp_path / "casewise.db") as store:
        study = opened_plan(store, plan)
        finished(store, study, "a")
        exported(store, study, plan, rated)
    book = deposit_files(plan)["codebook.md"]
    for path in rated.glob("*.jsonl"):
        assert f"`{path.name}`" in book
        if path.name not in {"contexts.jsonl", "queries.jsonl", "items.jsonl"}:
            for line in path.read_text().splitlines():
                assert {name for name in json.loads(line) if f"`{name}`" not in book} == set(), path.name
    about = json.loads((rated / "study.json").read_text())
    assert {name for name in about if f"`{name}`" not in book} == set()
    assert "`sure` (scale)" in book
