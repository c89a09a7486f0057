"""Files of JSON lines and `/v1/batches`, as OpenAI, Azure, Groq and many servers have them, and two interfaces close to these."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from casewise.models.batches.interface import (
    BatchInterface,
    BatchResult,
    BatchStatus,
    failure_words,
    optional_count,
    parse_time,
    read_result,
    state_of,
)
from casewise.storage.batch_jobs import BatchJob

MARK = "casewise"
"""The key of our mark in a batch's metadata."""


class OpenAIBatches(BatchInterface):
    """OpenAI, Azure, Groq, and every server that speaks as they do."""

    uploads = True
    next_page, most_pages = ("?limit=100", "after"), 20
    upload_to, purpose = "files", "batch"
    repeats_path = True
    """True if each line states the path."""

    def creation(self, job: BatchJob) -> dict[str, Any]:
        """Return the body that creates a batch."""
        window = {"completion_window": "24h", "metadata": {MARK: job.mark}}
        return {"input_file_id": job.file, "endpoint": f"/v1/{job.intended.path}", **window}

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        where = {"method": "POST", "url": f"/v1/{path}"} if self.repeats_path else {}
        return json.dumps({"custom_id": name, **where, "body": body}).encode()

    async def upload(self, job: BatchJob, lines: Sequence[bytes]) -> str | None:
        file = f"casewise-{job.mark}.jsonl"
        fields = {"purpose": self.purpose, "file_name": file}
        content = b"\n".join(lines) + b"\n"
        return str((await self.wire.upload(self.upload_to, name=file, content=content, fields=fields))["id"])

    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> BatchStatus:  # noqa: ARG002  (they are in the file)
        return self.parse_status(await self.wire.post(self.batches, self.creation(job)))

    async def find(self, job: BatchJob, _others: Collection[str]) -> BatchStatus | Literal["perhaps"] | None:
        if job.file is None:
            return None
        async with aclosing(self.list_records()) as records:
            async for batch in records:
                files = [batch.get("input_file_id"), *(batch.get("input_files") or ())]
                if (batch.get("metadata") or {}).get(MARK) == job.mark or job.file in files:
                    return self.parse_status(batch)
        return None

    def parse_status(self, record: Mapping[str, Any]) -> BatchStatus:
        batch = record.get("job") or record
        counts = batch.get("request_counts") or {}
        return BatchStatus(
            str(batch["id"]),
            state_of(batch.get("status")),
            parse_time(batch.get("expires_at")),
            failure_words(batch.get("errors") or batch.get("error")),
            optional_count(batch.get("succeeded_requests", counts.get("completed"))),
        )

    async def results(self, batch: str) -> AsyncGenerator[BatchResult, None]:
        record = await self.wire.get(f"{self.batches}/{batch}")
        record = record.get("job") or record
        for key in ("output_file_id", "error_file_id", "output_file", "error_file"):
            if file := record.get(key):
                async with aclosing(self.wire.lines(f"files/{file}/content")) as lines:
                    async for line in lines:
                        yield read_result(openai_result, line)


def openai_result(line: Mapping[str, Any]) -> BatchResult:
    """Read a line of an output file, or of an error file."""
    answer, error = line.get("response") or {}, line.get("error")
    name, status, body = str(line.get("custom_id")), answer.get("status_code"), answer.get("body")
    if error and not body:
        expired = isinstance(error, Mapping) and error.get("code") == "batch_expired"
        status, body = 408 if expired else status or 500, error
    return BatchResult(name, int(status or 200), body if isinstance(body, str) else json.dumps(body))


class MistralBatches(OpenAIBatches):
    """Mistral: jobs, which state the model."""

    batches = "batch/jobs"
    repeats_path = False

    def creation(self, job: BatchJob) -> dict[str, Any]:
        files = {"input_files": [job.file], "endpoint": f"/v1/{job.intended.path}", "model": job.intended.model}
        return {**files, "timeout_hours": 24, "metadata": {MARK: job.mark}}


class TogetherBatches(OpenAIBatches):
    """Together: the upload has another address, and no mark is documented."""

    upload_to, purpose = "files/upload", "batch-api"

    def creation(self, job: BatchJob) -> dict[str, Any]:
        return {name: value for name, value in super().creation(job).items() if name != "metadata"}
