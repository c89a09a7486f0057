"""Each benchmark starts: what is run by hand, and rarely, breaks in silence otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_starts(path):
    """One with options says which; one without is read to its end without being begun."""
    takes_options = "argparse" in path.read_text(encoding="utf-8")
    loads = ["-c", f"import runpy; runpy.run_path({str(path)!r}, run_name='loaded')"]
    begins = ["-m", f"benchmarks.{path.stem}", "--help"] if takes_options else loads

    done = subprocess.run([sys.executable, *begins], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
