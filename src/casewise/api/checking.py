"""A check of a table with a judge's verdicts and people's labels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import BinaryIO

from casewise.errors import ConfigurationError
from casewise.evaluate.check import CheckNumbers, CheckOptions, Tally, check_table, read_check
from casewise.reports.check import check_page
from casewise.reports.formats import Report
from casewise.storage.intake.cells import Policies
from casewise.storage.intake.formats.format import FileOptions
from casewise.storage.intake.roles import CaseColumns
from casewise.storage.load import ImportOptions, bad_rows_file, write_rejected
from casewise.storage.words import VerdictWords


def check(
    table: str | Path,
    *,
    options: CheckOptions = CheckOptions(),
    columns: CaseColumns = CaseColumns(),
    words: VerdictWords = VerdictWords(),
    policies: Policies = Policies(),
    facts: ImportOptions = ImportOptions(),
    file: FileOptions = FileOptions(),
    out: str | Path | None = None,
) -> Report[CheckNumbers]:
    """Compare a judge's verdicts with people's labels in one table.

    Parameters
    ----------
    table
        A file of any format that `import_cases` reads, with a row a case or a row a rating.
    options
        The judge's column, the limits, and how many disagreements to show.
    columns, words, policies, facts, file
        As `import_cases` takes them.
    out
        A new folder for a benchmark (`benchmark`) and a run (`run`) of the same, for every other command.

    Raises
    ------
    ConfigurationError
        Something would have to be guessed that only you can say.
    DataError
        A row cannot be read, or no case has a label.
    """
    path = Path(table)
    tally = read_check(path, check=options, columns=columns, words=words, policies=policies, options=facts, file=file)
    report = Report(check_table(tally, options), check_page)
    if out is not None:
        write_check(Path(out), tally, name=path.stem)
    return report


def write_check(folder: Path, tally: Tally, *, name: str) -> None:
    """Write the table of a check as a benchmark and a run.

    Raises ConfigurationError: there is something at `folder` already.
    """
    if folder.exists():
        raise ConfigurationError(f"{folder} exists and nothing is overwritten; choose another place")
    from casewise.api.judging import judge  # and all that a run needs
    from casewise.judges.judge import Answer
    from casewise.judges.recorded import Key, answers_file
    from casewise.records import FULL
    from casewise.storage.benchmark import About
    from casewise.storage.benchmark_folder import write_benchmark
    from casewise.storage.intake.cases import Cases

    counted = tally.cases
    scale = counted.frame.scale
    cases = Cases(counted.table, counted.columns, counted.frame, declared=counted.declared)
    benchmark = cases.benchmark(About(name=name, scale=scale))
    outcomes = dict(zip((draft.first for draft in tally.drafts), tally.outcomes, strict=True))
    answers: dict[Key, Answer] = {}
    for draft in cases.drafts.values():
        judge_answer = tally.column[draft.first]
        answer = Answer(outcomes[draft.first], raw_reply=None if judge_answer is None else str(judge_answer))
        answers[draft.id, tally.verdicts.elicitation, FULL.name, 0] = answer
    write_benchmark(benchmark, folder / "benchmark")
    if cases.rejected:
        write_rejected(cases.rejected, bad_rows_file(folder))
    judge(folder / "benchmark", answers_file(counted.path, tally.verdicts.name or "reply", answers), out=folder / "run")


def copy_stream(stream: BinaryIO) -> Path:
    """Copy a stream to a temporary file, and return its path."""
    folder = Path(tempfile.mkdtemp(prefix="casewise-"))
    path = folder / "stdin"
    path.write_bytes(stream.read())
    return path
