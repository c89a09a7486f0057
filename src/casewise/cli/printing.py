"""The output of commands: results to stdout, everything else to stderr."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from casewise.cli.options import WRITTEN, FormatOption, HtmlOption, MarkdownOption
from casewise.errors import ConfigurationError, ExitCode
from casewise.models.consent import VARIABLE, agreed_receivers, allow_sending
from casewise.runs.limits import RunObserver, RunProgress
from casewise.storage.files import json_text, write_text
from casewise.text import count_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from casewise.reports.document import Document
    from casewise.runs.run import CallEstimate


def exit_with_status(progress: RunProgress) -> None:
    """End the command with the exit code of a run that may have stopped early, have pending calls, or have no result."""
    if progress.stopped or progress.n_pending or progress.n_unavailable:
        raise SystemExit(ExitCode.STOPPED)
    if progress.n_unusable and not progress.n_usable:
        raise SystemExit(ExitCode.NOTHING_SCORED)


def print_pending(progress: RunProgress, run: Path | None = None) -> None:
    """Print the number of pending batch calls of `run`."""
    if progress.n_pending:
        look = "casewise show jobs" + (f" {shlex.quote(str(run))}" if run else "")
        note(
            f"{count_of(progress.n_pending, 'call is')} at the provider ({look}); the same command with --batch collects what is ready"
        )


def session_line(progress: RunProgress, usable: str) -> str:
    """Return a line with the content of a run and the calls of this session.

    `usable`: the noun of a usable answer in the singular, as in `count_of`.
    """
    resumed = f" ({progress.resumed:,} from earlier sessions)" if progress.resumed else ""
    return (
        f"{count_of(progress.n_usable, usable)}{resumed}, {progress.n_unusable:,} {progress.unusable}; "
        f"{count_of(progress.n_calls, 'call')} in {progress.seconds:.1f} s{cost_line(progress)}"
    )


def cost_line(progress: RunProgress) -> str:
    """Return what follows the number of calls in a line: their cost, as far as it is known, and the most that the rest can cost."""
    cost = f", ${progress.cost_usd:.4f}" if progress.cost_usd else ""
    if progress.assumed_tokens:
        amount = (
            f"${progress.assumed_cost_usd:.4f}"
            if progress.assumed_cost_usd
            else f"{count_of(progress.assumed_tokens, 'token')}"
        )
        cost += f", and at most {amount} more for calls whose tokens the endpoint did not report"
    return cost


def print_failures(progress: RunProgress) -> None:
    """Print the reasons of unusable answers, the most frequent first."""
    for problem, times in progress.problems.most_common(3):
        note(f"{times:,} {progress.unusable} in this session: {problem}")


def print_unfinished(progress: RunProgress, run: Path) -> None:
    """Print the number of remaining calls, and that the same command resumes the run."""
    print_pending(progress, run)
    if progress.stopped:
        note(f"stopped: {progress.stopped}; the same command resumes")
    if progress.n_unavailable:
        note(f"{count_of(progress.n_unavailable, 'item')} got no answer; the same command asks for them again")


def print_json(value: Any) -> None:
    """Print `value` as the one JSON document on stdout."""
    sys.stdout.write(json_text(value))


FACTS: ContextVar[dict[str, Any] | None] = ContextVar("FACTS", default=None)
"""The output of a command so far, if it is to be one JSON document; None if it is to be lines."""


def is_json_output() -> bool:
    """Return True if standard output must hold one JSON document and nothing else."""
    return FACTS.get() is not None


def say(text: str, **facts: Any) -> None:
    """Print a result: `text` as a line or, with --json, `facts` as members of the one document."""
    document = FACTS.get()
    if document is None and text:
        print(text)
    elif document is not None:
        document |= facts


def announce(text: str, *, err: bool = False, **facts: Any) -> None:
    """Print a result at once, for a command that runs until it is stopped."""
    if is_json_output():
        print_json(facts)
    else:
        print(text, file=sys.stderr if err else sys.stdout)
    sys.stdout.flush()


@contextmanager
def gathering_results(*, json: bool) -> Iterator[None]:
    """Make `say` gather one JSON document, printed when the command ends; or print lines."""
    facts: dict[str, Any] = {}
    before = FACTS.set(facts if json else None)
    try:
        yield
    except SystemExit:
        print_facts(facts)
        raise
    else:
        print_facts(facts)
    finally:
        FACTS.reset(before)


def print_facts(facts: dict[str, Any]) -> None:
    if facts:
        print_json(facts)


def note(text: str) -> None:
    """Print a note, which is not part of the result."""
    print(text, file=sys.stderr)


def print_first_notes(lines: Sequence[str]) -> None:
    """Print the first three notes and the number of further ones; --json has all."""
    for line in lines[:3]:
        note(line)
    if more := lines[3:]:
        note(f"and {len(more):,} more like the last (all of them: --json)")


def confirm(question: str) -> bool:
    """Return True if the person at the terminal says yes. Ctrl-C ends the command at once, in spite of polars."""
    signal.siginterrupt(signal.SIGINT, True)
    while True:
        sys.stderr.write(f"{question} [y/N]: ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
        if answer in ("", "n", "no", "y", "yes"):
            return answer in ("y", "yes")


def show(document: Document, *, full: bool = True) -> None:
    """Print the answer of a report; `full` adds its brief sections."""
    from rich.console import Console

    from casewise.reports.formats import print_document  # and all that a report needs

    print_document(document, Console(soft_wrap=False), full=full)


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table with the first column and words to the left, and numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    texts = [place == 0 or any(map(str.isalpha, "".join(column[1:]))) for place, column in enumerate(columns)]
    for row in cells:
        line = (f"{cell:{'<' if words else '>'}{width}}" for cell, width, words in zip(row, widths, texts, strict=True))
        say("  ".join(line).rstrip())


class HasDocument(Protocol):
    """Numbers with a document."""

    @property
    def document(self) -> Document: ...

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class DocumentOptions:
    """The files and formats of a document."""

    html: HtmlOption = None
    markdown: MarkdownOption = None
    latex: Path | None = None
    """Write the tables as LaTeX (booktabs) here too."""
    figures: Path | None = None
    """Write every chart as SVG and PNG to this folder."""
    tables: Path | None = None
    """Write every table as Parquet to this folder."""
    form: FormatOption = None
    out: Path | None = None
    """Write the document to this file instead of printing it. Its ending, or --format, sets the format."""

    def present(self, report: HasDocument, *, full: bool = True) -> None:
        """Print `report` (only its answer unless `full`) or write it to `--out`, and write the other requested files."""
        for path in self.written_beside(report.document):
            note(f"written: {path}")
        if self.out is not None:
            write_text(self.out, self.written(report), private=report.document.quotes_replies)
            note(f"written: {self.out}")
        elif self.wants_json:
            print_json(report.as_json())
        elif self.form is not None:
            print(self.written(report), end="")
        else:
            show(report.document, full=full)

    def present_with_page(
        self,
        report: HasDocument,
        page: Path,
        *,
        full: bool = True,
        hint: str = "",
        before_printing: Callable[[], None] = lambda: None,
    ) -> None:
        """Print or write `report`, and write its page to `page` unless --html names another place; `hint` follows its path.

        `before_printing`: writes other files, once the page is written.
        """
        from casewise.reports.formats import html

        page = self.html or page
        write_text(page, html(report.document), private=report.document.quotes_replies)
        before_printing()
        replace(self, html=None).present(report, full=full)
        note(f"page: {page}{hint}")

    @property
    def wants_json(self) -> bool:
        """True if the output is the numbers as JSON. Raises ConfigurationError: another format is named too."""
        if is_json_output() and self.form not in (None, "json"):
            raise ConfigurationError(f"--json and --format {self.form} name two formats; give one")
        by_ending = self.form is None and self.out is not None and self.out.suffix == ".json"
        return is_json_output() or self.form == "json" or by_ending

    def written(self, report: HasDocument) -> str:
        if self.wants_json:
            return json_text(report.as_json())
        from casewise.reports.formats import find_format

        return find_format(self.form, self.out).write(report.document)

    def written_beside(self, document: Document) -> Iterator[Path]:
        """Write the formats that were requested by name, and print the path of each."""
        from casewise.reports.formats import FORMATS, write_figures, write_tables

        for name in ("html", "markdown", "latex"):
            path = getattr(self, name)
            if path is not None:
                write_text(path, FORMATS[name].write(document), private=document.quotes_replies)
                yield path
        for folder, write in ((self.figures, write_figures), (self.tables, write_tables)):
            if folder is not None:
                write(document, folder)
                yield folder


Documents = Annotated[DocumentOptions, WRITTEN]


BAR = 20
"""Columns of a bar, which a terminal of 120 columns or more has."""


def print_cost(estimate: CallEstimate) -> None:
    """Print the estimated tokens and cost of calls."""
    tokens = f"{count_of(estimate.input_tokens, 'token')} in and {estimate.output_tokens:,} out"
    say(f"about {tokens} (a rough estimate)", **asdict(estimate))
    if estimate.cost_usd is None:
        say("cost: unknown; give --price-in and --price-out")
    else:
        say(f"cost: about ${estimate.cost_usd:.2f}, at most ${estimate.cost_at_most_usd:.2f}")


def print_before(before: Mapping[str, CallEstimate]) -> None:
    """Print the estimated cost of models that make texts for the arms."""
    for name, texts in before.items():
        print(f"before that, {name} writes {count_of(texts.n_calls, 'text')}")
        print_cost(texts)


def print_estimate(
    estimate: CallEstimate,
    endpoint: str,
    before: Mapping[str, CallEstimate] = MappingProxyType({}),
    not_shown: Sequence[str] = (),
) -> None:
    """Print the estimated cost of calls, and of the texts that models make before; as JSON also the attacks that are not shown."""
    if is_json_output():
        makers = {"before": {name: asdict(texts) for name, texts in before.items()}} if before else {}
        print_json({"asked": endpoint, **asdict(estimate), **makers, **({"not_shown": not_shown} if not_shown else {})})
        return
    print(f"{endpoint}: {count_of(estimate.n_calls, 'call')}")
    print_cost(estimate)
    print_before(before)


def confirm_sending(what: str, *to: str | None, agreed: bool = False, remembered: bool = True) -> None:
    """Ask the user to agree that `what` is sent to each receiver; None stands for this machine.

    `to`: the first is the receiver of the model that the command is about, the others are those of models beside it, such as a
        second reader or an attacker.
    `agreed`: --yes was given; it counts for the first receiver alone.
    `remembered`: consent to an earlier command counts.

    Raises ConfigurationError: the person does not agree, or cannot be asked.
    """
    for host in dict.fromkeys(to):
        if host is None or host in agreed_receivers(remembered=remembered):
            continue
        warning = f"This sends {what}, which are harmful by design, to {host}."
        if not (agreed and host == to[0]):
            if not sys.stdin.isatty():
                add = "add --yes, or " if host == to[0] else ""
                raise ConfigurationError(f"{warning} If its terms and yours allow that, {add}set {VARIABLE}={host}.")
            note(warning)
            if not confirm("Do its terms and yours allow that?"):
                raise ConfigurationError("nothing was sent")
        allow_sending(host)


@contextmanager
def progress_display(label: str) -> Iterator[RunObserver]:
    """Yield a line on stderr that follows a run: done, rate, time left, cost, failures, retries; none where it is no terminal."""
    if is_json_output() or not sys.stderr.isatty():
        yield RunObserver(say=note)
        return

    from rich.console import Console

    console = Console(stderr=True)
    with progress_bar(console) as bar:
        task = bar.add_task(label, total=None, rate="", more="")

        def update_progress(progress: RunProgress, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(task, completed=progress.n_done, total=total, rate=rate, more=progress_fields(progress))

        yield RunObserver(update_progress, say=lambda text: bar.console.print(text, markup=False, highlight=False))


def progress_bar(console: Console) -> Progress:
    """Return the progress of a run in one line. The label gives way where the numbers need the room."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        *((BarColumn(BAR),) if console.width >= 6 * BAR else ()),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[more]}"),
    )
    return Progress(*columns, console=console, transient=True, expand=True)


def progress_fields(progress: RunProgress) -> str:
    retries = progress.n_tries - progress.n_calls
    parts = [f"{progress.n_unusable:,} {progress.unusable}", *([f"{count_of(retries, 'retry')}"] if retries else [])]
    if progress.cost_usd is not None:
        parts.insert(0, f"${progress.cost_usd:.2f}")
    return ", ".join(parts)
