import json

import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.errors import ConfigurationError, DataError
from casewise.studies.analysis import read_contrasts
from casewise.studies.ratings_source import read_flow, read_ratings
from casewise.studies.report import study_report


@pytest.fixture
def frame():
    return crowd_table(crowd_plan(queries=4))


@pytest.mark.parametrize("name", ["ratings.csv", "ratings.parquet"])
def test_tables_are_read_as_they_were_written(frame, tmp_path, name):
    path = tmp_path / name
    frame.write_csv(path) if name.endswith("csv") else frame.write_parquet(path)

    assert read_ratings(path).frame.select(frame.columns).equals(frame)


def test_names_of_the_records_are_understood(frame, tmp_path):
    frame.rename({"item_id": "item", "annotator_id": "annotator"}).write_csv(tmp_path / "r.csv")

    assert {"item_id", "annotator_id"} <= set(read_ratings(tmp_path / "r.csv").frame.columns)


def test_numbers_as_names_stay_names(tmp_path):
    (tmp_path / "r.csv").write_text("item,query,condition,annotator,verdict\n1,01,a,007,safe\n")

    assert read_ratings(tmp_path / "r.csv").frame["annotator_id"][0] == "007"


def test_vote_strings_become_anonymous_votes(tmp_path):
    (tmp_path / "v.csv").write_text("row,category,intended_safe,votes4\n0,c,1,1101\n1,c,0,0001\n")
    source = read_ratings(tmp_path / "v.csv")

    assert len(source.frame) == 8
    assert "annotator_id" not in source.frame.columns
    assert source.frame.filter(pl.col("condition") == "safe_revised")["verdict"].to_list() == [
        "safe",
        "safe",
        "unsafe",
        "safe",
    ]
    assert source.frame["query_id"].n_unique() == 1
    assert "is not an annotator" in source.notes[0]


def test_the_release_is_read_whole(shared):
    source = read_ratings(shared / "data" / "human_ratings.csv")

    assert len(source.frame) == 18_000
    assert source.frame["item_id"].n_unique() == 900
    assert source.frame["query_id"].n_unique() == 450


def test_a_vote_that_is_none_is_named_with_its_line(tmp_path):
    (tmp_path / "v.csv").write_text("intended_safe,votes\n1,1101\n0,00x1\n")

    with pytest.raises(DataError, match=r"v.csv:3: 'votes' is '00x1'"):
        read_ratings(tmp_path / "v.csv")


def test_a_benchmark_is_read_with_its_notes():
    source = read_ratings("demo")

    assert set(source.frame["condition"].unique()) == {"safe_revised", "unsafe_revised"}
    assert any("SYNTHETIC" in note for note in source.notes)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_ratings(tmp_path / "none.csv")
    (tmp_path / "broken.parquet").write_text("no")
    with pytest.raises(DataError, match="cannot be read"):
        read_ratings(tmp_path / "broken.parquet")


def test_contrasts_are_written_with_a_colon():
    assert read_contrasts(["a:b", " c : d "]) == (("a", "b"), ("c", "d"))
    for wrong in ("a", "a:", "a:a"):
        with pytest.raises(ConfigurationError, match="no_context:safe_revised"):
            read_contrasts([wrong])


def test_a_flow_gives_people_by_step_and_condition(tmp_path):
    path = tmp_path / "flow.csv"
    path.write_text(
        "step,condition,people\narrived,all,120\nassigned,a,40\nassigned,b,41\nfinished,a,39\nfinished,b,30\n"
    )

    flow = read_flow(path)
    assert flow.conditions == ("a", "b")
    assert flow.counts == {"arrived": (120,), "assigned": (40, 41), "finished": (39, 30)}


@pytest.mark.parametrize("line", ["slept,a,3", "assigned,a,-3"])
def test_a_flow_with_an_unknown_step_is_named_with_its_line(tmp_path, line):
    path = tmp_path / "flow.csv"
    path.write_text(f"step,condition,people\n{line}\n")

    with pytest.raises(DataError, match=r"flow.csv:2: '(step|people)'"):
        read_flow(path)


def test_an_exported_study_brings_its_plan_and_its_people(tmp_path):
    from casewise.studies.ratings_source import read_exported_study

    study = {"design": {"conditions": ["a", "b"], "contrasts": [["a", "b"]]}, "departures": None}
    people = [
        {"annotator_id": "1", "condition": "a", "outcome": "completed", "voided": False},
        {"annotator_id": "2", "condition": "b", "outcome": "stopped", "voided": False},
        {"annotator_id": "3", "condition": "b", "outcome": "failed_checks", "voided": True},
        {"annotator_id": "4", "condition": None, "outcome": "screened_out", "voided": False},
        {"annotator_id": "5", "condition": None, "outcome": "left_early", "voided": False},
        {"annotator_id": "6", "condition": None, "outcome": None, "voided": False},
        {"annotator_id": "7", "condition": None, "outcome": "no_room", "voided": False},
    ]
    (tmp_path / "study.json").write_text(json.dumps(study))
    (tmp_path / "annotators.jsonl").write_text("".join(json.dumps(person) + "\n" for person in people))

    found = read_exported_study(tmp_path)
    assert found is not None
    assert found.planned["contrasts"] == (("a", "b"),)
    assert found.finished == {"1", "3"}
    assert found.flow is not None
    assert found.flow.counts == {
        "consented": (7,),
        "passed": (4,),
        "assigned": (1, 2),
        "finished": (1, 1),
        "void": (0, 1),
    }
    assert read_exported_study(tmp_path / "elsewhere") is None


def test_the_folder_of_an_exported_study_is_read_whole(tmp_path):
    from casewise.storage import write_benchmark
    from casewise.storage.load import load

    demo, folder = load("demo"), tmp_path / "study"
    write_benchmark(demo, folder)
    conditions = {rating.annotator_id: demo.item[rating.item_id].condition for rating in demo.ratings}
    people = [
        {"annotator_id": name, "condition": condition, "outcome": "stopped" if place % 5 == 0 else "completed"}
        for place, (name, condition) in enumerate(sorted(conditions.items()))
    ]
    (folder / "annotators.jsonl").write_text("".join(json.dumps(person) + "\n" for person in people))
    design = {"conditions": ["safe_revised", "unsafe_revised"], "contrasts": [["unsafe_revised", "safe_revised"]]}
    (folder / "study.json").write_text(json.dumps({"design": design, "departures": ["alpha was 0.05, is 0.1"]}))

    report = study_report(folder)
    assert report.analysis.contrasts.select("first", "second").rows() == [("unsafe_revised", "safe_revised")]
    assert report.analysis.attrition is not None
    assert report.analysis.attrition.table["lost"].sum() == len([p for p in people if p["outcome"] == "stopped"])
    assert report.analysis.contrasts_of_completers is not None
    assert any("alpha was 0.05" in note for note in report.notes)
