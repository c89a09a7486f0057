"""From runs to numbers: reports, comparisons, the gate, the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from markupsafe import escape

from casewise.api.benchmarks import Outputs, RunAt, Source, benchmark_of, folders_of, output_files
from casewise.api.displayed import Displayed, DisplayedNumbers
from casewise.api.reports import Report, policy_of
from casewise.errors import BenchmarkError, ConfigurationError, ExitCode
from casewise.evaluation.board.leaderboard import Leaderboard
from casewise.evaluation.board.leaderboard import leaderboard as leaderboard_of
from casewise.evaluation.comparison import ComparisonNumbers
from casewise.evaluation.doing.says_does import SaysDoesNumbers
from casewise.evaluation.gate import GateReport, gate_runs, parse_margins
from casewise.evaluation.judged_runs import long_table as long_table_of
from casewise.evaluation.options import ReportOptions
from casewise.exporting.every_eval_ever import restricted
from casewise.reporting.faces.html import html
from casewise.reporting.pages.comparison import comparison_page
from casewise.reporting.pages.gate import gate_page, github_lines, junit
from casewise.reporting.pages.leaderboard import leaderboard_page
from casewise.reporting.pages.says_does import says_does_page
from casewise.stats.agreeing.gate import Decision
from casewise.stats.agreeing.labels_and_ties import LabelPolicy
from casewise.storage.files.atomic import write_text
from casewise.storage.files.jsonl import json_text

__all__ = [
    "Board",
    "ComparisonReport",
    "Gated",
    "SaysDoesReport",
    "compare",
    "gate",
    "leaderboard",
    "long_table",
]


class ComparisonReport(ComparisonNumbers, Displayed):
    """Several judges, arms or elicitations beside each other."""

    laid_out = staticmethod(comparison_page)


class SaysDoesReport(SaysDoesNumbers, Displayed):
    """What models say against what they do."""

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
    found = options or ReportOptions(labels=policy_of(labels))
    return ComparisonReport.of(
        folders_of(runs), benchmark=benchmark_of(runs, benchmark), by_repeat=by_repeat, options=found
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


class Gated(DisplayedNumbers[GateReport]):
    """A run held against another: may it pass?"""

    laid_out = staticmethod(gate_page)

    @property
    def decision(self) -> Decision:
        """`pass`, `fail`, or `inconclusive` where these items cannot tell, or the run has not finished."""
        return self.found.decision

    @property
    def exit_code(self) -> ExitCode:
        """What the command ends with."""
        return self.found.exit_code

    @property
    def metrics(self) -> pl.DataFrame:
        """A row a metric: baseline, run, drop, its bounds, what is allowed, the decision."""
        return pl.DataFrame([{**vars(one), "decision": one.decision} for one in self.found.found.metrics])

    def to_junit(self) -> str:
        """JUnit XML, a test case a metric, for a continuous integration that shows such files."""
        return junit(self.found)

    @property
    def annotations(self) -> tuple[str, ...]:
        """A line a metric that GitHub's log makes an annotation of: `::error title=…::…`."""
        return tuple(github_lines(self.found))


def gate(
    run: RunAt | str | Path,
    baseline: RunAt | str | Path,
    *,
    max_drop: str | Mapping[str, float],
    labels: str | LabelPolicy = "votes",
    benchmark: Source | None = None,
    options: ReportOptions | None = None,
) -> Gated:
    """Is `run` worse than `baseline`, on the items that both were asked, by more than is allowed?

    Parameters
    ----------
    max_drop
        Metric to the largest drop allowed: `{"accuracy": 0.01}`, or `"accuracy=0.01,over_refusal=0.02"`.

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
    found = gate_runs(
        after,
        before,
        margins=parse_margins(written),
        benchmark=benchmark_of(runs, benchmark),
        options=options or ReportOptions(labels=policy_of(labels)),
    )
    return Gated(found)


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
                        f"{name}{part}": getattr(one, field)
                        for name, one in row.numbers.items()
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
            made = Report.of([Path(run)], benchmark=benchmark, options=self.options).document
            page = html(made if with_texts or not restricted(benchmark) else made.without_exhibits)
            write_text(place / file, page.replace(str(escape(run)), Path(run).name))
        numbers = self.as_json()
        for row in numbers["rows"]:  # paths of this machine are nobody else's concern
            row["run"] = reports.get(row["run"], Path(row["run"]).name)
        write_text(place / "leaderboard.json", json_text(numbers))
        write_text(place / "index.html", html(leaderboard_page(self.found, reports)))
        return place / "index.html"


def leaderboard(
    *runs: RunAt | str | Path,
    benchmark: Source | None = None,
    outputs: Outputs = None,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
    scale: int | None = None,
) -> Board:
    """Runs over one benchmark beside each other, beside published judges and baselines, with ranks that are intervals.

    Parameters
    ----------
    benchmark
        The benchmark; needed where there are outputs and no runs.
    outputs
        Judges' output files of the release, or folders of them; by default those in the folder that `CASEWISE_OUTPUTS`
        names, and `()` for none.
    labels
        The label policy, as for `report`.
    scale
        How many items to choose that place a new judge; judges and items are then put on one scale.

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
    given = benchmark_of(runs, benchmark)
    found = leaderboard_of(
        folders_of(runs),
        benchmark=given,
        outputs=output_files(outputs),
        options=options or ReportOptions(labels=policy_of(labels)),
        scale=scale,
    )
    return Board(found, options or ReportOptions(labels=policy_of(labels)))
