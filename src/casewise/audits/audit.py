"""An audit: its parts and its findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from casewise.audits.contexts import audit_contexts, audit_coverage, audit_intent
from casewise.audits.subject import AuditOptions, AuditPart, Finding, Subject
from casewise.audits.votes import audit_labels, audit_people
from casewise.audits.words import audit_baseline, audit_subsets
from casewise.errors import BenchmarkError
from casewise.records import ShortRepr
from casewise.storage.benchmark import Benchmark
from casewise.storage.files import json_fields

PARTS: Mapping[str, Callable[[Subject, AuditPart], None]] = {
    "labels": audit_labels,
    "intent": audit_intent,
    "baseline": audit_baseline,
    "subsets": audit_subsets,
    "people": audit_people,
    "contexts": audit_contexts,
    "coverage": audit_coverage,
}
"""The parts of an audit, in the order of the report."""


@dataclass(frozen=True, repr=False)
class Audit(ShortRepr):
    """The findings, the measurements and the omissions of an audit of a benchmark."""

    benchmark: str
    digest: str
    counts: dict[str, int]
    notes: tuple[str, ...]
    """Sentences that the benchmark states and a reader must know, such as that its data are synthetic."""
    options: AuditOptions
    parts: dict[str, AuditPart]
    """Parts by name, in the order of `PARTS`."""
    source: Benchmark = field(compare=False, repr=False)
    """The benchmark: the texts of the items that findings name."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, the largest weight first."""
        every = [finding for part in self.parts.values() for finding in part.findings]
        return tuple(sorted(every, key=lambda finding: (-finding.weight, finding.code)))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences that name each check that was left out, with the reason."""
        return tuple(line for part in self.parts.values() for line in part.left_out)

    def as_json(self) -> dict[str, Any]:
        return {
            **json_fields(self, without=("parts", "source")),
            "findings": [
                {"code": f.code, "weight": round(f.weight, 4), **f.model_dump(mode="json", exclude={"code"})}
                for f in self.findings
            ],
            "measured": {name: part.measured for name, part in self.parts.items()},
            "left_out": list(self.left_out),
        }


def audit(benchmark: Benchmark, *, options: AuditOptions = AuditOptions()) -> Audit:
    """Return the faults of `benchmark` that distort its numbers.

    What cannot be looked at (no ratings, no contexts, too few queries) is left out and named in `left_out`.

    Raises BenchmarkError: the benchmark has no items.
    """
    if not benchmark.items:
        raise BenchmarkError(f"{benchmark.name!r} has no items: there is nothing to audit")
    subject = Subject(benchmark, options)
    parts = {name: AuditPart(name) for name in PARTS}
    for name, look in PARTS.items():
        look(subject, parts[name])
    return Audit(
        benchmark=benchmark.name,
        digest=benchmark.digest,
        counts=benchmark.counts.model_dump(),
        notes=benchmark.notes(),
        options=options,
        parts=parts,
        source=benchmark,
    )


def select_findings(audited: Audit, codes: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return the findings whose code is in `codes`; a part's name such as `labels` stands for all its codes, `any` for all."""
    return tuple(f for f in audited.findings if f.code in codes or f.part in codes or "any" in codes)
