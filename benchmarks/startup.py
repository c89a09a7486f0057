"""How long a command takes from nothing: `casewise --help` and the report of 90 items, against `python -c pass`.

    python benchmarks/startup.py

Best of seven runs each, whole processes. The report's caches are warm, its charts among them, but in the last row: there a chart is drawn
anew. Python may keep compiled modules.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from casewise.storage.files import cache_folder

RUNS = 7
DRAWN = "the same, its charts drawn anew"


def best(command: list[str], *, without: Path | None = None) -> float:
    """Return the least seconds that a command takes, with the folder `without` of the cache removed before each run."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(RUNS):
        if without is not None:
            shutil.rmtree(without, ignore_errors=True)
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    casewise = str(Path(sys.executable).with_name("casewise"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import casewise": [sys.executable, "-c", "import casewise"],
        "casewise --help": [casewise, "--help"],
    }
    floor = None
    print("| command | seconds | times `python -c pass` |\n|---|---:|---:|")
    with TemporaryDirectory() as folder:
        subprocess.run([casewise, "demo", "--out", f"{folder}/run"], check=True, capture_output=True)
        commands |= {key: [casewise, "report", f"{folder}/run"] for key in ["casewise report of 90 items", DRAWN]}
        for name, command in commands.items():
            seconds = best(command, without=cache_folder() / "charts" if name == DRAWN else None)
            floor = floor or seconds
            print(f"| {name} | {seconds:.3f} | {seconds / floor:.1f} |", flush=True)


if __name__ == "__main__":
    main()
