"""A round is changed while it runs: what was rated stays, and everything says what was changed."""

import re
from datetime import timedelta

import pytest
from tests.studies.test_owner_store import seen
from tests.support.study import START, VAULT, exported, finished, opened_plan, tea

from casewise.errors import StudyError
from casewise.storage import write_benchmark
from casewise.storage.load import load
from casewise.studies.monitor import monitor
from casewise.studies.owner import amend, amendment_of
from casewise.studies.people import admit
from casewise.studies.recruiters import RecruiterIds
from casewise.studies.report import study_report
from casewise.studies.rounds import freeze_plan, load_round, read_plan, seconds_to_wait, set_state


@pytest.fixture
def path(tmp_path):
    found = tea(
        tmp_path / "study.toml",
        "lab",
        (r"checks_per_batch = 2", "checks_per_batch = 0"),
        (r"per_item = 21", "per_item = 2"),
        (r"conditions = \[.*", 'conditions = ["safe_revised", "unsafe_revised"]'),
        (r"contrasts = .*", 'contrasts = [["safe_revised", "unsafe_revised"]]'),
    )
    freeze_plan(read_plan(found), at=START)
    return found


def changed(path, before, after):
    text = path.read_text()
    assert re.search(before, text)
    path.write_text(re.sub(before, after, text))


@pytest.fixture
def study(store, path):
    return opened_plan(store, read_plan(path))


def amended(store, study, path):
    with store.write() as connection:
        plan = read_plan(path)
        found = amendment_of(study.at(connection, START), plan)
        amend(study.at(connection, START), found, reason="too wide intervals", by="owner")
        return found, load_round(connection, study.id)


@pytest.mark.slow
def test_more_ratings_of_each_item_keep_what_was_rated(store, study, path, tmp_path):
    for name, decision in zip("abcd", ("respond", "refuse", "respond", "refuse"), strict=True):
        finished(store, study, name, decision)
    before = seen(store, study)
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    with study.write(store, START) as live:
        set_state(live, "paused", by="owner")
    found, after = amended(store, study, path)

    assert found.per_item == (2, 3)
    assert found.ratings == (176, 264)
    assert found.people == (4, 8)  # for 38 slots, then 82, of each condition
    now = seen(store, after)
    assert (before.valid, before.promised, now.valid, now.promised) == (100, 176, 100, 264)
    for name in "efghijkl":
        finished(store, after, name, "respond" if name < "h" else "refuse")
    assert seen(store, after).exact

    exported(store, after, read_plan(path), tmp_path / "out")
    notes = study_report(tmp_path / "out").notes
    assert "Amended while it ran: ratings.per_item was 2 and is 3 (too wide intervals)" in notes
    assert any("ratings.per_item: frozen as 2, now 3" in note for note in notes)


def test_a_round_is_amended_while_it_is_paused(store, study, path):
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    with study.read(store, START) as live, pytest.raises(StudyError, match="pause the round first"):
        amendment_of(live, read_plan(path))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (r"per_item = 3 ", "per_item = 1 ", "only be raised"),
        (r"per_item = 3 ", "per_item = 2 ", r"only be raised: 2 were promised, and study.toml has 2"),
        (
            r"per_annotator = 25",
            "per_annotator = 5",
            r"ratings cannot change while people rate; only ratings\.per_item can",
        ),
        (r"countries = \[\]", 'countries = ["Kenya"]', "eligibility cannot change"),
        (r"per_batch = 4\.0", "per_batch = 5.0", "pay cannot change"),
        (r"conditions = \[.*", 'conditions = ["safe_revised", "unsafe_revised", "no_context"]', "conditions cannot"),
    ],
)
def test_whatever_else_is_changed_is_another_study(store, study, path, before, after, says):
    with study.write(store, START) as live:
        set_state(live, "paused", by="owner")
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    changed(path, before, after)
    with pytest.raises(StudyError, match=says):
        amended(store, study, path)


def test_other_items_and_other_texts_are_another_study(store, study, path, tmp_path):
    with study.write(store, START) as live:
        set_state(live, "paused", by="owner")
    demo = load("demo")
    some = {query.id for query in demo.queries[:6]}
    write_benchmark(demo.restricted_to(item for item in demo.items if item.query_id in some), tmp_path / "few")
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    changed(path, r'benchmark = "demo" ', 'benchmark = "few" ')
    with pytest.raises(StudyError, match="the items differ from those being rated"):
        amended(store, study, path)
    changed(path, r'benchmark = "few" ', 'benchmark = "demo" ')
    (tmp_path / "help.md").write_text("Call us.")
    changed(path, r"# \[texts\].*", '[texts]\nhelp = "help.md"')
    with pytest.raises(StudyError, match=r"texts .*(cannot change|differ)"):
        amended(store, study, path)


@pytest.mark.slow
def test_what_is_still_to_come_is_one_sum_for_status_and_amend(store, study, path):
    finished(store, study, "a")
    with study.write(store, START) as live:
        assert admit(live, RecruiterIds("in the tutorial"), vault=VAULT)
        set_state(live, "paused", by="owner")
    with study.read(store, START) as live:
        money = monitor(live).money
    assert money.promised == study.design.pay.per_batch
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    found, after = amended(store, study, path)
    assert (found.cost[0], found.people[0]) == (money.to_come, 6)  # three for 63 slots, four for 88, one is there
    with after.read(store, START) as live:
        assert found.cost[1] == monitor(live).money.to_come > money.to_come


def test_a_round_waits_until_every_server_has_read_its_amendment(store, study, path):
    with study.write(store, START) as live:
        set_state(live, "paused", by="owner")
        assert seconds_to_wait(live) == 0
    changed(path, r"per_item = 2 ", "per_item = 3 ")
    amended(store, study, path)

    with store.read() as connection:
        waits = [seconds_to_wait(study.at(connection, START + timedelta(seconds=s))) for s in (0, 50, 65, 900)]
    assert waits == [65, 15, 0, 0]
