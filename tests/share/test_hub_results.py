"""Runs as a results folder for the hub."""

from datetime import UTC, datetime

import polars as pl
import pytest

from casewise import api
from casewise.errors import ConfigurationError
from casewise.storage.run_folder import ItemNote, add_item_note


@pytest.mark.slow
def test_the_folder_holds_the_card_the_judgements_and_a_result_a_series(tmp_path):
    yaml = pytest.importorskip("yaml")
    run = api.judge("demo", "constant:safe", out=tmp_path / "run").path
    done = api.hand_on([run], tmp_path / "out", to="hf", dataset="people/demo")
    found = api.report(run).metrics
    accuracy = found.filter((pl.col("metric") == "accuracy") & (pl.col("label_policy") == "votes"))["estimate"].item()

    _, front, card = (done.path / "README.md").read_text().split("---\n", 2)
    said = yaml.safe_load(front)
    assert said["model-index"][0]["results"][0]["metrics"][0]["value"] == accuracy
    assert "## Limitations" in card
    (file,) = (done.path / ".eval_results").iterdir()
    (entry,) = yaml.safe_load(file.read_text())
    assert entry["dataset"] == {"id": "people/demo", "task_id": "binary"}
    assert entry["value"] == accuracy
    assert set(entry) == {"dataset", "value", "date", "notes"}
    table = pl.read_parquet(done.path / said["configs"][0]["data_files"][0]["path"])
    assert len(table) == 90
    assert set(table["value"]) == {1.0}
    query = api.load("demo").queries[0].text
    assert not any(query in path.read_text(errors="ignore") for path in done.path.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["demo", "a/b/c", "a/b\nvalue: 1", ""])
def test_a_name_that_is_none_on_the_hub_is_refused(tmp_path, name):
    (tmp_path / "run.json").touch()
    with pytest.raises(ConfigurationError, match="ORGANISATION/NAME"):
        api.hand_on([tmp_path], tmp_path / "out", to="hf", dataset=name)


@pytest.mark.slow
@pytest.mark.parametrize("to", ["hf", "eee"])
def test_notes_on_items_go_along(tmp_path, to):
    run = api.judge("demo", "constant:safe", out=tmp_path / "run").path
    item = api.load("demo").items[4].id
    add_item_note(run, ItemNote(item_id=item, text="look again", tags=("odd",), at=datetime.now(UTC)))
    api.hand_on([run], tmp_path / "out", to=to)

    written = [path for path in (tmp_path / "out").rglob("*.jsonl") if "look again" in path.read_text()]
    assert len(written) == 1
    (line,) = [line for line in written[0].read_text().splitlines() if "look again" in line]
    assert item in line
    assert "odd" in line
