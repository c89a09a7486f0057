"""Texts that a model makes, and what they took."""

import asyncio
from collections.abc import Callable

from casewise.models.load import LoadedModel
from casewise.models.prices import Prices, Spend
from casewise.models.protocol import FakeModel, Message, Reply, ReplyOptions, Usage, user_messages
from casewise.runs.limits import InFlight, RunObserver
from casewise.runs.texts import Maker, make_texts, maker_folder, makers_spend


def test_what_makers_took_includes_the_calls_of_a_session_that_was_killed(tmp_path):
    loaded = LoadedModel(FakeModel(Reply("better", "stop", usage=Usage(2, 1))), Prices(1e6, 1e6))
    maker = Maker("filter:fake/x", loaded, "1", user_messages, str)
    asyncio.run(make_texts(tmp_path, maker, ["good", "bad"]))
    assert makers_spend(tmp_path) == Spend(6.0, 6)

    InFlight(maker_folder(tmp_path, maker.name)).begin(Spend(10.0, 10))
    assert makers_spend(tmp_path) == Spend(21.0, 21)
    assert makers_spend(tmp_path, but=maker.name) == Spend()


class Waiting(FakeModel):
    """Says that it waits before each reply."""

    def set_notifier(self, notify: Callable[[str], None]) -> None:
        self.notify = notify

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        self.notify("the server is away")
        return await super().reply(messages, options)


def test_a_wait_for_a_server_is_said_whatever_the_run_is_of(tmp_path):
    maker = Maker("filter:fake/x", LoadedModel(Waiting("better"), Prices(0, 0)), "1", user_messages, str)
    lines: list[str] = []
    asyncio.run(make_texts(tmp_path, maker, ["good"], watch=RunObserver(say=lines.append)))

    assert lines == ["the server is away"]
