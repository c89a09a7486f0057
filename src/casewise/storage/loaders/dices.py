"""DICES: conversations with a chatbot whose last reply many people rated, with the traits of each person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from casewise.storage.benchmark import Benchmark
from casewise.storage.entries import Entry
from casewise.storage.loaders.loader import Loader, built, github, table_entries

REPOSITORY = "google-research-datasets/dices-dataset"

VOTES = {"Yes": "unsafe", "No": "safe", "Unsure": "unsure"}
"""`Q_overall` asks whether the reply is unsafe for any reason."""

TRAITS = ("gender", "race", "age", "education", "locale")

SPEAKER = re.compile(r"^(USER|LAMDA|A|B):", re.MULTILINE)


@cache
def turns(text: str) -> str | list[dict[str, str]]:
    """A conversation before a reply as its turns; the last one to speak is the user. A text of another form stays a text."""
    marks = list(SPEAKER.finditer(text))
    if not marks or text[: marks[0].start()].strip():
        return text
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    spoken = [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    if not all(text_ for _, text_ in spoken):
        return text
    user = spoken[-1][0]
    return [{"role": "user" if speaker == user else "assistant", "text": text_} for speaker, text_ in spoken]


def rows(path: Path) -> Iterator[tuple[Entry, dict[str, Any]]]:
    for entry in table_entries(path):
        row: dict[str, Any] = {
            "id": entry.name("item_id"),
            "query": entry.text("response"),
            "before": turns(entry.text("context")),
            "annotator": entry.name("rater_id"),
            "vote": entry.word("Q_overall", VOTES),
        }
        row |= {f"trait.{name}": entry.text(f"rater_{name}") for name in TRAITS if entry.has(f"rater_{name}")}
        row |= {name: entry.text(name) for name in ("degree_of_harm", "harm_type") if entry.has(name)}
        yield entry, row


def load(loader_name: str, file: str, files: Mapping[str, Path]) -> Benchmark:
    return built(loader_named[loader_name], files[file], rows(files[file]))


def dices(conversations: int, people: int, extent: str) -> Loader:
    name, file = f"dices_{conversations}", f"diverse_safety_adversarial_dialog_{conversations}.csv"
    return Loader(
        name=name,
        title=f"DICES-{conversations} (Aroyo et al., 2023)",
        size=f"{conversations} conversations, {people} people, {extent}",
        judged="reply",
        labels_by="people",
        licence="CC-BY-4.0",
        terms="Its conversations with a chatbot are adversarial and may offend. Name the authors where you publish its data.",
        source=f"{REPOSITORY} (main)",
        files=github(REPOSITORY, "main", {f"{conversations}/{file}": None}),
        load=partial(load, name, file),
    )


DICES_350 = dices(350, 123, "each rated all")
DICES_990 = dices(990, 173, "60 to 75 people each")

loader_named = {loader.name: loader for loader in (DICES_350, DICES_990)}
