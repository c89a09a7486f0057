"""Gemini's batches: requests inline, our mark as the display name, and answers under the keys that we gave them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal

from casewise.models.batch.interface import BatchInterface, HandedJob, Landed, SeenBatch, State, landed_by
from casewise.models.batch.openai_shape import count, moment, said_of
from casewise.models.protocol import Rejected

__all__ = ["GeminiBatches"]

STATES: Mapping[str, State] = {
    "SUCCEEDED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}
"""By the last word of `BATCH_STATE_…`, which some versions write `JOB_STATE_…`."""

FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
FILTERED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})

STATUS = {3: 400, 5: 404, 7: 403, 8: 429, 16: 401}
"""Of gRPC's codes, those that a request can earn."""


class GeminiBatches(BatchInterface):
    """`models/MODEL:batchGenerateContent`."""

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        return json.dumps({"request": as_generation(body), "metadata": {"key": name}}).encode()

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:
        head = f'{{"batch": {{"display_name": {json.dumps(job.mark)}, "input_config": {{"requests": {{"requests": ['
        body = head.encode() + b",".join(lines) + b"]}}}}"
        return seen(await self.wire.post(f"models/{job.model}:batchGenerateContent", body))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        token = ""
        while True:
            page = await self.wire.get(f"batches?pageSize=100{token}")
            for one in page.get("operations") or page.get("batches") or ():
                about = one.get("metadata") or one
                if job.mark in (about.get("displayName"), about.get("display_name")):
                    return seen(one)
            if not page.get("nextPageToken"):
                return None
            token = f"&pageToken={page['nextPageToken']}"

    async def look(self, batch: str) -> SeenBatch:
        return seen(await self.wire.get(batch))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        for one in answers_in(await self.wire.get(batch)):
            yield landed_by(landed, one)


def as_generation(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion's request as one for content."""
    config: dict[str, Any] = {"maxOutputTokens": body.get("max_tokens") or body.get("max_completion_tokens")}
    names = {"temperature": "temperature", "seed": "seed", "top_p": "topP", "top_k": "topK"}
    config |= {theirs: body[ours] for ours, theirs in names.items() if ours in body}
    if body.get("logprobs"):
        raise Rejected("no_logprobs", "log probabilities are not asked for in Gemini's batches")
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    turns = [message for message in body["messages"] if message["role"] != "system"]
    system = [{"text": message["content"]} for message in body["messages"] if message["role"] == "system"]
    made: dict[str, Any] = {
        "contents": [
            {"role": "model" if turn["role"] == "assistant" else "user", "parts": [{"text": turn["content"]}]}
            for turn in turns
        ],
        "generationConfig": config,
    }
    return made | ({"systemInstruction": {"parts": system}} if system else {})


def seen(operation: Mapping[str, Any]) -> SeenBatch:
    about = operation.get("metadata") or operation
    word = str(about.get("state") or operation.get("state") or "").rpartition("STATE_")[2]
    counts = about.get("batchStats") or {}
    state = STATES.get(word, "failed" if operation.get("error") else "waiting")
    return SeenBatch(
        str(operation["name"]),
        state,
        moment(about.get("expireTime")),
        said_of(operation.get("error")),
        count(counts.get("successfulRequestCount")),
    )


def answers_in(operation: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The answers, which stand one or two levels deep, in the response or in the batch's output."""
    about = operation.get("metadata") or {}
    for place in (operation.get("response"), about.get("output"), operation.get("output")):
        found = (place or {}).get("inlinedResponses")
        found = found.get("inlinedResponses") if isinstance(found, Mapping) else found
        if found:
            return list(found)
    return ()


def landed(one: Mapping[str, Any]) -> Landed:
    name = str((one.get("metadata") or {}).get("key"))
    if one.get("response"):
        return Landed(name, 200, json.dumps(as_completion(one["response"])))
    error = one.get("error") or {"message": "no response"}
    return Landed(name, STATUS.get(int(error.get("code") or 0), 500), json.dumps({"error": error}))


def as_completion(response: Mapping[str, Any]) -> dict[str, Any]:
    """Generated content as a chat completion."""
    candidate = (response.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    usage = response.get("usageMetadata") or {}
    said = [usage.get(name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    reason = str(candidate.get("finishReason"))
    blocked = reason in FILTERED or (response.get("promptFeedback") or {}).get("blockReason")
    return {
        "model": response.get("modelVersion"),
        "choices": [
            {
                "message": {
                    "content": "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
                },
                "finish_reason": "content_filter" if blocked else FINISHED.get(reason, reason.lower()),
            }
        ],
        "usage": {
            "prompt_tokens": usage.get("promptTokenCount"),
            "completion_tokens": None if said == [None, None] else sum(tokens or 0 for tokens in said),
        },
    }
