"""Anthropic's Message Batches: requests inline, and no place for a mark except in the names of the requests."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from casewise.models.batches.interface import (
    BatchInterface,
    BatchResult,
    BatchStatus,
    completion,
    join_texts,
    optional_count,
    parse_time,
    read_result,
    split_system,
    state_of,
)
from casewise.models.protocol import Rejected
from casewise.storage.batch_jobs import BatchJob

VERSION = "2023-06-01"

FINISH_REASONS = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}
"""Their word for why a reply ended, and ours."""

STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""The status that an errored request would have had as a call."""


class AnthropicBatches(BatchInterface):
    """`/v1/messages/batches`."""

    batches = "messages/batches"
    next_page = ("?limit=100", "after_id")

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        if body.get("logprobs"):
            raise Rejected("no_logprobs", "Anthropic gives no log probabilities")
        turns, system = split_system(body)
        most = body.get("max_tokens") or body.get("max_completion_tokens")
        message: dict[str, Any] = {"model": body["model"], "max_tokens": most, "messages": turns}
        if any(system):
            message["system"] = "\n\n".join(system)
        message |= {option: body[option] for option in ("temperature", "top_p") if option in body}
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            message["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return json.dumps({"custom_id": name, "params": message}).encode()

    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> BatchStatus:  # noqa: ARG002  (it bears no mark)
        return self.parse_status(await self.wire.post(self.batches, b'{"requests":[' + b",".join(lines) + b"]}"))

    def parse_status(self, record: Mapping[str, Any]) -> BatchStatus:
        counts = record.get("request_counts") or {}
        return BatchStatus(
            str(record["id"]),
            state_of(record.get("processing_status")),
            parse_time(record.get("expires_at")),
            n_done=optional_count(counts.get("succeeded")),
            size=sum(optional_count(n) or 0 for n in counts.values()),
            created=parse_time(record.get("created_at")),
        )

    async def results(self, batch: str) -> AsyncGenerator[BatchResult, None]:
        async with aclosing(self.wire.lines(f"{self.batches}/{batch}/results")) as lines:
            async for line in lines:
                yield read_result(anthropic_result, line)


def anthropic_result(line: Mapping[str, Any]) -> BatchResult:
    name, result = str(line.get("custom_id")), line.get("result") or {}
    if result.get("type") == "errored":
        error = result.get("error") or {}
        error = error.get("error") or error
        return BatchResult(name, STATUS.get(str(error.get("type")), 500), json.dumps({"error": error}))
    if result.get("type") != "succeeded":
        problem = {"message": f"the request was {result.get('type') or 'not answered'}"}
        return BatchResult(name, 408, json.dumps({"error": problem}))
    message = result.get("message") or {}
    parts, usage = message.get("content") or [], message.get("usage") or {}
    sent = [usage.get(f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    reply = completion(
        message.get("model"),
        join_texts([part for part in parts if part.get("type") == "text"]),
        FINISH_REASONS.get(str(message.get("stop_reason")), message.get("stop_reason")),
        {
            "prompt_tokens": None if sent[0] is None else sum(tokens or 0 for tokens in sent),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": sent[2]},
        },
        join_texts(parts, "thinking") or None,
    )
    return BatchResult(name, 200, json.dumps(reply))
