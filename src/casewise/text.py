"""Text of reports: plain text and references, which each output renders.

A sentence names judges, files and what is judged. How these are written depends on the page that the sentence stands on:
a judge goes by the shortest name that is unique there, and what is judged is a query, a reply or an action. A `Text` keeps
such references until a document is rendered, so that nothing is ever looked for in finished prose.

Examples
--------
>>> sentence = text("{judge} answers {n:query}, over {queries}.", judge=reference("gpt (binary)", "openai/gpt (binary)"), n=1)
>>> str(sentence)
'openai/gpt (binary) answers 1 query, over queries.'
>>> render(sentence, Form(noun=Noun("reply", "replies"), names=shortest_names([sentence])))
'gpt (binary) answers 1 reply, over replies.'
"""

from __future__ import annotations

import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import Any, Protocol, Self, runtime_checkable


@dataclass(frozen=True)
class Noun:
    """A noun in both numbers."""

    one: str
    many: str

    @property
    def article(self) -> str:
        """`a` or `an`."""
        return "an" if self.one[0] in "aeiou" else "a"

    def counted(self, count: float) -> str:
        """Return a number with the noun: `1 query`, `2,500 queries`."""
        return f"{count:,g} {self.one}" if count == 1 else f"{grouped(count)} {self.many}"


QUERY = Noun("query", "queries")
"""The noun for what is judged where nothing else is said."""


def grouped(count: float) -> str:
    return f"{int(count):,}" if count == int(count) else f"{count:,.1f}"


IRREGULAR = {
    "person": "people",
    "match": "matches",
    "batch": "batches",
    "has": "have",
    "is": "are",
    "was": "were",
    "does": "do",
}


def plural(words: str) -> str:
    """Return the plural of an English noun, and of a verb behind it.

    Examples
    --------
    >>> [plural(words) for words in ("item", "category", "person", "reply was")]
    ['items', 'categories', 'people', 'replies were']
    """
    return " ".join(
        IRREGULAR.get(word) or (f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s")
        for word in words.split(" ")
    )


def count_of(count: float, words: str) -> str:
    """Return a number with a noun, and a verb behind it, in the right number.

    Examples
    --------
    >>> count_of(1, "item is"), count_of(1200, "item is")
    ('1 item is', '1,200 items are')
    """
    return Noun(words, plural(words)).counted(count)


@dataclass(frozen=True)
class Form:
    """The way in which one output of one document writes references."""

    noun: Noun = QUERY
    """The noun for what the document's benchmark has judged."""
    cluster: Noun | None = None
    """The noun for what intervals are over, where that is not what is judged."""
    names: Mapping[SeriesRef, str] = field(default_factory=dict)
    """The names of series; the full name of one that is missing here."""
    path: Callable[[Path], str] = str
    """Writes a path for the readers of this output."""


@runtime_checkable
class Reference(Protocol):
    """A part of a text that each output writes in its own form."""

    def written(self, form: Form) -> str:
        """Return the words for it in this form."""
        ...


@dataclass(frozen=True)
class SeriesRef:
    """A judge, an arm, or one judge asked in one way and shown items in one way."""

    forms: tuple[str, ...]
    """Its names, the shortest first and the full one last."""

    @property
    def full(self) -> str:
        """The name by which data files know it."""
        return self.forms[-1]

    def written(self, form: Form) -> str:
        """Return its name in the document."""
        return form.names.get(self, self.full)


@dataclass(frozen=True)
class NounRef:
    """The noun for what is judged, which follows the benchmark: query, reply, action."""

    many: bool = False
    article: bool = False
    capital: bool = False
    count: float | None = None
    """The number that stands before it; then `many` follows from it."""
    cluster: bool = False
    """True for the noun for what intervals are over."""

    def written(self, form: Form) -> str:
        """Return the noun with its number or article."""
        noun = (self.cluster and form.cluster) or form.noun
        if self.count is not None:
            return noun.counted(self.count)
        words = noun.many if self.many else noun.one
        words = f"{noun.article} {words}" if self.article else words
        return words[:1].upper() + words[1:] if self.capital else words


@dataclass(frozen=True)
class PathRef:
    """A file or a folder, whose path concerns only those who sit at this machine."""

    path: Path
    in_command: bool = False
    """True in a command, where a shell needs a path with spaces in quotes."""

    def written(self, form: Form) -> str:
        """Return the path as this output writes paths."""
        path = form.path(self.path)
        return shlex.quote(path) if self.in_command else path


NOUNS: Mapping[str, NounRef] = {
    "query": NounRef(),
    "queries": NounRef(many=True),
    "a_query": NounRef(article=True),
    "Query": NounRef(capital=True),
    "Queries": NounRef(many=True, capital=True),
    "A_query": NounRef(article=True, capital=True),
    "cluster": NounRef(cluster=True),
    "clusters": NounRef(many=True, cluster=True),
    "a_cluster": NounRef(article=True, cluster=True),
}
"""The fields of a template that stand for what is judged, whatever its noun."""


class ReferenceLost(ResourceWarning):
    """A text with references went into an f-string of casewise itself, so that they are written in their plain form.

    Python hides this kind of warning from users; in the tests it is an error. A user's own f-string may do so.
    """


class Text(str):
    """A text with references: a `str` of its plain form, which keeps its parts.

    `text`, `join` and `+` keep references. An f-string loses them, which is a fault (`ReferenceLost`).
    """

    __slots__ = ("parts",)

    parts: tuple[str | Reference, ...]

    def __new__(cls, *parts: str | Reference) -> Self:
        """Make a text of its parts; a part that is a text itself is taken apart."""
        flat = tuple(piece for part in parts for piece in parts_of(part))
        made = super().__new__(cls, "".join(part if isinstance(part, str) else part.written(Form()) for part in flat))
        made.parts = flat
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str | Reference, ...]]:
        return type(self), self.parts

    def __str__(self) -> str:
        return super().__str__()

    def __add__(self, other: str) -> Text:
        return Text(self, other)

    def __radd__(self, other: str) -> Text:
        return Text(other, self)

    def __format__(self, spec: str) -> str:
        in_casewise = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] == __package__  # noqa: SLF001 - the caller
        if in_casewise and any(not isinstance(part, str) for part in self.parts):
            message = f"this text holds references, which an f-string loses; use casewise.text.text: {self!r}"
            warnings.warn(message, ReferenceLost, stacklevel=2)
        return format(str(self), spec)


def parts_of(part: str | Reference) -> tuple[str | Reference, ...]:
    return part.parts if isinstance(part, Text) else (part,)


class SyntheticNote(str):
    """A note that data are synthetic: each table and figure of a document with this note says so."""

    __slots__ = ()


class RefusalNote(str):
    """A note that an endpoint refused an option of a call."""

    __slots__ = ("option",)
    option: str
    """The option: `temperature` or `json_schema`."""

    def __new__(cls, note: str, option: str) -> Self:
        """Make the note that this option was refused."""
        made = super().__new__(cls, note)
        made.option = option
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (str(self), self.option)


def synthetic_notes(made_up: str | None, *, of: str = "") -> tuple[SyntheticNote, ...]:
    """Return the note on data that `made_up` describes as synthetic; none where it is None. `of`: begins the note."""
    return (SyntheticNote(f"{of}SYNTHETIC DATA: {made_up}"),) if made_up else ()


def reference(*forms: str) -> Text:
    """Return the text that is one reference to a series: its names, the shortest first and the full one last."""
    return Text(SeriesRef(forms))


def path_text(path: Path) -> Text:
    """Return the text that is one reference to a path."""
    return Text(PathRef(path))


def paths_in_command(*paths: Path) -> Text:
    """Return paths as the arguments of a command, which a shell can read."""
    return join(" ", (Text(PathRef(path, in_command=True)) for path in paths))


def text(template: str, /, **values: Any) -> Text:
    """Return the text of a template, whose fields are split by its author's braces and nowhere else.

    Parameters
    ----------
    template
        Text with fields. `{name}` is one of `values`; `{name:spec}` formats it as `format` does. `{n:item}` with a word
        as specification is a number with that noun in the right number, and `{n:query}` with the noun for what is judged.
        `{query}`, `{queries}`, `{a_query}`, `{Query}`, `{Queries}` and `{A_query}` need no value, and neither do `{cluster}`,
        `{clusters}` and `{a_cluster}`: what intervals are over, which is what is judged where nothing else is said.
    values
        Texts and references are kept as they are; everything else is written out.

    Raises
    ------
    KeyError
        A field has no value.
    """
    parts: list[str | Reference] = []
    for literal, name, spec, conversion in Formatter().parse(template):
        parts.append(literal)
        if name is not None:
            parts.append(NOUNS[name] if name not in values else filled(values[name], spec or "", conversion))
    return Text(*(part for part in parts if part != ""))


def filled(value: Any, spec: str, conversion: str | None) -> str | Reference:
    """Return what a field of a template becomes."""
    value = Formatter().convert_field(value, conversion)
    if len(spec) > 1 and all(word.isalpha() for word in spec.split(" ")):
        return NounRef(count=value) if spec == "query" else count_of(value, spec)
    if not spec and isinstance(value, (Text, Reference)):
        return value
    return format(value, spec)


def join(separator: str, texts: Iterable[str]) -> Text:
    """Return `texts` with `separator` between them, as `str.join` does, with their references."""
    pieces = [piece for part in texts for piece in (separator, part)]
    return Text(*pieces[1:])


def first_few(names: Sequence[str], *, most: int = 3, sep: str = ", ", last: str = "and") -> Text:
    """Return names in a row with `last` before the last; of more than `most` the first, and how many more."""
    few = [*names[:most], *([f"{len(names) - most:,} more"] if len(names) > most else [])]
    return join(f" {last} ", [join(sep, few[:-1]), few[-1]] if len(few) > 1 else few)


def capitalised(words: str) -> Text:
    """Return `words` with a capital first letter."""
    first, *others = parts_of(words)
    if isinstance(first, NounRef):
        return Text(replace(first, capital=True), *others)
    return Text(first[:1].upper() + first[1:] if isinstance(first, str) else first, *others)


def render(words: str, form: Form) -> str:
    """Return plain text: every reference of `words` written in this form."""
    if not isinstance(words, Text):
        return words
    return "".join(part if isinstance(part, str) else part.written(form) for part in words.parts)


def shortest_names(texts: Iterable[str]) -> dict[SeriesRef, str]:
    """Return for each series that texts refer to the shortest of its names that no other of them has.

    Examples
    --------
    >>> sender, recipient = (reference("m −role", f"m −{part}.role") for part in ("sender", "recipient"))
    >>> list(shortest_names([sender, recipient]).values()), list(shortest_names([sender]).values())
    (['m −sender.role', 'm −recipient.role'], ['m −role'])
    """
    parts = (part for words in texts if isinstance(words, Text) for part in words.parts)
    level = {part: 0 for part in parts if isinstance(part, SeriesRef)}
    while True:
        names = {series: series.forms[place] for series, place in level.items()}
        uses = Counter(names.values())
        longer = [
            series for series, place in level.items() if uses[names[series]] > 1 and place + 1 < len(series.forms)
        ]
        if not longer:
            return names
        for series in longer:
            level[series] += 1
