"""A gate for whoever reads logs: JUnit XML, and the lines that GitHub makes annotations of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from xml.etree import ElementTree as ET

from casewise.evaluation.gate import GateReport
from casewise.reporting.document import interval, number
from casewise.stats.agreeing.gate import Decision

__all__ = ["github_lines", "junit"]

Level = Literal["notice", "warning", "error"]

LEVELS: dict[Decision, Level] = {"pass": "notice", "inconclusive": "warning", "fail": "error"}

NO_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""What XML 1.0 cannot hold."""


class Said(NamedTuple):
    """One thing that the gate looked at."""

    name: str
    decision: Decision
    text: str


def looked_at(gate: GateReport) -> Iterator[Said]:
    """Whether the run has finished, then each metric."""
    if gate.missing:
        yield Said("finished", "inconclusive", gate.sentence())
    for one in gate.found.metrics:
        text = (
            f"{one.name} is {number(one.run)}, and {number(one.baseline)} in the baseline: a drop of {number(one.drop)} "
            f"{interval(one.low, one.high)} where {number(one.margin)} is allowed"
        )
        yield Said(one.name, one.decision, text)


def junit(gate: GateReport) -> str:
    """JUnit XML: a drop that is too large is a failure, one that these items cannot tell an error."""
    every = list(looked_at(gate))
    counts = {kind: str(sum(one.decision == which for one in every)) for kind, which in KINDS.items()}
    name = f"{gate.run} against {gate.baseline} on {gate.benchmark}"
    suite = ET.Element("testsuite", {"name": xml_text(name), "tests": str(len(every)), **counts})
    for one in every:
        case = ET.SubElement(suite, "testcase", classname="casewise.gate", name=one.name)
        for kind, which in KINDS.items():
            if one.decision == which:
                ET.SubElement(case, kind.removesuffix("s"), message=xml_text(one.text))
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


KINDS: dict[str, Decision] = {"failures": "fail", "errors": "inconclusive"}


def xml_text(text: str) -> str:
    return NO_XML.sub("\ufffd", text)


def github_lines(gate: GateReport) -> Iterator[str]:
    """The lines, escaped as GitHub's workflow commands want it."""
    for one in looked_at(gate):
        title = f"casewise gate, {one.name}: {one.decision}"
        yield f"::{LEVELS[one.decision]} title={escaped(title, ':,')}::{escaped(one.text)}"


def escaped(text: str, also: str = "") -> str:
    for character in ("%", "\r", "\n", *also):
        text = text.replace(character, f"%{ord(character):02X}")
    return text
