"""The user's own function as a judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from casewise.errors import ConfigurationError, JudgeError
from casewise.judging.judge import Answer, Ask, LocalJudge
from casewise.models.http.prices import Prices
from casewise.records import ELICITATIONS, SCALES, Elicitation, Scored, Unscored, UnscoredReason
from casewise.records.base import writable
from casewise.showing.user_function import Raised, Tried, UserFunction, function_at

__all__ = ["CallableJudge"]


class CallableJudge(LocalJudge):
    """The user's own function `f(query, context)`, sync or async; `f(query, context, shown)` is given all that is shown.

    It returns `"safe"`, `"unsafe"` or a boolean (True is safe), a probability of safe, a score from 1 to 10, or what
    `casewise.read_reply` gives. A sync one is called in threads, several at once. Until it has given a first verdict it is
    asked alone, and what it raises stops the run; later that costs the item only. Nobody but the user knows what it costs,
    so no limit on cost or tokens can be kept with it.
    """

    prices: Prices | None = None
    counts_tokens: bool = False

    def __init__(self, function: Callable[..., Any], *, name: str = "", elicitation: Elicitation | None = None) -> None:
        self.own = UserFunction(function, name=name)
        self.id = self.name = self.own.name
        self.sees_layouts = self.own.takes("shown")
        said = elicitation or getattr(function, "elicitation", None)
        if said is not None and said not in ELICITATIONS:
            raise JudgeError(f"{self.name} says its elicitation is {said!r}; it can be {', '.join(ELICITATIONS)}")
        self.elicitations: tuple[Elicitation, ...] = (said,) if said else ("binary", "probability", "score", "scalar")

    @classmethod
    def named(cls, where: str, *, elicitation: Elicitation | None = None) -> CallableJudge:
        """The function `module:function`, looked for in the working folder too.

        Raises JudgeError: there is no such module or function, or importing it fails.
        """
        try:
            function = function_at(where)
        except ConfigurationError as error:
            raise JudgeError(str(error)) from error
        return cls(function, name=f"python:{where}", elicitation=elicitation)

    def settings(self) -> dict[str, Any]:
        return self.own.settings()

    async def answer(self, ask: Ask) -> Answer:
        """What the function says of an item.

        Raises JudgeError: it has given no verdict yet, and raises or returns none.
        """
        how = "f(query, context), with a text and nested dictionaries; see docs/python.md"
        return await self.own.first_alone(lambda: self._tried(ask), about=ask.item.id, called_as=how)

    async def _tried(self, ask: Ask) -> Tried[Answer]:
        shown = ask.shown
        returned = await self.own.call(shown.query, shown.context, *([shown] if self.own.takes("shown") else []))
        if isinstance(returned, Raised):
            return failed(returned)
        if isinstance(returned, (Scored, Unscored)):
            return Tried(Answer(returned))
        try:
            outcome = understood(returned, ask.elicitation)
            problem = outcome.detail if isinstance(outcome, Unscored) else None
            return Tried(Answer(outcome, raw_reply=writable(str(returned))), problem)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's value may raise anything when it is written)
            return failed(Raised(error))


def failed(raised: Raised) -> Tried[Answer]:
    unscored = Unscored(reason=UnscoredReason.JUDGE_FAILED, detail=raised.problem)
    return Tried(Answer(unscored), raised.problem_with_place)


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
