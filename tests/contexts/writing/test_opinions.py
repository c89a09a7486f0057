import json

import pytest
from tests.contexts.drafts import room
from tests.support.databases import new_database

from casewise.contexts.opinions import messages_about, read_opinion


@pytest.fixture
def place(tmp_path):
    store = new_database(tmp_path / "x.db")
    yield room(store, count=1).place()
    store.close()


def test_a_wrong_parameter_is_put_right_by_the_quotation(place):
    row = {"check": "drift", "parameter": "sender.platform_type", "evidence": "bank clerk", "message": "It is milder."}
    read = read_opinion(json.dumps({"findings": [row]}), place, by="x")

    assert "problem" not in read
    assert read["findings"][0].parameter == "recipient.type"


def test_the_braces_of_the_form_are_single_and_a_query_is_not_formatted(place):
    text = messages_about(place)[0].content

    assert '{"findings": [{"check"' in text
    assert place.query.text in text
