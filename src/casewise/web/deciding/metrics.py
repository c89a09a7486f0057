"""Counters and one histogram, as Prometheus reads them. Nothing here holds a text, a key or an address."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

__all__ = ["ServiceMetrics"]

BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

HELP = {
    "casewise_decisions_total": "Decisions, by what was decided and whether it was let through in shadow.",
    "casewise_failures_total": "Requests to which the judge gave no value, by reason.",
    "casewise_unmeasured_total": "Requests of a kind that was not measured.",
    "casewise_capture_errors_total": "Decisions that could not be written down.",
    "casewise_requests_total": "Requests, by route and status.",
}

Labels = tuple[tuple[str, str], ...]


class ServiceMetrics:
    """What has happened since the service began."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, Labels]] = Counter()
        self.buckets = [0] * (len(BUCKETS_S) + 1)
        self.total_s = 0.0

    def count(self, name: str, **labels: str) -> None:
        """One more of what `name` counts."""
        self.counts[name, tuple(sorted(labels.items()))] += 1

    def took(self, seconds: float) -> None:
        """One more decision, which took so long."""
        self.buckets[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_s += seconds

    def text(self) -> str:
        """In Prometheus' text format 0.0.4."""
        return "\n".join((*self.counters(), *self.histogram(), ""))

    def counters(self) -> Iterator[str]:
        for name, help_ in HELP.items():
            yield f"# HELP {name} {help_}"
            yield f"# TYPE {name} counter"
            for (of, labels), n in sorted(self.counts.items()):
                if of == name:
                    inside = ",".join(f'{label}="{value}"' for label, value in labels)
                    yield f"{name}{{{inside}}} {n}" if inside else f"{name} {n}"

    def histogram(self) -> Iterator[str]:
        name, so_far = "casewise_decision_seconds", 0
        yield f"# HELP {name} How long decisions took, the judge included."
        yield f"# TYPE {name} histogram"
        for limit, n in zip((*BUCKETS_S, "+Inf"), self.buckets, strict=True):
            so_far += n
            yield f'{name}_bucket{{le="{limit}"}} {so_far}'
        yield f"{name}_sum {self.total_s:.6f}"
        yield f"{name}_count {so_far}"
