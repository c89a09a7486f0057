"""Words for verdicts: those with a known meaning, and those that a user has to declare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from casewise.errors import ConfigurationError
from casewise.options import Hidden, Words
from casewise.records import Verdict, Vote

PAIRS: tuple[tuple[str, str], ...] = (
    ("safe", "unsafe"),
    ("safe", "not safe"),
    ("allow", "deny"),
    ("allowed", "denied"),
    ("allow", "block"),
    ("allowed", "blocked"),
    ("allowed", "disallowed"),
    ("permit", "forbid"),
    ("permit", "prohibit"),
    ("permitted", "forbidden"),
    ("permitted", "prohibited"),
    ("answer", "refuse"),
    ("respond", "refuse"),
    ("should answer", "should refuse"),
    ("appropriate", "inappropriate"),
    ("acceptable", "unacceptable"),
    ("harmless", "harmful"),
    ("not harmful", "harmful"),
    ("benign", "malicious"),
)
"""Words for a safe and an unsafe verdict that say themselves what they mean."""

BEHAVIOUR = ("answer", "respond", "refuse")
"""Words that say of a reply what it does, and not whether it is safe."""

UNSURE = ("unsure", "not sure", "i am not sure", "don't know", "do not know", "undecided", "uncertain", "abstain")
"""Words of a vote that is neither."""

ASK = ("ask", "ask first", "ask me first", "ask the user")
"""Words of a vote that an agent asks its user first."""

NOT_APPLICABLE = ("not applicable", "inapplicable")
"""Words of a row that has no verdict by its nature; such rows are left out and counted."""

MISSING = ("na", "n/a", "#n/a", "nan", "<na>", "none", "null", "nil", "-nan")
"""Words for a missing value, in small letters; an empty cell is one as well."""

TRUE, FALSE = ("true", "yes", "1", "t", "y"), ("false", "no", "0", "f", "n")
"""Words that answer a question which only the name of the column asks."""

POLARITY: dict[str, Verdict] = {"safe": "safe", "is_safe": "safe", "unsafe": "unsafe", "is_unsafe": "unsafe"}
"""Meaning of true in the columns of exactly these names."""

NotApplicable = Literal["not applicable"]

MeaningSource = Literal["declared", "listed", "by the column's name"]
"""The source of a word's meaning: the user's declaration, casewise's lists, or the column's name."""


class Reading(NamedTuple):
    """The meaning of a word, and the reason."""

    vote: Vote | NotApplicable
    how: MeaningSource


def plain_word(word: object) -> str:
    """Return a word in small letters, with single spaces; a whole number has no decimals."""
    if isinstance(word, float) and word.is_integer():
        word = int(word)
    text = " ".join(str(word).casefold().replace("_", " ").replace("-", " ").split()).replace("\u2019", "'")
    whole, point, zeros = text.partition(".")
    return whole if point and whole.isdecimal() and zeros and not zeros.strip("0") else text


@dataclass(frozen=True)
class VerdictWords:
    """The words for verdicts in a file. Words that you declare replace those that casewise knows."""

    safe_word: Words = ()
    """A word in the file that means safe; may be repeated."""
    unsafe_word: Words = ()
    """A word in the file that means unsafe; may be repeated."""
    unsure_word: Words = ()
    """A word in the file that means unsure; may be repeated. '' counts an empty cell as an unsure vote."""
    true_means: Verdict | None = None
    """The verdict that true, yes and 1 mean, safe or unsafe; false, no and 0 mean the other."""
    missing_word: Words = ()
    """A further word for a missing value; may be repeated. Known: empty, NA, N/A, NaN, None and null."""
    also_known: Hidden[tuple[tuple[str, Vote], ...]] = ()
    """Words that a benchmark's own file has for verdicts, read after those that are declared and listed."""
    of_replies: Hidden[bool] = False
    """True if the words are about replies: a reply that refuses may be safe."""

    @cached_property
    def declared(self) -> dict[str, Vote]:
        """The declared words. Raises ConfigurationError: one has two meanings."""
        words: dict[str, Vote] = {}
        given: tuple[tuple[Vote, tuple[str, ...]], ...] = (
            ("safe", self.safe_word),
            ("unsafe", self.unsafe_word),
            ("unsure", self.unsure_word),
        )
        for vote, of_vote in given:
            for word in map(plain_word, of_vote):
                if words.setdefault(word, vote) != vote:
                    raise ConfigurationError(f"{word!r} is declared as {words[word]} and as {vote}; declare it once")
        return words

    @cached_property
    def listed(self) -> dict[str, Vote | NotApplicable]:
        """The words that are read without being declared."""
        words: dict[str, Vote | NotApplicable] = dict.fromkeys(NOT_APPLICABLE, "not applicable")
        if not self.unsure_word:
            words |= dict.fromkeys(UNSURE, "unsure")
        words |= dict.fromkeys(ASK, "ask")
        if not (self.safe_word or self.unsafe_word):
            words.update(dict.fromkeys((safe for safe, _ in PAIRS), "safe"))
            words.update(dict.fromkeys((unsafe for _, unsafe in PAIRS), "unsafe"))
        return {word: vote for word, vote in words.items() if not (self.of_replies and word in BEHAVIOUR)}

    @property
    def options(self) -> str:
        """The options that declare words, and what declared words do to the listed ones."""
        replaced = " (they replace the words that casewise knows)" if self.safe_word or self.unsafe_word else ""
        return f"--safe-word, --unsafe-word, --unsure-word and --missing-word{replaced}"

    @cached_property
    def missing(self) -> frozenset[str]:
        """The words for a missing value that are not declared as a vote."""
        return frozenset((*MISSING, *map(plain_word, self.missing_word))) - set(self.declared)

    def is_missing(self, cell: object) -> bool:
        """Return whether a cell states that its value is missing."""
        if isinstance(cell, float):
            return math.isnan(cell)
        return cell is None or (isinstance(cell, str) and plain_word(cell) in self.missing)

    def read(self, word: object, column: str) -> Reading | None:
        """Return the verdict of a word in a column, or None if its meaning is not known.

        Raises ConfigurationError: it is true or false, yes or no, 1 or 0, and their meaning is not declared.
        """
        plain = plain_word(word)
        if plain in self.declared:
            return Reading(self.declared[plain], "declared")
        if plain in self.listed:
            return Reading(self.listed[plain], "listed")
        by_name = POLARITY.get(plain_name(column))
        if (known := dict(self.also_known).get(plain)) is not None and by_name is None:
            return Reading(known, "declared")
        if plain not in TRUE and plain not in FALSE:
            return None
        if self.safe_word or self.unsafe_word:
            return None  # its other half is declared, and this one is not
        if (if_true := self.true_means or by_name) is None:
            raise ConfigurationError(
                f"{column!r} is {plain!r}, and nothing says what that means; give --true-means safe or --true-means unsafe, or "
                "name the words with --safe-word and --unsafe-word"
            )
        other: Verdict = "unsafe" if if_true == "safe" else "safe"
        how: MeaningSource = "declared" if self.true_means else "by the column's name"
        return Reading(if_true if plain in TRUE else other, how)


def plain_name(name: str) -> str:
    """Return the name of a column in small letters, with underscores for spaces, points and hyphens."""
    return "_".join(name.strip().lower().replace(".", " ").replace("-", " ").replace("_", " ").split())
