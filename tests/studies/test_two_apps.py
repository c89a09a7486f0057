"""Two apps behind one proxy over one PostgreSQL, as in `deploy/`: restarted one after the other under 30 clients, nothing is lost.

Where there is no engine for containers, processes stand in for the apps and the proxy below for Caddy: it goes to the other app where
one does not answer, and answers 502 where the line broke after the request was sent.
"""

import asyncio
import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.studies.test_killed_server import assert_all_there
from tests.support.postgres import free_port
from tests.support.server import Server
from tests.support.study import design, material, opened

from casewise import database
from casewise.studies.owner import overview
from casewise.studies.rounds import RehearsalOptions
from casewise.web.load_test import Crowd, RehearsalPlan, rehearse

CLIENTS, PEOPLE, ROUNDS = 30, 200, 4


class Proxy:
    """Passes each connection on to one of the apps in turn; `failed` counts those that broke after the request was sent."""

    def __init__(self, ports: list[int]) -> None:
        self.ports, self.port, self.turn, self.failed = ports, free_port(), 0, 0
        ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.main(ready)), daemon=True)
        self.thread.start()
        ready.wait(10)

    async def main(self, ready: threading.Event) -> None:
        self.loop, self.over = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self.serve, "127.0.0.1", self.port):
            ready.set()
            await self.over.wait()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await self.message(reader):
                writer.write(await self.answered(request))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def message(self, reader: asyncio.StreamReader) -> bytes:
        """A head and its body; empty where the line is closed."""
        head = b""
        with contextlib.suppress(asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        return head + await reader.readexactly(int(fields.get(b"content-length", b"0"))) if head else b""

    async def answered(self, request: bytes) -> bytes:
        self.turn += 1
        for attempt in range(200):
            try:
                back, out = await asyncio.open_connection(
                    "127.0.0.1", self.ports[(self.turn + attempt) % len(self.ports)]
                )
            except OSError:
                await asyncio.sleep(0.05 * (attempt % 2))
                continue
            try:
                out.write(request)
                await out.drain()
                if answer := await self.message(back):
                    return answer
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                out.close()
            break
        self.failed += 1
        return b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join(10)


@pytest.mark.slow
@pytest.mark.postgres
def test_a_rolling_restart_of_two_apps_under_thirty_clients_loses_nothing(postgres_copy, tmp_path):
    with database.open(postgres_copy) as store:
        plan = design(ratings={"per_item": 20, "per_annotator": 20}, attention={"checks_per_batch": 2})
        shown = material(plan, queries=80)
        study = opened(store, plan, queries=80, phase="rehearsal")
        apps = [Server(postgres_copy, tmp_path / f"log{number}") for number in (1, 2)]
        for app in apps:
            app.start()
        proxy = Proxy([app.port for app in apps])
        people = RehearsalPlan(
            url=f"http://127.0.0.1:{proxy.port}/study/{study.id}",
            options=RehearsalOptions(annotators=PEOPLE, careless=0, dropout=0.1, at_once=CLIENTS, seed=4),
            think_s=0.3,
        )
        crowd = Crowd(shown, study.wording, plan=people, people=PEOPLE)
        restarts = 0
        with ThreadPoolExecutor(1) as thread:
            load = thread.submit(asyncio.run, rehearse(people, crowd, arrival=lambda n: {"participant": f"p{n}"}))
            for _ in range(ROUNDS):
                for app in apps:  # the other one answers meanwhile
                    time.sleep(1.5)
                    app.stop()
                    app.start()
                    restarts += not load.done()
            result = load.result()
        proxy.stop()
        for app in apps:
            app.stop()
        assert restarts >= len(apps)
        assert_all_there(store, study, shown, result)
        with study.read(store) as live:
            assert max(c.valid for c in overview(live).conditions) <= 1600
