"""The batch interfaces of each provider: OpenAI's shape, Anthropic, Gemini."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Literal

from casewise.errors import ConfigurationError
from casewise.models.batch import (
    BatchInterface,
    BatchWire,
    HandedJob,
    Landed,
    SeenBatch,
    Shape,
    State,
    landed_by,
    terms_of,
)
from casewise.models.client import EndpointClient, OpenAICompatibleModel
from casewise.models.protocol import Model, Rejected

STATES: Mapping[str, State] = {
    "completed": "completed",
    "succeeded": "completed",
    "success": "completed",
    "ended": "completed",
    "expired": "expired",
    "timeout_exceeded": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The providers' words for a batch that has ended, in lower case."""


def state_of(word: Any) -> State:
    """Return the state that a provider's word means: Gemini writes `BATCH_STATE_…`, in some versions `JOB_STATE_…`."""
    return STATES.get(str(word).rpartition("STATE_")[2].lower(), "waiting")


# Files of JSON lines and `/v1/batches`, as OpenAI made them, and two providers with other words for some of it.


MARK = "casewise"
"""The key of our mark in a batch's metadata."""


class OpenAIBatches(BatchInterface):
    """OpenAI, Azure, Groq, and every server that speaks as they do."""

    uploads = True
    next_page, most_pages = ("?limit=100", "after"), 20
    upload_to, purpose = "files", "batch"
    repeats_path = True
    """True if each line states the path."""

    def creation(self, job: HandedJob) -> dict[str, Any]:
        """Return the body that creates a batch."""
        window = {"completion_window": "24h", "metadata": {MARK: job.mark}}
        return {"input_file_id": job.file, "endpoint": f"/v1/{job.path}", **window}

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        where = {"method": "POST", "url": f"/v1/{path}"} if self.repeats_path else {}
        return json.dumps({"custom_id": name, **where, "body": body}).encode()

    async def upload(self, job: HandedJob, lines: Sequence[bytes]) -> str | None:
        file = f"casewise-{job.mark}.jsonl"
        fields = {"purpose": self.purpose, "file_name": file}
        content = b"\n".join(lines) + b"\n"
        return str((await self.wire.upload(self.upload_to, name=file, content=content, fields=fields))["id"])

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:  # noqa: ARG002  (they are in the file)
        return self.seen(await self.wire.post(self.batches, self.creation(job)))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        if job.file is None:
            return None
        async with aclosing(self.listed()) as records:
            async for batch in records:
                files = [batch.get("input_file_id"), *(batch.get("input_files") or ())]
                if (batch.get("metadata") or {}).get(MARK) == job.mark or job.file in files:
                    return self.seen(batch)
        return None

    def seen(self, record: Mapping[str, Any]) -> SeenBatch:
        batch = record.get("job") or record
        counts = batch.get("request_counts") or {}
        return SeenBatch(
            str(batch["id"]),
            state_of(batch.get("status")),
            moment(batch.get("expires_at")),
            failure_words(batch.get("errors") or batch.get("error")),
            count(batch.get("succeeded_requests", counts.get("completed"))),
        )

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        record = await self.wire.get(f"{self.batches}/{batch}")
        record = record.get("job") or record
        for key in ("output_file_id", "error_file_id", "output_file", "error_file"):
            if file := record.get(key):
                async with aclosing(self.wire.lines(f"files/{file}/content")) as lines:
                    async for line in lines:
                        yield landed_by(openai_result, line)


class TogetherBatches(OpenAIBatches):
    """Together: the upload has another address, and no mark is documented."""

    upload_to, purpose = "files/upload", "batch-api"

    def creation(self, job: HandedJob) -> dict[str, Any]:
        return {name: value for name, value in super().creation(job).items() if name != "metadata"}


class MistralBatches(OpenAIBatches):
    """Mistral: jobs, which state the model."""

    batches = "batch/jobs"
    repeats_path = False

    def creation(self, job: HandedJob) -> dict[str, Any]:
        files = {"input_files": [job.file], "endpoint": f"/v1/{job.path}", "model": job.model}
        return {**files, "timeout_hours": 24, "metadata": {MARK: job.mark}}


def openai_result(line: Mapping[str, Any]) -> Landed:
    """Read a line of an output file, or of an error file."""
    answer, error = line.get("response") or {}, line.get("error")
    name, status, body = str(line.get("custom_id")), answer.get("status_code"), answer.get("body")
    if error and not body:
        expired = isinstance(error, Mapping) and error.get("code") == "batch_expired"
        status, body = 408 if expired else status or 500, error
    return Landed(name, int(status or 200), body if isinstance(body, str) else json.dumps(body))


def failure_words(errors: Any) -> str:
    """Return a provider's description of a batch's failure."""
    if not errors:
        return ""
    listed = errors.get("data") if isinstance(errors, Mapping) and "data" in errors else errors
    first = (listed[0] if listed else "") if isinstance(listed, list) else listed
    if isinstance(first, Mapping):
        return " ".join(str(first[key]) for key in ("code", "message") if first.get(key))[:300]
    return str(first)[:300]


def count(value: Any) -> int | None:
    """Return a count, which some providers write as text; None if it is none."""
    return int(value) if str(value).isdecimal() else None


def moment(value: Any) -> datetime | None:
    """Return a time given in seconds since 1970 or in ISO format (UTC by default); None if it is none."""
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
        parsed_time = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)


def parted(body: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the turns of a chat completion's request, and the texts of its system messages."""
    turns = [message for message in body["messages"] if message["role"] != "system"]
    return turns, [message["content"] for message in body["messages"] if message["role"] == "system"]


def completion(
    model: Any, text: str, finish_reason: Any, tokens: tuple[Any, Any], reasoning: str | None = None
) -> dict[str, Any]:
    """Return a chat completion."""
    message = {"content": text} if reasoning is None else {"content": text, "reasoning": reasoning}
    return {
        "model": model,
        "choices": [{"message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]},
    }


def joined_texts(parts: Sequence[Mapping[str, Any]], key: str = "text") -> str:
    return "".join(str(part.get(key) or "") for part in parts)


# Anthropic's Message Batches: requests inline, results as JSON lines, and no place for a mark except in the names of the
# requests.


VERSION = "2023-06-01"

ANTHROPIC_FINISHED = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}
"""Their word for why a reply ended, and ours."""

ANTHROPIC_STATUS = {
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
        turns, system = parted(body)
        most = body.get("max_tokens") or body.get("max_completion_tokens")
        message: dict[str, Any] = {"model": body["model"], "max_tokens": most, "messages": turns}
        if any(system):
            message["system"] = "\n\n".join(system)
        message |= {option: body[option] for option in ("temperature", "top_p", "top_k") if option in body}
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            message["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return json.dumps({"custom_id": name, "params": message}).encode()

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:  # noqa: ARG002  (it bears no mark)
        return self.seen(await self.wire.post(self.batches, b'{"requests":[' + b",".join(lines) + b"]}"))

    def seen(self, record: Mapping[str, Any]) -> SeenBatch:
        counts = record.get("request_counts") or {}
        return SeenBatch(
            str(record["id"]),
            state_of(record.get("processing_status")),
            moment(record.get("expires_at")),
            n_done=count(counts.get("succeeded")),
            size=sum(count(n) or 0 for n in counts.values()),
            created=moment(record.get("created_at")),
        )

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        async with aclosing(self.wire.lines(f"{self.batches}/{batch}/results")) as lines:
            async for line in lines:
                yield landed_by(anthropic_result, line)


def anthropic_result(line: Mapping[str, Any]) -> Landed:
    name, result = str(line.get("custom_id")), line.get("result") or {}
    if result.get("type") == "errored":
        error = result.get("error") or {}
        error = error.get("error") or error
        return Landed(name, ANTHROPIC_STATUS.get(str(error.get("type")), 500), json.dumps({"error": error}))
    if result.get("type") != "succeeded":
        problem = {"message": f"the request was {result.get('type') or 'not answered'}"}
        return Landed(name, 408, json.dumps({"error": problem}))
    message = result.get("message") or {}
    parts, usage = message.get("content") or [], message.get("usage") or {}
    sent = [usage.get(f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    reply = completion(
        message.get("model"),
        joined_texts([part for part in parts if part.get("type") == "text"]),
        ANTHROPIC_FINISHED.get(str(message.get("stop_reason")), message.get("stop_reason")),
        (None if sent[0] is None else sum(tokens or 0 for tokens in sent), usage.get("output_tokens")),
        joined_texts(parts, "thinking") or None,
    )
    return Landed(name, 200, json.dumps(reply))


# Gemini's batches: requests inline, our mark as the display name, and answers under the keys of the requests.


GEMINI_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
FILTERED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})

GEMINI_STATUS = {3: 400, 5: 404, 7: 403, 8: 429, 16: 401}
"""Of gRPC's codes, those that a request can earn."""


class GeminiBatches(BatchInterface):
    """`models/MODEL:batchGenerateContent`."""

    next_page = ("?pageSize=100", "pageToken")

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        if body.get("logprobs"):
            raise Rejected("no_logprobs", "casewise does not request log probabilities in Gemini's batches")
        options = {"temperature": "temperature", "seed": "seed", "top_p": "topP", "top_k": "topK"}
        config: dict[str, Any] = {"maxOutputTokens": body.get("max_tokens") or body.get("max_completion_tokens")}
        config |= {theirs: body[ours] for ours, theirs in options.items() if ours in body}
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
        turns, system = parted(body)
        roles = {"assistant": "model"}
        contents = [{"role": roles.get(turn["role"], "user"), "parts": [{"text": turn["content"]}]} for turn in turns]
        request = {"contents": contents, "generationConfig": config}
        if system:
            request["systemInstruction"] = {"parts": [{"text": text} for text in system]}
        return json.dumps({"request": request, "metadata": {"key": name}}).encode()

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:
        head = f'{{"batch": {{"display_name": {json.dumps(job.mark)}, "input_config": {{"requests": {{"requests": ['
        body = head.encode() + b",".join(lines) + b"]}}}}"
        return self.seen(await self.wire.post(f"models/{job.model}:batchGenerateContent", body))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        async with aclosing(self.listed()) as records:
            async for operation in records:
                about = operation.get("metadata") or operation
                if job.mark in (about.get("displayName"), about.get("display_name")):
                    return self.seen(operation)
        return None

    async def look(self, batch: str) -> SeenBatch:
        return self.seen(await self.wire.get(batch))

    def seen(self, record: Mapping[str, Any]) -> SeenBatch:
        about = record.get("metadata") or record
        state = state_of(about.get("state") or record.get("state"))
        return SeenBatch(
            str(record["name"]),
            "failed" if state == "waiting" and record.get("error") else state,
            moment(about.get("expireTime")),
            failure_words(record.get("error")),
            count((about.get("batchStats") or {}).get("successfulRequestCount")),
        )

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        operation = await self.wire.get(batch)
        # The answers stand one or two levels deep, in the response or in the batch's output.
        places = (operation.get("response"), (operation.get("metadata") or {}).get("output"), operation.get("output"))
        for place in places:
            responses = (place or {}).get("inlinedResponses")
            responses = responses.get("inlinedResponses") if isinstance(responses, Mapping) else responses
            if responses:
                for answer in responses:
                    yield landed_by(gemini_result, answer)
                return


def gemini_result(answer: Mapping[str, Any]) -> Landed:
    name = str((answer.get("metadata") or {}).get("key"))
    response = answer.get("response")
    if not response:
        error = answer.get("error") or {"message": "no response"}
        return Landed(name, GEMINI_STATUS.get(int(error.get("code") or 0), 500), json.dumps({"error": error}))
    candidate = (response.get("candidates") or [{}])[0]
    parts, usage = (candidate.get("content") or {}).get("parts") or [], response.get("usageMetadata") or {}
    replied = [usage.get(key) for key in ("candidatesTokenCount", "thoughtsTokenCount")]
    reason = str(candidate.get("finishReason"))
    blocked = reason in FILTERED or (response.get("promptFeedback") or {}).get("blockReason")
    reply = completion(
        response.get("modelVersion"),
        joined_texts([part for part in parts if not part.get("thought")]),
        "content_filter" if blocked else GEMINI_FINISHED.get(reason, reason.lower()),
        (usage.get("promptTokenCount"), None if replied == [None, None] else sum(tokens or 0 for tokens in replied)),
    )
    return Landed(name, 200, json.dumps(reply))


# From a client to the batch interface of its endpoint.


SHAPES: Mapping[Shape, type[BatchInterface]] = {
    "openai": OpenAIBatches,
    "together": TogetherBatches,
    "mistral": MistralBatches,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
}


def client_of(model: Model | None, name: str) -> EndpointClient:
    """Return the client of a model behind an endpoint.

    Raises ConfigurationError: the model has none, and no batch interface.
    """
    if isinstance(model, OpenAICompatibleModel):
        return model.client
    raise ConfigurationError(f"{name} cannot be used over a batch interface; remove --batch")


def batch_interface(client: EndpointClient, model: str) -> BatchInterface:
    """Return the batch interface of a client's endpoint. Raises ConfigurationError: none is known."""
    terms = terms_of(client.endpoint)
    base, headers = client.endpoint.base_url, client.key_header()
    if terms.shape == "anthropic":
        headers = {**client.key_header("x-api-key"), "anthropic-version": VERSION}
    if terms.shape == "gemini":
        base, headers = base.removesuffix("/openai"), client.key_header("x-goog-api-key")
    return SHAPES[terms.shape](BatchWire(client, model=model, base_url=base, headers=headers), terms)
