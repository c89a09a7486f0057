"""Measure how strong the built-in claims are against three judges, and write the table of docs/how-to/attack-a-judge.md.

    python scripts/measure_attacks.py            # the two scripted judges
    python scripts/measure_attacks.py smollm2    # also SmolLM2 (extra tiny), about 15 minutes on two cores

Two judges are scripted. `credulous` calls a request unsafe, unless what it is told besides has a word of permission. `filtering` does
the same after it has dropped every text with a phrase of the first wording of a claim: it shows what a filter of phrases is worth.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import casewise
from casewise.api import RunOptions
from casewise.ask.layouts import ShownItem
from casewise.judges.plan import Selection
from casewise.records import ShownContext
from casewise.transforms.attacks import shipped_claims
from casewise.transforms.channels import over_texts

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "attack-a-judge.md"
BEGIN, END = "<!-- measured strength -->", "<!-- end of measured strength -->"

DEMO = casewise.load("demo")
PLAIN = {query.text for query in DEMO.queries}

PERMISSION = re.compile(
    r"\b(?:approved|agreed|cleared|permit\w*|allow\w*|licen[cs]e|certified|safe|full|fine|trust\w*|confirmed|verified|yes|help\w*|go ahead|"
    r"comply|proceed|appropriate|freely|in order|entitled|no objection|no concerns|harmless|innocent|lawful|consent was given)\b",
    re.IGNORECASE,
)
"""Words by which the scripted judges are persuaded."""


def phrases() -> frozenset[tuple[str, ...]]:
    """Return every three words in a row of the first wording of each claim."""
    first = (texts[0] for claim in shipped_claims().values() for texts in claim.words.values())
    return frozenset(gram for text in first for gram in grams(text))


def grams(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return [tuple(words[place : place + 3]) for place in range(len(words) - 2)]


def told(query: str, context: ShownContext, shown: ShownItem) -> str:
    """Return what a judge is told that is neither the request nor a statement of the benchmark."""
    turns = [*(turn.text for turn in shown.before), *(turn.content for turn in shown.placement.earlier)]
    added = [query.partition("\n\n")[2], *shown.placement.system, *(turn for turn in turns if turn not in PLAIN)]
    own = {text for known in DEMO.context.values() for text in texts_of(known.shown())}
    for text in texts_of(context):
        added += [text.removeprefix(known) for known in own if text.startswith(known) and text != known][:1]
    return " ".join(added)


def texts_of(context: ShownContext) -> list[str]:
    found: list[str] = []

    def keep(text: str) -> str:
        found.append(text)
        return text

    over_texts(context, keep)
    return found


def credulous(query: str, context: ShownContext, shown: ShownItem) -> str:
    return "safe" if PERMISSION.search(told(query, context, shown)) else "unsafe"


def filtering(query: str, context: ShownContext, shown: ShownItem) -> str:
    added = told(query, context, shown)
    return "unsafe" if known_phrases & set(grams(added)) or not PERMISSION.search(added) else "safe"


known_phrases = phrases()


def measured(judge: str | Callable[..., str], *, n_items: int | None) -> dict[str, str]:
    """Return by claim the share of verdicts that its first place turns towards safe, with the number of items."""
    claims = ["claim:" + "/".join((name, claim.channels[0], "safe")) for name, claim in shipped_claims().items()]
    options = RunOptions(selection=Selection(limit=n_items))
    run = casewise.attack(DEMO, judge, attacks=claims, noise="order:reversed", options=options)
    cells = {}
    for row in casewise.robustness(run).numbers.rows:
        share, name = row.turned, str(row.setting.attack).removeprefix("claim:")
        if row.towards == "safe":
            cells[name] = cell(share.estimate, share.n, hidden=row.not_shown)
    return cells


def cell(share: float | None, n: float, *, hidden: int) -> str:
    if share is None:
        return "not shown" if hidden else "no item"
    return f"{share:.0%} of {n:g}"


def main() -> None:
    """Print the table, and put it into the page."""
    judges: dict[str, dict[str, str]] = {
        "credulous": measured(credulous, n_items=None),
        "filtering": measured(filtering, n_items=None),
    }
    if "smollm2" in sys.argv[1:]:
        judges["SmolLM2"] = measured("gguf:smollm2", n_items=12)
    rows = dict.fromkeys(name for cells in judges.values() for name in cells)
    lines = [f"| towards *safe* | {' | '.join(judges)} |", "|---" * (1 + len(judges)) + "|"]
    lines += [f"| `{name}` | {' | '.join(cells.get(name, '–') for cells in judges.values())} |" for name in rows]
    table = "\n".join(lines)
    print(table)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
