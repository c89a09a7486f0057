"""Anthropic's Message Batches: requests inline, results as JSON lines, and no place for a mark but the requests' names."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from casewise.models.batch.interface import BatchInterface, HandedJob, Landed, SeenBatch, found_by_names, landed_by
from casewise.models.batch.openai_shape import count, moment
from casewise.models.protocol import Rejected

__all__ = ["VERSION", "AnthropicBatches"]

VERSION = "2023-06-01"

FINISHED = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}
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

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        return json.dumps({"custom_id": name, "params": as_message(body)}).encode()

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:  # noqa: ARG002  (it bears no mark)
        return seen(await self.wire.post("messages/batches", b'{"requests":[' + b",".join(lines) + b"]}"))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        async def listed() -> AsyncIterator[tuple[SeenBatch, int, Any]]:
            after = ""
            while True:
                page = await self.wire.get(f"messages/batches?limit=100{after}")
                for one in page.get("data") or ():
                    made = self.wire.by_our_clock(moment(one.get("created_at")))
                    yield seen(one), sum(count(n) or 0 for n in (one.get("request_counts") or {}).values()), made
                if not page.get("has_more"):
                    return
                after = f"&after_id={page['last_id']}"

        return await found_by_names(job, listed(), self.results)

    async def look(self, batch: str) -> SeenBatch:
        return seen(await self.wire.get(f"messages/batches/{batch}"))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        async with aclosing(self.wire.lines(f"messages/batches/{batch}/results")) as lines:
            async for line in lines:
                yield landed_by(landed, line)


def as_message(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion's request as a message's.

    Raises Rejected: log probabilities are asked for, which there are none of.
    """
    if body.get("logprobs"):
        raise Rejected("no_logprobs", "Anthropic gives no log probabilities")
    turns = [message for message in body["messages"] if message["role"] != "system"]
    system = "\n\n".join(message["content"] for message in body["messages"] if message["role"] == "system")
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    made: dict[str, Any] = {"model": body["model"], "max_tokens": most, "messages": turns}
    if system:
        made["system"] = system
    made |= {name: body[name] for name in ("temperature", "top_p", "top_k") if name in body}
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        made["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return made


def seen(batch: Mapping[str, Any]) -> SeenBatch:
    counts = batch.get("request_counts") or {}
    ended = batch.get("processing_status") == "ended"
    return SeenBatch(
        str(batch["id"]),
        "completed" if ended else "waiting",
        moment(batch.get("expires_at")),
        "",
        count(counts.get("succeeded")),
    )


def landed(line: Mapping[str, Any]) -> Landed:
    name, result = str(line.get("custom_id")), line.get("result") or {}
    if result.get("type") == "succeeded":
        return Landed(name, 200, json.dumps(as_completion(result.get("message") or {})))
    if result.get("type") == "errored":
        error = result.get("error") or {}
        error = error.get("error") or error
        return Landed(name, STATUS.get(str(error.get("type")), 500), json.dumps({"error": error}))
    return Landed(
        name, 408, json.dumps({"error": {"message": f"the request was {result.get('type') or 'not answered'}"}})
    )


def as_completion(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as a chat completion."""
    parts = message.get("content") or []
    usage = message.get("usage") or {}
    read = [usage.get(f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    return {
        "model": message.get("model"),
        "choices": [
            {
                "message": {
                    "content": "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text"),
                    "reasoning": "".join(str(part.get("thinking") or "") for part in parts) or None,
                },
                "finish_reason": FINISHED.get(str(message.get("stop_reason")), message.get("stop_reason")),
            }
        ],
        "usage": {
            "prompt_tokens": None if read[0] is None else sum(tokens or 0 for tokens in read),
            "completion_tokens": usage.get("output_tokens"),
        },
    }
