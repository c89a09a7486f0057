"""Where Prolific tells by itself what became of a submission."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from casewise.errors import StudyError
from casewise.studies.monitor import take_told
from casewise.studies.prolific import is_recent, is_signed, read_event
from casewise.web.pages import database_of, now
from casewise.web.security import HOOKS_PATH
from casewise.web.study import vault_of

router = APIRouter()
LONGEST_ID = 100


@router.post(HOOKS_PATH)
async def told(request: Request, at: Annotated[datetime, Depends(now)]) -> Response:
    """Take what is signed, once; 204 also for what was told before, so that it is not told again."""
    secret, sent = request.app.state.settings.hook_secret, request.headers
    body = await request.body()
    if not secret:
        raise HTTPException(404)
    stamp, signature = sent.get("X-Prolific-Request-Timestamp", ""), sent.get("X-Prolific-Request-Signature", "")
    if not is_signed(body, timestamp=stamp, signature=signature, secret=secret):
        raise HTTPException(403, "This is not signed with the secret of our workspace.")
    if not is_recent(stamp, now=at):
        raise HTTPException(403, "This was signed too long ago.")
    event_id = sent.get("X-Event-ID", "")
    try:
        event = read_event(body)
    except StudyError as error:
        raise HTTPException(400, str(error)) from None
    if not 0 < len(event_id) <= LONGEST_ID:
        raise HTTPException(400, "An event has an X-Event-ID.")
    if event is not None:
        vault = vault_of(request)

        def keep() -> None:
            with database_of(request).write() as connection:
                take_told(connection, event, event_id=event_id, vault=vault, now=at)

        await run_in_threadpool(keep)
    return Response(status_code=204)
