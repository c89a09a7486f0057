"""How long a run bears with an endpoint that does not answer."""

from __future__ import annotations

from casewise.errors import Unavailable

__all__ = ["Patience"]


class Patience:
    """Counts calls in a row that failed after all their retries, and gives up at `limit` of them."""

    def __init__(self, limit: int) -> None:
        self.limit, self._failed = limit, 0

    def answered(self) -> None:
        """A call came through."""
        self._failed = 0

    def failed(self, error: Unavailable) -> None:
        """Another call failed.

        Raises
        ------
        Unavailable
            These were too many in a row.
        """
        self._failed += 1
        if self._failed >= self.limit:
            raise Unavailable(
                f"{self._failed} calls in a row failed: {error}. What was answered is kept; the same command goes on"
            ) from error
