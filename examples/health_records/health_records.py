"""A hospital's records (FHIR R5) as a source of contexts and facts, written against casewise's public API alone.

    make install PACKAGE=fhir.resources
    python examples/health_records/health_records.py --at 2026-06-01T12:00:00+02:00 --out runs/ward
    casewise attack runs/ward/benchmark --judge fake/rehearsal --attacks twin:recipient.type --noise none \
        --defences none,verified:runs/ward/facts.jsonl --at 2026-06-01 --out runs/ward/attacked

In a line of `requests.jsonl` a practitioner asks a query about a patient, and may say who they are (`says`). The records become facts,
and the context where the request says nothing. A record that is not current, or not about these two people, is refused with a reason,
and so are values that differ. All data here were made up.
"""

from __future__ import annotations

import argparse
import calendar
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from fhir.resources.bundle import Bundle
from pydantic import ValidationError

from casewise import api

HERE = Path(__file__).parent
CLASSES = "http://terminology.hl7.org/CodeSystem/v3-ActCode"


class RecordsError(ValueError):
    """A document that cannot be used; the message begins with the path within it."""


class NotTaken(ValueError):
    """Why a record says nothing about a request."""


@dataclass(frozen=True)
class Request:
    """Who asks (`Practitioner/ID`) about whom (`Patient/ID`), when, and in which of several roles."""

    practitioner: str
    patient: str
    at: datetime
    role: str | None = None


@dataclass(frozen=True)
class Fact:
    """What a record says of a field of the context, and how long."""

    field: str
    value: str | bool
    source: str
    issued: date | None
    expires: date | None


@dataclass(frozen=True)
class Known:
    """What records say of a request, and which were refused: name to reason."""

    facts: tuple[Fact, ...]
    refused: Mapping[str, str]

    def context(self) -> dict[str, Any]:
        """The facts as a context: group to parameter to statement, the last part of a longer name as its heading."""
        stated: dict[str, Any] = {}
        for fact in self.facts:
            group, parameter, *heading = fact.field.split(".")
            stated.setdefault(group, {})[parameter] = {heading[0]: fact.value} if heading else fact.value
        return stated


def read_records(path: Path) -> dict[str, Any]:
    """Read the resources of a bundle by name, such as `Encounter/e1`. Raises RecordsError: it is none of FHIR R5."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordsError(f"{path.name}: is no JSON that can be read: {error}") from error
    entries = document.get("entry", []) if isinstance(document, dict) else None
    if not isinstance(entries, list) or document.get("resourceType") != "Bundle":
        raise RecordsError(f"{path.name}: resourceType: is no Bundle with a list called entry")
    if document.get("type") not in ("collection", "searchset"):
        raise RecordsError(f"{path.name}: type: {document.get('type')!r} is not collection or searchset")
    for place, entry in enumerate(entries):
        resource: Any = entry.get("resource") if isinstance(entry, dict) else None
        kind = resource.get("resourceType") if isinstance(resource, dict) else None
        if kind not in tuple(RULES) or "contained" in resource:
            known = f"{', '.join(RULES)} are, which contain no others"
            raise RecordsError(f"{path.name}: entry[{place}].resource: {kind!r} is not known here; {known}")
    try:
        bundle = Bundle.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        within = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"]).lstrip(".")
        raise RecordsError(f"{path.name}: {within}: {first['msg']}") from error
    records: dict[str, Any] = {}
    for place, entry in enumerate(bundle.entry or ()):
        name = f"{type(entry.resource).__name__}/{entry.resource.id}"
        if entry.resource.id is None or name in records:
            raise RecordsError(f"{path.name}: entry[{place}].resource.id: there is none, or {name} stands there twice")
        records[name] = entry.resource
    return records


def known_of(records: dict[str, Any], request: Request) -> Known:
    """What records say of a request, and why each other record says nothing. Raises RecordsError: they hold no such person."""
    for name in (request.practitioner, request.patient):
        if name not in records:
            raise RecordsError(f"{name} is not in the bundle")
    facts: list[Fact] = []
    refused: dict[str, str] = {}
    current = all(records[name].active is not False for name in (request.practitioner, request.patient))
    for name, resource in records.items():
        try:
            must(current, "this practitioner or this patient is marked as inactive")
            must(not (resource.modifierExtension or resource.implicitRules), "has a modifierExtension or implicitRules")
            facts += list(RULES[name.partition("/")[0]](name, resource, request))
        except NotTaken as reason:
            refused[name] = str(reason)
    for about in dict.fromkeys(fact.field for fact in facts):
        said = {fact.source: fact.value for fact in facts if fact.field == about}
        if len({fact.value for fact in facts if fact.field == about}) > 1:
            refused |= dict.fromkeys(said, f"records differ on {about}, and none is chosen: {said}")
            facts = [fact for fact in facts if fact.field != about]
    return Known(tuple(facts), refused)


def person(name: str, _resource: Any, request: Request) -> Iterator[Fact]:
    """No name, no date of birth, no diagnosis is taken over."""
    must(name in (request.practitioner, request.patient), "is another person")
    yield from ()


def practitioner_role(name: str, resource: Any, request: Request) -> Iterator[Fact]:
    must(refers(resource.practitioner, request.practitioner), "is the role of another practitioner")
    must(resource.active is not False, "is marked as inactive")
    must(request.role in (None, name), f"is not the role in which they ask, {request.role}")
    where = getattr(resource.organization, "display", None)
    for code in resource.code or ():
        role = str(code.text or next((one.display for one in code.coding or () if one.display), ""))
        must(role != "", "is coded without words")
        yield fact("recipient.type", f"{role}, {where}" if where else role, name, request, resource.period)


def encounter(name: str, resource: Any, request: Request) -> Iterator[Fact]:
    must(refers(resource.subject, request.patient), "is about another patient")
    must(resource.status == "in-progress", f"its status is {resource.status}, not in-progress")
    codes = {(coding.system, coding.code) for concept in resource.class_fhir or () for coding in concept.coding or ()}
    must(bool(codes), "says no class")
    urgent = (CLASSES, "EMER") in codes
    yield fact("transmission_principle.urgency.emergency", urgent, name, request, resource.actualPeriod)


def care_team(name: str, resource: Any, request: Request) -> Iterator[Fact]:
    must(refers(resource.subject, request.patient), "is about another patient")
    must(resource.status == "active", f"its status is {resource.status}, not active")
    own = [one for one in resource.participant or () if refers(one.member, request.practitioner)]
    must(len(own) == 1 and own[0].coverageTiming is None, "does not say plainly that this practitioner is a member")
    yield fact("recipient.background.in_care_team", True, name, request, resource.period, own[0].coveragePeriod)


def consent(name: str, resource: Any, request: Request) -> Iterator[Fact]:
    must(refers(resource.subject, request.patient), "is another patient's consent")
    must(resource.status == "active", f"its status is {resource.status}, not active")
    must(resource.decision in ("permit", "deny"), "decides nothing")
    must(not resource.provision, "has provisions, which are not read here")
    must(all(one.verified for one in resource.verification or ()), "is not verified")
    grantees = resource.grantee or ()
    must(not grantees or any(refers(one, request.practitioner) for one in grantees), "is about what others are granted")
    permit = resource.decision == "permit"
    yield fact("transmission_principle.confidentiality.consent", permit, name, request, resource.period)


RULES: dict[str, Callable[[str, Any, Request], Iterable[Fact]]] = {
    "Patient": person,
    "Practitioner": person,
    "PractitionerRole": practitioner_role,
    "Encounter": encounter,
    "CareTeam": care_team,
    "Consent": consent,
}


def refers(reference: Any, name: str) -> bool:
    return getattr(reference, "reference", None) == name


def must(holds: bool, reason: str) -> None:
    if not holds:
        raise NotTaken(reason)


def fact(about: str, value: str | bool, source: str, request: Request, *periods: Any) -> Fact:
    """The fact, which holds within all periods. Raises NotTaken: one of them has not begun, or has ended."""
    starts = [moment(one.start, request, last=False) for one in periods if one and one.start]
    ends = [moment(one.end, request, last=True) for one in periods if one and one.end]
    must(max(starts, default=request.at) <= request.at, f"begins at {max(starts, default=None)}")
    must(request.at <= min(ends, default=request.at), f"ended at {min(ends, default=None)}")
    issued = max(starts).astimezone(request.at.tzinfo).date() if starts else None
    expires = min(ends).astimezone(request.at.tzinfo).date() if ends else None
    return Fact(about, value, source, issued, expires)


def moment(written: Any, request: Request, *, last: bool) -> datetime:
    """The first, or last, moment of a FHIR dateTime, which may be a year, a month, a day or a time."""
    if isinstance(written, datetime):
        return written
    year, *rest = map(int, str(written).split("-"))
    month = rest[0] if rest else 12 if last else 1
    day = rest[1] if len(rest) > 1 else calendar.monthrange(year, month)[1] if last else 1
    return datetime.combine(date(year, month, day), time.max if last else time.min, request.at.tzinfo)


def write(bundle: Path, requests: Path, at: datetime, out: Path) -> tuple[Known, ...]:
    """Write a benchmark of the requests and the facts about their contexts into a new folder, and return what is known."""
    records = read_records(bundle)
    cases, every = [], []
    for line in requests.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        request = Request(case.pop("practitioner"), case.pop("patient"), at, case.pop("role", None))
        every.append(known := known_of(records, request))
        cases.append(json.dumps(case | {"context": case.pop("says", None) or known.context()}))
    out.mkdir(parents=True)
    (out / "cases.jsonl").write_text("\n".join(cases), encoding="utf-8")
    benchmark = api.import_cases(out / "cases.jsonl", out / "benchmark")
    with (out / "facts.jsonl").open("w", encoding="utf-8") as file:
        for item, known in zip(benchmark.items, every, strict=True):
            for one in known.facts if item.context_id else ():
                print(json.dumps({"subject": item.context_id} | vars(one), default=str), file=file)
    return tuple(every)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a benchmark and its facts from records and requests.")
    parser.add_argument("--at", type=datetime.fromisoformat, required=True, help="when they ask; UTC without a zone")
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    given = parser.parse_args()
    at = given.at.replace(tzinfo=given.at.tzinfo or UTC)
    for number, known in enumerate(write(HERE / "bundle.json", HERE / "requests.jsonl", at, given.out), 1):
        print(f"request {number}: {len(known.facts)} facts", *known.refused.items(), sep="\n    refused: ")


if __name__ == "__main__":
    main()
