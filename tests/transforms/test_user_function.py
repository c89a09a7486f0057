"""A user's own function: how it is called, what tells it from another, and what becomes of its errors."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from contextvars import ContextVar
from functools import partial

import pytest

from casewise.ask.layouts import Scene, ShownItem
from casewise.errors import ConfigurationError, JudgeError
from casewise.records import Query
from casewise.transforms import user_function
from casewise.transforms.user_function import (
    FunctionError,
    FunctionResult,
    UserFunction,
    apply_user_function,
    code_digest,
    code_parts,
    is_outside_loop,
    load_function,
)


def fails(query):
    raise ValueError(f"no {query}")


async def later(query):
    await asyncio.sleep(0)
    return query


class Callable:
    def __call__(self, query):
        return query


class Later:
    """Returns a coroutine without being a coroutine function."""

    def __call__(self, query):
        return later(query)


class AsyncCallable:
    async def __call__(self, query):
        return query


def called(function, *arguments):
    """What a call from an event loop gives."""
    return asyncio.run(UserFunction(function).call(*arguments))


def called_outside_loop(function, *arguments):
    """The same where no event loop is at work, so that nothing may wait."""
    with pytest.raises(StopIteration) as stop:
        UserFunction(function).call(*arguments).send(None)
    return stop.value.value


@pytest.mark.parametrize("function", [len, later, partial(later), AsyncCallable(), Later()])
def test_a_function_gives_its_value_whether_it_is_async_or_not(function):
    assert called(function, "abc") == (3 if function is len else "abc")


def test_a_sync_function_is_called_in_a_thread_of_its_own_where_a_loop_is_at_work():
    def thread():
        return threading.current_thread()

    assert called(thread) is not threading.main_thread()
    assert called_outside_loop(thread) is threading.current_thread()


def test_a_function_in_a_thread_sees_the_context_variables_of_its_caller():
    variable = ContextVar("variable", default="unset")

    async def ask():
        variable.set("set")
        return await UserFunction(variable.get).call()

    assert asyncio.run(ask()) == "set"


def test_whether_a_loop_is_at_work_is_known():
    async def inside():
        return is_outside_loop()

    assert is_outside_loop()
    assert not asyncio.run(inside())


@pytest.mark.parametrize("call", [called, called_outside_loop])
def test_an_error_is_a_value_with_its_last_line_and_its_place(call):
    error = call(fails, "use")

    assert isinstance(error, FunctionError)
    assert error.problem == "ValueError: no use"
    assert error.located_problem == (
        f"ValueError: no use (test_user_function.py:{fails.__code__.co_firstlineno + 1}, in fails)"
    )


def test_an_error_without_a_line_of_the_users_has_no_place():
    assert called(int, "x").located_problem == called(int, "x").problem


def test_text_that_cannot_be_written_is_escaped_in_a_problem():
    assert called(fails, "\ud800").problem == r"ValueError: no \ud800"


def test_calls_that_hang_are_counted_until_they_return_and_too_many_stop_the_next(monkeypatch):
    monkeypatch.setattr(user_function, "MOST_HUNG", 2)
    release = threading.Event()
    function = UserFunction(release.wait)

    async def hang():
        for _ in range(2):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(function.call(), 0.001)
        return function.n_hung, await function.call()

    n_hung, refused = asyncio.run(hang())
    release.set()
    for thread in function._left:
        thread.join()

    assert (n_hung, refused.problem) == (2, "TimeoutError: 2 calls have not returned")
    assert function.n_hung == 0


def test_so_many_calls_are_waited_for_at_a_time(monkeypatch):
    monkeypatch.setattr(user_function, "MOST_AT_ONCE", 2)
    running, most = set(), []
    two = threading.Barrier(2)

    def work(number):
        running.add(number)
        two.wait(timeout=60)
        most.append(len(running))
        two.wait(timeout=60)
        running.discard(number)

    async def ask():
        function = UserFunction(work)
        await asyncio.gather(*(function.call(number) for number in range(4)))

    asyncio.run(ask())
    assert set(most) == {2}


@pytest.mark.parametrize(
    ("function", "parameters", "third"),
    [
        (lambda query, context, shown: None, ("query", "context", "shown"), "shown"),
        (lambda query, context, *, shown: None, ("query", "context"), None),
        (lambda query, /, context, shown=1, more=2: None, ("query", "context", "shown", "more"), "shown"),
        (lambda *all_of_them: None, None, None),
        (lambda query, **named: None, ("query",), None),
        (max, None, None),
    ],
)
def test_the_parameters_of_a_function_are_the_positional_ones(function, parameters, third):
    assert (UserFunction(function).parameters, UserFunction(function).third_parameter) == (parameters, third)


@pytest.mark.parametrize(
    ("function", "is_async"),
    [(fails, False), (later, True), (Callable(), False), (AsyncCallable(), True), (len, False)],
)
def test_a_function_or_an_object_is_async_where_its_call_is(function, is_async):
    assert UserFunction(function).is_async is is_async


@pytest.mark.parametrize(
    ("function", "name"), [(UserFunction(fails), "python:fails"), (UserFunction(Callable()), "python:Callable")]
)
def test_a_function_is_called_by_its_own_name_or_that_of_its_type(function, name):
    assert function.name == name
    assert UserFunction(fails, name="mine").name == "mine"


def test_the_settings_name_the_file_and_the_code():
    assert UserFunction(fails).settings() == {"module": "test_user_function.py", "code": code_digest(fails)}
    assert UserFunction(len).settings() == {"module": "", "code": code_digest(len)}
    unknown = eval("lambda: 1", {"__name__": "a module that is not loaded"})
    assert UserFunction(unknown).settings() == {"code": code_digest(unknown)}


def read(value):
    if value == "odd":
        raise KeyError(value)
    return FunctionResult(value) if value else FunctionResult("none", "it gave nothing")


def ask(function, value):
    return function.ask((value,), read, lambda problem: f"failed: {problem}", about="item 1", called_as="f(query)")


@pytest.mark.parametrize(
    ("value", "problem"), [("", "it gave nothing"), ("odd", "KeyError: 'odd'"), ("use", "ValueError: no use")]
)
def test_a_function_whose_first_call_gives_nothing_stops_the_run(value, problem):
    function = UserFunction(fails if value == "use" else str, name="mine")

    with pytest.raises(JudgeError, match=f"mine failed on its first item, item 1: {problem}") as raised:
        asyncio.run(ask(function, value))
    assert str(raised.value).endswith(". It is called as f(query)")
    assert not function.works


def test_a_function_that_has_worked_once_fails_on_single_items_alone():
    function = UserFunction(str, name="mine")

    assert asyncio.run(ask(function, "safe")) == "safe"
    assert function.works
    assert asyncio.run(ask(function, "")) == "none"
    assert asyncio.run(ask(function, "odd")) == "failed: KeyError: 'odd'"


def test_until_a_function_has_worked_one_call_waits_for_another():
    order = []

    async def slow(value):
        order.append(f"begin {value}")
        for _ in range(5):
            await asyncio.sleep(0)
        order.append(f"end {value}")
        return value

    async def both():
        function = UserFunction(slow)
        await asyncio.gather(ask(function, "a"), ask(function, "b"))

    asyncio.run(both())
    assert order == ["begin a", "end a", "begin b", "end b"]


def made(text):
    return eval(text)


def test_other_code_has_another_digest_and_the_same_code_the_same():
    first, second = lambda query: 1, lambda query: 2

    assert code_digest(first) == code_digest(first) != code_digest(second)
    assert code_digest(lambda: 1) != code_digest(lambda: 2)
    assert code_digest(made("lambda: 1")) == code_digest(made("lambda: 1")) != code_digest(made("lambda: 2"))
    assert code_digest(made("lambda: 'a'.upper()")) != code_digest(made("lambda: 'a'.lower()"))
    assert code_digest(made("lambda: [len for _ in 'a']")) != code_digest(made("lambda: [max for _ in 'a']"))
    assert code_digest(made("lambda ask, t=.5: t")) != code_digest(made("lambda ask, t=.9: t"))
    assert code_digest(made("(lambda a, b: lambda: a)(1, 2)")) != code_digest(made("(lambda a, b: lambda: b)(1, 2)"))
    assert code_digest(made("lambda: lambda: 1")) == code_digest(made("lambda: lambda: 1"))
    assert len(code_digest(first)) == len(code_digest(made("lambda: 1"))) == 12


def test_the_constants_of_a_set_have_one_order_in_every_process():
    parts = code_parts(made("lambda query: query in {'b', 'c', 'a', 3}").__code__)

    assert ["'a'", "'b'", "'c'", "3"] in parts[-1]


def test_the_digest_of_a_partial_is_that_of_its_function_and_of_an_object_that_of_its_class():
    assert code_digest(partial(fails, "x")) == code_digest(fails)
    assert code_digest(Callable()) == code_digest(Callable()) != code_digest(AsyncCallable())
    assert code_digest(len) != code_digest(max)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a module that tests may write."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_functions", raising=False)
    return tmp_path


@pytest.mark.parametrize("where", ["own_functions", "own_functions:", ":f", ""])
def test_a_function_is_named_by_its_module_and_its_name(where):
    with pytest.raises(ConfigurationError, match=f"'python:{where}' is not python:MODULE:FUNCTION"):
        load_function(where)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (None, "cannot import 'own_functions': ModuleNotFoundError: No module named 'own_functions'"),
        ("raise SystemExit(3)", "cannot import 'own_functions': SystemExit: 3"),
        ("f = 3", "module 'own_functions' has no function 'f'"),
        ("", "module 'own_functions' has no function 'f'"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_refused_with_the_reason(folder, source, problem):
    before = list(sys.path)
    if source is not None:
        (folder / "own_functions.py").write_text(source)

    with pytest.raises(ConfigurationError, match=problem):
        load_function("own_functions:f")
    assert sys.path == before


def test_a_transform_returns_what_is_shown(folder):
    (folder / "own_functions.py").write_text(
        "from dataclasses import replace\n"
        "def shout(shown, scene): return replace(shown, query=scene.query.text.upper())\n"
        "def silent(shown, scene): return None\n"
    )
    query = Query(text="Why?", category="c")
    shown, scene = ShownItem("How?", {}), Scene(query, None, None, None)

    assert apply_user_function(shown, scene, "own_functions:shout").query == "WHY?"
    with pytest.raises(TypeError, match="it returned None, not a ShownItem"):
        apply_user_function(shown, scene, "own_functions:silent")
