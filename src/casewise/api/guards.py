"""Guards: which there are, how each is told of a context, and what of its profile was checked."""

from __future__ import annotations

from pathlib import Path

from casewise.errors import DataError
from casewise.judging.guards.profile import GuardProfile, all_profiles, profile_named
from casewise.reporting.document import Document, Table, of_tables, table_of
from casewise.storage.files.atomic import read_text

__all__ = ["GuardProfile", "all_profiles", "guards_page", "policy_in", "profile_named"]


def policy_in(path: Path) -> str:
    """A deployer's own policy.

    Raises
    ------
    DataError
        The file cannot be read, or says nothing.
    """
    text = read_text(path).strip()
    if not text:
        raise DataError(path, None, "holds no policy: it is empty")
    return text


def guards_page(names: tuple[str, ...] = ()) -> Document:
    """The guards that there are; of those named, every fact with its source."""
    found = [profile_named(name) for name in names]
    tables: list[Table] = [
        table_of(
            "guards",
            "Guards by the name of their profile: guard:NAME@MODEL.",
            ("name", "guard", "context", "verdict", "replies", "licence", "not checked"),
            (
                [
                    one.name,
                    one.title,
                    " or ".join(one.renderings) or one.kind,
                    verdict_of(one),
                    "yes" if one.reads_replies else "no",
                    one.licence,
                    ", ".join(one.unverified) or "–",
                ]
                for one in found or all_profiles().values()
            ),
        )
    ]
    tables += [
        table_of(
            f"facts-{one.name}",
            f"What the profile of {one.title} takes for true.",
            ("fact", "says", "source", "state"),
            ([name, fact.says, fact.source, fact.state] for name, fact in one.facts.items()),
        )
        for one in found
    ]
    return of_tables(
        "Guards", tables, () if found else ("casewise guards NAME says where each fact of a profile is from.",)
    )


def verdict_of(profile: GuardProfile) -> str:
    if profile.kind != "chat":
        return "scores"
    classes = "three classes" if profile.read.middle else "two classes"
    return f"{classes}, P(safe)" if profile.tokens else classes
