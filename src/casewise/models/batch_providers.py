"""The batch interfaces of each provider: OpenAI's shape, Anthropic, Gemini."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

from casewise.errors import ConfigurationError
from casewise.models.batch import (
    BatchInterface,
    BatchWire,
    HandedJob,
    Landed,
    SeenBatch,
    Shape,
    State,
    found_by_names,
    landed_by,
    terms_of,
)
from casewise.models.client import EndpointClient, OpenAICompatibleModel
from casewise.models.protocol import Model, Rejected

# Files of JSON lines and `/v1/batches`, as OpenAI made them; and the three who changed a word of it.


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
            for batch in page:
                if (batch.get("metadata") or {}).get(MARK) == job.mark or job.file in self.files_of(batch):
                    return self.seen(batch)
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
                yield landed_by(openai_result, line)

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
        status = super().seen(batch)
        return SeenBatch(status.id, status.state, None, status.words, count(batch.get("succeeded_requests")))

    def outputs_of(self, batch: Mapping[str, Any]) -> list[str]:
        return [str(batch[key]) for key in ("output_file", "error_file") if batch.get(key)]


def openai_result(line: Mapping[str, Any]) -> Landed:
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
        parsed_time = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)


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
            for batch in (await self.wire.get("batches")).get("data") or ():
                size = count((batch.get("request_counts") or {}).get("total"))
                made_at = self.wire.by_our_clock(moment(batch.get("created_at")))
                yield self.seen(batch), len(job.names) if size is None else size, made_at

        return await found_by_names(job, listed(), self.results)

    def seen(self, batch: Mapping[str, Any]) -> SeenBatch:
        return super().seen(inner(batch))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        for line in inner(await self.wire.get(f"batches/{batch}")).get("results") or ():
            yield landed_by(openai_result, line)


def inner(batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of a batch, which may stand under `data`."""
    record = batch.get("data")
    return record if isinstance(record, Mapping) else batch


# Anthropic's Message Batches: requests inline, results as JSON lines, and no place for a mark but the requests'
# names.


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

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        return json.dumps({"custom_id": name, "params": as_message(body)}).encode()

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:  # noqa: ARG002  (it bears no mark)
        return anthropic_status(await self.wire.post("messages/batches", b'{"requests":[' + b",".join(lines) + b"]}"))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        async def listed() -> AsyncIterator[tuple[SeenBatch, int, Any]]:
            after = ""
            while True:
                page = await self.wire.get(f"messages/batches?limit=100{after}")
                for batch in page.get("data") or ():
                    made_at = self.wire.by_our_clock(moment(batch.get("created_at")))
                    yield (
                        anthropic_status(batch),
                        sum(count(n) or 0 for n in (batch.get("request_counts") or {}).values()),
                        made_at,
                    )
                if not page.get("has_more"):
                    return
                after = f"&after_id={page['last_id']}"

        return await found_by_names(job, listed(), self.results)

    async def look(self, batch: str) -> SeenBatch:
        return anthropic_status(await self.wire.get(f"messages/batches/{batch}"))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        async with aclosing(self.wire.lines(f"messages/batches/{batch}/results")) as lines:
            async for line in lines:
                yield landed_by(anthropic_result, line)


def as_message(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion's request as a message's.

    Raises Rejected: log probabilities are asked for, which there are none of.
    """
    if body.get("logprobs"):
        raise Rejected("no_logprobs", "Anthropic gives no log probabilities")
    turns = [message for message in body["messages"] if message["role"] != "system"]
    system = "\n\n".join(message["content"] for message in body["messages"] if message["role"] == "system")
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    message_request: dict[str, Any] = {"model": body["model"], "max_tokens": most, "messages": turns}
    if system:
        message_request["system"] = system
    message_request |= {name: body[name] for name in ("temperature", "top_p", "top_k") if name in body}
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        message_request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return message_request


def anthropic_status(batch: Mapping[str, Any]) -> SeenBatch:
    counts = batch.get("request_counts") or {}
    ended = batch.get("processing_status") == "ended"
    return SeenBatch(
        str(batch["id"]),
        "completed" if ended else "waiting",
        moment(batch.get("expires_at")),
        "",
        count(counts.get("succeeded")),
    )


def anthropic_result(line: Mapping[str, Any]) -> Landed:
    name, result = str(line.get("custom_id")), line.get("result") or {}
    if result.get("type") == "succeeded":
        return Landed(name, 200, json.dumps(anthropic_completion(result.get("message") or {})))
    if result.get("type") == "errored":
        error = result.get("error") or {}
        error = error.get("error") or error
        return Landed(name, ANTHROPIC_STATUS.get(str(error.get("type")), 500), json.dumps({"error": error}))
    return Landed(
        name, 408, json.dumps({"error": {"message": f"the request was {result.get('type') or 'not answered'}"}})
    )


def anthropic_completion(message: Mapping[str, Any]) -> dict[str, Any]:
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
                "finish_reason": ANTHROPIC_FINISHED.get(str(message.get("stop_reason")), message.get("stop_reason")),
            }
        ],
        "usage": {
            "prompt_tokens": None if read[0] is None else sum(tokens or 0 for tokens in read),
            "completion_tokens": usage.get("output_tokens"),
        },
    }


# Gemini's batches: requests inline, our mark as the display name, and answers under the keys that we gave them.


STATES: Mapping[str, State] = {
    "SUCCEEDED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "EXPIRED": "expired",
}
"""By the last word of `BATCH_STATE_…`, which some versions write `JOB_STATE_…`."""

GEMINI_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
FILTERED = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"})

GEMINI_STATUS = {3: 400, 5: 404, 7: 403, 8: 429, 16: 401}
"""Of gRPC's codes, those that a request can earn."""


class GeminiBatches(BatchInterface):
    """`models/MODEL:batchGenerateContent`."""

    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:  # noqa: ARG002  (there is one path)
        return json.dumps({"request": as_generation(body), "metadata": {"key": name}}).encode()

    async def create(self, job: HandedJob, lines: Sequence[bytes]) -> SeenBatch:
        head = f'{{"batch": {{"display_name": {json.dumps(job.mark)}, "input_config": {{"requests": {{"requests": ['
        body = head.encode() + b",".join(lines) + b"]}}}}"
        return gemini_status(await self.wire.post(f"models/{job.model}:batchGenerateContent", body))

    async def find(self, job: HandedJob) -> SeenBatch | Literal["perhaps"] | None:
        token = ""
        while True:
            page = await self.wire.get(f"batches?pageSize=100{token}")
            for operation in page.get("operations") or page.get("batches") or ():
                about = operation.get("metadata") or operation
                if job.mark in (about.get("displayName"), about.get("display_name")):
                    return gemini_status(operation)
            if not page.get("nextPageToken"):
                return None
            token = f"&pageToken={page['nextPageToken']}"

    async def look(self, batch: str) -> SeenBatch:
        return gemini_status(await self.wire.get(batch))

    async def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        for answer in answers_in(await self.wire.get(batch)):
            yield landed_by(gemini_result, answer)


def as_generation(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion's request as one for content."""
    config: dict[str, Any] = {"maxOutputTokens": body.get("max_tokens") or body.get("max_completion_tokens")}
    names = {"temperature": "temperature", "seed": "seed", "top_p": "topP", "top_k": "topK"}
    config |= {theirs: body[ours] for ours, theirs in names.items() if ours in body}
    if body.get("logprobs"):
        raise Rejected("no_logprobs", "casewise does not request log probabilities in Gemini's batches")
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        config |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    turns = [message for message in body["messages"] if message["role"] != "system"]
    system = [{"text": message["content"]} for message in body["messages"] if message["role"] == "system"]
    generation: dict[str, Any] = {
        "contents": [
            {"role": "model" if turn["role"] == "assistant" else "user", "parts": [{"text": turn["content"]}]}
            for turn in turns
        ],
        "generationConfig": config,
    }
    return generation | ({"systemInstruction": {"parts": system}} if system else {})


def gemini_status(operation: Mapping[str, Any]) -> SeenBatch:
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
        responses = (place or {}).get("inlinedResponses")
        responses = responses.get("inlinedResponses") if isinstance(responses, Mapping) else responses
        if responses:
            return list(responses)
    return ()


def gemini_result(answer: Mapping[str, Any]) -> Landed:
    name = str((answer.get("metadata") or {}).get("key"))
    if answer.get("response"):
        return Landed(name, 200, json.dumps(gemini_completion(answer["response"])))
    error = answer.get("error") or {"message": "no response"}
    return Landed(name, GEMINI_STATUS.get(int(error.get("code") or 0), 500), json.dumps({"error": error}))


def gemini_completion(response: Mapping[str, Any]) -> dict[str, Any]:
    """Generated content as a chat completion."""
    candidate = (response.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    usage = response.get("usageMetadata") or {}
    token_counts = [usage.get(name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    reason = str(candidate.get("finishReason"))
    blocked = reason in FILTERED or (response.get("promptFeedback") or {}).get("blockReason")
    return {
        "model": response.get("modelVersion"),
        "choices": [
            {
                "message": {
                    "content": "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))
                },
                "finish_reason": "content_filter" if blocked else GEMINI_FINISHED.get(reason, reason.lower()),
            }
        ],
        "usage": {
            "prompt_tokens": usage.get("promptTokenCount"),
            "completion_tokens": None if token_counts == [None, None] else sum(tokens or 0 for tokens in token_counts),
        },
    }


# From a client to the batch interface of whoever it calls.


SHAPES: dict[Shape, type[BatchInterface]] = {
    "openai": OpenAIShape,
    "together": TogetherShape,
    "mistral": MistralShape,
    "anthropic": AnthropicBatches,
    "gemini": GeminiBatches,
    "openrouter": OpenRouterBatches,
}


def client_of(model: Model | None, name: str) -> EndpointClient:
    """The client of a model behind an endpoint.

    Raises ConfigurationError: it is none: nothing of it goes over a batch interface.
    """
    if isinstance(model, OpenAICompatibleModel):
        return model.client
    raise ConfigurationError(f"{name} cannot be used over a batch interface; remove --batch")


def batch_interface(client: EndpointClient, model: str) -> BatchInterface:
    """The batch interface of a client's endpoint. Raises ConfigurationError: none is known."""
    terms = terms_of(client.endpoint)
    base, headers = client.endpoint.base_url, client.key_header()
    if terms.shape == "anthropic":
        headers = {**client.key_header("x-api-key"), "anthropic-version": VERSION}
    if terms.shape == "gemini":
        base, headers = base.removesuffix("/openai"), client.key_header("x-goog-api-key")
    return SHAPES[terms.shape](BatchWire(client, model=model, base_url=base, headers=headers), terms)
