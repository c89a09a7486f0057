"""Judges that ask a model: which one, in what words, at what price."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from casewise.errors import ConfigurationError
from casewise.judging.asking.elicitation import AskOptions
from casewise.judging.asking.prompts import ContextRole, PromptSet, default_prompts, published_prompts, read_prompts
from casewise.judging.judges.llm import LLMJudge
from casewise.models.http.endpoints import parse_model_name
from casewise.models.http.openai_compatible import ClientOptions, OpenAICompatibleModel
from casewise.models.http.prices import FREE, Prices, find_prices
from casewise.models.local.local_options import LocalOptions
from casewise.storage.benchmarks.fetch import PROMPTS, fetched

__all__ = ["LiveOptions", "find_prompts", "is_live", "live_judge"]


@dataclass(frozen=True)
class LiveOptions:
    """How a model is reached and asked."""

    base_url: str | None = None
    prompts: str = "casewise"
    """`casewise`, `published` (once fetched), or the path of a TOML file."""
    context_role: ContextRole = "user"
    ask: AskOptions = field(default_factory=AskOptions)
    prices: Prices | None = None
    """The user's own; without them the public price list is asked."""
    client: ClientOptions = field(default_factory=ClientOptions)
    local: LocalOptions = field(default_factory=LocalOptions)
    needs_key: bool = True
    """False where nobody will be called: then no key is read, nor missed."""


def is_live(name: str, options: LiveOptions) -> bool:
    """Whether `name` speaks of a model that is asked: a known prefix, `hf:`, `inspect:`, `fake/`, or any name at all
    where an address is given."""
    return (
        name.startswith(("hf:", "inspect:", "fake/"))
        or options.base_url is not None
        or parse_model_name(name).prefix is not None
    )


def live_judge(name: str, options: LiveOptions, *, environment: Mapping[str, str] | None = None) -> LLMJudge:
    """The judge that asks the model called `name`. Keys are read from the environment now, and only now.

    Raises
    ------
    ConfigurationError
        The key is not set, the address is unusable, or an extra that is needed is not installed.
    DataError
        The prompts cannot be read.
    """
    prompts = replace(find_prompts(options.prompts), role=options.context_role)
    if name.startswith("hf:"):
        from casewise.models.local.transformers_local import TransformersModel

        return LLMJudge(TransformersModel.load(name, options.local), prompts, options.ask, FREE)
    if name.startswith("inspect:"):
        from casewise.models.inspect_bridge import InspectModel

        model = InspectModel.named(name, base_url=options.base_url, concurrency=options.client.concurrency)
        return LLMJudge(model, prompts, options.ask, options.prices)
    if name.startswith("fake/"):
        from casewise.models.fake import FakeModel

        return LLMJudge(FakeModel(name=name), prompts, options.ask, FREE)
    found = OpenAICompatibleModel.connect(
        name,
        environment=os.environ if environment is None else environment,
        base_url=options.base_url,
        options=options.client,
        needs_key=options.needs_key,
    )
    return LLMJudge(found, prompts, options.ask, options.prices or find_prices(found.endpoint, found.model))


def find_prompts(which: str) -> PromptSet:
    """The prompts called `which`: `casewise`, `published`, or a file's path."""
    if which == "casewise":
        return default_prompts()
    if which == "published":
        return published_prompts(fetched(PROMPTS))
    if not Path(which).is_file():
        raise ConfigurationError(f"no prompts are called {which!r}; there are casewise, published, and TOML files")
    return read_prompts(Path(which))
