"""CASE-Bench, read again: the answers of seven models that its authors published, against the votes of its people alone.

    casewise data fetch casebench --outputs
    python examples/casebench_read_again/read_again.py

The first command asks you to accept the terms of CASE-Bench and fetches it. The second computes every number of
docs/explanation/casebench-read-again.md and writes numbers.json, the page and its picture. With --numbers it writes the page from a
file of numbers, as the tests do. No text of CASE-Bench is in any of these files.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import polars as pl

import casewise
from casewise import api
from casewise.reports.charts import dots_with_intervals

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
NAMES = {
    "claude-3-5-sonnet-20240620": "Claude 3.5 Sonnet",
    "dolphin": "Dolphin",
    "gpt-4o": "GPT-4o",
    "gpt-4o-mini-2024-07-18": "GPT-4o mini",
    "llama370B": "Llama 3 70B",
    "mixtral8x7B": "Mixtral 8x7B",
    "qwen272B": "Qwen2 72B",
}
WAYS = {"binary": "verdict", "score": "score", "probability": "probability"}
FILES = ("output_binary.json", "output_score.json", "output_logits.json")
MEASURES = ("accuracy", "harm", "over_refusal")
FINDINGS = (
    "labels.intent-in-rates",
    "labels.ties",
    "labels.unstable",
    "people.disagree",
    "intent.predicts-labels",
    "baseline.vocabulary",
    "baseline.key",
    "contexts.missing-tells",
    "contexts.unmoved",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="CASE-Bench, read again.")
    parser.add_argument("--numbers", type=Path, help="write the page from this file, and compute nothing")
    parser.add_argument(
        "--outputs", default="casebench", help="the folder of published answers, if not the fetched one"
    )
    parser.add_argument("--benchmark", default="casebench")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of the documentation")
    options = parser.parse_args()
    if options.numbers is None:
        numbers = computed(options.benchmark, options.outputs)
        (HERE / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    else:
        numbers = json.loads(options.numbers.read_text(encoding="utf-8"))
    page = options.docs / "explanation" / "casebench-read-again.md"
    page.write_text(page_of(numbers), encoding="utf-8")
    (options.docs / "images" / "casebench-read-again.svg").write_text(picture(numbers), encoding="utf-8")


def computed(benchmark: str, outputs: str) -> dict[str, Any]:
    """The numbers of the page: the leaderboard over whole contexts, the paper's own rule for accuracy, and the audit's findings."""
    from casewise.evaluate.judged_runs import output_files

    files = [file for file in output_files(outputs) if file.name in FILES]
    board = api.leaderboard(benchmark=benchmark, outputs=files).as_json()
    by_paper = {
        (row["judge"], row["elicitation"]): row["published"]["accuracy"]["estimate"]
        for row in api.paper(benchmark=benchmark, outputs=files).as_json()["numbers"]["rows"]
    }
    found = {finding.code: str(finding.title) for finding in api.audit(benchmark).numbers.findings}
    rows = []
    for row in board["rows"]:
        model, _, way = row["name"].removesuffix(")").partition(" (")
        rows.append(
            shortened(row) | {"model": model, "way": way, "paper": by_paper.get((model, way)), "rank": row["rank"]}
        )
    return {
        "computed": f"casewise {casewise.__version__}",
        "judges": rows,
        "baselines": [shortened(row) | {"name": row["name"]} for row in board["baselines"]],
        "one_person": board["people"]["one_person"],
        "others": board["people"]["others"],
        "second_study": board["people"]["second_study"],
        "findings": {code: found[code] for code in FINDINGS if code in found},
    }


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    kept = ("estimate", "ci_low", "ci_high")
    numbers = {measure: {name: row["numbers"][measure][name] for name in kept} for measure in MEASURES}
    return numbers | {"unscored": row["n_unscored"]}


def interval(number: dict[str, float]) -> str:
    return f"{100 * number['estimate']:.1f} [{100 * number['ci_low']:.1f}, {100 * number['ci_high']:.1f}]"


def called(row: dict[str, Any]) -> str:
    return row["name"] if "name" in row else f"{NAMES.get(row['model'], row['model'])}, {WAYS[row['way']]}"


def picture(numbers: dict[str, Any]) -> str:
    """Agreement with people's votes, a row each, with the baselines that need no judge below."""
    rows = [*numbers["judges"], *(row for row in numbers["baselines"] if not row["name"].startswith("Always safe"))]
    frame = pl.DataFrame(
        {
            "name": [called(row) for row in rows],
            **{
                column: [row["accuracy"][name] for row in rows]
                for column, name in (("estimate", "estimate"), ("low", "ci_low"), ("high", "ci_high"))
            },
        }
    )
    drawn = dots_with_intervals(frame, title="Share of 900 items judged as most people do", ends=(0.5, 1))
    head, end, rest = drawn.partition(">")
    return f'{head}{end}<rect width="100%" height="100%" fill="white"/>{rest}\n'


def page_of(numbers: dict[str, Any]) -> str:
    """The page, whose sentences follow from the numbers; one that would not hold raises AssertionError."""
    judges, baselines = numbers["judges"], {row["name"]: row for row in numbers["baselines"]}
    words, intent = baselines["Words alone"], baselines["The author's intent"]
    best = judges[0]
    may_be_first = [row for row in judges if row["rank"][0] == 1]
    above = [row for row in judges if row["accuracy"]["ci_low"] > words["accuracy"]["estimate"]]
    refusing = sorted(judges, key=lambda row: row["over_refusal"]["estimate"])
    apart = refusing[0]["over_refusal"]["ci_high"] < refusing[-1]["over_refusal"]["ci_low"]
    if len(may_be_first) == 1 or above or best["paper"] is None or not apart:
        raise AssertionError("the numbers no longer carry the page's sentences: rewrite them")
    lines = "\n".join(
        f"| {called(row)} | {interval(row['accuracy'])} | {'–' if row['paper'] is None else format(100 * row['paper'], '.1f')} "
        f"| {interval(row['harm'])} | {interval(row['over_refusal'])} | {row['unscored']} | {row['rank'][0]} to {row['rank'][1]} |"
        for row in judges
    )
    without = "\n".join(
        f"| *{called(row)}* | {interval(row['accuracy'])} | – | {interval(row['harm'])} | {interval(row['over_refusal'])} | 0 | – |"
        for row in numbers["baselines"]
    )
    findings = "\n".join(f"- {title}" for title in numbers["findings"].values())
    return f"""# CASE-Bench, read again

<!-- Written by examples/casebench_read_again/read_again.py: change it there. -->

The authors of CASE-Bench published the answers of seven models to their 900 items. This page compares them with the votes of the 20 people of
each item.

![Agreement of 18 judges and of baselines with people](../images/casebench-read-again.svg)

- **No judge is shown to be the best.** {len(may_be_first)} of {len(judges)} may be first. The highest estimate is that of
  {called(best)}: {interval(best["accuracy"])} %.
- **No judge is shown to be above a classifier of the context's words**, which reaches {interval(words["accuracy"])} % with whole
  queries held out. Copying the author's intent reaches {interval(intent["accuracy"])} %. You can deploy neither:
  both know this study.
- **Judges differ in over-refusal.** Where at least 70 % of people would answer, it runs from
  {interval(refusing[0]["over_refusal"])} % ({called(refusing[0])}) to {interval(refusing[-1]["over_refusal"])} %
  ({called(refusing[-1])}).
- **The paper's figure is another number.** Its rule counts the author's intent as one more vote. {called(best)} has {100 * best["paper"]:.1f} % by that rule and {100 * best["accuracy"]["estimate"]:.1f} % by
  people's votes.
- **People set the limit.** One person agrees with the majority of {numbers["others"]} others on {interval(numbers["one_person"])} % of
  items. A second study of this size would repeat about {100 * numbers["second_study"]:.1f} % of the labels.

## Every judge

All numbers are percentages with 95 % intervals over queries. Harm is the share of items answered where at least 70 % of people would
refuse, over-refusal the share refused where at least 70 % would answer. A rank is an interval that holds for all judges together.

| judge, asked for | agrees with people | by the paper's rule | harm | over-refusal | unscored | rank |
|---|---|---|---|---|---|---|
{lines}
{without}

## What the audit finds

{findings}

[What a benchmark hides](benchmark-limits.md) explains them.

## Check it

<!-- not run: needs the benchmark and a network -->
```console
$ casewise data fetch casebench --outputs
$ python examples/casebench_read_again/read_again.py
```

The first command fetches the benchmark and 43 files of answers, each checked against its checksum. The second writes this page. The numbers here were computed with {numbers["computed"]}.
"""


if __name__ == "__main__":
    main()
