"""Judges' published outputs over the benchmark: values that another hand put in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from casewise.auditing.findings import Finding, Part
from casewise.errors import CasewiseError
from casewise.stats.agreeing.filled_in import FilledIn, of_raw_values
from casewise.storage.benchmarks.published_outputs import PublishedOutput, read_output

__all__ = ["audit_outputs"]


def audit_outputs(paths: Sequence[Path]) -> Part:
    """Look at each output file for values that look filled in by chance; one that cannot be read is named and left out."""
    findings: list[Finding] = []
    left_out: list[str] = []
    looked_at: dict[str, str] = {}
    for path in paths:
        try:
            output = read_output(path)
        except CasewiseError as error:
            left_out.append(f"An output was not looked at: {error}.")
            continue
        odd = of_raw_values(
            [row.raw for row in output.rows], [row.votes.count(1) / len(row.votes) for row in output.rows]
        )
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
    return f"{odd.n} of another type, r {odd.r:.2f} against {odd.r_rest:.2f}, p = {odd.p:.2g}"


def filled(output: PublishedOutput, odd: FilledIn) -> Finding:
    return Finding(
        code="outputs.filled-in",
        title=f"{output.judge}, {output.path.name}: {odd.sentence}.",
        effect="score",
        share=odd.n / (odd.n + odd.n_rest),
        evidence={"values": odd.n, "others": odd.n_rest, "r": odd.r, "r_of_others": odd.r_rest, "p": odd.p},
        advice="Score this output without them, and say so; as they stand they pull every number towards chance.",
    )
