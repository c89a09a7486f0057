"""Reading the stored replies of a run again."""

from __future__ import annotations

import asyncio
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from casewise.cli.options import BaseUrlOption, YesOption
from casewise.cli.printing import confirm_sending, cost_line, note, say
from casewise.errors import ConfigurationError, DataError
from casewise.judges.llm import SecondReader
from casewise.judges.reread import (
    ReaderMeasurement,
    Readings,
    Rereader,
    StoredReplies,
    measure,
    model_reader,
    pattern_reader,
    read_again,
    read_marks,
    reply_id,
    require_new,
    rules_reader,
    sample_of,
    stored_replies,
    unread_groups,
    value_of,
    write_reading,
    write_sample,
)
from casewise.models.endpoints import ExtraOptions
from casewise.models.load import ModelOptions, load_model
from casewise.models.prices import Prices
from casewise.notation import percent
from casewise.options import Flat
from casewise.text import count_of

ReaderName = Literal["rules", "pattern", "model"]


def reread(
    run: Path,
    /,
    *,
    pattern: str | None = None,
    reader: str | None = None,
    base_url: BaseUrlOption = None,
    max_cost: float | None = None,
    prices: Flat[Prices | None] = None,
    extra: Flat[ExtraOptions] = ExtraOptions(),
    marks: Path | None = None,
    browser: bool = False,
    by: ReaderName | None = None,
    out: Path | None = None,
    yes: YesOption = False,
) -> None:
    """Show which replies of a run gave no verdict, and read them again without asking the judge.

    Parameters
    ----------
    run
        The run folder. It is not changed.
    pattern
        A regular expression with the groups safe and unsafe, or score: '(?P<safe>ALLOW)|(?P<unsafe>BLOCK)'.
    reader
        A model that reads the replies in which the rules find no verdict.
    max_cost
        The most that this model's calls may cost together, in US dollars. Replies that do not fit stay as they are.
    marks
        A table (CSV) of sampled replies. If it does not exist it is written: fill in its column verdict with safe, unsafe, a
        score, or none. Each reader is then measured on it.
    browser
        Mark the sample of --marks on a page on this machine. The readers are measured when you end it there.
    by
        The reader of the new reading. Default: the pattern or the model if one is given, otherwise the rules.
    out
        Write a new reading to this folder. It is a run of its own, for report and compare.
    """
    stored = stored_replies(run)
    if out is not None:  # before a second model is paid
        require_new(out)
    readers = {"rules": rules_reader()}
    if pattern is not None:
        readers["pattern"] = pattern_reader(pattern)
    if reader is not None:  # nothing is asked before the user agrees
        loaded = load_model(reader, ModelOptions(base_url, prices, extra=extra))
        readers["model"] = model_reader(SecondReader(loaded.model, loaded.prices), max_cost=max_cost)
        confirm_sending("the judge's replies", loaded.model.sends_to, agreed=yes)
    name = by or ("pattern" if pattern is not None else "model" if reader is not None else "rules")
    if name not in readers:
        raise ConfigurationError(f"--by {name} needs --{'pattern' if name == 'pattern' else 'reader'}")
    if browser and marks is None:
        raise ConfigurationError("--browser needs --marks FILE, which keeps the marks")
    print_unread(stored)
    marked = marks_of(marks, stored, browser=browser)
    measured: dict[str, ReaderMeasurement] = {}
    all_readings: Readings | None = None
    for each in readers.values() if marked else ():
        whole_run = out is not None and each is readers[name]
        readings = asyncio.run(
            read_again(each, [reply for reply in stored.replies if whole_run or reply_id(reply) in marked])
        )
        measured[each.name] = measure(each, stored, marked, readings)
        print_measured(measured[each.name], each)
        all_readings = readings if whole_run else all_readings
    if out is None and (marked or (name == "rules" and by is None)):
        print_calls(readers.get("model"))
        return
    if all_readings is None:
        all_readings = asyncio.run(read_again(readers[name], stored.replies))
    print_calls(readers.get("model"))
    can_be_read = [reply for reply in stored.unread if readers[name].can_read(reply)]
    available_readings = [all_readings[reply_id(reply)] for reply in can_be_read if reply_id(reply) in all_readings]
    n_found = sum(value_of(reading) is not None for reading in available_readings)
    if n_remaining := len(can_be_read) - len(available_readings):
        note(f"{count_of(n_remaining, 'reply was')} not read, because --max-cost {max_cost:g} is spent")
    say(f"{name}: finds a verdict in {n_found:,} of the {len(stored.unread):,} unread replies", by=name, found=n_found)
    if out is not None:
        changed = write_reading(out, stored, readers[name], all_readings, measured=measured.get(name))
        say(
            f"{out}: a new reading with {changed:,} changed verdicts; {run} is unchanged", out=str(out), changed=changed
        )
        note(f"next: casewise report {shlex.quote(str(out))}")


def print_unread(stored: StoredReplies) -> None:
    """Print the unread replies by shape, each with a sample and advice."""
    unread, replies = len(stored.unread), len(stored.replies)
    groups = unread_groups(stored.unread)
    facts = [{"shape": group.shape.name, "replies": len(group.judgements), "advice": group.shape.advice, "sample": group.sample} for group in groups]  # fmt: skip
    say(
        f"{stored.path}: {unread:,} of {count_of(replies, 'reply')} ({percent(unread / replies if replies else 0.0)}) gave no verdict that could be read",
        replies=replies,
        unread=unread,
        groups=facts,
    )
    for group in groups:
        say(f"\n{len(group.judgements):,} × {group.shape.name}\n  {group.sample}\n  {group.shape.advice}")
    if unread:
        say("")


def marks_of(marks: Path | None, stored: StoredReplies, *, browser: bool) -> dict[str, float | None]:
    """Return the marks in a table. If there is no table yet, write it and return none."""
    if marks is None:
        return {}
    if not marks.exists():
        rows = write_sample(marks, sample_of(stored))
        if not browser:
            say(
                f"{marks}: {count_of(rows, 'reply')} to mark; fill in the column verdict and give the same command again",
                sample=rows,
            )
            return {}
    if browser:
        mark_in_browser(marks)
    if not (marked := read_marks(marks)):
        raise DataError(marks, None, "has no mark: fill in its column 'verdict' with safe, unsafe, a score, or none")
    return marked


def mark_in_browser(file: Path) -> None:
    """Serve the page on which the replies in `file` are marked, until its user ends it."""
    import uvicorn  # an extra

    from casewise.web.app import free_port
    from casewise.web.marking import create_marking

    port = free_port()
    config = uvicorn.Config(
        create_marking(file, port=port, done=lambda: setattr(server, "should_exit", True)),
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    note(f"mark the replies at http://127.0.0.1:{port} (Ctrl-C ends it)")
    server.run()


def print_calls(second: Rereader | None) -> None:
    """Print what the calls of a second model took, if it was asked."""
    if second is None or not (calls := second.calls).n_calls:
        return
    tokens = calls.input_tokens + calls.output_tokens
    known = f", {count_of(tokens, 'token')}" if tokens else ""
    unknown = "; give --price-in and --price-out for the cost" if tokens and calls.cost_usd is None else ""
    say(
        f"model: {count_of(calls.n_calls, 'call')}{known}{cost_line(calls)}{unknown}",
        **{
            name: value
            for name, value in asdict(calls).items()
            if name == "n_calls" or name.endswith(("_tokens", "_usd"))
        },
    )


def print_measured(worth: ReaderMeasurement, reader: Rereader) -> None:
    """Print the accuracy of a reader on marked replies."""
    say(
        f"{worth.reader}: {worth.right} right, {worth.missed} missed, {worth.wrong} wrong of {worth.marked} marked replies "
        f"(wrong: at most {percent(worth.wrong_at_most)}, 95 % interval)",
        **{f"measured_{worth.reader}": {**asdict(worth), "wrong_at_most": worth.wrong_at_most}},
    )
    if reader.model is not None and reader.model.n_failed:
        note(f"{count_of(reader.model.n_failed, 'reply was')} not read: {reader.model.model.name} failed")
