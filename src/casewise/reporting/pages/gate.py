"""A gate laid out: how much worse each metric is, and what the decision means."""

from __future__ import annotations

from casewise.evaluation.gate import GateReport
from casewise.reporting.document import Document, Prose, Section, number, table_of

__all__ = ["gate_page"]


def gate_page(gate: GateReport) -> Document:
    """A short summary, ready for any face."""
    rows = [
        (
            m.name,
            number(m.baseline),
            number(m.run),
            number(m.drop),
            f"[{m.low:.3f}, {m.high:.3f}]",
            number(m.margin),
            m.decision,
        )
        for m in gate.found.metrics
    ]
    head = ("Metric", "Baseline", "Run", "Drop", "Bounds", "Allowed", "Decision")
    table = table_of("gate-table", "How much worse the run is", head, rows)
    return Document(
        title=f"Gate: {gate.decision.upper()}",
        subtitle=f"{gate.run} against {gate.baseline} on {gate.benchmark}, {gate.found.n_items:,} items",
        notices=gate.notes,
        sections=(Section("gate", "How much worse", (table, Prose(gate.sentence())), brief=True),),
    )
