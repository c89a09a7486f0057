"""A server that plays three batch interfaces on loopback, with the faults that real ones have."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from time import time
from typing import Any

from aiohttp import web
from tests.support.fault_server import Body, FaultServer, honest, prompt_of


@dataclass
class PlayedBatch:
    """A batch as the server knows it: requests by name, and how it will come out."""

    id: str
    shape: str
    mark: str
    requests: dict[str, Body]
    looks: int
    fate: str = "completed"
    words: str = ""
    results: list[dict[str, Any]] | None = None
    made: float = field(default_factory=time)


@dataclass
class BatchServer(FaultServer):
    """Takes batches and answers each after it was looked at `looks` times.

    `paid` counts how often each request was answered: above one, something was paid twice. The fates of batches are taken from
    `fates` one by one (`completed` once it is empty), `missing` and `broken` are shares of requests that are not answered, or with a
    server's error; `twice` is the share of results that stand there twice.
    """

    looks: int = 0
    fates: list[str] = field(default_factory=list)
    missing: float = 0.0
    broken: float = 0.0
    twice: float = 0.0
    counts: bool = True
    """False if no result says how many tokens it took (in OpenAI's shape)."""
    forgets: bool = False
    """True if a batch that has ended is unknown when it is looked at."""
    lost_answers: int = 0
    """Batches that are accepted next and whose answer is lost."""
    too_many: int = 0
    """Requests that are refused next with 429."""
    hidden: int = 0
    """Listings that do not show the newest batch yet."""
    complain: Callable[[Body], str | None] = lambda _body: None
    """Why a request is refused, in the words of a 400."""
    odd: tuple[dict[str, Any], ...] = ()
    """Results that stand in the place of the first ones of the next batch; a name of theirs goes in."""
    astray: str = ""
    """Which answer, of `upload`, `create`, `listing` and `look`, is of another shape than its documentation says."""
    damaged: str = ""
    """Which lines of a file of results are no JSON: `one`, or `all`."""
    elsewhere: str = ""
    """Where files of results lie instead: another server."""
    clock_off_s: float = 0.0
    """How far the server's clock is ahead."""
    on_step: Callable[[str], None] = lambda _step: None
    """Called at each step of a request."""
    batches: list[PlayedBatch] = field(default_factory=list)
    paid: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.files: dict[str, bytes] = {}
        self.chance = random.Random(self.seed)

    def add_routes(self, app: web.Application) -> None:
        super().add_routes(app)
        app.on_response_prepare.append(self.date)
        route = app.router
        route.add_post("/v1/files", self.upload)
        route.add_get("/v1/files/{id}/content", self.content)
        route.add_post("/v1/batches", self.create)
        route.add_get("/v1/batches", self.listing)
        route.add_get("/v1/batches/{id}", self.look)
        route.add_post("/an/v1/messages/batches", self.create)
        route.add_get("/an/v1/messages/batches", self.listing)
        route.add_get("/an/v1/messages/batches/{id}", self.look)
        route.add_get("/an/v1/messages/batches/{id}/results", self.content)
        route.add_post("/ge/models/{model}", self.create)
        route.add_get("/ge/batches", self.listing)
        route.add_get("/ge/batches/{id}", self.look)
        for shape in ("anthropic", "google"):
            route.add_post(f"/{self.address(shape).split('/', 3)[3]}/chat/completions", self._answer)

    async def date(self, _request: web.Request, response: web.StreamResponse) -> None:
        """Date an answer by the server's clock."""
        response.headers["Date"] = format_datetime(datetime.fromtimestamp(time() + self.clock_off_s, UTC))

    def answer(self, step: str, payload: dict[str, Any]) -> web.Response:
        """An answer, or one astray."""
        astray = {"data": [1, None], "operations": [1], "metadata": 2, "request_counts": [3]}
        return web.json_response(astray if step == self.astray else payload)

    def address(self, shape: str) -> str:
        """Where an interface is played."""
        root = {"openai": "v1", "anthropic": "an/v1", "google": "ge/openai"}[shape]
        return f"http://127.0.0.1:{self.port}/{root}"

    def refused(self) -> web.Response | None:
        if not self.too_many:
            return None
        self.too_many -= 1
        return web.json_response(
            {"error": {"message": "slow down", "code": "rate_limit"}}, status=429, headers={"Retry-After": "0"}
        )

    async def upload(self, request: web.Request) -> web.StreamResponse:
        self.on_step("upload asked")
        if (refusal := self.refused()) is not None:
            return refusal
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        file_id = f"file-{len(self.files) + 1}"
        self.files[file_id] = file.file.read()
        self.on_step("upload taken")
        return self.answer("upload", {"id": file_id, "object": "file", "purpose": str(form["purpose"])})

    async def create(self, request: web.Request) -> web.StreamResponse:
        self.on_step("create asked")
        if (refusal := self.refused()) is not None:
            return refusal
        body = await request.json()
        shape = shape_of(request.path)
        batch_id = f"{'batches/' if shape == 'google' else ''}b{len(self.batches) + 1}"
        batch = PlayedBatch(batch_id, shape, mark_of(shape, body), requests_of(shape, body, self.files), self.looks)
        batch.made += self.clock_off_s
        batch.fate = self.fates.pop(0) if self.fates else "completed"
        self.batches.append(batch)
        self.on_step("create taken")
        if self.lost_answers:
            self.lost_answers -= 1
            assert request.transport is not None
            request.transport.abort()
        return self.answer("create", self.record(batch))

    async def listing(self, request: web.Request) -> web.StreamResponse:
        self.on_step("listing asked")
        shape = shape_of(request.path)
        shown = self.batches
        if self.hidden:
            self.hidden -= 1
            shown = shown[:-1]
        for batch in shown:
            self.go_on(batch)
        records = [self.record(batch, listed=True) for batch in reversed(shown) if batch.shape == shape]
        return self.answer(
            "listing", {"operations": records} if shape == "google" else {"data": records, "has_more": False}
        )

    async def look(self, request: web.Request) -> web.StreamResponse:
        self.on_step("look asked")
        batch_id = request.match_info["id"]
        batch = next((each_batch for each_batch in self.batches if each_batch.id.rpartition("/")[2] == batch_id), None)
        if batch is None or self.forgets:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        self.go_on(batch)
        return self.answer("look", self.record(batch))

    async def content(self, request: web.Request) -> web.StreamResponse:
        self.on_step("results asked")
        self.headers.append(dict(request.headers))
        if self.elsewhere:
            raise web.HTTPFound(self.elsewhere + request.path)
        batch_id, _, which = request.match_info["id"].partition("-")
        batch = next(one for one in self.batches if one.id == batch_id)
        lines = [
            one
            for one in batch.results or ()
            if not which or ("error" in one and one["error"] is not None) == (which == "errors")
        ]
        written = [json.dumps(line) + "\n" for line in lines]
        if self.damaged and written:
            written[: 1 if self.damaged == "one" else len(written)] = ["<html>\n"]
        text = "".join(written).encode()
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(text[: len(text) // 2])
        self.on_step("results half")
        await response.write(text[len(text) // 2 :])
        await response.write_eof()
        return response

    def go_on(self, batch: PlayedBatch) -> None:
        """Come nearer to the end of a batch: time passes by being asked about it."""
        if batch.looks > 0:
            batch.looks -= 1
        elif batch.results is None:
            self.work(batch)

    def work(self, batch: PlayedBatch) -> None:
        """Answer the requests of a batch, last come first."""
        batch.results = []
        if batch.fate.startswith("failed"):
            batch.words = batch.fate.partition(":")[2]
            batch.fate = "failed"
            return
        for place, (name, body) in enumerate(reversed(batch.requests.items())):
            unanswered = batch.fate != "completed" and place % 2
            if unanswered or self.chance.random() < self.missing:
                continue
            if (why := self.complain(body)) is not None:
                batch.results.append(result(batch.shape, name, body, status=400, words=why))
            elif self.chance.random() < self.broken:
                batch.results.append(result(batch.shape, name, body, status=500, words="internal error"))
            else:
                self.paid[name] += 1
                batch.results += [result(batch.shape, name, body)] * (2 if self.chance.random() < self.twice else 1)

        if not self.counts:
            for line in batch.results:
                line["response"]["body"].pop("usage", None)
        names = [line.get("custom_id") or line["metadata"]["key"] for line in batch.results]
        named = (json.dumps(line).replace("NAME", name) for line, name in zip(self.odd, names, strict=False))
        batch.results[: len(self.odd)] = map(json.loads, named)
        self.odd = ()

    def record(self, batch: PlayedBatch, *, listed: bool = False) -> dict[str, Any]:
        done = batch.results is not None
        n, n_done = len(batch.requests), len(batch.results or ())
        if batch.shape == "anthropic":
            counts = {"processing": 0 if done else n, "succeeded": n if done else 0, "errored": 0}
            state = "ended" if done else "in_progress"
            return {
                "id": batch.id,
                "processing_status": state,
                "request_counts": counts,
                "created_at": iso(batch.made),
                "expires_at": iso(batch.made + 86400),
            }
        if batch.shape == "google":
            about = {
                "displayName": batch.mark,
                "state": f"BATCH_STATE_{batch.fate.upper().replace('COMPLETED', 'SUCCEEDED') if done else 'RUNNING'}",
                "batchStats": {"successfulRequestCount": str(n_done)},
            }
            answers = (
                {"response": {"inlinedResponses": {"inlinedResponses": batch.results}}} if done and not listed else {}
            )
            return {"name": batch.id, "metadata": about, "done": done, **answers}
        record: dict[str, Any] = {
            "id": batch.id,
            "status": batch.fate if done else "in_progress",
            "created_at": int(batch.made),
            "expires_at": int(batch.made) + 86400,
            "request_counts": {"total": n, "completed": n_done, "failed": 0},
        }
        if batch.words:
            record["errors"] = {"data": [{"code": batch.words, "message": "as it says"}]}
        ready = {"output_file_id": f"{batch.id}-output", "error_file_id": f"{batch.id}-errors"} if done else {}
        return record | {"metadata": {"casewise": batch.mark}, "input_file_id": batch.mark} | ready


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def shape_of(path: str) -> str:
    return {"an": "anthropic", "ge": "google"}.get(path.split("/")[1], "openai")


def mark_of(shape: str, body: Body) -> str:
    if shape == "google":
        return str(body["batch"]["display_name"])
    return str(body.get("metadata", {}).get("casewise", ""))


def requests_of(shape: str, body: Body, files: Mapping[str, bytes]) -> dict[str, Body]:
    """The requests of a batch by name; a name that stands there twice is refused by every provider."""
    requests = list(pairs(shape, body, files))
    assert len({name for name, _ in requests}) == len(requests), "a name stands there twice"
    return dict(requests)


def pairs(shape: str, body: Body, files: Mapping[str, bytes]) -> Iterator[tuple[str, Body]]:
    if shape == "openai":
        for line in files[body["input_file_id"]].splitlines():
            request = json.loads(line)
            assert request["url"] == body["endpoint"], request["url"]
            yield request["custom_id"], request["body"]
    elif shape == "google":
        for request in body["batch"]["input_config"]["requests"]["requests"]:
            words = [part["text"] for turn in request["request"]["contents"] for part in turn["parts"]]
            system = [part["text"] for part in request["request"].get("systemInstruction", {}).get("parts", ())]
            yield (
                request["metadata"]["key"],
                {"model": "tiny", "messages": [{"content": text} for text in (*system, *words)]},
            )
    else:
        for request in body["requests"]:
            system = [{"content": request["params"]["system"]}] if "system" in request["params"] else []
            yield request["custom_id"], {**request["params"], "messages": [*system, *request["params"]["messages"]]}


def result(shape: str, name: str, body: Body, *, status: int = 200, words: str = "") -> dict[str, Any]:
    """What came of a request, in the words of an interface."""
    if "input" in body:
        answer: Body = {"model": "mod-1", "results": [{"category_scores": {"violence": len(body["input"]) / 1e6}}]}
    else:
        answer = honest(body)
    error = {"message": words, "type": f"e{status}", "code": None}
    if shape == "openai":
        whole = {"status_code": status, "body": answer if status == 200 else {"error": error}}
        return {"custom_id": name, "response": whole, "error": None if status == 200 else error}
    if shape == "anthropic":
        kind = "invalid_request_error" if status == 400 else "api_error"
        if status != 200:
            return {
                "custom_id": name,
                "result": {"type": "errored", "error": {"error": {"type": kind, "message": words}}},
            }
        usage = answer["usage"]
        message = {
            "model": answer["model"],
            "content": [{"type": "text", "text": answer["choices"][0]["message"]["content"]}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
        }
        return {"custom_id": name, "result": {"type": "succeeded", "message": message}}
    if status != 200:
        return {"metadata": {"key": name}, "error": {"code": 3 if status == 400 else 13, "message": words}}
    response = {
        "candidates": [
            {"content": {"parts": [{"text": answer["choices"][0]["message"]["content"]}]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": len(prompt_of(body)) // 4, "candidatesTokenCount": 10},
        "modelVersion": answer["model"],
    }
    return {"metadata": {"key": name}, "response": response}
