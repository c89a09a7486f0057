"""A Ray cluster of two nodes on this machine, in a process of its own: its parts can be killed as machines die.

python ray_cluster.py    # prints its address; then `copy`, `node` or `nodes` on standard input kill or add, each answered
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TwoNodes:
    """A running cluster."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._answer()

    def kill_copy(self) -> str:
        """Kill a process that holds a copy of a model; how many there were."""
        return self._tell("copy")

    def kill_node(self) -> str:
        """Kill all of the second node at once."""
        return self._tell("node")

    def two_again(self) -> str:
        """Start a second node where it was killed."""
        return self._tell("nodes")

    def _tell(self, word: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("cluster: "):
                return line.removeprefix("cluster: ").strip()
        raise RuntimeError("the cluster ended")


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield TwoNodes(process)
    finally:
        process.communicate(timeout=120)


def copies() -> list[Any]:
    import psutil

    every = psutil.Process().children(recursive=True)
    return [one for one in every if "ray::ModelCopy" in " ".join(one.cmdline())]


def main() -> None:
    import os

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    about: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 128 * 1024**2, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=about)
    second = cluster.add_node(num_cpus=1, object_store_memory=128 * 1024**2)
    cluster.wait_for_nodes()
    print(f"cluster: {cluster.address}", flush=True)
    for line in sys.stdin:
        word = line.strip()
        if word == "copy":
            found = copies()
            found[0].kill()
            said = str(len(found))
        elif word == "node":
            cluster.remove_node(second, allow_graceful=False)
            said = "1 node"
        else:
            if second not in cluster.list_all_nodes():
                second = cluster.add_node(num_cpus=1, object_store_memory=128 * 1024**2)
                cluster.wait_for_nodes()
            said = "2 nodes"
        print(f"cluster: {said}", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
