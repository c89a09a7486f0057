"""A translation of what people are shown: of a query, of a parameter of a context, or of words of a study."""

from __future__ import annotations

from pydantic import Field

from casewise.records.base import Record


class Translation(Record):
    """One text in one language. The item that it belongs to keeps its id."""

    of: str = Field(min_length=1)
    """A query's id; `CONTEXT.group.parameter`; or `words:` and the words themselves."""
    language: str = Field(pattern=r"^[a-z]{2,3}$")
    text: str = ""
    """Empty while nobody has translated it."""
    translator: str = ""
    reviewer: str = ""
    """Somebody else, who read both."""
    source: str = ""
    """What is translated, for whoever translates; not read back."""

    @property
    def is_reviewed(self) -> bool:
        """Whether it may be shown: there is a text, and somebody else has read it."""
        return bool(self.text.strip()) and bool(self.reviewer) and self.reviewer != self.translator
