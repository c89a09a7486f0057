"""OpenRouter's batches: requests inline, in OpenAI's words, and results inline too."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from casewise.models.batch.interface import HandedJob, Landed, SeenBatch
from casewise.models.batch.openai_shape import OpenAIShape, landed, moment
from casewise.models.batch.unmarked import found_by_names

__all__ = ["OpenRouterBatches"]


class OpenRouterBatches(OpenAIShape):
    """`POST /api/v1/batches`. No mark is documented, so a lost batch is found by its requests' names."""

    uploads = False

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (the batch says the path)
        return json.dumps({"custom_id": name, "body": body}).encode()

    async def upload(self, job: HandedJob, lines: Sequence[bytes]) -> str | None:  # noqa: ARG002  (they go inline)
        return None

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:
        # The body is read as a stream: endpoint and model have to stand before the requests.
        head = json.dumps({"endpoint": f"/v1/{job.path}", "model": job.model})[:-1].encode()
        return self.seen(await self.wire.post("batches", head + b', "requests": [' + b",".join(lines) + b"]}"))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        async def listed() -> AsyncIterator[tuple[SeenBatch, int, Any]]:
            for one in (await self.wire.get("batches")).get("data") or ():
                size = (one.get("request_counts") or {}).get("total")
                yield self.seen(one), len(job.names) if size is None else size, moment(one.get("created_at"))

        return await found_by_names(job, listed(), self.results)

    def seen(self, batch: Mapping[str, Any]) -> SeenBatch:
        return super().seen(inner(batch))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        for line in inner(await self.wire.get(f"batches/{batch}")).get("results") or ():
            yield landed(line)


def inner(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of a batch, which may stand under `data`."""
    found = batch.get("data")
    return found if isinstance(found, Mapping) else batch
