"""Bad input is a clear error with file and line and exit code 2; nothing is half-written, and nobody sees a traceback."""

import json
import resource
import shutil
import signal
import subprocess
import sys

import pytest
from tests.support.command import invoke as casewise
from tests.support.command import program
from tests.support.published import output_rows, released_rows, write

from casewise import judge
from casewise.storage import write_benchmark
from casewise.storage.load import load

LONG = "x" * 300


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(place, value):
    """Rows of a benchmark of which the second is changed: `place` is a path of keys."""
    rows = released_rows(4)
    inside = rows[1]
    for key in place[:-1]:
        inside = inside[key]
    if value is ...:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return json.dumps(rows, indent=4).encode()


ROWS = json.dumps(released_rows(4), indent=4)

BAD_FILES = {
    "not-json": (b"hello, world", ":1: not JSON: Expecting value"),
    "truncated": (ROWS[: len(ROWS) // 2].encode(), ": not JSON: "),
    "cut-between-rows": (ROWS[: ROWS.index("    },\n") + 7].encode(), ": not JSON: "),
    "wrong-type-deep-inside": (
        changed(("context", "recipient", "type"), {"age": [5, ""]}),
        ": row 2: 'context.recipient.type': under 'age', 2 it states an empty text; a parameter is a text, a number",
    ),
    "unknown-key": (changed(("votes",), [1]), ":46: row 2: 'votes': Extra inputs are not permitted"),
    "missing-key": (changed(("query",), ...), ":46: row 2: 'query': Field required"),
    "vote-of-three": (changed(("scores", 0), 3), ":46: row 2: 'scores.0': 3 is no vote; a vote is 1 (safe) or 2"),
    "vote-of-words": (changed(("scores", 0), "safe"), ":46: row 2: 'scores.0': 'safe' is no vote"),
    "rate-above-one": (changed(("safe_rate",), 1.2), ":46: row 2: 'safe_rate' is 1.2: Input should be less than or"),
    "rate-below-zero": (changed(("safe_rate",), -0.2), ":46: row 2: 'safe_rate' is -0.2"),
    "rate-of-nothing": (changed(("safe_rate",), 0.4567), ":46: row 2: safe_rate is 0.4567, but the 20 votes give"),
    "duplicate": (json.dumps(released_rows(2) + released_rows(1)).encode(), ":1: row 3: the same query and context"),
    "empty": (b"", ": the file is empty"),
    "no-rows": (b"[]", ": holds no rows"),
    "an-object": (b'{"rows": []}', ": not a JSON array of rows"),
    "another-format": (b"query,context,votes\na,b,1\n", ":1: not JSON"),
    "binary": (bytes(range(256)), ":2: byte 0x80 is not UTF-8"),
    "windows-1252": ("[\n\u201chello\u201d]".encode("cp1252"), ":2: byte 0x93 is not UTF-8"),
    "repeated-key": (b'[{"query": "a", "query": "b"}]', ":1: row 1: the key 'query' stands twice"),
    "not-a-number": (b'[{"safe_rate": NaN}]', ":1: row 1: NaN is not a JSON value"),
    "nested": (b"[" * 100_000 + b"]" * 100_000, ": not JSON that can be read: nested too deep"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_named_with_its_line(name, here):
    raw, problem = BAD_FILES[name]
    file = here / f"{name}.json"
    file.write_bytes(raw)

    for command in (("show", file), ("judge", file, "--judge", "constant:safe", "--out", here / "run")):
        said = casewise(*command)
        assert said.code == 2
        assert said.out == ""
        assert said.err.startswith(f"error: {file}")
        assert problem in said.err
    assert [entry.name for entry in here.iterdir()] == [file.name]


BAD_COMMANDS = [
    (("judge",), "casewise judge --help"),
    (("judge", "demo", "--judge", "linear", "--repeats", "0"), "--repeats"),
    (
        ("show", "nowhere.json"),
        "no such benchmark; give demo, a name that casewise data list shows, a benchmark folder or",
    ),
    (("show", "."), "is no benchmark folder: it has no benchmark.json"),
    (("show", LONG), "File name too long"),
    (("show", "casebench"), "run: casewise data fetch casebench"),
    (
        ("show", "demo", "zzz"),
        "no item of the benchmark 'demo' has an id that begins with 'zzz'; give an item's id",
    ),
    (("show", "demo", "0"), "ids that begin with '0'"),
    (
        ("decider", "ask", "file", "hello"),
        "casewise decider ask takes no further argument 'hello'; casewise decider ask --help shows what it takes",
    ),
    (("show", "demo", "9" * 5000), "no item of the benchmark 'demo'"),
    (("data", "fetch", "mnist"), "no public benchmark is called 'mnist'; casewise data list shows all"),
    (("judge", "demo", "--judge", "gtp-4"), "constant:safe, constant:unsafe, constant:intended"),
    (("judge", "demo", "--judge", "constant:maybe"), "it can be constant:safe"),
    (("judge", "demo", "--judge", "python:nothing:f"), "cannot import 'nothing': ModuleNotFoundError"),
    (("judge", "demo", "--judge", "recorded:none.json"), "none.json: cannot be read: No such file"),
    (("judge", "demo", "--judge", "constant:safe", "--elicit", "vibes"), "no elicitation is called 'vibes'"),
    (("judge", "demo", "--judge", "constant:safe", "--elicit", "score"), "cannot be asked for 'score'"),
    (("judge", "demo", "--judge", "constant:safe", "--out", LONG), "File name too long"),
    (("judge", "demo", "--judge", "constant:safe", "--out", "file"), "file is a file, not a run folder"),
    (("judge", "demo", "--judge", "constant:safe", "--out", "file/run"), "cannot write file/run: Not a directory"),
    (("judge", "demo", "--judge", "constant:safe", "--out", "full"), "full holds something else"),
    (("report", "full"), "full: is no run folder: it has no run.json"),
    (("report", "nowhere"), "nowhere: is no run folder"),
    (
        ("report", "run", "--labels", "gold"),
        "no label policy is called 'gold'; there are votes, published, intended, mean",
    ),
    (("report", "run", "--labels", "votes,override:nothing=safe"), "the override names 'nothing', a category that no"),
    (("report", "run", "--ties", "coin"), "--ties is 'coin'; it can be half, drop, safe, unsafe"),
    (("report", "run", "--unscored", "coin"), "--unscored is 'coin'; it can be miss, exclude, published"),
    (("report", "run", "--html", "full"), "cannot write full"),
    (("report", "run", "--html", "file/page.html"), "cannot write file/page.html: "),
    (("report", "run", "--benchmark", "other.json"), "other items or ratings; give the one that it was run on"),
    (("judge", "demo", "--judge", "linear", "--limit", "2.5", "--out", "new"), "--limit is 2.5; it is a whole number"),
    (("paper", "nowhere.json"), "nowhere.json: cannot be read: No such file"),
    (("paper", "other.json"), "row 1: has no judge's value"),
    (("paper", "renamed.json"), "renamed.json does not say how the judge was asked; give --elicitation"),
    (("paper", "renamed.json", "--elicitation", "vibes"), "no elicitation is called 'vibes'"),
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A run over the demo benchmark, to be copied."""
    return judge("demo", "constant:safe", out=tmp_path_factory.mktemp("judged") / "run").path


@pytest.fixture
def prepared(here, judged):
    (here / "file").write_text("x")
    (here / "full").mkdir()
    (here / "full" / "thesis.tex").write_text("x")
    write(here / "other.json", released_rows(3))
    write(here / "renamed.json", output_rows([1, 2]))
    shutil.copytree(judged, here / "run")
    return here


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "problem"), BAD_COMMANDS, ids=lambda value: " ".join(value)[:60])
def test_a_bad_command_says_what_to_do_and_changes_nothing(command, problem, prepared):
    before = contents(prepared)
    said = casewise(*command)

    assert said.code == 2
    assert said.out == ""
    assert problem in said.err
    assert "bug" not in said.err
    assert contents(prepared) == before


def test_a_folder_whose_checksum_does_not_match_is_refused(here):
    write_benchmark(load("demo"), here / "b")
    with (here / "b" / "ratings.jsonl").open("a") as file:
        file.write(" ")

    said = casewise("show", "b")
    assert said.code == 2
    assert "b/ratings.jsonl: sha256 is" in said.err


@pytest.mark.slow
def test_runs_over_different_benchmarks_or_over_one_that_is_gone_are_refused(prepared):
    other = ("judge", "other.json", "--judge", "constant:safe", "--out")
    casewise(*other, "run2")
    refused = casewise(*other, "run"), casewise("report", "run", "run2")
    shutil.move("other.json", "moved.json")
    gone = casewise("report", "run2")

    assert [said.code for said in (*refused, gone)] == [2, 2, 2]
    assert "run holds a run that differs in benchmark: it has" in refused[0].err
    assert "different benchmarks" in refused[1].err
    assert "other.json" in gone.err
    assert "--benchmark" in gone.err
    assert casewise("report", "run2", "--benchmark", "moved.json").code == 0


CALLABLE = """
asked = []

def judge(query, context):
    asked.append(query)
    if len(asked) > 1 and "a" in query.split():
        raise RuntimeError("out of order")
    return "safe"
"""


def test_a_callable_that_raises_leaves_items_unscored_with_the_reason_and_goes_on(here):
    (here / "rules.py").write_text(CALLABLE)
    said = casewise("judge", "demo", "--judge", "python:rules:judge", "--out", "run")

    assert said.code == 0
    log = [json.loads(line) for line in (here / "run" / "judgements.jsonl").read_text().splitlines()]
    unscored = [line["outcome"] for line in log if line["outcome"]["kind"] == "unscored"]
    assert len(log) == 90
    assert unscored
    assert all(outcome["detail"] == "RuntimeError: out of order" for outcome in unscored)
    assert "RuntimeError: out of order" in said.err


def small_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("judge", "demo", "--judge", "linear", "--out", "new"), ("report", "run"), ("report", "run", "--html", "p.html")],
)
def test_a_full_disk_is_said_and_leaves_nothing_half_written(command, prepared):
    reported = {name: raw for name, raw in contents(prepared).items() if name.parts[0] != "new"}
    done = subprocess.run(
        [sys.executable, "-m", "casewise", *command], capture_output=True, text=True, check=False, preexec_fn=small_disk
    )

    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert {name: raw for name, raw in contents(prepared).items() if name.parts[0] != "new"} == reported
    if command[0] == "judge":
        again = subprocess.run([sys.executable, "-m", "casewise", *command], capture_output=True, text=True, check=True)
        assert "90 verdicts" in again.stdout


@pytest.mark.slow
def test_a_terminal_that_knows_ascii_only_stops_no_command(here):
    write(here / "b.json", [row | {"query": row["query"] + " \u2603 \u201cnow\u201d"} for row in released_rows(2)])

    for command in (("show", "b.json", "1"), ("show", "b.json")):
        said = program(*command, cwd=here, PYTHONIOENCODING="ascii")
        assert said.code == 0
        assert "bug" not in said.err


@pytest.mark.parametrize(
    ("text", "words", "problem"),
    [
        ('nmae = "x"', ("show", "guards", "FILE"), "nmae is not known (did you mean 'name'?)"),
        ('nmae = "x"', ("contexts", "select", "demo", "--taxonomy", "FILE"), "nmae is not known (did you mean 'name'?)"),
        ('[[groups]]\nnmae = "x"', ("contexts", "select", "demo", "--parameters", "FILE"), "groups.0.nmae is not known"),
        ('limitatoins = ["x"]', ("export", "demo", "--to", "croissant", "--out", "o", "--about", "FILE"), "did you mean 'limitations'?"),
        ('name = "x"\nversion = "1"\n[binary]\nwith_contxt = "x"', ("judge", "demo", "--judge", "fake/rehearsal", "--prompts", "FILE"), "binary.with_contxt is not known (did you mean 'with_context'?)"),
        ('[mine]\nsaef = "x"', ("attack", "demo", "--judge", "linear", "--attacks", "FILE"), "saef is not known (did you mean 'safe'?)"),
        ('txet = "x"', ("replies", "grade", "r", "--grader", "rubric:fake/rehearsal", "--rubric", "FILE"), "txet is not known (did you mean 'text'?)"),
        ("[simulation]\nquereis = 3\n[simulation.safe_rates]\na = 0.4\nb = 0.5", ("power", "study", "--design", "FILE"), "simulation.quereis is not known (did you mean 'queries'?)"),
        ('benchmrak = "x"', ("run", "FILE"), "benchmrak is not known (did you mean 'benchmark'?)"),
        ('nmae = "x"', ("study", "check", "FILE"), "nmae is not known (did you mean 'name'?)"),
    ],
)  # fmt: skip
def test_a_misspelt_key_of_every_file_in_toml_is_named_beside_the_nearest(here, text, words, problem):
    (here / "own.toml").write_text(f"{text}\n")
    said = casewise(*("own.toml" if word == "FILE" else word for word in words))

    assert said.code == 2
    assert "own.toml: " in said.err
    assert problem in said.err
