"""A stand-in for Prolific's API: it keeps studies, submissions and bonuses, and errs as the documented one does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps, loads
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import parse_qs

import pytest
from sqlalchemy import Connection, update
from tests.support.databases import empty_database
from tests.support.study import RIGHT, SECRET, START, design, opened, tea

from casewise import database
from casewise.database.tables import study as tables
from casewise.studies.answers import SubmittedAnswer, next_page, take_answer
from casewise.studies.people import Vault, admit, answer_quiz, pass_tutorial
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import note_at_recruiter


@dataclass
class StandIn:
    """What it has been told."""

    url: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    bonuses: dict[str, str] = field(default_factory=dict)
    paid: list[str] = field(default_factory=list)
    returns: dict[str, list[str]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=lambda: {"total_available_places": 10, "places_taken": 4})
    status: str = "ACTIVE"
    lets_shrink: bool = True
    paused: list[str] = field(default_factory=list)
    created: list[dict[str, Any]] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    counted: list[dict[str, Any]] = field(default_factory=list)
    busy: int = 0
    """How many more requests are answered with 429."""
    breaks: str = ""
    """How requests begin ("POST /messages") that are done and then answered with 502, as a broken line would."""
    fails: str = ""
    """The same for requests that are answered with 500 and not done."""
    has_no_money: bool = False
    projects: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of each workspace, the projects' titles by their ids."""
    submissions: dict[str, dict[str, str]] = field(default_factory=dict)
    """By id: participant_id, status and study_code, of the one study that is asked for."""
    approved: list[str] = field(default_factory=list)
    loses: int = 0
    """How many rows of a list are never sent."""
    refuses_late: bool = False
    """Whether what timed out cannot be approved."""
    page_size: int = 2
    """The most that a page of a list has, whatever is asked for."""
    meet: Barrier | None = None
    """Where payments wait for each other to be prepared."""

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        if self.fails and f"{method} {path}".startswith(self.fails):
            return 500, {"error": "internal server error"}
        if self.breaks and f"{method} {path}".startswith(self.breaks):
            self.done(method, path, body)
            return 502, {"error": "bad gateway"}
        return self.done(method, path, body)

    def done(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        path, _, query = path.partition("?")
        if self.busy:
            self.busy -= 1
            return 429, {"error": {"title": "Too many requests"}}
        match path.strip("/").split("/"):
            case ["messages"]:
                self.messages.append(body)
                return 201, {}
            case ["submissions", "bonus-payments"]:
                name = f"bonus-{len(self.bonuses)}"
                self.bonuses[name] = body["csv_bonuses"]
                if self.meet is not None:
                    self.meet.wait(10)
                return 201, {"id": name, "total_amount": 1}
            case ["bulk-bonus-payments", name, "pay"] if name in self.bonuses:
                if self.has_no_money:
                    return 400, {"error": {"detail": "the balance is too low"}}
                self.paid.append(name)
                return 202, None
            case ["submissions", submission, "request-return"]:
                if submission in self.returns:
                    return 400, {"error": {"detail": "a return was requested already"}}
                self.returns[submission] = body["request_return_reasons"]
                return 200, {"id": submission}
        return self.answer_of_lists(path, query) or self.answer_of_studies(method, path, body)

    def answer_of_lists(self, path: str, query: str) -> tuple[int, dict[str, Any]] | None:
        match path.strip("/").split("/"):
            case ["submissions"]:
                study = parse_qs(query)["study"][0]
                alone = ("bonus_payments",)  # only a single submission shows them
                rows = [{"id": name, "study_id": study} | one for name, one in self.submissions.items()]
                return self.page(
                    [{key: value for key, value in row.items() if key not in alone} for row in rows], query
                )
            case ["workspaces", workspace, "projects"]:
                named = self.projects.get(workspace, {}).items()
                return self.page([{"id": name, "title": title} for name, title in named], query)
            case ["submissions", submission, "transition"] if submission in self.submissions:
                status = self.submissions[submission]["status"]
                if status not in {"AWAITING REVIEW", "TIMED-OUT"} or (status == "TIMED-OUT" and self.refuses_late):
                    return 400, {"error": {"detail": f"cannot approve a submission that is {status}"}}
                self.submissions[submission]["status"] = "APPROVED"
                self.approved.append(submission)
                return 200, {"id": submission}
            case ["submissions", submission] if submission in self.submissions:
                return 200, {"id": submission} | self.submissions[submission]
        return None

    def page(self, rows: list[dict[str, str]], query: str) -> tuple[int, dict[str, Any]]:
        number = int(parse_qs(query)["page"][0])
        start = (number - 1) * self.page_size
        return 200, {
            "results": rows[: len(rows) - self.loses][start : start + self.page_size],
            "meta": {"count": len(rows)},
        }

    def answer_of_studies(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        match path.strip("/").split("/"):
            case ["studies"]:
                self.created.append(body)
                return 201, {"id": f"study-{len(self.created)}"}
            case ["studies", _]:
                return self.study(method, body)
            case ["studies", study, "transition"]:
                self.paused.append(f"{study} {body['action']}")
                self.status = "PAUSED" if body["action"] == "PAUSE" else "ACTIVE"
                return 200, {"id": study}
            case ["participant-groups"] if "workspace_id" not in body:
                return 400, {"error": {"detail": "either a workspace or an organisation must be specified"}}
            case ["participant-groups"]:
                name = f"group-{len(self.groups)}"
                self.groups[name] = []
                return 201, {"id": name}
            case ["participant-groups", name, "participants"] if name in self.groups:
                self.groups[name] += [
                    participant for participant in body["participant_ids"] if participant not in self.groups[name]
                ]
                return 200, {}
            case ["eligibility-count"]:
                self.counted = body["filters"]
                return 200, {"count": 1234.0}
        return 404, {"error": {"title": "Not found"}}

    def study(self, method: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if method == "PATCH":
            fewer = body["total_available_places"] < self.places["total_available_places"]
            if fewer and not self.lets_shrink:
                return 400, {"error": {"detail": {"total_available_places": ["can only be increased"]}}}
            self.places |= body
        return 200, {**self.places, "status": self.status}


@contextmanager
def stand_in(token: str) -> Iterator[StandIn]:
    """The stand-in on a free port of loopback, which takes `token` and no other."""
    state = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
            known = self.headers["Authorization"] == f"Token {token}"
            failed = (401, {"error": "Authentication failed"})
            status, said = state.answer(self.command, self.path, body) if known else failed
            text = b"" if said is None else dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            self.do_POST()

        def do_PATCH(self) -> None:
            self.do_POST()

        def log_message(self, *_said: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The stand-in, where the environment names it."""
    with stand_in("secret") as server:
        monkeypatch.setenv("CASEWISE_PROLIFIC_API", server.url)
        monkeypatch.setenv("CASEWISE_PROLIFIC_TOKEN", "secret")
        monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET)
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """A study of the preset for Prolific, and an empty database of either kind."""
    sqlite = request.param == "sqlite"
    url = empty_database(tmp_path / "casewise.db") if sqlite else request.getfixturevalue("postgres_copy")
    return {"file": tea(tmp_path / "study.toml", "prolific"), "database": url}


@pytest.fixture
def recruited(place: dict[str, Any]) -> Any:
    """The main round of a study at Prolific whose id there is on record, in the database at `place`."""
    plan = design(
        ratings={"per_item": 60, "per_annotator": 2},
        recruiter={
            "kind": "prolific",
            "completion_code": "GOOD",
            "screened_out_code": "SHORT",
            "failed_checks_code": "FAILED",
        },
        pay={"per_batch": 4.0, "screen_out": 0.5, "fee_percent": 30.0},
        quiz={"attempts": 2},
    )
    with database.open(str(place["database"])) as store:
        made = opened(store, plan)
        with made.write(store, START) as live:
            for state, name in (("begun", ""), ("made", "study-1")):
                note_at_recruiter(live, "study", state, name)
    return made


UNDER_WAY = {"tutorial", "reading away", "rating", "rating away"}


def comes(connection: Connection, study: Any, name: str, here: str) -> str:
    """Somebody who stands at `here`, such as `rating away`; their random id."""
    now = datetime.now(UTC)
    who = admit(study.at(connection, now), RecruiterIds(f"p-{name}", "study-1", f"s-{name}"), vault=Vault(SECRET))
    assert who is not None
    rates = here in {
        "rating",
        "rating away",
        "completed",
        "stopped",
        "rated nothing",
        "too_many_skips",
        "failed_checks",
    }
    if rates:
        pass_tutorial(study.at(connection), who.id)
        answer_quiz(study.at(connection, now), who.id, RIGHT)
        if here != "rated nothing":
            page = next_page(study.at(connection), who.id)
            assert page is not None
            take_answer(study.at(connection, now), who.id, SubmittedAnswer(page.position, page.step, "respond", 5.0))
    early = now - timedelta(days=1)
    outcome = {"rated nothing": "stopped"}.get(here, None if here in UNDER_WAY else here)
    values: dict[str, Any] = {"outcome": outcome, "stage": "done"} if outcome else {}
    if here.endswith("away"):
        values = {"lease_until": early} if rates else {"consented_at": early}
    if values:
        connection.execute(update(tables.annotators).where(tables.annotators.c.id == who.id).values(**values))
    return str(who.id)
