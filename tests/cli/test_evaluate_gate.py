import json
from xml.etree import ElementTree as ET

import pytest
from tests.support.command import invoke as run

import casewise
from casewise.reports.comparison import escaped, xml_text


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("intended", "safe"):
        casewise.judge("demo", f"constant:{name}", out=folder / name)
    return folder


@pytest.mark.slow
def test_a_worse_judge_fails_with_exit_1(runs, tmp_path):
    page = tmp_path / "summary.md"

    result = run(
        "gate", runs / "safe", "--baseline", runs / "intended", "--max-drop", "accuracy=0.05", "--markdown", page
    )

    assert result.code == 1
    assert "Gate: FAIL" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_better_judge_passes_with_exit_0(runs):
    result = run("gate", runs / "intended", "--baseline", runs / "safe", "--max-drop", "accuracy=0.05", "--json")

    assert result.code == 0
    value = json.loads(result.out)
    assert value["decision"] == "pass"
    assert value["metrics"][0]["drop"] < -0.3


@pytest.mark.slow
def test_what_few_items_cannot_tell_is_exit_3_with_the_drop_they_could(runs):
    result = run("gate", runs / "safe", "--baseline", runs / "safe", "--max-drop", "accuracy=0.0001")

    assert result.code == 3
    assert "With 80 % power they show a drop only if it exceeds its margin by " in " ".join(result.out.split())


def gated(runs, *more, max_drop="accuracy=0.05"):
    return run("gate", runs / "safe", "--baseline", runs / "intended", "--max-drop", max_drop, *more)


@pytest.mark.slow
def test_a_ci_reads_each_metric_from_junit(runs, tmp_path):
    several = "accuracy=0.05,recall_safe=0.05,over_refusal=0.0001"
    result = gated(runs, "--junit", tmp_path / "j.xml", max_drop=several)
    suite = ET.parse(tmp_path / "j.xml").getroot()
    cases = {case.get("name"): [part.tag for part in case] for case in suite}

    assert result.code == 1
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert cases["accuracy"] == ["failure"]
    assert cases["recall_safe"] == []


@pytest.mark.slow
def test_a_run_that_did_not_finish_is_an_error_in_junit(runs, tmp_path):
    run("judge", "demo", "--judge", "constant:intended", "--out", tmp_path / "part", "--limit", "60")
    words = ("--baseline", runs / "intended", "--max-drop", "accuracy=0.5", "--junit", tmp_path / "j")
    run("gate", tmp_path / "part", *words)

    assert '<testcase classname="casewise.gate" name="finished">' in (tmp_path / "j").read_text(encoding="utf-8")


@pytest.mark.slow
def test_github_is_told_in_its_own_words_where_it_runs_us(runs, monkeypatch):
    assert "::error" not in gated(runs).err
    assert "::error title=casewise gate%2C accuracy%3A fail::accuracy is" in gated(runs, "--annotations").err
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    assert "::error" in gated(runs).err
    assert "::error" not in gated(runs, "--no-annotations").err
    assert json.loads(gated(runs, "--json").out)["decision"] == "fail"


@pytest.mark.slow
def test_the_gate_takes_the_reports_options(runs):
    whole, clear = (json.loads(gated(runs, "--json", *more).out) for more in ((), ("--items", "clear")))
    dropped = json.loads(gated(runs, "--json", "--ties", "drop", "--unscored", "exclude").out)

    assert clear["n_items"] < whole["n_items"]
    assert (dropped["labels"], dropped["unscored_policy"]) != (whole["labels"], whole["unscored_policy"])


def test_what_xml_cannot_hold_is_replaced():
    assert xml_text("a\x00b\ud800c\n") == "a\ufffdb\ufffdc\n"


def test_what_ends_a_command_of_github_is_escaped():
    assert escaped("50 %\nx:y", ":,") == "50 %25%0Ax%3Ay"


@pytest.fixture(scope="module")
def replies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replies")
    for name in ("before", "after"):
        casewise.grade(casewise.collect("demo", "fake/rehearsal", out=folder / name), "rubric:fake/rehearsal")
    return folder


@pytest.mark.slow
def test_replies_are_compared_with_replies_by_both_policies(replies):
    result = run(
        "gate",
        replies / "after",
        "--baseline",
        replies / "before",
        "--max-drop",
        "over_refusal=0.3,accuracy=0.3",
        "--json",
    )

    assert result.code == 0, result.output
    names = [one["name"] for one in json.loads(result.out)["metrics"]]
    assert names == [
        f"{metric} ({policy})" for policy in ("strict", "lenient") for metric in ("over_refusal", "accuracy")
    ]


@pytest.mark.slow
def test_replies_can_be_compared_with_themselves_and_not_with_a_judge(replies, runs):
    itself = run("gate", replies / "after", "--baseline", replies / "after", "--max-drop", "accuracy=0.3")
    other = run("gate", replies / "after", "--baseline", runs / "safe", "--max-drop", "accuracy=0.3")

    assert itself.code == 0, itself.output
    assert other.code == 2
    assert "the same grader graded" in other.err


@pytest.mark.slow
def test_what_stopped_half_way_is_let_through_on_neither_side(tmp_path):
    whole, half, same = (tmp_path / name for name in ("whole", "half", "same"))
    judged = ("judge", "demo", "--judge", "fake/rehearsal")
    assert run(*judged, "--out", whole).code == 0
    for out in (half, same):
        assert run(*judged, "--max-tokens-total", "9000", "--out", out).code == 4

    for first, second, which in ((half, same, "the run and the baseline"), (whole, half, "the baseline")):
        found = run("gate", first, "--baseline", second, "--max-drop", "accuracy=0.9")
        assert found.code == 3
        assert f"Not finished: {which}" in " ".join(found.out.split())
    assert run(*judged, "--out", half).code == 0
    assert run("gate", half, "--baseline", whole, "--max-drop", "accuracy=0.9").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--repeats", "2"), ("--elicit", "binary,score")])
def test_a_run_that_stopped_after_all_items_and_before_the_end_of_its_plan_has_not_finished(tmp_path, more):
    base, folder = ("judge", "demo", "--judge", "fake/rehearsal", "--out"), tmp_path / "run"
    gate = ("gate", folder, "--baseline", tmp_path / "base", "--max-drop", "accuracy=0.9", "--json")
    assert run(*base, tmp_path / "base").code == 0
    assert run(*base, folder, *more, "--max-tokens-total", "60000").code == 4
    assert len(judged_items(folder)) == 90

    broken = run(*gate)

    assert (broken.code, json.loads(broken.out)["unfinished"]) == (3, ["run"])
    assert run(*base, folder, *more).code == 0
    assert run(*gate).code == 0


def judged_items(folder):
    return {json.loads(line)["item_id"] for line in (folder / "judgements.jsonl").read_text().splitlines()}


@pytest.mark.slow
def test_a_gate_under_attack_tells_continuous_integration_too(tmp_path):
    casewise.attack("demo", lambda query, context: "unsafe", attacks="claim:authority/user", out=tmp_path / "lied")
    words = ("--max-turned", "safe=0.2", "--junit", tmp_path / "j.xml", "--summary", tmp_path / "s.md", "--annotations")
    (tmp_path / "s.md").write_text("before\n")
    result = run("gate", tmp_path / "lied", *words)

    assert result.code == 0, result.output
    assert ET.parse(tmp_path / "j.xml").getroot().get("tests") == "1"
    assert "::notice title=casewise gate%2C safe%3A pass::" in result.err
    assert (tmp_path / "s.md").read_text(encoding="utf-8").startswith("before\n# pass: ")
