"""Harm categories in their domains: the 45 classes of SORRY-Bench by default, or the user's own as TOML."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Self

from pydantic import model_validator

from casewise.records.base import Record
from casewise.records.toml import read_record, shipped_toml

__all__ = ["Category", "Taxonomy", "sorry_bench"]


class Category(Record):
    """A harm category."""

    name: str
    domain: str
    risks: str | None = None
    """What may go wrong when a chatbot answers, in a sentence; shown to reviewers and annotators."""
    aliases: tuple[str, ...] = ()
    """Other spellings met in published data."""


class Taxonomy(Record):
    """Categories by name, in their order."""

    name: str
    source: str | None = None
    categories: tuple[Category, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        seen: set[str] = set()
        for name in (n for category in self.categories for n in (category.name, *category.aliases)):
            if name in seen:
                raise ValueError(f"two categories are called {name!r}")
            seen.add(name)
        return self

    def resolve(self, name: str) -> Category | None:
        """The category called `name`, by its name or an alias; None if there is none."""
        return next((c for c in self.categories if name == c.name or name in c.aliases), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(category.name for category in self.categories)

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(category.domain for category in self.categories))

    @classmethod
    def read(cls, path: Path) -> Taxonomy:
        """Read a taxonomy from TOML: `name`, `source`, and a `[[categories]]` table for each category.

        Raises
        ------
        DataError
            The file is not TOML, or not a taxonomy; the message says where.
        """
        return read_record(path, cls, "a taxonomy")


@cache
def sorry_bench() -> Taxonomy:
    """The 45 classes in four domains of SORRY-Bench (Xie et al., 2024), as CASE-Bench uses them."""
    return Taxonomy.model_validate(shipped_toml("casewise.records", "sorry_bench.toml"))
