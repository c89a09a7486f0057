"""Paraphrases that people have read beside what they paraphrase, and found to say the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from casewise.errors import DataError
from casewise.records.base import digest
from casewise.records.translation import Translation
from casewise.runs.made_texts import text_key
from casewise.showing.channels import over_texts
from casewise.showing.of_file import read_as_named
from casewise.showing.shown import Scene, ShownItem
from casewise.storage.files.jsonl import read_jsonl

__all__ = ["Accepted", "accepted", "checked", "read_accepted"]


@dataclass(frozen=True)
class Accepted:
    """Accepted texts, by what the texts that they stand for are kept under."""

    texts: Mapping[str, str]

    @classmethod
    def of(cls, rows: Iterable[Translation]) -> Accepted:
        """Those of the rows that somebody has read and found to say the same."""
        return cls({one.of: one.text for one in rows if one.is_reviewed})

    @property
    def fingerprint(self) -> str:
        """A digest of all of them."""
        return digest(dict(self.texts))[:8]


def read_accepted(path: Path) -> Accepted:
    """The accepted paraphrases of a file that `casewise contexts paraphrases --to` wrote.

    Raises DataError: a line is none; the message names it. None was accepted.
    """
    found = Accepted.of(read_jsonl(path, Translation))
    if not found.texts:
        raise DataError(path, None, "holds no paraphrase that anybody has accepted")
    return found


@cache
def accepted(rest: str) -> Accepted:
    """What `FILE@DIGEST` names. Raises as `read_as_named`."""
    return read_as_named("checked", rest, read_accepted)


def checked(shown: ShownItem, _scene: Scene, rest: str) -> ShownItem:
    """What is shown with every statement paraphrased of which a paraphrase was accepted; the others stay as they are.

    Raises ValueError: none of its statements has one: then nothing would be another.
    """
    texts = accepted(rest).texts
    changed = over_texts(shown.context, lambda text: texts.get(text_key(text), text))
    if changed == shown.context:
        raise ValueError("nobody has accepted a paraphrase of anything that it states")
    return replace(shown, context=changed)
