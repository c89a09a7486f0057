"""Hold a benchmark's contexts against facts, and forge contexts to see how well that works."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from casewise.api.benchmarks import Source, as_benchmark
from casewise.api.displayed import Displayed
from casewise.contexts.forging import Forged, Forgery, forge
from casewise.evaluation.robustness.verification import VerificationNumbers
from casewise.reporting.document import Document
from casewise.reporting.robustness.verification import verification_page
from casewise.storage.benchmarks.folder import write_benchmark
from casewise.storage.files.jsonl import read_jsonl, write_jsonl
from casewise.verifying.facts import day, read_facts

__all__ = ["ForgedFiles", "Verification", "forge_contexts", "verify_contexts"]


class Verification(VerificationNumbers, Displayed):
    """What facts say of a benchmark's contexts."""

    @cached_property
    def document(self) -> Document:
        """The report as a `Document`, ready for any face."""
        return verification_page(self)


@dataclass(frozen=True)
class ForgedFiles:
    """Where a benchmark of forgeries lies, with its facts and the truth."""

    folder: Path
    facts: Path
    truth: Path
    forged: Forged


def verify_contexts(
    benchmark: Source, facts: str | Path, *, at: date | str | None = None, truth: str | Path | None = None
) -> Verification:
    """Hold every claim of every context against facts.

    Parameters
    ----------
    facts
        A file with a fact a line.
    at
        The day on which they are asked; today by default.
    truth
        What was forged, as `forge_contexts` writes it: then precision and recall are known.

    Raises
    ------
    DataError
        A line of a file is no fact; the message names it.
    """
    known = tuple(read_jsonl(Path(truth), Forgery)) if truth is not None else ()
    return Verification(as_benchmark(benchmark), read_facts(Path(facts)), day(at), known)


def forge_contexts(
    benchmark: Source,
    out: str | Path,
    *,
    parameter: str = "recipient.type",
    at: date | str | None = None,
    seed: int = 0,
) -> ForgedFiles:
    """Write a benchmark of forgeries with known truth, and facts that know better or do not, into a new folder.

    Raises
    ------
    ConfigurationError, BenchmarkError
        There is no such parameter, no pair differs in it, or the folder holds something else.
    """
    folder = Path(out)
    made = forge(as_benchmark(benchmark), parameter=parameter, at=day(at), seed=seed)
    write_benchmark(made.benchmark, folder)
    files = ForgedFiles(folder, folder / "facts.jsonl", folder / "truth.jsonl", made)
    write_jsonl(files.facts, made.facts)
    write_jsonl(files.truth, made.truth)
    return files
