"""What every request goes through before anything is done for it."""

from __future__ import annotations

from starlette.requests import Request

from casewise.web.security.csrf import check_csrf
from casewise.web.security.plain_requests import refuse_nul

__all__ = ["check_request"]


async def check_request(request: Request) -> None:
    """Refuse what no page of ours sends. A dependency of the whole app; a route past FastAPI's asks for it itself."""
    await refuse_nul(request)
    await check_csrf(request)
