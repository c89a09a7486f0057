"""`casewise check`: a table with verdicts and labels, and the answer in a second."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from casewise import api
from casewise.api.checking import copy_stream
from casewise.cli.options import FormatOption, HtmlOption, MarkdownOption, ParameterColumns, values_by_name
from casewise.cli.printing import DocumentOptions, note
from casewise.errors import DataError, ExitCode
from casewise.evaluate.check import CheckNumbers, CheckOptions
from casewise.options import Flat
from casewise.storage.intake.cells import Policies
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import ImportOptions, bad_rows_file
from casewise.storage.words import VerdictWords


def check(
    table: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    checked: Flat[CheckOptions] = CheckOptions(),
    columns: Flat[CaseColumns] = CaseColumns(),
    words: Flat[VerdictWords] = VerdictWords(),
    policies: Flat[Policies] = Policies(),
    facts: Flat[ImportOptions] = ImportOptions(),
    file: Flat[FileOptions] = FileOptions(),
    parameter: ParameterColumns = (),
    html: HtmlOption = None,
    markdown: MarkdownOption = None,
    form: FormatOption = None,
    out: Path | None = None,
) -> None:
    """Compare a judge's verdicts with people's labels in one table. Exit code 1 if a limit does not hold, 3 if it is open.

    Parameters
    ----------
    table
        A table of any format that data import reads, with a judge's column and people's labels: one label a case, votes, or
        one row for each rating. Or - for standard input.
    out
        Also keep a benchmark and a run in this new folder, for every other command.
    """
    columns = replace(columns, parameters=values_by_name(parameter))
    path = copy_stream(sys.stdin.buffer) if table == "-" else Path(table)
    try:
        report = api.check(
            path, options=checked, columns=columns, words=words, policies=policies, facts=facts, file=file, out=out
        )
    except DataError as error:
        raise error if table != "-" else DataError(Path("-"), error.line, error.problem) from error
    finally:
        if table == "-":
            shutil.rmtree(path.parent)
    DocumentOptions(html=html, markdown=markdown, form=form).present(report, full=False)
    if out is not None:
        note(f"The benchmark is at {out / 'benchmark'}, the run at {out / 'run'}")
        if bad_rows_file(out).exists():
            note(f"rows that could not be read are in {bad_rows_file(out)}, each with the reason")
    numbers: CheckNumbers = report.numbers
    conclusions = [limit.conclusion for limit in numbers.limits]
    if numbers.n_unscored == numbers.n_cases:
        raise SystemExit(ExitCode.NOTHING_SCORED)
    if any(conclusion.fails for conclusion in conclusions):
        raise SystemExit(ExitCode.NO)
    if not all(conclusion.holds for conclusion in conclusions):
        raise SystemExit(ExitCode.CANNOT_TELL)
