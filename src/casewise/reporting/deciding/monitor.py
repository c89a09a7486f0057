"""A decider's traffic beside its benchmark, laid out."""

from __future__ import annotations

from casewise.deciding.decider_file import DeciderFile
from casewise.deciding.monitor import Monitoring
from casewise.reporting.document import Document, Notice, Prose, Section, p_value, percent, table_of

__all__ = ["monitoring_page"]


def monitoring_page(found: Monitoring, file: DeciderFile, *, half_width: float) -> Document:
    """What a log says, as a document."""
    moved = [one.what for one in found.tests if one.moved]
    said = (
        f"Traffic differs from the benchmark in {', '.join(moved)}: what was measured, and what was promised, was on other requests."
        if moved
        else "No difference from the benchmark is seen."
        if found.tests
        else "There is too little traffic to hold against the benchmark."
    )
    rows = [
        [one.what, name, percent(one.traffic.get(name)), percent(share), p_value(one.p), p_value(one.adjusted)]
        for one in found.tests
        for name, share in one.benchmark.items()
    ]
    table = table_of(
        "drift",
        "Traffic beside the benchmark; p by Holm over all tests.",
        ("", "", "traffic", "benchmark", "p", "p, all tests"),
        rows,
    )
    told = [
        [why, n]
        for why, n in (*found.unmeasured.items(), *((f"no value: {why}", n) for why, n in found.failed.items()))
    ]
    others = f" {found.other_deciders:,} lines are of other deciders and left out." if found.other_deciders else ""
    return Document(
        "A decider's traffic",
        f"{found.n:,} decisions of the decider of {file.judge.name}, fitted on {file.benchmark.name}.{others}",
        (),
        (
            Section("moved", "Has it moved?", (Notice(said), *([table] if rows else [])), brief=True),
            Section(
                "kinds",
                "Requests of a kind that was not measured",
                (table_of("kinds", "How many of each.", ("what", "requests"), told),),
                brief=True,
            ),
            Section("next", "What people should rate next", (Prose(next_words(found, half_width)),), brief=True),
        ),
    )


def next_words(found: Monitoring, half_width: float) -> str:
    return (
        f"To know what share of this traffic is decided wrongly to within {percent(half_width)}, have people rate {found.needed:,} requests drawn at "
        "random. --material FOLDER writes them as a benchmark; casewise study makes a study of it."
    )
