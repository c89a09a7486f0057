"""What several commands take: arguments, options, and the groups that help shows them in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from casewise import api
from casewise.errors import ConfigurationError

# The groups of options, in the order in which help shows them.

ASKED = Parameter(name="*", group=Group("What is asked", sort_key=1))
ITEMS = Parameter(name="*", group=Group("Of which items", sort_key=2))
MODEL = Parameter(name="*", group=Group("Of whom, and in what words", sort_key=3))
MONEY = Parameter(name="*", group=Group("Money", sort_key=4))
SPEED = Parameter(name="*", group=Group("Speed and faults", sort_key=5))
MACHINE = Parameter(name="*", group=Group("Models on this machine", sort_key=6))
HOW = Parameter(name="*", group=Group("Before it begins", sort_key=7))
COUNTED = Parameter(name="*", group=Group("What counts", sort_key=8))
WRITTEN = Parameter(name="*", group=Group("Where it goes", sort_key=9))

# Arguments and options of more than one command.

BenchmarkArgument = Annotated[
    str, Parameter(help="demo, casebench, a benchmark folder, or a published JSON file.", name="BENCHMARK")
]
BenchmarkOption = Annotated[str | None, Parameter(help="The benchmark, where it has moved since.")]
ItemArgument = Annotated[str | None, Parameter(help="An item's id, its beginning, or its place from 1.")]
RunArgument = Annotated[Path, Parameter(help="A run folder.")]
DatabaseOption = Annotated[
    str | None, Parameter(help="A file (SQLite) or postgresql://…; else CASEWISE_DATABASE, else casewise.db here.")
]
SiteOption = Annotated[
    str | None, Parameter(help="The web app's address in a browser (https:// behind TLS); else CASEWISE_SITE_URL.")
]
LabelsOption = Annotated[
    str, Parameter(help="Label policy: votes, published or intended, with ,override:CATEGORY=unsafe where wanted.")
]
OutputsOption = Annotated[
    Path | None, Parameter(help="A folder with judges' output files of the release; else CASEWISE_OUTPUTS.")
]
SubsetOption = Annotated[
    str | None, Parameter(help="Only these items: clear, close, low-margin or hard (casewise audit).")
]
ElicitOption = Annotated[
    str | None, Parameter(help="How to ask: binary, score, probability, scalar; several with commas.")
]
ArmsOption = Annotated[str | None, Parameter(help="Arms by name, with spaces: 'full none without:recipient'.")]
BaseUrlOption = Annotated[
    str | None, Parameter(help="Address of a chat-completions server, up to and with /v1.", group=MODEL.group)
]
SeedOption = Annotated[int | None, Parameter(help="Seed of the sample; where it is given, models get it too.")]
FormatOption = Annotated[
    str | None,
    Parameter(
        name="--format", help="How to print it: html, markdown, latex, text or json. Default: for this terminal."
    ),
]
WithTextsOption = Annotated[bool, Parameter(help="Write the texts of a benchmark whose terms restrict them.")]
GraderLabelsOption = Annotated[
    Path | None,
    Parameter(help="People's labels of some replies: an exported study of replies, or a file (item_id, label)."),
]
DryRunOption = Annotated[bool, Parameter(help="Say what it would take; call nobody.", group=HOW.group)]
YesOption = Annotated[bool, Parameter(help="Agree to send harmful text to the provider.", group=HOW.group)]


@dataclass(frozen=True)
class Batches:
    """Whether calls go over a batch interface."""

    batch: bool = False
    """Over the provider's batch interface, at about half the price: hand over, collect what is ready, and end. The same
    command again collects the rest; see casewise run jobs."""
    wait: bool = False
    """With --batch: stay until all is answered."""

    def options(self) -> api.BatchOptions | None:
        """How calls go over a batch interface; None where they do not.

        Raises ConfigurationError: there is nothing to wait for.
        """
        if self.wait and not self.batch:
            raise ConfigurationError("--wait goes with --batch; without it a command waits anyway")
        return api.BatchOptions(wait=self.wait) if self.batch else None


@dataclass(frozen=True)
class Calls:
    """What the calls of a run may take, and how they are made."""

    limits: Annotated[api.Limits, MONEY] = field(default_factory=api.Limits)
    prices: Annotated[api.Prices | None, MONEY] = None
    batches: Annotated[Batches, MONEY] = field(default_factory=Batches)
    client: Annotated[api.ClientOptions, SPEED] = field(default_factory=api.ClientOptions)

    def model(
        self, base_url: str | None, local: api.LocalOptions = api.LocalOptions(), *, needs_key: bool
    ) -> api.ModelOptions:
        """How a model is reached."""
        client = replace(self.client, concurrency=self.limits.concurrency)
        batch = self.batches.options() is not None
        return api.ModelOptions(base_url, self.prices, client, local, needs_key=needs_key, batch=batch)


@dataclass(frozen=True)
class Items:
    """Which items are asked about."""

    selection: Annotated[api.Selection, ITEMS] = field(default_factory=api.Selection)
    items: SubsetOption = None
    seed: SeedOption = None

    def of(self, benchmark: api.Benchmark) -> api.Selection:
        """The items that these options name."""
        return replace(self.selection, seed=self.seed or 0, ids=api.ids_in(benchmark, self.items))
