"""Parts of other packages, by entry points of a package that is made here."""

import json
import re
from pathlib import Path

import pytest
from tests.support.command import invoke

from casewise import plugins
from casewise.errors import ConfigurationError

PARTS = """
from casewise.judges.baselines import ConstantJudge
from casewise.replies.graders import KeywordsGrader
from casewise.studies.recruiters import ParameterRecruiter
from casewise.transforms.catalogue import TransformKind


def judge(wish):
    return ConstantJudge(wish.rest or "safe")


def grader(rest):
    return KeywordsGrader()


upper = TransformKind("upper", lambda shown, scene, rest: shown, "own")
recruiter = ParameterRecruiter


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

[casewise.recruiters]
panel = own_parts:recruiter

[casewise.exporters]
names = own_parts:names
"""


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package with a part of several kinds, installed as its metadata says."""
    site = tmp_path / "site"
    install(site, "own-parts", POINTS)
    (site / "own_parts.py").write_text(PARTS)
    monkeypatch.syspath_prepend(site)
    plugins.found.cache_clear()
    yield site
    plugins.found.cache_clear()


def install(site: Path, name: str, points: str) -> None:
    metadata = site / f"{name.replace('-', '_')}-0.3.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n")
    (metadata / "entry_points.txt").write_text(points)


def test_parts_are_listed_with_their_package_and_whether_they_load():
    listed = {
        (part["kind"], part["name"]): part for part in json.loads(invoke("show", "plugins", "--json").out)["plugins"]
    }

    assert listed["judges", "same"]["package"] == "own-parts 0.3"
    assert listed["judges", "same"]["problem"] is None
    assert "cannot be loaded" in listed["judges", "broken"]["problem"]
    assert "upper" in invoke("show", "plugins").out


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


def test_two_packages_with_one_name_are_refused(package):
    install(package, "other-parts", "[casewise.judges]\nsame = elsewhere:judge\n")
    plugins.found.cache_clear()
    with pytest.raises(ConfigurationError, match=r"other-parts 0\.3 and own-parts 0\.3"):
        plugins.plugins("judges")


def test_the_guide_names_each_kind_of_part_and_what_its_entry_point_is():
    page = (Path(__file__).parents[1] / "docs" / "how-to" / "plugins.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `casewise\.(\w+)` \| (.*) \|$", page, re.MULTILINE))

    assert rows.keys() == plugins.KINDS.keys()
    for kind, text in plugins.KINDS.items():
        assert [word for word in re.findall(r"`(\w[\w.]+)`", text) if f"`{word}`" not in rows[kind]] == []
