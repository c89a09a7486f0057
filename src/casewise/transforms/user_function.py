"""A user's own function as a judge, a grader or a transform: how it is called, what tells it from another, what it raises."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import CodeType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from casewise.ask.layouts import Scene, ShownItem
from casewise.errors import ConfigurationError, JudgeError
from casewise.records.base import digest, escape_surrogates

A = TypeVar("A")


@dataclass(frozen=True)
class FunctionResult(Generic[A]):
    """The answer that a function's value gives, and the problem with the function where it gives none that can be used."""

    answer: A
    problem: str | None = None


@dataclass(frozen=True)
class FunctionError:
    """An error that a function raised. Not every error can cross from a thread to the event loop: `StopIteration` would hang it."""

    error: Exception | SystemExit

    @property
    def problem(self) -> str:
        """The last line of its traceback."""
        return escape_surrogates(f"{type(self.error).__name__}: {self.error}")

    @property
    def located_problem(self) -> str:
        """The last line of its traceback, with the place in the user's code."""
        frames = traceback.extract_tb(self.error.__traceback__)
        user = [frame for frame in frames if not frame.filename.startswith((CASEWISE, THREADS))]
        place = f" ({Path(user[-1].filename).name}:{user[-1].lineno}, in {user[-1].name})" if user else ""
        return f"{self.problem}{place}"


CASEWISE = str(Path(__file__).parents[1])
THREADS = str(Path(asyncio.__file__).parent)

MOST_AT_ONCE = 32
"""Calls in threads that are waited for at a time."""

MOST_HUNG = 256
"""Maximum number of abandoned calls that have not returned. At this number the function is not called again."""


class UserFunction:
    """A user's function, sync or async. A sync one is called in threads, several at once.

    Until it has given something that can be used it is asked alone, and what is wrong with it stops the run: a function that
    cannot work should not fail on every item of a benchmark.
    """

    def __init__(self, function: Callable[..., Any], *, name: str = "") -> None:
        self.function = function
        self.name = name or f"python:{getattr(function, '__name__', type(function).__name__)}"
        self.works = False
        """True if it has given something that can be used."""
        self._alone = asyncio.Lock()
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._left: list[threading.Thread] = []

    def settings(self) -> dict[str, Any]:
        """Return its module's file and a digest of its own code, as JSON values."""
        module = sys.modules.get(getattr(self.function, "__module__", ""), None)
        settings = {"module": Path(getattr(module, "__file__", None) or "").name} if module else {}
        return settings | {"code": code_digest(self.function)}

    @cached_property
    def parameters(self) -> tuple[str, ...] | None:
        """Return the names of its positional parameters; None where it takes any number, or they cannot be known."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):  # some built-in callables have no signature
            return None
        if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
            return None
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return tuple(parameter.name for parameter in parameters if parameter.kind in positional)

    @property
    def third_parameter(self) -> str | None:
        """The name of its third parameter; None if it has none."""
        return next(iter((self.parameters or ())[2:3]), None)

    @property
    def is_async(self) -> bool:
        """True if it is async, so that it needs an event loop."""
        call = self.function if inspect.isroutine(self.function) else type(self.function).__call__
        return inspect.iscoroutinefunction(call)

    async def call(self, *arguments: Any) -> Any:
        """Return the function's result for `arguments`, or the `FunctionError` that it raised."""
        try:
            if inspect.iscoroutinefunction(self.function):
                return await self.function(*arguments)
            if is_outside_loop():  # nobody else waits, so no thread is worth its time
                returned = call_and_catch(self.function, arguments)
            else:
                returned = await self._in_thread(arguments)
            return await returned if inspect.isawaitable(returned) else returned
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's code may raise anything)
            return FunctionError(error)

    async def _in_thread(self, arguments: tuple[Any, ...]) -> Any:
        """Return what the function returns in a thread of its own. A call that hangs, once it is cancelled, delays no other."""
        loop = asyncio.get_running_loop()
        async with self._slots.setdefault(loop, asyncio.Semaphore(MOST_AT_ONCE)):
            if (hung := self.n_hung) >= MOST_HUNG:
                return FunctionError(TimeoutError(f"{hung} calls have not returned"))
            result: asyncio.Future[Any] = loop.create_future()

            def work() -> None:
                returned = call_and_catch(self.function, arguments)
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(lambda: None if result.done() else result.set_result(returned))

            thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
            thread.start()
            try:
                return await result
            except asyncio.CancelledError:
                self._left.append(thread)
                raise

    @property
    def n_hung(self) -> int:
        """Return the number of abandoned calls in threads that have not returned."""
        self._left = [thread for thread in self._left if thread.is_alive()]
        return len(self._left)

    async def ask(
        self,
        arguments: tuple[Any, ...],
        read: Callable[[Any], FunctionResult[A]],
        failed: Callable[[str], A],
        *,
        about: str,
        called_as: str,
    ) -> A:
        """Return the answer that `read` finds in the function's value, or the answer for an error that it raised.

        Raises JudgeError: the function has given nothing yet that can be used, and does not now; the message says what
        is wrong `about` which item, and how it is `called_as`.
        """
        if self.works:
            return (await self._tried(arguments, read, failed)).answer
        async with self._alone:
            returned = await self._tried(arguments, read, failed)
            if returned.problem is not None and not self.works:
                raise JudgeError(
                    f"{self.name} failed on its first item, {about}: {returned.problem}. It is called as {called_as}"
                )
            self.works = True
            return returned.answer

    async def _tried(
        self, arguments: tuple[Any, ...], read: Callable[[Any], FunctionResult[A]], failed: Callable[[str], A]
    ) -> FunctionResult[A]:
        returned = await self.call(*arguments)
        if not isinstance(returned, FunctionError):
            try:
                return read(returned)
            except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's value may raise anything when it is written)
                returned = FunctionError(error)
        return FunctionResult(failed(returned.problem), returned.located_problem)


def is_outside_loop() -> bool:
    """Return whether this thread has no event loop at work."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def call_and_catch(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (told to whoever asked)
        return FunctionError(error)


def code_digest(function: Callable[..., Any]) -> str:
    """Return a digest of the function's own code, so that an edited one is another; what it calls is not looked at."""
    inner = inspect.unwrap(function.func if isinstance(function, partial) else function)
    named, code = inner if inspect.isroutine(inner) else type(inner), getattr(inner, "__code__", None)
    try:
        if code is None or code.co_filename != COMPILED_TEXT:
            place = ""
            if code is not None and code.co_name == "<lambda>":  # a source is whole lines, which may hold several
                last_column = max(end or 0 for *_, end in code.co_positions())
                place = str(
                    last_column or code.co_consts
                )  # from Python 3.12 on, one that returns a constant has no columns
            return digest(f"{textwrap.dedent(inspect.getsource(named))}{place}")[:12]
    except (OSError, TypeError):
        pass
    defaults = [getattr(inner, "__defaults__", None), getattr(inner, "__kwdefaults__", None)]
    return digest([code_parts(code), *map(repr, defaults)] if code else repr(named))[:12]


def code_parts(code: CodeType) -> list[Any]:
    """Return what a code object does, the same in every process: its bytes, names and constants, and those of inner functions."""

    def constant(value: object) -> object:
        if isinstance(value, CodeType):
            return code_parts(value)
        return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)

    return [code.co_code.hex(), code.co_names, code.co_freevars, list(map(constant, code.co_consts))]


COMPILED_TEXT = "<string>"
"""The file name of code that was made of a text. Python 3.13 gives the source of whatever other text ran last for
it."""


def load_function(where: str) -> Callable[..., Any]:
    """Return the function `MODULE:FUNCTION`, looked for in the working folder too.

    Raises ConfigurationError: there is no such module or function, or importing it fails.
    """
    module_name, _, function_name = where.partition(":")
    if not module_name or not function_name:
        raise ConfigurationError(f"'python:{where}' is not python:MODULE:FUNCTION")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ConfigurationError(f"module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]  # it is callable


def apply_user_function(shown: ShownItem, scene: Scene, argument: str) -> ShownItem:
    """Return the result of the user's function `f(shown, scene)`."""
    returned = load_function(argument)(shown, scene)
    if not isinstance(returned, ShownItem):
        raise TypeError(f"it returned {returned!r}, not a ShownItem")
    return returned
