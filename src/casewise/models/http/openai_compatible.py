"""Any server that speaks OpenAI's chat completions.

Parameters that it does not take are left out once it has said so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from casewise.models.http.capabilities import Capabilities
from casewise.models.http.client import ClientOptions, EndpointClient, Request
from casewise.models.http.concurrency import AdaptiveGate
from casewise.models.http.endpoints import Endpoint, Key, find_endpoint, parse_model_name, read_key
from casewise.models.http.wire import read_reply, request_body
from casewise.models.protocol import Message, ModelDefaults, Rejected, Reply, ReplyOptions, check_taken

__all__ = ["ClientOptions", "OpenAICompatibleModel"]


class OpenAICompatibleModel(ModelDefaults):
    """A model behind a chat-completions endpoint."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        *,
        key: Key | None = None,
        options: ClientOptions | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint
        self.model = parse_model_name(name).model
        self.client = EndpointClient(endpoint, key=key, options=options or ClientOptions())
        self.sends_to = endpoint.host if endpoint.remote else None

    @classmethod
    def connect(
        cls,
        name: str,
        *,
        environment: Mapping[str, str],
        base_url: str | None = None,
        options: ClientOptions | None = None,
        needs_key: bool = True,
    ) -> OpenAICompatibleModel:
        """The model called `name`, with the key that `environment` holds for its endpoint.

        Raises ConfigurationError: the prefix is unknown, the address unusable, or the key is not set.
        """
        endpoint = find_endpoint(name, base_url=base_url, environment=environment)
        key = read_key(endpoint, environment) if needs_key else None
        return cls(name, endpoint, key=key, options=options)

    def settings(self) -> dict[str, Any]:
        """The model's name, and the address of its endpoint where that is not this machine, whose ports change."""
        return {"model": self.name, "base_url": self.endpoint.base_url if self.endpoint.remote else "this machine"}

    @property
    def can(self) -> Capabilities:
        """What the endpoint was found to be able to do."""
        return self.client.can

    @property
    def takes(self) -> frozenset[str]:  # type: ignore[override]  # it changes with what the endpoint says
        """What endpoints of its kind take and this one has not complained of."""
        return self.can.takes | self.endpoint.takes

    @property
    def gate(self) -> AdaptiveGate:
        """How many calls may be under way."""
        return self.client.gate

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply; see `Model.reply` for what is raised."""
        check_taken(self.name, options, self.takes)

        def body(can: Capabilities) -> dict[str, Any]:
            if options.first_words and not can.logprobs:
                raise Rejected("no_logprobs", f"{self.endpoint.name} gives no log probabilities for {self.model!r}")
            return request_body(self.model, messages, options=options, can=can)

        called = await self.client.call(Request("chat/completions", self.model, body, read_reply))
        text = f"{options.prefill or ''}{called.value.text}"
        return replace(called.value, text=text, latency_s=called.latency_s, attempts=called.attempts)

    def tell_with(self, tell: Callable[[str], None]) -> None:
        """Where a line goes when the server is waited for."""
        self.client.outage.tell = tell

    async def close(self) -> None:
        """Close all connections."""
        await self.client.close()
