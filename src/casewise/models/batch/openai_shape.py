"""Files of JSON lines and `/v1/batches`, as OpenAI made them; and the three who changed a word of it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from casewise.models.batch.interface import (
    BatchInterface,
    HandedJob,
    Landed,
    SeenBatch,
    State,
    found_by_names,
    landed_by,
)

__all__ = ["MistralShape", "OpenAIShape", "OpenRouterBatches", "TogetherShape", "count", "landed", "moment", "said_of"]

MARK = "casewise"
"""The key of our mark in a batch's metadata."""

PAGES = 20
"""Pages of a listing that are read at most, of a hundred batches each, the newest first."""


class OpenAIShape(BatchInterface):
    """OpenAI, Azure, Groq, and whatever speaks as they do."""

    uploads = True
    batches = "batches"
    upload_to = "files"
    purpose = "batch"
    states: ClassVar[Mapping[str, State]] = {
        "completed": "completed",
        "expired": "expired",
        "cancelled": "cancelled",
        "failed": "failed",
    }

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        return json.dumps({"custom_id": name, "method": "POST", "url": f"/v1/{path}", "body": body}).encode()

    async def upload(self, job: HandedJob, lines: Sequence[bytes]) -> str | None:
        file = f"casewise-{job.mark}.jsonl"
        answer = await self.wire.upload(
            self.upload_to,
            name=file,
            content=b"\n".join(lines) + b"\n",
            fields={"purpose": self.purpose, "file_name": file},
        )
        return str(answer["id"])

    async def create(self, job: HandedJob, _lines: Sequence[bytes]) -> SeenBatch:
        return self.seen(await self.wire.post(self.batches, self.creation(job)))

    def creation(self, job: HandedJob) -> dict[str, Any]:
        """What begins a batch."""
        return {
            "input_file_id": job.file,
            "endpoint": f"/v1/{job.path}",
            "completion_window": "24h",
            "metadata": {MARK: job.mark},
        }

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        if job.file is None:
            return None
        after = ""
        for _ in range(PAGES):
            listed = await self.wire.get(f"{self.batches}?limit=100{after}")
            page = listed.get("data") or []
            for one in page:
                if (one.get("metadata") or {}).get(MARK) == job.mark or job.file in self.files_of(one):
                    return self.seen(one)
            if not page or not listed.get("has_more"):
                return None
            after = f"&after={page[-1]['id']}"
        return None

    def files_of(self, batch: Mapping[str, Any]) -> Sequence[str]:
        """The files that a batch was made of."""
        return (str(batch.get("input_file_id")),)

    async def look(self, batch: str) -> SeenBatch:
        return self.seen(await self.wire.get(f"{self.batches}/{batch}"))

    def seen(self, batch: Mapping[str, Any]) -> SeenBatch:
        """How a batch stands, by what the provider says of it."""
        batch = batch.get("job") or batch
        counts = batch.get("request_counts") or {}
        return SeenBatch(
            str(batch["id"]),
            self.states.get(str(batch.get("status")).lower(), "waiting"),
            moment(batch.get("expires_at")),
            said_of(batch.get("errors") or batch.get("error")),
            count(counts.get("completed")),
        )

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        payload = await self.wire.get(f"{self.batches}/{batch}")
        for file in self.outputs_of(payload.get("job") or payload):
            async for line in self.wire.lines(f"files/{file}/content"):
                yield landed_by(landed, line)

    def outputs_of(self, batch: Mapping[str, Any]) -> list[str]:
        """The files that hold what came of a batch."""
        return [str(batch[key]) for key in ("output_file_id", "error_file_id") if batch.get(key)]


class TogetherShape(OpenAIShape):
    """Together: the same but for the upload, and no metadata: a lost batch is found by its file."""

    upload_to = "files/upload"
    purpose = "batch-api"

    def creation(self, job: HandedJob) -> dict[str, Any]:
        return {name: value for name, value in super().creation(job).items() if name != "metadata"}


class MistralShape(OpenAIShape):
    """Mistral: jobs of files, and states in words of its own."""

    batches = "batch/jobs"
    states: ClassVar[Mapping[str, State]] = {
        "success": "completed",
        "timeout_exceeded": "expired",
        "cancelled": "cancelled",
        "failed": "failed",
    }

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (the job says the path)
        return json.dumps({"custom_id": name, "body": body}).encode()

    def creation(self, job: HandedJob) -> dict[str, Any]:
        return {
            "input_files": [job.file],
            "endpoint": f"/v1/{job.path}",
            "model": job.model,
            "timeout_hours": self.terms.hours,
            "metadata": {MARK: job.mark},
        }

    def files_of(self, batch: Mapping[str, Any]) -> Sequence[str]:
        return [str(file) for file in batch.get("input_files") or ()]

    def seen(self, batch: Mapping[str, Any]) -> SeenBatch:
        found = super().seen(batch)
        return SeenBatch(found.id, found.state, None, found.words, count(batch.get("succeeded_requests")))

    def outputs_of(self, batch: Mapping[str, Any]) -> list[str]:
        return [str(batch[key]) for key in ("output_file", "error_file") if batch.get(key)]


def landed(line: Mapping[str, Any]) -> Landed:
    """A line of an output file, or of an error file."""
    answer, error = line.get("response") or {}, line.get("error")
    if error and not answer.get("body"):
        expired = isinstance(error, Mapping) and error.get("code") == "batch_expired"
        return Landed(str(line.get("custom_id")), 408 if expired else answer.get("status_code") or 500, text_of(error))
    return Landed(str(line.get("custom_id")), int(answer.get("status_code") or 200), text_of(answer.get("body")))


def text_of(body: Any) -> str:
    """A body as text: JSON, unless it is text already."""
    return body if isinstance(body, str) else json.dumps(body)


def said_of(errors: Any) -> str:
    """What a provider says of a batch's failure, in words."""
    if not errors:
        return ""
    listed = errors.get("data") if isinstance(errors, Mapping) and "data" in errors else errors
    first = (listed[0] if listed else "") if isinstance(listed, list) else listed
    if isinstance(first, Mapping):
        return " ".join(str(first[key]) for key in ("code", "message") if first.get(key))[:300]
    return str(first)[:300]


def count(value: Any) -> int | None:
    """A count, which some write as text; None where it is none."""
    return int(value) if str(value).isdecimal() else None


def moment(value: Any) -> datetime | None:
    """A time that is written as seconds since 1970 or in ISO's way, there in UTC where it does not say; None where it is none."""
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


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
                size = count((one.get("request_counts") or {}).get("total"))
                made = self.wire.by_our_clock(moment(one.get("created_at")))
                yield self.seen(one), len(job.names) if size is None else size, made

        return await found_by_names(job, listed(), self.results)

    def seen(self, batch: Mapping[str, Any]) -> SeenBatch:
        return super().seen(inner(batch))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        for line in inner(await self.wire.get(f"batches/{batch}")).get("results") or ():
            yield landed_by(landed, line)


def inner(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of a batch, which may stand under `data`."""
    found = batch.get("data")
    return found if isinstance(found, Mapping) else batch
