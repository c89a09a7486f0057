import io
import json
from dataclasses import replace
from errno import ENOSPC
from os import strerror
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from tests.support.command import invoke
from tests.support.exported import exported_demo

from casewise.errors import ConfigurationError, DataError, StudyError
from casewise.reports.formats import html, latex, markdown, print_document
from casewise.stats import adjust
from casewise.stats.intervals import Correction
from casewise.stats.ratings import code_ratings
from casewise.stats.study_tables import contrast_table
from casewise.studies.ratings_source import read_ratings
from casewise.studies.report import StudyReport, study_page, study_report
from casewise.studies.simulation import write_ratings

STRICT = {"alpha": 0.01, "correction": "bonferroni"}
FAILED = "failed attention checks"
SOMEBODY = "simulated-0-00"


def at_the_terminal(report):
    written = io.StringIO()
    print_document(report.document, Console(file=written, width=150))
    return written.getvalue()


def people(analysis):
    assert analysis.ratings.annotator is not None
    return analysis.ratings.annotator.names


def faces(report):
    return [html(report.document), markdown(report.document), latex(report.document), at_the_terminal(report)]


def test_a_study_preregistered_at_one_per_cent_with_bonferroni_is_reported_so(tmp_path):
    found = study_report(exported_demo(tmp_path / "out", analysis=STRICT))

    table = found.analysis.contrasts
    assert (found.analysis.options.alpha, found.analysis.options.correction) == (0.01, "bonferroni")
    assert table.select("first", "second").rows() == [("unsafe_revised", "safe_revised")]
    assert found.as_json()["options"]["alpha"] == 0.01
    assert found.as_json()["departures"] == ["analysis.alpha: frozen as 0.01, now 0.2"]
    assert all("Bonferroni" in face and "0.01" in face for face in faces(found))


@pytest.mark.slow
def test_the_correction_that_was_frozen_is_the_one_that_is_made(tmp_path):
    contrasts = (("unsafe_revised", "safe_revised"), ("safe_revised", "unsafe_revised"))
    methods: dict[str, Correction] = {
        "bonferroni": "bonferroni",
        "holm": "holm",
        "benjamini-hochberg": "benjamini_hochberg",
        "none": "none",
    }
    for correction, method in methods.items():
        folder = exported_demo(tmp_path / correction, analysis={"correction": correction})
        table = study_report(folder, contrasts=contrasts).analysis.contrasts
        expected = adjust(table["recommended_p"].to_numpy(), method)
        assert table["recommended_p_corrected"].to_list() == pytest.approx(expected.tolist())


def test_an_option_that_departs_from_what_was_frozen_is_printed_in_every_face(tmp_path):
    found = study_report(exported_demo(tmp_path / "out", analysis=STRICT), alpha=0.05, correction="bonferroni")

    assert found.analysis.options.alpha == 0.05
    assert found.as_json()["departures"][-1] == "analysis.alpha: frozen as 0.01, now 0.05"
    assert all("frozen as 0.01, now 0.05" in face for face in faces(found))


@pytest.mark.slow
def test_ratings_of_those_who_failed_are_left_out_where_that_was_frozen_and_nobody_was_voided(tmp_path):
    folder = exported_demo(tmp_path / "out", analysis={"exclude": ["failed_checks"]}, failed=[SOMEBODY])
    found = study_report(folder).analysis

    assert found.left_out is not None
    assert SOMEBODY not in people(found)
    assert found.left_out.reasons == {FAILED: found.left_out.ratings - len(found.ratings)}
    everybody = study_report(folder, exclude=())
    assert SOMEBODY in people(everybody.analysis)
    assert everybody.analysis.left_out is None
    assert "analysis.exclude: frozen as ('failed_checks',), now ()" in everybody.numbers.departures


def test_ratings_voided_for_a_ground_that_was_not_frozen_count(tmp_path):
    folder = exported_demo(tmp_path / "out", analysis={"exclude": []}, voided={SOMEBODY: FAILED})

    assert SOMEBODY in people(study_report(folder).analysis)


def test_the_headline_numbers_stand_with_and_without_what_was_voided(tmp_path):
    folder = exported_demo(tmp_path / "out", analysis={}, voided={SOMEBODY: "asked us to"})
    found = study_report(folder)
    whole = code_ratings(read_ratings("demo").frame)
    contrasts = contrast_table(whole, (("unsafe_revised", "safe_revised"),), found.analysis.options)

    left_out = found.analysis.left_out
    assert left_out is not None
    assert left_out.reasons == {"asked us to": 1890 - len(found.analysis.ratings)}
    assert left_out.conditions["safe"].sum() == whole.safe.sum()
    assert left_out.contrasts["like_estimate"].to_list() == pytest.approx(contrasts["like_estimate"].to_list())
    assert found.analysis.contrasts["like_estimate"].to_list() != pytest.approx(contrasts["like_estimate"].to_list())
    assert found.as_json()["left_out"]["reasons"] == left_out.reasons
    assert {(part.anchor, part.first, part.brief) for part in found.document.sections} >= {("left-out", False, True)}
    with_and_without = {table.name: table for table in found.document.tables()}["left-out-contrasts"]
    assert with_and_without.rows[0][1] != with_and_without.rows[0][3]
    assert all("Differences of safe rates without and with these ratings" in face for face in faces(found))


def test_a_study_without_exclusions_that_ended_early_with_intended_labels_says_so(tmp_path):
    options = {"labels": "intended", "stopping": "when it rains"}
    found = study_report(exported_demo(tmp_path / "out", analysis=options, exact=False))

    assert found.analysis.left_out is None
    assert "left-out" not in {section.anchor for section in found.document.sections}
    assert found.analysis.labels.select("safe", "unsafe").rows() == [(45, 0), (0, 45)]
    assert any("exported before it ended (when it rains)" in note for note in found.notes)


def test_a_frozen_plan_that_was_changed_afterwards_is_refused(tmp_path):
    folder = exported_demo(tmp_path / "out", analysis=STRICT)
    about = json.loads((folder / "study.json").read_text())
    about["frozen"]["policy"]["analysis.alpha"] = 0.1
    (folder / "study.json").write_text(json.dumps(about))

    with pytest.raises(StudyError, match="the frozen policy was changed"):
        study_report(folder)


def test_a_plan_that_is_none_is_named_with_its_file(tmp_path):
    with pytest.raises(DataError, match=r"study\.json.*alpha"):
        study_report(exported_demo(tmp_path / "out", analysis={"alpha": 3}))


@pytest.mark.slow
def test_the_command_takes_what_was_frozen_and_marks_what_departs(tmp_path):
    folder = exported_demo(tmp_path / "out", analysis=STRICT)
    words = ["study", "report", str(folder), "--out", str(tmp_path / "page"), "--json"]

    as_frozen = json.loads(invoke(*words).out)
    again = invoke(*words, "--correction", "none")
    departing = json.loads(again.out)
    assert "in place of the earlier one" in again.err
    assert (as_frozen["options"]["alpha"], as_frozen["options"]["correction"]) == (0.01, "bonferroni")
    assert departing["departures"][-1] == "analysis.correction: frozen as 'bonferroni', now 'none'"
    wrong = invoke(*words, "--correction", "tukey")
    assert wrong.code == 2


def test_a_report_takes_the_place_of_no_other_round_and_of_no_benchmark_of_the_same_name(tmp_path):
    folder, out = exported_demo(tmp_path / "exported", analysis={}), tmp_path / "out"

    report = study_report(folder)

    def of_round(*names):
        assert report.numbers.study is not None
        study = replace(report.numbers.study, frozen=None, round=names) if names else None
        return StudyReport(replace(report.numbers, study=study), study_page)

    of_round("1", "pilot").write(out)
    of_round("1", "pilot").check_place(out)
    for other in (("1", "main"), ("2", "pilot"), ()):
        with pytest.raises(
            ConfigurationError, match=r"is not a report of 'demo'.*: it is about round \['1', 'pilot'\]; choose"
        ):
            of_round(*other).check_place(out)
    old = json.loads((out / "report.json").read_text())
    del old["round"]
    (out / "report.json").write_text(json.dumps(old))
    with pytest.raises(ConfigurationError, match="it is about round None"):
        of_round("1", "pilot").check_place(out)


@pytest.mark.parametrize("name", ["report.parquet", "made.parquet", "made.csv"])
def test_a_table_that_no_disk_has_room_for_leaves_the_earlier_one(tmp_path, monkeypatch, name):
    report = study_report("demo") if name == "report.parquet" else None

    def write():
        if report is not None:
            report.write(tmp_path)
        else:
            write_ratings(pl.DataFrame({"item": ["a"]}), tmp_path / name)

    def half(_table, to):
        (Path(to).write_bytes if isinstance(to, str | Path) else to.write)(b"half")
        raise OSError(ENOSPC, strerror(ENOSPC))

    write()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.suffix in {".parquet", ".csv"}}
    monkeypatch.setattr(pl.DataFrame, f"write_{name.rpartition('.')[2]}", half)
    with pytest.raises(ConfigurationError, match=r"cannot write .*: No space left on device"):
        write()
    assert {path: path.read_bytes() for path in before} == before


def test_a_planned_contrast_that_nobody_has_rated_yet_is_named_and_the_others_are_told(tmp_path):
    folder = exported_demo(tmp_path / "exported", analysis={})
    plain = json.loads((folder / "study.json").read_text()) | {"frozen": None, "departures": []}
    plain["design"]["contrasts"] = [["unsafe_revised", "safe_revised"], ["no_context", "safe_revised"]]
    (folder / "study.json").write_text(json.dumps(plain))

    found = study_report(folder)
    assert found.analysis.contrasts.select("first", "second").rows() == [("unsafe_revised", "safe_revised")]
    assert "no_context and safe_revised is not available" in html(found.document)
    for asked in (
        [("no_context", "safe_revised")],
        [("unsafe_revised", "jailbreak"), ("unsafe_revised", "safe_revised")],
    ):
        with pytest.raises(StudyError, match="no ratings that count"):
            study_report(folder, contrasts=tuple(asked))


@pytest.mark.slow
def test_a_contrast_is_called_planned_where_it_was_frozen_and_its_departures_are_said(tmp_path):
    folder = exported_demo(tmp_path / "out", analysis=STRICT)
    about = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps({**about, "departures": []}))

    assert study_report(folder).numbers.planned == "planned"
    assert study_report(folder, alpha=0.05).numbers.planned == "planned, with departures"
    assert (
        study_report(folder, contrasts=(("safe_revised", "unsafe_revised"),)).numbers.planned
        == "not the planned contrasts"
    )
    assert study_report("demo").numbers.planned == "no frozen plan"
