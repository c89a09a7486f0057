import json
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from tests.support.crowds import crowd_plan, crowd_table

from casewise.reports.document import Folded, Forest, Prose
from casewise.reports.formats import drawings, html, latex, markdown
from casewise.stats import CrowdModel
from casewise.stats.ratings import Flow
from casewise.studies.ratings_source import RatingsSource
from casewise.studies.report import (
    OVER_QUERIES_ALONE,
    OVER_QUERIES_OF_ANONYMOUS_VOTES,
    categories,
    recommended,
    study_report,
)

FLOW = Flow(
    ("no_context", "safe_generated", "unsafe_generated", "safe_revised", "unsafe_revised"),
    {"arrived": (200,), "assigned": (30, 30, 30, 30, 30), "finished": (30, 28, 20, 30, 12)},
)


@pytest.fixture(scope="module")
def frame():
    return crowd_table(crowd_plan(crowd=CrowdModel(drop_out=0.2))).with_columns(
        age=pl.col("annotator_id").str.slice(-1).cast(pl.Int64) % 2, seconds=pl.lit(12.5)
    )


@pytest.fixture(scope="module")
def full(frame):
    return study_report(RatingsSource(frame, "a study"), flow=FLOW)


def test_intervals_say_whether_they_are_over_people_too(full, frame):
    anonymous = study_report(RatingsSource(frame.drop("annotator_id"), "a study"))

    assert "intervals over queries and people" in markdown(full.document)
    assert "intervals over queries and people" not in markdown(anonymous.document)
    assert "Safe rate of each condition; intervals over queries" in markdown(anonymous.document)


def test_a_report_says_below_its_title_what_was_rated_and_by_how_many(full, frame):
    counted = "1,065 ratings of 100 items (20 queries) under 5 conditions"

    assert full.document.subtitle == f"{counted}; 118 annotators"
    votes = study_report(RatingsSource(frame.drop("annotator_id"), "votes"))
    assert votes.document.subtitle == f"{counted}; anonymous votes"


def test_the_papers_test_of_a_contrast_is_in_points_with_every_correction(full):
    z_tests = next(table for table in full.document.tables() if table.name == "z-tests")

    assert z_tests.columns == ("Contrast", "z", "p", "Bonferroni", "Holm", "BH", "95 % Wald, points")
    assert z_tests.rows[0] == (
        "no context − safe generated",
        *("-4.76", "< 0.0001", "< 0.0001", "< 0.0001", "< 0.0001", "[-33.4, -14.3]"),
    )


def test_each_condition_is_drawn_strongly_with_its_rate_and_its_row_behind(full):
    (rates,) = (block for block in full.document.sections[0].blocks if isinstance(block, Forest))
    conditions = full.analysis.conditions

    assert [(row.estimate, row.low, row.high, row.strong) for row in rates.rows] == [
        (*row, True) for row in conditions.select("safe_rate", "ci_low", "ci_high").iter_rows()
    ]
    assert [row[:1] for row in rates.table.rows] == [(each,) for each in conditions["condition"]]


def reach(report):
    """The sentence on what the intervals hold for."""
    return [str(block.text) for block in report.document.sections[0].blocks if isinstance(block, Prose)][1]


def test_the_answer_says_whom_its_intervals_hold_for(full, frame):
    by_one = pl.col("annotator_id") == frame.filter(pl.col("condition") == "safe_revised")["annotator_id"][0]
    one = study_report(RatingsSource(frame.filter(by_one | (pl.col("condition") != "safe_revised")), "one person"))
    (rates,) = (block for block in one.document.sections[0].blocks if isinstance(block, Forest))

    assert reach(full) == "The intervals hold for other queries of the same kind and for other people."
    assert (reach(one), str(rates.caption)) == (
        str(OVER_QUERIES_ALONE),
        "Safe rate of each condition; intervals over queries",
    )
    assert reach(study_report(RatingsSource(frame.drop("annotator_id"), "votes"))) == str(
        OVER_QUERIES_OF_ANONYMOUS_VOTES
    )


def test_each_contrast_has_its_decision_in_words(full):
    table = next(table for table in full.document.tables() if table.name == "contrasts")
    rows = full.analysis.contrasts.select("differs", "equivalent").rows()
    words = {True: "yes", False: "not shown", None: "–"}

    assert table.columns == ("Contrast", "Queries like these", "p (Holm)", "Differs at 0.05", "p, alike", "Alike")
    assert [(row[3], row[5]) for row in table.rows] == [(words[differs], words[alike]) for differs, alike in rows]
    unknown = full.analysis.contrasts.with_columns(differs=pl.lit(None, pl.Boolean))
    undecided: Any = recommended(unknown, full.analysis, name="c", caption="")
    assert {row[3] for row in undecided.rows} == {"–"}


def test_categories_are_drawn_on_an_axis_of_fours_that_holds_the_largest(full):
    table = pl.DataFrame(
        {
            "category": ["a", "b"],
            "queries": [5, 5],
            "mean_h": [2.0, 4.1],
            "p": [0.5, 0.001],
            "p_at_floor": [False, True],
            "significant_after_correction": [0.2, 0.6],
            "significant_at_paper_level": [0.0, 0.4],
        }
    )
    analysis: Any = SimpleNamespace(tasks=SimpleNamespace(categories=table, category_draws="1,000 shuffles"))
    forest, prose = categories(analysis)
    assert isinstance(prose, Prose)

    assert isinstance(forest, Forest)
    assert (forest.ends, [row.written for row in forest.rows]) == (
        (0.0, 8.0),
        ["2.00, 20 % significant", "4.10, 60 % significant"],
    )
    assert forest.table.rows == (
        ("a", "5", "2.00", "0.5000", "20 %", "0 %"),
        ("b", "5", "4.10", "≤ 0.001", "60 %", "40 %"),
    )
    assert "rest on 1,000 shuffles" in prose.text


def test_a_categorys_p_at_the_floor_of_the_shuffles_is_a_bound(full):
    found = full.analysis.tasks.categories

    assert ((found["p"] <= 1 / 1001) == found["p_at_floor"]).all()
    assert ("≤ 0.001" in markdown(full.document)) == bool(found["p_at_floor"].any())
    assert "1.0e-03" not in markdown(full.document)


def test_every_part_has_its_section(full):
    folds = [block.anchor for block in full.document.sections[-1].blocks]

    tables = [table.name for table in full.document.tables()]
    assert tables.index("contrasts") < tables.index("completers")
    assert [(section.anchor, section.first, section.brief) for section in full.document.sections] == [
        *(("answer", True, False), ("contrasts", False, True), ("all-numbers", False, False))
    ]
    assert folds == [
        *("other-tests", "labels", "tasks", "categories"),
        *("agreement", "ceilings", "panel", "annotators", "flow", "methods"),
    ]


def test_the_page_begins_with_how_many_contrasts_differ_and_has_a_sentence_for_each(full):
    answer, contrasts = full.document.sections[:2]
    said = [block.text for block in contrasts.blocks[:4]]

    assert len(full.analysis.contrasts) == 4
    assert answer.blocks[0].text.startswith("Of 4 contrasts, 2 differ and 0 are alike within 5 points (no frozen plan")
    assert all("no frozen plan" in one and "corrected by Holm over 4 contrasts" in one for one in said)


def test_every_figure_is_drawn_and_has_words(full):
    assert drawings(full.document).keys() >= {"category-h", "panel-curve"}
    assert all(figure.svg.startswith("<svg") and figure.alt for figure in full.document.figures())


def test_a_figure_of_synthetic_data_says_so_without_its_page(full):
    for document in (full.document, study_report("demo").document):
        synthetic = any(notice.startswith("SYNTHETIC") for notice in document.notices)
        assert {"SYNTHETIC DATA" in drawn for drawn in drawings(document).values()} == {synthetic}


def test_a_methods_paragraph_and_a_table_for_a_paper_say_that_the_ratings_are_simulated():
    document = study_report("demo").document
    folds = (block for block in document.sections[-1].blocks if isinstance(block, Folded) and block.anchor == "methods")
    (prose,) = (block for fold in folds for block in fold.blocks[:1] if isinstance(block, Prose))

    assert prose.text.startswith("SYNTHETIC DATA: simulated annotators")
    captions = [line for line in latex(document).splitlines() if line.startswith(r"\caption")]
    assert captions
    assert all(caption.startswith(r"\caption{Synthetic data. ") for caption in captions)


def test_the_methods_paragraph_holds_the_numbers(full):
    text = next(fold.blocks[0].text for fold in full.document.sections[-1].blocks if fold.anchor == "methods")

    assert f"{len(full.analysis.ratings):,} ratings" in text
    assert "4 planned contrasts" in text
    assert "0.0125" in text


def test_json_has_no_nan_and_every_number_and_no_cell_says_nan_or_none(full):
    cells = {cell for table in full.document.tables() for row in table.rows for cell in row}
    assert not {"nan", "None", "inf", "null"} & cells
    written = json.loads(json.dumps(full.as_json(), allow_nan=False))

    assert written["contrasts"][0]["first"] == "no_context"
    assert written["agreement"]["all"]["alpha"] == pytest.approx(full.analysis.agreement["all"].alpha)
    assert len(written["tasks"]) == 20
    assert written["attrition"]["table"]
    assert written["annotators"]["flagged"].keys() == {"unresponsive", "constant"}


@pytest.mark.slow
def test_a_report_is_written_whole_and_made_anew_removes_what_it_no_longer_has_and_nothing_of_others(
    full, frame, tmp_path
):
    out = tmp_path / "out"
    full.write(out)
    names = {path.name for path in out.iterdir()}
    assert names == {"report.html", "report.md", "report.json", "tables.tex", "figures", "tables", "mixed_model"}
    assert pl.read_parquet(out / "tables" / "tasks.parquet").height == 20
    assert "var(--" not in (out / "figures" / "panel-curve.svg").read_text()
    before = {str(path.relative_to(out)) for path in out.glob("*/*") if "mixed_model" not in path.parts}
    (out / "figures" / "mine.svg").write_text("drawn by hand")

    study_report(RatingsSource(frame.filter(pl.col("condition") == "safe_revised"), "a study")).write(out)

    after = {str(path.relative_to(out)) for path in out.glob("*/*") if "mixed_model" not in path.parts}
    assert {"figures/category-h.svg", "tables/contrasts.parquet"} <= before - after
    assert after - before == {"figures/mine.svg"}


def test_anonymous_votes_say_what_is_not_available(frame):
    report = study_report(RatingsSource(frame.drop("annotator_id", "finished"), "votes"))
    page = html(report.document)

    assert "not available: anonymous votes" in page
    assert "clustered by query across conditions and by annotator" not in page


def test_where_nobody_finished_in_a_condition_the_votes_are_not_called_anonymous(frame):
    some = frame.with_columns(finished=pl.col("condition") == "no_context")
    page = html(study_report(RatingsSource(some, "too early")).document)

    assert "The same among those who finished" in page
    assert "anonymous" not in page


def test_one_condition_still_gives_a_report_without_contrasts_or_what_an_earlier_one_left(frame, tmp_path):
    report = study_report(RatingsSource(frame.filter(pl.col("condition") == "no_context"), "one"))
    out = tmp_path / "new" / "out"
    report.write(out)
    earlier = (out / "tables" / "contrasts.parquet", out / "figures" / "category-h.svg")
    for path in earlier:
        path.write_text("of an earlier report")
    report.write(out)

    assert not any(path.exists() for path in earlier)
    assert "there is only one condition" in html(report.document)
    assert {path.name for path in out.iterdir()} == {
        *("report.html", "report.md", "report.json", "tables.tex", "figures", "tables"),
    }
    assert {path.stem for path in (out / "figures").iterdir()} == drawings(report.document).keys()
    assert json.loads((out / "report.json").read_text())["name"] == "one"
    assert {path.stem for path in (out / "tables").iterdir()} >= {"conditions", "labels", "annotators"}


def test_names_from_the_data_are_never_markup(frame):
    evil = frame.with_columns(category=pl.lit("<script>alert(1)</script>"))

    assert "<script>alert" not in html(study_report(RatingsSource(evil, "<b>evil</b>")).document)
