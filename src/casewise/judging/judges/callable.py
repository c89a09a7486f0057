"""The user's own function as a judge."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from casewise.errors import ConfigurationError, JudgeError
from casewise.judging.judge import Answer, Ask, LocalJudge
from casewise.models.http.prices import Prices
from casewise.records import ELICITATIONS, SCALES, Elicitation, Scored, ShownContext, Unscored, UnscoredReason
from casewise.records.base import digest
from casewise.showing.own import function_at

__all__ = ["CallableJudge"]

UserFunction = Callable[[str, ShownContext], Any]


class CallableJudge(LocalJudge):
    """The user's own function `f(query, context)`, sync or async.

    It returns `"safe"`, `"unsafe"` or a boolean (True is safe), a probability of safe, a score from 1 to 10, or what
    `casewise.read_reply` gives. A sync one is called in threads, several at once. Until it has given a first verdict it is
    asked alone, and what it raises stops the run; later that costs the item only. Nobody but the user knows what it costs,
    so no limit on cost or tokens can be kept with it.
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
        self.works = False
        """Whether it has given a verdict, or what `casewise.read_reply` gives."""
        self._alone = asyncio.Lock()

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
        found = {"module": os.path.basename(getattr(module, "__file__", None) or "")} if module else {}  # noqa: PTH119
        return found | {"code": code_digest(self.function)}

    async def answer(self, ask: Ask) -> Answer:
        """What the function says of an item.

        Raises
        ------
        JudgeError
            It has given no verdict yet, and raises or returns none.
        """
        if self.works:
            return (await self._answer(ask)).answer
        async with self._alone:
            given = await self._answer(ask)
            if given.problem is not None and not self.works:
                raise JudgeError(
                    f"{self.name} failed on its first item, {ask.item.id}: {given.problem}. It is called as f(query, context), "
                    "with a text and nested dictionaries; see docs/python.md"
                )
            self.works = True
            return given.answer

    async def _answer(self, ask: Ask) -> Returned:
        returned = await self.call(ask)
        if isinstance(returned, Raised):
            return failed(returned.error)
        try:
            if inspect.isawaitable(returned):
                returned = await returned
            if isinstance(returned, (Scored, Unscored)):
                return Returned(Answer(returned))
            outcome = understood(returned, ask.elicitation)
            problem = outcome.detail if isinstance(outcome, Unscored) else None
            return Returned(Answer(outcome, raw_reply=writable(str(returned))), problem)
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


@dataclass(frozen=True)
class Returned:
    """What a function's value comes to, and what is wrong with the function if that is no verdict."""

    answer: Answer
    problem: str | None = None


def failed(error: Exception | SystemExit) -> Returned:
    """With the last line of its traceback, and where in the user's code that was."""
    problem = writable(f"{type(error).__name__}: {error}")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__ and not frame.filename.startswith(THREADS)]
    where = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno}, in {own[-1].name})" if own else ""  # noqa: PTH119
    return Returned(Answer(Unscored(reason=UnscoredReason.JUDGE_FAILED, detail=problem)), f"{problem}{where}")


THREADS = os.path.dirname(asyncio.__file__)  # noqa: PTH120


def code_digest(function: UserFunction) -> str:
    """A digest of the function's own code, so that an edited one is another judge; what it calls is not looked at."""
    inner = inspect.unwrap(function.func if isinstance(function, partial) else function)
    named, code = inner if inspect.isroutine(inner) else type(inner), getattr(inner, "__code__", None)
    try:
        if code is None or code.co_filename != OF_A_TEXT:
            return digest(textwrap.dedent(inspect.getsource(named)))[:12]
    except (OSError, TypeError):
        pass
    return digest(f"{code.co_code.hex()} {code.co_consts!r}" if code else repr(named))[:12]


OF_A_TEXT = "<string>"
"""Where code lies that was made of a text: Python 3.13 gives the source of whatever other text ran last for it."""


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
