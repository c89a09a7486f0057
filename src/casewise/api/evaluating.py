"""Reports, comparisons, gates, leaderboards, audits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, get_args

import polars as pl
from markupsafe import escape

from casewise.api.benchmarks import Outputs, RunAt, Source, as_benchmark, benchmark_of, folders_of, output_files
from casewise.audits.audit import Audit, matching
from casewise.audits.audit import audit as audit_of
from casewise.audits.subject import AuditOptions, Finding, checked_codes
from casewise.errors import BenchmarkError, ConfigurationError, one_of
from casewise.evaluate.behaviour import SaysDoesNumbers
from casewise.evaluate.comparison import MAX_UNSCORED, ComparisonNumbers, GateReport, gate_runs, parse_margins
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import ReportOptions, by_benchmark
from casewise.evaluate.judged_runs import long_table as long_table_of
from casewise.evaluate.leaderboard import Leaderboard, Leaderboards
from casewise.evaluate.leaderboard import leaderboard as leaderboard_of
from casewise.evaluate.leaderboard import leaderboards as leaderboards_of
from casewise.evaluate.rules import RuleReport, rules_of_file, rules_of_run
from casewise.reports.audit import audit_page
from casewise.reports.behaviour import says_does_page
from casewise.reports.comparison import Said, comparison_page, gate_page, github_lines, junit, looked_at
from casewise.reports.document import Document
from casewise.reports.formats import (
    frame_of,
    html,
    html_fragment,
    markdown,
)
from casewise.reports.judge import judge_page
from casewise.reports.leaderboard import leaderboard_page, leaderboards_page
from casewise.share.every_eval_ever import restricted
from casewise.stats.sample import LabelPolicy, Ties, UnscoredPolicy
from casewise.storage.files import cannot_write, json_text, long_step, write_text
from casewise.storage.load import write_csv
from casewise.storage.run_folder import RUN, read_run

# Numbers that show themselves, in a notebook and as frames; documents written to a terminal, a file, charts and
# tables.


class Displayed(ABC):
    """A result with a document, and so with every format of a document."""

    laid_out: ClassVar[staticmethod[..., Document]]
    """Makes the document of it: a function of `reporting`, as a static method."""

    @cached_property
    def document(self) -> Document:
        """The numbers laid out, ready for any face."""
        return type(self).laid_out(self)

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table of the document by its name: unrounded where it keeps its numbers, else the cells as texts."""
        return {table.name: frame_of(table) for table in self.document.tables()}

    def to_html(self) -> str:
        """One self-contained page."""
        return html(self.document)

    def to_markdown(self) -> str:
        """GitHub-flavoured Markdown."""
        return markdown(self.document)

    def _repr_html_(self) -> str:
        return html_fragment(self.document.answer)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.document.title}>"


class Numbers(Protocol):
    """Numbers with a JSON form."""

    def as_json(self) -> dict[str, Any]: ...


N = TypeVar("N", bound=Numbers)


@dataclass(frozen=True, repr=False)
class DisplayedNumbers(Displayed, Generic[N]):
    """Numbers with a document that is made from them."""

    found: N

    @cached_property
    def document(self) -> Document:
        """The numbers laid out, ready for any face."""
        return type(self).laid_out(self.found)

    def as_json(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return self.found.as_json()


class Report(JudgeNumbers, Displayed):
    """The report of judges' runs."""

    laid_out = staticmethod(judge_page)

    def write_failures(self, path: str | Path) -> int:
        """Write a row for each item that a judge decided otherwise than people, or gave no verdict on, as CSV: how many.

        Every cell is quoted, and what a spreadsheet program would run as a formula has an apostrophe before it.
        """
        table = self.failures
        write_csv(table, Path(path))
        return len(table)


def policy_of(labels: str | LabelPolicy) -> LabelPolicy:
    return labels if isinstance(labels, LabelPolicy) else LabelPolicy.parse(labels)


def options_of(labels: str | LabelPolicy, options: ReportOptions | None) -> ReportOptions:
    """Return the options, or those of this label policy alone."""
    return options or ReportOptions(labels=policy_of(labels))


def report_options(
    labels: str = "votes",
    *,
    ties: str = "half",
    unscored: str = "miss",
    items: str | None = None,
    fit_thresholds: bool = False,
) -> ReportOptions:
    """The options of a report that these words name.

    Raises
    ------
    ConfigurationError
        One of them is no such policy.
    """
    tied: Ties = one_of(ties, get_args(Ties), "--ties")
    lacking: UnscoredPolicy = one_of(unscored, get_args(UnscoredPolicy), "--unscored")
    policy = LabelPolicy.parse(labels, ties=tied)
    return ReportOptions(labels=policy, unscored=lacking, items=items, fit_thresholds=fit_thresholds)


def report(
    *runs: RunAt | str | Path,
    benchmark: Source | None = None,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> Report:
    """The report of one or more runs over one benchmark.

    Parameters
    ----------
    labels
        The label policy: `votes`, `published`, `intended`, each with `,override:CATEGORY=unsafe` where wanted.

    Raises
    ------
    DataError, BenchmarkError
        A folder is no run, holds nothing, or the runs are over different benchmarks; or there are no runs.

    Examples
    --------
    >>> from casewise.api import judge
    >>> found = report(judge("demo", "constant:safe"))
    >>> found.metrics.filter(pl.col("metric") == "recall_safe")["estimate"].to_list()
    [1.0]
    """
    if not runs:
        raise BenchmarkError("there is nothing to report: give at least one run")
    with long_step("the report's numbers, all told"):
        return Report.of(folders_of(runs), benchmark=benchmark_of(runs, benchmark), options=options_of(labels, options))


# From runs to numbers: reports, comparisons, the gate, the leaderboard.


class ComparisonReport(ComparisonNumbers, Displayed):
    """Several judges, arms or elicitations beside each other."""

    laid_out = staticmethod(comparison_page)


class SaysDoesReport(SaysDoesNumbers, Displayed):
    """A comparison of models' verdicts with their replies."""

    laid_out = staticmethod(says_does_page)


def compare(
    *runs: RunAt | str | Path,
    benchmark: Source | None = None,
    labels: str | LabelPolicy = "votes",
    by_repeat: bool = False,
    options: ReportOptions | None = None,
) -> ComparisonReport:
    """Compare two or more runs over one benchmark, or the arms and elicitations of one.

    Parameters
    ----------
    labels
        The label policy, as for `report`.
    by_repeat
        Compare repeats too, each as a judge of its own; otherwise an item's value is their mean.

    Raises
    ------
    DataError, BenchmarkError, StatisticsError
        A folder is no run, the runs are over different benchmarks, or there is nothing to compare.

    Examples
    --------
    >>> from casewise.api import judge
    >>> found = compare(judge("demo", "constant:safe"), judge("demo", "constant:intended"))
    >>> found.comparison.n_items
    90
    """
    if not runs:
        raise BenchmarkError("there is nothing to compare: give at least one run")
    return ComparisonReport.of(
        folders_of(runs),
        benchmark=benchmark_of(runs, benchmark),
        by_repeat=by_repeat,
        options=options_of(labels, options),
    )


def long_table(*runs: RunAt | str | Path, benchmark: Source | None = None) -> pl.DataFrame:
    """People and judges in one table: a row a rating, and a row a judgement that counts.

    Columns: `item_id`, `query_id`, `pair_id`, `category`, `condition`, `rater_kind` (`person` or `judge`), `rater_id`,
    `elicitation`, `arm`, `repeat`, `value`, `unscored_reason`.

    Raises
    ------
    DataError, BenchmarkError
        A folder is no run or holds nothing, the runs are over different benchmarks, or there are no runs.

    Examples
    --------
    >>> from casewise.api import judge
    >>> long_table(judge("demo", "constant:safe"))["rater_kind"].value_counts().sort("count").rows()
    [('judge', 90), ('person', 1890)]
    """
    if not runs:
        raise BenchmarkError("there is nothing to put in a table: give at least one run")
    return long_table_of(folders_of(runs), benchmark=benchmark_of(runs, benchmark))


class ForCI(Displayed):
    """A gate's decision as continuous integration reads it."""

    @property
    @abstractmethod
    def suite(self) -> tuple[str, tuple[Said, ...]]:
        """The subject of the gate, and each decision that it rests on."""

    def to_junit(self) -> str:
        """JUnit XML, a test case a decision, for a continuous integration that shows such files."""
        return junit(*self.suite)

    @property
    def annotations(self) -> tuple[str, ...]:
        """A line a decision that GitHub's log makes an annotation of: `::error title=…::…`."""
        return tuple(github_lines(self.suite[1]))

    def add_summary(self, path: str | Path) -> None:
        """Write the page as Markdown to the end of a file, as GitHub's job summaries are written.

        Raises
        ------
        ConfigurationError
            The file cannot be written.
        """
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(self.to_markdown() + "\n")
        except OSError as error:
            raise cannot_write(Path(path), error) from error


class Gated(GateReport, ForCI):
    """A gate's decision about a run compared with a baseline."""

    laid_out = staticmethod(gate_page)
    __repr__ = Displayed.__repr__

    @property
    def suite(self) -> tuple[str, tuple[Said, ...]]:
        """The two runs, and each metric."""
        return f"{self.run} against {self.baseline} on {self.benchmark}", tuple(looked_at(self))

    @property
    def metrics(self) -> pl.DataFrame:
        """A row a metric: baseline, run, drop, its bounds, what is allowed, the decision."""
        return pl.DataFrame([{**vars(metric), "decision": metric.decision} for metric in self.found.metrics])


def gate(
    run: RunAt | str | Path,
    baseline: RunAt | str | Path,
    *,
    max_drop: str | Mapping[str, float],
    max_unscored: float | None = None,
    labels: str | LabelPolicy = "votes",
    benchmark: Source | None = None,
    options: ReportOptions | None = None,
) -> Gated:
    """Is `run` worse than `baseline`, on the items that both were asked, by more than is allowed?

    Parameters
    ----------
    max_drop
        Metric to the largest drop allowed: `{"accuracy": 0.01}`, or `"accuracy=0.01,over_refusal=0.02"`.
    max_unscored
        The largest share of items, from 0 to 1, that the run or the baseline may leave without a verdict for the run to
        pass; 0.05 if None.

    Raises
    ------
    BenchmarkError
        The runs are over different benchmarks, or share no items.
    ConfigurationError
        They were not asked alike, or `max_drop` names no such metric.

    Examples
    --------
    >>> from casewise.api import judge
    >>> intended = judge("demo", "constant:intended")
    >>> gate(intended, intended, max_drop={"accuracy": 0.05}).decision
    'inconclusive'
    """
    runs = [baseline, run]
    written = max_drop if isinstance(max_drop, str) else ",".join(f"{name}={drop!r}" for name, drop in max_drop.items())
    before, after = folders_of(runs)
    report = gate_runs(
        after,
        before,
        margins=parse_margins(written),
        max_unscored=MAX_UNSCORED if max_unscored is None else max_unscored,
        benchmark=benchmark_of(runs, benchmark),
        options=options_of(labels, options),
    )
    return Gated(**vars(report))


@dataclass(frozen=True, repr=False)
class Board(DisplayedNumbers[Leaderboard]):
    """Runs over one benchmark beside each other, best accuracy first."""

    laid_out = staticmethod(leaderboard_page)
    options: ReportOptions = field(default_factory=ReportOptions)

    @property
    def rows(self) -> pl.DataFrame:
        """A row a judge: ranks, estimates by metric with the ends of their intervals, unscored, cost. Baselines apart."""
        return pl.DataFrame(
            [
                {
                    "judge": row.name,
                    "kind": row.kind,
                    "run": row.source,
                    "best_rank": row.best_rank,
                    "worst_rank": row.worst_rank,
                    "n_unscored": row.n_unscored,
                    "cost_usd": row.cost_usd,
                    **{
                        f"{name}{part}": getattr(estimate, field)
                        for name, estimate in row.numbers.items()
                        for part, field in (("", "estimate"), ("_ci_low", "ci_low"), ("_ci_high", "ci_high"))
                    },
                }
                for row in self.found.rows
            ],
            infer_schema_length=None,
        )

    def write_site(self, folder: str | Path, *, with_texts: bool = False) -> Path:
        """Write a static site: the leaderboard, the report of every run behind its row, the numbers as JSON.

        Parameters
        ----------
        with_texts
            Show items in reports also where the benchmark is gated, or the published release.

        Raises
        ------
        ConfigurationError
            Something is at `folder` already, or it cannot be written.
        """
        place, benchmark = Path(folder), self.found.benchmark
        if place.exists() and (place.is_file() or any(place.iterdir())):
            raise ConfigurationError(f"{place} exists, and nothing is overwritten; choose another place")
        runs = dict.fromkeys(row.source for row in self.found.rows if row.kind in ("run", "replies"))
        reports = {run: f"report-{number}.html" for number, run in enumerate(runs, 1)}
        for run, file in reports.items():
            document = Report.of([Path(run)], benchmark=benchmark, options=self.options).document
            page = html(document if with_texts or not restricted(benchmark) else document.without_exhibits)
            write_text(place / file, page.replace(str(escape(run)), Path(run).name))
        numbers = self.as_json()
        for row in numbers["rows"]:  # paths of this machine are nobody else's concern
            row["run"] = reports.get(row["run"], Path(row["run"]).name)
        write_text(place / "leaderboard.json", json_text(numbers))
        write_text(place / "index.html", html(leaderboard_page(self.found, reports)))
        return place / "index.html"


def benchmark_judged(run: str | Path) -> str | None:
    """Return the name of the benchmark that a run folder is over; None where there is no run."""
    return read_run(Path(run)).benchmark_name if (Path(run) / RUN).is_file() else None


def rule_match(source: str | Path, *, benchmark: Source | None = None) -> list[RuleReport]:
    """SafePyramid's own scores over whole cases, with intervals over conversations.

    Parameters
    ----------
    source
        A run folder over `safepyramid`, judged rule by rule; or a JSON Lines file with the `id` of each case and its predicted
        `violated_rules`, null where there is no prediction.
    benchmark
        The benchmark, where it is not `safepyramid` or has moved since the run.

    Raises
    ------
    DataError, BenchmarkError
        The source cannot be read, or is over items that state no case and rule.
    """
    path = Path(source)
    if path.is_file():
        return [rules_of_file(path, as_benchmark("safepyramid" if benchmark is None else benchmark))]
    return rules_of_run(path, benchmark)


def leaderboard(
    *runs: RunAt | str | Path,
    benchmark: Source | None = None,
    outputs: Outputs = None,
    arms: bool = False,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> Board:
    """Runs over one benchmark beside each other, beside published judges and baselines, with ranks that are intervals.

    Parameters
    ----------
    benchmark
        The benchmark; needed where there are outputs and no runs.
    outputs
        Judges' output files of the release, or folders of them; by default those in the folder that `CASEWISE_OUTPUTS`
        names, and `()` for none.
    arms
        Include arms in which judges were shown less, or other, than people were.
    labels
        The label policy, as for `report`.

    Raises
    ------
    BenchmarkError
        There are neither runs nor outputs, the runs are over different benchmarks, or no item was asked of all of them.

    Examples
    --------
    >>> from casewise.api import judge
    >>> board = leaderboard(judge("demo", "constant:safe"), judge("demo", "constant:intended"))
    >>> board.rows["judge"].to_list()
    ['constant:intended (binary)', 'constant:safe (binary)']
    """
    options = options_of(labels, options)
    numbers = leaderboard_of(
        folders_of(runs),
        benchmark=benchmark_of(runs, benchmark),
        outputs=output_files(outputs),
        arms=arms,
        options=options,
    )
    return Board(numbers, options)


class Boards(DisplayedNumbers[Leaderboards]):
    """Runs over several benchmarks beside each other: a row a judge, a column a benchmark."""

    laid_out = staticmethod(leaderboards_page)


def leaderboards(
    *runs: RunAt | str | Path,
    arms: bool = False,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> Boards:
    """Runs over several benchmarks beside each other, beside the yardsticks of each benchmark.

    Parameters
    ----------
    arms
        Include arms in which judges were shown less, or other, than people were.
    labels
        The label policy, as for `report`.

    Raises
    ------
    BenchmarkError
        There are no runs, or of one benchmark no item was asked of all of them.

    Examples
    --------
    >>> from casewise.api import judge
    >>> leaderboards(judge("demo", "constant:safe")).found.names
    ('demo 1.0.0',)
    """
    return Boards(leaderboards_of(folders_of(runs), arms=arms, options=options_of(labels, options)))


def n_benchmarks(runs: Iterable[RunAt | str | Path]) -> int:
    """Return how many different benchmarks these runs are over."""
    return len(by_benchmark(folders_of([*runs])))


# What a benchmark's numbers hide.


class Audited(DisplayedNumbers[Audit]):
    """The findings of an audit of a benchmark."""

    laid_out = staticmethod(audit_page)

    @property
    def findings(self) -> pl.DataFrame:
        """A row a finding, the weightiest first."""
        columns = {"code": pl.String, "part": pl.String, "weight": pl.Float64, "title": pl.String, "advice": pl.String}
        rows = [[getattr(finding, column) for column in columns] for finding in self.found.findings]
        return pl.DataFrame(rows, schema=columns, orient="row")

    def matching(self, codes: Iterable[str]) -> tuple[Finding, ...]:
        """The findings with these codes; a part such as `labels` stands for all of its codes, `any` for all there are.

        Raises
        ------
        ConfigurationError
            One of them is no code.
        """
        return matching(self.found, checked_codes(codes))


def audit(
    benchmark: Source,
    *,
    seed: int = 0,
    outputs: Outputs = None,
    options: AuditOptions | None = None,
) -> Audited:
    """Look for what the numbers of `benchmark` hide: in its labels, its wording, its baselines, its people.

    Judges' published output files, or folders of them, are looked at too where `outputs` names some; of the release by
    default those in the folder that `CASEWISE_OUTPUTS` names.

    Raises
    ------
    BenchmarkError
        The benchmark has no items.

    Examples
    --------
    >>> found = audit("demo", options=AuditOptions(splits=10, folds=5))
    >>> found.findings.columns
    ['code', 'part', 'weight', 'title', 'advice']
    """
    loaded = as_benchmark(benchmark)
    files = [] if outputs is None and loaded.about.published is None else output_files(outputs)
    with long_step("the audit, all told"):
        return Audited(audit_of(loaded, options=options or AuditOptions(seed=seed), outputs=files))
