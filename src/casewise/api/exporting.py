"""Pages to read, and exports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from casewise.api.benchmarks import Outputs, Source, as_benchmark, output_files
from casewise.api.evaluating import Displayed
from casewise.audits.audit import audit
from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import ReportOptions
from casewise.evaluate.published import paper_numbers
from casewise.evaluate.replay import Replay, replay
from casewise.evaluate.viewing import ItemsWanted, Viewed, view_runs
from casewise.replies.behaviour import GRADES, REPLIES
from casewise.reports.document import Document
from casewise.reports.formats import document_json, json_value
from casewise.reports.judge import benchmark_json, benchmark_page, item_json, item_page
from casewise.reports.published import paper_document, replay_page, run_json, run_page
from casewise.share.croissant import read_croissant_about, write_croissant
from casewise.share.every_eval_ever import restricted, write_every_eval_ever
from casewise.share.hub import write_card, write_hub_benchmark, write_hub_results, write_lm_eval
from casewise.storage.batch_jobs import BATCHES, BatchJob, JobLog
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import write_text
from casewise.storage.load import Format, convert, load_benchmark
from casewise.storage.published import CASEBENCH
from casewise.storage.run_folder import ITEM_NOTES, RUN, kind_of, read_item_notes, read_run

__all__ = [
    "BENCHMARK_FORMATS",
    "RUN_FORMATS",
    "Handed",
    "ItemsWanted",
    "JobAtProvider",
    "Look",
    "Replay",
    "Viewed",
    "batch_jobs",
    "hand_on",
    "look_at",
    "look_at_run",
    "of_a_judge",
    "of_its_kind",
    "paper",
    "replay",
    "replay_page",
    "restricted",
    "view_runs",
    "withholds_texts",
]


# Pages to read: a benchmark, a run, one item, what is out at providers, what was published recomputed; and runs
# to look around in.


@dataclass(frozen=True, repr=False)
class Look(Displayed):
    """Something to read."""

    page: Document
    numbers: dict[str, Any]

    @property
    def document(self) -> Document:
        """It, laid out."""
        return self.page

    def as_json(self) -> dict[str, Any]:
        """It, as plain JSON values."""
        return self.numbers


def look_at(benchmark: Source, item: str | None = None) -> Look:
    """What a benchmark holds, or one item of it.

    Parameters
    ----------
    item
        An item's id, its beginning, or its place from 1.

    Raises
    ------
    BenchmarkError
        There is no such item.

    Examples
    --------
    >>> look_at("demo").document.sections[0].heading
    'What it holds'
    """
    found = as_benchmark(benchmark)
    if item is None:
        return Look(benchmark_page(found), benchmark_json(found))
    one = found.find(item)
    return Look(item_page(found, one), item_json(found, one))


def look_at_run(run: str | Path, item: str | None = None, *, benchmark: str | None = None) -> Look:
    """What a run holds, or one item with its judgements: context, query, reply, verdict, people's votes.

    Raises
    ------
    DataError
        There is no run.
    BenchmarkError
        The benchmark is not the run's, or has no such item.
    """
    folder = Path(run)
    return Look(run_page(folder, item, benchmark=benchmark), run_json(folder, item, benchmark=benchmark))


def paper(benchmark: Source = "casebench", *, outputs: Outputs = None) -> Look:
    """Each table and figure of the CASE-Bench paper that its release allows, recomputed; for the others, why not.

    Parameters
    ----------
    outputs
        Judges' output files of the release, or a folder that holds some (`output_MODE.json`, at any depth);
        by default the folder that `CASEWISE_OUTPUTS` names, if any.

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings.
    """
    loaded = as_benchmark(benchmark)
    found = paper_numbers(loaded, outputs=output_files(outputs))
    page = paper_document(found, loaded)
    numbers = {name: json_value(part) for name, part in vars(found).items() if name != "replays"}
    return Look(
        page, document_json(page) | {"numbers": numbers | {"replays": [one.as_json() for one in found.replays]}}
    )


HERE = ("runs", "replies")
"""Where commands put their runs unless they are told otherwise."""


@dataclass(frozen=True)
class JobAtProvider:
    """A batch job of a run, as it was seen last."""

    run: Path
    job: BatchJob

    @property
    def stands(self) -> str:
        """How it stands, in words."""
        job = self.job
        if job.stands in ("intended", "uploaded"):
            return "no answer yet: looked for"
        if job.stands == "ended":
            return job.state if not job.late else f"{job.state}, {len(job.late):,} answered twice"
        return job.stands

    def cells(self, now: datetime) -> list[str]:
        """It as a row of a table."""
        told = self.job.intended
        cost = "unknown" if told.cost_at_most_usd is None else f"${told.cost_at_most_usd:.4f}"
        left = "" if self.job.expires is None else in_hours((self.job.expires - now).total_seconds())
        return [
            self.job.batch or self.job.mark,
            told.provider,
            told.model,
            f"{self.job.n_done:,}/{len(told.names):,}",
            self.stands,
            in_hours((now - told.at).total_seconds()),
            left if self.job.unsettled else "",
            cost,
            str(self.run),
        ]

    def as_json(self) -> dict[str, Any]:
        """It as plain JSON values; times in UTC, what it may cost at most, and how many requests are done as far as was seen."""
        job, told = self.job, self.job.intended
        return {
            "run": str(self.run),
            "job": job.mark,
            "batch": job.batch,
            "provider": told.provider,
            "model": told.model,
            "stands": job.stands,
            "state": job.state or None,
            "words": job.words or None,
            "n_requests": len(told.names),
            "n_done": job.n_done,
            "n_late": len(job.late),
            "since": told.at.isoformat(),
            "expires": job.expires.isoformat() if job.expires else None,
            "cost_at_most_usd": told.cost_at_most_usd,
        }


def batch_jobs(runs: Sequence[str | Path] = (), *, ended: bool = False) -> list[JobAtProvider]:
    """The batch jobs of runs that are out, the oldest first. Nobody is called.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some; by default `runs` and `replies` here.
    ended
        Also those that have ended, were refused or were lost.

    Raises
    ------
    DataError
        There is no such folder.
    """
    if missing := [Path(one) for one in runs if not Path(one).is_dir()]:
        raise DataError(missing[0], None, "there is no such folder")
    roots = [Path(one) for one in runs or HERE]
    folders = sorted({file.parent for root in roots for file in root.rglob(BATCHES)})
    found = [JobAtProvider(folder, job) for folder in folders for job in JobLog.read(folder).jobs.values()]
    return sorted((one for one in found if ended or one.job.unsettled), key=lambda one: one.job.intended.at)


def in_hours(seconds: float) -> str:
    """A stretch of time, as one says it."""
    if seconds < 0:
        return "over"
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


# Benchmarks and runs handed on in other people's formats; nothing is uploaded.


BENCHMARK_FORMATS = (*get_args(Format), "hf", "croissant", "lm-eval")
HUB_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
RUN_FORMATS = ("card", "eee", "hf", "inspect")
"""`hf` is of either, and of a benchmark the same as `huggingface`; `inspect` is written by `casewise.share.inspect_log`."""


@dataclass(frozen=True)
class Handed:
    """What was written, and what to say with it."""

    path: Path
    notes: tuple[str, ...] = ()


def hand_on(
    sources: Sequence[str | Path],
    target: Path,
    *,
    to: str,
    about: Path | None = None,
    benchmark: str | Path | None = None,
    options: ReportOptions = ReportOptions(),
    with_texts: bool = False,
    dataset: str | None = None,
) -> Handed:
    """Write a benchmark, or runs over one, in the format `to`.

    Parameters
    ----------
    sources
        A benchmark for `BENCHMARK_FORMATS`; run folders for `RUN_FORMATS`, of which only `card` and `hf` take several.
    about
        For `croissant`: what a benchmark cannot know of itself (`casewise.share.croissant.CroissantAbout`).
    with_texts
        For `eee` and `lm-eval`: write the texts of a gated benchmark, and of the published release.

    dataset
        For `hf`: the benchmark's name on the hub, `ORGANISATION/NAME`.

    Raises
    ------
    ConfigurationError
        There is no such format, it is not for such a source (`of_its_kind`), or there is something at `target` already.
    """
    of_its_kind(sources, to)
    if len(sources) != 1 and to not in ("card", "hf"):
        raise ConfigurationError(f"--to {to} takes one source, not {len(sources)}")
    if dataset is not None and (to != "hf" or not HUB_NAME.fullmatch(dataset)):
        raise ConfigurationError("--dataset is for --to hf, and is ORGANISATION/NAME as on the hub")
    if about is not None and to != "croissant":
        raise ConfigurationError("--about is for --to croissant")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise ConfigurationError(f"{target} exists, and nothing is overwritten; choose another place")
    if to == "croissant":
        return as_croissant(sources[0], target, about)
    if to == "lm-eval":
        return as_lm_eval(load_benchmark(sources[0]), target, options, with_texts=with_texts)
    if to == "huggingface" or (to == "hf" and not is_run(sources[0])):
        n = write_hub_benchmark(load_benchmark(sources[0]), target, policy=options.labels)
        return Handed(target, (f"{n:,} items without a verdict of people are not asked about",) if n else ())
    if to not in RUN_FORMATS:
        done = convert(sources[0], target, to=to)  # type: ignore[arg-type]  # it is one of them
        return Handed(done.path, tuple(f"the published format has no room for {text}" for text in done.lost))
    of_a_judge(sources, to)
    numbers = JudgeNumbers.of(sources, benchmark=benchmark, options=options)
    if to == "card":
        return Handed(write_card(numbers, audit(numbers.benchmark), target))
    if to == "hf":
        done_hf = write_hub_results(numbers, audit(numbers.benchmark), target, dataset=dataset)
        notes = read_item_notes(numbers.runs.paths)
        if notes and (with_texts or not restricted(numbers.benchmark)):  # they may say what a gated text says
            write_text(target / ITEM_NOTES, "".join(f"{note.line()}\n" for note in notes.values()))
        lacking = (
            () if dataset else (".eval_results needs the benchmark's name on the hub: --dataset ORGANISATION/NAME",)
        )
        return Handed(done_hf.path, lacking)
    written = write_every_eval_ever(numbers, target, with_texts=with_texts)
    return Handed(
        written.aggregate, tuple(notes_of(written.n_left_out, written.left_out, withheld=written.texts_withheld))
    )


def of_its_kind(sources: Sequence[str | Path], to: str) -> None:
    """Refuse a run where `to` is a format of benchmarks, and a benchmark where it is one of runs.

    Raises
    ------
    ConfigurationError
        It is, or there is no such format; which formats there are for such a source stands in it.
    """
    formats = (*BENCHMARK_FORMATS, *RUN_FORMATS)
    if to not in formats:
        raise ConfigurationError(f"--to is {to!r}{did_you_mean(to, formats)}; it can be {', '.join(formats)}")
    for source in sources:
        if is_run(source) and to not in RUN_FORMATS and source not in ("demo", CASEBENCH.name):  # these are found first
            raise ConfigurationError(
                f"--to {to} takes a benchmark, and {source} is a run; a run can go to {', '.join(RUN_FORMATS)}"
            )
        if not is_run(source) and to not in BENCHMARK_FORMATS:
            raise ConfigurationError(
                f"--to {to} takes a run, and {source} is no run folder (it has no {RUN}); "
                f"a benchmark can go to {', '.join(BENCHMARK_FORMATS)}"
            )


def of_a_judge(sources: Sequence[str | Path], to: str) -> None:
    """Refuse replies and grades where `to` is a format of a judge's runs.

    Raises
    ------
    ConfigurationError
        A source holds some; what writes them stands in it.
    """
    for source in sources:
        if (kind := kind_of(Path(source))) in (REPLIES.name, GRADES.name):
            raise ConfigurationError(
                f"--to {to} takes a judge's run, and {source} holds {kind}; casewise replies export writes replies and "
                "their grades as a table, casewise report REPLIES a report"
            )


def is_run(source: str | Path) -> bool:
    return (Path(source) / RUN).is_file()


def withholds_texts(run: str | Path, *, benchmark: str | Path | None = None) -> bool:
    """Whether the texts of a run's benchmark are not to be handed on unless somebody says so: it is gated, or the release."""
    return restricted(load_benchmark(benchmark if benchmark is not None else read_run(Path(run)).benchmark_source))


def as_croissant(source: str | Path, target: Path, about: Path | None) -> Handed:
    said = read_croissant_about(about)
    benchmark = load_benchmark(source)
    biases = [f"{one.title} ({100 * one.share:.0f} % of items)" for one in audit(benchmark).findings]
    done = write_croissant(benchmark, target, about=said, biases=biases)
    return Handed(done.path, tuple(f"nothing says {name}: give it with --about FILE" for name in done.lacking))


def as_lm_eval(benchmark: Benchmark, target: Path, options: ReportOptions, *, with_texts: bool) -> Handed:
    if restricted(benchmark) and not with_texts:
        raise ConfigurationError(
            "a task for lm-eval holds queries and contexts, and this benchmark is gated: --with-texts writes them"
        )
    done = write_lm_eval(benchmark, target, policy=options.labels)
    run = f"lm-eval run --include_path {target} --apply_chat_template --tasks {done.tasks[0]} --model …"
    left_out = (f"{done.n_unlabelled:,} items without a label are left out",) if done.n_unlabelled else ()
    return Handed(done.path, (*left_out, f"run it where casewise is installed too: {run}"))


def notes_of(n_left_out: int, left_out: Path | None, *, withheld: bool) -> Iterator[str]:
    if left_out is not None:
        yield f"{n_left_out:,} judgements are neither right nor wrong and stand in {left_out.name}"
    if withheld:
        yield "the benchmark's texts and the replies are withheld; --with-texts writes them"
