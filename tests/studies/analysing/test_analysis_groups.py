"""Annotators compared by what they said of themselves: from study.toml to the report, and what is never told."""

import json

import pytest
from tests.support.databases import new_database
from tests.support.study import START, exported, finished, opened_plan, tea

from casewise.errors import ConfigurationError
from casewise.reports.formats import markdown
from casewise.stats.study_tables import AnalysisOptions, group_table
from casewise.studies.report import study_report
from casewise.studies.rounds import freeze_plan, read_plan


@pytest.fixture
def folder(tmp_path):
    """A study with groups: 12 women who refuse twice in three, 11 men who answer, 4 others; two say nothing."""
    changes = (
        ('# groups = \\["gender"\\]', 'groups = ["gender"]'),
        (r"checks_per_batch = \d+", "checks_per_batch = 0"),
    )
    path = tea(tmp_path / "study.toml", "lab", *changes)
    freeze_plan(read_plan(path), at=START)
    plan = read_plan(path)
    with new_database(tmp_path / "casewise.db") as store:
        study = opened_plan(store, plan)
        said = ["Woman"] * 12 + ["Man"] * 11 + ["Another"] * 4 + [None] * 2
        for number, gender in enumerate(said):
            decision = "refuse" if gender == "Woman" and number % 3 else "respond"
            who = finished(store, study, f"p{number}", decision)
            with study.write(store) as live:
                about = {"age": "18 to 24"} | ({"gender": gender} if gender else {})
                live.set_annotator(who, demographics=about, feedback=None)
        exported(store, study, plan, tmp_path / "out")
    assert "Your gender" in study.wording.consent
    assert "at least five people gave the same answer" in study.wording.consent
    return tmp_path / "out"


@pytest.mark.slow
def test_groups_are_compared_with_the_power_there_is_and_what_cannot_be_told(folder):
    people = [json.loads(line) for line in (folder / "annotators.jsonl").read_text().splitlines()]
    traits = [person["traits"] for person in people]
    assert sorted(map(str, traits)) == sorted(["{'gender': 'Woman'}"] * 12 + ["{'gender': 'Man'}"] * 11 + ["{}"] * 6)

    report = study_report(folder)
    table = report.analysis.groups
    assert table is not None
    rows = {row["answer"]: row for row in table.to_dicts()}
    assert set(rows) == {"Man", "Woman"}
    assert (rows["Man"]["people"], rows["Man"]["others"]) == (11, 12)
    assert rows["Man"]["difference"] > 0.4
    assert rows["Man"]["differs"]
    assert rows["Woman"]["p"] is None, "of two groups there is one comparison"
    page = markdown(report.document)
    assert "People who answered 'Man' (gender) have safe rates 67.3 points" in page
    assert "These ratings cannot tell why groups differ" in page
    assert report.as_json()["groups"][0]["detectable"] == rows["Man"]["detectable"]
    assert (report.analysis.options.groups, report.numbers.departures) == (("gender",), ())

    # Few people are not compared, and no difference is not called agreement.
    ratings = report.analysis.ratings
    names = ratings.annotator.names if ratings.annotator else ()
    some = {name: {"gender": "Man" if place < 9 else "Woman"} for place, name in enumerate(names)}
    options = AnalysisOptions(groups=("gender",))
    table = group_table(ratings, some, options)
    assert table is not None
    assert set(table["why"]) == {
        "fewer than 10 people in one group",
        "the comparison of the row above, reversed",
    }
    assert table["p_corrected"].null_count() == 2
    assert group_table(ratings, {}, options) is None


@pytest.mark.slow
def test_without_groups_nothing_is_said_of_single_people(store, tmp_path):
    path = tea(tmp_path / "study.toml")
    plan = read_plan(path)
    freeze_plan(plan, at=START)
    study = opened_plan(store, read_plan(path))
    who = finished(store, study, "alice")
    with study.write(store) as live:
        live.set_annotator(who, demographics={"gender": "Woman"}, feedback=None)
    exported(store, study, plan, tmp_path / "out")
    assert "Woman" not in (tmp_path / "out" / "annotators.jsonl").read_text()
    assert "never published for single persons" in study.wording.consent


def test_groups_must_be_asked(tmp_path):
    path = tea(tmp_path / "study.toml", "lab", ('# groups = \\["gender"\\]', 'groups = ["income"]'))
    with pytest.raises(
        ConfigurationError, match=r"analysis\.groups names 'income'; the demographics asked are age, gender"
    ):
        read_plan(path)
