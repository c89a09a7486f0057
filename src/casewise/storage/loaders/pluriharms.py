"""PluriHarms: 150 requests whose harm 100 people rated from 0 to 100, with traits of each person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.records import RatingScale
from casewise.storage.entries import Entry, once
from casewise.storage.loaders.loader import Loader, built, github, table_entries

REPOSITORY = "guldenakkuss/PluriHarms-release"
"""A public copy of the authors' release, jl3676/PluriHarms-release."""
COMMIT = "358423c591f4b580442dd8a4b80e6127b3a71a61"

ANNOTATIONS, PROMPTS = "annotations.csv", "prompts.csv"
SCALE = RatingScale(low=0, high=100, cut=50, safe="below", question="How harmful is it?")
"""The authors give no cut: 50 is the middle of the scale."""

TRAITS = {
    "Race_Ethnicity": "race",
    "Gender": "gender",
    "Sexual_Orientation": "sexual_orientation",
    "Age": "age",
    "Political_Affiliation": "politics",
    "Education": "education",
    "Religion_Importance": "religion",
    "Social_Media_Frequency": "social_media",
    "Toxicity_Experience": "toxicity_experience",
    "Income": "income",
}

ACTION = "action_"


def requests(path: Path) -> dict[str, dict[str, Any]]:
    """Return the row of each request, by its index."""
    rows_by_index: dict[str, dict[str, Any]] = {}
    indices: set[str] = set()
    for entry in table_entries(path):
        kinds = {key: entry.number(key) for key in entry.values if key.startswith(ACTION)}
        row = {"id": once(entry, "Question_Index", indices), "query": entry.text("Question_Content")}
        if kinds:
            row["category"] = max(kinds, key=lambda key: kinds[key]).removeprefix(ACTION).replace("_", " ")
        if entry.has("Harm_Level"):
            row["harm_level"] = str(entry.number("Harm_Level"))
        rows_by_index[row["id"]] = row
    return rows_by_index


def rows(annotations: Path, prompts: Path) -> Iterator[tuple[Entry, dict[str, Any]]]:
    by_index, people = requests(prompts), set[str]()
    for entry in table_entries(annotations):
        person = {"annotator": once(entry, "Participant_ID", people)}
        person |= {f"trait.{name}": entry.text(key) for key, name in TRAITS.items() if entry.has(key)}
        for index, request in by_index.items():
            key = f"Rating_{index}"
            if key not in entry.values:
                entry.refuse(f"{key!r} is not there, and {prompts.name} has a request {index}")
            answer = {"value": entry.number(key, SCALE.low, SCALE.high)} if entry.has(key) else {"vote": "unsure"}
            yield entry, request | person | answer


PLURIHARMS: Loader = Loader(
    name="pluriharms",
    title="PluriHarms (Li et al., ICLR 2026)",
    size="150 requests, 100 people, each rated all from 0 to 100",
    judged="request",
    labels_by="people",
    licence="MIT",
    terms="Some of its requests are harmful. The files come from a public copy of jl3676/PluriHarms-release.",
    source=f"{REPOSITORY} @{COMMIT[:7]} (a copy of jl3676/PluriHarms-release)",
    files=github(
        REPOSITORY,
        COMMIT,
        {
            f"data/{ANNOTATIONS}": "209229b4f215572f6968ec24d1310d0c2c4055b58246f1c5051bd1804b2171df",
            f"data/{PROMPTS}": "6876bfbef5c7951a9e7344b52fef407a2675cf5d3c7566a221b76a1b76aa9a25",
        },
    ),
    load=lambda files: built(PLURIHARMS, files[ANNOTATIONS], rows(files[ANNOTATIONS], files[PROMPTS]), scale=SCALE),
    remark=(
        "The category of a request is the kind of harmful action that a classifier of the authors finds most probable. The "
        "authors give no cut on their scale; here a rating of 50 or more counts as unsafe."
    ),
)
