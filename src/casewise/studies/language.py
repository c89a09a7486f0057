"""The language of annotators' pages: what is said in it, and how it is written.

English is what templates and texts say. Another language has all in one folder, `texts/LANGUAGE`: the longer texts, and in
`messages.toml` the pages' words, from the English ones to its own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

LanguageCode = Literal["en", "es"]

PLACE = re.compile(r"\{(\w+)\}")


@cache
def messages_in(language: LanguageCode) -> Mapping[str, str]:
    """Return English words and those of `language`; none for English itself."""
    if language == "en":
        return MappingProxyType({})
    text = files("casewise.studies").joinpath("texts", language, "messages.toml").read_text(encoding="utf-8")
    return MappingProxyType({message["en"]: message["is"] for message in tomllib.loads(text)["message"]})


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates the pages' English words into one language."""

    language: LanguageCode

    def __call__(self, english: str, **values: object) -> str:
        """Return `english` in this language, its `{places}` filled in once. Words without a translation stay as they are."""
        translated = messages_in(self.language).get(english, english)
        return PLACE.sub(lambda place: str(values.get(place[1], place[0])), translated) if values else translated

    def day(self, day: date) -> str:
        """Return a date in words."""
        return self("{day} {month} {year}", day=day.day, month=self(f"{day:%B}"), year=day.year)

    def money(self, amount: float, currency: str) -> str:
        """Return an amount to the cent, with its currency."""
        units, cents = f"{amount:.2f}".split(".")
        return self("{units}.{cents} {currency}", units=units, cents=cents, currency=currency)


ENGLISH = Translator("en")
