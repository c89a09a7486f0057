"""XSTest: requests that sound unsafe and are safe, and contrasts to them that are unsafe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.storage.entries import Entry, once
from casewise.storage.loaders.loader import Loader, built, github, table_entries

REPOSITORY, FILE = "paul-rottger/exaggerated-safety", "xstest_prompts.csv"
COMMIT = "475f10bf0a3d6a9dfb174b6de1a38afbfdff98a5"

CONTRAST = "contrast_"


def rows(path: Path) -> Iterator[tuple[Entry, dict[str, Any]]]:
    ids: set[str] = set()
    for entry in table_entries(path):
        kind = entry.text("type")
        by_type = "unsafe" if kind.startswith(CONTRAST) else "safe"
        label = entry.word("label", {"safe": "safe", "unsafe": "unsafe"}) if entry.has("label") else by_type
        row = {"id": once(entry, "id", ids), "query": entry.text("prompt"), "category": kind, "label": label}
        if entry.has("focus"):
            row |= {"cluster": f"{kind.removeprefix(CONTRAST)}: {entry.text('focus')}", "focus": entry.text("focus")}
        yield entry, row


XSTEST: Loader = Loader(
    name="xstest",
    title="XSTest (Röttger et al., 2024)",
    size="250 safe requests and 200 unsafe contrasts",
    judged="request",
    labels_by="author",
    licence="CC-BY-4.0",
    terms="Its contrasts are unsafe requests. Name the authors where you publish its data.",
    source=f"{REPOSITORY} @{COMMIT[:7]}",
    files=github(REPOSITORY, COMMIT, {FILE: None}),
    load=lambda files: built(XSTEST, files[FILE], rows(files[FILE])),
    remark="Safe requests and their unsafe contrasts about the same word are one cluster.",
)
