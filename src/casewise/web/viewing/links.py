"""Where pages of the room lead: to addresses of a server, or to files of a folder."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlencode

from casewise.evaluation.viewing.choosing import ItemsWanted

__all__ = ["Links", "ListFiles", "Served", "file_of_item"]


class Links(Protocol):
    """How a page names others; None where there is no such page."""

    @property
    def live(self) -> bool:
        """Whether a server answers, so that filters and notes work."""

    def items(self, wanted: ItemsWanted, **changes: Any) -> str | None: ...

    def item(self, place: int, wanted: ItemsWanted) -> str | None: ...

    def static(self, name: str) -> str: ...


@dataclass(frozen=True)
class Served:
    """Addresses of the server."""

    live: bool = True

    def items(self, wanted: ItemsWanted, **changes: Any) -> str | None:
        """The list that is wanted."""
        words = replace(wanted, **({"page": 1} | changes)).words()
        return f"/?{urlencode(words)}" if words else "/"

    def item(self, place: int, wanted: ItemsWanted) -> str | None:
        """An item in the list that is wanted."""
        words = replace(wanted, page=1).words()
        return f"/item/{place + 1}{'?' if words else ''}{urlencode(words)}"

    def static(self, name: str) -> str:
        """A file that pages need."""
        return f"/static/{name}"


def file_of_item(place: int) -> str:
    """The file of an item's page."""
    return f"item-{place + 1:06d}.html"


@dataclass(frozen=True)
class ListFiles:
    """Files of a folder."""

    lists: dict[ItemsWanted, str]
    """The lists that there are, each with the beginning of its files' names."""
    written: frozenset[int] = field(default_factory=frozenset)
    """The places of the items that have a page."""
    live: bool = False

    def items(self, wanted: ItemsWanted, **changes: Any) -> str | None:
        """The file of a list, where there is one."""
        asked = replace(wanted, **changes)
        name = self.lists.get(replace(asked, page=1))
        page = asked.page if "page" in changes else 1
        return None if name is None else f"{name}.html" if page == 1 else f"{name}-{page}.html"

    def item(self, place: int, wanted: ItemsWanted) -> str | None:
        """The file of an item."""
        del wanted
        return file_of_item(place) if place in self.written else None

    def static(self, name: str) -> str:
        """A file that pages need."""
        return f"static/{name}"
