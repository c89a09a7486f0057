"""A user's own function, found by name, and as a transform."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.showing.shown import Scene, ShownItem

__all__ = ["function_at", "own_transform"]


def function_at(where: str) -> Callable[..., Any]:
    """The function `MODULE:FUNCTION`, looked for in the working folder too.

    Raises ConfigurationError: there is no such module or function, or importing it fails.
    """
    module_name, _, function_name = where.partition(":")
    if not module_name or not function_name:
        raise ConfigurationError(f"'python:{where}' is not python:MODULE:FUNCTION")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise ConfigurationError(f"module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]  # it is callable


def own_transform(shown: ShownItem, scene: Scene, rest: str) -> ShownItem:
    """What the user's function `f(shown, scene)` makes of what is shown."""
    made = function_at(rest)(shown, scene)
    if not isinstance(made, ShownItem):
        raise TypeError(f"it returned {made!r}, not what is shown")
    return made
