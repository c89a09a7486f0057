"""Contexts from Python: selected, written, checked, with the numbers out."""

import pytest

from casewise import api
from casewise.errors import ConfigurationError


@pytest.fixture
def draft(tmp_path):
    database = str(tmp_path / "x.db")
    api.contexts.select("demo", draft="trades", per_category=1, database=database)
    return database


def test_contexts_are_written_and_checked(draft):
    done = api.contexts.generate("trades", "fake/contexts", database=draft)
    report = api.contexts.check("trades", database=draft)

    assert done.generated == report.contexts == 2 * 45
    assert api.contexts.status("trades", database=draft).as_json()


def test_what_is_to_be_sent_is_asked_for_first(draft):
    told = []

    def no(what, to):
        told.append((what, to))
        raise ConfigurationError("nothing was sent")

    with pytest.raises(ConfigurationError, match="nothing was sent"):
        api.contexts.generate("trades", "fake/contexts", database=draft, leave=no)

    assert told == [("the draft's queries", None)]
    assert api.contexts.generate("trades", "fake/contexts", database=draft).generated == 90
