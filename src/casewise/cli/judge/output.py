"""What `casewise judge` says: before, while and after it runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from casewise.cli.printing import note, print_json
from casewise.errors import ConfigurationError
from casewise.judging.judge import Judge
from casewise.judging.running.estimate import RunEstimate
from casewise.judging.running.run import Watch
from casewise.judging.running.summary import RunSummary
from casewise.models.http.probing import Probe
from casewise.storage.runs.consent import consented, note_consent

__all__ = ["allow_sending", "print_estimate", "print_probe", "print_summary", "watching"]


def allow_sending(judge: Judge, *, yes: bool) -> None:
    """Make sure that the user agrees to send harmful text to the provider; asked once for each.

    Raises
    ------
    ConfigurationError
        The user does not agree, or cannot be asked.
    """
    host = judge.sends_to
    if host is None or consented(host):
        return
    said = f"This sends the benchmark's queries, which are harmful by design, to {host}."
    if not yes:
        if not sys.stdin.isatty():
            raise ConfigurationError(f"{said} If its terms and yours allow that, add --yes.")
        note(said)
        if not typer.confirm("Do its terms and yours allow that?", err=True):
            raise ConfigurationError("nothing was sent")
    note_consent(host)


@contextmanager
def watching(label: str, *, quiet: bool) -> Iterator[Watch]:
    """A line on stderr that follows a run: done, rate, time left, cost, unscored, retries; none where it is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield Watch(say=note)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[more]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None, rate="", more="")

        def follow(summary: RunSummary, total: int) -> None:
            done = summary.n_judged + summary.n_unscored
            speed = progress.tasks[0].speed
            progress.update(
                task,
                completed=done,
                total=total,
                rate=f"{speed:,.0f}/s" if speed else "",
                more=so_far(summary),
            )

        yield Watch(follow, say=progress.console.print)


def so_far(summary: RunSummary) -> str:
    parts = [f"{summary.n_unscored:,} unscored", f"{summary.n_tries - summary.n_calls:,} retries"]
    if summary.cost_usd is not None:
        parts.insert(0, f"${summary.cost_usd:.2f}")
    return ", ".join(parts)


def print_summary(summary: RunSummary, folder: Path) -> None:
    """What came of a run, in a line or two."""
    held = f" ({summary.resumed:,} were there already)" if summary.resumed else ""
    cost = f", ${summary.cost_usd:.4f}" if summary.cost_usd else ""
    typer.echo(
        f"{summary.n_judged:,} verdicts{held}, {summary.n_unscored:,} unscored; "
        f"{summary.n_calls:,} calls in {summary.seconds:.1f} s{cost}: {folder}"
    )
    for problem, times in summary.problems.most_common(3):
        note(f"unscored, {times:,} times: {problem}")
    if len(summary.problems) > 3:
        note(f"unscored for {len(summary.problems) - 3:,} other reasons: see {folder / 'judgements.jsonl'}")
    for text in summary.notes:
        note(f"note: {text}")
    if summary.stopped:
        note(f"stopped: {summary.stopped}; the same command goes on with what is left")


def print_estimate(estimate: RunEstimate, judge: Judge, *, as_json: bool) -> None:
    """What a run would take."""
    labels = label_tokens(judge)
    if as_json:
        print_json({"judge": judge.name, **estimate.as_json(), **({"label_tokens": labels} if labels else {})})
        return
    typer.echo(
        f"{judge.name}: {estimate.n_asks:,} judgements of {estimate.n_items:,} items in {estimate.n_calls:,} calls"
    )
    typer.echo(f"about {estimate.input_tokens:,} tokens in and {estimate.output_tokens:,} out (a rough estimate)")
    if estimate.cost_usd is None:
        typer.echo("cost: unknown; give --price-in and --price-out")
    else:
        typer.echo(f"cost: about ${estimate.cost_usd:.2f}, at most ${estimate.cost_at_most_usd:.2f}")
    for word, tokens in labels.items():
        typer.echo(f"tokens that count as {word!r}: {' '.join(repr(token) for token in tokens)}")


def label_tokens(judge: Judge) -> dict[str, list[str]]:
    """The tokens with which a local model can begin each label."""
    tokens = judge.model.label_tokens(("safe", "unsafe")) if judge.model else {}
    return {word: list(found) for word, found in tokens.items()}


def print_probe(probe: Probe, *, as_json: bool) -> None:
    """What one call showed."""
    if as_json:
        print_json(probe.as_json())
        return
    typer.echo(
        f"{probe.model} answered in {probe.latency_s:g} s as {probe.model_version or 'a model it does not name'}"
    )
    typer.echo(f"temperature:  {'yes' if probe.temperature else 'no, it draws at its own'}")
    logprobs = f"yes, {probe.top_logprobs} tokens" if probe.top_logprobs else "no: --elicit probability will not work"
    typer.echo(f"logprobs:     {logprobs}")
    typer.echo(f"JSON schema:  {'yes' if probe.json_schema else 'no (casewise needs none)'}")
    typer.echo(f"seed:         {'taken' if probe.seed else 'no'}")
