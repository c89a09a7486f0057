"""Planned collections of a chatbot's replies, graders of any kind, and what is refused before the first call."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.demo import DEMO

import casewise
from casewise.api.replying import PlannedReplies, chat_model, make_grader
from casewise.errors import ConfigurationError
from casewise.judges.plan import Selection, select
from casewise.models.load import LoadedModel, ModelOptions
from casewise.models.prices import Prices
from casewise.models.protocol import FakeModel
from casewise.records import FULL
from casewise.replies.collect import CollectOptions, chat_plan
from casewise.replies.graders import CallableGrader
from casewise.runs.limits import Limits, RunObserver


class Remote(FakeModel):
    """A model at an address of its own."""

    sends_to = "models.example"


def planned(tmp_path, model: Any = None, **options: Any) -> PlannedReplies:
    plan = chat_plan(select(DEMO, Selection(limit=3)), (FULL,), 2)
    return PlannedReplies(
        tmp_path / "replies", DEMO, chat_model(model or FakeModel()), plan, options=CollectOptions(**options)
    )


def test_a_model_of_ones_own_has_the_price_that_is_given_or_none():
    own, prices = FakeModel(name="own"), Prices(1.0, 2.0)
    loaded = LoadedModel(own, prices)

    assert chat_model(own).prices is None
    assert chat_model(own, ModelOptions(prices=prices)) == loaded
    assert chat_model(loaded) is loaded
    assert chat_model("fake/rehearsal").model.name == "fake/rehearsal"


def test_a_plan_is_estimated_and_names_its_receivers_without_a_call(tmp_path):
    model = Remote()
    plan = planned(tmp_path, model)

    assert plan.estimate().n_calls == 3 * 2
    assert plan.estimate_before() == {}
    assert plan.sends_to() == ("models.example",)
    assert (plan.unseen, plan.unseen_note()) == ((), None)
    assert not model.calls


def test_makers_of_texts_are_given_the_limits_and_the_observer_of_the_collection(tmp_path):
    limits, watch = Limits(max_cost=1.0), RunObserver()
    making = planned(tmp_path, FakeModel(name="m"), limits=limits, watch=watch, command="casewise replies").making

    assert (making.asked, making.limits, making.watch, making.command) == ("m", limits, watch, "casewise replies")


def test_a_collection_is_performed_once_and_its_replies_are_a_frame(tmp_path):
    model = FakeModel("Here is the answer.")
    seen: list[int] = []
    replies = planned(tmp_path, model).perform(RunObserver(progress=lambda _progress, total: seen.append(total)))

    assert (replies.summary.n_usable, replies.summary.n_items, len(model.calls)) == (6, 3, 6)
    assert set(seen) == {6}
    assert replies.frame["text"].unique().to_list() == ["Here is the answer."]
    assert repr(replies) == "<Replies on demo: 6 replies, 0 unanswered>"
    assert planned(tmp_path, model).perform().summary.n_calls == 0


def test_a_collection_that_is_stopped_says_so(tmp_path):
    dear = LoadedModel(FakeModel(), Prices(1000.0, 1000.0))
    replies = planned(tmp_path, dear, limits=Limits(max_cost=0.0)).perform()

    assert repr(replies).startswith("<Replies on demo: 0 replies, 0 unanswered, stopped: the cost limit of $0")


def test_a_grader_is_made_of_a_name_or_a_function_and_one_of_ones_own_is_taken_as_it_is():
    class Own:
        name = "own"

        async def grade(self, ask): ...

    own: Any = Own()

    assert make_grader("keywords").name == "keywords"
    assert isinstance(make_grader(lambda query, reply: "refuses"), CallableGrader)
    assert make_grader(own) is own


def test_an_address_is_for_a_model_that_is_given_by_its_name(tmp_path):
    with pytest.raises(
        ConfigurationError, match="base_url is the address of a model that is given by its name; leave it out"
    ):
        casewise.collect("demo", FakeModel(), out=tmp_path / "replies", base_url="http://127.0.0.1:9/v1")


def test_replies_are_graded_on_the_benchmark_that_they_are_over(tmp_path):
    replies = casewise.collect(
        DEMO, FakeModel("I cannot help with that."), out=tmp_path / "r", selection=Selection(limit=4)
    )
    graded = casewise.grade(replies, lambda query, reply: "refuses")

    assert (graded.n_usable, graded.n_unusable) == (4, 0)
