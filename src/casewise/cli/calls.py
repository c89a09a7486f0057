"""Options of commands that call models: limits, prices and clients, and the items that are asked about."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from cyclopts import Parameter

from casewise import api
from casewise.cli.options import ITEMS, MODEL, MONEY, SPEED, SeedOption, SubsetOption
from casewise.errors import ConfigurationError
from casewise.judges.plan import Selection
from casewise.models.client import ClientOptions
from casewise.models.endpoints import ExtraOptions
from casewise.models.load import ModelOptions
from casewise.models.local import LocalOptions
from casewise.models.prices import Prices
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import Limits
from casewise.storage.benchmark import Benchmark


@dataclass(frozen=True)
class Calls:
    """Limits, prices and client of the calls of a run."""

    limits: Annotated[Limits, MONEY] = field(default_factory=Limits)
    prices: Annotated[Prices | None, MONEY] = None
    batch: Annotated[bool, Parameter(group=MONEY.group)] = False
    """Use the provider's batch interface, at about half the price: submit, collect what is ready, and end. The same
    command collects the rest; see casewise show jobs."""
    wait: Annotated[bool, Parameter(group=MONEY.group)] = False
    """With --batch: wait until all replies have arrived."""
    client: Annotated[ClientOptions, SPEED] = field(default_factory=ClientOptions)
    extra: Annotated[ExtraOptions, MODEL] = field(default_factory=ExtraOptions)

    def model(self, base_url: str | None, local: LocalOptions = LocalOptions(), *, needs_key: bool) -> ModelOptions:
        """Return the address, prices and client of a model."""
        client = replace(self.client, concurrency=self.limits.concurrency)
        batch = self.common()["batch"] is not None
        return ModelOptions(base_url, self.prices, client, local, self.extra, needs_key=needs_key, batch=batch)

    def common(self) -> dict[str, Any]:
        """Return the options that every kind of run has.

        Raises ConfigurationError: --wait is given without --batch.
        """
        if self.wait and not self.batch:
            raise ConfigurationError("--wait works only with --batch; without --batch a command always waits")
        batch = BatchOptions(wait=self.wait) if self.batch else None
        return {"limits": self.limits, "batch": batch, "command": shlex.join(["casewise", *sys.argv[1:]])}


@dataclass(frozen=True)
class Items:
    """The items of the run."""

    selection: Annotated[Selection, ITEMS] = field(default_factory=Selection)
    items: SubsetOption = None
    seed: SeedOption = None

    def select_from(self, benchmark: Benchmark) -> Selection:
        """Return the items that these options name."""
        return replace(self.selection, seed=self.seed or 0, ids=api.judging.ids_in(benchmark, self.items))
