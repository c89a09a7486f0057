import json

from typer.testing import CliRunner

from casewise.cli.app import app
from casewise.errors import ConfigurationError


def run(*words):
    return CliRunner().invoke(app, ["power", *words])


def test_anova_prints_one_json_document():
    result = run("anova", "--groups", "5", "--effect-size", "0.4", "--alpha", "0.05", "--power", "0.8", "--json")

    numbers = json.loads(result.stdout)
    assert (numbers["n_per_group"], numbers["n_total"]) == (16, 80)
    assert {"actual_power", "critical_f", "noncentrality"} <= numbers.keys()


def test_each_test_has_its_command():
    assert "186" in run("proportions", "--p1", "0.5", "--p2", "0.7").stdout
    assert "1,194" in run("chi-square", "--effect-size", "0.1", "--df", "4").stdout
    assert "Simulated tasks" in run("kruskal", "--rates", "0.2,0.8", "--n", "10", "--repeats", "500").stdout


def test_a_plot_is_written(tmp_path):
    for name, start in (("curve.svg", b"<svg"), ("curve.png", b"\x89PNG")):
        result = run("anova", "--effect-size", "0.4", "--plot", str(tmp_path / name))

        assert result.exit_code == 0
        assert (tmp_path / name).read_bytes().startswith(start)


def test_two_judges_are_planned_by_assumptions_and_from_two_runs(tmp_path):
    for name in ("linear", "constant:unsafe"):
        folder = str(tmp_path / name.partition(":")[0])
        assert CliRunner().invoke(app, ["judge", "demo", "--judge", name, "--out", folder]).exit_code == 0
    runs = [str(tmp_path / "linear"), str(tmp_path / "constant")]

    assumed = json.loads(run("judges", "--difference", "0.02", "--json").stdout)
    planned = json.loads(run("judges", "--difference", "0.1", "--from", *runs, "--json").stdout)
    given = json.loads(run("judges", "--from", *runs, "--n", "45", "--json").stdout)

    assert assumed["n_queries"] == 1470
    assert planned["n_queries"] > 45
    assert planned["more_ratings"] == planned["n_ratings"] - 1890
    assert given["difference"] == given["observed_difference"]
    assert isinstance(run("judges").exception, ConfigurationError)


def test_a_judge_on_every_item_saves_people():
    found = json.loads(
        run(
            "labels", "--half-width", "0.05", "--items", "2000", "--rate", "0.4", "--correlation", "0.7", "--json"
        ).stdout
    )

    assert (found["n_labels"], found["n_labels_alone"]) == (207, 369)
