"""A round from Python: watched, paid, changed, forgotten and restored, in a small database."""

import shutil
import stat
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update
from tests.support.databases import empty_database, new_database
from tests.support.study import SECRET, VAULT, begun, design, finished, opened, tea

from casewise import database
from casewise.api.studies import Study, init_replies, restore_backup
from casewise.database.backup import backup
from casewise.database.erasures import FILE_NAME
from casewise.database.staff import Role, invite, join
from casewise.database.tables import study as tables
from casewise.errors import ConfigurationError, StudyError
from casewise.studies.owner import Amendment


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A round in a database: alice has rated three items of it, bob is rating; its backup; and its file."""
    folder = tmp_path_factory.mktemp("tea")
    tea(folder / "study.toml")
    with new_database(folder / "casewise.db") as store:
        made = opened(store, design())
        people = finished(store, made, "alice"), begun(store, made, "bob")
        backup(store, folder / "backup.jsonl")
    return folder, made, people


@pytest.fixture
def here(prepared, tmp_path, monkeypatch):
    """A copy of all that, and what to call its parts."""
    folder, made, (alice, bob) = prepared
    for name in ("study.toml", "casewise.db", "backup.jsonl"):
        shutil.copyfile(folder / name, tmp_path / name)
    (tmp_path / FILE_NAME).touch()
    monkeypatch.setenv("CASEWISE_SECRET_KEY", SECRET)
    place = Study(tmp_path / "study.toml", database=str(tmp_path / "casewise.db"), site_url="https://tea.edu")
    return SimpleNamespace(place=place, folder=tmp_path, id=made.id, alice=alice, bob=bob)


def rows(path: Path, query: Any) -> list[Any]:
    with database.open(str(path)) as store, store.read() as connection:
        return [*connection.execute(query)]


@pytest.fixture
def scrubbed(monkeypatch):
    """The databases whose deleted rows were overwritten."""
    stores = list[Any]()

    def scrub(store):
        stores.append(store)

    monkeypatch.setattr("casewise.database.Database.scrub", scrub)
    return stores


# Who is in it.


def test_a_round_has_its_address_its_key_and_its_links(here):
    with here.place.round() as live:
        assert live.url == f"https://tea.edu/study/{here.id}"
        assert live.vault.fingerprint("tea", "alice") == VAULT.fingerprint("tea", "alice")
        live.note("looked", here.alice, at="page 3")
    (event,) = rows(here.folder / "casewise.db", select(tables.events).where(tables.events.c.kind == "looked"))
    assert (event.annotator_id, event.detail) == (here.alice, {"at": "page 3"})
    (link,) = here.place.invite()
    assert link.startswith(f"https://tea.edu/study/{here.id}?participant=")
    assert len(set(here.place.invite(3))) == 3


def test_what_people_are_owed_is_in_the_currency_of_the_round(here):
    owed = {line.annotator_id: line.owed for line in here.place.ledger()}

    assert here.place.currency() == design().pay.currency
    assert owed == {here.alice: design().pay.per_batch}


def test_ratings_are_excluded_and_included_again_by_the_number_of_their_person(here):
    assert here.place.void(here.alice, reason="left") == 3
    assert here.place.restore(here.alice, reason="mistaken") == 3
    with pytest.raises(StudyError, match=r"no person in tea \(main\) has the number 'nobody'"):
        here.place.void("nobody", reason="left")


def test_a_person_of_another_round_is_not_found_in_this_one(here):
    with database.open(str(here.folder / "casewise.db")) as store:
        begun(store, opened(store, design(), phase="pilot"), "carol")
    (carol,) = rows(
        here.folder / "casewise.db", select(tables.annotators.c.id).where(tables.annotators.c.study_id != here.id)
    )
    with pytest.raises(StudyError, match=f"no person in tea \\(main\\) has the number '{carol.id}'"):
        here.place.void(carol.id, reason="left")


def test_owners_are_added_and_removed_by_their_address(here):
    now = datetime.now(UTC)
    with database.open(here.place.database) as store, store.write() as connection:
        token = invite(connection, "olga@uni.edu", roles=frozenset({Role.OWNER}), by=None, now=now)
        join(connection, token, name="Olga", password_hash="hash", now=now)
    assert here.place.owners() == []
    assert here.place.owners(add="olga@uni.edu") == ["olga@uni.edu"]
    assert here.place.owners() == ["olga@uni.edu"]
    assert here.place.owners(remove="olga@uni.edu") == []


# Its state.


def test_a_round_or_one_condition_is_closed_at_once_and_a_round_reopened_after_every_server_has_read_it(
    here, monkeypatch
):
    waited, waits = list[float](), iter([12.5, 0.0])
    monkeypatch.setattr("casewise.api.studies.seconds_to_wait", lambda _live: next(waits))

    def state() -> tuple[str, dict[str, bool]]:
        status = here.place.status()
        return status.state, {each.condition: each.closed for each in status.monitor.overview.conditions}

    assert here.place.set_condition("safe_revised", closed=True).id == here.id
    assert here.place.set_state("paused", wait=waited.append).id == here.id
    assert (state(), waited) == (("paused", {"no_context": False, "safe_revised": True}), [])
    here.place.set_condition("safe_revised", closed=False)
    for _ in range(2):
        here.place.set_state("open", wait=waited.append)
    assert (state(), waited) == (("open", {"no_context": False, "safe_revised": False}), [12.5])


def test_the_status_of_a_round_ends_the_leases_that_are_over(here):
    past = update(tables.annotators).where(tables.annotators.c.id == here.bob)
    with database.open(str(here.folder / "casewise.db")) as store, store.write() as connection:
        (lease,) = connection.execute(select(tables.annotators.c.lease_until).where(tables.annotators.c.id == here.bob))
        connection.execute(past.values(lease_until=lease[0].replace(year=2000)))
    status = here.place.status()
    assert status.round.id == here.id
    assert sum(state.reserved for state in status.monitor.overview.conditions) == 0


AMENDMENT = Amendment((2, 3), (16, 24), (6, 9), (10.0, 20.0), "USD")


@pytest.fixture
def amended(monkeypatch):
    """The amendments that were made, and what `study.toml` would change."""
    made = SimpleNamespace(calls=list[Any](), now=AMENDMENT)
    monkeypatch.setattr("casewise.api.studies.maintain_round", lambda _live: made.calls.append("maintained"))
    monkeypatch.setattr("casewise.api.studies.owner.amendment_of", lambda _live, _plan: made.now)
    monkeypatch.setattr("casewise.api.studies.owner.amend", lambda _live, what, **why: made.calls.append((what, why)))
    monkeypatch.setattr("casewise.api.studies.read_plan", lambda _path: None)
    return made


def test_a_round_is_amended_as_it_was_agreed_and_not_by_what_was_written_meanwhile(here, amended):
    assert here.place.amendment() is AMENDMENT
    here.place.amend(AMENDMENT, reason="wide intervals")
    assert amended.calls == ["maintained", (AMENDMENT, {"reason": "wide intervals", "by": "owner"})]
    amended.now = Amendment((2, 9), (16, 72), (6, 27), (10.0, 90.0), "USD")
    with pytest.raises(StudyError, match=r"study.toml changed in the meantime \(ratings.per_item was 2 and is 9\)"):
        here.place.amend(AMENDMENT, reason="wide intervals")
    assert len(amended.calls) == 2


# Forgetting, backups and their erasures.


def test_who_is_forgotten_is_on_the_list_and_in_a_certificate_and_nothing_stays_in_the_files(here, scrubbed):
    erasure, text = here.place.forget(here.alice)

    assert (erasure.number, erasure.annotator_id, erasure.ratings) == (1, here.alice, "withdrawn")
    assert all(words in text for words in (here.alice, "tea 1", f"main ({here.id})", "A. Researcher, An Institute")), (
        text
    )
    assert here.alice in (here.folder / FILE_NAME).read_text()
    assert len(scrubbed) == 1


def test_a_restored_backup_erases_again_by_the_list_beside_the_backup(here, scrubbed, tmp_path):
    here.place.forget(here.alice)
    scrubbed.clear()
    (tmp_path / "elsewhere").mkdir()
    new = Path(empty_database(tmp_path / "elsewhere" / "new.db"))
    done = restore_backup(here.folder / "backup.jsonl", str(new))

    assert (done.erased_again, len(scrubbed), str(new) in done.database) == (1, 1, True)
    assert done.rows > 20
    assert (new.parent / FILE_NAME).read_text() == (here.folder / FILE_NAME).read_text()
    people = dict(map(tuple, rows(new, select(tables.annotators.c.id, tables.annotators.c.outcome))))
    assert people == {here.alice: "withdrawn", here.bob: None}


def test_the_list_beside_a_new_database_or_one_that_is_named_comes_before_the_one_beside_the_backup(
    here, scrubbed, tmp_path
):
    here.place.forget(here.alice)
    scrubbed.clear()
    for name, erasures in (("beside", None), ("named", tmp_path / "own.jsonl")):
        (tmp_path / name).mkdir()
        ((tmp_path / name / FILE_NAME) if erasures is None else erasures).touch()
        done = restore_backup(
            here.folder / "backup.jsonl", empty_database(tmp_path / name / "new.db"), erasures=erasures
        )
        assert done.erased_again == 0
        assert not erasures or not (tmp_path / name / FILE_NAME).exists()
    assert scrubbed == []


def test_people_are_not_restored_without_a_list_of_erasures(here, tmp_path):
    (here.folder / FILE_NAME).unlink()
    (tmp_path / "new").mkdir()
    with pytest.raises(
        ConfigurationError, match="this backup holds people of a study, and there is no list of erasures"
    ):
        restore_backup(here.folder / "backup.jsonl", empty_database(tmp_path / "new" / "new.db"))
    assert rows(tmp_path / "new" / "new.db", select(tables.annotators)) == []


# Opened, exported, and written for replies.


def test_a_round_of_a_phase_that_is_not_there_says_how_to_have_one(here):
    def problem(phase: str, **more: Any) -> str:
        with pytest.raises(StudyError) as raised:
            Study(here.place.file, phase, here.place.database, **more).status()
        return str(raised.value)

    file = here.place.file
    assert problem("pilot").endswith(f"begin one with: casewise study open --pilot {file}")
    assert f"casewise study rehearse {file} --database {here.place.database}, and then" in problem("rehearsal")


def test_opening_makes_the_list_of_erasures_and_states_the_address(here, monkeypatch):
    plans = list[Any]()
    monkeypatch.setattr("casewise.api.studies.read_plan", lambda path: ("plan of", path))
    monkeypatch.setattr("casewise.api.studies.pilot_of", lambda plan, **sizes: (plan, sizes))

    def open_plan(_connection, plan, *, phase, now):
        plans.append((plan, phase))
        return SimpleNamespace(id="r1")

    monkeypatch.setattr("casewise.api.studies.open_plan", open_plan)
    (here.folder / FILE_NAME).unlink()
    opened_round, pilot = here.place.open(), here.place.pilot()
    plan = ("plan of", here.place.file)

    assert plans == [(plan, "main"), ((plan, {"queries": 10, "per_item": 2}), "pilot")]
    assert (opened_round.phase, opened_round.url, opened_round.plan) == ("main", "https://tea.edu/study/r1", plan)
    assert (pilot.phase, (here.folder / FILE_NAME).exists()) == ("pilot", True)


@pytest.mark.parametrize("rates", ["requests", "replies"])
def test_ratings_are_exported_once_there_are_any_and_those_of_replies_for_their_owner_alone(here, monkeypatch, rates):
    exported = list[Any]()
    monkeypatch.setattr(
        "casewise.api.studies.read_plan",
        lambda _path: SimpleNamespace(benchmark="b", design=SimpleNamespace(rates=rates)),
    )

    def export(_live, *, benchmark, design, folder):
        folder.touch()
        exported.append((benchmark, folder, stat.S_IMODE(folder.stat().st_mode) & 0o077))
        return "exported"

    monkeypatch.setattr("casewise.api.studies.export", export)
    assert here.place.export(here.folder / "rated") == "exported"
    assert exported[0][:2] == ("b", here.folder / "rated")
    assert (exported[0][2] == 0) == (rates == "replies")
    with database.open(here.place.database) as store:
        opened(store, design(), phase="pilot")
    with pytest.raises(
        StudyError, match="no person has begun to rate in the pilot round of tea yet; nothing was written"
    ):
        Study(here.place.file, "pilot", here.place.database).export(here.folder / "pilot")


@pytest.fixture
def drawn(monkeypatch):
    """What a study of replies was drawn with, and written as."""
    calls = SimpleNamespace(drawn=list[Any](), written=list[Any]())

    def replies_to_label(folder, benchmark, *, n, rng):
        calls.drawn.append((folder, benchmark, n, int(rng.integers(1000))))
        return "the sample"

    def write_benchmark(sample, folder):
        folder.mkdir()
        (folder / "items.jsonl").write_text(sample)

    def init_study(source, **options):
        calls.written.append((source, options))
        return "the design"

    monkeypatch.setattr("casewise.api.studies.read_manifest", lambda folder, _kind: ("manifest of", folder))
    monkeypatch.setattr("casewise.api.studies.find_benchmark", lambda manifest, benchmark: (manifest, benchmark))
    monkeypatch.setattr("casewise.api.studies.replies_to_label", replies_to_label)
    monkeypatch.setattr("casewise.api.studies.write_benchmark", write_benchmark)
    monkeypatch.setattr("casewise.api.studies.init_study", init_study)
    return calls


def test_a_study_of_replies_draws_a_sample_that_only_its_owner_reads(drawn, tmp_path):
    folder, sample = Path("replies"), tmp_path / "study-replies"
    made: Any = init_replies(folder, path=tmp_path / "study.toml", sample=30, seed=4, name="tea")
    assert made == "the design"
    assert drawn.drawn == [(folder, (("manifest of", folder), None), 30, int(np.random.default_rng(4).integers(1000)))]
    assert stat.S_IMODE((sample / "items.jsonl").stat().st_mode) == 0o600
    ((source, options),) = drawn.written
    assert (source, options["path"], options["name"]) == (str(sample), tmp_path / "study.toml", "tea")
    assert (options["preset"], options["rates"]) == ("experts", "replies")
    init_replies(folder, path=tmp_path / "other.toml")
    assert drawn.drawn[1][2:] == (200, int(np.random.default_rng(1).integers(1000)))


def test_a_study_of_replies_overwrites_nothing_and_has_a_preset(drawn, tmp_path):
    (tmp_path / "a.toml").touch()
    (tmp_path / "b-replies").mkdir()
    for name, taken in (("a", "a.toml"), ("b", "b-replies")):
        with pytest.raises(ConfigurationError, match=f"{taken} exists; choose another place with --to"):
            init_replies("replies", path=tmp_path / f"{name}.toml")
    with pytest.raises(StudyError, match="--preset is 'big'"):
        init_replies("replies", path=tmp_path / "c.toml", preset="big")
    assert drawn.drawn == []
