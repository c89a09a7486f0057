"""The whole `study report` as a process: time and memory on 47,250 and on 1,000,000 simulated ratings.

python benchmarks/study_report.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from casewise.stats import CrowdDesign, CrowdModel
from casewise.studies.simulation import SimulationPlan, simulated_table, write_ratings

RATES = {"no_context": 0.4, "safe_generated": 0.8, "unsafe_generated": 0.2, "safe_revised": 0.8, "unsafe_revised": 0.2}


def ratings(folder: Path, *, queries: int, name: str) -> Path:
    """A simulated study of the paper's shape, written as Parquet."""
    conditions = tuple(RATES)
    plan = SimulationPlan(
        conditions=conditions,
        design=CrowdDesign(safe_rates=tuple(RATES.values()), queries=queries),
        crowd=CrowdModel(careless=0.05, contrary=0.02),
        contrasts=tuple((conditions[0], other) for other in conditions[1:]),
        categories=45,
    )
    path = folder / name
    write_ratings(simulated_table(plan, rng=np.random.default_rng(1)), path)
    return path


def measured(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MiB of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    casewise = str(Path(sys.executable).with_name("casewise"))
    print(f"{'ratings':<14}{'seconds':>10}{'goal':>8}{'MiB':>10}{'goal':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for queries, title, goal_s, goal_mib in ((450, "47,250", 8, ""), (9524, "1,000,020", 30, "2048")):
            path = ratings(folder, queries=queries, name=f"{queries}.parquet")
            took, peak = measured([casewise, "study", "report", str(path), "--out", str(folder / f"out{queries}")])
            print(f"{title:<14}{took:>10.1f}{goal_s:>8}{peak:>10.0f}{goal_mib:>8}")


if __name__ == "__main__":
    main()
