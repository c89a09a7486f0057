"""Who is at the study's door: rounds kept in memory, the annotator's cookie, and the tokens that pages carry."""

from __future__ import annotations

import hmac
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from casewise.database.limits import Limit, take
from casewise.records.base import digest
from casewise.studies.recruiters import Recruiter, RecruiterIds, make_recruiter
from casewise.studies.running.annotators import Annotator, annotator
from casewise.studies.running.owner import ARRIVAL_LIMIT
from casewise.studies.running.privacy import Vault, derived_key
from casewise.studies.running.rounds import Round, load_round
from casewise.web.frame.identity import database_of
from casewise.web.security.cookies import read_cookie, set_cookie

__all__ = [
    "PageToken",
    "ThisRound",
    "check_limit",
    "drawn_token",
    "read_arrival",
    "read_token",
    "recruiter_of",
    "remember",
    "remember_arrival",
    "round_of",
    "vault_of",
    "visitor",
    "visitor_id",
    "was_warned",
]

ANNOTATOR_COOKIE = "casewise_study"
ARRIVAL_COOKIE = "casewise_arrival"
KEPT_S = 60 * 60 * 24 * 14

ARRIVALS = Limit(burst=120, per_s=600)
"""Of one address; a lecture hall behind one address still gets in."""
ATTEMPTS = Limit(burst=40, per_s=600)
"""Quiz attempts and undos of one annotator."""


async def round_of(request: Request, study_id: str) -> Round:
    """The round with this id; a dependency. A round is read once, and anew each minute."""
    rounds: dict[str, Round] = request.app.state.rounds
    if study_id not in rounds:
        rounds[study_id] = await run_in_threadpool(read_round, request, study_id)
    return rounds[study_id]


def read_round(request: Request, study_id: str) -> Round:
    with database_of(request).read() as connection:
        found = load_round(connection, study_id)
    if found is None:
        raise HTTPException(404)
    return found


ThisRound = Annotated[Round, Depends(round_of)]
"""The round that the address names."""


def vault_of(request: Request) -> Vault:
    """What seals and opens recruiter ids here."""
    vault: Vault = request.app.state.vault
    return vault


def recruiter_of(request: Request, study: Round) -> Recruiter:
    """Where this round's people come from."""
    key = derived_key(request.app.state.settings.secret_key, f"invitations {study.id}")
    return make_recruiter(study.design.recruiter, invitation_key=key)


def remember(request: Request, response: Response, who: Annotator) -> None:
    """Let this browser continue as `who`; the cookie is signed and says nothing else."""
    set_cookie(request, response, ANNOTATOR_COOKIE, f"{who.study_id}:{who.id}", lasts_s=KEPT_S)


def visitor(request: Request, study: Round, connection: Connection) -> Annotator | None:
    """Who continues in this browser, if anybody."""
    annotator_id = visitor_id(request, study)
    return None if annotator_id is None else annotator(connection, annotator_id)


def visitor_id(request: Request, study: Round) -> str | None:
    """The id in this browser's cookie, if it is one of this round."""
    study_id, _, annotator_id = (read_cookie(request, ANNOTATOR_COOKIE) or "").partition(":")
    return annotator_id if study_id == study.id else None


def remember_arrival(request: Request, response: Response, study: Round, person: RecruiterIds) -> None:
    """Keep a person's ids in their own browser: before consent they are kept nowhere else."""
    value = json.dumps({"round": study.id, "warned": warned_of(study), **asdict(person)})
    set_cookie(request, response, ARRIVAL_COOKIE, value)


def read_arrival(request: Request, study: Round) -> RecruiterIds | None:
    """The ids that this browser arrived with, if it arrived at this round."""
    value = json.loads(read_cookie(request, ARRIVAL_COOKIE) or "{}")
    if value.pop("round", None) != study.id:
        return None
    value.pop("warned", None)
    return RecruiterIds(**value)


def was_warned(request: Request, study: Round) -> bool:
    """Whether this browser was shown all that is to be warned of now: an amendment may have added to it."""
    shown = json.loads(read_cookie(request, ARRIVAL_COOKIE) or "{}").get("warned")
    return bool(shown == warned_of(study))


def warned_of(study: Round) -> str:
    return digest({"categories": study.categories})


@dataclass(frozen=True, slots=True)
class PageToken:
    """Which page, as it was shown when, to whom."""

    position: int
    revision: int
    shown_at: datetime


def drawn_token(request: Request, annotator_id: str, *, position: int, revision: int, now: datetime) -> str:
    """A token that lets `annotator_id`, and nobody else, answer the page once."""
    body = f"{position}.{revision}.{int(now.timestamp() * 1000)}"
    return f"{body}.{signature(request, annotator_id, body)}"


def read_token(request: Request, annotator_id: str, token: str) -> PageToken | None:
    """What a page's token says; None when it is not this annotator's."""
    body, _, signed = token.rpartition(".")
    if not hmac.compare_digest(signed.encode(), signature(request, annotator_id, body).encode()):
        return None
    position, revision, shown_ms = (int(part) for part in body.split("."))
    return PageToken(position, revision, datetime.fromtimestamp(shown_ms / 1000, UTC))


def signature(request: Request, annotator_id: str, body: str) -> str:
    mac: str = request.app.state.signing.mac(f"{annotator_id}\0{body}", use="study page")
    return mac[:32]


def check_limit(request: Request, connection: Connection, study: Round, *, who: str | None, now: datetime) -> None:
    """Count an arrival (`who` is None) or an annotator's attempt; refuse when there were too many.

    Arrivals are counted under a keyed hash of the address that changes every day; the address itself is not kept.
    Rehearsals come from one address and are not limited.
    """
    if study.phase in {"rehearsal", "preview"}:
        return
    host = request.client.host if request.client else "unknown"
    hashed = request.app.state.signing.mac(f"{host}\0{now:%Y-%m-%d}", use="limit:arrival")
    key = f"study:{who}" if who else f"{ARRIVAL_LIMIT}{hashed}"
    if not take(connection, key, ATTEMPTS if who else ARRIVALS, now=now):
        raise HTTPException(429, "There were too many attempts from here. Please wait a few minutes and try again.")
