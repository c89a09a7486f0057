"""How fast people can rate: full steps (an answer and the next page) against a one-insert endpoint on the same stack.

    python benchmarks/study.py                 five rounds of a few thousand steps on SQLite and on PostgreSQL
    python benchmarks/study.py --full          the paper's design, 47,250 ratings, on both, to the end
    python benchmarks/study.py --peers         a few thousand steps on SQLite; then Potato and Label Studio

16 clients in one process, the server in another (PostgreSQL: two workers), all on this machine. On both databases a
commit waits for the disk, as in a real study. Floor and study are
measured in turns, floor first and last: a round's ratio is to the mean of the floors before and after it, and what is
printed are medians over rounds, with the least and the largest ratio. The floor is asked anew over new connections every
500 requests, about as often as people come in the study: which of two workers accepts a connection is chance, and 16 kept
ones were shared as 16 to 0 or 8 to 8 for a whole run. Processor time a step is of the server and its workers, of
PostgreSQL's own processes, and of the clients. A full run also says the time of the last thousand steps against the first.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import aiohttp
import psutil
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.study_peers import Bounds, report_peers
from tests.support.postgres import free_port, running_postgres
from tests.support.study import design, material

from casewise import database
from casewise.database import Database
from casewise.studies.rounds import RehearsalOptions, open_round
from casewise.studies.wording import read_wording
from casewise.web.load_test import Crowd, Rehearsal, RehearsalPlan, arrivals, rehearse_to_the_end

CLIENTS = 16
FLOOR_REQUESTS = 500
FLOOR_GOES = 4
ROUNDS = 5
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
    """One round: the floor around it, its steps, the processor time of each, and how it ended."""

    floor: float
    done: Rehearsal
    cpu_ms: dict[str, float]

    @property
    def steps_per_s(self) -> float:
        return self.done.result.steps_per_s

    @property
    def ratio(self) -> float:
        return self.steps_per_s / self.floor


class Served(NamedTuple):
    """Where a server is, and its process."""

    address: str
    process: int


@contextmanager
def served(target: str, *, workers: int, environment: dict[str, str], folder: Path) -> Iterator[Served]:
    """`target` under uvicorn, in processes of their own."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", target, "--port", str(port), "--workers", str(workers)]
    command += ["--log-level", "warning", "--no-access-log"] + (["--factory"] if target.startswith("casewise") else [])
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
        yield Served(address, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


def floor_rate(address: str) -> float:
    """Requests a second to the endpoint that inserts one row."""
    return FLOOR_GOES * FLOOR_REQUESTS / sum(asyncio.run(floor_seconds(address)) for _ in range(FLOOR_GOES))


async def floor_seconds(address: str) -> float:
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
        return time.perf_counter() - start


def measure(url: str, *, workers: int, rounds: int, full: bool, folder: Path) -> list[Measured]:
    """Rounds with the floor in between."""
    store = database.open(url)
    with store.write() as connection:
        counted = "INTEGER" if store.is_sqlite else "SERIAL"
        connection.exec_driver_sql(f"CREATE TABLE floor_rows (id {counted} PRIMARY KEY, text VARCHAR(200))")
    (folder / "floor_app.py").write_text(FLOOR)
    environment = {"CASEWISE_DATABASE": url, "CASEWISE_SECRET_KEY": secrets.token_urlsafe(48), "FLOOR_DATABASE": url}
    found = []
    with (
        served("floor_app:app", workers=workers, environment=environment, folder=folder) as floor_app,
        served("casewise.web.app:app", workers=workers, environment=environment, folder=folder) as app,
    ):
        floors = [floor_rate(floor_app.address)]
        for number in range(rounds):
            before = clocks(app.process, None if store.is_sqlite else url)
            done = rate_once(store, app.address, name=f"tea-{number}", full=full)
            after = clocks(app.process, None if store.is_sqlite else url)
            cpu = {part: (after[part] - spent) * 1000 / len(done.result.latencies_s) for part, spent in before.items()}
            floors.append(floor_rate(floor_app.address))
            found.append(Measured(fmean(floors[-2:]), done, cpu))
    store.close()
    return found


def rate_once(store: Database, address: str, *, name: str, full: bool) -> Rehearsal:
    """One round of the study, to the end where it is the full one."""
    queries, per_item = (450, 21) if full else (25, 21)
    plan = design(
        name=name,
        conditions=PAPER,
        ratings={"per_item": per_item, "per_annotator": 25, "lease_minutes": 0.25},
        attention={"checks_per_batch": 2},
    )
    shown = material(plan, queries=queries)
    with store.write() as connection:
        texts = read_wording(plan, Path())
        study = open_round(connection, plan, phase="rehearsal", wording=texts, material=shown, now=datetime.now(UTC))
    people = len(shown.items) * per_item // 25 + len(PAPER)  # each condition may end with a short batch
    rehearsal = RehearsalPlan(
        url=f"{address}/study/{study.id}",
        options=RehearsalOptions(
            annotators=people,
            careless=0.0,
            dropout=0.05 if full else 0.0,
            at_once=CLIENTS,
            until_full=full,
        ),
        skip=0.01 if full else 0.0,
    )
    crowd = Crowd(shown, study.wording, plan=rehearsal, people=3 * people)
    return asyncio.run(rehearse_to_the_end(store, study, rehearsal, crowd, arrival=arrivals(study, invitation_key=b"")))


def clocks(server: int, postgres: str | None) -> dict[str, float]:
    """Seconds of processor time until now: the server's, the clients', who are this process, and PostgreSQL's."""
    spent = {"server": cpu_of(server), "clients": time.process_time()}
    return spent if postgres is None else spent | {"PostgreSQL": cpu_of(postgres_of(postgres))}


def cpu_of(process: int) -> float:
    """Seconds of processor time of a process and all that it started."""
    root = psutil.Process(process)
    return sum(sum(one.cpu_times()[:2]) for one in (root, *root.children(recursive=True)))


def postgres_of(url: str) -> int:
    """PostgreSQL's first process."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
    assert row is not None
    return int(row[0].split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the paper's whole design")
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    parser.add_argument("--peers", action="store_true", help="on SQLite, and Potato and Label Studio after it")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of the study, with the floor before and after each")
    parser.add_argument(
        "--no-sync", action="store_true", help="PostgreSQL waits for no disk, as in figures before this option"
    )
    options = parser.parse_args()
    print(
        "| database | one insert/s | full steps/s | ratio (least to largest) | p50 ms | p99 ms | steps | last/first 1000 |"
    )
    print("|---|---|---|---|---|---|---|---|")
    rounds = 1 if options.full else options.rounds
    with tempfile.TemporaryDirectory() as folder:
        if options.peers or options.only != "postgresql":
            url = str(Path(folder) / "study.db")
            ours = measure(url, workers=1, rounds=rounds, full=options.full, folder=Path(folder))
            report("SQLite, 1 process", ours)
        if options.peers:
            report_peers(Bounds(clients=CLIENTS), ours=median(one.steps_per_s for one in ours))
        elif options.only != "sqlite":
            with running_postgres(durable=not options.no_sync) as url:
                theirs = measure(url, workers=2, rounds=rounds, full=options.full, folder=Path(folder))
                report("PostgreSQL, 2 processes", theirs)


def report(name: str, rounds: Sequence[Measured]) -> None:
    results, ratios = [one.done.result for one in rounds], sorted(one.ratio for one in rounds)
    row = [name, f"{median(one.floor for one in rounds):.0f}", f"{median(one.steps_per_s for one in rounds):.0f}"]
    row += [f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"]
    row += [f"{median(one.percentile_ms(percent) for one in results):.0f}" for percent in (50, 99)]
    row += [f"{sum(len(one.latencies_s) for one in results):,}", f"{median(one.slowdown for one in results):.2f}"]
    print(f"| {' | '.join(row)} |", flush=True)
    for one in rounds:
        valid, promised = (
            sum(getattr(arm, part) for arm in one.done.overview.conditions) for part in ("valid", "promised")
        )
        cpu = ", ".join(f"{part} {spent:.2f}" for part, spent in one.cpu_ms.items())
        print(
            f"  exact: {one.done.overview.exact}, {valid}/{promised}; floor {one.floor:.0f}, {one.steps_per_s:.0f} steps/s;"
            f" processor time a step, ms: {cpu}; load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
