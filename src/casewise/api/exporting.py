"""Pages to read, and exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from casewise.audits.audit import audit
from casewise.errors import ConfigurationError, DataError, did_you_mean
from casewise.evaluate.conclusions import conclusions_json
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import Outputs, ReportOptions, output_files, read_runs
from casewise.evaluate.published import paper_numbers
from casewise.plugins import find_function, part_names
from casewise.replies.behaviour import GRADES, REPLIES, export_replies
from casewise.reports.formats import Report
from casewise.reports.items import benchmark_json, benchmark_page, item_json, item_page
from casewise.reports.published import paper_document, run_json, run_page
from casewise.share.croissant import read_croissant_about, write_croissant
from casewise.share.every_eval_ever import write_every_eval_ever
from casewise.share.red_team import write_garak, write_pyrit
from casewise.storage.batch_jobs import BATCHES, BatchJob, JobLog
from casewise.storage.benchmark_folder import item_view
from casewise.storage.files import json_value
from casewise.storage.load import EMBEDDED, Source, convert, load, loaded_benchmark, named_benchmark, write_csv
from casewise.storage.run_folder import RUN, AnyRun, kind_of, read_run


def show_benchmark(benchmark: Source, item: str | None = None) -> Report[dict[str, Any]]:
    """Return the content of a benchmark, or one item of it.

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
    >>> show_benchmark("demo").document.sections[0].heading
    'Contents'
    """
    loaded = loaded_benchmark(benchmark)
    if item is None:
        return Report(benchmark_json(loaded), lambda _: benchmark_page(loaded))
    shown = loaded.find(item)
    return Report(item_json(loaded, shown), lambda _: item_page(loaded, shown))


def show_run(run: str | Path, item: str | None = None, *, benchmark: str | None = None) -> Report[dict[str, Any]]:
    """Return the content of a run, or one item with its judgements: context, query, reply, verdict, people's votes.

    Raises
    ------
    DataError
        There is no run.
    BenchmarkError
        The benchmark is not the run's, or has no such item.
    """
    folder = Path(run)
    page = run_page(folder, item, benchmark=benchmark)
    return Report(run_json(folder, item, benchmark=benchmark), lambda _: page)


def paper(*runs: AnyRun, benchmark: Source | None = None, outputs: Outputs = None) -> Report[dict[str, Any]]:
    """Return each table and figure of the CASE-Bench paper that its release allows, recomputed, with runs in their places.

    Parameters
    ----------
    runs
        Runs over the benchmark: each is a row of Table 2 and, where parameters were left out, of Figure 5.
    benchmark
        The benchmark: that of the runs, or `casebench`.
    outputs
        Judges' output files of the release, or a folder that holds some (`output_MODE.json`, at any depth);
        by default the folder that `CASEWISE_OUTPUTS` names, if any.

    Raises
    ------
    BenchmarkError
        The benchmark has no ratings, or the runs are over different benchmarks.
    """
    read = read_runs(runs, benchmark=benchmark) if runs else None
    loaded = read.benchmark if read else loaded_benchmark(benchmark or "casebench")
    published = paper_numbers(loaded, outputs=output_files(outputs), runs=read)
    page = paper_document(published, loaded)
    numbers = {name: json_value(part) for name, part in vars(published).items() if name != "replays"}
    numbers["replays"] = [replay_numbers.as_json() for replay_numbers in published.replays]
    conclusions = conclusions_json([] if published.highest is None else [published.highest])
    return Report({"benchmark": loaded.stated, "numbers": numbers, "conclusions": conclusions}, lambda _: page)


HERE = ("runs", "replies")
"""The default folders of runs."""


def job_row(run: Path, job: BatchJob) -> dict[str, Any]:
    """Return a batch job as it was seen last: times in UTC, maximum cost, and requests done by then."""
    first = job.intended
    return {
        "run": str(run),
        "job": job.mark,
        "batch": job.batch,
        "provider": first.provider,
        "model": first.model,
        "stage": job.stage,
        "state": job.state or None,
        "words": job.words or None,
        "n_requests": len(first.names),
        "n_done": job.n_done,
        "n_late": len(job.late),
        "since": first.at.isoformat(),
        "expires": job.expires.isoformat() if job.expires else None,
        "cost_at_most_usd": first.cost_at_most_usd,
    }


def batch_jobs(runs: Sequence[str | Path] = (), *, ended: bool = False) -> list[dict[str, Any]]:
    """Return the pending batch jobs of runs as rows, the oldest first. No call is made.

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
    if missing := [Path(entry) for entry in runs if not Path(entry).is_dir()]:
        raise DataError(missing[0], None, "there is no such folder")
    roots = [Path(entry) for entry in runs or HERE]
    folders = sorted({file.parent for root in roots for file in root.rglob(BATCHES)})
    jobs = [(folder, job) for folder in folders for job in JobLog.read(folder).jobs.values() if ended or job.unsettled]
    return [job_row(*entry) for entry in sorted(jobs, key=lambda entry: entry[1].intended.at)]


# Benchmarks and runs handed on in other people's formats; nothing is uploaded.


Kind = Literal["benchmark", "run", "replies", "study"]

FORMATS: dict[Kind, tuple[str, ...]] = {
    "benchmark": ("folder", "published", "parquet", "hf", "croissant", "csv"),
    "run": ("eee", "inspect", "garak", "pyrit"),
    "replies": ("table",),
    "study": ("ratings",),
}
"""The formats of each kind of source, the default first. `ratings` are written by `casewise.api.studies.export`."""


@dataclass(frozen=True)
class ExportResult:
    """The path of an export, and notes on it."""

    path: Path
    notes: tuple[str, ...] = ()


def export(
    source: str | Path,
    target: Path,
    *,
    to: str,
    about: Path | None = None,
    benchmark: str | Path | None = None,
    options: ReportOptions = ReportOptions(),
    with_texts: bool = False,
) -> ExportResult:
    """Write a benchmark, a run over one, or replies in the format `to`, one of `FORMATS`.

    Parameters
    ----------
    about
        For `croissant`: what a benchmark cannot know of itself (`casewise.share.croissant.CroissantAbout`).
    with_texts
        Write the texts of a gated benchmark, of the published release, and what a chatbot wrote. Without it a benchmark with
        terms is refused, and a run or replies are written without texts.

    Raises
    ------
    ConfigurationError
        There is no such format, it is not for such a source (`check_format`), there is something at `target` already, or
        the benchmark's texts are not to be handed on.
    """
    kind = kind_of_source(source)
    check_format(source, to)
    if about is not None and to != "croissant":
        raise ConfigurationError("--about works only with --to croissant")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise ConfigurationError(f"{target} exists, and nothing is overwritten; choose another place")
    if write_export := find_function("exporters", to):
        if not with_texts and (
            kind == "replies"
            or (load(source).restricted if kind == "benchmark" else withholds_texts(source, benchmark=benchmark))
        ):
            raise ConfigurationError(f"{source} has texts that casewise exports only on request; add --with-texts")
        write_export(source, target)
        return ExportResult(target)
    if kind == "replies":
        return ExportResult(target, export_replies(Path(source), target, with_replies=with_texts))
    if to == "inspect":
        from casewise.share.inspect_log import export_inspect_log  # needs an extra

        if not with_texts and withholds_texts(source, benchmark=benchmark):
            raise ConfigurationError(
                "an Inspect log holds queries, contexts and replies, and this benchmark is gated; add --with-texts to export them"
            )
        return ExportResult(export_inspect_log(Path(source), target, benchmark=benchmark, policy=options.labels))
    if write := {"garak": write_garak, "pyrit": write_pyrit}.get(to):
        return ExportResult(write(JudgeNumbers.from_runs([source], benchmark=benchmark, options=options), target))
    if to == "eee":
        numbers = JudgeNumbers.from_runs([source], benchmark=benchmark, options=options)
        return ExportResult(*write_every_eval_ever(numbers, target, with_texts=with_texts))
    return export_benchmark(source, target, to=to, about=about, with_texts=with_texts)


def export_benchmark(
    source: str | Path, target: Path, *, to: str, about: Path | None, with_texts: bool
) -> ExportResult:
    loaded = load(source)
    if not with_texts and loaded.restricted:
        raise ConfigurationError(f"{source} has terms that restrict its texts; add --with-texts to export them")
    if to == "croissant":
        facts = read_croissant_about(about)
        biases = [f"{finding.title!s} ({100 * finding.share:.0f} % of items)" for finding in audit(loaded).findings]
        lacking = write_croissant(loaded, target, about=facts, biases=biases)
        return ExportResult(target, tuple(f"{name} is not known; give it with --about FILE" for name in lacking))
    if to == "csv":
        write_csv(item_view(loaded), target)
        return ExportResult(target, ("casewise cannot read this file: cells like formulas begin with an apostrophe",))
    lost = convert(source, target, to="huggingface" if to == "hf" else to)  # type: ignore[arg-type]  # it is one
    return ExportResult(target, tuple(f"the published format cannot hold {text}" for text in lost))


def kind_of_source(source: str | Path) -> Kind:
    """Return the kind of thing at `source`: a benchmark, a run, replies or a study."""
    if source in EMBEDDED or named_benchmark(source) is not None:  # these are found first
        return "benchmark"
    if Path(source).suffix == ".toml":
        return "study"
    if not is_run(source):
        return "benchmark"
    return "replies" if kind_of(Path(source)) in (REPLIES.name, GRADES.name) else "run"


def check_format(source: str | Path, to: str | None) -> str:
    """Return the format that is meant: the first of its kind's where none is named.

    Raises ConfigurationError: there is no such format, or not of such a source; the message lists those that there are.
    """
    kind = kind_of_source(source)
    if to is None:
        return FORMATS[kind][0]
    formats_known = [name for formats in FORMATS.values() for name in formats]
    if to in part_names("exporters"):
        return to
    if to not in formats_known:
        formats_known += part_names("exporters")
        raise ConfigurationError(
            f"--to is {to!r}{did_you_mean(to, formats_known)}; it can be {', '.join(formats_known)}"
        )
    if to not in FORMATS[kind]:
        nouns = {"benchmark": "a benchmark", "run": "a run", "replies": "replies", "study": "a study"}
        right_kind = next(name for name, formats in FORMATS.items() if to in formats)
        raise ConfigurationError(
            f"--to {to} takes {nouns[right_kind]}, and {source} is {nouns[kind]}, which can go to {', '.join(FORMATS[kind])}"
        )
    return to


def is_run(source: str | Path) -> bool:
    """Return True if `source` is a run folder."""
    return (Path(source) / RUN).is_file()


def withholds_texts(run: str | Path, *, benchmark: str | Path | None = None) -> bool:
    """Return True if texts of a run's benchmark need consent before export: it is gated, or the release."""
    return load(benchmark if benchmark is not None else read_run(Path(run)).benchmark_source).restricted
