"""What a check found in a context: which check, where, what, and the words that show it."""

from __future__ import annotations

from casewise.records import Record

__all__ = ["Remark"]


class Remark(Record):
    """Something a reviewer should look at. It blocks nothing by itself: people decide."""

    check: str
    message: str
    parameter: str | None = None
    """Dotted name of the parameter it is about; None where it is about the whole context."""
    evidence: str | None = None
    """The words that show it."""
    by: str = "rules"
    """`rules`, or the model whose opinion it is."""
