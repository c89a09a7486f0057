"""What `casewise study rehearse` does once its options are read."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from casewise import database as databases
from casewise.cli.printing import print_json
from casewise.cli.study.printing import print_overview
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
    """The options."""

    annotators: int
    careless: float
    dropout: float
    at_once: int
    lease_s: float
    until_full: bool
    seed: int


def rehearse_study(
    study: Path, wanted: RehearsalOptions, *, url: str | None, database: str | None, as_json: bool
) -> None:
    """Rehearse and print the table that it ends with."""
    plan = rehearsal_of(read_plan(study), lease_s=wanted.lease_s, stamp=f"{datetime.now(UTC):%Y%m%d-%H%M%S}")
    with server(url, database) as settings:
        store = databases.open(settings.database)
        try:
            done = asyncio.run(run(store, settings, plan, wanted))
        finally:
            store.close()
    say(done, as_json=as_json)


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


def say(done: Rehearsed, *, as_json: bool) -> None:
    result = done.result
    speed = {
        "steps": len(result.latencies_s),
        "steps_per_s": round(result.steps_per_s, 1),
        "p50_ms": round(result.percentile_ms(50), 1),
        "p99_ms": round(result.percentile_ms(99), 1),
    }
    if as_json:
        print_json({**asdict(done.overview), "exact": done.overview.exact, "people": done.people, **speed})
        return
    print_overview(done.overview)
    typer.echo(
        f"{done.people:,} simulated people: " + ", ".join(f"{n} {what}" for what, n in sorted(result.outcomes.items()))
    )
    typer.echo(
        f"{speed['steps']:,} full steps (answer and next page), {speed['steps_per_s']} a second; "
        f"median {speed['p50_ms']} ms, p99 {speed['p99_ms']} ms"
    )
    if not isnan(result.slowdown):
        typer.echo(f"the last thousand steps took {result.slowdown:.2f} times as long as the first")
