"""The few optional questions about themselves that annotators may answer; each with a way not to."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["QUESTIONS", "chosen_answers"]

QUESTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("age", "Your age", ("18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 or older")),
    ("gender", "Your gender", ("Woman", "Man", "Another")),
    (
        "education",
        "Your highest education",
        ("No school certificate", "School certificate", "Vocational training", "Bachelor's degree", "Higher degree"),
    ),
    (
        "region",
        "Where you live",
        ("Africa", "Asia", "Europe", "North America", "Oceania", "South or Central America"),
    ),
    ("english", "English is", ("my first language", "a language I use every day", "a language I use now and then")),
    ("chatbots", "You use chatbots", ("every day", "every week", "now and then", "never")),
)
"""Name, label, answers."""


def chosen_answers(form: Mapping[str, str]) -> dict[str, str]:
    """The answers in `form` that are among those offered."""
    return {name: form[name] for name, _label, answers in QUESTIONS if form.get(name) in answers}
