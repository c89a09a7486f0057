"""A judge's run over the played batch interfaces, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.batch_server import BatchServer
from tests.support.served import served

from casewise import api

SHAPES = {"openai": "openai/tiny", "anthropic": "anthropic/tiny", "google": "google/tiny"}
"""An interface, and a model that is asked over it."""

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}

QUICK = api.BatchOptions(first_live=False, first_look_s=0.001, longest_look_s=0.001, lost_after_s=0.0)
STAYING = api.BatchOptions(first_live=False, wait=True, first_look_s=0.001, longest_look_s=0.001, lost_after_s=0.0)


@contextmanager
def taking_batches(**settings: Any) -> Iterator[BatchServer]:
    """A server that plays, until the block is left."""
    server = BatchServer(**settings)
    with served(server):
        yield server


def options(server: BatchServer, shape: str, batch: api.BatchOptions | None, **more: Any) -> api.RunOptions:
    """How a run is done at a played interface."""
    client = api.ClientOptions(timeout_s=20, retry=api.RetryPolicy(retries=2, first_wait_s=0.001, longest_wait_s=0.001))
    live = api.LiveOptions(model=api.ModelOptions(server.address(shape), more.pop("prices", None), client))
    return api.RunOptions(live=live, batch=batch, **more)


def judged(
    server: BatchServer, out: Path, shape: str = "openai", *, batch: api.BatchOptions | None = QUICK, **more: Any
) -> api.Run:
    """A session of a run over the demo."""
    return api.judge("demo", SHAPES[shape], out=out, options=options(server, shape, batch, **more))


def lines_of(out: Path) -> list[dict[str, Any]]:
    """A run's judgements."""
    return [json.loads(line) for line in (out / "judgements.jsonl").read_text().splitlines()]


def steps_of(out: Path) -> list[str]:
    """What was noted of a run's jobs, in order."""
    return [json.loads(line)["stage"] for line in (out / "batches.jsonl").read_text().splitlines()]
