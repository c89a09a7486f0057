"""How fast people can rate: full steps (an answer and the next page) against a one-insert endpoint on the same stack.

    python benchmarks/study.py                 a few thousand steps on SQLite and on PostgreSQL
    python benchmarks/study.py --full          the paper's design, 47,250 ratings, on both, to the end
    python benchmarks/study.py --peers         a few thousand steps on SQLite; then Potato and Label Studio

16 clients in one process, the server in another (PostgreSQL: two workers), all on this machine. Prints a table with
each rate as a ratio to its floor, and for a full run the time of the last thousand steps against the first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.study_peers import Bounds, report_peers
from tests.support.postgres import free_port, running_postgres
from tests.support.study import design, material

from casewise import database
from casewise.studies.design.wording import read_wording
from casewise.studies.running.owner import Overview
from casewise.studies.running.rounds import NewRound, load_round, open_round
from casewise.web.load_test.clients import Crowd, RehearsalPlan
from casewise.web.load_test.waves import arrivals, rehearse_to_the_end

CLIENTS = 16
FLOOR_REQUESTS = 4000
PAPER = ["no_context", "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised"]

FLOOR = """
import os
from fastapi import FastAPI, Request
from sqlalchemy import Column, Integer, MetaData, String, Table, insert
from casewise.database import Database
store = Database(os.environ["FLOOR_DATABASE"])
rows = Table("floor_rows", MetaData(), Column("id", Integer, primary_key=True), Column("text", String(200)))
app = FastAPI()
@app.post("/")
async def add(request: Request):
    form = await request.form()
    return await in_thread(str(form["text"]))
from starlette.concurrency import run_in_threadpool
def write(text):
    with store.write() as connection:
        connection.execute(insert(rows).values(text=text))
    return {"kept": True}
async def in_thread(text):
    return await run_in_threadpool(write, text)
"""


@dataclass(frozen=True)
class Measured:
    """One database: its line of the table, the full steps a second, and the round at its end."""

    row: list[str]
    steps_per_s: float
    seen: Overview


@contextmanager
def served(target: str, *, workers: int, environment: dict[str, str], folder: Path) -> Iterator[str]:
    """`target` under uvicorn, in processes of their own; its address."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", target, "--port", str(port), "--workers", str(workers)]
    command += ["--log-level", "warning", "--no-access-log"] + (["--factory"] if "serving" in target else [])
    process = subprocess.Popen(command, env={**os.environ, **environment}, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/sign-in", timeout=2)
            break
        except urllib.error.HTTPError:
            break
        except OSError:
            time.sleep(0.1)
    try:
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


async def floor_rate(address: str) -> float:
    """Requests a second to the endpoint that inserts one row."""
    left = FLOOR_REQUESTS

    async def client(session: aiohttp.ClientSession) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            async with session.post(address, data={"text": "x" * 100}) as response:
                await response.read()

    async with aiohttp.ClientSession() as session:
        start = time.perf_counter()
        await asyncio.gather(*(client(session) for _ in range(CLIENTS)))
        return FLOOR_REQUESTS / (time.perf_counter() - start)


def measure(name: str, url: str, *, workers: int, full: bool, folder: Path) -> Measured:
    store = database.open(url)
    with store.write() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE floor_rows (id SERIAL PRIMARY KEY, text VARCHAR(200))".replace(
                "SERIAL", "INTEGER" if store.is_sqlite else "SERIAL"
            )
        )
    (folder / "floor_app.py").write_text(FLOOR)
    with served("floor_app:app", workers=workers, environment={"FLOOR_DATABASE": url}, folder=folder) as address:
        floor = asyncio.run(floor_rate(address))

    queries, per_item = (450, 21) if full else (45, 21)
    plan = design(
        conditions=PAPER,
        ratings={"per_item": per_item, "per_annotator": 25, "lease_minutes": 0.25},
        attention={"checks_per_batch": 2},
    )
    shown = material(plan, queries=queries)
    with store.write() as connection:
        study_id = open_round(
            connection, NewRound(plan, "rehearsal", read_wording(plan, Path()), shown), now=datetime.now(UTC)
        )
        study = load_round(connection, study_id)
    assert study is not None
    key = secrets.token_urlsafe(48)
    environment = {"CASEWISE_DATABASE": url, "CASEWISE_SECRET_KEY": key}
    with served("casewise.web.app:app", workers=workers, environment=environment, folder=folder) as address:
        people = len(shown.items) * per_item // 25 + len(PAPER)  # each condition may end with a short batch
        rehearsal = RehearsalPlan(
            url=f"{address}/study/{study_id}",
            annotators=people,
            careless=0.0,
            dropout=0.05 if full else 0.0,
            skip=0.01 if full else 0.0,
            at_once=CLIENTS,
        )
        crowd = Crowd(shown, study.wording, plan=rehearsal, people=3 * people)
        done = asyncio.run(
            rehearse_to_the_end(
                store, study, rehearsal, crowd, arrival=arrivals(study, invitation_key=b""), until_full=full
            )
        )
    store.close()
    times = np.array(done.result.latencies_s)
    slower = np.median(times[-1000:]) / np.median(times[:1000])
    rate = done.result.steps_per_s
    row = [name, f"{floor:.0f}", f"{rate:.0f}", f"{rate / floor:.2f}", f"{done.result.percentile_ms(50):.0f}"]
    row += [f"{done.result.percentile_ms(99):.0f}", f"{len(times):,}", f"{slower:.2f}"]
    return Measured(row, rate, done.overview)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the paper's whole design")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--peers", action="store_true", help="on SQLite, and Potato and Label Studio after it")
    options = parser.parse_args()
    print("| database | one insert/s | full steps/s | ratio | p50 ms | p99 ms | steps | last/first 1000 |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        if options.peers or options.only != "postgresql":
            url = str(Path(folder) / "study.db")
            ours = measure("SQLite, 1 process", url, workers=1, full=options.full, folder=Path(folder))
            report(ours)
        if options.peers:
            report_peers(Bounds(clients=CLIENTS), ours=ours.steps_per_s)
        elif options.only != "sqlite":
            with running_postgres() as url:
                report(measure("PostgreSQL, 2 processes", url, workers=2, full=options.full, folder=Path(folder)))


def report(measured: Measured) -> None:
    print(f"| {' | '.join(measured.row)} |", flush=True)
    counts = ", ".join(f"{one.condition} {one.valid}/{one.promised}" for one in measured.seen.conditions)
    print(f"  exact: {measured.seen.exact}; {counts}", file=sys.stderr)


if __name__ == "__main__":
    main()
