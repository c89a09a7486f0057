"""`examples/health_records`: nothing is taken that is not current and theirs. The records are made up."""

from __future__ import annotations

import importlib.util
import json
import sys
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import casewise

pytest.importorskip("fhir.resources", reason="needs fhir.resources: pip install 'fhir.resources>=8'")

FILE = Path(__file__).parents[2] / "examples" / "health_records" / "health_records.py"
AT = date(2026, 6, 1)


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("health_records", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["health_records"] = module
    spec.loader.exec_module(module)
    return module


ROLE: dict[str, Any] = {
    "resourceType": "PractitionerRole",
    "id": "r1",
    "active": True,
    "practitioner": {"reference": "Practitioner/1"},
    "organization": {"display": "St. Anne's"},
    "code": [{"text": "Ward nurse"}],
    "period": {"start": "2026-01-01", "end": "2026-12-31"},
}
TEAM = {
    "resourceType": "CareTeam",
    "id": "t1",
    "status": "active",
    "subject": {"reference": "Patient/1"},
    "participant": [{"member": {"reference": "Practitioner/1"}}],
}
ENCOUNTER = {
    "resourceType": "Encounter",
    "id": "e1",
    "status": "in-progress",
    "subject": {"reference": "Patient/1"},
    "class": [{"coding": [{"code": "EMER"}]}],
}
CONSENT = {
    "resourceType": "Consent",
    "id": "c1",
    "status": "active",
    "subject": {"reference": "Patient/1"},
    "decision": "permit",
}
WHOLE: list[dict[str, Any]] = [
    {"resourceType": "Practitioner", "id": "1"},
    {"resourceType": "Patient", "id": "1"},
    ROLE,
    TEAM,
    ENCOUNTER,
    CONSENT,
]


def bundle(tmp_path, resources):
    path = tmp_path / "bundle.json"
    whole = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def changed(**changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The whole bundle with fields of a resource, named by its id, replaced."""
    resources = deepcopy(WHOLE)
    for id_, fields in changes.items():
        next(
            one for one in resources if one["id"] == id_ and one["resourceType"] not in ("Practitioner", "Patient")
        ).update(fields)
    return resources


def extract(example, tmp_path, resources, **more):
    read = example.read_bundle(bundle(tmp_path, resources))
    return example.extract(read, practitioner="Practitioner/1", patient="Patient/1", at=AT, **more)


def test_what_is_current_and_theirs_becomes_a_context_and_facts_that_support_it(example, tmp_path):
    found = extract(example, tmp_path, WHOLE)

    assert found.parameters == {
        "recipient.type": "Ward nurse at St. Anne's",
        "recipient.background": "A member of the patient's care team",
        "transmission_principle.urgency": "An emergency",
        "transmission_principle.confidentiality": "The patient permits that the record is told on",
    }
    assert found.refused == []
    assert found.facts[0]["expires"] == "2026-12-31"
    facts = tmp_path / "facts.jsonl"
    facts.write_text("".join(f"{json.dumps(fact)}\n" for fact in found.facts), encoding="utf-8")
    case = {"query": "May I see the chart?", "label": "safe", **found.parameters}
    run = casewise.judge(casewise.load_frame([case]), "constant:safe", arms=f"verified:{facts}", out=tmp_path / "run")
    assert run.summary.n_judged == 1


@pytest.mark.parametrize(
    ("changes", "parameter", "reason"),
    [
        ({"r1": {"active": False}}, "recipient.type", "not active"),
        ({"r1": {"period": {"end": "2026-05-31"}}}, "recipient.type", "does not hold"),
        ({"r1": {"practitioner": {"reference": "Practitioner/2"}}}, "recipient.type", "another practitioner"),
        ({"t1": {"status": "inactive"}}, "recipient.background", "'inactive'"),
        ({"t1": {"subject": {"reference": "Patient/2"}}}, "recipient.background", "Patient/2"),
        ({"e1": {"status": "cancelled"}}, "transmission_principle.urgency", "'cancelled'"),
        ({"c1": {"subject": {"reference": "Patient/2"}}}, "transmission_principle.confidentiality", "Patient/2"),
        ({"c1": {"status": "inactive"}}, "transmission_principle.confidentiality", "'inactive'"),
    ],
)
def test_what_is_ended_cancelled_or_somebody_elses_is_refused_with_its_reason(
    example, tmp_path, changes, parameter, reason
):
    found = extract(example, tmp_path, changed(**changes))

    assert parameter not in found.parameters
    assert any(reason in line for line in found.refused)


def test_of_several_roles_none_is_chosen_silently(example, tmp_path):
    resources = [*WHOLE, ROLE | {"id": "r2", "code": [{"text": "Director"}]}]

    with pytest.raises(example.BundleError, match="several roles, PractitionerRole/r1, PractitionerRole/r2"):
        extract(example, tmp_path, resources)
    assert (
        extract(example, tmp_path, resources, role="PractitionerRole/r2")
        .parameters["recipient.type"]
        .startswith("Director")
    )


def test_an_unknown_resource_or_an_invalid_bundle_is_named_with_its_path(example, tmp_path):
    with pytest.raises(example.BundleError, match=r"entry\[6\].resource.resourceType: 'Medication' is unknown"):
        example.read_bundle(bundle(tmp_path, [*WHOLE, {"resourceType": "Medication", "id": "m"}]))
    (tmp_path / "bad.json").write_text('{"resourceType": "Bundle", "type": 3}', encoding="utf-8")
    with pytest.raises(example.BundleError, match=r"bad\.json: type"):
        example.read_bundle(tmp_path / "bad.json")
