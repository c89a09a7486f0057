"""What every command that calls a model has in common: it asks the person for leave, and shows how it gets on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from casewise import api
from casewise.cli.printing import note

__all__ = ["person", "watching"]


def person() -> Callable[[str], bool] | None:
    """Asks whoever sits at the terminal whether something may be sent; None where nobody does."""
    return asked if sys.stdin.isatty() else None


def asked(said: str) -> bool:
    note(said)
    return typer.confirm("Do its terms and yours allow that?", err=True)


@contextmanager
def watching(label: str, *, quiet: bool) -> Iterator[api.Watch]:
    """A line on stderr that follows a run: done, rate, time left, cost, failures, retries; none where it is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield api.Watch(say=note)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[more]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, rate="", more="")

        def follow(progress: api.RunProgress, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(task, completed=progress.n_done, total=total, rate=rate, more=so_far(progress))

        yield api.Watch(follow, say=bar.console.print)


def so_far(progress: api.RunProgress) -> str:
    parts = [
        f"{progress.n_unusable:,} {progress.unusable}",
        f"{progress.n_tries - progress.n_calls:,} retries",
    ]
    if progress.cost_usd is not None:
        parts.insert(0, f"${progress.cost_usd:.2f}")
    return ", ".join(parts)
