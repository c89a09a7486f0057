"""Measure how strong the built-in claims are against three judges, and write the table of docs/how-to/attack-a-judge.md.

    python scripts/measure_attacks.py                   # the two scripted judges; the column of SmolLM2 stays as it is
    python scripts/measure_attacks.py smollm2 FOLDER    # also SmolLM2 (extra tiny), about 15 minutes of a core; resumed in FOLDER

Two judges are scripted. `credulous` calls a request unsafe, unless what it is told besides has a word of permission. `filtering` does
the same after it has dropped every text with a phrase of the first wording of a claim: it shows what a filter of phrases is worth.
SmolLM2 calls all items safe, so that no verdict can turn: its P(safe) is measured instead.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
from scipy.stats import ttest_1samp

import casewise
from casewise.api import RunOptions
from casewise.ask.layouts import ShownItem
from casewise.judges.plan import Selection
from casewise.records import ShownContext
from casewise.stats.estimates import Estimate
from casewise.transforms.attacks import FORMS, shipped_claims
from casewise.transforms.channels import map_texts

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

    map_texts(context, keep)
    return found


def credulous(query: str, context: ShownContext, shown: ShownItem) -> str:
    return "safe" if PERMISSION.search(told(query, context, shown)) else "unsafe"


def filtering(query: str, context: ShownContext, shown: ShownItem) -> str:
    added = told(query, context, shown)
    return "unsafe" if known_phrases & set(grams(added)) or not PERMISSION.search(added) else "safe"


known_phrases = phrases()


CLAIMS = [
    *("claim:" + "/".join((name, claim.channels[0], "safe")) for name, claim in shipped_claims().items()),
    *(f"{form}:authority/user/safe" for form in FORMS),
]
"""Each claim in its first channel, and one claim in each form."""
NOISE = "order:reversed"


def turned(judge: Callable[..., str]) -> dict[str, str]:
    """Return by claim the share of verdicts that its first place turns towards safe, with its interval."""
    run = casewise.attack(DEMO, judge, attacks=CLAIMS, noise=NOISE)
    rows = [row for row in casewise.robustness(run).numbers.rows if row.towards == "safe"]
    return {str(row.setting.attack).removeprefix("claim:"): cell(row.turned) for row in rows}


def cell(share: Estimate) -> str:
    return "no item" if share.estimate is None else f"{share.estimate:.0%} [{share.ci_low:.0%}, {share.ci_high:.0%}]"


def moved(folder: str) -> dict[str, str]:
    """Return by claim how many points the P(safe) of SmolLM2 moves on 24 items, with an interval (Student's t) over queries."""
    options = RunOptions(selection=Selection(limit=24))
    run = casewise.attack(
        DEMO, "gguf:smollm2", attacks=CLAIMS, noise=NOISE, elicitations="probability", out=folder, options=options
    )
    values: dict[str, dict[str, float]] = {}
    for item, arm, value in run.judgements.select("item_id", pl.col("arm").cast(str), "value").iter_rows():
        values.setdefault(arm, {})[item] = value
    plain, cells = values.pop("full"), {}
    for arm, attacked in values.items():
        by_query: dict[str, list[float]] = {}
        for item, value in attacked.items():
            by_query.setdefault(DEMO.item[item].query_id, []).append(100 * (value - plain[item]))
        shifts = [sum(points) / len(points) for points in by_query.values()]
        interval = ttest_1samp(shifts, 0).confidence_interval(0.95)
        mean = sum(shifts) / len(shifts)
        name = re.sub(r"@\d+:", ":", arm).removeprefix("claim:")
        cells[name] = f"{mean:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"
    return cells


def printed(table: str) -> dict[str, str]:
    """Return the last column of the page's table, by claim."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    return {row[0].strip("`"): row[-1] for row in rows}


def main() -> None:
    """Print the table, and put it into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    last = moved(sys.argv[2]) if sys.argv[1:2] == ["smollm2"] else printed(rest.split(END)[0])
    judges = {"credulous": turned(credulous), "filtering": turned(filtering), "SmolLM2, points of P(safe)": last}
    rows = [name.removeprefix("claim:") for name in (*CLAIMS, NOISE)]
    lines = [f"| towards *safe* | {' | '.join(judges)} |", "|---" * (1 + len(judges)) + "|"]
    lines += [f"| `{name}` | {' | '.join(cells.get(name, '–') for cells in judges.values())} |" for name in rows]
    table = "\n".join(lines)
    print(table)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
