"""Gemini's batches: requests inline, our mark as the display name, and answers under the keys of the requests."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from casewise.models.batches.interface import (
    BatchInterface,
    BatchResult,
    BatchStatus,
    completion,
    failure_words,
    join_texts,
    optional_count,
    parse_time,
    read_result,
    split_system,
    state_of,
)
from casewise.models.protocol import Rejected
from casewise.storage.batch_jobs import BatchJob

FINISH_REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
FILTERED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})

STATUS = {3: 400, 5: 404, 7: 403, 8: 429, 16: 401}
"""Of gRPC's codes, those that a request can earn."""


class GeminiBatches(BatchInterface):
    """`models/MODEL:batchGenerateContent`."""

    next_page = ("?pageSize=100", "pageToken")

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        if body.get("logprobs"):
            raise Rejected("no_logprobs", "casewise does not request log probabilities in Gemini's batches")
        options = {"temperature": "temperature", "seed": "seed", "top_p": "topP"}
        config: dict[str, Any] = {"maxOutputTokens": body.get("max_tokens") or body.get("max_completion_tokens")}
        config |= {field: body[option] for option, field in options.items() if option in body}
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        turns, system = split_system(body)
        roles = {"assistant": "model"}
        contents = [{"role": roles.get(turn["role"], "user"), "parts": [{"text": turn["content"]}]} for turn in turns]
        request = {"contents": contents, "generationConfig": config}
        if system:
            request["systemInstruction"] = {"parts": [{"text": text} for text in system]}
        return json.dumps({"request": request, "metadata": {"key": name}}).encode()

    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> BatchStatus:
        head = f'{{"batch": {{"display_name": {json.dumps(job.mark)}, "input_config": {{"requests": {{"requests": ['
        body = head.encode() + b",".join(lines) + b"]}}}}"
        return self.parse_status(await self.wire.post(f"models/{job.intended.model}:batchGenerateContent", body))

    async def find(self, job: BatchJob, _others: Collection[str]) -> BatchStatus | Literal["perhaps"] | None:
        async with aclosing(self.list_records()) as records:
            async for operation in records:
                about = operation.get("metadata") or operation
                if job.mark in (about.get("displayName"), about.get("display_name")):
                    return self.parse_status(operation)
        return None

    async def get_status(self, batch: str) -> BatchStatus:
        return self.parse_status(await self.wire.get(batch))

    def parse_status(self, record: Mapping[str, Any]) -> BatchStatus:
        about = record.get("metadata") or record
        state = state_of(about.get("state") or record.get("state"))
        return BatchStatus(
            str(record["name"]),
            "failed" if state == "waiting" and record.get("error") else state,
            parse_time(about.get("expireTime")),
            failure_words(record.get("error")),
            optional_count((about.get("batchStats") or {}).get("successfulRequestCount")),
        )

    async def results(self, batch: str) -> AsyncGenerator[BatchResult, None]:
        operation = await self.wire.get(batch)
        # The answers stand one or two levels deep, in the response or in the batch's output.
        places = (operation.get("response"), (operation.get("metadata") or {}).get("output"), operation.get("output"))
        for place in places:
            responses = (place or {}).get("inlinedResponses")
            responses = responses.get("inlinedResponses") if isinstance(responses, Mapping) else responses
            if responses:
                for answer in responses:
                    yield read_result(gemini_result, answer)
                return


def gemini_result(answer: Mapping[str, Any]) -> BatchResult:
    name = str((answer.get("metadata") or {}).get("key"))
    response = answer.get("response")
    if not response:
        error = answer.get("error") or {"message": "no response"}
        return BatchResult(name, STATUS.get(int(error.get("code") or 0), 500), json.dumps({"error": error}))
    candidate = (response.get("candidates") or [{}])[0]
    parts, usage = (candidate.get("content") or {}).get("parts") or [], response.get("usageMetadata") or {}
    replied = [usage.get(key) for key in ("candidatesTokenCount", "thoughtsTokenCount")]
    reason = str(candidate.get("finishReason"))
    blocked = reason in FILTERED or (response.get("promptFeedback") or {}).get("blockReason")
    reply = completion(
        response.get("modelVersion"),
        join_texts([part for part in parts if not part.get("thought")]),
        "content_filter" if blocked else FINISH_REASONS.get(reason, reason.lower()),
        {
            "prompt_tokens": usage.get("promptTokenCount"),
            "completion_tokens": None if replied == [None, None] else sum(tokens or 0 for tokens in replied),
            "total_tokens": usage.get("totalTokenCount"),
            "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
        },
    )
    return BatchResult(name, 200, json.dumps(reply))
