"""Contexts of actions: two reviewed texts become four contexts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest
from tests.support.app import NOW
from tests.support.databases import new_database

from casewise.contexts.checks import Wording
from casewise.contexts.drafts import BenchmarkDraft, create_draft
from casewise.contexts.flows import CELLS, flow_remark, texts_by_condition
from casewise.contexts.generation import REHEARSALS, GenerationOptions, generate, well_formed_reply
from casewise.contexts.queue import check_draft
from casewise.contexts.record import read_record
from casewise.contexts.release import ReleaseOptions, as_benchmark
from casewise.contexts.review import Act, ReviewAction
from casewise.contexts.store import act, all_places, events_of
from casewise.database import Database
from casewise.models.load import ModelOptions, load_model
from casewise.models.prices import Spend
from casewise.models.protocol import FakeModel, Message, Reply, ReplyOptions, Usage
from casewise.records import Action, Category, Query, Taxonomy, action_parameters
from casewise.runs.limits import InFlight, Limits

PARAMETERS = action_parameters()


def wording(who: str, purpose: str, agent: str = "an assistant at a school") -> Wording:
    fields = {"sender.agent": agent, "recipient.who": who, "transmission_principle.purpose": purpose}
    return Wording.from_fields(fields, PARAMETERS)


RIGHT = wording("the teacher", "to plan the trip")
WRONG = wording("a shop", "to sell shoes")


def test_each_of_the_four_texts_is_made_of_words_of_the_two():
    four = texts_by_condition(RIGHT, WRONG, PARAMETERS)
    assert tuple(four) == CELLS
    assert four["wrong_recipient"] == wording("a shop", "to plan the trip")
    assert four["wrong_purpose"] == wording("the teacher", "to sell shoes")


@pytest.mark.parametrize(
    ("wrong", "check"),
    [
        (WRONG, None),
        (RIGHT, "identical pair"),
        (wording("a shop", "to sell shoes", agent="an assistant at a shop"), "not minimal"),
        (wording("the teacher", "to sell shoes"), "not varied"),
    ],
)
def test_two_texts_differ_in_recipient_and_purpose_and_in_nothing_else(wrong: Wording, check: str | None):
    remark = flow_remark(RIGHT, wrong, PARAMETERS)
    assert (remark and remark.check) == check


QUERIES = [
    Query(text=f"use {tool}", judged="action", action=Action(tool=tool), category="t") for tool in ("send", "pay")
]


def new_draft(store: Database) -> BenchmarkDraft:
    taxonomy = Taxonomy(name="tools", categories=(Category(name="t", domain="d"),))
    with store.write() as connection:
        return create_draft(connection, "x", queries=QUERIES, taxonomy=taxonomy, parameters=PARAMETERS, now=NOW)


def test_right_and_wrong_texts_of_actions_have_one_limit_and_a_killed_session_counts_too(tmp_path):
    """A text takes at most about 2,400 tokens, and is billed as 900."""
    store = new_database(tmp_path / "x.db")
    draft, billed = new_draft(store), list[int]()

    def bill(messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        billed.append(900)
        return replace(well_formed_reply(messages, options), usage=Usage(450, 450))

    def tokens(limit: int) -> str | None:
        options = GenerationOptions(limits=Limits(concurrency=1, max_tokens_total=limit), jobs=tmp_path / "jobs")
        return asyncio.run(generate(store, draft, FakeModel(bill), options=options)).stopped

    assert tokens(4000) == "the limit of 4,000 tokens"
    assert len(billed) == 2
    InFlight(tmp_path / "jobs").begin(Spend(0.0, 2000))
    assert tokens(6500) == "the limit of 6,500 tokens"
    store.close()
    assert len(billed) == 2


def test_a_draft_of_actions_is_released_with_four_contexts_for_each(tmp_path):
    store = new_database(tmp_path / "x.db")
    draft = new_draft(store)
    model = load_model("fake/contexts", ModelOptions(fakes=REHEARSALS)).model
    summary = asyncio.run(generate(store, draft, model, options=GenerationOptions()))
    with store.write() as connection:
        report = check_draft(connection, draft)
        places = all_places(connection, draft.id)
        asked = events_of(connection, places[1].id)[0]
        options = ReleaseOptions(version="1", unreviewed=True)
        record = read_record(connection, draft)
        benchmark = as_benchmark(draft, QUERIES, record, options=options, now=datetime(2026, 1, 1))  # noqa: DTZ001
    store.close()
    assert (summary.n_usable, summary.n_calls) == (4, 4)
    assert "not minimal" not in report.findings
    assert asked.detail is not None
    assert asked.detail["prompt"].startswith("casewise-action-contexts@1+")
    assert [item.condition for item in benchmark.items] == [*CELLS, *CELLS]
    assert [context.intended_safe for context in map(benchmark.context_of, benchmark.items) if context] == [
        True,
        False,
        False,
        False,
    ] * 2
    agents = {context.texts()["sender.agent"] for context in benchmark.contexts if context.query_id == QUERIES[0].id}
    assert len(agents) == 1


def test_an_unreviewed_release_makes_its_four_contexts_of_what_the_model_wrote(tmp_path):
    store = new_database(tmp_path / "x.db")
    draft = new_draft(store)
    asyncio.run(generate(store, draft, FakeModel(well_formed_reply), options=GenerationOptions()))
    with store.write() as connection:
        place = all_places(connection, draft.id)[0]
        for by in ("ada", "ben"):
            act(connection, place.id, ReviewAction(by=by, act=Act.SUBMIT, wording=RIGHT), seen=None, now=NOW)
        record = read_record(connection, draft)
        options = ReleaseOptions(version="1", unreviewed=True)
        benchmark = as_benchmark(draft, QUERIES, record, options=options, now=NOW)
    store.close()

    assert record.contexts[0].state.wording == RIGHT
    assert RIGHT.fields()["recipient.who"] not in {context.texts()["recipient.who"] for context in benchmark.contexts}
