"""The whole audit: every part, its findings ranked by weight, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casewise.auditing.agreement import audit_people
from casewise.auditing.baseline import audit_baseline
from casewise.auditing.contexts import audit_contexts
from casewise.auditing.coverage import audit_coverage
from casewise.auditing.findings import Finding, Part
from casewise.auditing.intent import audit_intent
from casewise.auditing.outputs import audit_outputs
from casewise.auditing.subject import AuditOptions, Subject
from casewise.auditing.subsets import audit_subsets
from casewise.auditing.votes.labels import audit_labels
from casewise.errors import BenchmarkError
from casewise.records import ShortRepr
from casewise.storage.benchmarks.benchmark import Benchmark, Published

__all__ = ["PARTS", "Audit", "audit", "matching"]

PARTS: Mapping[str, Callable[[Subject], Part]] = {
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
    """What an audit of a benchmark found."""

    benchmark: str
    digest: str
    counts: dict[str, int]
    notes: tuple[str, ...]
    """What the benchmark says of itself that a reader must know, such as that its data are synthetic."""
    options: AuditOptions
    parts: dict[str, Part]
    """By name, in the order of `PARTS`."""
    published: Published | None = None
    """How its published file gave its votes; None where it comes from no such file."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, the weightiest first."""
        every = [finding for part in self.parts.values() for finding in part.findings]
        return tuple(sorted(every, key=lambda finding: (-finding.weight, finding.code)))

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was not looked at, and why."""
        return tuple(line for part in self.parts.values() for line in part.left_out)

    def as_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "benchmark": self.benchmark,
            "digest": self.digest,
            "counts": self.counts,
            "notes": list(self.notes),
            "options": asdict(self.options),
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
    return Audit(
        benchmark=benchmark.name,
        digest=benchmark.digest,
        counts=benchmark.counts.model_dump(),
        notes=benchmark.notes(),
        options=options,
        parts={
            **{name: look(subject) for name, look in PARTS.items()},
            **({"outputs": audit_outputs(outputs, subject)} if outputs else {}),
        },
        published=benchmark.about.published,
    )


def matching(found: Audit, wanted: tuple[str, ...]) -> tuple[Finding, ...]:
    """The findings whose code is in `wanted`; a part's name such as `labels` stands for all its codes, `any` for all."""
    return tuple(f for f in found.findings if f.code in wanted or f.part in wanted or "any" in wanted)
