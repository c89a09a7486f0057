"""A hospital's records as contexts and facts: a source written against casewise's public API.

    pip install 'fhir.resources>=8'
    python examples/health_records/health_records.py BUNDLE.json --practitioner Practitioner/1 --patient Patient/1 --out cases

writes `cases/context.json` (the parameters of a context) and `cases/facts.jsonl` (for `--defences verified:cases/facts.jsonl`).
Only what is current and theirs is taken: a role, team, encounter or consent that is ended, cancelled, somebody else's or of
another patient is refused with its reason. Made-up bundles in tests; no real record is shipped.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

Resource = dict[str, Any]
KINDS = ("Practitioner", "PractitionerRole", "CareTeam", "Encounter", "Consent", "Patient")


class BundleError(Exception):
    """A bundle that cannot be read; the message has the path in the document."""


@dataclass
class Extracted:
    """What a bundle supports: parameters by dotted name, facts with their validity, and what was refused and why."""

    parameters: dict[str, str] = field(default_factory=dict)
    facts: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def state(self, name: str, value: str, resource: Resource, period: Resource | None = None) -> None:
        """State a parameter, with the fact that supports it."""
        self.parameters[name] = value
        fact = {"subject": "*", "field": name, "value": value, "source": reference(resource)}
        for key, end in (("issued", "start"), ("expires", "end")):
            if period and period.get(end):
                fact[key] = str(period[end])[:10]
        self.facts.append(fact)


def read_bundle(path: Path) -> list[Resource]:
    """The resources of a bundle of FHIR R5.

    Raises
    ------
    BundleError
        It is no valid bundle, or holds a resource that this source does not know.
    """
    from fhir.resources.bundle import Bundle

    try:
        text = path.read_text(encoding="utf-8")
        Bundle.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise BundleError(f"{path}: {'.'.join(map(str, first['loc'])) or 'the document'}: {first['msg']}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path}: {error}") from error
    resources = []
    for place, entry in enumerate(json.loads(text).get("entry", [])):
        resource = entry.get("resource", {})
        if resource.get("resourceType") not in KINDS:
            kind = resource.get("resourceType")
            raise BundleError(
                f"{path}: entry[{place}].resource.resourceType: {kind!r} is unknown; known are {', '.join(KINDS)}"
            )
        resources.append(resource)
    return resources


def extract(
    resources: list[Resource], *, practitioner: str, patient: str, at: date, role: str | None = None
) -> Extracted:
    """What the resources say on a day of `practitioner`, who asks about `patient`.

    Parameters
    ----------
    practitioner, patient
        References such as `Practitioner/1`.
    role
        The PractitionerRole to take, where the practitioner has several.

    Raises
    ------
    BundleError
        The practitioner is not in the bundle, or has several current roles and none was named.
    """
    found = Extracted()
    if not any(reference(one) == practitioner for one in resources):
        raise BundleError(f"there is no {practitioner} in the bundle")
    current = [one for one in of_kind(resources, "PractitionerRole") if is_current_role(one, practitioner, at, found)]
    if role is not None:
        current = [one for one in current if reference(one) == role]
    if len(current) > 1:
        raise BundleError(
            f"{practitioner} has several roles, {', '.join(map(reference, current))}: name one with --role"
        )
    for one in current:
        at_place = (one.get("organization") or {}).get("display")
        what = words_of(one.get("code"))
        if what:
            found.state("recipient.type", f"{what} at {at_place}" if at_place else what, one, one.get("period"))
    for one in of_kind(resources, "CareTeam"):
        if refuse(found, one, status=("active",), subject=patient, at=at):
            continue
        own = {practitioner, *map(reference, current)}
        members = {(each.get("member") or {}).get("reference"): each for each in one.get("participant", [])}
        member = next((members[name] for name in members if name in own), None)
        if member is None:
            found.refused.append(f"{reference(one)}: {practitioner} is no participant")
        elif not holds(member.get("effectivePeriod") or member.get("coveragePeriod"), at):
            found.refused.append(f"{reference(one)}: participation does not hold on {at}")
        else:
            found.state("recipient.background", "A member of the patient's care team", one, one.get("period"))
    for one in of_kind(resources, "Encounter"):
        if not refuse(
            found, one, status=("in-progress", "planned", "on-hold"), subject=patient, at=at, period="actualPeriod"
        ):
            emergency = "EMER" in codes_of(one.get("class"))
            words = "An emergency" if emergency else "No emergency"
            found.state("transmission_principle.urgency", words, one, one.get("actualPeriod"))
    for one in of_kind(resources, "Consent"):
        if not refuse(found, one, status=("active",), subject=patient, at=at):
            verb = {"permit": "permits", "deny": "forbids"}.get(one.get("decision", ""))
            if verb:
                words = f"The patient {verb} that the record is told on"
                found.state("transmission_principle.confidentiality", words, one, one.get("period"))
            else:
                found.refused.append(f"{reference(one)}: it neither permits nor denies")
    return found


def is_current_role(one: Resource, practitioner: str, at: date, found: Extracted) -> bool:
    why = None
    if (one.get("practitioner") or {}).get("reference") != practitioner:
        why = f"another practitioner's role, not {practitioner}'s"
    elif one.get("active") is False:
        why = "the role is not active"
    elif not holds(one.get("period"), at):
        why = f"the role does not hold on {at}"
    if why:
        found.refused.append(f"{reference(one)}: {why}")
    return why is None


def refuse(
    found: Extracted, one: Resource, *, status: tuple[str, ...], subject: str, at: date, period: str = "period"
) -> bool:
    """Whether a resource is not current or not of this patient; the reason is written down."""
    about = (one.get("subject") or one.get("patient") or {}).get("reference")
    why = None
    if one.get("status") not in status:
        why = f"its status is {one.get('status')!r}"
    elif about != subject:
        why = f"it is about {about}, not {subject}"
    elif not holds(one.get(period), at):
        why = f"it does not hold on {at}"
    if why:
        found.refused.append(f"{reference(one)}: {why}")
    return why is not None


def holds(period: Resource | None, at: date) -> bool:
    """Whether a period holds on a day; an open end holds."""
    start, end = (str((period or {}).get(key) or "")[:10] for key in ("start", "end"))
    return (not start or start <= at.isoformat()) and (not end or at.isoformat() <= end)


def of_kind(resources: list[Resource], kind: str) -> list[Resource]:
    return [one for one in resources if one["resourceType"] == kind]


def reference(one: Resource) -> str:
    return f"{one['resourceType']}/{one.get('id', '?')}"


def words_of(concepts: Any) -> str:
    first = concepts[0] if isinstance(concepts, list) and concepts else concepts or {}
    return str(first.get("text") or next((coding.get("display") or "" for coding in first.get("coding", [])), ""))


def codes_of(concepts: Any) -> set[str]:
    every = concepts if isinstance(concepts, list) else [concepts or {}]
    return {str(coding.get("code")) for one in every for coding in one.get("coding", [])}


def main() -> None:
    parser = argparse.ArgumentParser(description="Take a context and facts from a FHIR bundle.")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--practitioner", required=True)
    parser.add_argument("--patient", required=True)
    parser.add_argument("--role")
    parser.add_argument("--at", type=date.fromisoformat, default=date.today())
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    try:
        found = extract(
            read_bundle(given.bundle),
            practitioner=given.practitioner,
            patient=given.patient,
            at=given.at,
            role=given.role,
        )
    except BundleError as error:
        raise SystemExit(f"error: {error}") from error
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "context.json").write_text(json.dumps(found.parameters, indent=1), encoding="utf-8")
    (given.out / "facts.jsonl").write_text("".join(f"{json.dumps(fact)}\n" for fact in found.facts), encoding="utf-8")
    for reason in found.refused:
        print(f"refused: {reason}")
    print(f"{len(found.parameters)} parameters: {given.out}")


if __name__ == "__main__":
    main()
