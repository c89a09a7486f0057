"""How long a command takes from nothing: `casewise --help` and the report of 90 items, against `python -c pass`.

    python benchmarks/startup.py

Best of seven runs each, whole processes. The report's caches are warm, and Python may keep compiled modules.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

RUNS = 7


def best(command: list[str]) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(RUNS):
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
        commands["casewise report of 90 items"] = [casewise, "report", f"{folder}/run"]
        for name, command in commands.items():
            seconds = best(command)
            floor = floor or seconds
            print(f"| {name} | {seconds:.3f} | {seconds / floor:.1f} |", flush=True)


if __name__ == "__main__":
    main()
