"""Runs that grow while they are looked at."""

import pytest

from casewise import api
from casewise.evaluate.viewing import ItemsWanted, choose, view_runs
from casewise.storage import run_folder as judgement_table
from casewise.storage.run_folder import JUDGEMENTS


@pytest.fixture
def run(tmp_path):
    return api.judge("demo", "linear", out=tmp_path / "linear").path


def cut(run, *, lines):
    """Leave the first so many lines of the log, and return the rest."""
    log = run / JUDGEMENTS
    every = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(every[:lines]))
    return b"".join(every[lines:])


def test_what_is_appended_comes_in_and_a_line_that_is_half_written_waits(run):
    whole = view_runs([run]).now()
    rest = cut(run, lines=40)
    viewed = view_runs([run])
    first = viewed.now()
    assert first.n_judgements == 40
    assert len(choose(first, ItemsWanted(outcome="not asked"), tagged={}).places) == 50

    with (run / JUDGEMENTS).open("ab") as log:
        log.write(rest[:100])
    assert viewed.now() is first
    with (run / JUDGEMENTS).open("ab") as log:
        log.write(rest[100:])
    now = viewed.now()

    assert now.version == first.version + 1
    assert now.items.equals(whole.items)


def test_only_what_was_appended_is_read(run, monkeypatch):
    rest = cut(run, lines=89)
    viewed = view_runs([run])
    with (run / JUDGEMENTS).open("ab") as log:
        log.write(rest)
    read = []
    before = judgement_table.blocks

    def counting(path, start=0):
        for block in before(path, start):
            read.append(block)
            yield block

    monkeypatch.setattr(judgement_table, "blocks", counting)
    viewed.now()

    assert read == [rest]


def test_a_run_that_holds_nothing_yet_can_be_looked_at(run):
    cut(run, lines=0)
    table = view_runs([run]).now()

    assert (table.series, table.n_judgements) == ((), 0)
    assert len(choose(table, ItemsWanted(), tagged={}).places) == 90
    assert not len(choose(table, ItemsWanted(outcome="wrong"), tagged={}).places)


def test_a_log_that_was_begun_anew_is_read_anew(run):
    viewed = view_runs([run])
    assert viewed.now().n_judgements == 90
    cut(run, lines=10)

    assert viewed.now().n_judgements == 10
