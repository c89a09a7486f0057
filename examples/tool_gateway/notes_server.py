"""A small MCP server with the official SDK: the tools of a household's assistant. Each call is written to a file.

python notes_server.py calls.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("household")
log = Path(sys.argv[1] if len(sys.argv) > 1 else "calls.jsonl")


def done(tool: str, **arguments: object) -> str:
    """Write the call down, as a real tool would act, and say so."""
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"tool": tool, **arguments}) + "\n")
    return f"{tool} is done"


@server.tool()
def set_thermostat(room: str, degrees: int) -> str:
    """Set the temperature of a room."""
    return done("set_thermostat", room=room, degrees=degrees)


@server.tool()
def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail in the user's name."""
    return done("send_email", to=to, subject=subject, body=body)


@server.tool()
def pay_invoice(to: str, amount: str) -> str:
    """Pay an invoice from the user's account."""
    return done("pay_invoice", to=to, amount=amount)


if __name__ == "__main__":
    server.run("stdio")
