"""Loading a model by the name that a user gives: one entry for each backend."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from casewise.errors import ConfigurationError
from casewise.models.batches.terms import terms_of
from casewise.models.client import ClientOptions, EndpointClient, OpenAICompatibleModel
from casewise.models.endpoints import ExtraOptions, find_endpoint, find_prices, parse_model_name, read_key
from casewise.models.gguf import GGUFModel, weights_file
from casewise.models.local import LocalOptions, SequenceClassifier, TransformersModel
from casewise.models.prices import FREE, Prices
from casewise.models.protocol import FakeModel, Model, ReplyFunction, TextClassifier


@dataclass(frozen=True)
class ModelOptions:
    """Options of reaching a model."""

    base_url: str | None = None
    prices: Prices | None = None
    """The user's prices; None uses the public price list."""
    client: ClientOptions = field(default_factory=ClientOptions)
    local: LocalOptions = field(default_factory=LocalOptions)
    extra: ExtraOptions = field(default_factory=ExtraOptions)
    needs_key: bool = True
    """False if no call will be made: then no key and no header is read."""
    fakes: Mapping[str, ReplyFunction] | None = None
    """Answers by `fake/NAME`; None allows every name."""
    batch: bool = False
    """Use the provider's batch interface and its discount on list prices."""

    def connect(self, name: str, environment: Mapping[str, str]) -> EndpointClient:
        """Return the client of the endpoint of the model called `name`, with its key from `environment`.

        Raises ConfigurationError: the prefix is unknown, the address unusable, or the key is not set.
        """
        endpoint = find_endpoint(name, base_url=self.base_url, environment=environment)
        key = read_key(endpoint, environment) if self.needs_key else None
        extra = self.extra.read(environment, needs_key=self.needs_key)
        return EndpointClient(endpoint, key=key, options=self.client, extra=extra)


@dataclass(frozen=True)
class LoadedModel:
    """A model, and the prices of its tokens if they are known."""

    model: Model
    prices: Prices | None


BACKENDS: dict[str, tuple[str, ...]] = {
    "": (
        "openai/MODEL, anthropic/MODEL, vllm/MODEL and others (a model behind an endpoint; casewise doctor lists them all)",
        "any MODEL with --base-url ADDRESS (any server that speaks OpenAI's chat completions)",
    ),
    "hf:": ("hf:PATH_OR_ID (a model run here with transformers)",),
    "gguf:": (
        "gguf:PATH (a model in a GGUF file, run here with llama.cpp), gguf:smollm2 (SmolLM2, 135 million parameters)",
    ),
    "inspect:": ("inspect:PROVIDER/MODEL (any model that Inspect AI knows)",),
    "fake/": ("fake/rehearsal (made-up replies, to rehearse a run)",),
}
"""Forms of a name, each with an explanation, by the prefix; an endpoint takes every name without another prefix."""


def second_model_options(name: str, first: str, options: ModelOptions) -> ModelOptions:
    """Return the options of a second model called `name`; `options` are those of the model called `first`.

    It has the address, prices and further parts of calls of the first if it is the same model or its name has no provider,
    or if there is no first one (""). Of a model of the same provider it has the address and these parts, and the prices if
    there is an address. It is called live, and without the first model's adapter if it is another model.
    """
    live = replace(options, batch=False)
    own_endpoint = replace(
        live, base_url=None, prices=None, extra=ExtraOptions(), local=replace(options.local, adapter=None)
    )
    if not first or name == first or not is_model_name(name, own_endpoint):
        return live
    provider = parse_model_name(name)[0]
    same = provider is not None and provider == parse_model_name(first)[0]
    if not same:
        return own_endpoint
    prices = options.prices if options.base_url else None
    return replace(own_endpoint, base_url=options.base_url, extra=options.extra, prices=prices)


def is_model_name(name: str, options: ModelOptions) -> bool:
    """Return whether `name` is that of a model: it has a known prefix, or an address is given."""
    has_prefix = name.startswith(tuple(filter(None, BACKENDS))) or parse_model_name(name)[0] is not None
    return has_prefix or options.base_url is not None


def load_model(
    name: str, options: ModelOptions | None = None, *, environment: Mapping[str, str] | None = None
) -> LoadedModel:
    """Return the model called `name`. Keys are read from the environment now, and only now.

    Raises ConfigurationError: there is no such model, a key is not set, the address is unusable, or an extra that is
    needed is not installed.
    """
    prefix = max((prefix for prefix in BACKENDS if name.startswith(prefix)), key=len)
    options = options or ModelOptions()
    if options.batch and prefix:
        raise ConfigurationError(f"{name} cannot be used over a batch interface; remove --batch")
    if options.extra != ExtraOptions() and prefix:
        raise ConfigurationError(
            f"--api-version, --header and --body-field are for models behind an endpoint, and {name} is not one"
        )
    if options.local.adapter and prefix != "hf:":
        raise ConfigurationError(f"--adapter works only with hf: models, and {name} is not one")
    if prefix == "hf:":
        return LoadedModel(TransformersModel.load(name, options.local), FREE)
    if prefix == "gguf:":
        return LoadedModel(GGUFModel(name, weights_file(name), options.client), FREE)
    if prefix == "inspect:":
        from casewise.models.inspect_bridge import InspectModel

        inspected = InspectModel.load(name, base_url=options.base_url, concurrency=options.client.concurrency)
        return LoadedModel(inspected, options.prices)
    if prefix == "fake/":
        if options.fakes is not None and name not in options.fakes:
            raise ConfigurationError(f"no rehearsal is called {name!r}; there are {', '.join(options.fakes)}")
        return LoadedModel(FakeModel((options.fakes or {}).get(name), name=name), FREE)
    model = OpenAICompatibleModel(name, options.connect(name, os.environ if environment is None else environment))
    listed = find_prices(model.endpoint, model.model)
    if options.batch:
        listed = listed.discounted(terms_of(model.endpoint).discount) if listed else None
    return LoadedModel(model, options.prices or listed)


def load_classifier(name: str, options: ModelOptions | None = None) -> TextClassifier:
    """Return the classifier called `name`.

    Raises ConfigurationError: there is no such classifier, or an extra that is needed is not installed.
    """
    if not name.startswith("hf:"):
        raise ConfigurationError(f"{name!r} is not a classifier that casewise can run; their names begin with hf:")
    return SequenceClassifier.load(name, (options or ModelOptions()).local)
