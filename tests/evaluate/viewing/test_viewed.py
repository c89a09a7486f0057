"""Runs that are unfinished when they are looked at."""

from casewise import api
from casewise.evaluate.viewing import ItemFilter, select_items, view
from casewise.storage.run_folder import JUDGEMENTS


def test_a_run_is_looked_at_as_far_as_it_is(tmp_path):
    log = api.judge("demo", "linear", out=tmp_path / "linear").path / JUDGEMENTS
    every = log.read_bytes().splitlines(keepends=True)
    for lines, series in ((40, 1), (0, 0)):
        log.write_bytes(b"".join(every[:lines]) + every[lines][:50])  # and a line that is half written
        table = view(log.parent).table

        assert (len(table.series), table.n_judgements) == (series, lines)
        assert len(select_items(table, ItemFilter(), tagged={}).places) == 90
        assert len(select_items(table, ItemFilter(outcome="not asked"), tagged={}).places) == (50 if series else 0)
