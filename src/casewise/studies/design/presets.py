"""A first `study.toml`, commented: for the paper's design or its unreleased part, for Prolific, for a lab, for invited experts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.resources import files
from typing import Any, Literal, get_args

from casewise.studies.design.design import Contact
from casewise.studies.design.replies import REPLY_QUESTION, RatedThing

__all__ = ["NOBODY", "PRESETS", "UNRELEASED", "Preset", "study_toml"]

Preset = Literal["paper", "paper-rest", "prolific", "lab", "experts"]

PRESETS: tuple[Preset, ...] = get_args(Preset)

UNRELEASED = ("no_context", "safe_generated", "unsafe_generated")
"""The conditions of the paper whose ratings were never released."""

CODE = """kind = "code"                               # a completion code to be typed in at the recruiter's
person = "participant"                      # URL parameter with the recruiter's id of the person
completion_code = "{completed}"
screened_out_code = "{screened_out}"
failed_checks_code = "{failed_checks}"
# CloudResearch Connect: kind = "redirect", person = "participantId", study = "projectId", session = "assignmentId",
#   completed and screened_out = the two completion links that Connect shows you
# SONA: kind = "redirect", person = "survey_code",
#   completed = "https://YOURS.sona-systems.com/webstudy_credit.aspx?experiment_id=N&credit_token=T&survey_code={{person}}"
# A posted form (the external question of Mechanical Turk, which closed on 2026-09-30, and services built like it):
#   kind = "form", person = "workerId", study = "hitId", session = "assignmentId",
#   completed = "https://SERVICE/externalSubmit", form_fields = {{ assignmentId = "{{session}}", code = "{{code}}" }}"""

PROLIFIC = """kind = "prolific"                           # reads PROLIFIC_PID, STUDY_ID and SESSION_ID
completion_code = "{completed}"
screened_out_code = "{screened_out}"
failed_checks_code = "{failed_checks}"
no_consent_code = "{no_consent}\""""

LAB = """kind = "invitation"                         # `casewise study invite` makes one link for each person"""


@dataclass(frozen=True)
class Differences:
    """Where the presets differ."""

    recruiter: str
    attempts: int
    may_fail: int
    void: bool
    approval_rate: int | None
    approved_count: int | None
    currency: str
    per_batch: float
    screen_out: float
    hourly_floor: float
    fee_percent: float
    about_eligibility: str = ""
    per_item: int = 21
    per_annotator: int = 25


PAPERS_PEOPLE = (
    "The paper: over 98 % and over 10,000 approved HITs, each one small task; here a submission is a whole session.\n"
    "# `casewise prolific eligible` says how many people are left. The paper gave one attempt at the quiz."
)

DIFFERENCES: dict[Preset, Differences] = {
    "paper": Differences(CODE, 1, 0, True, 98, 10_000, "USD", 3.75, 0.5, 12.0, 20.0),
    "paper-rest": Differences(PROLIFIC, 2, 0, True, 98, 1000, "GBP", 2.75, 0.3, 9.0, 33.3, PAPERS_PEOPLE),
    "prolific": Differences(PROLIFIC, 2, 1, True, 95, 100, "GBP", 2.75, 0.3, 9.0, 33.3),
    "lab": Differences(LAB, 2, 0, False, None, None, "EUR", 4.0, 1.0, 12.0, 0.0),
    "experts": Differences(LAB, 2, 0, False, None, None, "EUR", 12.0, 3.0, 30.0, 0.0, per_item=3, per_annotator=20),
}


NOBODY = Contact(researcher="Your name", institution="Your institution", email="you@example.org")
"""To be filled in: `study check` and `study freeze` refuse it."""


def study_toml(
    preset: Preset,
    *,
    name: str,
    benchmark: str,
    conditions: Sequence[str],
    today: date,
    contact: Contact = NOBODY,
    rates: RatedThing = "requests",
) -> str:
    """The text of a `study.toml`.

    Codes are drawn anew each time; contrasts are the safe against the unsafe condition of each origin, and each
    condition against no context.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True, trim_blocks=True)  # noqa: S701
    environment.filters["toml"] = toml
    template = environment.from_string(
        files("casewise.studies.design").joinpath("texts", "study.toml.jinja").read_text(encoding="utf-8")
    )
    differences = vars(DIFFERENCES[preset])
    return template.render(
        differences
        | {
            "recruiter": differences["recruiter"].format(**codes()),
            "file": "study.toml",
            "contact": contact,
            "rates": rates,
            "reply_question": REPLY_QUESTION,
            "name": name,
            "benchmark": benchmark,
            "conditions": list(conditions),
            "contrasts": contrasts(conditions),
            "withdraw_until": today + timedelta(days=90),
            "keep_ids_until": today + timedelta(days=180),
            "exclude_until": today + timedelta(days=365),
        }
    )


def codes() -> dict[str, str]:
    alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    names = ("completed", "screened_out", "failed_checks", "no_consent")
    return {name: "".join(secrets.choice(alphabet) for _ in range(8)) for name in names}


def contrasts(conditions: Sequence[str]) -> list[list[str]]:
    """Safe against unsafe of one origin, then each against no context."""
    found = [
        [condition, other]
        for condition in conditions
        if condition.startswith("safe_") and (other := "un" + condition) in conditions
    ]
    if "no_context" in conditions:
        found += [["no_context", condition] for condition in conditions if condition != "no_context"]
    return found


def toml(value: Any) -> str:
    """A TOML value; JSON's strings, booleans and arrays are TOML's."""
    return json.dumps(value, ensure_ascii=False)
