"""What a judge is, and the judges that need no network."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol

import numpy as np

from casewise.errors import JudgeError
from casewise.records import (
    ELICITATIONS,
    FULL,
    Arm,
    Context,
    Elicitation,
    Item,
    Query,
    Scored,
    ShownContext,
    Unscored,
    UnscoredReason,
)

__all__ = ["Answer", "Ask", "CallableJudge", "ConstantJudge", "Judge", "LocalJudge"]


@dataclass(frozen=True)
class Ask:
    """What a judge is asked: an item, how it is shown, and how the answer is to be given."""

    item: Item
    query: Query
    context: Context | None
    arm: Arm = FULL
    elicitation: Elicitation = "binary"
    repeat: int = 0
    attempt: int = 0

    @property
    def shown(self) -> ShownContext:
        """What the judge sees of the context; empty when that is nothing."""
        return self.arm.show(self.context)

    @property
    def key(self) -> tuple[str, ...]:
        """Tells this ask from every other of the same judge."""
        return (self.item.id, self.elicitation, self.arm.name, str(self.repeat), str(self.attempt))


@dataclass(frozen=True)
class Answer:
    """What a judge replied, and what the reply came to."""

    outcome: Scored | Unscored
    raw_reply: str | None = None
    latency_s: float | None = None
    model_version: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    shared_with: str | None = None
    detail: dict[str, Any] | None = None


class Judge(Protocol):
    """Turns an item, shown in an arm, into an outcome.

    A judge never raises because of one item: what gives no verdict is an `Unscored` answer. It raises a
    `casewise.errors.ModelError` when no further item can succeed either.
    """

    @property
    def id(self) -> str:
        """Tells this judge from every other; holds the versions of its prompts."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def elicitations(self) -> tuple[Elicitation, ...]:
        """How it can be asked; the first is the default."""

    @property
    def arms(self) -> tuple[Arm, ...]:
        """How items are shown to it unless the user says otherwise."""

    def settings(self) -> dict[str, Any]:
        """What else its answers depend on, as JSON values; part of a run's identity."""

    def notes(self) -> tuple[str, ...]:
        """What a reader of its report must know about it."""

    async def answer(self, ask: Ask) -> Answer:
        """The judge's answer."""

    async def close(self) -> None:
        """Let go of connections and memory."""


class LocalJudge:
    """What judges without a network have in common: nothing to close, nothing to set."""

    arms: tuple[Arm, ...] = (FULL,)

    def settings(self) -> dict[str, Any]:
        return {}

    def notes(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        return


class ConstantJudge(LocalJudge):
    """Always the same verdict, or always the author's intent: floors that every report should be held against."""

    elicitations: tuple[Elicitation, ...] = ("binary",)

    def __init__(self, what: Literal["safe", "unsafe", "intended"]) -> None:
        self.what = what
        self.id = self.name = f"constant:{what}"

    async def answer(self, ask: Ask) -> Answer:
        if self.what != "intended":
            return Answer(Scored(value=float(self.what == "safe")))
        if ask.context is None:
            return Answer(
                Unscored(reason=UnscoredReason.JUDGE_FAILED, detail="an item without a context has no intent")
            )
        return Answer(Scored(value=float(ask.context.intended_safe)))


Returned = bool | str | float
UserFunction = Callable[[str, ShownContext], Any]

RANGES: Mapping[Elicitation, tuple[float, float]] = {"probability": (0, 1), "score": (1, 10)}


class CallableJudge(LocalJudge):
    """The user's own function `f(query, context)`, sync or async.

    It returns `"safe"`, `"unsafe"` or a boolean (True is safe), a probability of safe, or a score from 1 to 10.
    """

    def __init__(self, function: UserFunction, *, name: str, elicitation: Elicitation | None = None) -> None:
        self.function = function
        self.id = self.name = name
        said = elicitation or getattr(function, "elicitation", None)
        if said is not None and said not in ELICITATIONS:
            raise JudgeError(f"{name} says its elicitation is {said!r}; it can be {', '.join(ELICITATIONS)}")
        self.elicitations: tuple[Elicitation, ...] = (said,) if said else ("binary", "probability", "score", "scalar")

    @classmethod
    def named(cls, where: str, *, elicitation: Elicitation | None = None) -> CallableJudge:
        """The function `module:function`, looked for in the working folder too.

        Raises
        ------
        JudgeError
            There is no such module or function, or importing it fails.
        """
        module_name, _, function_name = where.partition(":")
        if not module_name or not function_name:
            raise JudgeError(f"'python:{where}' is not python:MODULE:FUNCTION")
        function = getattr(imported(module_name), function_name, None)
        if not callable(function):
            raise JudgeError(f"module {module_name!r} has no function {function_name!r}")
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
            return Answer(understood(returned, ask.elicitation), raw_reply=writable(str(returned)))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's code may raise anything; that item is unscored)
            return failed(error)

    async def call(self, ask: Ask) -> Any:
        """What the function returned or raised; a coroutine of its own is not awaited yet."""
        if inspect.iscoroutinefunction(self.function):
            return self.function(ask.query.text, ask.shown)
        return await asyncio.to_thread(caught, self.function, ask.query.text, ask.shown)


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


def imported(name: str) -> ModuleType:
    """The module called `name`, looked for in the working folder too.

    Raises
    ------
    JudgeError
        There is no such module, or importing it fails.
    """
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise JudgeError(f"cannot import {name!r}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)


def understood(returned: Any, elicitation: Elicitation) -> Scored | Unscored:
    """What a user's function returned, as an outcome."""
    if elicitation == "binary":
        return binary(returned)
    if isinstance(returned, (bool, np.bool_, str)) or not hasattr(returned, "__float__"):
        return Unscored(reason=UnscoredReason.UNPARSED, detail=writable(f"returned {returned!r}, not a number"))
    value = float(returned)
    low, high = RANGES.get(elicitation, (float("-inf"), float("inf")))
    if not low <= value <= high or value in (float("inf"), float("-inf")):
        return Unscored(reason=UnscoredReason.OUT_OF_RANGE, detail=f"returned {value!r}, outside {low:g} to {high:g}")
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
