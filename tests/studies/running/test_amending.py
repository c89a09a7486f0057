"""A round is changed while it runs: what was rated stays, and everything says what was changed."""

import re

import pytest
from tests.studies.test_store import VAULT, finished, seen
from tests.support.study import START, design

from casewise.errors import StudyError
from casewise.reports.study import study_report
from casewise.storage import load_benchmark, write_benchmark
from casewise.studies.answers import void
from casewise.studies.export import export
from casewise.studies.monitor import monitor
from casewise.studies.owner import amend, amendment_of
from casewise.studies.people import admit
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.rounds import freeze_plan, init_study, load_round, open_plan, read_plan, set_state


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "study.toml"
    init_study("demo", preset="lab", name="tea", path=found, today=START.date(), contact=design().contact)
    changed(found, r"checks_per_batch = 2", "checks_per_batch = 0")
    changed(found, r"per_item = 21", "per_item = 2")
    changed(found, r"conditions = \[.*", 'conditions = ["safe_revised", "unsafe_revised"]')
    changed(found, r"contrasts = .*", 'contrasts = [["safe_revised", "unsafe_revised"]]')
    freeze_plan(read_plan(found), at=START)
    return found


def changed(path, before, after):
    text = path.read_text()
    assert re.search(before, text)
    path.write_text(re.sub(before, after, text))


@pytest.fixture
def study(store, path):
    with store.write() as connection:
        return load_round(connection, open_plan(connection, read_plan(path), phase="main", now=START))


def amended(store, study, path):
    with store.write() as connection:
        plan = read_plan(path)
        found = amendment_of(connection, study, plan, now=START)
        amend(connection, study, plan, found, why="too wide intervals", by="owner", now=START)
        return found, load_round(connection, study.id)


@pytest.mark.slow
def test_more_ratings_of_each_item_keep_what_was_rated(store, study, path, tmp_path):
    for name, decision in zip("abcd", ("respond", "refuse", "respond", "refuse"), strict=True):
        finished(store, study, name, decision)
    before = seen(store, study)
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    with store.write() as connection:
        set_state(connection, study.id, "paused", by="owner", now=START)
    found, after = amended(store, study, path)

    assert found.changes == {"ratings.per_item": (2, 3)}
    assert found.after.ratings == 264
    assert (found.before.people, found.after.people) == (4, 8)  # for 38 slots, then 82, of each condition
    assert [change.contrast for change in found.power] == [("safe_revised", "unsafe_revised")]
    now = seen(store, after)
    assert (before.valid, before.promised, now.valid, now.promised) == (100, 176, 100, 264)
    for name in "efghijkl":
        finished(store, after, name, "respond" if name < "h" else "refuse")
    assert seen(store, after).exact

    plan = read_plan(path)
    with store.read() as connection:
        export(connection, after, benchmark=plan.benchmark, design=plan.design, folder=tmp_path / "out")
    notes = study_report(tmp_path / "out").notes
    assert "Amended while it ran: ratings.per_item was 2 and is 3 (too wide intervals)" in notes
    assert any("ratings.per_item: frozen as 2, now 3" in note for note in notes)


def test_a_round_is_amended_while_it_is_paused_and_only_in_what_keeps_what_was_rated(store, study, path):
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    with store.read() as connection, pytest.raises(StudyError, match="pause the round first"):
        amendment_of(connection, study, read_plan(path), now=START)
    with store.write() as connection:
        set_state(connection, study.id, "paused", by="owner", now=START)
    changed(path, r"per_item = 3 ", "per_item = 1 ")
    with pytest.raises(StudyError, match="only be raised"):
        amended(store, study, path)
    changed(path, r"per_item = 1 ", "per_item = 2 ")
    with pytest.raises(StudyError, match="nothing is changed"):
        amended(store, study, path)
    changed(path, r"per_annotator = 25", "per_annotator = 5")
    with pytest.raises(StudyError, match=r"ratings\.per_annotator cannot change"):
        amended(store, study, path)


def test_another_country_is_an_amendment_and_another_condition_is_another_study(store, study, path):
    with store.write() as connection:
        set_state(connection, study.id, "paused", by="owner", now=START)
    changed(path, r"countries = \[\]", 'countries = ["Kenya"]')
    found, after = amended(store, study, path)
    assert found.changes == {"eligibility.countries": ([], ["Kenya"])}
    assert after.design.eligibility.countries == ("Kenya",)
    assert found.currency == "EUR"
    changed(path, r"per_batch = 4\.0", "per_batch = 5.0")
    with pytest.raises(StudyError, match=r"agreed to \(changed: pay\.per_batch\)"):
        amended(store, after, path)
    changed(path, r"per_batch = 5\.0", "per_batch = 4.0")
    changed(path, r"conditions = \[.*", 'conditions = ["safe_revised", "unsafe_revised", "no_context"]')
    with pytest.raises(StudyError, match="conditions cannot change"):
        amended(store, after, path)


def test_what_is_still_to_come_is_one_sum_for_status_and_amend(store, study, path):
    finished(store, study, "a")
    with store.write() as connection:
        assert admit(connection, study, RecruiterIds("in the tutorial"), vault=VAULT, now=START)
        set_state(connection, study.id, "paused", by="owner", now=START)
    with store.read() as connection:
        money = monitor(connection, study, now=START).money
    assert money.promised == study.design.pay.per_batch
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    found, after = amended(store, study, path)
    assert (found.before.cost, found.before.people) == (
        money.to_come,
        6,
    )  # three for 63 slots, four for 88, one is there
    with store.read() as connection:
        assert found.after.cost == monitor(connection, after, now=START).money.to_come > money.to_come
    assert found.caution is None


def test_another_fee_is_said_to_hold_for_what_was_spent_too(store, study, path):
    with store.write() as connection:
        set_state(connection, study.id, "paused", by="owner", now=START)
    changed(path, r"fee_percent = [0-9.]+", "fee_percent = 50.0")
    found, _ = amended(store, study, path)
    assert "counted with the new fee too" in str(found.caution)
    with store.read() as connection:
        (said,) = monitor(connection, study, now=START).amendments
    assert re.fullmatch(r"2026-11-20: pay\.fee_percent was [0-9.]+ and is 50\.0 \(too wide intervals\)", said)


def benchmark_of(folder, queries):
    """The demo's first `queries`, as a benchmark of its own."""
    demo = load_benchmark("demo")
    some = {query.id for query in demo.queries[:queries]}
    write_benchmark(demo.keeping(item for item in demo.items if item.query_id in some), folder)


@pytest.mark.slow
def test_added_items_are_rated_as_often_as_the_others_and_newcomers_are_warned_of_them(store, path, tmp_path):
    benchmark_of(tmp_path / "few", 6)
    benchmark_of(tmp_path / "more", 12)
    (tmp_path / "study.frozen.json").unlink()
    changed(path, r'benchmark = "demo" ', 'benchmark = "few" ')
    freeze_plan(read_plan(path), at=START)
    with store.write() as connection:
        study = load_round(connection, open_plan(connection, read_plan(path), phase="main", now=START))
    assert study is not None
    for name in "ab":
        finished(store, study, name)
    with store.write() as connection:
        set_state(connection, study.id, "paused", by="owner", now=START)
    rated = seen(store, study).valid
    changed(path, r'benchmark = "few" ', f'benchmark = "{tmp_path / "more"}" ')
    with store.write() as connection:
        late = admit(connection, study, RecruiterIds("late"), vault=VAULT, now=START)
    assert late is not None
    with pytest.raises(StudyError, match=f"not warned of .*{late.id}"):
        amended(store, study, path)
    with store.write() as connection:
        void(connection, study, late.id, why="not warned", by="owner", now=START)
    found, after = amended(store, study, path)

    assert len(found.new_items) == 12
    assert "benchmark was 'few' and is 'more'" in found.said
    assert after is not None
    assert set(study.categories) < set(after.categories)
    now = seen(store, after)
    assert (now.valid, now.promised) == (rated, 2 * 24)
    for name in "cdef":
        finished(store, after, name)
    assert seen(store, after).exact
    plan = read_plan(path)
    with store.read() as connection:
        export(connection, after, benchmark=plan.benchmark, design=plan.design, folder=tmp_path / "out")
    votes = load_benchmark(tmp_path / "out").votes
    assert {vote.total for vote in votes.values()} == {2}
    notes = study_report(tmp_path / "out").notes
    assert any("12 items were added; they have ratings of the later part only" in note for note in notes)
