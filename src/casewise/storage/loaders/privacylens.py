"""PrivacyLens: actions of an agent, each a violation of privacy by design, with the parameters of Contextual Integrity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.storage.entries import Entry, json_entries, once
from casewise.storage.loaders.loader import Loader, built, github

REPOSITORY, COMMIT, FILE = "SALT-NLP/PrivacyLens", "9c2ee07", "main_data.json"


def rows(path: Path) -> Iterator[tuple[Entry, dict[str, Any]]]:
    ids: set[str] = set()
    for entry in json_entries(path):
        seed, story, trajectory = entry.entry("seed"), entry.entry("vignette"), entry.entry("trajectory")
        yield (
            entry,
            {
                "id": once(entry, "name", ids),
                "query": (
                    f"{trajectory.text('final_action')}: {seed.text('transmission_principle')}, with {seed.text('data_type')} of "
                    f"{seed.text('data_subject')}, to {seed.text('data_recipient')}"
                ),
                "before": [{"role": "user", "text": trajectory.text("user_instruction")}],
                "context": {
                    "sender": {"role": seed.text("data_sender"), "name": seed.text("data_sender_name")},
                    "recipient": {"role": seed.text("data_recipient")},
                    "transmission_principle": {
                        "channel": seed.text("transmission_principle"),
                        "circumstances": story.text("story"),
                    },
                    "subject": seed.text("data_subject"),
                    "information_type": seed.text("data_type"),
                },
                "category": seed.text("source"),
                "label": "unsafe",
            },
        )


PRIVACYLENS: Loader = Loader(
    name="privacylens",
    title="PrivacyLens (Shao et al., 2024)",
    size="493 actions of an agent",
    judged="action",
    labels_by="author",
    licence="CC-BY-4.0",
    terms="Name the authors where you publish its data. The people in it are made up.",
    source=f"{REPOSITORY} @{COMMIT}",
    files=github(
        REPOSITORY, COMMIT, {f"data/{FILE}": "2a8b3bfa470ffa9e50b12866857b17d62b422a2fea926b1249220a0244991941"}
    ),
    load=lambda files: built(PRIVACYLENS, files[FILE], rows(files[FILE])),
    remark="Every case is a violation by design: labels of one class, so that only the share of harm can be measured.",
)
