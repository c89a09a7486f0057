import json

import pytest

import casewise
from casewise.evaluate.judged_runs import ReportOptions
from casewise.records import Arm

FEW = ReportOptions()


def compare(*runs, **more):
    return casewise.compare(*runs, options=FEW, **more)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    judges = ("constant:safe", "constant:unsafe", "constant:intended")
    return [casewise.judge("demo", name, out=folder / name.replace(":", "-")) for name in judges]


def tables(report):
    return {table.name: table for table in report.document.tables()}


@pytest.mark.slow
def test_every_pair_of_judges_is_compared(runs):
    found = compare(*runs)

    assert len(found.comparison.pairs) == 3
    safe, unsafe, intended = (f"constant:{name} (binary)" for name in ("safe", "unsafe", "intended"))
    assert [row[:2] for row in tables(found)["tests-table"].rows] == [
        (safe, unsafe),
        (safe, intended),
        (unsafe, intended),
    ]
    assert [row[0] for row in tables(found)["differences-table"].rows] == [intended, safe], "best first"
    assert tables(found)["differences-table"].columns == ("Judge", safe, unsafe)


def scalar(of):
    """A judge of values without a threshold."""
    return casewise.judge("demo", lambda query, context: float(of(context)), elicitations=("scalar",))


@pytest.mark.slow
def test_scalar_judges_are_compared_by_order_and_given_no_verdicts():
    words = scalar(lambda context: len(str(context)))
    found = compare(words, scalar(lambda context: len(str(context)) % 7))

    assert "tests-table" not in tables(found)
    assert "AUROC" in found.numbers.sentence
    assert found.as_json()["pairs"][0]["exact_test"] is None
    assert "0.0001" not in found.to_markdown()


@pytest.mark.slow
def test_values_and_verdicts_have_nothing_that_says_who_is_better(runs):
    found = compare(runs[0], scalar(lambda context: len(str(context))))

    assert found.numbers.sentence.startswith("The judges have no metric in common")
    assert "side-by-side-table" in tables(found)


@pytest.mark.slow
def test_scalars_get_verdicts_by_fitted_thresholds_on_request(runs):
    words = scalar(lambda context: len(str(context)))
    found = casewise.compare(runs[0], words, options=ReportOptions(fit_thresholds=True))

    assert found.comparison.pairs[0].test is not None


@pytest.mark.slow
def test_a_comparison_begins_with_who_is_better_in_a_sentence(runs):
    two, three = compare(runs[2], runs[0]), compare(*runs)

    assert two.document.sections[0].blocks[0].text == two.numbers.sentences[0]
    assert two.numbers.sentence.startswith("constant:intended (binary) agrees most with people (accuracy ")
    assert " It beats constant:safe (binary) by " in two.numbers.sentence
    assert "corrected" not in two.numbers.sentence
    assert "not told apart" in compare(runs[0], runs[0]).numbers.sentence
    beaten = three.numbers.sentence.partition(" It beats ")[2].partition(" has the highest")[0]
    assert beaten.count(" points [") == 2
    assert "not told apart" not in three.numbers.sentence
    level = compare(runs[0], runs[0], runs[1]).numbers.sentence
    assert level.startswith(
        "These items do not tell which judge agrees most with people: it may be constant:safe (binary)"
    )
    assert "Corrected for this choice" in level
    assert "Corrected for this choice, it is 91." in three.numbers.sentence


@pytest.mark.slow
def test_flips_refusals_and_harm_have_paired_differences(runs):
    rows = " ".join(row[1] for row in tables(compare(*runs[:2]))["every-difference-table"].rows)

    assert all(name in rows for name in ("Right flips", "False flips", "Over-refusal", "Harm"))


@pytest.mark.slow
def test_more_than_six_judges_make_a_matrix_and_a_note(runs):
    found = compare(*runs, *runs, runs[0])
    laid_out = tables(found)

    assert not {"tests-table", "every-difference-table"} & set(laid_out)
    rows = laid_out["differences-table"].rows
    assert [row.count("") for row in rows] == [0, 1, 2, 3, 4, 5]
    assert rows[0][1].startswith("0.0 [-"), "the same judge again, with what errors allow that nobody saw"
    assert rows[0][-1].endswith("*")
    assert len(found.as_json()["pairs"]) == 21
    assert "every metric and test of every pair" in found.to_markdown()


@pytest.mark.slow
def test_a_comparison_can_be_of_some_items_only(runs):
    found = casewise.compare(*runs[:2], options=ReportOptions(items="clear"))

    assert found.comparison.n_items < 90
    assert any("'clear'" in note for note in found.notes)


@pytest.mark.slow
def test_elicitations_and_arms_of_one_run_compare_the_same_way(tmp_path):
    def judge(query, context):
        return 0.9 if context else 0.2

    run = casewise.judge(
        "demo", judge, out=tmp_path / "run", elicitations=("probability",), arms=(Arm(), Arm.parse("none"))
    )
    found = compare(run)

    assert len(found.comparison.names) == 2
    assert any("full-context labels" in note for note in found.notes)


@pytest.mark.slow
def test_two_runs_of_one_name_are_told_apart(runs, tmp_path):
    again = casewise.judge("demo", "constant:safe", out=tmp_path / "again")
    found = compare(runs[0], again)

    assert len(set(found.comparison.names)) == 2
    assert not found.comparison.pairs[0].test.testable
    assert tables(found)["tests-table"].rows[0][-2:] == ("0", "0")


@pytest.mark.slow
def test_every_face_says_the_same(runs):
    found = compare(*runs)
    text, page = found.to_markdown(), found.to_html()

    assert "only one of two judges is right" in text
    assert "only one of two judges is right" in page
    assert "casewise compare" in page
    assert json.dumps(found.as_json(), allow_nan=False)
