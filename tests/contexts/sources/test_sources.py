"""What a deployer has at hand becomes parameters, each with its source; what no source says is kept as unknown."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import pytest

from casewise import api
from casewise.errors import ConfigurationError, DataError
from casewise.transforms.catalogue import arm_named, defences_named, show
from casewise.transforms.verified import read_known

HEALTH = Path(__file__).parents[3] / "docs" / "health"
MAP = 'subject = "context"\n[parameters]\n"recipient.type" = "title"\n"recipient.background" = ["ward", "licence"]\n'


@pytest.fixture
def mapping(tmp_path):
    (tmp_path / "map.toml").write_text(MAP)
    return tmp_path / "map.toml"


def extracted(tmp_path, **sources):
    rows = api.extract_context(
        api.DeployersSources(**sources), tmp_path / "known.jsonl", facts=tmp_path / "facts.jsonl"
    )
    return {(one.subject, one.parameter): one for one in rows}


def test_a_row_of_staff_is_known_by_its_line_and_an_empty_cell_is_unknown(tmp_path, mapping):
    (tmp_path / "staff.csv").write_text("context,title,ward,licence\nc_1,Nurse,3,\nc_2,,,\n")
    found = extracted(tmp_path, staff=tmp_path / "staff.csv", mapping=mapping)
    assert (found["c_1", "recipient.type"].value, found["c_1", "recipient.type"].source) == ("Nurse", "staff.csv:2")
    assert found["c_1", "recipient.background"].value == "ward: 3"
    assert found["c_2", "recipient.type"].value is None
    assert found["c_1", "transmission_principle.urgency"].source == "no source says"
    assert len((tmp_path / "facts.jsonl").read_text().splitlines()) == 2


def test_a_cell_may_hold_lines(tmp_path, mapping):
    (tmp_path / "staff.csv").write_text(
        'context,title,ward,licence\nc_1,"Nurse\nof nights\u2028and days",3,\nc_2,Cook,,\n'
    )
    found = extracted(tmp_path, staff=tmp_path / "staff.csv", mapping=mapping)
    assert found["c_1", "recipient.type"].value == "Nurse\nof nights\u2028and days"
    assert (found["c_2", "recipient.type"].value, found["c_2", "recipient.type"].source) == ("Cook", "staff.csv:4")


@pytest.mark.parametrize(
    ("rows", "problem"), [('c_1,"open,,\n', "staff.csv:2: is no CSV"), ("c_1,Nurse\n", "staff.csv:2: has 2 cells")]
)
def test_a_broken_row_of_staff_is_refused_with_its_line(tmp_path, mapping, rows, problem):
    (tmp_path / "staff.csv").write_text("context,title,ward,licence\n" + rows)
    with pytest.raises(DataError, match=problem):
        extracted(tmp_path, staff=tmp_path / "staff.csv", mapping=mapping)


def test_a_cell_of_staff_may_be_long(tmp_path, mapping):
    (tmp_path / "staff.csv").write_text(f"context,title,ward,licence\nc_1,{'x' * 200_000},3,\n")
    assert (
        len(extracted(tmp_path, staff=tmp_path / "staff.csv", mapping=mapping)["c_1", "recipient.type"].value)
        == 200_000
    )


def token(claims, key=b"secret", algorithm="HS256"):
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in ({"alg": algorithm}, claims)
    )
    signature = hmac.new(key, head + b"." + body, hashlib.sha256).digest()
    return b".".join((head, body, base64.urlsafe_b64encode(signature).rstrip(b"="))).decode()


CLAIMS = {"context": "c_1", "title": "Nurse", "iss": "hospital"}


def test_claims_of_a_token_count_once_its_signature_is_verified(tmp_path, mapping):
    (tmp_path / "token").write_text(token(CLAIMS))
    (tmp_path / "key").write_bytes(b"secret")
    found = extracted(tmp_path, token=tmp_path / "token", key=tmp_path / "key", mapping=mapping)
    assert found["c_1", "recipient.type"].value == "Nurse"
    assert found["c_1", "recipient.type"].source == "token, issued by hospital"
    with pytest.raises(ConfigurationError, match="nobody verified"):
        extracted(tmp_path, token=tmp_path / "token", mapping=mapping)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (token(CLAIMS, key=b"another"), "cannot be verified"),
        (token(CLAIMS, algorithm="none"), "cannot be verified"),
        (token({**CLAIMS, "exp": 1}), "has expired"),
        (token({**CLAIMS, "exp": "tomorrow"}), "seconds since 1970"),
        ("no token", "no JSON Web Token"),
    ],
)
def test_a_token_that_is_forged_or_too_old_is_refused(tmp_path, mapping, written, problem):
    (tmp_path / "token").write_text(written)
    (tmp_path / "key").write_bytes(b"secret")
    with pytest.raises(DataError, match=problem):
        extracted(tmp_path, token=tmp_path / "token", key=tmp_path / "key", mapping=mapping)


@pytest.mark.parametrize(
    "public",
    [
        b"-----BEGIN PUBLIC KEY-----\nanybody has it\n-----END PUBLIC KEY-----",
        b"ssh-rsa AAAAB3 anybody@has.it",
        b"0\x82\x01\x22anybody has it",
    ],
)
def test_a_public_key_is_no_shared_secret(tmp_path, mapping, public):
    (tmp_path / "token").write_text(token(CLAIMS, key=public))
    (tmp_path / "key").write_bytes(public)
    with pytest.raises(DataError, match="cannot be verified"):
        extracted(tmp_path, token=tmp_path / "token", key=tmp_path / "key", mapping=mapping)


def test_a_key_that_is_empty_or_missing_verifies_nothing(tmp_path, mapping):
    (tmp_path / "token").write_text(token(CLAIMS, key=b""))
    with pytest.raises(DataError, match="key"):
        extracted(tmp_path, token=tmp_path / "token", key=tmp_path / "key", mapping=mapping)
    (tmp_path / "key").write_bytes(b"\n")
    with pytest.raises(DataError, match="is empty"):
        extracted(tmp_path, token=tmp_path / "token", key=tmp_path / "key", mapping=mapping)


def test_a_token_of_rs256_is_verified_by_its_public_key(tmp_path, mapping):
    pytest.importorskip("cryptography", reason="needs the extra [web]")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    signed = ".".join(token(CLAIMS, algorithm="RS256").split(".")[:2])
    signature = base64.urlsafe_b64encode(private.sign(signed.encode(), padding.PKCS1v15(), SHA256())).rstrip(b"=")
    (tmp_path / "token").write_text(f"{signed}.{signature.decode()}")
    kind, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key").write_bytes(private.public_key().public_bytes(kind, form))
    found = extracted(tmp_path, token=tmp_path / "token", key=tmp_path / "key", mapping=mapping)
    assert found["c_1", "recipient.type"].value == "Nurse"


def test_a_bundle_says_who_asks_in_which_encounter_and_with_what_consent(tmp_path):
    pytest.importorskip("fhir.resources", reason="needs the extra [health]: fhir.resources")
    found = extracted(tmp_path, fhir=HEALTH / "bundle.json", subject="c_1")
    said = {name: one.value for (_, name), one in found.items() if one.value}
    assert said["recipient.type"] == "Ward nurse at Made-up Hospital, ward 3"
    assert "A member of the care team" in said["recipient.background"]
    assert said["transmission_principle.urgency"].startswith("An emergency")
    assert "permits" in said["transmission_principle.confidentiality"]
    assert found["c_1", "recipient.type"].source == "bundle.json, PractitionerRole/r1"

    older = (HEALTH / "bundle.json").read_text().replace('"decision": "permit"', '"decision": "deny"')
    (tmp_path / "b.json").write_text(
        older.replace('"member": {"reference": "Practitioner/p1"}', '"member": {"reference": "Practitioner/p2"}')
    )
    other = extracted(tmp_path, fhir=tmp_path / "b.json")
    assert "forbids" in str(other["*", "transmission_principle.confidentiality"].value)
    assert "No member" in str(other["*", "recipient.background"].value)
    (tmp_path / "b.json").write_text('{"resourceType": "Bundle", "type": 3}')
    with pytest.raises(DataError, match="is no bundle of FHIR R5"):
        extracted(tmp_path, fhir=tmp_path / "b.json")


def test_a_bundle_of_r4b_says_the_same_in_its_own_form(tmp_path):
    pytest.importorskip("fhir.resources", reason="needs the extra [health]: fhir.resources")
    bundle = json.loads((HEALTH / "bundle.json").read_text())
    entries = {one["resource"]["resourceType"]: one["resource"] for one in bundle["entry"]}
    entries["Encounter"]["class"] = entries["Encounter"]["class"][0]["coding"][0]  # one coding, and no list of concepts
    patient = entries["Consent"].pop("subject")
    del entries["Consent"]["decision"]  # a consent of R4B decides in its provision
    entries["Consent"] |= {"patient": patient, "scope": {"text": "privacy"}, "category": [{"text": "disclosure"}]}
    (tmp_path / "bundle.json").write_text(json.dumps(bundle))
    undecided = extracted(tmp_path, fhir=tmp_path / "bundle.json", subject="c_1")
    entries["Consent"]["provision"] = {"type": "permit"}
    (tmp_path / "bundle.json").write_text(json.dumps(bundle))

    found = extracted(tmp_path, fhir=tmp_path / "bundle.json", subject="c_1")
    assert found == extracted(tmp_path, fhir=HEALTH / "bundle.json", subject="c_1")
    assert undecided["c_1", "transmission_principle.confidentiality"].value is None


def test_of_a_text_only_what_a_model_can_quote_is_known(tmp_path, monkeypatch):
    from casewise.models.endpoints import Prices
    from casewise.models.load import LoadedModel
    from casewise.models.protocol import FakeModel

    (tmp_path / "prompt.txt").write_text("You serve ward nurses. Be kind.")
    said = json.dumps({"recipient.type": "ward nurses", "recipient.background": "licensed nurses"})
    model = FakeModel(said)
    monkeypatch.setattr("casewise.contexts.sources.load_model", lambda name, options: LoadedModel(model, Prices(0, 0)))
    wanted = {"texts": (tmp_path / "prompt.txt",), "model": "m", "calls": tmp_path / "calls"}
    found = extracted(tmp_path, **wanted)
    assert found["*", "recipient.type"].value == "ward nurses"
    assert found["*", "recipient.type"].source == "prompt.txt, read by m"
    assert found["*", "recipient.background"].value is None
    extracted(tmp_path, **wanted)
    assert len(model.calls) == 1
    estimate = api.extracting_estimate(api.DeployersSources(**wanted))
    assert estimate is not None
    assert estimate.n_calls == 1


def test_an_arm_shows_only_what_ones_own_systems_know(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo = api.load("demo")
    context = demo.contexts[0]
    Path("known.jsonl").write_text(
        json.dumps({"subject": context.id, "parameter": "recipient.type", "value": "A clerk", "source": "s"})
        + "\n"
        + json.dumps({"subject": "*", "parameter": "sender.platform_type", "value": None, "source": "s"})
    )
    (name,) = defences_named("known:known.jsonl")
    shown = show(arm_named(name), demo.query[context.query_id], context)
    assert shown.context == {"recipient": {"type": "A clerk"}}
    other = demo.contexts[1]
    assert show(arm_named(name), demo.query[other.query_id], other).context == {}
    assert read_known(Path("known.jsonl")).about(["somebody else"]) == {}


def test_what_is_missing_is_said(tmp_path):
    for sources, problem in (
        ({}, "name a source"),
        ({"staff": tmp_path / "s.csv"}, "needs --map"),
        ({"texts": (tmp_path / "x",)}, "needs --model"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            extracted(tmp_path, **sources)
