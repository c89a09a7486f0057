import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.sums import SUMS, Sum, sum_manifest

from casewise.errors import ConfigurationError, DataError, RunConflict
from casewise.records import Judgement, Scored
from casewise.storage.files import read_jsonl
from casewise.storage.run_folder import (
    JUDGEMENT_LOG,
    JUDGEMENTS,
    RUN,
    RunFolder,
    RunIdentity,
    RunManifest,
    judgement_table,
    kind_of,
    read_manifest,
    read_run,
)

IDENTITY = RunIdentity(benchmark="b" * 32, judge="j", settings={"temperature": 0.0, "stop": ["a"]}, seed=0)


def manifest(**identity):
    return RunManifest(
        identity=IDENTITY.model_copy(update=identity),
        judge_name="j",
        benchmark_name="demo",
        benchmark_source="demo",
        created=datetime(2026, 1, 1, tzinfo=UTC),
    )


def judgement(n, *, attempt=0, value=1.0):
    outcome = Scored(value=value)
    return Judgement(item_id=f"i_{n}", judge_id="j", elicitation="binary", arm="full", attempt=attempt, outcome=outcome)


@pytest.fixture
def run(tmp_path):
    with RunFolder.hold(tmp_path / "run", manifest(), JUDGEMENT_LOG) as folder:
        for n in range(3):
            folder.add(judgement(n))
    return tmp_path / "run"


def test_what_was_added_is_there_when_the_run_goes_on(run):
    with RunFolder.hold(run, manifest(), JUDGEMENT_LOG) as folder:
        assert list(read_jsonl(folder.log_path, Judgement)) == [judgement(n) for n in range(3)]


def test_settings_are_compared_as_they_are_written(tmp_path):
    with RunFolder.hold(tmp_path, manifest(settings={"stop": ("a", "b"), "top_p": None}), JUDGEMENT_LOG):
        pass
    with RunFolder.hold(tmp_path, manifest(settings={"stop": ("a", "b")}), JUDGEMENT_LOG):
        pass


HOLD = """
import sys, time
from pathlib import Path
from casewise.storage.run_folder import JUDGEMENT_LOG, read_run
from casewise.storage.run_folder import RunFolder
folder = Path(sys.argv[1])
with RunFolder.hold(folder, read_run(folder), JUDGEMENT_LOG):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_another_process_is_kept_out_until_the_first_is_gone(run):
    with subprocess.Popen([sys.executable, "-c", HOLD, run], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(RunConflict, match="another process is working on"),
            RunFolder.hold(run, manifest(), JUDGEMENT_LOG),
        ):
            pass
        other.send_signal(signal.SIGKILL)
    with RunFolder.hold(run, manifest(), JUDGEMENT_LOG) as folder:
        assert len(list(read_jsonl(folder.log_path, Judgement))) == 3


@pytest.mark.parametrize("whole", [0, 3])
@pytest.mark.parametrize("torn", [b'{"item_id":"i_9","jud', b"\x00" * 70_000, b'{"item_id":"\xc3'])
def test_a_torn_last_line_is_cut_off(run, torn, whole):
    lines = (run / JUDGEMENTS).read_bytes().splitlines(keepends=True)
    (run / JUDGEMENTS).write_bytes(b"".join(lines[:whole]) + torn)

    assert len(judgement_table(run / JUDGEMENTS)) == whole
    with RunFolder.hold(run, manifest(), JUDGEMENT_LOG) as folder:
        folder.add(judgement(whole))
        assert list(read_jsonl(folder.log_path, Judgement)) == [judgement(n) for n in range(whole + 1)]


@pytest.mark.parametrize(
    ("identity", "problem"),
    [
        ({"benchmark": "c" * 32}, "benchmark: it has 'demo', now 'demo' with other items or ratings"),
        ({"judge": "k"}, "judge: it has 'j', now 'k'"),
        ({"seed": 1}, "seed: it has 0, now 1"),
        ({"settings": {"temperature": 1.0, "stop": ["a"]}}, r"setting 'temperature': it has 0\.0, now 1\.0"),
        ({"settings": {"temperature": 0.0}}, r"setting 'stop': it has \['a'\], now None"),
    ],
)
def test_a_run_with_another_identity_is_refused_by_the_name_of_the_setting(run, identity, problem):
    before = (run / JUDGEMENTS).read_bytes()

    with pytest.raises(RunConflict, match=problem), RunFolder.hold(run, manifest(**identity), JUDGEMENT_LOG):
        pass
    assert (run / JUDGEMENTS).read_bytes() == before


@pytest.mark.parametrize(
    ("place", "error", "problem"),
    [
        (".", RunConflict, "holds something else"),
        ("thesis.tex", RunConflict, "is a file"),
        ("thesis.tex/run", ConfigurationError, "cannot write"),
    ],
)
def test_a_place_that_is_no_run_folder_is_left_alone(tmp_path, place, error, problem):
    (tmp_path / "thesis.tex").write_text("x")

    with pytest.raises(error, match=problem), RunFolder.hold(tmp_path / place, manifest(), JUDGEMENT_LOG):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda value: value | {"format_version": 99}, "format_version is 99, newer than"),
        (lambda value: value | {"identity": 3}, "'identity' is 3"),
        (lambda value: {k: v for k, v in value.items() if k != "judge_name"}, "'judge_name': Field required"),
        (lambda value: value | {"extra": 3}, "'extra' is 3"),
    ],
)
def test_a_manifest_that_is_none_is_an_error(run, change, problem):
    (run / RUN).write_text(json.dumps(change(json.loads((run / RUN).read_text()))))

    with pytest.raises(DataError, match=rf"{RUN}: {problem}"):
        read_run(run)


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.storage.runs.test_run_folder import judgement, manifest
from casewise.errors import ConfigurationError
from casewise.storage.run_folder import JUDGEMENT_LOG
from casewise.storage.run_folder import RunFolder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    with RunFolder.hold(Path(sys.argv[1]), manifest(), JUDGEMENT_LOG) as folder:
        for n in range(1000):
            folder.add(judgement(n))
except ConfigurationError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_full_disk_keeps_what_was_written_before(tmp_path):
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "run", root], capture_output=True, text=True, check=True
    )

    assert "cannot write" in done.stdout
    assert "File too large; what it holds is kept" in done.stdout
    with RunFolder.hold(tmp_path / "run", manifest(), JUDGEMENT_LOG) as folder:
        found = list(read_jsonl(folder.log_path, Judgement))
    assert found == [judgement(n) for n in range(len(found))]
    assert len(found) > 5


def test_a_folder_holds_any_kind_of_log_and_says_which(tmp_path, run):
    with RunFolder.hold(tmp_path / "sums", sum_manifest(base=10), SUMS) as folder:
        folder.add(Sum(left=1, right=2, value=3))

    assert (kind_of(tmp_path / "sums"), kind_of(run)) == ("sums", "judgements")
    assert read_manifest(tmp_path / "sums", SUMS) == sum_manifest(base=10)
    assert (tmp_path / "sums" / "sums.jsonl").read_text() == '{"attempt":0,"left":1,"right":2,"value":3}\n'


def test_a_run_of_another_kind_is_refused_by_its_kind(run, tmp_path):
    with RunFolder.hold(tmp_path / "sums", sum_manifest(), SUMS):
        pass

    with pytest.raises(DataError, match="is a run of sums, not of judgements"):
        read_run(tmp_path / "sums")
    with (
        pytest.raises(RunConflict, match="holds a run of judgements, not of sums"),
        RunFolder.hold(run, sum_manifest(), SUMS),
    ):
        pass


def test_an_older_folder_that_goes_on_is_from_then_on_of_the_newer_format(tmp_path):
    """What is added to it may be what an older reader does not know."""
    with RunFolder.hold(tmp_path, sum_manifest().model_copy(update={"format_version": 1}), SUMS):
        pass
    before = read_manifest(tmp_path, SUMS).format_version
    with RunFolder.hold(tmp_path, sum_manifest(), SUMS):
        pass

    assert (before, read_manifest(tmp_path, SUMS).format_version) == (1, 2)


def test_a_judges_manifest_is_written_in_the_order_of_its_fields(run):
    assert (
        (run / RUN).read_text()
        == """{
 "format_version": 1,
 "identity": {
  "benchmark": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
  "judge": "j",
  "settings": {
   "temperature": 0.0,
   "stop": [
    "a"
   ]
  },
  "seed": 0
 },
 "judge_name": "j",
 "benchmark_name": "demo",
 "benchmark_source": "demo",
 "wordings": {},
 "created": "2026-01-01T00:00:00Z"
}
"""
    )
