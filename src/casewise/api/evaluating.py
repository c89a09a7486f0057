"""Reports, comparisons, gates, leaderboards, audits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from casewise.audits.audit import Audit, select_findings
from casewise.audits.audit import audit as audit_of
from casewise.audits.subject import AuditOptions, Finding, check_codes
from casewise.errors import ConfigurationError
from casewise.evaluate.comparison import MAX_UNSCORED, ComparisonNumbers, GateReport, gate_runs
from casewise.evaluate.conclusions import conclusions_json, finding_made, unchecked_finding
from casewise.evaluate.judge_numbers import JudgeNumbers
from casewise.evaluate.judged_runs import Outputs, ReportOptions, options_of, output_files
from casewise.evaluate.leaderboard import Leaderboard, Leaderboards
from casewise.evaluate.leaderboard import leaderboard as leaderboard_of
from casewise.evaluate.leaderboard import leaderboards as leaderboards_of
from casewise.evaluate.multiverse import MultiverseNumbers
from casewise.reports.audit import audit_page
from casewise.reports.comparison import CIReport, comparison_page, gate_page, gate_suite
from casewise.reports.formats import Report, html
from casewise.reports.judge import judge_page
from casewise.reports.leaderboard import leaderboard_page, leaderboards_page
from casewise.reports.multiverse import multiverse_page
from casewise.stats.comparison import Comparison
from casewise.stats.labels import LabelPolicy
from casewise.storage.files import json_text, write_text
from casewise.storage.load import Source, loaded_benchmark, write_csv
from casewise.storage.run_folder import AnyRun


class JudgeReport(Report[JudgeNumbers]):
    """The report of judges' runs."""

    @property
    def metrics(self) -> pl.DataFrame:
        """The metrics of each judge by label policy, with a row and an interval for each."""
        return self.numbers.metrics

    @property
    def categories(self) -> pl.DataFrame:
        """The metrics within each category, with a row for each."""
        return self.numbers.categories

    @property
    def domains(self) -> pl.DataFrame:
        """The metrics within each domain, with a row for each."""
        return self.numbers.domains

    @property
    def unscored(self) -> pl.DataFrame:
        """The judgements without a verdict, by reason."""
        return self.numbers.unscored

    @property
    def arms(self) -> pl.DataFrame:
        """Each arm with its difference from the arm that shows everything."""
        return self.numbers.arms

    @property
    def failures(self) -> pl.DataFrame:
        """The items that a judge decided otherwise than people, or gave no verdict on."""
        return self.numbers.failures

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on these numbers."""
        return self.numbers.notes

    def write_failures(self, path: str | Path) -> int:
        """Write a row for each item that a judge decided otherwise than people, or gave no verdict on, as CSV: how many.

        Every cell is quoted, and what a spreadsheet program would run as a formula has an apostrophe before it.
        """
        table = self.failures
        write_csv(table, Path(path))
        return len(table)


class ComparisonReport(Report[ComparisonNumbers]):
    """The comparison of several runs, or of the arms and elicitations of one."""

    @property
    def comparison(self) -> Comparison:
        """The estimates of each judge and the differences of each pair."""
        return self.numbers.comparison

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks that a reader of the numbers needs."""
        return self.numbers.notes


def report(
    *runs: AnyRun,
    benchmark: Source | None = None,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> JudgeReport:
    """Return the report of one or more runs over one benchmark.

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
    return JudgeReport(
        JudgeNumbers.from_runs(runs, benchmark=benchmark, options=options_of(labels, options)), judge_page
    )


class MultiverseReport(Report[MultiverseNumbers]):
    """Judges under every combination of label, tie, unsure and unscored rules."""


def policies(*runs: AnyRun, benchmark: Source | None = None, options: ReportOptions | None = None) -> MultiverseReport:
    """Return the headline and the ranking of runs over one benchmark under every rule for labels and verdicts that applies.

    Raises
    ------
    DataError, BenchmarkError
        As `report`; or no judge has a verdict on half of its items, or no item has a label.

    Examples
    --------
    >>> from casewise.api import judge
    >>> found = policies(judge("demo", "constant:safe"))
    >>> [world.rules.labels for world in found.numbers.worlds]
    ['votes', 'published', 'intended']
    """
    numbers = MultiverseNumbers.from_runs(runs, benchmark=benchmark, options=options or ReportOptions())
    return MultiverseReport(numbers, multiverse_page)


def compare(
    *runs: AnyRun,
    benchmark: Source | None = None,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> ComparisonReport:
    """Compare two or more runs over one benchmark, or the arms and elicitations of one.

    Parameters
    ----------
    labels
        The label policy, as for `report`.

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
    numbers = ComparisonNumbers.from_runs(runs, benchmark=benchmark, options=options_of(labels, options))
    return ComparisonReport(numbers, comparison_page)


def gate(
    run: AnyRun,
    baseline: AnyRun,
    *,
    max_drop: str | Mapping[str, float],
    max_unscored: float | None = None,
    labels: str | LabelPolicy = "votes",
    benchmark: Source | None = None,
    options: ReportOptions | None = None,
) -> CIReport[GateReport]:
    """Test whether `run` is worse than `baseline` by more than is allowed, on the items that both were asked.

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
    numbers = gate_runs(
        run,
        baseline,
        max_drop=max_drop,
        max_unscored=MAX_UNSCORED if max_unscored is None else max_unscored,
        benchmark=benchmark,
        options=options_of(labels, options),
    )
    return CIReport(numbers, gate_page, gate_suite)


@dataclass(frozen=True, repr=False)
class BoardReport(Report[Leaderboard]):
    """The leaderboard of runs over one benchmark, highest accuracy first."""

    options: ReportOptions

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
                for row in self.numbers.rows
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
        place, benchmark = Path(folder), self.numbers.benchmark
        if place.exists() and (place.is_file() or any(place.iterdir())):
            raise ConfigurationError(f"{place} exists, and nothing is overwritten; choose another place")
        runs = dict.fromkeys(row.source for row in self.numbers.rows if row.kind in ("run", "replies"))
        reports = {run: f"report-{number}.html" for number, run in enumerate(runs, 1)}

        def folder_name(run: Path) -> str:  # other people need no paths of this machine
            return run.resolve().name

        for run, file in reports.items():
            document = judge_page(JudgeNumbers.from_runs([Path(run)], benchmark=benchmark, options=self.options))
            shown = document if with_texts or not benchmark.restricted else document.without_exhibits
            write_text(place / file, html(shown, path=folder_name))
        numbers = self.as_json()
        for row in numbers["rows"]:
            row["run"] = reports.get(row["run"], Path(row["run"]).name)
        write_text(place / "leaderboard.json", json_text(numbers))
        write_text(place / "index.html", html(leaderboard_page(self.numbers, reports), path=folder_name))
        return place / "index.html"


def leaderboard(
    *runs: AnyRun,
    benchmark: Source | None = None,
    outputs: Outputs = None,
    arms: bool = False,
    labels: str | LabelPolicy = "votes",
    options: ReportOptions | None = None,
) -> BoardReport:
    """Rank runs over one benchmark, published judges and baselines, with an interval for each rank.

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
    numbers = leaderboard_of(runs, benchmark=benchmark, outputs=output_files(outputs), arms=arms, options=options)
    return BoardReport(numbers, leaderboard_page, options)


def leaderboards(
    *runs: AnyRun, arms: bool = False, labels: str | LabelPolicy = "votes", options: ReportOptions | None = None
) -> Report[Leaderboards]:
    """Rank runs over several benchmarks, with the yardsticks of each benchmark.

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
    >>> leaderboards(judge("demo", "constant:safe")).numbers.names
    ('demo 1.0.0',)
    """
    numbers = leaderboards_of(runs, arms=arms, options=options_of(labels, options))
    return Report(numbers, leaderboards_page)


class AuditReport(Report[Audit]):
    """The findings of an audit of a benchmark."""

    def as_json(self) -> dict[str, Any]:
        """Return the audit as plain JSON values."""
        audit = self.numbers
        drawn = (*map(finding_made, audit.findings), *map(unchecked_finding, audit.left_out))
        return {**audit.as_json(), "conclusions": conclusions_json(drawn)}

    @property
    def findings(self) -> pl.DataFrame:
        """The findings, with a row for each, the weightiest first."""
        columns = {"code": pl.String, "part": pl.String, "weight": pl.Float64, "title": pl.String, "advice": pl.String}
        rows = [[getattr(finding, column) for column in columns] for finding in self.numbers.findings]
        return pl.DataFrame(rows, schema=columns, orient="row")

    def select_findings(self, codes: Iterable[str]) -> tuple[Finding, ...]:
        """Return the findings with these codes; a part such as `labels` stands for all of its codes, `any` for all there are.

        Raises ConfigurationError: one of them is no code.
        """
        return select_findings(self.numbers, check_codes(codes))


def audit(benchmark: Source, *, seed: int = 0, options: AuditOptions | None = None) -> AuditReport:
    """Report faults of `benchmark` that distort its numbers: in labels, wording, baselines and ratings.

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
    loaded = loaded_benchmark(benchmark)
    return AuditReport(audit_of(loaded, options=options or AuditOptions(seed=seed)), audit_page)
