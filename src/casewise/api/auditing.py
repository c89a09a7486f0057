"""What a benchmark's numbers hide."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from casewise.api.benchmarks import Outputs, Source, as_benchmark, output_files
from casewise.api.displayed import DisplayedNumbers
from casewise.auditing.audit import Audit, matching
from casewise.auditing.audit import audit as audit_of
from casewise.auditing.findings import Finding, checked_codes
from casewise.auditing.subject import AuditOptions
from casewise.reporting.pages.audit import audit_page
from casewise.storage.files.long_steps import long_step

__all__ = ["AuditOptions", "Audited", "audit", "checked_codes"]


class Audited(DisplayedNumbers[Audit]):
    """What an audit of a benchmark found."""

    laid_out = staticmethod(audit_page)

    @property
    def findings(self) -> pl.DataFrame:
        """A row a finding, the weightiest first."""
        rows = [
            {"code": one.code, "part": one.part, "weight": one.weight, "title": one.title, "advice": one.advice}
            for one in self.found.findings
        ]
        text = pl.String
        return pl.DataFrame(
            rows, schema={"code": text, "part": text, "weight": pl.Float64, "title": text, "advice": text}
        )

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
    found = as_benchmark(benchmark)
    files = [] if outputs is None and found.about.published is None else output_files(outputs)
    with long_step("the audit, all told"):
        return Audited(audit_of(found, options=options or AuditOptions(seed=seed), outputs=files))
