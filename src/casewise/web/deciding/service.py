"""The service: its routes, and what each request goes through before and after the judge is asked."""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from casewise.deciding.decider import Decided, Decider
from casewise.deciding.requests import DecisionRequest
from casewise.deciding.traffic import Sealer, traffic_line
from casewise.errors import CasewiseError, ConfigurationError
from casewise.web.deciding.forms import (
    DecideIn,
    DecideOut,
    ModerationIn,
    ModerationOut,
    Problem,
    decide_out,
    moderation_out,
)
from casewise.web.deciding.metrics import ServiceMetrics
from casewise.web.deciding.options import ServiceOptions, key_digest, keys_in
from casewise.web.security.plain_requests import BodyLimit

__all__ = ["Service", "ServiceOptions", "create_service", "keys_in"]

M = TypeVar("M", bound=BaseModel)

KINDS = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}

MOST_CALLERS = 10_000
"""Whose requests are counted at a time; the longest silent is forgotten first."""


class Service:
    """A decider with what a service needs around it: a limit of time, counts, and a log where one is wanted."""

    def __init__(self, decider: Decider, options: ServiceOptions = ServiceOptions()) -> None:
        self.decider, self.options, self.metrics = decider, options, ServiceMetrics()
        self.sealer = Sealer(options.capture_key) if options.capture_key else None
        self.log = opened(options.capture) if options.capture else None
        self.recent: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def decided(self, request: DecisionRequest) -> Decided:
        """The decision on a request, within the time that it may take."""
        began = time.perf_counter()
        try:
            async with asyncio.timeout(self.options.timeout_s):
                found = await self.decider.decision(request)
        except TimeoutError:
            found = self.decider.failed("timeout")
        self.metrics.took(time.perf_counter() - began)
        self.metrics.count("casewise_decisions_total", decision=found.decision, shadow=str(self.options.shadow).lower())
        if found.failed:
            self.metrics.count("casewise_failures_total", reason=found.failed)
        if found.unmeasured:
            self.metrics.count("casewise_unmeasured_total")
        self.write(request, found)
        return found

    def write(self, request: DecisionRequest, found: Decided) -> None:
        if self.log is None:
            return
        line = traffic_line(request, found, decider=self.decider.hash, shadow=self.options.shadow, sealer=self.sealer)
        try:
            self.log.write(line.line() + "\n")
        except OSError:
            self.metrics.count("casewise_capture_errors_total")

    def admit(self, request: Request) -> None:
        """Refuse who has no key, or has asked too much. Raises HTTPException: 401 or 429."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not self.options.knows(key):
            raise HTTPException(401, "give one of this service's keys as a bearer token")
        if self.options.per_minute is not None:
            host = request.client.host if request.client else ""
            if not self.may(key_digest(key) if self.options.keys else host, time.monotonic()):
                raise HTTPException(429, "too many requests; wait a minute", {"Retry-After": "60"})

    def may(self, caller: str, now: float) -> bool:
        """Whether a caller may ask once more: a bucket that fills evenly, with a minute's worth in it."""
        most = float(self.options.per_minute or 0)
        left, at = self.recent.pop(caller, (most, now))
        left = min(most, left + (now - at) * most / 60)
        self.recent[caller] = (left - 1 if left >= 1 else left, now)
        while len(self.recent) > MOST_CALLERS:
            self.recent.popitem(last=False)
        return left >= 1

    def problem(self, request: Request, status: int, message: str, headers: Any = None) -> Response:
        """An error, in the one form that they have, counted."""
        known = request.url.path if request.url.path in {"/v1/decide", "/v1/moderations"} else "other"
        self.metrics.count("casewise_requests_total", route=known, status=str(status))
        said = {"message": message, "type": KINDS.get(status, "invalid_request_error"), "code": status}
        return JSONResponse({"error": said}, status, headers)

    async def close(self) -> None:
        """Let go of the judge and the log."""
        await self.decider.judge.close()
        if self.log is not None:
            self.log.close()


def opened(path: Path) -> TextIO:
    """A log to add lines to, readable by its owner alone. Raises ConfigurationError: it cannot be written."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if path.is_file():  # and no pipe or terminal
            path.chmod(0o600)
    except OSError as error:
        raise ConfigurationError(f"--capture {path}: cannot be written: {error}") from error
    return os.fdopen(descriptor, "a", encoding="utf-8", buffering=1)


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": what}
    for status, what in (
        (400, "No request"),
        (401, "No key"),
        (405, "Another method"),
        (413, "Too long"),
        (422, "Not of this form"),
        (429, "Too many"),
    )
}


REFERENCE = "#/components/schemas/{model}"


def body_of(form: type[BaseModel]) -> dict[str, Any]:
    """What the API's description says of a body that is read by hand."""
    content = {"application/json": {"schema": {"$ref": REFERENCE.format(model=form.__name__)}}}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The API's description, with the forms of bodies."""
    found = FastAPI.openapi(app)
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    for form in (DecideIn, ModerationIn):
        schema = form.model_json_schema(ref_template=REFERENCE)
        schemas |= schema.pop("$defs", {})
        schemas[form.__name__] = schema
    return found


def create_service(decider: Decider, options: ServiceOptions = ServiceOptions()) -> FastAPI:
    """The service as an ASGI app."""
    service = Service(decider, options)

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[None]:
        gc.collect()
        gc.freeze()  # what is loaded stays: to look through it again took a tenth of a second each time, at any request
        yield
        gc.unfreeze()
        await service.close()

    app = FastAPI(title="casewise decider", redoc_url=None, docs_url=None, lifespan=running, redirect_slashes=False)
    app.state.service = service
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]  # as FastAPI's documentation has it
    answers = add_routes(app, service)
    add_problems(app, service)
    app.add_middleware(Straight, service=service, answers=answers)
    app.add_middleware(BodyLimit)
    return app


Answer = Callable[[Request], Awaitable[Response]]


def add_routes(app: FastAPI, service: Service) -> dict[str, Answer]:
    """The app's routes; those that decide are returned by their paths."""
    decider, options = service.decider, service.options

    @app.post("/v1/decide", response_model=DecideOut, responses=PROBLEMS, openapi_extra=body_of(DecideIn))
    async def decide(request: Request) -> Response:
        service.admit(request)
        asked = await read(request, DecideIn, DecideIn.request)
        found = await service.decided(asked)
        return answered(service, "/v1/decide", decide_out(decider, found, shadow=options.shadow))

    @app.post("/v1/moderations", response_model=ModerationOut, responses=PROBLEMS, openapi_extra=body_of(ModerationIn))
    async def moderations(request: Request) -> Response:
        service.admit(request)
        asked = await read(request, ModerationIn, ModerationIn.requests)
        found = list(await asyncio.gather(*(service.decided(one) for one in asked)))
        out = moderation_out(decider, found, shadow=options.shadow, ask_flags=options.ask_as == "flagged")
        return answered(service, "/v1/moderations", out)

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        """Whether the service runs, and which decider it serves."""
        return {"status": "ok", "decider": decider.hash, "judge": decider.file.judge.name}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> PlainTextResponse:
        """What has happened, for Prometheus."""
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")

    return {"/v1/decide": decide, "/v1/moderations": moderations}


class Straight:
    """Takes requests for a decision past FastAPI's routing, which describes them and took a third of their time."""

    def __init__(self, app: ASGIApp, *, service: Service, answers: Mapping[str, Answer]) -> None:
        self.app, self.service, self.answers = app, service, answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.answers.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if answer is None:
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            response = await answer(request)
        except StarletteHTTPException as error:
            response = self.service.problem(request, error.status_code, str(error.detail), error.headers)
        except CasewiseError as error:
            response = self.service.problem(request, 422, str(error))
        await response(scope, receive, send)


def answered(service: Service, route: str, out: dict[str, Any]) -> Response:
    service.metrics.count("casewise_requests_total", route=route, status="200")
    return Response(to_json(out), media_type="application/json")


NO_STATEMENT = "a parameter states a text, a number, true or false, or these in a list or under headings"
"""What is said of every statement that is none: what pydantic would say repeats it."""


async def read(request: Request, form: type[M], asked: Callable[[M], Any]) -> Any:
    """What a body asks for; what is wrong with it is said without repeating any of it.

    Raises HTTPException: 422, or 413 by the limit on bodies.
    """
    try:
        return asked(form.model_validate_json(await request.body()))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or str(part) in form.model_fields)
        problem = {"json_invalid": "Invalid JSON", "value_error": NO_STATEMENT}.get(first["type"], first["msg"])
        raise HTTPException(
            400 if first["type"] == "json_invalid" else 422, f"{where}: {problem}" if where else problem
        ) from None


def add_problems(app: FastAPI, service: Service) -> None:
    """Have every error answered in one form."""

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        return service.problem(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(CasewiseError)
    async def said_no(request: Request, error: CasewiseError) -> Response:
        return service.problem(request, 422, str(error))

    @app.exception_handler(Exception)
    async def broken(request: Request, _error: Exception) -> Response:
        return service.problem(request, 500, "Something is broken here.")
