"""Real judges on real people: SmolLM2 and the baselines that cost nothing, on two public sets with many annotators.

    make demo-llm
    casewise data fetch pluriharms
    casewise data fetch dices_350
    .venv/bin/python examples/real_judges/real_judges.py

The last command asks SmolLM2 about every item of each set's plan, on this machine, and computes every number of
docs/explanation/real-judges.md. It writes numbers.json and the page, and resumes where it was stopped. With --numbers it writes the
page from a file of numbers, as the tests do. No text of the sets is in any of these files.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import casewise
from casewise import api
from casewise.ask.elicitations import AskOptions
from casewise.judges.llm import LiveOptions

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
JUDGE = "gguf:smollm2"
SETS = {
    "pluriharms": (
        "PluriHarms",
        api.Selection(),
        "requests without a context; 100 people rated each from 0 to 100",
    ),
    "dices_350": (
        "DICES-350",
        api.Selection(sample=100, seed=1, limit=72),
        "replies of a chatbot in conversations; 123 people rated each. They are the first 72 of a sample of 100 with seed 1, in the order of the file: the rest was left out for want of time",
    ),
}
MEASURES = {"accuracy": "agrees with people", "harm": "harm", "over_refusal": "over-refusal"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Real judges on real people.")
    parser.add_argument("--numbers", type=Path, help="write the page from this file, and compute nothing")
    parser.add_argument("--runs", type=Path, default=Path("runs/real-judges"), help="the folder of the runs")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of the documentation")
    options = parser.parse_args()
    if options.numbers is None:
        numbers = computed(options.runs)
        (HERE / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    else:
        numbers = json.loads(options.numbers.read_text(encoding="utf-8"))
    page = options.docs / "explanation" / "real-judges.md"
    page.write_text(page_of(numbers), encoding="utf-8")


def computed(runs: Path) -> dict[str, Any]:
    """The numbers of the page: for each set the judge beside what costs nothing, and one person."""
    return {"computed": f"casewise {casewise.__version__}", "sets": {name: of_set(name, runs / name) for name in SETS}}


def of_set(name: str, out: Path) -> dict[str, Any]:
    """The numbers of one set."""
    selection = SETS[name][1]
    live = LiveOptions(ask=AskOptions(seed=selection.seed or None))
    options = api.RunOptions(seed=selection.seed, selection=selection, live=live)
    run = api.judge(name, JUDGE, out=out, elicitations="probability", options=options)
    board = api.leaderboard(run.path).as_json()
    return {
        "n_items": board["n_items"],
        "judges": [shortened(row) | {"name": "SmolLM2 135M"} for row in board["rows"]],
        "baselines": [shortened(row) | {"name": row["name"]} for row in board["baselines"]],
        "one_person": board["people"]["one_person"],
        "second_study": board["people"]["second_study"],
    }


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("estimate", "ci_low", "ci_high")
    numbers = {measure: {name: row["numbers"][measure][name] for name in kept} for measure in MEASURES}
    return numbers | {"unscored": row["n_unscored"]}


def interval(number: dict[str, float | None]) -> str:
    estimate, low, high = (number[name] for name in ("estimate", "ci_low", "ci_high"))
    if estimate is None:
        return "–"
    shown = f"{100 * estimate:.1f}"
    return shown if low is None or high is None else f"{shown} [{100 * low:.1f}, {100 * high:.1f}]"


def finding(numbers: dict[str, Any]) -> str:
    """What the intervals of one set support about the judge beside the better constant verdict and the words."""
    judge = numbers["judges"][0]["accuracy"]
    constants = [row for row in numbers["baselines"] if row["name"].startswith("Always")]
    rivals = [max(constants, key=lambda row: row["accuracy"]["estimate"])]
    rivals += [row for row in numbers["baselines"] if row["name"] == "Words alone"]
    parts = []
    for rival in rivals:
        other = rival["accuracy"]["estimate"]
        lies = "below" if judge["ci_low"] > other else "above" if judge["ci_high"] < other else "within"
        parts.append(f"“{rival['name']}” ({100 * other:.1f} %) lies {lies} that interval")
    return f"SmolLM2 agrees with people on {interval(judge)} % of items. {', and '.join(parts)}."


def table(numbers: dict[str, Any]) -> str:
    rows = [(row["name"], row) for row in numbers["judges"]]
    rows += [(f"*{row['name']}*", row) for row in numbers["baselines"]]
    body = "\n".join(
        f"| {name} | {' | '.join(interval(row[measure]) for measure in MEASURES)} | {row['unscored']} |"
        for name, row in rows
    )
    return f"""| judge | {" | ".join(MEASURES.values())} | unscored |
|---|---|---|---|---|
{body}
| *One person* | {interval(numbers["one_person"])} | – | – | – |"""


def page_of(numbers: dict[str, Any]) -> str:
    """The page."""
    sections = "\n\n".join(
        f"## {SETS[name][0]}\n\n{of_one['n_items']} items: {SETS[name][2]}.\n\n{finding(of_one)}\n\n{table(of_one)}"
        for name, of_one in numbers["sets"].items()
    )
    return f"""# Real judges on real people

<!-- Written by examples/real_judges/real_judges.py: change it there. -->

This page compares a small language model with real people. It is SmolLM2-135M-Instruct, quantised to four bits, which was not made for this task
and is asked for the probability of “safe” (Equation 1 of CASE-Bench). Its baselines are two constant verdicts, a classifier of the words that was
trained on the same labels with whole queries held out, and one person against the majority of the others.

All numbers are percentages with 95 % intervals over queries. Harm is the share of items called safe where at least 70 % of people say
unsafe, over-refusal the share called unsafe where at least 70 % say safe.

{sections}

The numbers of DICES-350 were computed from a copy that JUDGE-BENCH made of its ratings, in which people are told apart by their place
in each list.

## Check it

<!-- not run: needs the sets and a network -->
```console
$ make demo-llm
$ casewise data fetch pluriharms
$ casewise data fetch dices_350
$ .venv/bin/python examples/real_judges/real_judges.py
```

The judge answers 222 items. The numbers were computed with {numbers["computed"]}.
"""


if __name__ == "__main__":
    main()
