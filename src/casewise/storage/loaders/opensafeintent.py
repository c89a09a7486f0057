"""OpenSafeIntent: tasks, each asked with a benign, a dual-use and a malicious intent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.storage.entries import Entry, json_entries
from casewise.storage.loaders.loader import Loader, built, github

REPOSITORY, COMMIT, FILE = "Uppaal/OpenSafeIntent", "9706897bc9ffdb328446141b2a4568c98c70843e", "dataset.json"

PROMPTS = {"prompt_benign": "safe", "prompt_dual_use": "unsure", "prompt_malicious": "unsafe"}

PARAPHRASES = ("prompt_dual_use_2", "prompt_dual_use_3", "prompt_dual_use_4", "prompt_dual_use_5")


def rows(path: Path) -> Iterator[tuple[Entry, dict[str, Any]]]:
    for task, entry in enumerate(json_entries(path), 1):
        shared = {
            "category": entry.text("harm_domain"),
            "cluster": str(task),
            "task_type": entry.text("task_type"),
            "task": entry.text("underlying_task"),
        }
        for key, vote in (PROMPTS | {key: "unsure" for key in PARAPHRASES if entry.has(key)}).items():
            intent = key.removeprefix("prompt_")
            yield entry, shared | {"id": f"{task}-{intent}", "query": entry.text(key), "vote": vote, "intent": intent}


OPENSAFEINTENT: Loader = Loader(
    name="opensafeintent",
    title="OpenSafeIntent (2026)",
    size="700 tasks, each with a benign, a malicious and up to five dual-use requests",
    judged="request",
    labels_by="author",
    licence="Apache-2.0",
    terms="Its malicious requests are harmful by design. Use them to evaluate or improve safety.",
    source=f"{REPOSITORY} @{COMMIT[:7]}",
    files=github(REPOSITORY, COMMIT, {FILE: "ad9ed2e8f190638b03afd81b69a1350f866706db08bb837b84332c54d29fe7ff"}),
    load=lambda files: built(OPENSAFEINTENT, files[FILE], rows(files[FILE])),
    remark=(
        "Labels follow from how the requests were written: benign ones are safe, malicious ones unsafe. A dual-use request has "
        "no label of either kind; its label is unsure, and label policies say what that counts as."
    ),
)
