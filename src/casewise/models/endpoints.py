"""The addresses of models, and the keys to them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from casewise.errors import ConfigurationError
from casewise.models.prices import FREE, Prices, listed_prices
from casewise.options import Parameter

# Endpoints by the prefix in `openai/gpt-4o`, and their keys.
#
# An endpoint speaks OpenAI's chat completions. `docs/explanation/verified.md` says how these were tested. A key is read
# from the environment when a model is made, and never written anywhere.


KeyHeader = Literal["Authorization", "api-key"]


@dataclass(frozen=True)
class Endpoint:
    """A server that answers chat completions.

    `base_url` may be the name of an environment variable in braces, where every customer has an address of their own.
    `priced_as` is the provider's name in genai-prices.
    """

    name: str
    base_url: str
    key_variable: str | None = None
    key_optional: bool = False
    key_header: KeyHeader = "Authorization"
    priced_as: str | None = None
    takes: frozenset[str] = frozenset({"top_p", "reasoning_effort"})
    """The options of `REQUIRED_OPTIONS` that it takes."""
    of_this_process: bool = False
    """True if its server ends with this process, so that its address says nothing to a later one."""

    @property
    def is_open(self) -> bool:
        """True if it is a server of one's own: fields beyond OpenAI's protocol are worth a try."""
        return self.key_optional or not self.remote

    @property
    def host(self) -> str:
        """The host's name or number."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def receiver(self) -> str | None:
        """The host that texts are sent to; None if they stay on this machine."""
        return self.host if self.remote else None

    @property
    def remote(self) -> bool:
        """True if texts leave this machine: the address is neither `localhost` nor a loopback address."""
        host = self.host
        if host == "localhost" or host.endswith(".localhost"):
            return False
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return True


OPEN_SERVERS = Endpoint.takes | {"prefill", "template_arguments"}
"""Options that vLLM and SGLang take."""

HOSTED = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "fireworks": ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "cerebras": ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "azure": ("{AZURE_OPENAI_ENDPOINT}/openai/v1", "AZURE_OPENAI_API_KEY"),
}
LOCAL_PORTS = {"vllm": 8000, "sglang": 30000, "ollama": 11434, "llamacpp": 8080, "lmstudio": 1234}

ENDPOINTS: dict[str, Endpoint] = {
    name: Endpoint(
        name,
        address,
        variable,
        key_header="api-key" if name == "azure" else "Authorization",
        priced_as={"xai": "x-ai"}.get(name, name),
    )
    for name, (address, variable) in HOSTED.items()
} | {
    name: Endpoint(
        name,
        f"http://localhost:{port}/v1",
        f"{name.upper()}_API_KEY",
        key_optional=True,
        takes=OPEN_SERVERS if name in ("vllm", "sglang") else Endpoint.takes,
    )
    for name, port in LOCAL_PORTS.items()
}
"""The prefixes, each with its address and the environment variable that holds its key."""

CUSTOM = Endpoint("custom", "", "CASEWISE_API_KEY", key_optional=True)
"""A server named by `--base-url` alone."""


def parse_model_name(name: str) -> tuple[str | None, str]:
    """Return the prefix of the endpoint and the endpoint's name of the model in `openai/gpt-4o`; without a known prefix, all
    of it is the model."""
    prefix, _, model = name.partition("/")
    return (prefix, model) if prefix in ENDPOINTS and model else (None, name)


def find_endpoint(name: str, *, base_url: str | None, environment: Mapping[str, str]) -> Endpoint:
    """Return the endpoint of the model called `name`, at `base_url` if one is given.

    Raises ConfigurationError: the prefix is unknown and there is no `base_url`; or the address is unusable, holds a
    password, or needs a variable that is not set.
    """
    prefix, _ = parse_model_name(name)
    if prefix is None and base_url is None:
        meant = prefixed_name(name)
        raise ConfigurationError(
            f"no endpoint is known for the model {name!r}{f' (did you mean {meant!r}?)' if meant else ''}: begin it with one of "
            f"{', '.join(f'{name}/' for name in ENDPOINTS)} or give the server's address with --base-url"
        )
    endpoint = ENDPOINTS[prefix] if prefix else CUSTOM
    address = base_url or endpoint.base_url
    if address.startswith("{"):
        variable, _, rest = address[1:].partition("}")
        if not environment.get(variable):
            raise ConfigurationError(
                f"set the environment variable {variable} to the address of your resource, or give it with --base-url"
            )
        address = environment[variable].rstrip("/") + rest
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"{address!r} is not the address of a server, such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        raise ConfigurationError(
            f"the address of {parts.hostname} holds a user, a password or a query; keys come from environment "
            "variables only, so that none ends up in a run's files"
        )
    return replace(endpoint, base_url=address.rstrip("/"))


def prefixed_name(model: str) -> str | None:
    """Return `model` with the prefix of the first provider whose public prices list it, if one does."""
    listed = (name for name, endpoint in ENDPOINTS.items() if endpoint.priced_as and find_prices(endpoint, model))
    return next((f"{name}/{model}" for name in listed), None)


SHORTEST_REDACTED = 4
"""A shorter key is a placeholder such as `x`, and stands in many replies by chance."""


class ApiKey:
    """A secret that only `reveal` shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the secret, for a request's headers."""
        return self._value

    def redact(self, text: str) -> str:
        """Return `text` without the secret: some servers repeat the key in their error messages."""
        return text.replace(self._value, "[key]") if len(self._value) >= SHORTEST_REDACTED else text

    def __repr__(self) -> str:
        return "Key([hidden])"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written to anything, pickles included")


def read_key(endpoint: Endpoint, environment: Mapping[str, str]) -> ApiKey | None:
    """Return the key for `endpoint`; None if none is set and none is needed.

    Raises ConfigurationError: the variable is not set, or what it holds cannot be sent in a header.
    """
    if endpoint.key_variable is None:
        return None
    if endpoint.key_optional and not environment.get(endpoint.key_variable, "").strip():
        return None
    return read_secret(endpoint.key_variable, environment, f"your key for {endpoint.name} ({endpoint.base_url})")


def read_secret(variable: str, environment: Mapping[str, str], purpose: str) -> ApiKey:
    """Return the secret that a variable holds.

    Raises ConfigurationError: the variable is not set, or what it holds cannot be sent in a header.
    """
    value = environment.get(variable, "").strip()
    if not value:
        raise ConfigurationError(f"set the environment variable {variable} to {purpose}")
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"{variable} contains characters that cannot be part of a key; copy the key again")
    return ApiKey(value)


# What a call has besides what the protocol of chat completions asks for.


@dataclass(frozen=True)
class ExtraOptions:
    """Further parts of each call to an endpoint."""

    api_version: str | None = None
    """Send this as the parameter api-version of the address, as Azure's deployments require."""
    header: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    """NAME=VARIABLE: send a header NAME whose value the environment variable VARIABLE holds. The value is never
    written anywhere. May be repeated."""
    body_field: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    """NAME=VALUE: send a field NAME in the body of each call; VALUE is JSON, or a text. May be repeated."""

    def read(self, environment: Mapping[str, str], *, needs_key: bool = True) -> Extra:
        """Return these parts with the values of headers; without `needs_key` no value is read.

        Raises ConfigurationError: a part is not written as it should be, is another option's, or its variable is not set.
        """
        variables = dict(header_parts(header) for header in self.header)
        read = variables if needs_key else {}
        values = {name: read_secret(variable, environment, f"the header {name}") for name, variable in read.items()}
        query = {"api-version": self.api_version} if self.api_version else {}
        return Extra(query, dict(body_field(header) for header in self.body_field), variables, values)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> ExtraOptions:
        """Return the options that gave a run these `settings`."""
        headers, fields = (settings.get(name, {}) for name in ("headers", "body_fields"))
        return cls(
            settings.get("query", {}).get("api-version"),
            tuple(f"{name}={variable}" for name, variable in headers.items()),
            tuple(f"{name}={json.dumps(value)}" for name, value in fields.items()),
        )


SET_BY_CASEWISE = {
    **dict.fromkeys(("model", "messages"), "the benchmark and --judge"),
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "--max-tokens"),
    **dict.fromkeys(("logprobs", "top_logprobs"), "--elicit probability"),
    "temperature": "--temperature",
    "seed": "--seed",
    "response_format": "--structured",
    "reasoning_effort": "--reasoning-effort",
    "stream": "casewise, which reads whole replies",
    "n": "--repeats",
}
"""Fields of a body, and what decides them."""

OWN_HEADERS = frozenset({"authorization", "api-key", "content-type", "content-length", "host"})


def body_field(argument: str) -> tuple[str, Any]:
    """Return the name and the value of a field of a body in `NAME=VALUE`."""
    name, equals, text = argument.partition("=")
    if not name or not equals:
        raise ConfigurationError(f"--body-field is {argument!r}; it is NAME=VALUE, such as top_k=20")
    if name in SET_BY_CASEWISE:
        raise ConfigurationError(f"--body-field {name} is set by {SET_BY_CASEWISE[name]}")
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


def header_parts(text: str) -> tuple[str, str]:
    """Return the name of a header and of the variable that holds its value, in `NAME=VARIABLE`."""
    name, _, variable = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", variable):
        raise ConfigurationError(
            f"--header {name!r} is no NAME=VARIABLE; VARIABLE is the name of an environment variable that holds the value"
        )
    if not re.fullmatch(r"[A-Za-z0-9-]+", name):
        raise ConfigurationError(f"--header {name!r} is no name of a header: letters, digits and hyphens")
    if name.lower() in OWN_HEADERS:
        raise ConfigurationError(f"--header {name} is set by casewise; a key comes from its own environment variable")
    return name, variable


@dataclass(frozen=True)
class Extra:
    """Further parts of each call to an endpoint."""

    query: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the body."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables that hold the values of headers, by the header."""
    values: Mapping[str, ApiKey] = field(default_factory=dict)
    """The values of headers."""

    def settings(self) -> dict[str, Any]:
        """Return what may decide replies, as JSON values, without any header's value."""
        parts = {"query": dict(self.query), "body_fields": dict(self.fields), "headers": dict(self.variables)}
        return {name: value for name, value in parts.items() if value}

    def revealed(self) -> dict[str, str]:
        """Return the headers with their values, to be sent."""
        return {name: value.reveal() for name, value in self.values.items()}


def find_prices(endpoint: Endpoint, model: str) -> Prices | None:
    """Return the prices of `model` at `endpoint`; None if they are unknown.

    A server of one's own on this machine, such as vLLM, costs nothing. Another one there may pass calls on to a provider.
    """
    if endpoint.name in LOCAL_PORTS and not endpoint.remote:
        return FREE
    return listed_prices(endpoint.priced_as, model) if endpoint.priced_as else None
