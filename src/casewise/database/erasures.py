"""The list of erasures: a small signed file outside the database, so that no restored backup brings an erased person back.

A line is written, and is on the disk, before an erasure is confirmed. Each line is signed together with the line before it, so
that a line that was changed, added or taken out of the middle is noticed. It holds random ids, and nothing about a person.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from sqlalchemy.engine import URL

from casewise.errors import ConfigurationError, DataError
from casewise.storage.files import filled_template

FILE_NAME = "casewise-erasures.jsonl"
Ratings = Literal["withdrawn", "kept"]


@dataclass(frozen=True, slots=True)
class Erasure:
    """One person whose data were erased."""

    number: int
    """Its place in the list, from 1."""
    study_id: str
    """The id of the round."""
    annotator_id: str
    """The random id that the person had in it."""
    at: str
    """Time of the erasure in UTC, as ISO 8601."""
    ratings: Ratings
    """`withdrawn`: the ratings were deleted too. `kept`: they stay, without a link to the person."""
    signature: str = ""

    def body(self) -> str:
        """Return what is signed of it."""
        return json.dumps(asdict(replace(self, signature="")), sort_keys=True)


@dataclass(frozen=True)
class ErasureList:
    """The file and the key that signs it."""

    path: Path
    key: bytes

    def create(self) -> None:
        """Make the file where there is none, so that a missing one can be told from an empty one."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise self._cannot("written", error) from error

    def read(self) -> list[Erasure]:
        """Return every erasure, in order.

        Raises DataError: a line was changed, or is signed with another key; ConfigurationError: the file cannot be read.
        """
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise self._cannot("read", error) from error
        erasures: list[Erasure] = []
        for number, line in enumerate(lines, start=1):
            try:
                erasure = Erasure(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise DataError(self.path, number, f"is no line of a list of erasures: {error}") from error
            before = erasures[-1].signature if erasures else ""
            if erasure.number != number or not hmac.compare_digest(erasure.signature, self._sign(erasure, before)):
                raise DataError(
                    self.path,
                    number,
                    "does not have the signature of this server's secret key: the list was changed, or the key is another one "
                    "(CASEWISE_SECRET_KEY or CASEWISE_SECRET_KEY_FILE)",
                )
            erasures.append(erasure)
        return erasures

    def add(self, study_id: str, annotator_id: str, *, ratings: Ratings, at: datetime) -> Erasure:
        """Append an erasure, and return it once it is on the disk. Several processes may append at once."""
        self.create()
        try:
            with self.path.open("r+", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                earlier = self.read()
                unsigned = Erasure(len(earlier) + 1, study_id, annotator_id, at.isoformat(), ratings)
                before = earlier[-1].signature if earlier else ""
                signed = replace(unsigned, signature=self._sign(unsigned, before))
                file.seek(0, os.SEEK_END)
                file.write(json.dumps(asdict(signed)) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._cannot("written", error) from error
        return signed

    def _sign(self, erasure: Erasure, before: str) -> str:
        return hmac.new(self.key, (before + erasure.body()).encode(), hashlib.sha256).hexdigest()

    def _cannot(self, be: str, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"{self.path}: the list of erasures cannot be {be}: {error.strerror or error}; CASEWISE_ERASURES names another file"
        )


def erasures_file(database: URL, named: str) -> Path:
    """Return where the list is: as `named`, else beside an SQLite database, else in the working folder."""
    if named:
        return Path(named)
    folder = Path(str(database.database)).absolute().parent if database.get_backend_name() == "sqlite" else Path.cwd()
    return folder / FILE_NAME


def certificate(erasure: Erasure, *, study: str, facts: Mapping[str, Any]) -> str:
    """Return a text that says what was erased, to hand to the person or to an ethics board."""
    values = {"erasure": erasure, "study": study, "facts": facts}
    return filled_template("casewise.database", "certificate.md.jinja", values)
