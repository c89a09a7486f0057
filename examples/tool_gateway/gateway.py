"""A gateway in front of an MCP server: each call of a tool is allowed, denied, or asked about, as a decider of casewise says.

    casewise serve decider.json --port 8790 &
    python gateway.py --service http://127.0.0.1:8790 --caller "an assistant in the user's home" -- python notes_server.py

The gateway is itself an MCP server on stdin and stdout: an agent's program starts it in place of the server behind it. The purpose
of a call and its recipient are given by the agent's program in the request's `_meta`, under `casewise/purpose` and
`casewise/recipient`. A key of the service (casewise serve --keys) stands in CASEWISE_SERVICE_KEY. A call is denied where the service
does not answer, and where it answers about other arguments.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
)

from casewise.storage.actions import arguments_digest

CONSENT = "consent"
"""The name of the question to the user."""

RETURNED_QUESTIONS = "2026-07-28"
"""The first version of the protocol, a date, in which a question to the user is a result, and its answer comes with the call again."""


@dataclass(frozen=True)
class Permission:
    """What the service says of one call."""

    permission: str
    why: str
    id: str = "none"


@dataclass
class Gateway:
    """Stands between an agent and the server whose tools it calls."""

    upstream: Client
    """The server behind the gateway."""
    service: httpx2.AsyncClient
    """casewise's service, by its address."""
    caller: str
    """Whose agent calls, in the words of the contexts that the decider was fitted on."""
    asked: dict[str, str] = field(default_factory=dict)
    """Questions that the user has not answered yet: the id of the decision and the digest of the call's arguments."""

    def server(self) -> Server[Any]:
        """Return the server that the agent talks to."""
        return Server("casewise-gateway", on_list_tools=self.list_tools, on_call_tool=self.call_tool)

    async def list_tools(self, _context: Any, _params: Any) -> ListToolsResult:
        """Return the tools of the server behind."""
        return await self.upstream.list_tools()

    async def call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Call a tool of the server behind where that is allowed, or where the user consents."""
        digest = arguments_digest(params.arguments or {})
        if params.request_state is not None:
            if self.asked.pop(params.request_state, None) != digest:
                return refused("this question was not asked about this call")
            return await self.answered(params, (params.input_responses or {}).get(CONSENT), params.request_state)
        permission = await self.decide(params, digest, context.meta or {})
        self.note(params, permission)
        if permission.permission == "allow":
            return await self.forward(params)
        if permission.permission != "ask":
            return refused(f"{permission.why} (decision {permission.id})")
        if not shows_forms(context.session.client_capabilities):
            why = "a person has to allow this call, and this client cannot ask its user"
            return refused(f"{why} (decision {permission.id})")
        asked = question(params)
        if context.protocol_version >= RETURNED_QUESTIONS:
            self.asked[permission.id] = digest
            requests = {CONSENT: ElicitRequest(params=asked)}
            return InputRequiredResult(input_requests=requests, request_state=permission.id)
        try:
            answer = await context.session.elicit_form(asked.message, asked.requested_schema, context.request_id)
        except MCPError as error:
            return refused(f"a person has to allow this call; none was asked: {error} (decision {permission.id})")
        return await self.answered(params, answer, permission.id)

    async def answered(self, params: CallToolRequestParams, answer: object, decision: str) -> CallToolResult:
        """Call the tool where the user's answer about this call is consent."""
        if isinstance(answer, ElicitResult) and answer.action == "accept":
            return await self.forward(params)
        return refused(f"the user did not agree (decision {decision})")

    async def forward(self, params: CallToolRequestParams) -> CallToolResult:
        return await self.upstream.call_tool(params.name, params.arguments)

    async def decide(self, params: CallToolRequestParams, digest: str, meta: Mapping[str, Any]) -> Permission:
        """Ask the service. Whatever is no clear answer about these arguments is a denial."""
        question = {
            "caller": self.caller,
            "tool": params.name,
            "arguments": params.arguments or {},
            "arguments_digest": digest,
            **{name: meta[key] for name in ("purpose", "recipient") if (key := f"casewise/{name}") in meta},
        }
        try:
            reply = await self.service.post("/v1/calls", json=question)
            found = reply.raise_for_status().json()
            if (found["tool"], found["arguments_digest"]) != (params.name, digest):
                return Permission("deny", "the service decided about another call")
            return Permission(str(found["permission"]), str(found["why"]), str(found["id"]))
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            return Permission("deny", f"the service gave no decision ({type(error).__name__})")

    def note(self, params: CallToolRequestParams, permission: Permission) -> None:
        """Write a decision to stderr, without the arguments."""
        line = {"tool": params.name, "permission": permission.permission, "id": permission.id}
        print(json.dumps(line), file=sys.stderr, flush=True)


def shows_forms(capabilities: ClientCapabilities | None) -> bool:
    """Return whether the client can ask its user with a form; it can where it names no kind of question."""
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def question(params: CallToolRequestParams) -> ElicitRequestFormParams:
    """Return the question to the user about a call."""
    listed = "\n".join(f"{name}: {value}" for name, value in (params.arguments or {}).items())
    schema = {"type": "object", "properties": {}}
    return ElicitRequestFormParams(message=f"May the agent use {params.name}?\n\n{listed}", requested_schema=schema)


def refused(why: str) -> CallToolResult:
    """Return the result of a call that never reached its tool."""
    return CallToolResult(content=[TextContent(type="text", text=f"Not done: {why}")], is_error=True)


async def serve(service: str, caller: str, command: list[str], *, key: str | None = None) -> None:
    """Serve the tools of the server that `command` starts, on stdin and stdout."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    behind = StdioServerParameters(command=command[0], args=command[1:])
    async with (
        httpx2.AsyncClient(base_url=service, headers=headers, timeout=30) as http,
        Client(behind) as upstream,
        stdio_server() as (reading, writing),
    ):
        server = Gateway(upstream, http, caller).server()
        await server.run(reading, writing, server.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--service", required=True, help="address of casewise serve")
    parser.add_argument("--caller", required=True, help="whose agent calls")
    parser.add_argument("command", nargs="+", help="the command of the server behind, after --")
    given = parser.parse_args()
    asyncio.run(serve(given.service, given.caller, given.command, key=os.environ.get("CASEWISE_SERVICE_KEY")))


if __name__ == "__main__":
    main()
