"""`casewise contexts`: from queries to a released set of contexts that people stand behind."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.types import NonNegativeInt, PositiveInt

from casewise import api
from casewise.cli.data import ParametersOption, TaxonomyOption
from casewise.cli.options import ASKED, MONEY, Batches, DatabaseOption, DryRunOption, YesOption
from casewise.cli.printing import (
    as_json,
    command_line,
    end,
    leave,
    note,
    note_first,
    print_cost,
    print_json,
    say,
    tell_pending,
    watching,
)
from casewise.errors import ConfigurationError, ExitCode
from casewise.options import Flat

app = App(name="contexts")

DraftArgument = Annotated[str, Parameter(help="The draft's name.")]
EndpointOption = Annotated[
    str | None,
    Parameter(name=("--base-url", "--model-url"), help="Address of a chat-completions server, up to and with /v1."),
]


@app.command
def select(
    queries: Path,
    /,
    *,
    draft: str | None = None,
    per_category: PositiveInt | None = None,
    seed: int = 0,
    taxonomy: TaxonomyOption = None,
    parameters: ParametersOption = None,
    intents: str = "safe,unsafe",
    movable: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Select queries, balanced by category, and begin a draft. Duplicates are left out and listed.

    Parameters
    ----------
    queries
        CSV, JSONL, JSON, Parquet, SORRY-Bench's question.jsonl, or a benchmark: demo, casebench, a folder, a published
        JSON file.
    draft
        Name of the new draft. Default: the file's name.
    per_category
        Queries of each category. Default: all.
    seed
        Seed of the draw of queries.
    intents
        Intents to make contexts for.
    movable
        Leave out queries of a benchmark whose label is the same in every context (casewise audit).
    """
    name = draft or queries.stem.lower()
    chosen = api.contexts.select(
        queries,
        draft=name,
        per_category=per_category,
        seed=seed,
        movable=movable,
        wanted=api.contexts.WantedContexts(
            intents=[part.strip() for part in intents.split(",")], taxonomy=taxonomy, parameters=parameters
        ),
        database=database,
    )
    again = [
        (twin, "again" if twin.similarity == 1 else f"nearly again ({twin.similarity:.0%})") for twin in chosen.twins
    ]
    note_first([f"left out, {how}: {twin.dropped.text!r} (kept: {twin.kept.text!r})" for twin, how in again])
    note_first([f"{category}: only {count} of {per_category}" for category, count in chosen.short.items()])
    found = len({query.category for query in chosen.queries})
    what = f"{len(chosen.queries)} queries in {found} categories"
    twins = [{"left_out": twin.dropped.text, "kept": twin.kept.text, "how": how} for twin, how in again]
    say(
        f"{name}: {what}",
        draft=name,
        queries=len(chosen.queries),
        categories=found,
        left_out=len(twins),
        twins=twins,
        short=chosen.short,
    )
    note(f"next: casewise contexts generate {name} --model MODEL")


@dataclass(frozen=True)
class WritingOptions:
    """Options of writing contexts."""

    intents: str = "safe,unsafe"
    """Intents of the contexts: safe, unsafe, or both, separated by a comma."""
    which: str = "missing"
    """Contexts to write: missing, new, failed, or 'beyond repair' (replaces those)."""
    attempts: PositiveInt = 2
    """Maximum number of calls for one context."""
    temperature: float = 1.0
    """Sampling temperature of the model."""
    prompts: Path | None = None
    """A TOML file with your own prompts."""

    def writing(self, calls: CallOptions) -> api.contexts.Writing:
        """Return the options as the Python API takes them."""
        return api.contexts.Writing(
            intents=self.intents.split(","),
            which=self.which,
            attempts=self.attempts,
            temperature=self.temperature,
            prompts=self.prompts,
            base_url=calls.base_url,
            prices=calls.prices,
            limits=calls.limits,
            command=command_line(),
            batch=calls.batches.options(),
        )


@dataclass(frozen=True)
class CallOptions:
    """Address, limits and prices of the calls of a model."""

    base_url: EndpointOption = None
    limits: Annotated[api.Limits, MONEY] = field(default_factory=api.Limits)
    prices: Annotated[api.Prices | None, MONEY] = None
    batches: Annotated[Batches, MONEY] = field(default_factory=Batches)
    dry_run: DryRunOption = False
    yes: YesOption = False

    def leave(self, what: str, to: str | None) -> None:
        """Ask for leave to send something."""
        leave(what, to, agreed=self.yes)


@app.command
def generate(
    draft: DraftArgument,
    /,
    *,
    model: str,
    writing: Annotated[WritingOptions, ASKED] = WritingOptions(),
    calls: Flat[CallOptions] = CallOptions(),
    database: DatabaseOption = None,
) -> None:
    """Generate the missing contexts with a model. The same command resumes.

    Parameters
    ----------
    model
        The model: openai/gpt-4o, ollama/NAME, …; fake/contexts makes up contexts at no cost.
    """
    how = writing.writing(calls)
    if calls.dry_run:
        estimate = api.contexts.estimate_generating(draft, model, writing=how, database=database)
        print_calls(estimate, model, "contexts")
        return
    with watching(f"generating {draft}") as watch:
        summary = api.contexts.generate(draft, model, writing=how, database=database, watch=watch, leave=calls.leave)
    if as_json():
        print_json(summary.as_json())
    else:
        say_generated(summary, draft)
    end(summary)


def say_generated(summary: api.contexts.GenerationSummary, draft: str) -> None:
    print(f"{summary.generated} contexts generated, {summary.failed.total()} failed, in {summary.n_calls} calls")
    for reason, count in summary.failed.most_common():
        note(f"  {count} {reason}")
    tell_pending(summary)
    if summary.stopped:
        note(f"stopped: {summary.stopped}; the same command resumes")
    if summary.failed:
        note(f"again, these alone: casewise contexts generate {draft} --which failed --model MODEL")
    note(f"next: casewise contexts check {draft}")


def print_calls(estimate: api.contexts.CallEstimate, model: str, what: str) -> None:
    """Print an estimate of calls, tokens and cost."""
    if as_json():
        print_json({"model": model, what: estimate.n_calls, **asdict(estimate)})
        return
    print(f"{model}: {estimate.n_calls:,} {what} in as many calls")
    print_cost(estimate)


@app.command
def check(
    draft: DraftArgument,
    /,
    *,
    ask: str | None = None,
    out: Path | None = None,
    retry_unread: NonNegativeInt = 0,
    calls: Flat[CallOptions] = CallOptions(),
    database: DatabaseOption = None,
) -> None:
    """Check contexts for drift, contradictions, misplaced words, give-aways, leaks and copies; show the progress of the review.

    Reviewers see the findings.

    Parameters
    ----------
    ask
        Also ask this model for its opinion of every context. Its findings show its name.
    out
        Run folder of the model's opinions, new or to resume. Default: runs/DRAFT-opinions-MODEL.
    retry_unread
        Maximum number of further calls if a reply gives no opinion.
    """
    reading = api.contexts.ReaderOptions(
        out=out,
        base_url=calls.base_url,
        prices=calls.prices,
        limits=calls.limits,
        retries=retry_unread,
        command=command_line(),
        batch=calls.batches.options(),
    )
    if calls.dry_run:
        if ask is None:
            raise ConfigurationError("--dry-run says what asking a model would take; give --ask MODEL")
        estimate = api.contexts.estimate_asking(draft, ask, reading=reading, database=database)
        print_calls(estimate, ask, "opinions")
        return
    asked = None
    if ask is not None:
        with watching(f"asking {ask}") as watch:
            asked = api.contexts.ask(draft, ask, reading=reading, database=database, watch=watch, leave=calls.leave)
        for line in asked.lines(ask):
            note(line)
    report = api.contexts.check(draft, database=database)
    review = api.contexts.status(draft, database=database)
    if as_json():
        print_json({**report.as_json(), "review": review.as_json()})
    else:
        print("\n".join([*report.lines(), *review.lines()]))
    if asked is not None and (asked.stopped or asked.n_pending):
        raise SystemExit(ExitCode.STOPPED)


@app.command
def release(
    draft: DraftArgument,
    /,
    *,
    version: str,
    out: Path | None = None,
    licence: str | None = None,
    gated: Annotated[bool, Parameter(negative="--open")] = True,
    no_context: bool = False,
    generated: bool = False,
    unreviewed: bool = False,
    database: DatabaseOption = None,
) -> None:
    """Write an immutable benchmark with checksums. Every context must be approved, except with --unreviewed.

    Parameters
    ----------
    version
        The release's version, such as 1.0.0.
    out
        The new folder. Default: DRAFT-VERSION.
    licence
        Licence of the release.
    gated
        Require people to accept terms before they get the benchmark; --open requires nothing.
    no_context
        Add an item without context for each query.
    generated
        Add items with the generated form of contexts that the review changed.
    unreviewed
        Release the generated contexts only; no approval is needed.
    """
    options = api.contexts.ReleaseOptions(
        version=version,
        licence=licence,
        gated=gated,
        with_no_context=no_context,
        with_generated=generated,
        unreviewed=unreviewed,
    )
    folder = api.contexts.release(draft, options=options, out=out, database=database)
    say(f"{draft} {version} is released: {folder}", draft=draft, version=version, folder=str(folder))
    note(f"next: casewise judge {folder} --judge constant:intended")
