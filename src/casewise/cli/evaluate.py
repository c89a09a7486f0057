"""Reports, comparisons, leaderboards, gates, replays and the view."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from casewise import api
from casewise.cli.options import (
    COUNTED,
    BenchmarkOption,
    FormatOption,
    LabelsOption,
    OutputsOption,
    RunArgument,
    Share,
    SubsetOption,
    WithTextsOption,
    options_group,
)
from casewise.cli.printing import DocumentOptions, Documents, is_json_output, note, print_json, print_table, say
from casewise.errors import ConfigurationError, ExitCode
from casewise.evaluate.judged_runs import ReportOptions, by_benchmark
from casewise.options import FitThresholds, GraderLabels
from casewise.plugins import install_command, relative_to_here
from casewise.reports.comparison import CIReport
from casewise.reports.formats import Report
from casewise.storage.files import write_text
from casewise.storage.run_folder import RUN, read_run
from casewise.text import count_of

NEXT = (
    ("serve {out}", "browse the items and their verdicts"),
    ("show demo 1", "read an item as the judge sees it"),
    ("judge demo --judge constant:intended", "judge it by copying the author's intent, for comparison"),
    ("data fetch casebench", "the published benchmark, once you accept its terms"),
)


def demo(*, out: Path = Path("runs/demo"), form: FormatOption = None) -> None:
    """Judge the embedded demo benchmark with the embedded linear judge, and report.

    Parameters
    ----------
    out
        Folder of the run.
    """
    run = api.judge("demo", "linear", out=out)
    report = run.report()
    page = out / "report.html"
    write_text(page, report.to_html())
    report.numbers.write_metrics(out)
    DocumentOptions(form=form).present(report, full=False)
    note(f"\nThe page: {page}")
    # the path that it was started by, where the shell would not find it by name
    command_words = (
        "casewise" if shutil.which("casewise") or not Path(sys.argv[0]).is_file() else relative_to_here(sys.argv[0])
    )
    note("Next:")
    with_web = find_spec("uvicorn") is not None
    for command, purpose in NEXT if with_web else NEXT[1:]:
        note(f"  {command_words} {command.format(out=shlex.quote(str(out))):<40} {purpose}")
    if not with_web:
        note(
            f"  {install_command('web')}, and then {command_words} {NEXT[0][0].format(out=shlex.quote(str(out)))}: {NEXT[0][1]}"
        )


def paper(
    sources: list[Path] | None = None,
    /,
    *,
    benchmark: BenchmarkOption = None,
    outputs: OutputsOption = None,
    elicitation: str | None = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Recompute the numbers of a benchmark's paper: CASE-Bench's tables and figures, or SafePyramid's scores.

    Parameters
    ----------
    sources
        Run folders over CASE-Bench; each adds a marked row to Table 2 and Figure 5. Or output files of the release
        (output_MODE.json), to compare the release's numbers with recomputed ones. Default: the paper's numbers only. For
        SafePyramid: one run, judged rule by rule, or a JSON Lines file with id and violated_rules of each case.
    elicitation
        Elicitation of an output file, if its name does not state it: binary, score or probability.
    """
    first = sources[0] if sources else Path()
    judged_rules = (first / RUN).is_file() and read_run(first).benchmark_name == "safepyramid"
    if sources and (first.suffix == ".jsonl" or judged_rules):
        rules(sources, benchmark=benchmark)
        return
    files = [path for path in sources or () if not path.is_dir() and path.suffix == ".json"]
    runs = [path for path in sources or () if path not in files]
    if not files:
        documents.present(api.paper(*runs, benchmark=benchmark, outputs=outputs))
        return
    if runs or outputs is not None:
        raise ConfigurationError(
            "give run folders or output files, not both; to add output files to runs, use --outputs"
        )
    from casewise.reports.published import replay_page  # and all that was published

    elicitations = api.parse_elicitations(elicitation)
    replays = [api.replay(file, elicitation=elicitations[0] if elicitations else None) for file in files]
    several = {"replays": [path.as_json() for path in replays]}
    numbers = replays[0].as_json() if len(replays) == 1 else several
    documents.present(Report(numbers, lambda _: replay_page(*replays)))
    end_with_code(nothing_scored=all(path.n_unscored == path.n for path in replays))


def rules(sources: list[Path], *, benchmark: str | None) -> None:
    """Print SafePyramid's own scores over whole cases, with intervals over conversations."""
    reports = [report for source in sources for report in api.rule_match(source, benchmark=benchmark)]
    if is_json_output():
        print_json({"scores": [report.as_json() for report in reports]})
        return
    for report in reports:
        say(f"{report.judge!s}, {report.protocol}")
        print_table(report.columns, report.cells())
    note(
        "RMR, rule match: higher is better. RDR, rule disagreement: lower is better. A case without a prediction counts in no "
        "other score."
    )


@dataclass(frozen=True)
class NumbersOptions:
    """The items that count in the numbers, and the treatment of ties and unscored items."""

    labels: LabelsOption = "votes"
    ties: str = "half"
    """Treatment of a tie under votes: half, drop, safe or unsafe."""
    unscored: str = "miss"
    """Treatment of an item without a verdict: miss (wrong), exclude or published."""
    benchmark: BenchmarkOption = None
    items: SubsetOption = None

    def options(self, more: ReportOptions = ReportOptions()) -> ReportOptions:
        """Return the options as the Python API takes them, with the further options in `more`."""
        named = api.report_options(self.labels, ties=self.ties, unscored=self.unscored, items=self.items)
        return replace(more, labels=named.labels, unscored=named.unscored, items=named.items)


Numbers = Annotated[NumbersOptions, COUNTED]

FitThresholdsOption = Annotated[FitThresholds, Parameter(group=COUNTED.group)]


def report(
    runs: list[Path],
    /,
    *,
    numbers: Numbers = NumbersOptions(),
    more: Annotated[ReportOptions, COUNTED] = ReportOptions(),
    policies: Annotated[bool, Parameter(group=COUNTED.group)] = False,
    failures: Path | None = None,
    full: bool = False,
    documents: Documents = DocumentOptions(),
) -> None:
    """Report how often judges agree with people: print the main result and write a page.

    Parameters
    ----------
    runs
        One or more run folders over the same benchmark.
    policies
        Instead of the report: accuracy and ranking under every label policy and every rule for ties, unsure votes and
        unscored items that applies.
    failures
        Write every item that a judge decided differently from people, or not at all, to this CSV file, with your own
        ids and columns.
    full
        Also print the main tables.
    """
    options = numbers.options(more)
    if policies:
        if (numbers.labels, numbers.ties, numbers.unscored) != ("votes", "half", "miss"):
            raise ConfigurationError("--policies tries every rule; leave out --labels, --ties and --unscored")
        documents.present(api.policies(*runs, benchmark=numbers.benchmark, options=options))
        return
    numbers_report = api.report(*runs, benchmark=numbers.benchmark, options=options)

    def write_numbers() -> None:
        if len(runs) == 1:
            numbers_report.numbers.write_metrics(runs[0])
        if failures is not None:
            note(f"written: {failures}, {count_of(numbers_report.write_failures(failures), 'item')}")

    hint = "" if full else " (to print the main tables here: --full)"
    page = runs[0] / "report.html"
    documents.present_with_page(numbers_report, page, full=full, hint=hint, before_printing=write_numbers)
    end_with_code(nothing_scored=numbers_report.numbers.nothing_scored)


def end_with_code(*, nothing_scored: bool) -> None:
    """End the command with an exit code of its own if no item has a verdict or a value."""
    if nothing_scored:
        raise SystemExit(ExitCode.NOTHING_SCORED)


def compare(
    runs: list[Path] | None = None,
    /,
    *,
    says: list[Path] | None = None,
    does: list[Path] | None = None,
    numbers: Numbers = NumbersOptions(),
    fit_thresholds: FitThresholdsOption = False,
    grader_labels: GraderLabels = None,
    documents: Documents = DocumentOptions(),
) -> None:
    """Compare judges on the same items. With --says and --does, compare a model's verdicts with its replies.

    Parameters
    ----------
    runs
        Run folders over the same benchmark, or one with several arms.
    says
        A run that asked a model for verdicts; may be repeated.
    does
        A folder of the same model's graded replies; may be repeated.
    """
    options = numbers.options(ReportOptions(fit_thresholds=fit_thresholds))
    if not (says or does):
        if grader_labels is not None:
            raise ConfigurationError("--grader-labels works only with --says and --does")
        comparison = api.compare(*(runs or ()), benchmark=numbers.benchmark, options=options)
        documents.present(comparison)
        end_with_code(nothing_scored=comparison.numbers.nothing_scored)
        return
    if runs or not (says and does):
        raise ConfigurationError("give --says and --does together, without other runs")
    options = replace(options, grader_labels=grader_labels)
    says_does = api.replying.compare_says_does(says, does, benchmark=numbers.benchmark, options=options)
    documents.present(says_does)
    end_with_code(nothing_scored=says_does.numbers.nothing_scored)


def leaderboard(
    runs: list[Path] | None = None,
    /,
    *,
    numbers: Numbers = NumbersOptions(),
    fit_thresholds: FitThresholdsOption = False,
    outputs: OutputsOption = None,
    arms: bool = False,
    site: Path | None = None,
    with_texts: WithTextsOption = False,
    documents: Documents = DocumentOptions(),
) -> None:
    """Rank runs, published judges and baselines, with an interval for each rank.

    Parameters
    ----------
    runs
        Run folders. Over several benchmarks: one row for each judge, one column for each benchmark. None with --benchmark and --outputs.
    arms
        Include arms in which a judge saw less, or other content, than people.
    site
        Write a site to this new folder, with a link from each row to the run's report. --with-texts applies to it.
    """
    options = numbers.options(ReportOptions(fit_thresholds=fit_thresholds))
    if runs and len(by_benchmark(runs)) > 1:
        if numbers.benchmark is not None or outputs is not None or site is not None:
            raise ConfigurationError("--benchmark, --outputs and --site work only for runs over one benchmark")
        boards = api.leaderboards(*runs, arms=arms, options=options)
        documents.present(boards)
        end_with_code(nothing_scored=boards.numbers.nothing_scored)
        return
    board = api.leaderboard(*(runs or ()), benchmark=numbers.benchmark, outputs=outputs, arms=arms, options=options)
    if site is not None:
        note(f"site: {board.write_site(site, with_texts=with_texts)}")
    documents.present(board)
    end_with_code(nothing_scored=board.numbers.nothing_scored)


CI = options_group("In continuous integration", 8)


@dataclass(frozen=True)
class ContinuousIntegration:
    """Output of a gate for continuous integration."""

    junit: Path | None = None
    """Write JUnit XML here, with one test case for each decision."""
    summary: Path | None = None
    """Write the page as Markdown to the end of this file. Default: GitHub's job summary, where GITHUB_STEP_SUMMARY is set."""
    annotations: Annotated[bool | None, Parameter(negative="--no-annotations")] = None
    """Print ::error lines that GitHub annotates a run with. Default: where GITHUB_ACTIONS is set."""

    def write_and_print(self, report: CIReport[Any]) -> None:
        """Write the requested files and print the result."""
        if self.junit is not None:
            write_text(self.junit, report.to_junit())
        summary = self.summary or os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            report.add_summary(summary)
        annotated = os.environ.get("GITHUB_ACTIONS") == "true" if self.annotations is None else self.annotations
        for line in report.annotations if annotated else ():
            note(line)


def gate(
    run: RunArgument,
    /,
    *,
    baseline: Path | None = None,
    max_drop: str | None = None,
    max_turned: str | None = None,
    defence: str = "none",
    max_unscored: Share | None = None,
    numbers: Numbers = NumbersOptions(),
    in_ci: Annotated[ContinuousIntegration, CI] = ContinuousIntegration(),
    documents: Documents = DocumentOptions(),
) -> None:
    """Check a run against a baseline and a limit. Exit code 0: within it; 1: not; 3: undecided, or the run is unfinished.

    Parameters
    ----------
    run
        The run folder to be let through.
    baseline
        The run folder to compare with, with --max-drop.
    max_drop
        Metric and largest drop allowed: accuracy=0.01,over_refusal=0.02.
    max_turned
        Instead of a baseline: the share that no attack of the run may exceed: safe=0.1,unsafe=0.2,silenced=0.05.
    defence
        With --max-turned: the defence under which attacks count.
    max_unscored
        With --max-drop: the largest share of items without a verdict with which the run passes. Default: 0.05.
    """
    report: CIReport[Any]
    if max_turned is not None and baseline is None and max_drop is None:
        report = api.require_robustness(
            run, max_turned, defence=defence, benchmark=numbers.benchmark, options=numbers.options()
        )
    elif baseline is None or max_drop is None or max_turned is not None:
        raise ConfigurationError("give either --baseline with --max-drop, or --max-turned")
    else:
        report = api.gate(
            run,
            baseline,
            max_drop=max_drop,
            max_unscored=max_unscored,
            benchmark=numbers.benchmark,
            options=numbers.options(),
        )
    documents.present(report)
    in_ci.write_and_print(report)
    raise SystemExit(report.exit_code)
