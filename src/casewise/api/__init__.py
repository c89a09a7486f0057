"""Objects above the reports: runs, studies, deciders, with every face of a report. `casewise` exports their names.

Modules are loaded when they are used: judging does not wait for what power needs. A public name of casewise is found here too.
"""

import importlib
from typing import Any

import casewise

MODULES = (
    "attacks",
    "deciding",
    "evaluating",
    "exporting",
    "judging",
    "prolific",
    "replying",
    "studies",
)


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}") if name in MODULES else getattr(casewise, name)


def __dir__() -> list[str]:
    return [*MODULES, *dir(casewise)]
