"""`kill -9` of the server under load: whatever was acknowledged is in the database, once."""

import random
import re
import threading
import time

import httpx2
import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import FIELDS
from tests.support.app import PASSWORD, form_token
from tests.support.server import running_server

from casewise import database
from casewise.contexts.review import Act
from casewise.contexts.store import events_of

pytestmark = pytest.mark.slow


def sign_in(client):
    token = form_token(client.get("/sign-in").text)
    client.post("/sign-in", data={"csrf": token, "email": "ada@example.org", "password": PASSWORD})
    token = form_token(client.get("/review/drafts/letters/warning").text)
    client.post("/review/drafts/letters/warning", data={"csrf": token})


def submit_all(client, places, acknowledged, stop):
    """Submit a review of each place, and again after a crash, as a person would who saw an error."""
    for place in places:
        while not stop.is_set():
            try:
                if submit(client, place, acknowledged):
                    break
            except httpx2.HTTPError:
                time.sleep(0.02)
    client.close()


def browser_of_ada(url):
    client = httpx2.Client(base_url=url, timeout=10, follow_redirects=False)
    sign_in(client)
    return client


def wait_for(acknowledged, count, *, patience_s=60):
    deadline = time.monotonic() + patience_s
    while len(acknowledged) < count and time.monotonic() < deadline:
        time.sleep(0.005)


def submit(client, place, acknowledged):
    page = client.get(f"/review/contexts/{place.id}")
    if "You have submitted your review" in page.text:
        return True
    seen = re.search(r'name="seen" value="(\d+)"', page.text)
    if seen is None:
        return False
    words = FIELDS | {"recipient.type": f"Clerk {place.position}"}
    answer = client.post(
        f"/review/contexts/{place.id}", data={"csrf": form_token(page.text), "seen": seen[1], "act": "submit", **words}
    )
    if answer.status_code == 303 and "did=submit" in answer.headers["location"]:
        acknowledged.append(place.id)
        return True
    return False


def test_no_acknowledged_action_is_lost(tmp_path):
    path = str(tmp_path / "casewise.db")
    store = database.open(path)
    here = room(store, count=25)
    acknowledged: list[str] = []
    at_kill: list[int] = []
    places, stop, chance = here.places(), threading.Event(), random.Random(7)
    with running_server(path, tmp_path / "log") as server:
        clients = [browser_of_ada(server.url) for _ in range(4)]
        workers = [
            threading.Thread(target=submit_all, args=(client, places[n::4], acknowledged, stop))
            for n, client in enumerate(clients)
        ]
        for worker in workers:
            worker.start()
        for kill in range(5):
            wait_for(acknowledged, 8 * kill + 4)
            time.sleep(chance.uniform(0, 0.05))
            at_kill.append(len(acknowledged))
            server.kill()
            server.start()
        for worker in workers:
            worker.join(timeout=120)
        stop.set()

    with store.read() as connection:
        submitted = {
            place.id: [event for event in events_of(connection, place.id) if event.act == Act.SUBMIT]
            for place in places
        }
    store.close()
    assert 0 < at_kill[-1] < len(places), "the server was not killed in the middle of the load"
    assert all(len(submitted[place_id]) == 1 for place_id in acknowledged)
    assert all(len(events) == 1 for events in submitted.values())
