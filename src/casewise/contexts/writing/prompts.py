"""How contexts are asked for: our own wording, versioned and replaceable, in the order of CASE-Bench (section 4.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.protocol import Message, as_messages
from casewise.prompting.context_words import spoken
from casewise.prompting.substitution import filled
from casewise.records import Category, ParameterSet, Query, paper_parameters
from casewise.records.base import digest
from casewise.records.toml import read_toml, shipped_toml

__all__ = ["ContextPrompt", "context_schema", "default_prompt", "read_prompt"]

NEEDED = ("query", "intent", "parameters", "format")
NO_RISKS = "the answer may be misused, or harm whoever acts on it"


@dataclass(frozen=True)
class ContextPrompt:
    """The wording with which a context is asked for, under one name and version."""

    name: str
    version: str
    template: str
    intents: Mapping[str, str]
    """`safe` and `unsafe` to what the circumstances must be like."""
    parameters: Mapping[str, str]
    """Dotted names to what each parameter means."""

    @property
    def id(self) -> str:
        """Name, version and a digest of the wording, so that an edited file is another prompt."""
        words = [self.template, dict(self.intents), dict(self.parameters)]
        return f"{self.name}@{self.version}+{digest(words)[:8]}"

    def messages(
        self,
        query: Query,
        category: Category | None,
        *,
        intended_safe: bool,
        parameters: ParameterSet = paper_parameters(),
    ) -> tuple[Message, ...]:
        """What the model is shown. Substitution is a single pass: a query's braces stay what they are.

        What a parameter stands for is what its set says, else this prompt, else its name in words.
        """
        meanings = {name: spoken(name.rpartition(".")[2]) for name in parameters.names}
        meanings |= {**self.parameters, **parameters.meanings}
        values = {
            "query": query.text,
            "category": query.category,
            "risks": (category.risks if category else None) or NO_RISKS,
            "intent": self.intents["safe" if intended_safe else "unsafe"],
            "parameters": "\n".join(f"- {name}: {meanings[name]}" for name in parameters.names),
            "format": json.dumps(empty_form(parameters), indent=1),
        }
        return as_messages(filled(self.template.strip(), values))


def empty_form(parameters: ParameterSet) -> dict[str, dict[str, str]]:
    form: dict[str, dict[str, str]] = {}
    for name in parameters.names:
        group, parameter = name.split(".")
        form.setdefault(group, {})[parameter] = "..."
    return form


def context_schema(parameters: ParameterSet = paper_parameters()) -> dict[str, Any]:
    """The JSON schema of a reply: every parameter a text, and nothing else."""

    def object_of(properties: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    groups = {group: {name: {"type": "string"} for name in names} for group, names in empty_form(parameters).items()}
    return object_of({group: object_of(properties) for group, properties in groups.items()})


@cache
def default_prompt() -> ContextPrompt:
    """The wording that casewise ships."""
    return as_prompt(shipped_toml("casewise.contexts.writing", "prompts.toml"), paper_parameters())


def read_prompt(path: Path, parameters: ParameterSet = paper_parameters()) -> ContextPrompt:
    """A wording of the user's own, in the form of `contexts/prompts.toml`, for contexts that state `parameters`.

    Raises DataError: the file cannot be read or is not TOML. ConfigurationError: something is missing in it; the
    message names it.
    """
    found = read_toml(path, "a prompt")
    try:
        return as_prompt(found, parameters)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def as_prompt(value: dict[str, Any], parameters: ParameterSet) -> ContextPrompt:
    lacking = [key for key in ("name", "version", "template", "intents", "parameters") if key not in value]
    if lacking:
        raise ConfigurationError(f"a prompt needs {', '.join(lacking)}")
    prompt = ContextPrompt(**{key: value[key] for key in ("name", "version", "template", "intents", "parameters")})
    lacking = [f"{{{key}}}" for key in NEEDED if f"{{{key}}}" not in prompt.template]
    lacking += [f"intents.{intent}" for intent in ("safe", "unsafe") if intent not in prompt.intents]
    said = {*prompt.parameters, *parameters.meanings}
    lacking += [f"parameters.{name!r}" for name in parameters.names if name not in said]
    if lacking:
        raise ConfigurationError(f"the prompt {prompt.name!r} lacks {', '.join(lacking)}")
    return prompt
