"""What there is to attack and guard with, laid out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from casewise.reporting.document import Document, Section, Table, table_by
from casewise.showing.catalogue import Offered

__all__ = ["offered_page"]

HEADS = {"attack": "Attacks", "perturbation": "Changes that should change nothing", "defence": "Defences"}


def offered_page(offered: Sequence[Offered]) -> Document:
    """All that one can attack and guard with, each with an example."""
    return Document(
        "Attacks on the context",
        "claim:NAME/CHANNEL/DIRECTION, such as claim:authority/user/safe; the beginning of a name is all that begin with it, "
        "all is all",
        (),
        tuple(
            Section(role, heading, (offered_table(role, [one for one in offered if one.role == role]),), brief=True)
            for role, heading in HEADS.items()
        ),
    )


def offered_table(role: str, rows: Sequence[Offered]) -> Table:
    """A row a claim, with every place and direction it has; a row each of what has neither."""
    together: dict[str, list[Offered]] = {}
    for one in rows:
        together.setdefault(one.name.partition("/")[0], []).append(one)
    columns: dict[str, Callable[[list[Offered]], str]] = {
        "Name": lambda group: group[0].name.partition("/")[0],
        "Channels; directions": lambda group: "; ".join(
            ", ".join(dict.fromkeys(part)) for part in zip(*(one.name.split("/")[1:] for one in group), strict=True)
        ),
        "What it is": lambda group: group[0].title,
        "Example": lambda group: group[0].example,
    }
    if not any("/" in one.name for one in rows):
        del columns["Channels; directions"]
    return table_by(f"offered-{role}", HEADS[role], together.values(), columns)
