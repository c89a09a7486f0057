import asyncio
import json

import pytest
from tests.contexts.drafts import room
from tests.contexts.wordings import wording

from casewise import database
from casewise.contexts.review import Act
from casewise.contexts.writing.opinions import ask_opinions, messages_about, read_opinion
from casewise.models import FakeModel, Rejected


@pytest.fixture
def here(tmp_path):
    store = database.open(str(tmp_path / "x.db"))
    yield room(store, count=1)
    store.close()


def opinion(**changes):
    row = {"check": "drift", "parameter": "recipient.type", "evidence": "bank clerk", "message": "It is milder."}
    return json.dumps({"findings": [row | changes]})


def asked(here, answer):
    return asyncio.run(ask_opinions(here.store, here.draft, FakeModel(answer, name="some/model")))


def test_a_finding_goes_to_the_reviewers_with_its_evidence_and_its_author(here):
    summary = asked(here, opinion())

    (finding,) = here.place().findings
    assert (finding.check, finding.parameter, finding.evidence, finding.by) == (
        "drift",
        "recipient.type",
        "bank clerk",
        "some/model",
    )
    assert summary.findings == {"drift": 2}


@pytest.mark.parametrize(
    "changes", [{"evidence": "words that are not there"}, {"evidence": ""}, {"check": "boring"}, {"evidence": "a"}]
)
def test_what_quotes_nothing_or_names_no_known_problem_is_left_out_and_counted(here, changes):
    summary = asked(here, opinion(**changes))

    assert here.place().findings == []
    assert summary.unquoted == 2


def test_a_wrong_parameter_is_put_right_by_the_quotation(here):
    read = read_opinion(opinion(parameter="sender.platform_type"), here.place(), by="x")

    assert read.findings is not None
    assert read.findings[0].parameter == "recipient.type"


@pytest.mark.parametrize("answer", ["I'd rather not.", '{"findings": "none"}', "{", Rejected("content_filter", "no")])
def test_a_reply_that_is_no_opinion_is_counted_and_finds_nothing(here, answer):
    summary = asked(here, lambda _messages, _options: answer)

    assert (summary.asked, summary.unread) == (2, 2)
    assert here.place().findings == []


def test_asking_again_replaces_what_the_same_model_said(here):
    for _ in range(2):
        asked(here, opinion())

    assert len(here.place().findings) == 1


def test_an_opinion_of_words_that_were_revised_meanwhile_is_not_kept(here):
    place = here.place()

    def revising(_messages, _options):
        if here.place().state.phase == "generated":
            for by in (here.ada, here.ben):
                here.do(place, by, Act.SUBMIT, wording(recipient__type="Cashier"))
        return opinion()

    asked(here, revising)

    assert here.place(0).findings == []


def test_the_braces_of_the_form_are_single_and_a_query_is_not_formatted(here):
    text = messages_about(here.place())[0].content

    assert '{"findings": [{"check"' in text
    assert here.place().query.text in text
