"""A study from Python: written, checked, and asked for by its phase."""

import pytest

from casewise import api
from casewise.errors import StudyError


@pytest.fixture
def study(tmp_path):
    api.studies.init("demo", to=tmp_path / "study.toml")
    return tmp_path / "study.toml"


def test_a_new_study_is_checked_and_says_what_it_needs(study):
    plan = api.studies.check(study)

    assert plan.estimate.ratings == plan.estimate.items * plan.design.ratings.per_item


def test_a_round_that_is_not_open_says_how_to_open_it(study, tmp_path):
    with pytest.raises(StudyError, match="casewise study open"):
        api.studies.status(study, database=str(tmp_path / "x.db"))
    with pytest.raises(StudyError, match="--phase is 'mian'"):
        api.studies.status(study, phase="mian", database=str(tmp_path / "x.db"))


def test_a_preset_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(StudyError, match="--preset is 'big'"):
        api.studies.init("demo", preset="big", to=tmp_path / "study.toml")


def test_a_pilot_that_is_open_has_links_and_a_status(study, tmp_path):
    text = study.read_text(encoding="utf-8")
    for placeholder, own in (
        ("Your name", "Ada"),
        ("Your institution", "A school"),
        ("you@example.org", "ada@school.net"),
    ):
        text = text.replace(placeholder, own)
    study.write_text(text, encoding="utf-8")
    database = str(tmp_path / "x.db")

    opened = api.studies.pilot(study, queries=2, per_item=1, database=database, site_url="http://here")
    links = [*api.studies.invite(study, people=2, phase="pilot", database=database, site_url="http://here")]
    found = api.studies.status(study, phase="pilot", database=database)

    assert opened.url.startswith("http://here/study/")
    assert len(set(links)) == 2
    assert all(link.startswith(opened.url) for link in links)
    assert (found.state, found.overview.exact) == ("open", False)
    assert api.studies.change_state(study, "paused", phase="pilot", database=database).phase == "pilot"
    assert api.studies.status(study, phase="pilot", database=database).state == "paused"
