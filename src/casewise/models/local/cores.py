"""Batches beside each other on a processor: a thread each, instead of all threads at every product of one batch."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

__all__ = ["one_thread_each"]

STARTING = threading.Lock()


def one_thread_each() -> ThreadPoolExecutor:
    """As many threads as torch uses for one product, of which each does its products alone.

    Threads that share a small product wait for each other at its end; on a busy machine that takes most of the time.
    """
    with STARTING:
        return started()


@cache
def started() -> ThreadPoolExecutor:
    import torch

    n = torch.get_num_threads()
    all_there = threading.Barrier(n)
    pool = ThreadPoolExecutor(n, "casewise-torch", initializer=alone)
    for waited in [pool.submit(all_there.wait) for _ in range(n)]:
        waited.result()
    torch.set_num_threads(n)
    return pool


def alone() -> None:
    """Let this thread do its products alone.

    torch sets this for the thread that asks and for those to come, and a thread takes its own from there when it first looks:
    so it has to look before it is told.
    """
    import torch

    torch.get_num_threads()
    torch.set_num_threads(1)
