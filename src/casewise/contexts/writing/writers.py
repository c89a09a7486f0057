"""Models that write or read contexts, by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from casewise.contexts.writing.fake_writers import rehearsal
from casewise.models import Model
from casewise.models.http.openai_compatible import OpenAICompatibleModel
from casewise.models.http.prices import FREE, Prices, find_prices
from casewise.models.local.local_options import LocalOptions

__all__ = ["Writer", "writer_named"]


@dataclass(frozen=True)
class Writer:
    """A model, and what it costs where that is known."""

    model: Model
    prices: Prices | None


def writer_named(name: str, *, environment: Mapping[str, str], base_url: str | None = None) -> Writer:
    """The model called `name`: `openai/…` and other endpoints, `hf:…`, `inspect:…`, or a rehearsal (`fake/contexts`).

    Raises
    ------
    ConfigurationError
        The name is unknown, a key is not set, or an extra that is needed is not installed.
    """
    if (rehearsed := rehearsal(name)) is not None:
        return Writer(rehearsed, FREE)
    if name.startswith("hf:"):
        from casewise.models.local.transformers_local import TransformersModel

        return Writer(TransformersModel.load(name, LocalOptions()), FREE)
    if name.startswith("inspect:"):
        from casewise.models.inspect_bridge import InspectModel

        return Writer(InspectModel.named(name, base_url=base_url), None)
    model = OpenAICompatibleModel.connect(name, environment=environment, base_url=base_url)
    return Writer(model, find_prices(model.endpoint, model.model))
