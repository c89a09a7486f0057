"""The Ray cluster that copies of a model run in: one that is named, or one of this machine's own."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from casewise.errors import ConfigurationError

__all__ = ["CopyRoom", "connected", "room_for"]

OBJECT_STORE_BYTES = 256 * 1024**2
"""Of a cluster of our own: prompts and answers are small."""


@dataclass(frozen=True)
class CopyRoom:
    """How many copies of a model a cluster is asked to hold, and what each may use."""

    copies: int
    gpus: float
    threads: int


def connected(address: str | None) -> Any:
    """Ray, connected to the cluster at `address`, at `RAY_ADDRESS` of the environment, or else to one started here.

    What is started here ends with this process. Ray's reports of its use to its makers are turned off.

    Raises ConfigurationError: the extra `[ray]` is not installed, or no cluster of this Ray and this Python answers
    there.
    """
    try:
        import ray
    except ImportError as error:
        raise ConfigurationError(f"--engine ray needs Ray: pip install 'casewise[ray,local]' ({error})") from error
    if ray.is_initialized():
        return ray
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES} if where == "local" else {}
    try:
        ray.init(address=where, log_to_driver=False, logging_level="error", **own)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        said = " ".join(str(error).split())
        raise ConfigurationError(f"no Ray cluster to work in at {where}: {said}") from error
    return ray


def room_for(ray: Any, copies: int | None) -> CopyRoom:
    """CopyRoom for `copies`, or for one on each GPU of the cluster, and without any for one on each machine.

    Copies that find no room now wait for it, so that a machine that joins later is used.
    """
    there = ray.cluster_resources()
    gpus = int(there.get("GPU", 0))
    machines = sum(1 for node in ray.nodes() if node["Alive"])
    wanted = copies or gpus or machines
    return CopyRoom(wanted, min(1.0, gpus / wanted), max(1, int(there.get("CPU", 1)) // wanted))
