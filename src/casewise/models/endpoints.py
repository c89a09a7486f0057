"""Where models are, the keys to them, and their prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from casewise.errors import ConfigurationError
from casewise.models.protocol import Usage
from casewise.options import Parameter

# Where the models are: what the prefix in `openai/gpt-4o` stands for; the keys to them.
#
# An endpoint speaks the chat-completions protocol of OpenAI. `docs/explanation/verified.md` says how these were tested. A key is read
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
    takes: frozenset[str] = frozenset({"top_p"})
    """Of the options that must be taken, those that go beyond OpenAI's protocol or are in it."""

    @property
    def host(self) -> str:
        """The host's name or number."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def remote(self) -> bool:
        """Whether texts leave this machine: the address is neither `localhost` nor a loopback number."""
        host = self.host
        if host == "localhost" or host.endswith(".localhost"):
            return False
        try:
            return not ip_address(host).is_loopback
        except ValueError:
            return True


def hosted(name: str, base_url: str, key_variable: str, *, priced_as: str | None = None) -> Endpoint:
    return Endpoint(name, base_url, key_variable, priced_as=priced_as)


def served_here(name: str, base_url: str, key_variable: str, *, takes: frozenset[str] = Endpoint.takes) -> Endpoint:
    return Endpoint(name, base_url, key_variable, key_optional=True, takes=takes)


OPEN_SERVERS = frozenset({"prefill", "template_arguments", "top_k", "top_p"})
"""What vLLM and SGLang take."""


ENDPOINTS: dict[str, Endpoint] = {
    endpoint.name: endpoint
    for endpoint in (
        hosted("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", priced_as="openai"),
        hosted("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", priced_as="anthropic"),
        hosted(
            "google",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
            priced_as="google",
        ),
        hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", priced_as="mistral"),
        hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", priced_as="openrouter"),
        hosted("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", priced_as="together"),
        hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", priced_as="groq"),
        hosted("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", priced_as="fireworks"),
        hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", priced_as="deepseek"),
        hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY", priced_as="x-ai"),
        hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", priced_as="cerebras"),
        Endpoint(
            "azure",
            "{AZURE_OPENAI_ENDPOINT}/openai/v1",
            "AZURE_OPENAI_API_KEY",
            key_header="api-key",
            priced_as="azure",
        ),
        served_here("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", takes=OPEN_SERVERS),
        served_here("sglang", "http://localhost:30000/v1", "SGLANG_API_KEY", takes=OPEN_SERVERS),
        served_here("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY"),
        served_here("llamacpp", "http://localhost:8080/v1", "LLAMACPP_API_KEY"),
        served_here("lmstudio", "http://localhost:1234/v1", "LMSTUDIO_API_KEY"),
    )
}
"""The prefixes, each with its address and the environment variable that holds its key."""

CUSTOM = Endpoint("custom", "", "CASEWISE_API_KEY", key_optional=True)
"""A server named by `--base-url` alone."""


@dataclass(frozen=True)
class ModelName:
    """`openai/gpt-4o` taken apart: the endpoint's prefix, and the name that the endpoint knows the model by."""

    prefix: str | None
    model: str


def parse_model_name(name: str) -> ModelName:
    """Take the prefix off `name`; a name that begins with no known prefix is all model."""
    prefix, slash, model = name.partition("/")
    if slash and prefix in ENDPOINTS and model:
        return ModelName(prefix, model)
    return ModelName(None, name)


def find_endpoint(name: str, *, base_url: str | None, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint that `name` speaks of, at `base_url` if one is given.

    Raises ConfigurationError: the prefix is unknown and there is no `base_url`; or the address is unusable, holds a
    password, or needs a variable that is not set.
    """
    prefix = parse_model_name(name).prefix
    if prefix is None and base_url is None:
        meant = with_prefix(name)
        raise ConfigurationError(
            f"no endpoint is known for the model {name!r}{f' (did you mean {meant!r}?)' if meant else ''}: begin it with one of "
            f"{', '.join(f'{known}/' for known in ENDPOINTS)} or give the server's address with --base-url"
        )
    endpoint = ENDPOINTS[prefix] if prefix else CUSTOM
    return replace(endpoint, base_url=checked_address(base_url or filled(endpoint.base_url, environment)))


def with_prefix(model: str) -> str | None:
    """`model` behind the prefix of the first provider whose public prices list it; None where none does."""
    listed = (name for name, endpoint in ENDPOINTS.items() if endpoint.priced_as and find_prices(endpoint, model))
    return next((f"{name}/{model}" for name in listed), None)


def filled(address: str, environment: Mapping[str, str]) -> str:
    if not address.startswith("{"):
        return address
    variable, _, rest = address[1:].partition("}")
    if not environment.get(variable):
        raise ConfigurationError(f"set {variable} to the address of your resource, or give it with --base-url")
    return environment[variable].rstrip("/") + rest


def checked_address(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"{address!r} is not the address of a server, such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        raise ConfigurationError(
            f"the address of {parts.hostname} holds a user, a password or a query; keys come from environment "
            "variables only, so that none ends up in a run's files"
        )
    return address.rstrip("/")


SHORTEST_REDACTED = 4
"""A shorter key is a placeholder such as `x`; striking it out of a reply would only spoil the reply."""


class Key:
    """A secret that shows itself to nobody but `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for a request's headers."""
        return self._value

    def redact(self, text: str) -> str:
        """`text` without the secret: some servers repeat the key they were sent in their error messages."""
        return text.replace(self._value, "[key]") if len(self._value) >= SHORTEST_REDACTED else text

    def __repr__(self) -> str:
        return "Key([hidden])"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written to anything, pickles included")


def read_key(endpoint: Endpoint, environment: Mapping[str, str]) -> Key | None:
    """The key for `endpoint`, or None where none is set and none is needed.

    Raises ConfigurationError: the variable is not set, or what it holds cannot be sent in a header.
    """
    if endpoint.key_variable is None:
        return None
    value = environment.get(endpoint.key_variable, "").strip()
    if not value:
        if endpoint.key_optional:
            return None
        raise ConfigurationError(f"set {endpoint.key_variable} to your key for {endpoint.name} ({endpoint.base_url})")
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"{endpoint.key_variable} holds characters that no key has; was it pasted whole?")
    return Key(value)


# What tokens cost: from the user, or from the public price list of genai-prices.


@dataclass(frozen=True)
class Prices:
    """US dollars for a million tokens."""

    input_usd: Annotated[float, Parameter(name="--price-in")]
    """Price of a million input tokens in US dollars."""
    output_usd: Annotated[float, Parameter(name="--price-out")]
    """Price of a million output tokens in US dollars."""

    def __post_init__(self) -> None:
        if not (self.input_usd >= 0 and self.output_usd >= 0):
            raise ConfigurationError("a price is 0 or more, in US dollars for a million tokens")

    def of(self, usage: Usage) -> float | None:
        """What `usage` costs; None where the endpoint does not say how many tokens it was."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / 1e6

    def less(self, discount: float) -> Prices:
        """These, with a share taken off: 0.5 is half the price."""
        return Prices(self.input_usd * (1 - discount), self.output_usd * (1 - discount))


FREE = Prices(0.0, 0.0)


def find_prices(endpoint: Endpoint, model: str) -> Prices | None:
    """What `model` costs at `endpoint`; None where nobody has listed it.

    A server on this machine costs nothing. Prices that rise with the length of a prompt are taken at their base.
    """
    if not endpoint.remote:
        return FREE
    if endpoint.priced_as is None:
        return None
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    try:
        listed = calc_price(
            ListedUsage(input_tokens=1000, output_tokens=1000), model_ref=model, provider_id=endpoint.priced_as
        )
    except LookupError:
        return None
    return Prices(per_million(listed.input_price), per_million(listed.output_price))


def per_million(of_thousand: Decimal) -> float:
    return float(of_thousand * 1000)
