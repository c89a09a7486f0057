"""The user's own function as a grader."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from casewise.models.http.prices import Prices
from casewise.records import GROUNDS, OUTCOMES, Ungraded
from casewise.replying.graders.protocol import Graded, LocalGrader, ToGrade

__all__ = ["CallableGrader"]


class CallableGrader(LocalGrader):
    """A function `f(query, reply)`, sync or async, that returns `"answers"`, `"partly"` or `"refuses"`, or a mapping with an
    `outcome` and perhaps a `ground`. Nobody but the user knows what it costs."""

    prices: Prices | None = None
    counts_tokens = False

    def __init__(self, function: Callable[[str, str], Any], *, name: str = "") -> None:
        self.function = function
        self.id = self.name = name or f"python:{getattr(function, '__name__', type(function).__name__)}"

    async def grade(self, what: ToGrade) -> Graded:
        try:
            if inspect.iscoroutinefunction(self.function):
                returned = await self.function(what.query, what.reply)
            else:
                returned = await asyncio.to_thread(self.function, what.query, what.reply)
        except Exception as error:  # noqa: BLE001  (the user's code may raise anything; that reply is ungraded)
            return Graded(ungraded=Ungraded.GRADER_FAILED, detail=f"{type(error).__name__}: {error}")
        return understood(returned)


def understood(returned: Any) -> Graded:
    said = returned if isinstance(returned, dict) else {"outcome": returned}
    outcome, ground = said.get("outcome"), said.get("ground")
    if outcome not in OUTCOMES:
        wanted = ", ".join(repr(name) for name in OUTCOMES)
        return Graded(ungraded=Ungraded.UNPARSED, detail=f"returned {returned!r}; it can be {wanted}"[:200])
    return Graded(outcome, ground=ground if ground in GROUNDS else None, raw_reply=repr(returned)[:2_000])
