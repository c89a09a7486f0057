"""Pages of studies of replies that are to be given and of actions, after a conversation, with texts and a quiz of their own."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import select
from tests.support.app import signed_in
from tests.support.study import START, Walker, design, opened_plan

from casewise.database.staff import Role
from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.records import Item, Query
from casewise.records.item import Turn
from casewise.storage import About, Benchmark, write_benchmark
from casewise.storage.load import load
from casewise.studies.export import export
from casewise.studies.freeze import collect
from casewise.studies.monitor import monitor
from casewise.studies.owner import item_states
from casewise.studies.rounds import init_study, read_plan, set_state

BEFORE = (Turn(role="user", text="How is Mr Brown?"), Turn(role="assistant", text="Whom may I tell?"))


def benchmark(judged):
    queries = tuple(
        Query(text=f"Send the values of day {day}", judged=judged, before=BEFORE, category="medical advice")
        for day in range(6)
    )
    items = tuple(Item(query_id=query.id, condition="no_context") for query in queries)
    return Benchmark(About(name="clinic", version="1"), queries, (), items, ())


def opened_study(app, tmp_path, judged, language, rates="requests"):
    write_benchmark(benchmark(judged), tmp_path / "bench")
    path = tmp_path / "study.toml"
    made = init_study(
        str(tmp_path / "bench"), name="clinic", path=path, today=START.date(), contact=design().contact, rates=rates
    )
    changes = (("checks_per_batch = 2", "checks_per_batch = 2"), ('language = "en"', f'language = "{language}"'))
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(
        re.sub(r'kind = "invitation".*', 'kind = "code"\nperson = "participant"\ncompletion_code = "GOOD"', text)
    )
    plan = read_plan(path)
    return made, plan, opened_plan(app.state.database, plan, "pilot")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judged", "rates", "heading", "asks"),
    [
        ("reply", "given_replies", "The reply", "Should this chatbot give this reply?"),
        ("action", "actions", "The action", "Should this agent take this action?"),
    ],
)
def test_the_page_shows_the_conversation_then_what_is_judged_with_its_own_quiz(
    app, tmp_path, judged, rates, heading, asks
):
    made, plan, study = opened_study(app, tmp_path, judged, "en")
    assert made.rates == rates
    walker = Walker(app, study)
    assert walker.to_quiz() == "/quiz"
    assert "Whether the program should do what is shown" in walker.page
    assert (
        walker.send("/quiz", **{f"question-{n}": question.right for n, question in enumerate(study.wording.quiz)})
        == "/rate"
    )
    while walker.asked_for:
        walker.decide()
    page = walker.page
    assert page.index("The conversation before") < page.index("Whom may I tell?") < page.index(f">{heading}<")
    assert page.index(f">{heading}<") < page.index("Send the values of day") < page.index(asks)
    assert ">Allow<" in page
    assert walker.rate_all("refuse") == "/questions"
    assert walker.send("/questions") == "/end"

    with study.read(app.state.database) as live:
        (condition,) = monitor(live).overview.conditions
        done = export(live, benchmark=plan.benchmark, design=plan.design, folder=tmp_path / "out")
    assert (condition.valid, condition.safe, done.ratings) == (6, 0, 6)


def test_the_pages_of_actions_are_in_spanish_too(app, tmp_path):
    _, _, study = opened_study(app, tmp_path, "action", "es")
    walker = Walker(app, study)
    walker.to_rating()
    for words in ("La conversación anterior", "La acción", "¿Debería este agente hacer esta acción?", "Permitir"):
        assert words in walker.page
    assert "{{" not in walker.open("/tutorial") + walker.page
    assert "una de las acciones" in walker.page


def test_items_of_another_kind_are_refused_with_the_setting_that_fits(tmp_path):
    plan = design(conditions=["no_context"])
    with pytest.raises(StudyError, match="Set rates = 'actions'"):
        collect(plan, benchmark("action"))
    mixed = replace(benchmark("reply"), queries=benchmark("reply").queries)
    with pytest.raises(StudyError, match="kind 'reply'"):
        collect(plan.model_copy(update={"rates": "actions"}), mixed)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "label"), [("en", "Ask me first"), ("es", "Preguntarme antes")])
def test_to_be_asked_first_is_a_third_answer_and_a_vote_of_its_own(app, tmp_path, language, label):
    _, plan, study = opened_study(app, tmp_path, "action", language, "actions_or_ask")
    walker = Walker(app, study)
    assert walker.to_quiz() == "/quiz"
    right = {f"question-{n}": question.right for n, question in enumerate(study.wording.quiz)}
    assert len(right) == 6
    assert walker.send("/quiz", **right) == "/rate"
    while walker.asked_for:
        walker.decide()
    assert f">{label}<" in walker.page
    assert walker.rate_all("ask") == "/questions"
    assert walker.send("/questions") == "/end"
    with study.read(app.state.database) as live:
        export(live, benchmark=plan.benchmark, design=plan.design, folder=tmp_path / "out")
    votes = load(tmp_path / "out").votes.values()
    assert [(vote.total, vote.ask) for vote in votes] == [(0, 1)] * 6

    with study.write(app.state.database, START) as live:
        set_state(live, "closed", by="owner")
        who = live.scalars(select(tables.annotators.c.id)).one()
        assert [item.votes for item in item_states(live)] == [{"safe": 0, "unsafe": 0, "ask": 1}] * 6
    owner = signed_in(app, "Olga", Role.OWNER)
    assert owner.get(f"/studies/{study.id}/items").text.count('data-head="Ask me first" class="number">1<') == 6
    page = owner.get(f"/studies/{study.id}/people/{who}").text
    assert (page.count(">Ask me first<"), "Respond" in page) == (6, False)


def test_where_asking_is_not_offered_it_is_no_answer(app, tmp_path):
    _, _, study = opened_study(app, tmp_path, "action", "en")
    walker = Walker(app, study)
    walker.to_quiz()
    walker.send("/quiz", **{f"question-{n}": question.right for n, question in enumerate(study.wording.quiz)})
    while walker.asked_for:
        walker.decide()
    title = re.search("<title>.*?</title>", walker.page)
    walker.decide("ask")
    assert title is not None
    assert title[0] in walker.page


def test_a_study_that_offers_to_ask_holds_actions_alone(app, tmp_path):
    with pytest.raises(StudyError, match="does not hold only actions"):
        opened_study(app, tmp_path, "reply", "en", "actions_or_ask")
