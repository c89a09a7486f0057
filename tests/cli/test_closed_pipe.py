"""What nobody reads to its end is no "no"."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_reader_that_goes_away_has_its_own_exit_code():
    command = [sys.executable, "-m", "casewise", "show", "demo", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as shown:
        assert shown.stdout is not None
        shown.stdout.close()
        assert shown.wait(60) == 141


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_from_the_start_is_nobodys(closed, tmp_path):
    command = f"'{sys.executable}' -m casewise judge demo --judge constant:safe --limit 4 --out run {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, "error" in done.stderr) == (0, False)
    assert len((tmp_path / "run" / "judgements.jsonl").read_text(encoding="utf-8").split("\n")) == 5
