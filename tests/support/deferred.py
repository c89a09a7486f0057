"""An executor that hands calls over and does not wait: the answers are there when a later session comes for them."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

from tests.support.sums import Adder, Sum, SumAsk

from casewise.runs.engine import Group, RunSession, Tally
from casewise.runs.limits import Spend, spend_of


class Office:
    """Takes sums in, and does them when it pleases. It outlives every process that asks."""

    def __init__(self, adder: Adder) -> None:
        self.adder = adder
        self.taken: Counter[str] = Counter()
        self.waiting: dict[str, SumAsk] = {}
        self.ready: dict[str, Sum] = {}

    def take(self, name: str, ask: SumAsk) -> None:
        self.taken[name] += 1
        self.waiting[name] = ask

    def do(self, which: Callable[[int], bool] = lambda _place: True) -> None:
        """Do some of what waits, last come first."""
        for place, name in enumerate(reversed(list(self.waiting))):
            if which(place):
                self.ready[name] = self.adder.said(self.waiting.pop(name))


class DeferredExecutor:
    """Collects what is ready, hands over what is new, notes what is out, and ends."""

    def __init__(self, office: Office, jobs: Path) -> None:
        self.office, self.jobs = office, jobs

    async def __call__(self, session: RunSession) -> Tally:
        out: dict[str, float] = json.loads(self.jobs.read_text()) if self.jobs.exists() else {}
        budget, tally = session.budget, Tally()
        for cost in out.values():
            budget.set_aside(Spend(cost, 5))
        follow_ups: deque[Group] = deque()
        while (call := follow_ups.popleft() if follow_ups else next(session.calls, None)) is not None:
            name = session.name(call.asks[0])
            if name in self.office.ready and name in out:
                answer = self.office.ready[name]
                follow_ups.extend(session.keep(call, answer))
                budget.settle(Spend(out.pop(name), 5), spend_of(answer))
                tally.done += 1
            elif name in out:
                tally.pending += 1
            elif (lack := budget.lacks(call.at_most)) is not None:
                session.stop.ask(lack)
            elif not session.stop:
                budget.set_aside(call.at_most)
                out[name] = call.at_most.cost_usd
                self.office.take(name, call.asks[0])
                tally.pending += 1
        self.jobs.write_text(json.dumps(out))
        tally.stopped = session.stop.reason
        return tally
