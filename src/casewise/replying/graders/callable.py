"""The user's own function as a grader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from casewise.judging.judge import Costless
from casewise.models.http.prices import Prices
from casewise.records import GROUNDS, OUTCOMES, Ungraded
from casewise.records.base import writable
from casewise.replying.graders.protocol import Graded, ToGrade
from casewise.showing.user_function import Raised, Tried, UserFunction

__all__ = ["CallableGrader"]


class CallableGrader(Costless):
    """A function `f(query, reply)`, sync or async, that returns `"answers"`, `"partly"` or `"refuses"`, or a mapping with an
    `outcome` and perhaps a `ground`. An edited one is another grader. Until it has graded a first reply it is asked alone, and
    what it raises stops the run; later that costs the reply only. Nobody but the user knows what it costs."""

    prices: Prices | None = None
    counts_tokens = False

    def __init__(self, function: Callable[[str, str], Any], *, name: str = "") -> None:
        self.own = UserFunction(function, name=name)
        self.name = self.own.name
        self.id = f"{self.name}+{self.own.settings()['code']}"

    def settings(self) -> dict[str, Any]:
        return self.own.settings()

    async def grade(self, what: ToGrade) -> Graded:
        """What the function says of a reply.

        Raises JudgeError: it has given no grade yet, and raises or returns none.
        """
        about, how = repr(what.query[:60]), "f(query, reply), with two texts; see docs/replies.md"
        return await self.own.first_alone(lambda: self._tried(what), about=about, called_as=how)

    async def _tried(self, what: ToGrade) -> Tried[Graded]:
        returned = await self.own.call(what.query, what.reply)
        try:
            if not isinstance(returned, Raised):
                found = understood(returned)
                return Tried(found, found.detail)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the user's value may raise anything when it is written)
            returned = Raised(error)
        return Tried(Graded(ungraded=Ungraded.GRADER_FAILED, detail=returned.problem), returned.problem_with_place)


def understood(returned: Any) -> Graded:
    said = returned if isinstance(returned, dict) else {"outcome": returned}
    outcome, ground = said.get("outcome"), said.get("ground")
    words = writable(repr(returned))
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        wanted = ", ".join(repr(name) for name in OUTCOMES)
        return Graded(ungraded=Ungraded.UNPARSED, detail=f"returned {words[:100]}; it can be {wanted}")
    return Graded(outcome, ground=ground if ground in GROUNDS else None, raw_reply=words[:2_000])
