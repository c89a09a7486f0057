"""Judges that ask a model: which one, and in what words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from casewise.errors import ConfigurationError
from casewise.judging.asking.elicitation import AskOptions
from casewise.judging.asking.prompts import PromptSet, default_prompts, published_prompts, read_prompts
from casewise.judging.judges.llm import LLMJudge
from casewise.models.load import ModelOptions, load_model
from casewise.showing.shown import ContextRole
from casewise.storage.benchmarks.fetch import PROMPTS, fetched

__all__ = ["LiveOptions", "find_prompts", "live_judge"]


@dataclass(frozen=True)
class LiveOptions:
    """How a model is asked for a judgement, and how it is reached."""

    prompts: str = "casewise"
    """`casewise`, `published` (once fetched), or the path of a TOML file."""
    context_role: ContextRole = "user"
    ask: AskOptions = field(default_factory=AskOptions)
    model: ModelOptions = field(default_factory=ModelOptions)


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
    loaded = load_model(name, options.model, environment=environment)
    return LLMJudge(loaded.model, prompts, options.ask, loaded.prices)


def find_prompts(which: str) -> PromptSet:
    """The prompts called `which`: `casewise`, `published`, or a file's path."""
    if which == "casewise":
        return default_prompts()
    if which == "published":
        return published_prompts(fetched(PROMPTS))
    if not Path(which).is_file():
        raise ConfigurationError(f"no prompts are called {which!r}; there are casewise, published, and TOML files")
    return read_prompts(Path(which))
