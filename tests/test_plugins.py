"""Parts of other packages, by entry points of a package that is made here."""

import json
import re
from pathlib import Path

import pytest
from tests.support.command import invoke

import casewise
from casewise import plugins
from casewise.errors import ConfigurationError, ExitCode
from casewise.judges.named import JudgeKind

PARTS = """
from casewise.judges.baselines import ConstantJudge
from casewise.judges.named import JudgeKind
from casewise.replies.graders import KeywordsGrader
from casewise.reports.formats import Format
from casewise.studies.recruiters import ParameterRecruiter
from casewise.transforms.catalogue import TransformKind


judge = JudgeKind("same:WORD", lambda wish: ConstantJudge(wish.rest or "safe"))


def grader(rest):
    return KeywordsGrader()


upper = TransformKind("upper", lambda shown, scene, rest: shown, "own")
recruiter = ParameterRecruiter
titles = Format(lambda document: document.title, (".title",))


def names(source, target):
    target.write_text(f"exported {source}")
"""

POINTS = """
[casewise.judges]
same = own_parts:judge
broken = own_parts:missing

[casewise.graders]
mine = own_parts:grader

[casewise.transforms]
upper = own_parts:upper

[casewise.report_formats]
titles = own_parts:titles

[casewise.recruiters]
panel = own_parts:recruiter

[casewise.exporters]
names = own_parts:names
"""


FAILING = """
import sys
from casewise.reports.formats import Format


def torn(source, target):
    raise RuntimeError("no room")


def left(source, target):
    sys.exit(0)


odd = Format(lambda document: 1 / 0, (".odd",))
"""

FAILING_POINTS = """
[casewise.exporters]
torn = failing_parts:torn
left = failing_parts:left

[casewise.report_formats]
odd = failing_parts:odd
"""


@pytest.fixture(autouse=True)
def package(install):
    """A package with a part of several kinds."""
    install("own-parts", POINTS, own_parts=PARTS)


def test_parts_are_listed_with_their_package_and_whether_they_load():
    listed = {
        (part["kind"], part["name"]): part for part in json.loads(invoke("show", "plugins", "--json").out)["plugins"]
    }

    assert listed["judges", "same"]["package"] == "own-parts 0.3"
    assert listed["judges", "same"]["problem"] is None
    assert "cannot be loaded: AttributeError: " in listed["judges", "broken"]["problem"]
    assert "upper" in invoke("show", "plugins").out


@pytest.mark.parametrize("kind", plugins.KINDS)
def test_a_part_of_another_class_is_listed_with_what_is_wrong(install, kind):
    install("wrong", f"[casewise.{kind}]\nown = wrong_part:part\n", wrong_part="part = 'a text'")

    problems = [problem for plugin, problem in plugins.installed_plugins(kind) if plugin.name == "own"]

    expected = "its type is str, not " if plugins.KINDS[kind].part else "it is no function"
    (problem,) = problems
    assert f"of wrong 0.3 (wrong_part:part) cannot be loaded: {expected}" in str(problem)
    assert f"{str(problem)[0].upper()}{str(problem)[1:]}. It is left out." in plugins.disabled_reasons(kind)


def test_a_judge_of_another_package_judges():
    done = invoke("judge", "demo", "--judge", "same:unsafe", "--out", "run")
    assert done.code == 0, done.output
    assert json.loads((Path("run") / "judgements.jsonl").read_text().splitlines()[0])["outcome"]["value"] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("judge demo --judge broken --out run", "own-parts 0.3 (own_parts:missing) cannot be loaded"),
        ("judge demo --judge sane --out run", "same (of own-parts 0.3)"),
        ("export demo --out there --to nams", "names"),
    ],
)
def test_a_part_that_is_not_there_is_told_with_those_that_are(words, problem):
    done = invoke(*words.split())
    assert (done.code, problem in done.err) == (2, True), done.output


def test_an_exporter_writes_and_an_arm_is_known():
    assert invoke("export", "demo", "--out", "there.txt", "--to", "names").code == 0
    assert Path("there.txt").read_text() == "exported demo"
    assert invoke("judge", "demo", "--judge", "linear", "--arms", "full upper", "--out", "run").code == 0


def test_a_recruiter_of_another_package_is_one_of_a_study():
    assert invoke("study", "init", "demo").code == 0
    study = Path("study.toml")
    study.write_text(study.read_text().replace('kind = "invitation"', 'kind = "panle"'))
    assert "did you mean 'panel'" in invoke("study", "check").err
    study.write_text(
        study.read_text().replace("panle", "panel").replace("you@example.org", "a@b.org").replace("Your ", "My ")
    )
    assert invoke("study", "check").code == 0


def test_two_packages_with_one_name_are_refused(install):
    install("other-parts", "[casewise.judges]\nsame = elsewhere:judge\n")
    with pytest.raises(ConfigurationError, match=r"other-parts 0\.3 and own-parts 0\.3"):
        plugins.find_part("judges", "same", JudgeKind)


@pytest.mark.parametrize("kind", [kind for kind, about in plugins.KINDS.items() if about.builtin])
def test_casewises_own_parts_are_found_through_the_same_door(kind):
    own = plugins.builtin_parts(kind)

    assert own
    assert plugins.part_names(kind)[: len(own)] == tuple(own)
    assert {type(part) for part in own.values()} == {type(plugins.find_part(kind, name, object)) for name in own}


@pytest.mark.parametrize("kind", [kind for kind, about in plugins.KINDS.items() if about.builtin])
def test_a_package_takes_the_name_of_none_of_casewises_own_parts(install, kind):
    name, own = next(iter(plugins.builtin_parts(kind).items()))
    install("robber", f"[casewise.{kind}]\n{name} = own_parts:names\n")

    assert plugins.find_part(kind, name, object) is own or plugins.find_part(kind, name, object) == own
    assert any("casewise's own name" in problem for problem in plugins.disabled_reasons(kind))


@pytest.mark.parametrize(
    ("words", "line", "reason"),
    [
        ("export demo --out there.txt --to torn", 7, "RuntimeError: no room"),
        ("export demo --out there.txt --to left", 11, "SystemExit: 0"),
        ("show demo --format odd", 14, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_part_that_fails_as_it_is_used_is_named_and_no_exit_of_its_own_is_an_answer(install, words, line, reason):
    install("failing", FAILING_POINTS, failing_parts=FAILING)
    done = invoke(*words.split())

    said = " ".join(done.err.split())
    assert (done.code, "casewise itself failed" in said) == (ExitCode.INTERNAL, False), said
    assert f"the package failing 0.3 (failing_parts, line {line}) failed ({reason}); report it to its authors" in said


def test_a_format_of_another_package_is_written_by_its_name_and_by_its_ending():
    assert invoke("show", "demo", "--format", "titles").out.strip() == "demo 1.0.0"
    assert invoke("show", "demo", "--out", "demo.title").code == 0
    assert Path("demo.title").read_text().strip() == "demo 1.0.0"


BROKEN = {
    "import": "import no_such_module_anywhere",
    "exit": "raise SystemExit('no licence')",
    "class": "metric = 'no metric'",
    "at once": "from casewise.stats.metrics import Metric\nmetric = Metric('own', 'Own', 'x', formula=lambda s: s['no'] / 'x')",
    "shape": "from casewise.stats.metrics import Metric\nmetric = Metric('own', 'Own', 'x', formula=lambda s: 0.5)",
}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        pytest.param(
            kind,
            code,
            id=f"{kind}-{fault}",
            marks=[pytest.mark.slow] if (kind, fault) not in {("metrics", "import"), ("elicitations", "exit")} else [],
        )
        for kind in plugins.KINDS
        for fault, code in BROKEN.items()
    ],
)
def test_a_broken_part_disables_itself_and_nothing_else(install, kind, code):
    install("broken", f"[casewise.{kind}]\nown = broken_part:metric\n", broken_part=code)

    assert invoke("judge", "demo", "--judge", "constant:intended", "--out", "run").code == 0
    report = json.loads(invoke("report", "run", "--json").out)
    assert [note for note in report["notes"] if "broken 0.3" in note] != [] or kind != "metrics"
    assert invoke("gate", "run", "--baseline", "run", "--max-drop", "accuracy=0.2").code in (0, 1, 3)
    assert invoke("leaderboard", "run").code == 0
    assert invoke("data", "list").code == 0


LATE = """
from casewise.stats.metrics import Metric

def late(sample):
    raise ZeroDivisionError("nothing to divide")

metric = Metric("own", "Own", "x", ordered=late)
"""


def test_a_metric_that_fails_on_real_data_is_undefined_with_the_reason(install):
    install("late", "[casewise.metrics]\nown = late_part:metric\n", late_part=LATE)
    assert invoke("judge", "demo", "--judge", "constant:intended", "--out", "run").code == 0

    report = casewise.report("run")

    (row,) = report.metrics.filter(metric="own", label_policy=report.metrics["label_policy"][0]).to_dicts()
    assert (row["estimate"], row["n"]) == (None, 0) or row["estimate"] != row["estimate"]
    assert "late 0.3 failed (ZeroDivisionError: nothing to divide)" in json.dumps(report.as_json())


@pytest.mark.parametrize(
    ("module", "formula", "domain", "outside"),
    [
        (
            "bounded",
            "np.log(sums['hit_safe'] / sums['safe'] + 2)",
            "(0.0, 1.0)",
            "1.09861 is outside its domain, 0 to 1",
        ),
        ("endless", "sums['hit_safe'] / 0.0", "(-np.inf, np.inf)", "inf is outside its domain, -inf to inf"),
    ],
)
def test_a_value_outside_a_metrics_domain_is_undefined_and_listed_as_it_is(install, module, formula, domain, outside):
    code = f"import numpy as np\nfrom casewise.stats.metrics import Metric\nmetric = Metric('own', 'own', 'x', formula=lambda sums: {formula}, domain={domain})"
    install("odd", f"[casewise.metrics]\nown = {module}:metric\nother = {module}:metric\n", **{module: code})
    invoke("judge", "demo", "--judge", "constant:safe", "--out", "run")

    assert outside in json.dumps(casewise.report("run").as_json())
    listed = {part["name"]: part["problem"] for part in json.loads(invoke("show", "plugins", "--json").out)["plugins"]}
    assert (listed["own"], listed["other"]) == (None, "its name is 'own', and its entry point's 'other'")


ROOT = """
import numpy as np
from casewise.stats.metrics import Metric

metric = Metric("own", "Own", "x", formula=lambda sums: np.sqrt(sums["hit_safe"] / sums["safe"]))
"""


@pytest.mark.parametrize("judge", ["constant:intended", "constant:unsafe"])
def test_a_plain_square_root_in_a_metric_is_never_given_a_negative_sum(install, judge):
    install("root", "[casewise.metrics]\nown = root_part:metric\n", root_part=ROOT)
    invoke("judge", "demo", "--judge", judge, "--out", "run")

    report = casewise.report("run")

    policy = report.metrics["label_policy"][0]
    own, recall = (
        report.metrics.filter(metric=name, label_policy=policy)["estimate"][0] for name in ("own", "recall_safe")
    )
    assert own == pytest.approx(recall**0.5)


def test_the_guide_names_each_kind_of_part_and_what_its_entry_point_is():
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "plugins.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `casewise\.(\w+)` \| (.*) \|$", page, re.MULTILINE))

    assert rows.keys() == plugins.KINDS.keys()
    for kind, about in plugins.KINDS.items():
        named = re.findall(r"`(\w[\w.]+)`", about.use) + ([about.part.replace(":", ".")] if about.part else [])
        assert [word for word in named if f"`{word}`" not in rows[kind]] == []
