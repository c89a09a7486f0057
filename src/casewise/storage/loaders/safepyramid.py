"""SafePyramid: conversations with policies of numbered rules, and the set of rules that each conversation violates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.storage.entries import Entry, json_entry, once
from casewise.storage.loaders.loader import Loader, SourceFile, built

FILE = "benchmark.json"

MOST_RULES = 10_000

LEVEL = re.compile(r"-l\d+$", re.IGNORECASE)


def rules_of(entry: Entry) -> dict[int, dict[str, Any]]:
    """Return the rules of a case by number: their text, their kind, the rules that they go together with."""
    rubric, rules = entry.entry("rubric"), dict[int, dict[str, Any]]()
    for part in ("violations", "non_violations"):
        for rule in rubric.entries(part):
            number = rule.whole_in(rule.value("rule"), "rule", 1, MOST_RULES)
            if number in rules:
                rule.refuse(f"rule {number} stands twice in the rubric")
            paired = rule.list("paired_with") if rule.has("paired_with") else []
            paired = [rule.whole_in(partner, "paired_with", 1, MOST_RULES) for partner in paired]
            rules[number] = {"text": rule.text("text"), "type": rule.text("type"), "paired": paired}
    if not rules:
        rubric.refuse("has no rules")
    return rules


def rows(path: Path) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """A row a case and rule."""
    ids: set[str] = set()
    for entry in json_entry(path).entries("data"):
        case, rules = once(entry, "id", ids), rules_of(entry)
        violated = {
            entry.whole_in(partner, "ground_truth_violations", 1, MOST_RULES)
            for partner in entry.list("ground_truth_violations")
        }
        if strange := violated - set(rules):
            entry.refuse(f"'ground_truth_violations' names rule {min(strange)}, which the rubric does not have")
        for number, rule in sorted(rules.items()):
            policy = {"rule": f"{number}. {rule['text']}"}
            if partners := [f"{partner}. {rules[partner]['text']}" for partner in rule["paired"] if partner in rules]:
                policy["other_rules"] = "\n".join(partners)
            if entry.has("framework"):
                policy["framework"] = entry.text("framework")
            yield (
                entry,
                {
                    "id": f"{case}#{number}",
                    "query": entry.text("conversation"),
                    "context": {"policy": policy},
                    "category": entry.text("level"),
                    "cluster": LEVEL.sub("", case),
                    "label": "unsafe" if number in violated else "safe",
                    "case": case,
                    "rule": number,
                    "rule_type": rule["type"],
                    "domain": entry.text("domain"),
                },
            )


SAFEPYRAMID: Loader = Loader(
    name="safepyramid",
    title="SafePyramid (Zhang et al., 2026)",
    size="1,000 conversations, 3,000 policies, 61,699 rules",
    judged="reply",
    labels_by="policy",
    licence="data CC-BY-4.0, code Apache-2.0",
    terms="Its conversations hold unsafe replies. Name the authors where you publish its data.",
    source="Hugging Face: ByteDance/SafePyramid (main)",
    files=(SourceFile(FILE, f"https://huggingface.co/datasets/ByteDance/SafePyramid/resolve/main/{FILE}"),),
    load=lambda files: built(SAFEPYRAMID, files[FILE], rows(files[FILE])),
    remark=(
        "An item is one rule of a case: unsafe where the conversation violates it. Rules that it names stand beside it. "
        "Rule match and rule disagreement over whole cases: casewise paper."
    ),
)
