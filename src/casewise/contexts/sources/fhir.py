"""A FHIR bundle (R5, or R4B) as parameters of a context, by rules: who asks, of whose record, in which encounter, with what consent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError, DataError
from casewise.storage.files.atomic import read_text
from casewise.verifying.facts import ANYONE
from casewise.verifying.known import KnownParameter

__all__ = ["bundle_rows"]


def bundle_rows(path: Path, *, subject: str = ANYONE) -> Iterator[KnownParameter]:
    """What a bundle about one request says.

    Read are PractitionerRole and Practitioner (who asks), CareTeam and Patient (whose care they are part of), Encounter (whether it is an
    emergency) and Consent (whether what is on record may be told on).

    Raises ConfigurationError: the extra `[health]` is not installed. DataError: it is no bundle of FHIR R5 or R4B.
    """
    found = resources(path)
    for parameter, rule in RULES.items():
        value, by = rule(found)
        yield KnownParameter(subject=subject, parameter=parameter, value=value or None, source=f"{path.name}{by}")


Resources = Mapping[str, list[dict[str, Any]]]
Said = tuple[str, str]
"""What a rule found, and in which resources, for the source."""


def resources(path: Path) -> Resources:
    try:
        from fhir.resources.bundle import Bundle
        from fhir.resources.R4B.bundle import Bundle as BundleR4B
    except ImportError as error:
        raise ConfigurationError(f"a bundle needs fhir.resources: pip install 'casewise[health]' ({error})") from error
    text, problems = read_text(path), []
    for kind in (Bundle, BundleR4B):
        try:
            kind.model_validate_json(text)
            break
        except ValueError as error:
            problems.append(str(error).splitlines()[0])
    else:
        raise DataError(path, None, f"is no bundle of FHIR R5 ({problems[0]}) or R4B ({problems[1]})")
    by_kind: dict[str, list[dict[str, Any]]] = {}
    whole: Any = json.loads(text)
    for entry in whole.get("entry", []):
        resource = entry.get("resource", {})
        by_kind.setdefault(resource.get("resourceType", ""), []).append(resource)
    return by_kind


def first(found: Resources, kind: str) -> dict[str, Any]:
    return next(iter(found.get(kind, [])), {})


def place(*of: Mapping[str, Any]) -> str:
    named = [f"{one['resourceType']}/{one.get('id', '?')}" for one in of if one]
    return f", {' and '.join(named)}" if named else ""


def text_of(concepts: Any) -> str:
    """The words of a concept, or of the first of several."""
    one = concepts[0] if isinstance(concepts, list) and concepts else concepts
    if not isinstance(one, dict):
        return ""
    codings = one.get("coding") or ([one] if "code" in one else [])
    return str(one.get("text") or next((c.get("display") or c.get("code") or "" for c in codings), ""))


def codes_of(concepts: Any) -> set[str]:
    every = concepts if isinstance(concepts, list) else [concepts]
    found = [coding for one in every if isinstance(one, dict) for coding in (*one.get("coding", []), one)]
    return {str(coding["code"]) for coding in found if isinstance(coding.get("code"), str)}


def who_asks(found: Resources) -> Said:
    role = first(found, "PractitionerRole")
    at = (role.get("organization") or {}).get("display")
    what = text_of(role.get("code"))
    return (f"{what} at {at}" if what and at else what), place(role)


def background(found: Resources) -> Said:
    practitioner, team = first(found, "Practitioner"), first(found, "CareTeam")
    said = [
        f"Qualified: {text}." for one in practitioner.get("qualification", []) if (text := text_of(one.get("code")))
    ]
    members = {str((one.get("member") or {}).get("reference", "")) for one in team.get("participant", [])}
    own = {f"{one['resourceType']}/{one.get('id')}" for one in (practitioner, first(found, "PractitionerRole")) if one}
    if team:
        inside = "A member" if members & own else "No member"
        said.append(f"{inside} of the care team of the patient whose record is open.")
    return " ".join(said), place(practitioner, team)


def urgency(found: Resources) -> Said:
    encounter = first(found, "Encounter")
    codes = codes_of(encounter.get("class"))
    if not codes:
        return "", place(encounter)
    return ("An emergency, by the encounter on record." if "EMER" in codes else "No emergency on record."), place(
        encounter
    )


def confidentiality(found: Resources) -> Said:
    consent = first(found, "Consent")
    provision = consent.get("provision")
    decision = consent.get("decision") or (provision.get("type") if isinstance(provision, dict) else None)
    if consent.get("status") != "active" or decision not in ("permit", "deny"):
        return "", place(consent)
    verb = "permits" if decision == "permit" else "forbids"
    return f"The patient's consent on record {verb} that it is told on.", place(consent)


RULES = {
    "recipient.type": who_asks,
    "recipient.background": background,
    "transmission_principle.urgency": urgency,
    "transmission_principle.confidentiality": confidentiality,
}
