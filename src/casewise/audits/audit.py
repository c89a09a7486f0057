"""An audit: its parts, its findings, and published outputs beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from casewise.audits.contexts import audit_contexts, audit_coverage, audit_intent
from casewise.audits.subject import AuditOptions, Finding, Part, Subject
from casewise.audits.votes import audit_labels, audit_people
from casewise.audits.words import audit_baseline, audit_subsets
from casewise.errors import BenchmarkError, CasewiseError
from casewise.records import ShortRepr
from casewise.stats.sample import FilledIn, of_raw_values
from casewise.storage.benchmark import Benchmark
from casewise.storage.published import PublishedOutput, read_output

# Judges' published outputs over the benchmark: values that another hand put in, and labels that good judges
# contradict.


def audit_outputs(paths: Sequence[Path]) -> Part:
    """Look at each output file for values that look filled in by chance.

    A file that cannot be read is named and left out.
    """
    findings: list[Finding] = []
    left_out: list[str] = []
    looked_at: dict[str, str] = {}
    for path in paths:
        try:
            output = read_output(path)
        except CasewiseError as error:
            left_out.append(f"An output was not looked at: {error}.")
            continue
        if output.misnamed:
            left_out.append(f"{output.judge}, {path.name}: {output.misnamed}.")
        odd = of_raw_values([row.raw for row in output.rows], output.safe_rates)
        looked_at[f"{output.judge}, {path.name}"] = said(odd)
        if odd is not None and odd.suspect:
            findings.append(filled(output, odd))
    if any("words" in word for word in looked_at.values()):
        left_out.append(
            "Outputs whose values are words, or are all of one JSON type, cannot be tested for values that were filled in."
        )
    return Part(name="outputs", measured=looked_at, findings=tuple(findings), left_out=tuple(left_out))


def said(odd: FilledIn | None) -> str:
    if odd is None:
        return "values are words or all of one type: not tested"
    return f"{odd.n} of another type, r {odd.r:z.2f} against {odd.r_rest:z.2f}, p = {odd.p:.2g}"


def filled(output: PublishedOutput, odd: FilledIn) -> Finding:
    return Finding(
        code="outputs.filled-in",
        title=f"{output.judge}, {output.path.name}: {odd.sentence}.",
        effect="score",
        share=odd.n / (odd.n + odd.n_rest),
        evidence={"values": odd.n, "others": odd.n_rest, "r": odd.r, "r_of_others": odd.r_rest, "p": odd.p},
        advice="Score this output without them, and say so; as they stand they pull every number towards chance.",
    )


# The whole audit: every part, its findings ranked by weight, and what was left out.


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
            **({"outputs": audit_outputs(outputs)} if outputs else {}),
        },
    )


def matching(found: Audit, wanted: tuple[str, ...]) -> tuple[Finding, ...]:
    """The findings whose code is in `wanted`; a part's name such as `labels` stands for all its codes, `any` for all."""
    return tuple(f for f in found.findings if f.code in wanted or f.part in wanted or "any" in wanted)
