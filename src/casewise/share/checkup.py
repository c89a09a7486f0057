"""A check-up of this installation: packages, extras, keys, endpoints and data."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from casewise.ask.prompts import published_prompts
from casewise.errors import CasewiseError
from casewise.models.client import accepts_connections
from casewise.models.endpoints import ENDPOINTS, Endpoint
from casewise.storage.loaders.loader import Loader
from casewise.storage.loaders.public import CASEBENCH, PROMPTS, own_loaders
from casewise.storage.loaders.registry import fetched_file, load_fetched
from casewise.text import count_of

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "web": ("fastapi", "sqlalchemy", "alembic", "uvicorn", "argon2-cffi"),
    "local": ("torch", "transformers"),
    "adapter": ("peft",),
    "tiny": ("xllamacpp",),
    "inspect": ("inspect-ai", "openai"),
}
"""The extras, each with the packages that it cannot do without."""

SHOWN = ("casewise", "aiohttp", "numpy", "polars", "pydantic", "genai-prices", "torch", "transformers", "inspect-ai")


def checkup(environment: Mapping[str, str], *, reach: bool = False) -> dict[str, Any]:
    """Check installation, configuration and endpoints, and return the findings as plain JSON values.

    They are `versions` by package; `extras` with their `name` and the packages `missing`; `endpoints` with `name`, `key` (is
    it set?), `address` and `reachable`; and sentences on `data`. With `reach`, a connection is opened to every endpoint, and
    nothing is sent over it; without it `reachable` is None.
    """
    answers = asyncio.run(reachable(list(ENDPOINTS.values()))) if reach else {}
    return {
        "versions": {"python": platform.python_version(), **{name: known_version(name) for name in SHOWN}},
        "extras": [
            {"name": name, "missing": [package for package in packages if known_version(package) == ABSENT]}
            for name, packages in EXTRAS.items()
        ],
        "endpoints": [
            {
                "name": endpoint.name,
                "key": key_state(endpoint, environment),
                "address": endpoint.base_url,
                "reachable": answers.get(endpoint.name),
            }
            for endpoint in ENDPOINTS.values()
        ],
        "data": [
            *(fetched_state(loader) for loader in own_loaders().values() if loader == CASEBENCH or loader.is_fetched),
            prompts_state(),
        ],
    }


ABSENT = "not installed"


def known_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ABSENT


def key_state(endpoint: Endpoint, environment: Mapping[str, str]) -> str:
    variable = endpoint.key_variable
    if variable is None:
        return "needs no key"
    state = "is" if environment.get(variable, "").strip() else "may be" if endpoint.key_optional else "is not"
    return f"{variable} {state} set"


def fetched_state(loader: Loader) -> str:
    if not loader.is_fetched:
        return f"{loader.name} is not here; get it with: {loader.command}"
    try:
        state = f"loads: {count_of(len(load_fetched(loader).items), 'item')}"
    except CasewiseError as error:
        state = f"does not load: {error}"
    where = f"is at {loader.cache_path(loader.files[0])}" if loader.files else "is made by casewise"
    return f"{loader.name} {where} and {state}"


def prompts_state() -> str:
    path = CASEBENCH.cache_path(PROMPTS)
    if not path.is_file():
        return f"casebench-prompts is not here; get it with: {CASEBENCH.command} --prompts"
    try:
        published_prompts(fetched_file(CASEBENCH, PROMPTS))
        state = "loads"
    except CasewiseError as error:
        state = f"does not load: {error}"
    return f"casebench-prompts is at {path} and {state}"


async def reachable(endpoints: list[Endpoint]) -> dict[str, bool]:
    """Return for each endpoint with an address whether it accepts a connection within two seconds."""
    addressed = [endpoint for endpoint in endpoints if not endpoint.base_url.startswith("{")]
    answers = await asyncio.gather(*(accepts_connections(endpoint.base_url, within_s=2.0) for endpoint in addressed))
    return {endpoint.name: answer for endpoint, answer in zip(addressed, answers, strict=True)}
