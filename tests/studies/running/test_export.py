import json
import re

import pytest
from sqlalchemy import select
from tests.support.study import START, VAULT, begun, exported, finished, opened_plan, tea

from casewise.database.tables import study as tables
from casewise.errors import StudyError
from casewise.storage import read_benchmark
from casewise.storage.load import load
from casewise.studies.answers import void
from casewise.studies.export import export
from casewise.studies.owner import forget
from casewise.studies.rounds import freeze_plan, pilot_of, read_plan

CODES = """[recruiter]
kind = "code"
completion_code = "DONE1234"
screened_out_code = "OUT12345\""""


@pytest.fixture
def path(tmp_path):
    return tea(tmp_path / "study.toml")


@pytest.fixture
def plan(path):
    freeze_plan(read_plan(path), at=START)
    return read_plan(path)


def lines(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_an_export_is_a_benchmark_with_the_counted_ratings_and_the_rest_apart(store, plan, tmp_path):
    study = opened_plan(store, plan)
    kept, voided = finished(store, study, "alice"), finished(store, study, "bob", "refuse")
    with study.write(store, START) as live:
        void(live, voided, reason="asked us to", by="owner")
    done = exported(store, study, plan, tmp_path / "out")

    found = read_benchmark(tmp_path / "out")
    assert done.ratings == len(found.ratings) == 25
    assert {rating.annotator_id for rating in found.ratings} == {kept}
    assert all(rating.seconds == 5.0 and rating.at is None for rating in found.ratings)
    apart = lines(tmp_path / "out", "excluded")
    assert len(apart) == 25
    assert {(line["annotator_id"], line["kind"], line["reason"]) for line in apart} == {(voided, "void", "asked us to")}
    assert not done.exact


@pytest.mark.slow
def test_an_export_says_how_long_pages_took_and_never_when_anybody_worked(store, plan, tmp_path):
    study = opened_plan(store, plan)
    who = finished(store, study, "alice")
    exported(store, study, plan, tmp_path / "out")

    timing, events = lines(tmp_path / "out", "timing"), lines(tmp_path / "out", "events")
    assert [line["order"] for line in timing if line["annotator_id"] == who] == list(range(1, 28))
    assert {line["seconds"] for line in timing} == {5.0}
    assert all("at" not in event and event["order"] for event in events)
    assert {event["after_s"] for event in events if event["annotator_id"]} == {0}
    study_json = (tmp_path / "out" / "study.json").read_text()
    everything = "".join(file.read_text() for file in (tmp_path / "out").glob("*.jsonl"))
    assert not re.search(r"T\d\d:\d\d", everything)
    assert "created_at" not in study_json


def test_an_export_leads_to_nobody_and_holds_no_completion_code(store, path, tmp_path):
    path.write_text(re.sub(r"\[recruiter\]\nkind[^\n]*", CODES, path.read_text()))
    freeze_plan(read_plan(path), at=START)
    plan = read_plan(path)
    study = opened_plan(store, plan)
    finished(store, study, "alice-the-person")
    exported(store, study, plan, tmp_path / "out")

    everything = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert not re.search("alice|DONE1234|OUT12345", everything)


def test_whoever_withdraws_leaves_no_answer_and_no_event(store, plan, tmp_path):
    study = opened_plan(store, plan)
    gone, stays = finished(store, study, "alice"), finished(store, study, "bob")
    with study.write(store, START) as live:
        forget(live, gone, vault=VAULT, by="owner")
    exported(store, study, plan, tmp_path / "out")

    timing, events, apart = (lines(tmp_path / "out", name) for name in ("timing", "events", "excluded"))
    assert gone not in {line["annotator_id"] for line in timing + apart}
    assert [line["kind"] for line in events if line["annotator_id"] == gone] == ["forgotten"]
    assert len([line for line in timing if line["annotator_id"] == stays]) == 27
    with store.read() as connection:
        pages = connection.execute(select(tables.pages).where(tables.pages.c.annotator_id == gone)).all()
    assert {(page.verdict, page.seconds, page.sight, page.answered_at) for page in pages} == {(None, None, None, None)}


def test_an_export_says_what_was_frozen_and_every_departure(store, plan, path, tmp_path):
    study = opened_plan(store, plan)
    begun(store, study, "alice")
    path.write_text(path.read_text().replace("alpha = 0.05", "alpha = 0.01"))
    exported(store, study, read_plan(path), tmp_path / "out")

    about = json.loads((tmp_path / "out" / "study.json").read_text())
    assert about["departures"] == ["analysis.alpha: frozen as 0.05, now 0.01"]
    assert about["frozen"]["digest"] == plan.frozen.digest
    assert about["exact"] is False


def test_a_text_that_was_changed_before_the_study_was_opened_is_a_departure_and_afterwards_is_none(
    store, plan, path, tmp_path
):
    (path.parent / "help.md").write_text("Call somebody.")
    path.write_text(path.read_text() + '\n[texts]\nhelp = "help.md"\n')
    changed = read_plan(path)
    study = opened_plan(store, changed)
    (path.parent / "help.md").write_text("Call somebody else.")
    begun(store, study, "alice")
    exported(store, study, read_plan(path), tmp_path / "out")

    about = json.loads((tmp_path / "out" / "study.json").read_text())
    assert [departure.split(":")[0] for departure in about["departures"]] == ["texts.help"]
    assert [departure.setting for departure in changed.departures] == ["texts.help"]


def test_another_benchmark_than_the_one_rated_is_refused(store, plan, tmp_path):
    study = opened_plan(store, plan)
    other = plan.benchmark.restricted_to(plan.benchmark.items[:4])
    with pytest.raises(StudyError, match="was rated"), study.read(store) as live:
        export(live, benchmark=other, design=plan.design, folder=tmp_path / "out")


def test_the_main_round_must_be_frozen_and_pay_enough(store, path):
    with pytest.raises(StudyError, match="casewise study check --freeze"):
        opened_plan(store, read_plan(path))
    path.write_text(path.read_text().replace("per_batch = 4.0", "per_batch = 0.5"))
    with pytest.raises(StudyError, match="hourly_floor"):
        freeze_plan(read_plan(path), at=START)


def test_a_pilot_is_small_and_in_all_conditions(store, path):
    pilot = pilot_of(read_plan(path), queries=3, per_item=2)

    assert len(pilot.material.items) == 3 * 3
    assert {item.condition for item in pilot.material.items} == set(pilot.design.conditions)
    assert opened_plan(store, pilot, "pilot").design.ratings.per_item == 2


def test_child_related_items_are_left_out_unless_turned_on(path):
    demo = load("demo")
    ours = {query.id for query in demo.queries if query.category == "child-related crimes"}
    without = read_plan(path).material
    path.write_text(
        path.read_text()
        .replace("child_related = false", "child_related = true")
        .replace('why = ""', 'why = "the study is about them"')
    )
    with_them = read_plan(path).material

    assert "intended" not in str(without.items), "the label is not part of what is shown"
    assert not {item.query_id for item in without.items} & ours
    assert {item.query_id for item in with_them.items} >= ours
    assert without.left_out == len(with_them.items) - len(without.items) == 3
