"""A study from Python: written, checked, and asked for by its phase."""

import pytest

from casewise.api import Study
from casewise.errors import StudyError
from casewise.studies.rounds import init_study


@pytest.fixture
def study(tmp_path):
    init_study("demo", path=tmp_path / "study.toml")
    return tmp_path / "study.toml"


def test_a_new_study_is_checked_and_says_what_it_needs(study):
    plan = Study(study).plan()

    assert plan.estimate.ratings == plan.estimate.items * plan.design.ratings.per_item


def test_a_round_that_is_not_open_says_how_to_open_it(study, tmp_path):
    with pytest.raises(StudyError, match="casewise study open"):
        Study(study, database=str(tmp_path / "x.db")).status()
    with pytest.raises(StudyError, match="--phase is 'mian'"):
        Study(study, "mian", str(tmp_path / "x.db")).status()


def test_a_preset_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(StudyError, match="--preset is 'big'"):
        init_study("demo", preset="big", path=tmp_path / "study.toml")


def test_a_pilot_that_is_open_has_links_and_a_status(study, tmp_path):
    text = study.read_text(encoding="utf-8")
    for placeholder, own in (
        ("Your name", "Ada"),
        ("Your institution", "A school"),
        ("you@example.org", "ada@school.net"),
    ):
        text = text.replace(placeholder, own)
    study.write_text(text, encoding="utf-8")
    pilot = Study(study, "pilot", str(tmp_path / "x.db"), "http://here")

    opened = pilot.pilot(queries=2, per_item=1)
    links = pilot.invite(2)
    status = pilot.status()

    assert opened.url.startswith("http://here/study/")
    assert len(set(links)) == 2
    assert all(link.startswith(opened.url) for link in links)
    assert (status.state, status.monitor.overview.exact) == ("open", False)
    assert pilot.set_state("paused").phase == "pilot"
    assert pilot.status().state == "paused"
