"""Finding a batch again where no mark can be set: by when it was made, how many requests it holds, and what those are called."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Literal

from casewise.models.batch.interface import HandedJob, Landed, SeenBatch, has_ended

__all__ = ["found_by_names"]

CLOCKS_DIFFER = timedelta(minutes=5)


async def found_by_names(
    job: HandedJob,
    listed: AsyncIterator[tuple[SeenBatch, int, datetime | None]],
    results: Callable[[str], AsyncGenerator[Landed, None]],
) -> SeenBatch | Literal["perhaps"] | None:
    """The batch whose requests bear the job's names.

    Names are shown with the results only: a batch that may be it and is not done yet is `perhaps` it. Those of other runs never
    have the run's mark before their names, so that nothing of theirs is taken.

    Parameters
    ----------
    listed
        The account's batches, the newest first, each with how many requests it holds and when it was made.
    results
        What came of a batch's requests.
    """
    perhaps: Literal["perhaps"] | None = None
    async for batch, size, made in listed:
        if made is not None and made < job.at - CLOCKS_DIFFER:
            break
        if batch.id in job.known or size != len(job.names):
            continue
        if not has_ended(batch.state):
            perhaps = "perhaps"
        elif await first_name(results(batch.id)) in job.names:
            return batch
    return perhaps


async def first_name(results: AsyncGenerator[Landed, None]) -> str | None:
    async with aclosing(results) as opened:
        async for one in opened:
            return one.name
    return None
