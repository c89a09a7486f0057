"""Nothing acknowledged is lost: the server is killed again and again in the middle of load."""

import asyncio
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select
from tests.support.server import KEY, Server
from tests.support.study import design, material, opened

from casewise.database.tables import study as tables
from casewise.studies.people import Vault
from casewise.studies.rounds import RehearsalOptions
from casewise.web.load_test import Crowd, RehearsalPlan, key_of, rehearse

KILLS = 20
PEOPLE = 200

VERDICTS = {"respond": "safe", "refuse": "unsafe"}


@pytest.mark.slow
def test_every_acknowledged_rating_is_there_once_after_twenty_kills(store, tmp_path):
    plan = design(ratings={"per_item": 20, "per_annotator": 20}, attention={"checks_per_batch": 2})
    shown = material(plan, queries=100)
    study = opened(store, plan, queries=100, phase="rehearsal")
    server = Server(store.url.render_as_string(hide_password=False), tmp_path / "log")
    server.start()
    people = RehearsalPlan(
        url=f"{server.url}/study/{study.id}",
        options=RehearsalOptions(annotators=PEOPLE, careless=0, dropout=0.1, at_once=32, seed=2),
        think_s=0.2,
    )
    crowd = Crowd(shown, study.wording, plan=people, people=PEOPLE)
    with ThreadPoolExecutor(1) as thread:
        load = thread.submit(asyncio.run, rehearse(people, crowd, arrival=lambda n: {"participant": f"p{n}"}))
        kills = killed_while(load, server, times=KILLS)
        result = load.result()
    server.stop()

    assert kills == KILLS
    assert result.retries > 0
    assert_all_there(store, study, shown, result)


def killed_while(load, server, *, times):
    draw = random.Random(3)
    kills = 0
    while not load.done() and kills < times:
        time.sleep(0.8 + 1.2 * draw.random())
        server.stop(signal.SIGKILL)
        server.start()
        kills += 1
    return kills


def assert_all_there(store, study, shown, result):
    item_of = {key_of(item): item.item_id for item in shown.items}
    with store.read() as connection:
        pages = connection.execute(select(tables.pages).where(tables.pages.c.kind == "item")).all()
        person_of = {row.fingerprint: row.id for row in connection.execute(select(tables.annotators))}
    stored = {(row.annotator_id, row.item_id): row for row in pages}
    vault = Vault(KEY)
    acknowledged = [
        (person_of[vault.fingerprint(study.name, f"p{one.person}")], item_of[one.text], one.decision)
        for one in result.acknowledged
        if one.text in item_of
    ]

    assert len(acknowledged) > 100 * 20
    assert max(Counter((who, item) for who, item, _ in acknowledged).values()) == 1
    for who, item_id, decision in acknowledged:
        row = stored[who, item_id]
        assert row.state == ("skipped" if decision == "skip" else "rated")
        assert row.verdict == VERDICTS.get(decision)
    counts = Counter(row.item_id for row in pages if row.state == "rated")
    assert max(counts.values()) <= study.design.ratings.per_item
