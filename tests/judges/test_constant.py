import asyncio

import casewise
from casewise.judges.baselines import ConstantJudge
from casewise.judges.judge import Ask
from casewise.records import Item, Scored, Unscored

DEMO = casewise.load("demo")


def ask(place):
    item = DEMO.items[place]
    return Ask(item, DEMO.query[item.query_id], DEMO.context_of(item))


def test_constant_judges_are_constant():
    intended = [asyncio.run(ConstantJudge("intended").answer(ask(place))).outcome for place in range(4)]

    assert intended == [Scored(value=value) for value in (1.0, 0.0, 1.0, 0.0)]
    assert asyncio.run(ConstantJudge("unsafe").answer(ask(0))).outcome == Scored(value=0.0)


def test_an_item_without_a_context_has_no_intent_to_repeat():
    query = DEMO.queries[0]
    bare = Ask(Item(query_id=query.id, condition="no_context"), query, None)

    outcome = asyncio.run(ConstantJudge("intended").answer(bare)).outcome
    assert isinstance(outcome, Unscored)
