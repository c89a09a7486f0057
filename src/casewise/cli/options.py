"""Arguments and options of several commands, and the groups that help shows them in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number

from casewise.errors import ConfigurationError
from casewise.notation import hyphened
from casewise.options import SPEED_GROUP


def options_group(name: str, place: int = 0) -> Parameter:
    """Return a group of options that help shows under a heading of their own."""
    return Parameter(name="*", group=Group(name, sort_key=place))


ASKED = options_group("What is asked", 1)
ITEMS = options_group("Which items", 2)
MODEL = options_group("Model and prompts", 3)
MONEY = options_group("Cost", 4)
SPEED = Parameter(name="*", group=SPEED_GROUP)
MACHINE = options_group("Models on this machine", 6)
BEFORE_RUN = options_group("Before the run", 7)
COUNTED = options_group("How it is counted", 8)
WRITTEN = options_group("Output", 9)


def text_or_stdin(_type: object, tokens: Sequence[Token]) -> str:
    """Return a text as typed, or standard input for `-`."""
    typed = tokens[0].value
    return sys.stdin.read().strip() if typed == "-" else typed


FREE_TEXT = Parameter(allow_leading_hyphen=True, converter=text_or_stdin)
"""A text in the user's own words: it may begin with a hyphen, and `-` reads it from standard input."""

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
PhaseOption = Annotated[
    Literal["pilot", "main", "rehearsal", "preview"],
    Parameter(help="The round of the study: main or pilot.", show_choices=False),
]
DryRunOption = Annotated[
    bool, Parameter(help="Estimate calls, tokens and cost; call no model.", group=BEFORE_RUN.group)
]
YesOption = Annotated[
    bool,
    Parameter(
        help="Agree to send harmful text to the provider of the model that is asked, and of no other model.",
        group=BEFORE_RUN.group,
    ),
]

ParameterColumns = Annotated[
    tuple[str, ...],
    Parameter(
        name="--parameter",
        help="COLUMN=group.parameter for a column that states one parameter of the context; may be repeated.",
    ),
]


def given_options(options: object) -> list[str]:
    """Return the options of a dataclass that differ from their defaults, as they are typed."""
    default = type(options)()
    return [
        f"--{hyphened(name.strip('_'))}" for name, value in vars(options).items() if value != getattr(default, name)
    ]


def values_by_name(given: Sequence[str], form: str = "COLUMN=group.parameter") -> dict[str, str]:
    """Return the values of a repeated --parameter by name. Raises ConfigurationError: one is not written in this form."""
    values: dict[str, str] = {}
    for text in given:
        name, _, value = text.partition("=")
        if not (name and value):
            raise ConfigurationError(f"--parameter is {text!r}; write {form}")
        values[name.strip()] = value
    return values
