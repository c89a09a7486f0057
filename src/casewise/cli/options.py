"""Arguments and options of several commands, and the groups that help shows them in."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from casewise import api
from casewise.errors import ConfigurationError
from casewise.judges.plan import Selection
from casewise.models.client import ClientOptions
from casewise.models.endpoints import ExtraOptions
from casewise.models.load import ModelOptions
from casewise.models.local import LocalOptions
from casewise.models.prices import Prices
from casewise.options import SPEED_GROUP
from casewise.runs.batch import BatchOptions
from casewise.runs.limits import Limits
from casewise.storage.benchmark import Benchmark

# The groups of options, in the order in which help shows them.


def options_group(name: str, place: int = 0) -> Parameter:
    """Options that help shows under a heading of their own."""
    return Parameter(name="*", group=Group(name, sort_key=place))


ASKED = options_group("What is asked", 1)
ITEMS = options_group("Which items", 2)
MODEL = options_group("Model and prompts", 3)
MONEY = options_group("Cost", 4)
SPEED = Parameter(name="*", group=SPEED_GROUP)
MACHINE = options_group("Models on this machine", 6)
HOW = options_group("Before the run", 7)
COUNTED = options_group("How it is counted", 8)
WRITTEN = options_group("Output", 9)

# Arguments and options of more than one command.

Share = Annotated[float, Parameter(validator=Number(gte=0, lte=1), metavar="0–1")]

BENCHMARK = Parameter(name="BENCHMARK")
BenchmarkArgument = Annotated[
    str, Parameter(help="demo, a name (casewise data list), a benchmark folder, or a published JSON file."), BENCHMARK
]
BenchmarkOption = Annotated[str | None, Parameter(help="The benchmark, if it has moved since the run.")]
RunArgument = Annotated[Path, Parameter(help="A run folder.")]
DatabaseOption = Annotated[
    str | None, Parameter(help="An SQLite file or postgresql://…. Default: CASEWISE_DATABASE, else casewise.db here.")
]
SiteOption = Annotated[
    str | None, Parameter(help="The web app's address in a browser (https:// behind TLS). Default: CASEWISE_SITE_URL.")
]
LabelsOption = Annotated[
    str,
    Parameter(
        help="Label policy: votes, published, intended or mean, optionally with ,unsure:half and ,override:CATEGORY=unsafe."
    ),
]
OutputsOption = Annotated[
    Path | None,
    Parameter(
        help="A folder with the release's output files of judges, or casebench for those that were fetched. Default: CASEWISE_OUTPUTS."
    ),
]
SubsetOption = Annotated[
    str | None, Parameter(help="Only these items: clear, close, low-margin or hard (casewise audit).")
]
ElicitOption = Annotated[
    str | None,
    Parameter(help="Elicitations, separated by commas: binary, score, probability, scalar.", group=ASKED.group),
]
ArmsOption = Annotated[
    str | None,
    Parameter(help="Arms by name, separated by spaces: 'full none without:recipient'.", group=ASKED.group),
]
ADDRESS = Parameter(help="Address of a chat-completions server, up to and with /v1.")
BaseUrlOption = Annotated[str | None, ADDRESS, Parameter(group=MODEL.group)]
HtmlOption = Annotated[Path | None, Parameter(help="Write the page here too.")]
MarkdownOption = Annotated[Path | None, Parameter(help="Write Markdown here too.")]
SeedOption = Annotated[int | None, Parameter(help="Seed of --sample, also passed to models that accept a seed.")]
FormatOption = Annotated[
    str | None,
    Parameter(
        name="--format", help="Format to print: html, markdown, latex, text or json. Default: for this terminal."
    ),
]
WithTextsOption = Annotated[bool, Parameter(help="Include the texts even if the benchmark has terms of use.")]
GraderLabelsOption = Annotated[
    Path | None,
    Parameter(help="People's labels of some replies: an exported study of replies, or a file (item_id, label)."),
]
PhaseOption = Annotated[
    Literal["pilot", "main", "rehearsal", "preview"],
    Parameter(help="The round of the study: main or pilot.", show_choices=False),
]
DryRunOption = Annotated[bool, Parameter(help="Estimate calls, tokens and cost; call no model.", group=HOW.group)]
YesOption = Annotated[bool, Parameter(help="Agree to send harmful text to the provider.", group=HOW.group)]


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
            raise ConfigurationError("--wait goes with --batch; without it a command waits anyway")
        batch = BatchOptions(wait=self.wait) if self.batch else None
        return {"limits": self.limits, "batch": batch, "command": shlex.join(["casewise", *sys.argv[1:]])}


@dataclass(frozen=True)
class Items:
    """The items that are asked about."""

    selection: Annotated[Selection, ITEMS] = field(default_factory=Selection)
    items: SubsetOption = None
    seed: SeedOption = None

    def of(self, benchmark: Benchmark) -> Selection:
        """The items that these options name."""
        return replace(self.selection, seed=self.seed or 0, ids=api.judging.ids_in(benchmark, self.items))
