"""Batch interfaces: requests, the protocol of an interface, and the interfaces of each provider."""

from __future__ import annotations

import asyncio
import json
import random
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import lazy_loader

from casewise.errors import ConfigurationError, ModelError, Unavailable
from casewise.models.client import (
    CONNECT_WITHIN_S,
    EndpointClient,
    Fault,
    OpenAICompatibleModel,
    cannot_connect,
    meaning,
)
from casewise.models.endpoints import Shape, Terms, terms_of
from casewise.models.protocol import Model, Rejected
from casewise.models.wire import WrongShape, parsed, read_error
from casewise.storage.batch_jobs import BatchJob

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = lazy_loader.load("aiohttp")


# Requests to a batch interface. A repeatable request is tried again. For others an error tells whether the provider
# may have accepted them.


GONE = frozenset({404, 410})


class NobodyKnows(Exception):
    """A request that must not be repeated was sent, and no answer tells whether it was accepted."""


class Gone(Exception):
    """The requested resource no longer exists."""


class BatchWire:
    """The requests of a batch interface, with the endpoint, key and retries of a client."""

    def __init__(self, client: EndpointClient, *, model: str, base_url: str, headers: Mapping[str, str]) -> None:
        self.client, self.model, self.base_url = client, model, base_url
        self.name = client.endpoint.name
        self._headers = dict(headers)
        self._rng = random.Random()  # noqa: S311 - spreads retries; no result depends on it
        self._session: aiohttp.ClientSession | None = None
        self._ahead = timedelta()

    def by_our_clock(self, at: datetime | None) -> datetime | None:
        """Convert a moment of the server's clock to this machine's, by the date of its last answer."""
        return at and at - self._ahead

    async def get(self, path: str) -> dict[str, Any]:
        """Return the JSON at `path`."""
        return await self._send("GET", path, repeatable=True)

    async def post(self, path: str, body: bytes | Mapping[str, Any]) -> dict[str, Any]:
        """Post a JSON `body` once, and return the JSON answer. Raises NobodyKnows: it may have been accepted."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._send("POST", path, data, repeatable=False)

    async def upload(self, path: str, *, name: str, content: bytes, fields: Mapping[str, str]) -> dict[str, Any]:
        """Upload a file of JSON lines. A repeated upload costs nothing."""

        def form() -> aiohttp.FormData:  # it can be sent once
            form_data = aiohttp.FormData(dict(fields))
            form_data.add_field("file", content, filename=name, content_type="application/jsonl")
            return form_data

        return await self._send("POST", path, form, repeatable=True)

    async def lines(self, path: str) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the records of a file of JSON lines as they arrive. A line that is not JSON is skipped if others are JSON.

        Raises Gone: the file no longer exists; Unavailable: it was cut off, or none of it is JSON.
        """
        async with await self._answer("GET", path) as answer:
            if answer.status in GONE:
                raise Gone(path)
            if answer.status >= 300:
                raise Unavailable(f"{self.name} answered {answer.status} for its results; they stay at the provider")
            rest, has_good, damaged = b"", False, None
            try:
                async for piece in answer.content.iter_any():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in filter(bytes.strip, whole):
                        try:
                            record = self._read(line)
                        except Unavailable as error:
                            damaged = error
                        else:
                            has_good = True
                            yield record
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise Unavailable(
                    f"{self.name}: its results were cut off ({error}); they stay at the provider"
                ) from error
            if rest.strip():
                yield self._read(rest)
            elif damaged is not None and not has_good:
                raise damaged

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(
        self, method: str, path: str, data: bytes | Callable[[], aiohttp.FormData] | None = None, *, repeatable: bool
    ) -> dict[str, Any]:
        policy, attempt = self.client.options.retry, 0
        while True:
            attempt += 1
            outcome = await self._try(method, path, data() if callable(data) else data, repeatable=repeatable)
            if not isinstance(outcome, Fault):
                return outcome
            if attempt > policy.retries:
                raise Unavailable(f"{outcome.message} (tried {attempt} times)")
            await asyncio.sleep(policy.wait_s(attempt, requested_s=outcome.wait_s, rng=self._rng))

    async def _try(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None, *, repeatable: bool
    ) -> dict[str, Any] | Fault:
        try:
            async with await self._answer(method, path, data) as answer:
                status, headers = answer.status, answer.headers
                text = self.client.redact((await answer.read()).decode("utf-8", errors="replace"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            detail = "no answer" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
            problem = self.client.redact(f"{self.name} at {self.base_url}: {detail}")
            if repeatable or cannot_connect(error):
                return Fault(problem)
            raise NobodyKnows(problem) from error
        if method == "GET" and status in GONE:
            raise Gone(path)
        if status < 300:
            try:
                return parsed(text)
            except WrongShape as error:
                fault: Fault | ModelError = Fault(f"{self.name}: {error}")
        else:
            fault = meaning(status, headers, read_error(text), endpoint=self.client.endpoint, model=self.model)
        if isinstance(fault, ModelError):
            raise fault
        if not repeatable and not fault.overloaded:
            raise NobodyKnows(fault.message)
        return fault

    async def _answer(
        self, method: str, path: str, data: bytes | aiohttp.FormData | None = None
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            patience = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_WITHIN_S, sock_read=self.client.options.timeout_s
            )
            self._session = aiohttp.ClientSession(
                timeout=patience, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar()
            )
        answer = await self._session.request(
            method,
            path if path.startswith("http") else f"{self.base_url}/{path}",
            data=data,
            headers={"Content-Type": "application/json"} if isinstance(data, bytes) else {},
            proxy=self.client.proxy,
            # aiohttp removes only `Authorization` on a redirect to another host: no other key may be redirected.
            allow_redirects=method == "GET" and "Authorization" in self._headers,
        )
        with suppress(ValueError, TypeError):
            self._ahead = parsedate_to_datetime(answer.headers.get("Date", "")) - datetime.now(UTC)
        return answer

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            return parsed(self.client.redact(line.decode("utf-8-sig", errors="replace")))
        except WrongShape as problem:
            raise Unavailable(f"{self.name}: a line of its results is not JSON ({problem})") from problem


# A batch interface: requests in, an id back, and after hours the result of each request.
#
# line ──▶ upload ──▶ create ──id──▶ look … look ──▶ results
#                       │ no answer?
#                       └──▶ find, by the mark of the job


State = Literal["waiting", "completed", "expired", "cancelled", "failed"]


@dataclass(frozen=True)
class SeenBatch:
    """The state of a batch at the provider."""

    id: str
    state: State
    expires: datetime | None = None
    words: str = ""
    """The provider's description of a failure."""
    n_done: int | None = None
    size: int | None = None
    """Number of requests, if the interface reports it."""
    created: datetime | None = None

    @property
    def has_ended(self) -> bool:
        """True if no more results will come."""
        return self.state != "waiting"


class Landed(NamedTuple):
    """The result of one request: a status and a body, as a call has them."""

    name: str
    status: int
    text: str


OTHER_SHAPE = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
"""Errors of reading an answer with other keys, or other kinds of values, than its documentation describes."""


@contextmanager
def of_known_shape(provider: str, error: type[Exception] = Unavailable) -> Iterator[None]:
    """Raise an `error` if the block cannot read an answer."""
    try:
        yield
    except OTHER_SHAPE as problem:
        detail = f"{type(problem).__name__}: {problem}"
        raise error(f"{provider} sent an answer that does not match its documentation ({detail})") from problem


def landed_by(read: Callable[[Mapping[str, Any]], Landed], line: Mapping[str, Any]) -> Landed:
    """Return the result of one request; an unreadable line is a fault that can be tried again, and costs no other request."""
    try:
        landed = read(line)
    except OTHER_SHAPE:
        return Landed("", 500, json.dumps(line))
    return landed if 200 <= landed.status < 600 else landed._replace(status=500)


CLOCKS_DIFFER = timedelta(minutes=5)


class BatchInterface(ABC):
    """One provider's interface, over a wire."""

    uploads = False
    """True if requests are uploaded as a file first: without its id no batch can exist."""
    batches = "batches"
    """Path of the batches."""
    next_page: tuple[str, str] | None = None
    """Query of a page of the listing, and the parameter of the next one; None if the listing has one page."""
    most_pages: int | None = None
    """Maximum number of pages of a listing that are read."""

    def __init__(self, wire: BatchWire, terms: Terms) -> None:
        self.wire, self.terms = wire, terms

    @abstractmethod
    def line(self, name: str, path: str, body: Mapping[str, Any]) -> bytes:
        """Return the request of a chat completion in the form of this interface.

        Raises Rejected: the interface cannot express it.
        """

    async def upload(self, _job: BatchJob, _lines: Sequence[bytes]) -> str | None:
        """Upload the requests, and return the file's id; None if they go with `create`."""
        return None

    @abstractmethod
    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> SeenBatch:
        """Hand the job over. Raises NobodyKnows: it may have been accepted. ModelError: it was not."""

    @abstractmethod
    def seen(self, record: Mapping[str, Any]) -> SeenBatch:
        """Return the state of a batch from the provider's record of it."""

    @abstractmethod
    def results(self, batch: str) -> AsyncGenerator[Landed, None]:
        """Yield the results of a batch's requests, in any order."""

    async def look(self, batch: str) -> SeenBatch:
        """Return the state of a batch."""
        return self.seen(await self.wire.get(f"{self.batches}/{batch}"))

    async def listed(self) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the records of the account's batches, the newest first."""
        query, parameter = self.next_page or ("", "")
        after, n_pages = "", 0
        while self.most_pages is None or n_pages < self.most_pages:
            page = await self.wire.get(f"{self.batches}{query}{after}")
            records = page.get("data") or page.get("operations") or page.get("batches") or ()
            for record in records:
                yield record
            token = page.get("nextPageToken") or (records[-1]["id"] if records and page.get("has_more") else None)
            if not token or not parameter:
                return
            after, n_pages = f"&{parameter}={token}", n_pages + 1

    async def find(self, job: BatchJob, others: Collection[str]) -> SeenBatch | Literal["perhaps"] | None:
        """Return the batch of a job by the names of its requests; `perhaps` if one may be it and is not done yet.

        Results alone have names. The names of other runs never begin with this run's mark, so no batch of theirs is taken.

        `others`: ids of batches that belong to other jobs of this run.
        """
        perhaps: Literal["perhaps"] | None = None
        async with aclosing(self.listed()) as records:
            async for record in records:
                batch = self.seen(record)
                created = self.wire.by_our_clock(batch.created)
                if created is not None and created < job.intended.at - CLOCKS_DIFFER:
                    break
                if batch.id in others or batch.size not in (None, len(job.intended.names)):
                    continue
                if not batch.has_ended:
                    perhaps = "perhaps"
                    continue
                async with aclosing(self.results(batch.id)) as results:
                    async for landed in results:
                        if landed.name in job.intended.names:
                            return batch
                        break
        return perhaps


# The batch interfaces of each provider: OpenAI's shape, Anthropic, Gemini.


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

    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> SeenBatch:  # noqa: ARG002  (they are in the file)
        return self.seen(await self.wire.post(self.batches, self.creation(job)))

    async def find(self, job: BatchJob, _others: Collection[str]) -> SeenBatch | Literal["perhaps"] | None:
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

    def creation(self, job: BatchJob) -> dict[str, Any]:
        return {name: value for name, value in super().creation(job).items() if name != "metadata"}


class MistralBatches(OpenAIBatches):
    """Mistral: jobs, which state the model."""

    batches = "batch/jobs"
    repeats_path = False

    def creation(self, job: BatchJob) -> dict[str, Any]:
        files = {"input_files": [job.file], "endpoint": f"/v1/{job.intended.path}", "model": job.intended.model}
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
        message |= {option: body[option] for option in ("temperature", "top_p") if option in body}
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            message["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return json.dumps({"custom_id": name, "params": message}).encode()

    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> SeenBatch:  # noqa: ARG002  (it bears no mark)
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
        options = {"temperature": "temperature", "seed": "seed", "top_p": "topP"}
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

    async def create(self, job: BatchJob, lines: Sequence[bytes]) -> SeenBatch:
        head = f'{{"batch": {{"display_name": {json.dumps(job.mark)}, "input_config": {{"requests": {{"requests": ['
        body = head.encode() + b",".join(lines) + b"]}}}}"
        return self.seen(await self.wire.post(f"models/{job.intended.model}:batchGenerateContent", body))

    async def find(self, job: BatchJob, _others: Collection[str]) -> SeenBatch | Literal["perhaps"] | None:
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
