"""What deciding costs beside the judge: in Python, as a service beside the same stack's empty endpoint, over a slow model, and bands.

    python -m benchmarks.deciding [--quick]

Ratios are of two measurements in one run, the better of three each.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import aiohttp
import uvicorn
from aiohttp import web
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

import casewise
from casewise.api.deciding import Decider, FitOptions, Requirements, fit_decider
from casewise.deciding.monitor import ServiceOptions
from casewise.models.client import ClientOptions
from casewise.models.load import ModelOptions
from casewise.web.app import free_port
from casewise.web.deciding import create_service

QUICK = "--quick" in sys.argv
CONTEXT = {"recipient": {"type": "a nurse", "background": "on a ward for poisonings"}}
BODY = {"query": "Which dose is dangerous?", "context": CONTEXT}
Found = tuple[float, list[float]]
MODEL_S = 0.05
CONNECTIONS = 100


def nothing(_query: str, _context: object) -> float:
    return 0.9


async def nothing_async(_query: str, _context: object) -> float:
    return 0.9


def decider_of(judge: Callable[..., object], folder: Path) -> Decider:
    run = casewise.judge("demo", judge, elicitations="probability")
    path = folder / f"{judge.__name__}.json"
    options = FitOptions(elicitation="probability")
    fit_decider(run, Requirements(ratio=1), judge=judge, options=options).save(path)
    return Decider.load(path, judge=judge)


def in_python(folder: Path) -> None:
    decider, n = decider_of(nothing, folder), 2_000 if QUICK else 20_000
    decider.decide("Which dose?", CONTEXT)

    def each_us(work: Callable[[], object]) -> float:
        began = time.process_time()
        for _ in range(n):
            work()
        return 1e6 * (time.process_time() - began) / n

    decided = min(each_us(lambda: decider.decide("Which dose?", CONTEXT)) for _ in range(3))
    judged = min(each_us(lambda: nothing("Which dose?", CONTEXT)) for _ in range(3))
    print(
        f"| `Decider.decide` beyond the judge | {decided - judged:.0f} µs of processor time | under 50 µs |", flush=True
    )


async def requests_a_second(url: str, body: object, *, connections: int, seconds: float) -> Found:
    took: list[float] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as session:
        end = time.perf_counter() + seconds

        async def one() -> None:
            while (began := time.perf_counter()) < end:
                async with session.post(url, json=body) as answer:
                    await answer.read()
                took.append(time.perf_counter() - began)

        await asyncio.gather(*(one() for _ in range(connections)))
    return len(took) / seconds, took


async def serving(app: object, work: Callable[[str], Awaitable[Found]]) -> Found:
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False))  # type: ignore[arg-type]  # any ASGI app
    running = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  (uvicorn says so in no other way)
        await asyncio.sleep(0.01)
    try:
        return await work(f"http://127.0.0.1:{port}")
    finally:
        server.should_exit = True
        await running


def on_uvicorns_loop(work: Coroutine[object, object, Found]) -> Found:
    """`work` on the loop that uvicorn takes: uvloop's where it is installed."""
    with asyncio.Runner(loop_factory=uvicorn.Config(lambda: None).get_loop_factory()) as runner:
        return runner.run(work)


def empty_app() -> FastAPI:
    app = FastAPI()

    @app.post("/v1/decide")
    async def empty(request: Request) -> Response:
        await request.json()
        return JSONResponse({"decision": "answer"})

    return app


def as_a_service(folder: Path) -> None:
    seconds = 1.0 if QUICK else 5.0

    async def load(url: str) -> Found:
        return await requests_a_second(f"{url}/v1/decide", BODY, connections=16, seconds=seconds)

    async def half_load(url: str) -> Found:
        return await requests_a_second(f"{url}/v1/decide", BODY, connections=1, seconds=seconds)

    def best(make: Callable[[], object], work: Callable[[str], Awaitable[Found]]) -> Found:
        return max((on_uvicorns_loop(serving(make(), work)) for _ in range(3)), key=lambda found: found[0])

    def service() -> FastAPI:
        return create_service(decider_of(nothing_async, folder), ServiceOptions())

    empty, ours = best(empty_app, load)[0], best(service, load)[0]
    print(
        f"| service, a judge that costs nothing, of the same stack's empty endpoint | {ours / empty:.2f} ({ours:.0f} of {empty:.0f} requests/s) | at least 0.5 |",
        flush=True,
    )
    idle, busy = (quantiles(best(make, half_load)[1], n=100)[98] for make in (empty_app, service))
    print(
        f"| p99 beyond the empty endpoint's, one connection | {1e3 * (busy - idle):.1f} ms | under 10 ms |", flush=True
    )


def slow_model(port: int) -> None:
    """A chat-completions server that takes 50 ms. Runs in a process of its own."""
    reply = {
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "safe"}, "finish_reason": "stop"}],
    }

    async def answer(_request: web.Request) -> web.Response:
        await asyncio.sleep(MODEL_S)
        return web.json_response(reply)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None, backlog=512)


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def asking(url: str, body: object, seconds: float) -> float:
    """Requests a second of 100 connections. Runs in a process of its own."""
    return asyncio.run(requests_a_second(url, body, connections=CONNECTIONS, seconds=seconds))[0]


def over_a_model(folder: Path) -> None:
    """A model that takes 50 ms, asked by 100 connections: through the service, and by aiohttp alone; each in its own process."""
    seconds, port = 2.0 if QUICK else 5.0, free_port()
    processes = get_context("spawn")
    server = processes.Process(target=slow_model, args=(port,), daemon=True)
    server.start()
    while not listens(port):
        time.sleep(0.1)
    url = f"http://127.0.0.1:{port}/v1"
    with ProcessPoolExecutor(1, mp_context=processes) as client:
        model = ModelOptions(url, client=ClientOptions(concurrency=256))
        live = casewise.LiveOptions(model=model)
        run = casewise.judge("demo", "guard:llm@vllm/m", elicitations="binary", options=casewise.RunOptions(live=live))
        path = folder / "model.json"
        fit_decider(run, Requirements(ratio=1)).save(path)
        told = {"model": "m", "messages": []}
        took: list[float] = []

        async def through(at: str) -> Found:
            loop, found = asyncio.get_running_loop(), 0.0
            for length in (1.0, seconds):  # the first warms up
                began = time.process_time()
                found = await loop.run_in_executor(client, asking, f"{at}/v1/decide", BODY, length)
                took.append(1e3 * (time.process_time() - began) / max(found * length, 1))
            return found, []

        def both() -> tuple[float, float]:
            bare = client.submit(asking, f"{url}/chat/completions", told, seconds).result()
            service = create_service(Decider.load(path, model=model), ServiceOptions())
            return bare, on_uvicorns_loop(serving(service, through))[0]

        bare, ours = max((both() for _ in range(1 if QUICK else 3)), key=lambda pair: pair[1] / pair[0])
    server.terminate()
    print(
        f"| service over a model at 50 ms, 100 connections, of a bare aiohttp loop; model, service and client each in a process | "
        f"{ours / bare:.2f} ({ours:.0f} of {bare:.0f} requests/s; {min(took[1::2]):.2f} ms of the service's processor time each) | at least 0.7 |",
        flush=True,
    )


def main() -> None:
    print("| what | measured | wanted |\n|---|---|---|", flush=True)
    with TemporaryDirectory() as folder:
        in_python(Path(folder))
        as_a_service(Path(folder))
        over_a_model(Path(folder))


if __name__ == "__main__":
    main()
