"""`examples/health_records`: only records that are current, and about the two people of a request, become facts."""

import copy
import importlib.util
import json
import sys
from datetime import datetime
from pathlib import Path

import pytest

import casewise
from casewise import api

pytest.importorskip("fhir.resources", reason="needs fhir.resources: pip install fhir.resources")

FOLDER = Path(__file__).parents[2] / "examples" / "health_records"
AT = datetime.fromisoformat("2026-06-01T12:00:00+02:00")
BUNDLE = json.loads((FOLDER / "bundle.json").read_text())


def load_example():
    spec = importlib.util.spec_from_file_location("health_records", FOLDER / "health_records.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["health_records"] = module
    spec.loader.exec_module(module)
    return module


example = load_example()


def read(tmp_path, bundle):
    path = tmp_path / "records.json"
    path.write_text(bundle if isinstance(bundle, str) else json.dumps(bundle))
    return example.read_records(path)


def with_changes(change):
    """The bundle after `change` has changed its resources, by name."""
    bundle = copy.deepcopy(BUNDLE)
    resources = {
        f"{one['resource']['resourceType']}/{one['resource']['id']}": one["resource"] for one in bundle["entry"]
    }
    more = change(resources) or ()
    bundle["entry"] += [{"resource": one} for one in more]
    return bundle


def known(tmp_path, change=lambda _resources: None, *, at=AT, **request):
    asked = {"practitioner": "Practitioner/p1", "patient": "Patient/x1"} | request
    return example.known_of(read(tmp_path, with_changes(change)), example.Request(at=at, **asked))


def test_what_is_current_and_theirs_is_taken_with_its_period_as_validity(tmp_path):
    found = known(tmp_path)
    assert {one.field: (one.value, one.source, str(one.issued), str(one.expires)) for one in found.facts} == {
        "recipient.type": ("Ward nurse, Made-up Hospital, ward 3", "PractitionerRole/r1", "2024-01-01", "2026-12-31"),
        "recipient.background.in_care_team": (True, "CareTeam/t1", "2026-05-25", "2026-06-14"),
        "transmission_principle.urgency.emergency": (True, "Encounter/e1", "2026-06-01", "None"),
        "transmission_principle.confidentiality.consent": (True, "Consent/c1", "None", "2026-09-30"),
    }
    assert found.refused == {
        "Patient/x2": "is another person",
        "Practitioner/p2": "is another person",
        "PractitionerRole/r2": "is the role of another practitioner",
        "Encounter/e2": "its status is cancelled, not in-progress",
        "CareTeam/t2": "its status is inactive, not active",
        "Consent/c2": "is another patient's consent",
    }


@pytest.mark.parametrize(
    ("name", "changed", "reason"),
    [
        ("PractitionerRole/r1", {"active": False}, "is marked as inactive"),
        ("PractitionerRole/r1", {"period": {"end": "2026-05"}}, "ended at 2026-05-31"),
        ("PractitionerRole/r1", {"period": {"end": "2026-06-01T11:59:00+02:00"}}, "ended at 2026-06-01 11:59"),
        ("PractitionerRole/r1", {"period": {"start": "2026-06-02"}}, "begins at 2026-06-02"),
        ("PractitionerRole/r1", {"practitioner": {"reference": "Practitioner/p2"}}, "another practitioner"),
        (
            "PractitionerRole/r1",
            {"practitioner": {"reference": "http://x.org/Practitioner/p1"}},
            "another practitioner",
        ),
        ("PractitionerRole/r1", {"practitioner": {"display": "Practitioner/p1"}}, "another practitioner"),
        ("PractitionerRole/r1", {"code": [{"coding": [{"code": "224535009"}]}]}, "without words"),
        ("PractitionerRole/r1", {"code": [{"text": "Nurse"}, {"text": "Director"}]}, "none is chosen"),
        ("Encounter/e1", {"status": "completed"}, "its status is completed"),
        ("Encounter/e1", {"actualPeriod": {"end": "2026-06-01T10:00:00+02:00"}}, "ended at"),
        ("Encounter/e1", {"subject": {"reference": "Patient/x2"}}, "is about another patient"),
        ("Encounter/e1", {"class": []}, "says no class"),
        ("CareTeam/t1", {"period": {"end": "2026-05-31"}}, "ended at"),
        ("CareTeam/t1", {"participant": [{"member": {"reference": "Practitioner/p2"}}]}, "does not say plainly"),
        (
            "CareTeam/t1",
            {"participant": [{"member": {"reference": "Practitioner/p1"}, "coveragePeriod": {"end": "2026-05"}}]},
            "ended at",
        ),
        ("Consent/c1", {"subject": {"reference": "Patient/x2"}}, "another patient's consent"),
        ("Consent/c1", {"provision": [{"purpose": []}]}, "provisions"),
        ("Consent/c1", {"verification": [{"verified": False}]}, "is not verified"),
        ("Consent/c1", {"grantee": [{"reference": "Practitioner/p2"}]}, "what others are granted"),
        ("Consent/c1", {"modifierExtension": [{"url": "http://x.org/not", "valueBoolean": True}]}, "modifierExtension"),
    ],
)
def test_a_record_that_is_not_current_or_not_theirs_is_refused_with_its_reason(tmp_path, name, changed, reason):
    found = known(tmp_path, lambda resources: resources[name].update(changed))
    assert reason in found.refused[name]
    assert name not in {one.source for one in found.facts}


@pytest.mark.parametrize("person", ["Practitioner/p1", "Patient/x1"])
def test_nothing_is_taken_of_a_person_who_is_marked_as_inactive(tmp_path, person):
    found = known(tmp_path, lambda resources: resources[person].update(active=False))
    assert found.facts == ()
    assert set(found.refused.values()) == {"this practitioner or this patient is marked as inactive"}


def another_role(resources, **changed):
    return [resources["PractitionerRole/r1"] | {"id": "r3", "code": [{"text": "Pharmacist"}]} | changed]


def test_of_several_roles_none_is_chosen_unless_the_request_names_one(tmp_path):
    found = known(tmp_path, another_role)
    assert "recipient.type" not in {one.field for one in found.facts}
    for name in ("PractitionerRole/r1", "PractitionerRole/r3"):
        assert "none is chosen" in found.refused[name]
    named = known(tmp_path, another_role, role="PractitionerRole/r3")
    assert "Pharmacist, Made-up Hospital, ward 3" in {one.value for one in named.facts}
    assert "is not the role in which they ask" in named.refused["PractitionerRole/r1"]
    ended = known(tmp_path, lambda resources: another_role(resources, active=False))
    assert "Ward nurse, Made-up Hospital, ward 3" in {one.value for one in ended.facts}


def at_entry(place, **changed):
    def change(bundle):
        bundle["entry"][place]["resource"].update(changed)

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (at_entry(3, resourceType="Wizard"), r"records.json: entry\[3\].resource: 'Wizard' is not known here"),
        (at_entry(3, contained=[{"resourceType": "Patient"}]), r"entry\[3\].resource: .* contain no others"),
        (at_entry(6, status=3), r"records.json: entry\[6\].resource.status: Input should be a valid string"),
        (at_entry(6, mood="good"), r"entry\[6\].resource.mood"),
        (at_entry(4, period={"end": "soon"}), r"entry\[4\].resource.period.end: .*DateTime"),
        (at_entry(1, id="x1"), r"entry\[1\].resource.id: .*Patient/x1 stands there twice"),
        (at_entry(1, id=None), r"entry\[1\].resource.id: there is none"),
        (lambda bundle: bundle.update(type="history"), "records.json: type: 'history' is not"),
        (lambda bundle: bundle.update(entry={}), "is no Bundle with a list called entry"),
        (lambda bundle: bundle["entry"].append(None), r"entry\[12\].resource: None is not known here"),
    ],
)
def test_an_invalid_bundle_is_refused_with_the_path_in_the_document(tmp_path, change, problem):
    bundle = copy.deepcopy(BUNDLE)
    change(bundle)
    with pytest.raises(example.RecordsError, match=problem):
        read(tmp_path, bundle)


def test_what_is_no_json_and_who_is_not_in_the_bundle_is_said(tmp_path):
    with pytest.raises(example.RecordsError, match=r"records.json: is no JSON"):
        read(tmp_path, "{")
    with pytest.raises(example.RecordsError, match="Practitioner/p9 is not in the bundle"):
        known(tmp_path, practitioner="Practitioner/p9")


def test_requests_become_a_benchmark_whose_arms_show_only_what_the_records_support(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["x", "--at", AT.isoformat(), "--out", str(tmp_path / "ward")])
    example.main()
    said = capsys.readouterr().out
    assert "'Encounter/e2', 'its status is cancelled, not in-progress'" in said

    benchmark = casewise.load(tmp_path / "ward" / "benchmark")
    facts = f"verified:{tmp_path / 'ward' / 'facts.jsonl'}"
    shown: dict[str, list[dict[str, object]]] = {}

    def restricted_to(query, context):
        shown.setdefault(query, []).append(context)
        return "safe"

    _, arm = api.parse_attack_arms(benchmark, (), defences=facts, noise="none", at="2026-06-01")
    casewise.judge(benchmark, restricted_to, arms=[arm])

    role, member = {"type": "Ward nurse, Made-up Hospital, ward 3"}, {"background": "in care team: yes"}
    terms = {"urgency": "emergency: yes", "confidentiality": "consent: yes"}
    first, second = shown.values()
    assert sorted(first, key=len) == [{}, {"recipient": role | member, "transmission_principle": terms}]
    assert sorted(second, key=len) == [{}, {"recipient": role | member}]  # not what the director is said to allow
