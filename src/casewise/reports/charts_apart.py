"""Charts drawn by a process of their own, whose renderer starts while the numbers are still worked out.

Starting the renderer takes half a second and holds the interpreter's lock, so a thread gains nothing. The other process
runs this file, and nothing else of casewise: it reads a specification a line and writes its SVG, in JSON, until its
standard input ends, as it does however this process ends.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from functools import cache

FIRST = '{"$schema":"https://vega.github.io/schema/vega-lite/v6.json","data":{"values":[]},"mark":"circle"}'
"""Drawn for nobody: the first chart starts the renderer."""

RUNNING: list[subprocess.Popen[bytes]] = []
AHEAD: dict[str, Future[str | None]] = {}
"""Specifications handed over by `ahead`, until they are asked for."""

HANDING_OVER = ContextVar("whether charts are handed over, and not waited for", default=False)


@cache
def waiting() -> ThreadPoolExecutor:
    """One thread that waits for the other process, a chart at a time."""
    return ThreadPoolExecutor(1)


def draw_apart() -> None:
    """Have this process's charts drawn by another one from now on; by itself where no other can be started."""
    if RUNNING or not sys.executable:
        return
    command = [sys.executable, "-P", __file__]  # what lies in the folder of a user is not imported
    try:  # a group of its own: a Ctrl-C is this process's to answer
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
    except OSError:
        return
    RUNNING.append(process)
    atexit.register(stop)


def stop() -> None:
    """End the other process."""
    while RUNNING:
        with suppress(OSError), RUNNING.pop() as process:  # closing a pipe that nobody reads is an error
            process.kill()


def ahead(charts: Iterable[object]) -> None:
    """Hand over the charts that going through `charts` draws; without another process nothing is gone through."""
    if RUNNING:
        token = HANDING_OVER.set(True)
        try:
            deque(charts, maxlen=0)
        finally:
            HANDING_OVER.reset(token)


def drawn(spec: str) -> str:
    """A specification, JSON in a line, as standalone SVG. What the other process cannot draw is drawn, or fails, here."""
    if not RUNNING:
        return drawn_here(spec)
    if HANDING_OVER.get():
        AHEAD[spec] = waiting().submit(asked, spec)
        return ""
    found = AHEAD.pop(spec, None) or waiting().submit(asked, spec)
    return found.result() or drawn_here(spec)


def asked(spec: str) -> str | None:
    """What the other process makes of it; None where it cannot, or is no more."""
    process = RUNNING[0] if RUNNING else None
    if process is None or process.stdin is None or process.stdout is None:
        return None
    try:
        process.stdin.write(spec.encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        line = b""
    if not line.endswith(b"\n"):
        stop()
        return None
    found: str | None = json.loads(line)
    return found


def drawn_here(spec: str) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg


def draw_for_another() -> None:
    """The other process."""
    drawn_here(FIRST)
    for spec in sys.stdin:
        try:
            found = drawn_here(spec)
        except ValueError:
            found = None
        try:
            print(json.dumps(found), flush=True)
        except BrokenPipeError:
            os._exit(0)  # who asked is no more, and nothing is left to flush


if __name__ == "__main__":
    draw_for_another()
