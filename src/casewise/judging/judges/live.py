"""Judges that ask a model: which one, and in what words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from casewise.errors import ConfigurationError
from casewise.judging.asking.elicitation import AskOptions
from casewise.judging.asking.prompts import PromptSet, bridge_prompts, default_prompts, published_prompts, read_prompts
from casewise.judging.asking.protocols import Protocol, protocol_for
from casewise.judging.judges.llm import LLMJudge
from casewise.models.load import ModelOptions, load_model
from casewise.prompting.chat import Chat, chat_with
from casewise.showing.shown import ContextRole
from casewise.storage.benchmarks.fetch import PROMPTS, fetched

__all__ = ["LiveOptions", "find_prompts", "live_judge"]


@dataclass(frozen=True)
class LiveOptions:
    """How a model is asked for a judgement, and how it is reached."""

    prompts: str = "casewise"
    """`casewise`, `published` (once fetched), `bridge` (a chatbot's own messages), or the path of a TOML file."""
    context_role: ContextRole = "user"
    ask: AskOptions = field(default_factory=AskOptions)
    model: ModelOptions = field(default_factory=ModelOptions)
    protocol: str | None = None
    """`published`, or one of `PROTOCOLS`: then it says how to ask, with the paper's own wording."""
    policy: str | None = None
    """A deployer's own policy, for a guard that takes one."""


def live_judge(name: str, options: LiveOptions, *, environment: Mapping[str, str] | None = None) -> LLMJudge:
    """The judge that asks the model called `name`. Keys are read from the environment now, and only now.

    Raises ConfigurationError: the key is not set, the address is unusable, or an extra that is needed is not installed;
    DataError: the prompts cannot be read.
    """
    words = "published" if options.protocol and options.prompts == "casewise" else options.prompts
    prompts = find_prompts(words)
    prompts = prompts if prompts.bridge else replace(prompts, role=options.context_role)
    ask = asked_by(protocol_for(options.protocol, name), prompts, options.ask) if options.protocol else options.ask
    loaded = load_model(name, options.model, environment=environment)
    if ask.structured and "json_schema" not in loaded.model.takes:
        raise ConfigurationError(f"{name} cannot be held to a JSON schema; leave structured output out")
    return LLMJudge(loaded.model, prompts, ask, loaded.prices)


def asked_by(protocol: Protocol, prompts: PromptSet, given: AskOptions) -> AskOptions:
    """The options of a protocol, with the user's seed and way of reading."""
    if prompts.name != "published" or prompts.role != "user":
        raise ConfigurationError(
            f"the protocol {protocol.name} asks in the paper's own words, in the user's message: give --prompts published"
        )
    if replace(given, seed=None, strict=False) != AskOptions():
        raise ConfigurationError(
            f"the protocol {protocol.name} says how to ask ({protocol.words}): leave out temperature, tokens and "
            "structured output"
        )
    return replace(protocol.ask, seed=given.seed, strict=given.strict)


def find_prompts(which: str) -> PromptSet:
    """The prompts called `which`: `casewise`, `published`, a file's path (TOML, or a copy of the release's `template.py`), or a
    chatbot's own messages: `bridge`, `bridge:verified`, `bridge:user`, `bridge:FILE` with a system prompt of one's own."""
    if which.partition(":")[0] == "bridge":
        return bridge_prompts(bridged_chat(which.partition(":")[2]))
    if which == "casewise":
        return default_prompts()
    if which == "published":
        return published_prompts(fetched(PROMPTS))
    if not Path(which).is_file():
        raise ConfigurationError(
            f"no prompts are called {which!r}; there are casewise, published, bridge, and TOML files"
        )
    return published_prompts(Path(which)) if which.endswith(".py") else read_prompts(Path(which))


def bridged_chat(rest: str) -> Chat:
    """The chat that `bridge:REST` names, as `casewise replies collect` sends it with the same options."""
    words = {word for word in rest.split(",") if word}
    if words <= {"verified", "user"}:
        return chat_with(role="user" if "user" in words else "system", verified="verified" in words)
    return chat_with(system=Path(rest))
