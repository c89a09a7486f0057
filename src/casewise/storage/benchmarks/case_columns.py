"""Which columns of a file of cases hold what: as its owner says, or guessed from their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from casewise.errors import ConfigurationError, did_you_mean
from casewise.records import ParameterSet

__all__ = ["CaseColumns", "found_columns"]

GUESSES: dict[str, tuple[str, ...]] = {
    "query": ("query", "prompt", "question", "request", "user_query", "input"),
    "context": ("context", "circumstances", "situation", "setting"),
    "category": ("category", "topic", "harm_category"),
    "pair": ("pair", "pair_id"),
    "intended": ("intended_safe", "intended", "intent", "context_intended_to_be_safe"),
    "votes": ("votes", "ratings", "verdicts"),
    "n_safe": ("n_safe", "safe_votes", "votes_safe", "safe_count"),
    "n_unsafe": ("n_unsafe", "unsafe_votes", "votes_unsafe", "unsafe_count"),
    "n_votes": ("n_votes", "n_ratings", "total_votes", "total"),
    "label": ("label", "verdict", "judgement", "judgment", "decision", "gold"),
    "rate": ("safe_rate", "rate", "share_safe"),
}
"""What columns are usually called; capitals, spaces and hyphens do not count."""


@dataclass(frozen=True)
class CaseColumns:
    """The column for each thing that a case may say: None where it is to be guessed, empty where there is none.

    `parameters` maps further columns to the context parameters that they state, `group.parameter`. A context of free text
    is the parameter `context_as`, or its `description` where that names a group.
    """

    query: str | None = None
    context: str | None = None
    context_as: str = "situation"
    parameters: Mapping[str, str] = field(default_factory=dict)
    category: str | None = None
    pair: str | None = None
    intended: str | None = None
    votes: str | None = None
    n_safe: str | None = None
    n_unsafe: str | None = None
    n_votes: str | None = None
    label: str | None = None
    rate: str | None = None

    @property
    def free_text(self) -> tuple[str, str]:
        """Group and parameter of a context of free text."""
        group, _, parameter = self.context_as.partition(".")
        return group, parameter or "description"

    def used(self) -> frozenset[str]:
        """The columns that say something here."""
        named = {getattr(self, one.name) for one in fields(self) if one.name in GUESSES}
        return frozenset(named | set(self.parameters)) - {None, ""}


def found_columns(columns: Sequence[str], said: CaseColumns, parameters: ParameterSet) -> CaseColumns:
    """Who says what among `columns`: what is said stands, the rest is guessed from their names.

    Raises ConfigurationError: a column that was named is not there, or one that must be is missing.
    """
    named = {option: name for option in GUESSES if (name := getattr(said, option))}
    for name in (*named.values(), *said.parameters):
        if name not in columns:
            raise ConfigurationError(f"there is no column {name!r}{did_you_mean(name, columns)}; {listed(columns)}")
    plain = {plainly(name): name for name in reversed(columns)}
    taken = {*named.values(), *said.parameters}
    stating = dict(said.parameters)
    for dotted in (*parameters.names, *(name for name in columns if DOTTED.fullmatch(name))):
        column = plain.get(plainly(dotted))
        if column is not None and column not in taken and dotted not in stating.values():
            stating[column] = dotted
            taken.add(column)
    guessed = {
        option: next((plain[guess] for guess in guesses if guess in plain and plain[guess] not in taken), "")
        for option, guesses in GUESSES.items()
        if getattr(said, option) is None
    }
    found = replace(said, parameters=stating, **guessed)
    return checked(found, columns)


DOTTED = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def plainly(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().lower())


def checked(found: CaseColumns, columns: Sequence[str]) -> CaseColumns:
    if not found.query:
        raise ConfigurationError(f"no column is called query or the like; name it with --query; {listed(columns)}")
    if found.n_safe and not (found.n_votes or found.n_unsafe):
        raise ConfigurationError(
            f"{found.n_safe!r} counts safe votes, but of how many? Name the column with --n-unsafe or --n-votes; "
            f"{listed(columns)}"
        )
    if not (found.votes or found.n_safe or found.label or found.rate):
        raise ConfigurationError(
            "no column holds what people decided; name it: --label (one word a case), --votes (a list of words), --n-safe with "
            f"--n-unsafe or --n-votes (counts), or --rate (a share); {listed(columns)}"
        )
    return found


def listed(columns: Sequence[str]) -> str:
    return f"the columns are: {', '.join(columns)}"
