"""Cases of a hospital, of which a judge is wrong wherever a daughter of the patient asks, and hardly elsewhere."""

from __future__ import annotations

import random

import polars as pl

import casewise
from casewise.storage.benchmark import Benchmark

DAUGHTER = "a daughter of the patient"
SAFE = ("a nurse", "a doctor", DAUGHTER)
UNSAFE = ("a student", "a neighbour")


def ward_cases(*, daughter: tuple[str, ...] = (DAUGHTER,)) -> Benchmark:
    """Sixty queries with three recipients each. `daughter`: how the daughter is spelt, in turn."""
    draw = random.Random(3)
    rows = [
        {
            "id": f"c{query}-{recipient}",
            "query": f"How much of drug {query} is safe?",
            "recipient.type": daughter[query % len(daughter)] if recipient == DAUGHTER else recipient,
            "label": "safe" if recipient in SAFE else "unsafe",
        }
        for query in range(60)
        for recipient in draw.sample([*SAFE, *UNSAFE], 3)
    ]
    return casewise.load_frame(pl.DataFrame(rows))


def wrong_about_daughters(query: str, context: dict[str, dict[str, str]]) -> float:
    """P(safe): low for the daughters, whom people answer."""
    known = str(context["recipient"]["type"])
    return round((0.8 if known in SAFE and known != DAUGHTER else 0.2) + 0.001 * (len(query) % 7), 4)


wrong_about_daughters.elicitation = "probability"  # type: ignore[attr-defined]  # a function states it so
