"""The gateway in front of a real MCP server: a refused call never reaches its tool."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import casewise
from casewise.api.deciding import Requirements, fit_decider
from casewise.deciding.decider import Decider
from casewise.storage.actions import arguments_digest
from casewise.web.deciding import create_service

mcp = pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from mcp import Client, StdioServerParameters  # noqa: E402
from mcp.types import ElicitResult, TextContent  # noqa: E402

pytestmark = pytest.mark.mcp

EXAMPLE = Path(__file__).parents[2] / "examples" / "tool_gateway"

EMAIL = {"to": "boss@example.org", "subject": "Anna", "body": "She is ill."}


def rule() -> Callable[[str, dict[str, dict[str, str]]], str]:
    """The rule of the example."""
    found: Callable[[str, dict[str, dict[str, str]]], str] = load("rule").permission
    return found


def load(name: str) -> Any:
    """A module of the example."""
    spec = importlib.util.spec_from_file_location(f"tool_gateway_{name}", EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def decider(tmp_path_factory: pytest.TempPathFactory) -> Decider:
    folder = tmp_path_factory.mktemp("decider")
    permission = rule()
    run = casewise.judge("demo-actions", permission, elicitations="permission", out=folder / "run")
    wanted = Requirements(ratio=2, ask_cost=0.2)
    fit_decider(run, wanted, judge=permission).save(folder / "decider.json")
    return Decider.load(folder / "decider.json", judge=permission)


@asynccontextmanager
async def agent(
    decider: Decider, log: Path, consents: list[str], *, down: bool = False, asks: bool = True, mode: str = "auto"
) -> AsyncIterator[Any]:
    """An agent's client of the gateway, which stands before the real server and asks the real service."""
    import httpx2

    async def answer(_context: Any, params: Any) -> ElicitResult:
        consents.append(params.message)
        return ElicitResult(action="accept" if len(consents) == 1 else "decline", content={})

    def broken(_request: Any) -> Any:
        raise httpx2.ConnectError("down")

    transport: Any = httpx2.MockTransport(broken) if down else httpx2.ASGITransport(app=create_service(decider))
    behind = StdioServerParameters(command=sys.executable, args=[str(EXAMPLE / "notes_server.py"), str(log)])
    async with (
        httpx2.AsyncClient(base_url="http://decider", transport=transport) as service,
        Client(behind) as upstream,
    ):
        gateway = load("gateway").Gateway(upstream, service, "an assistant in the user's home")
        async with Client(gateway.server(), elicitation_callback=answer if asks else None, mode=mode) as client:
            yield client


def walked(
    decider: Decider, log: Path, steps: Callable[[Any, list[str]], Coroutine[Any, Any, None]], **options: Any
) -> list[str]:
    """The names of the tools that were really called."""

    async def walk() -> None:
        consents: list[str] = []
        async with agent(decider, log, consents, **options) as client:
            await steps(client, consents)

    asyncio.run(walk())
    return [json.loads(line)["tool"] for line in log.read_text().splitlines()] if log.exists() else []


def meta(recipient: str, purpose: str = "to plan the day") -> dict[str, str]:
    return {"casewise/recipient": recipient, "casewise/purpose": purpose}


@pytest.mark.slow
def test_an_allowed_call_reaches_its_tool_and_a_denied_one_does_not(decider: Decider, tmp_path: Path):
    async def steps(client: Any, _consents: list[str]) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["set_thermostat", "send_email", "pay_invoice"]
        warm = await client.call_tool(
            "set_thermostat", {"room": "kitchen", "degrees": 20}, meta=meta("the user's own room")
        )
        assert not warm.is_error
        assert isinstance(warm.content[0], TextContent)
        assert warm.content[0].text == "set_thermostat is done"
        ill = await client.call_tool("send_email", EMAIL, meta=meta("the employer of Anna", "a colleague asked"))
        assert ill.is_error
        assert "(decision " in ill.content[0].text

    assert walked(decider, tmp_path / "calls.jsonl", steps) == ["set_thermostat"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_is_asked_about_reaches_its_tool_only_with_the_users_consent(decider: Decider, tmp_path: Path, mode: str):
    """By a question as the result, and by one from server to client, as clients of ClientSession.initialize() know it."""

    async def steps(client: Any, consents: list[str]) -> None:
        bill = {"to": "Green Garden Ltd", "amount": "180 EUR"}
        paid = await client.call_tool("pay_invoice", bill, meta=meta("the gardener"))
        assert not paid.is_error
        assert "amount: 180 EUR" in consents[0]
        again = await client.call_tool("pay_invoice", {**bill, "amount": "900 EUR"}, meta=meta("the gardener"))
        assert again.is_error
        assert len(consents) == 2

    assert walked(decider, tmp_path / "calls.jsonl", steps, mode=mode) == ["pay_invoice"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_that_cannot_ask_its_user_is_told_that_a_person_has_to_allow(
    decider: Decider, tmp_path: Path, mode: str
):
    async def steps(client: Any, _consents: list[str]) -> None:
        bill = {"to": "Green Garden Ltd", "amount": "180 EUR"}
        result = await client.call_tool("pay_invoice", bill, meta=meta("the gardener"))
        assert result.is_error
        assert "a person has to allow this call" in result.content[0].text
        assert "(decision " in result.content[0].text

    assert walked(decider, tmp_path / "calls.jsonl", steps, asks=False, mode=mode) == []


@pytest.mark.slow
def test_a_call_is_denied_where_the_service_is_down(decider: Decider, tmp_path: Path):
    async def steps(client: Any, _consents: list[str]) -> None:
        result = await client.call_tool("set_thermostat", {"room": "kitchen", "degrees": 20}, meta=meta("the user"))
        assert result.is_error
        assert "no decision" in result.content[0].text

    assert walked(decider, tmp_path / "calls.jsonl", steps, down=True) == []


def test_the_gateway_has_at_most_250_lines():
    assert sum(len(path.read_text().splitlines()) for path in EXAMPLE.glob("*.py")) <= 250


def test_the_digest_of_arguments_does_not_depend_on_their_order():
    assert arguments_digest({"a": 1, "b": "ü"}) == arguments_digest({"b": "ü", "a": 1})
    assert arguments_digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
