"""Every route with every role and with none: what is not allowed here explicitly must be refused."""

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from tests.support.app import form_token, signed_in, visitor

from casewise.database.staff import Role

ANYBODY = frozenset({None, *Role})
SIGNED_IN = frozenset(Role)

STAFF = {
    ("GET", "/"): SIGNED_IN,
    ("GET", "/health"): ANYBODY,
    ("GET", "/sign-in"): ANYBODY,
    ("POST", "/sign-in"): ANYBODY,
    ("POST", "/sign-out"): ANYBODY,
    ("GET", "/join/{token}"): ANYBODY,
    ("POST", "/join/{token}"): ANYBODY,
    ("GET", "/people"): {Role.ADMINISTRATOR},
    ("POST", "/people/invite"): {Role.ADMINISTRATOR},
    ("POST", "/people/{person_id}"): {Role.ADMINISTRATOR},
}
REVIEW_ROOM = {Role.REVIEWER, Role.EXPERT, Role.ADMINISTRATOR}
WORKERS = {Role.REVIEWER, Role.EXPERT}
REVIEW = {
    ("GET", "/review"): REVIEW_ROOM,
    ("GET", "/review/drafts/{name}"): REVIEW_ROOM,
    ("GET", "/review/drafts/{name}/next"): WORKERS,
    ("GET", "/review/drafts/{name}/progress"): REVIEW_ROOM,
    ("GET", "/review/drafts/{name}/warning"): REVIEW_ROOM,
    ("POST", "/review/drafts/{name}/warning"): WORKERS,
    ("GET", "/review/contexts/{place_id}"): REVIEW_ROOM,
    ("POST", "/review/contexts/{place_id}"): REVIEW_ROOM,
    ("POST", "/review/contexts/{place_id}/autosave"): WORKERS,
    ("GET", "/review/contexts/{place_id}/history"): REVIEW_ROOM,
}
STUDY = dict.fromkeys(
    [
        ("GET", "/study/{study_id}"),
        *(
            (method, f"/study/{{study_id}}/{page}")
            for page in ("consent", "tutorial", "quiz", "rate", "questions", "data")
            for method in ("GET", "POST")
        ),
        *(("GET", f"/study/{{study_id}}/{page}") for page in ("pause", "end", "leave")),
        *(("POST", f"/study/{{study_id}}/{page}") for page in ("undo", "stop")),
    ],
    ANYBODY,
) | dict.fromkeys(
    [
        ("GET", "/studies"),
        ("GET", "/studies/{study_id}"),
        ("POST", "/studies/{study_id}/state"),
        ("POST", "/studies/{study_id}/conditions"),
        ("GET", "/studies/{study_id}/checks"),
        *(("GET", f"/studies/{{study_id}}/{page}") for page in ("design", "items", "items/{item_id}", "export.zip")),
        ("GET", "/studies/{study_id}/people/{annotator_id}"),
        ("GET", "/studies/{study_id}/people"),
        ("POST", "/studies/{study_id}/people"),
        ("POST", "/studies/{study_id}/people/find"),
        ("POST", "/studies/{study_id}/people/{annotator_id}/recruiter"),
    ],
    frozenset({Role.OWNER}),
)
"""Annotators are no staff: their pages are anybody's, and show nothing without an annotator's own cookie."""
ALLOWED = {**STAFF, **REVIEW, **STUDY}
"""Method and path to the roles that may; None is nobody signed in. An area adds its own."""


def routes(app):
    """Mounts, which serve files, have no methods."""
    return {(method, route.path) for route in iter_route_contexts(app.routes) for method in route.methods or ()}


def test_every_route_says_who_may_use_it(app):
    assert routes(app) == set(ALLOWED)


@pytest.mark.slow
@pytest.mark.parametrize("role", [None, *Role])
def test_nobody_gets_further_than_their_role(app, role):
    guest = visitor(app) if role is None else signed_in(app, str(role), role)
    guest.client = TestClient(app, follow_redirects=False, raise_server_exceptions=False, cookies=guest.client.cookies)
    token = page_token(app, guest)

    for method, path in sorted(ALLOWED):
        if (method, path) == ("POST", "/sign-out"):
            continue
        address = path.replace("{", "").replace("}", "")
        answer = guest.client.request(method, address, data={"csrf": token})
        may = role in ALLOWED[method, path]
        assert answer.status_code < 500, (method, path, answer.text)
        assert may or refused(answer), (method, path, role, answer.status_code)
        assert not may or not refused(answer), (method, path, role, answer.status_code)


def page_token(app, guest):
    """A page without a person has the sign-in form; one with a person has the form to sign out."""
    page = guest.client.get("/nowhere-at-all")
    return form_token(
        page.text if 'name="csrf"' in page.text else guest.client.get("/sign-in", follow_redirects=True).text
    )


def refused(answer):
    return answer.status_code in {401, 403} or answer.headers.get("location", "").startswith("/sign-in")
