"""Models of Inspect AI as models of casewise."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from casewise.errors import ConfigurationError, ModelError, Unauthorised, Unavailable
from casewise.models.client import FILTERED
from casewise.models.consent import require_consent
from casewise.models.endpoints import Endpoint
from casewise.models.protocol import Message, Model, Rejected, Reply, ReplyOptions, Usage, check_options
from casewise.models.wire import read_logprobs
from casewise.plugins import install_command

FINISH_REASONS: Mapping[str, str] = {"max_tokens": "length", "model_length": "length"}
"""Inspect's words for how a reply ended, where ours differ."""

LOCAL_PROVIDERS = frozenset({"mockllm", "hf", "vllm", "sglang", "ollama", "llama-cpp-python", "transformer_lens"})
"""Inspect's providers that run on this machine."""

SUPPORTED_OPTIONS = frozenset({"temperature", "seed", "top_p", "reasoning_effort"})

SCHEMA_PROVIDERS = (
    {"openai", "azureai", "openai-api", "google", "vertex", "mistral", "grok", "anthropic", "groq", "deepseek"}
    | {"bedrock", "sagemaker", "vllm", "sglang"}
)  # fmt: skip
"""Inspect's providers that use its `response_schema`; the others ignore it without a message."""

REFUSES_SCHEMA = re.compile(
    r"response_format|response_schema|json_schema|output_format|structured output", re.IGNORECASE
)

RETRIES = 6


class InspectModel(Model):
    """A model behind one of Inspect AI's providers, which manages keys, retries and connections."""

    def __init__(self, name: str, model: Any, *, base_url: str | None = None) -> None:
        self.name = name
        self._model = model
        provider = name.removeprefix("inspect:").split("/", maxsplit=1)[0]
        self.sends_to = None if provider in LOCAL_PROVIDERS else provider
        if base_url is not None:
            self.sends_to = Endpoint(provider, base_url).receiver
        self.takes = SUPPORTED_OPTIONS | {"json_schema"} if provider in SCHEMA_PROVIDERS else SUPPORTED_OPTIONS

    @classmethod
    def load(cls, name: str, *, base_url: str | None = None, concurrency: int = 32) -> InspectModel:
        """Return the model that `inspect:PROVIDER/MODEL` names.

        Raises ConfigurationError: the extra `[inspect]` or the provider's own package is not installed, or its key is
        not set.
        """
        try:
            from inspect_ai.model import GenerateConfig, get_model
        except ImportError as error:
            raise ConfigurationError(f"{name} needs Inspect AI: {install_command('inspect')} ({error})") from error
        config = GenerateConfig(max_connections=concurrency, max_retries=RETRIES)
        try:
            model = get_model(name.removeprefix("inspect:"), base_url=base_url, config=config, memoize=False)
        except Exception as error:  # providers raise errors of their own kinds
            raise ConfigurationError(f"Inspect AI cannot make {name.removeprefix('inspect:')!r}: {error}") from error
        return cls(name, model, base_url=base_url)

    def settings(self) -> dict[str, Any]:
        return {"model": self.name}

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """Return one reply; see `Model.reply` for what is raised. A schema that is refused once is left out afterwards."""
        require_consent(self.sends_to)
        try:
            return await self._reply(messages, options)
        except Rejected as error:
            if options.json_schema is None or not REFUSES_SCHEMA.search(str(error)):
                raise
            self.takes -= {"json_schema"}
            return await self._reply(messages, replace(options, json_schema=None))

    async def _reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        from inspect_ai.model import GenerateConfig, ResponseSchema
        from inspect_ai.util import JSONSchema

        check_options(self.name, options, self.takes)
        schema = None
        if options.json_schema is not None and "json_schema" in self.takes:
            json_schema = JSONSchema.model_validate(options.json_schema)
            schema = ResponseSchema(name="reply", json_schema=json_schema, strict=True)
        try:
            config = GenerateConfig(
                max_tokens=options.max_tokens,
                top_p=options.top_p,
                temperature=options.temperature,
                seed=options.seed,
                reasoning_effort=options.reasoning_effort,
                logprobs=True if options.top_logprobs else None,
                top_logprobs=options.top_logprobs or None,
                response_schema=schema,
            )
        except ValueError as error:
            raise ConfigurationError(f"Inspect AI takes no such option for {self.name}: {error}") from error
        started = time.perf_counter()
        try:
            output = await self._model.generate(inspect_messages(messages), config=config)
        except Exception as error:
            raise translate_error(error, self.name) from error
        return to_reply(output, latency_s=time.perf_counter() - started)

    async def close(self) -> None:
        await self._model.api.aclose()


def inspect_messages(messages: tuple[Message, ...]) -> list[Any]:
    """Return messages as Inspect's."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in messages]


def to_reply(output: Any, *, latency_s: float = 0.0) -> Reply:
    """Return an Inspect `ModelOutput` as a reply."""
    usage = output.usage
    choice = output.choices[0] if output.choices else None
    logprobs = choice.logprobs if choice is not None else None
    return Reply(
        text=output.completion,
        finish_reason=FINISH_REASONS.get(output.stop_reason, output.stop_reason) if choice is not None else None,
        token_logprobs=None if logprobs is None else read_logprobs(logprobs.model_dump()),
        usage=Usage() if usage is None else to_usage(usage),
        latency_s=latency_s,
        model_version=output.model or None,
    )


def to_usage(usage: Any) -> Usage:
    """Return the tokens in an Inspect `ModelUsage`, whose input leaves out what a cache held."""
    cached, stored = usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0
    sent = usage.input_tokens + cached + stored
    return Usage(sent or None, max(usage.output_tokens, usage.total_tokens - sent), cached)


def translate_error(error: Exception, name: str) -> ModelError:
    """Return the casewise error for an error of a provider's client."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(getattr(cause, "status_code", None), int):
        cause = cause.__cause__
    status = getattr(cause, "status_code", None)
    problem = f"{name}: {type(error).__name__}: {str(error)[:300]}"
    if FILTERED.search(str(error)):
        return Rejected("content_filter", problem)
    if status in {401, 402, 403, 404}:
        return Unauthorised(f"{problem}. Check the model's name, and the key that Inspect AI reads for its provider.")
    if status in {400, 413, 422}:
        return Rejected("bad_request", problem)
    return Unavailable(problem)
