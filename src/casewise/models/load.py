"""From what a user calls a model to the model: one table, one entry for each backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from casewise.errors import ConfigurationError
from casewise.models.batch import terms_of
from casewise.models.client import ClientOptions, OpenAICompatibleModel
from casewise.models.endpoints import FREE, Prices, find_prices, parse_model_name
from casewise.models.local import LocalOptions
from casewise.models.local_models import SequenceClassifier, TransformersModel
from casewise.models.protocol import Answering, FakeModel, Model, TextClassifier


@dataclass(frozen=True)
class ModelOptions:
    """How a model is reached, whatever it is then asked."""

    base_url: str | None = None
    prices: Prices | None = None
    """The user's own; without them the public price list is asked."""
    client: ClientOptions = field(default_factory=ClientOptions)
    local: LocalOptions = field(default_factory=LocalOptions)
    needs_key: bool = True
    """False where nobody will be called: then no key is read, nor missed."""
    fakes: Mapping[str, Answering] | None = None
    """What each `fake/NAME` answers, where not just any name will do."""
    batch: bool = False
    """Whether it is asked over its provider's batch interface; then it must have one, and its list prices are less."""


@dataclass(frozen=True)
class LoadedModel:
    """A model, and what its tokens cost where that is known."""

    model: Model
    prices: Prices | None


@dataclass(frozen=True)
class Backend:
    """A way to run models: how names of its models are written, and what makes one."""

    forms: tuple[str, ...]
    """What to write, with a word on it, for those who must choose."""
    prefix: str
    load: Callable[[str, ModelOptions, Mapping[str, str]], LoadedModel]
    load_classifier: Callable[[str, ModelOptions], TextClassifier] | None = None


def local(name: str, options: ModelOptions, _environment: Mapping[str, str]) -> LoadedModel:
    return LoadedModel(TransformersModel.load(name, options.local), FREE)


def local_classifier(name: str, options: ModelOptions) -> TextClassifier:
    return SequenceClassifier.load(name, options.local)


def inspect(name: str, options: ModelOptions, _environment: Mapping[str, str]) -> LoadedModel:
    from casewise.models.inspect_bridge import InspectModel

    model = InspectModel.named(name, base_url=options.base_url, concurrency=options.client.concurrency)
    return LoadedModel(model, options.prices)


def fake(name: str, options: ModelOptions, _environment: Mapping[str, str]) -> LoadedModel:
    if options.fakes is None:
        return LoadedModel(FakeModel(name=name), FREE)
    if name not in options.fakes:
        raise ConfigurationError(f"no rehearsal is called {name!r}; there are {', '.join(options.fakes)}")
    return LoadedModel(FakeModel(options.fakes[name], name=name), FREE)


def endpoint(name: str, options: ModelOptions, environment: Mapping[str, str]) -> LoadedModel:
    model = OpenAICompatibleModel.connect(
        name,
        environment=environment,
        base_url=options.base_url,
        options=options.client,
        needs_key=options.needs_key,
    )
    listed = find_prices(model.endpoint, model.model)
    if options.batch:
        listed = listed.less(terms_of(model.endpoint).discount) if listed else None
    return LoadedModel(model, options.prices or listed)


ENDPOINT = Backend(
    (
        "openai/MODEL, anthropic/MODEL, vllm/MODEL and others (a model behind an endpoint; casewise doctor lists them all)",
        "any MODEL with --base-url ADDRESS (any server that speaks OpenAI's chat completions)",
    ),
    "",
    endpoint,
)
"""What takes every name that no other backend takes."""

BACKENDS: tuple[Backend, ...] = (
    ENDPOINT,
    Backend(("hf:PATH_OR_ID (a model run here with transformers)",), "hf:", local, local_classifier),
    Backend(("inspect:PROVIDER/MODEL (any model that Inspect AI knows)",), "inspect:", inspect),
    Backend(("fake/rehearsal (made-up replies, to rehearse a run)",), "fake/", fake),
)


def options_beside(name: str, first: str, options: ModelOptions) -> ModelOptions:
    """How a second model called `name` is reached, beside the model called `first` that `options` are for.

    It has the address and prices of the first where it is the same model or its name says no provider; else its own. It is asked
    live, without the first one's adapter.
    """
    live = replace(options, batch=False)
    elsewhere = replace(live, base_url=None, prices=None, local=replace(options.local, adapter=None))
    return live if name == first or not names_model(name, elsewhere) else elsewhere


def backend_of(name: str) -> Backend:
    return max(
        (backend for backend in BACKENDS if name.startswith(backend.prefix)), key=lambda backend: len(backend.prefix)
    )


def names_model(name: str, options: ModelOptions) -> bool:
    """Whether `name` speaks of a model: a known prefix, or any name at all where an address is given."""
    is_known = backend_of(name) is not ENDPOINT or parse_model_name(name).prefix is not None
    return is_known or options.base_url is not None


def load_model(
    name: str, options: ModelOptions | None = None, *, environment: Mapping[str, str] | None = None
) -> LoadedModel:
    """The model called `name`. Keys are read from the environment now, and only now.

    Raises ConfigurationError: there is no such model, a key is not set, the address is unusable, or an extra that is
    needed is not installed.
    """
    backend = backend_of(name)
    if options is not None and options.batch and backend is not ENDPOINT:
        raise ConfigurationError(f"{name} cannot be used over a batch interface; remove --batch")
    if options is not None and options.local.adapter and not name.startswith("hf:"):
        raise ConfigurationError(f"--adapter works only with hf: models, and {name} is not one")
    return backend.load(name, options or ModelOptions(), os.environ if environment is None else environment)


def load_classifier(name: str, options: ModelOptions | None = None) -> TextClassifier:
    """The classifier called `name`: what gives a text probabilities of its labels.

    Raises ConfigurationError: there is no such classifier, or an extra that is needed is not installed.
    """
    load = backend_of(name).load_classifier
    if load is None:
        there_are = ", ".join(backend.prefix for backend in BACKENDS if backend.load_classifier)
        raise ConfigurationError(
            f"{name!r} is not a classifier that casewise can run; their names begin with {there_are}"
        )
    return load(name, options or ModelOptions())
