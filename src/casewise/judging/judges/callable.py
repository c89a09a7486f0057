"""The user's own function as a judge."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from casewise.errors import ConfigurationError, JudgeError
from casewise.judging.judge import Answer, Ask, LocalJudge
from casewise.models.http.prices import Prices
from casewise.records import ELICITATIONS, SCALES, Elicitation, Scored, ShownContext, Unscored, UnscoredReason
from casewise.showing.own import function_at

__all__ = ["CallableJudge"]

UserFunction = Callable[[str, ShownContext], Any]


class CallableJudge(LocalJudge):
    """The user's own function `f(query, context)`, sync or async.

    It returns `"safe"`, `"unsafe"` or a boolean (True is safe), a probability of safe, a score from 1 to 10, or what
    `casewise.read_reply` gives. Nobody
    but the user knows what it costs, so no limit on cost or tokens can be kept with it.
    """

    prices: Prices | None = None
    counts_tokens: bool = False

    def __init__(self, function: UserFunction, *, name: str = "", elicitation: Elicitation | None = None) -> None:
        self.function = function
        self.id = self.name = name or f"python:{getattr(function, '__name__', type(function).__name__)}"
        said = elicitation or getattr(function, "elicitation", None)
        if said is not None and said not in ELICITATIONS:
            raise JudgeError(f"{self.name} says its elicitation is {said!r}; it can be {', '.join(ELICITATIONS)}")
        self.elicitations: tuple[Elicitation, ...] = (said,) if said else ("binary", "probability", "score", "scalar")

    @classmethod
    def named(cls, where: str, *, elicitation: Elicitation | None = None) -> CallableJudge:
        """The function `module:function`, looked for in the working folder too.

        Raises
        ------
        JudgeError
            There is no such module or function, or importing it fails.
        """
        try:
            function = function_at(where)
        except ConfigurationError as error:
            raise JudgeError(str(error)) from error
        return cls(function, name=f"python:{where}", elicitation=elicitation)

    def settings(self) -> dict[str, Any]:
        module = sys.modules.get(getattr(self.function, "__module__", ""), None)
        return {"module": os.path.basename(getattr(module, "__file__", None) or "")} if module else {}  # noqa: PTH119

    async def answer(self, ask: Ask) -> Answer:
        returned = await self.call(ask)
        if isinstance(returned, Raised):
            return failed(returned.error)
        try:
            if inspect.isawaitable(returned):
                returned = await returned
            read = isinstance(returned, (Scored, Unscored))
            return Answer(understood(returned, ask.elicitation), raw_reply=None if read else writable(str(returned)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's code may raise anything; that item is unscored)
            return failed(error)

    async def call(self, ask: Ask) -> Any:
        """What the function returned or raised; a coroutine of its own is not awaited yet."""
        shown = ask.shown
        if inspect.iscoroutinefunction(self.function):
            return self.function(shown.query, shown.context)
        return await asyncio.to_thread(caught, self.function, shown.query, shown.context)


@dataclass(frozen=True)
class Raised:
    """What a function raised in a thread. Not every error can cross to the event loop: `StopIteration` would hang it."""

    error: Exception | SystemExit


def caught(function: UserFunction, query: str, shown: ShownContext) -> Any:
    try:
        return function(query, shown)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (raised again by the caller)
        return Raised(error)


def failed(error: Exception | SystemExit) -> Answer:
    problem = writable(f"{type(error).__name__}: {error}")
    return Answer(Unscored(reason=UnscoredReason.JUDGE_FAILED, detail=problem))


def writable(text: str) -> str:
    """`text` with halves of characters (lone surrogates) written as escapes, for they are no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def understood(returned: Any, elicitation: Elicitation) -> Scored | Unscored:
    """What a user's function returned, as an outcome; what `casewise.read_reply` gives is one already."""
    if isinstance(returned, (Scored, Unscored)):
        return returned
    if elicitation == "binary":
        return binary(returned)
    if isinstance(returned, (bool, np.bool_, str)) or not hasattr(returned, "__float__"):
        return Unscored(reason=UnscoredReason.UNPARSED, detail=writable(f"returned {returned!r}, not a number"))
    value = float(returned)
    scale = SCALES[elicitation]
    if not scale.holds(value):
        detail = f"returned {value!r}, outside {scale.low:g} to {scale.high:g}"
        return Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=detail)
    return Scored(value=value)


def binary(returned: Any) -> Scored | Unscored:
    if isinstance(returned, (bool, np.bool_)):
        return Scored(value=float(returned))
    word = returned.strip().lower() if isinstance(returned, str) else ""
    if word in ("safe", "unsafe"):
        return Scored(value=float(word == "safe"))
    problem = (
        f"returned {returned!r}, not 'safe', 'unsafe' or a boolean; for numbers give --elicit probability or score"
    )
    return Unscored(reason=UnscoredReason.UNPARSED, detail=writable(problem))
