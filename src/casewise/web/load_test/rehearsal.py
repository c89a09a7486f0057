"""A study rehearsed: simulated people sent through the real pages, on a server of its own where there is none yet."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from casewise import database as databases
from casewise.settings import Settings, from_environment
from casewise.studies.running.plan import StudyPlan, open_plan, read_plan, rehearsal_of
from casewise.studies.running.privacy import derived_key
from casewise.studies.running.rounds import Round, load_round
from casewise.web.load_test.clients import Crowd, RehearsalPlan
from casewise.web.load_test.waves import Rehearsed, arrivals, rehearse_to_the_end
from casewise.web.local import free_port, serving

if TYPE_CHECKING:
    from casewise.database import Database

__all__ = ["RehearsalOptions", "rehearse_study"]

SPARE = 4
"""People drawn for each one asked for: voids and leavers are replaced."""


@dataclass(frozen=True)
class RehearsalOptions:
    """How many people are sent, and how they behave."""

    annotators: int = 100
    careless: float = 0.1
    dropout: float = 0.15
    """Shares of them who press at random, and who leave in the middle."""
    at_once: int = 16
    """How many are on the pages at once."""
    lease_s: float = 15.0
    """Seconds until the slots of those who left re-open."""
    until_full: bool = True
    """Send more people until every item has its ratings."""
    seed: int = 1


def rehearse_study(
    study: str | Path,
    wanted: RehearsalOptions = RehearsalOptions(),
    *,
    url: str | None = None,
    database: str | None = None,
) -> Rehearsed:
    """Send simulated people through the real pages. Nothing of it counts in the study.

    `study`: the study's TOML file.
    `url`: where the app answers on the same database; without it one is started.
    """
    plan = rehearsal_of(read_plan(Path(study)), lease_s=wanted.lease_s, stamp=f"{datetime.now(UTC):%Y%m%d-%H%M%S}")
    with server(url, database) as settings, databases.open(settings.database) as store:
        return asyncio.run(run(store, settings, plan, wanted))


@contextmanager
def server(url: str | None, database: str | None) -> Iterator[Settings]:
    if url is not None:
        yield from_environment(database=database, site_url=url)
        return
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="casewise-rehearsal-") as folder:
        settings = from_environment(
            database=database or str(Path(folder) / "rehearsal.db"), site_url=f"http://127.0.0.1:{port}"
        )
        with serving(settings, port=port):
            yield settings


async def run(store: Database, settings: Settings, plan: StudyPlan, wanted: RehearsalOptions) -> Rehearsed:
    with store.write() as connection:
        study_id = open_plan(connection, plan, phase="rehearsal", now=datetime.now(UTC))
        found = load_round(connection, study_id)
    assert found is not None
    people = RehearsalPlan(
        url=f"{settings.site_url}/study/{study_id}",
        annotators=wanted.annotators,
        careless=wanted.careless,
        dropout=wanted.dropout,
        at_once=wanted.at_once,
        seed=wanted.seed,
    )
    crowd = Crowd(plan.material, plan.wording, plan=people, people=most_people(wanted, found, plan))
    key = derived_key(settings.secret_key, f"invitations {study_id}")
    arrival = arrivals(found, invitation_key=key)
    return await rehearse_to_the_end(store, found, people, crowd, arrival=arrival, until_full=wanted.until_full)


def most_people(wanted: RehearsalOptions, study: Round, plan: StudyPlan) -> int:
    needed = len(plan.material.items) * study.design.ratings.per_item // study.design.ratings.per_annotator + 1
    return SPARE * max(wanted.annotators, needed)
