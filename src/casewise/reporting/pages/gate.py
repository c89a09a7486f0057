"""A gate laid out: how much worse each metric is, and what the decision means."""

from __future__ import annotations

from casewise.evaluation.gate import GateReport
from casewise.reporting.document import Document, Prose, Section, number, table_by

__all__ = ["gate_page"]


def gate_page(gate: GateReport) -> Document:
    """A short summary, ready for any face."""
    table = table_by(
        "gate-table",
        "How much worse the run is",
        gate.found.metrics,
        {
            "Metric": lambda m: m.name,
            "Baseline": lambda m: number(m.baseline),
            "Run": lambda m: number(m.run),
            "Drop": lambda m: number(m.drop),
            "Bounds": lambda m: f"[{m.low:.3f}, {m.high:.3f}]",
            "Allowed": lambda m: number(m.margin),
            "Decision": lambda m: m.decision,
        },
    )
    return Document(
        title=f"Gate: {gate.decision.upper()}",
        subtitle=f"{gate.run} against {gate.baseline} on {gate.benchmark}, {gate.found.n_items:,} items",
        notices=gate.notes,
        sections=(Section("gate", "How much worse", (table, Prose(gate.sentence())), brief=True),),
    )
