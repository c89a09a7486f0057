"""Texts that a model makes, and what they took."""

import asyncio
from collections.abc import Callable

import pytest

from casewise.errors import RunConflict
from casewise.models.load import LoadedModel
from casewise.models.prices import Prices, Spend
from casewise.models.protocol import FakeModel, Message, Rejected, Reply, ReplyOptions, Usage, user_messages
from casewise.runs.limits import InFlight, RunObserver
from casewise.runs.texts import (
    Maker,
    MakerIdentity,
    TextAsk,
    estimate_texts,
    make_texts,
    maker_folder,
    makers_spend,
    plan_texts,
    read_made_texts,
    text_key,
)


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


def maker_of(model: FakeModel, name: str = "filter:fake/x", version: str = "1") -> Maker:
    return Maker(name, LoadedModel(model, Prices(1e6, 1e6)), version, user_messages, str)


def test_each_text_is_made_once_and_kept_by_its_maker_and_its_key(tmp_path):
    model = FakeModel(lambda messages, _options: messages[0].content.upper())
    first = asyncio.run(make_texts(tmp_path, maker_of(model), ["good", "bad", "good"]))
    again = asyncio.run(make_texts(tmp_path, maker_of(model), ["bad", "new"]))

    assert (first.n_calls, first.n_usable, first.resumed) == (2, 2, 0)
    assert (again.n_calls, again.n_usable, again.resumed, again.maker) == (1, 2, 1, "filter:fake/x")
    made = read_made_texts(tmp_path)
    assert {key: text.made for key, text in made.items()} == {
        ("filter:fake/x", text_key(text)): text.upper() for text in ("good", "bad", "new")
    }
    assert made["filter:fake/x", text_key("bad")].raw_reply == "BAD"


def test_a_text_may_have_messages_of_its_own():
    model = FakeModel("made")
    maker = maker_of(model)
    own = TextAsk("place 1", (Message("system", "Write."), Message("user", "Now.")))

    assert maker.messages(own) == own.messages
    assert maker.messages(TextAsk("good")) == user_messages("good")
    assert [ask for (ask,) in plan_texts(["good", own, "good"]).bundles] == [TextAsk("good"), own]


def test_a_text_that_could_not_be_made_says_why_and_is_made_later_if_that_may_pass(tmp_path):
    def never(_text: str) -> str:
        raise ValueError("no filter in it")

    unreadable = Maker("a", LoadedModel(FakeModel("x"), None), "1", user_messages, never)
    refused = maker_of(FakeModel(lambda *_: Rejected("content_filter", "not that")), "b")
    for maker in (unreadable, refused):
        assert asyncio.run(make_texts(tmp_path, maker, ["good"])).n_unusable == 1

    made = read_made_texts(tmp_path)
    reasons = [(text.problem, text.failure, text.made, text.may_pass) for text in made.values()]
    problems = ("no filter in it", "content filter: not that")
    assert sorted(reasons) == sorted((problem, problem, None, False) for problem in problems)
    away = maker_of(FakeModel("x")).unanswered(TextAsk("good"), "unavailable", "away")
    assert (away.problem, away.may_pass) == ("unavailable: away", True)


def test_another_version_of_a_task_is_another_maker(tmp_path):
    asyncio.run(make_texts(tmp_path, maker_of(FakeModel("x")), ["good"]))
    with pytest.raises(RunConflict):
        asyncio.run(make_texts(tmp_path, maker_of(FakeModel("x"), version="2"), ["good"]))

    assert MakerIdentity(maker="a", version="1", settings={}) != MakerIdentity(maker="a", version="2", settings={})


def test_makers_whose_names_a_file_cannot_have_have_folders_of_their_own(tmp_path):
    folders = [maker_folder(tmp_path, name).name for name in ("filter:a/b", "filter:a-b", "x" * 200)]

    assert len(set(folders)) == 3
    assert folders[0].startswith("filter-a-b-")
    assert [len(folder) for folder in folders] == [17, 17, 87]


def test_a_made_text_is_reckoned_as_long_as_the_text_and_a_claim_as_eighty_tokens():
    maker = maker_of(FakeModel("x"))

    assert maker.estimate_usage(TextAsk("x" * 400)) == Usage(100, 116)
    assert maker.estimate_usage(TextAsk("x" * 40_000)).output_tokens == 1024
    assert maker.estimate_usage(TextAsk("place", user_messages("x" * 8))) == Usage(2, 80)
    estimate = estimate_texts(maker, ["x" * 400, "y" * 400])
    assert (estimate.n_calls, estimate.input_tokens, estimate.output_tokens, estimate.cost_usd) == (2, 200, 232, 432.0)
