"""An audit: its parts, its findings, and published outputs beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.audits.contexts import audit_contexts, audit_coverage, audit_intent
from casewise.audits.subject import AuditOptions, Finding, Part, Subject
from casewise.audits.votes import audit_labels, audit_people
from casewise.audits.words import audit_baseline, audit_subsets
from casewise.errors import BenchmarkError, CasewiseError
from casewise.records import ShortRepr
from casewise.stats.sample import filled_in_values
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import json_fields
from casewise.storage.published import read_output


def audit_outputs(paths: Sequence[Path], part: Part) -> None:
    """Look at each of judges' published output files for values that look filled in by chance.

    A file that cannot be read is named and left out.
    """
    untested = False
    for path in paths:
        try:
            output = read_output(path)
        except CasewiseError as error:
            part.left_out.append(f"An output was not looked at: {error}.")
            continue
        name = f"{output.judge}, {path.name}"
        if output.misnamed:
            part.left_out.append(f"{name}: {output.misnamed}.")
        odd = filled_in_values([row.raw for row in output.rows], output.safe_rates)
        untested |= odd is None
        part.measured[name] = (
            "values are words or all of one type: not tested"
            if odd is None
            else f"{odd.n} of another type, r {odd.r:z.2f} against {odd.r_rest:z.2f}, p = {odd.p:.2g}"
        )
        if odd is not None and odd.suspect:
            part.add(
                "outputs.filled-in",
                f"{name}: {odd.sentence}.",
                odd.n / (odd.n + odd.n_rest),
                {"values": odd.n, "others": odd.n_rest, "r": odd.r, "r_of_others": odd.r_rest, "p": odd.p},
            )
    if untested:
        part.left_out.append(
            "Outputs whose values are words, or are all of one JSON type, cannot be tested for values that were filled in."
        )


PARTS: Mapping[str, Callable[[Subject, Part], None]] = {
    "labels": audit_labels,
    "intent": audit_intent,
    "baseline": audit_baseline,
    "subsets": audit_subsets,
    "people": audit_people,
    "contexts": audit_contexts,
    "coverage": audit_coverage,
}
"""In the order of the report."""


@dataclass(frozen=True, repr=False)
class Audit(ShortRepr):
    """The findings, the measurements and the omissions of an audit of a benchmark."""

    benchmark: str
    digest: str
    counts: dict[str, int]
    notes: tuple[str, ...]
    """Sentences that the benchmark states and a reader must know, such as that its data are synthetic."""
    options: AuditOptions
    parts: dict[str, Part]
    """By name, in the order of `PARTS`."""
    source: Benchmark = field(compare=False, repr=False)
    """The benchmark: the texts of the items that findings name."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, the largest weight first."""
        every = [finding for part in self.parts.values() for finding in part.findings]
        return tuple(sorted(every, key=lambda finding: (-finding.weight, finding.code)))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences: what was not looked at, and why."""
        return tuple(line for part in self.parts.values() for line in part.left_out)

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            **json_fields(self, without=("parts", "source")),
            "findings": [
                {"code": f.code, "weight": round(f.weight, 4), **f.model_dump(mode="json", exclude={"code"})}
                for f in self.findings
            ],
            "measured": {name: part.measured for name, part in self.parts.items()},
            "left_out": list(self.left_out),
        }


def audit(benchmark: Benchmark, *, options: AuditOptions = AuditOptions(), outputs: Sequence[Path] = ()) -> Audit:
    """Look for what the numbers of `benchmark` hide, and, where judges' published `outputs` are given, what those do.

    What cannot be looked at (no ratings, no contexts, too few queries) is left out and named in `left_out`.

    Raises BenchmarkError: the benchmark has no items.
    """
    if not benchmark.items:
        raise BenchmarkError(f"{benchmark.name!r} has no items: there is nothing to audit")
    subject = Subject(benchmark, options)
    parts = {name: Part(name) for name in (*PARTS, *(("outputs",) if outputs else ()))}
    for name, look in PARTS.items():
        look(subject, parts[name])
    if outputs:
        audit_outputs(outputs, parts["outputs"])
    return Audit(
        benchmark=benchmark.name,
        digest=benchmark.digest,
        counts=benchmark.counts.model_dump(),
        notes=benchmark.notes(),
        options=options,
        parts=parts,
        source=benchmark,
    )


def matching(audited: Audit, codes: tuple[str, ...]) -> tuple[Finding, ...]:
    """The findings whose code is in `codes`; a part's name such as `labels` stands for all its codes, `any` for all."""
    return tuple(f for f in audited.findings if f.code in codes or f.part in codes or "any" in codes)
