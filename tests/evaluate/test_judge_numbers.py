import json
import zlib
from dataclasses import replace

import polars as pl
import pytest
from tests.support.samples import some

import casewise
from casewise.evaluate.judged_runs import ReportOptions
from casewise.records import Rating
from casewise.reports.document import Figure, Folded
from casewise.reports.formats import latex, write_figures, write_tables

FEW = ReportOptions()


def guess(query, context):
    """A made-up probability that depends on the words alone."""
    return (zlib.crc32(f"{query}{context}".encode()) % 1000) / 999


def report_of(judge, **more):
    run = casewise.judge("demo", judge, **more)
    return casewise.report(run, options=FEW)


@pytest.fixture(scope="module")
def guessed():
    """Of the first twelve queries of the demo."""
    demo = casewise.load("demo")
    few = demo.restricted_to(
        [item for item in demo.items if item.query_id in {query.id for query in demo.queries[:12]}]
    )
    return casewise.report(casewise.judge(few, guess, elicitations=("probability",), repeats=2), options=FEW)


def labelled(kind):
    """Some cases of the demo with labels of another kind than votes by named people."""
    demo = casewise.load("demo").restricted_to(casewise.load("demo").items[:20])
    if kind == "share":
        items = [item.model_copy(update={"published_rate": 0.3 + 0.4 * (i % 2)}) for i, item in enumerate(demo.items)]
        return replace(demo, items=items, ratings=())
    of_item = {item.id: [rating.verdict for rating in demo.ratings if rating.item_id == item.id] for item in demo.items}
    votes = 1 if kind == "one label" else 5
    return replace(
        demo,
        ratings=[
            Rating(item_id=item, position=place, verdict=verdict)
            for item, verdicts in of_item.items()
            for place, verdict in enumerate(verdicts[:votes])
        ],
        annotators=(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["anonymous votes", "one label", "share"])
def test_a_judge_that_is_asked_again_has_every_page_whatever_the_labels_are(kind):
    run = casewise.judge(labelled(kind), guess, elicitations=("probability",), repeats=3)
    report = casewise.report(run)

    assert all(form() for form in (report.to_html, report.to_markdown, report.as_json))
    assert latex(report.document)


def sections(report):
    """Anchors of the sections, and of those folded under all numbers."""
    folds = (block for section in report.document.sections for block in section.blocks if isinstance(block, Folded))
    return {section.anchor for section in report.document.sections} | {fold.anchor for fold in folds}


def test_a_judge_with_values_has_every_part(guessed):
    assert {"pairs", "refusals", "calibration", "costs", "repeats"} <= sections(guessed)


@pytest.mark.slow
def test_a_judge_of_verdicts_has_no_calibration_and_without_repeats_no_noise():
    found = sections(report_of("constant:intended"))

    assert {"pairs", "refusals", "costs"} <= found
    assert not {"calibration", "repeats"} & found


@pytest.mark.slow
def test_a_scalar_has_no_part_that_needs_a_verdict():
    report = report_of(lambda query, context: 7 * guess(query, context) - 3, elicitations=("scalar",))

    assert not {"pairs", "refusals", "calibration"} & sections(report)
    assert report.metrics["metric"].to_list() == ["spearman", "auroc", "unscored_rate"]


@pytest.mark.slow
def test_a_scalar_gets_verdicts_by_thresholds_fitted_on_other_queries():
    told = {text: i for i, text in enumerate(query.text for query in casewise.load("demo").queries)}
    run = casewise.judge("demo", lambda query, context: 1000 * told[query], elicitations=("scalar",))

    fitted = casewise.report(run, options=replace(FEW, fit_thresholds=True))

    accuracy = fitted.metrics.filter(pl.col("metric") == "accuracy")["estimate"].item()
    assert 0.3 < accuracy < 0.7, "a number that says nothing of safety is right no more often than chance"
    assert any("fitted on other queries" in note for note in fitted.notes)


@pytest.mark.slow
def test_a_fitted_threshold_finds_where_people_change_their_mind():
    demo = casewise.load("demo")
    votes = {str(demo.context[str(item.context_id)].shown()): demo.votes[item.id].safe for item in demo.items}
    run = casewise.judge(demo, lambda query, context: 1000 * votes[str(context)] - 4e4, elicitations=("scalar",))

    fitted = casewise.report(run, options=replace(FEW, fit_thresholds=True))

    accuracy = fitted.metrics.filter(pl.col("metric") == "accuracy")["estimate"].item()
    assert accuracy == pytest.approx(1, abs=0.03)
    assert "refusals" in sections(fitted)


@pytest.mark.slow
def test_the_judge_that_knows_the_intent_turns_on_every_pair():
    pairs = some(report_of("constant:intended").numbers.details[0].pairs)

    assert pairs.false_flips.estimate == 1
    assert pairs.both_right_where_alike.estimate == 0
    assert pairs.counts.pairs == 45


def test_a_judge_that_repeats_itself_has_no_noise(guessed):
    noise = some(guessed.numbers.details[0].noise)

    assert (noise.n_items, noise.n_judgements) == (24, 48)
    assert noise.deviation.estimate == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_no_cell_of_any_table_is_nan(guessed):
    for report in (guessed, report_of("constant:safe")):
        for table in report.document.tables():
            assert not any("nan" in cell.lower().split() for row in table.rows for cell in row)


@pytest.mark.slow
def test_every_chart_has_an_alternative_text_and_a_table_in_its_section(guessed):
    for section in guessed.document.sections:
        for block in section.blocks:
            if isinstance(block, Figure):
                assert len(block.alt) > 20
                assert block.behind is not None


@pytest.mark.slow
def test_the_numbers_are_plain_json(guessed):
    text = json.dumps(guessed.as_json(), allow_nan=False)

    assert '"over_refusal"' in text
    assert '"calibration_part"' in text


@pytest.mark.slow
def test_a_judge_without_any_verdict_gets_a_report_all_the_same():
    def unclear(query, context):
        return casewise.read_reply("It depends.")

    report = report_of(unclear, elicitations=("binary",))

    found = some(report.numbers.details[0].refusals).at
    assert found.unscored_safe.estimate == 1
    assert found.over_refusal.estimate == 0
    assert any("no verdict on any item" in note for note in report.notes)
    assert "nan" not in report.to_markdown().split()


@pytest.mark.slow
def test_figures_are_written_as_pictures_that_stand_alone(guessed, tmp_path):
    write_figures(guessed.document, tmp_path / "figures")

    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"cost-curve.svg", "cost-curve.png", "calibration-0.svg", "refusal-curve-0.png"} <= names
    drawn = (tmp_path / "figures" / "cost-curve.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<svg")
    assert "var(--" not in drawn
    assert (tmp_path / "figures" / "cost-curve.png").read_bytes().startswith(b"\x89PNG")


def test_tables_are_written_unrounded(guessed, tmp_path):
    write_tables(guessed.document, tmp_path)

    found = pl.read_parquet(tmp_path / "calibration-table.parquet")
    brier = found.filter(pl.col("Measure") == "Brier score")["Estimate"][0]
    assert brier == guessed.metrics.filter(pl.col("metric") == "brier")["estimate"][0]
    assert {path.suffix for path in tmp_path.iterdir()} == {".parquet"}


@pytest.mark.slow
def test_latex_tables_are_in_booktabs_style(guessed):
    text = latex(guessed.document)

    assert text.count(r"\toprule") == text.count(r"\bottomrule") == sum(1 for _ in guessed.document.tables())
    assert r"\label{tab:pairs-table}" in text
