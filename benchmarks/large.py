"""What each command takes on a benchmark of 100,000 items with two million ratings: the first time, and again.

    python benchmarks/large.py [ITEMS] [TASK ...]

The benchmark is that of `audit.py`, written as a folder; two made-up runs over it hold a score for every item. Each task is a
process of its own, with a cache of its own that is empty at the beginning: what is `first` reads the folder and keeps what
it made of it, all after it reads what was kept. The tables say seconds on the clock, of processor time, and peak memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPORT = "(folder / 'report.html').write_text(casewise.report(folder / 'a').to_html())"
AUDIT = "(folder / 'audit.html').write_text(casewise.audit(folder / 'bench').to_html())"

TASKS = {
    "load, first": "casewise.load(folder / 'bench')",
    "load": "casewise.load(folder / 'bench')",
    "report, first": REPORT,
    "report": REPORT,
    "audit, first": AUDIT,
    "audit": AUDIT,
    "compare": "casewise.compare(folder / 'a', folder / 'b')",
    "gate": "casewise.gate(folder / 'a', folder / 'b', max_drop='accuracy=0.05')",
}


def build(folder: Path, items: int) -> None:
    """Write the benchmark and two runs over it."""
    from benchmarks.audit import write
    from benchmarks.report import write_run

    from casewise.storage.benchmark_folder import write_benchmark
    from casewise.storage.load import load

    write(folder / "made-up.json", items)
    benchmark = load(folder / "made-up.json")
    write_benchmark(benchmark, folder / "bench")
    for name in ("a", "b"):
        write_run(folder / name, benchmark, items, source=folder / "bench")


def measured(task: str, folder: Path) -> tuple[float, float, float]:
    """Seconds on the clock and of processor time, and peak MiB, of a task as a whole process."""
    return measured_code(f"import casewise\n{TASKS[task]}", folder)


def measured_code(code: str, folder: Path) -> tuple[float, float, float]:
    """The same of any code over a `folder`."""
    code = f"from pathlib import Path\nfolder = Path({str(folder)!r})\n{code}"
    here = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code], env=here)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"ended with {status}:\n{code}")
    peak = used.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, peak


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    tasks = sys.argv[2:] or list(TASKS)
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, __file__, "--build", name, str(items)], check=True)  # its memory is not ours
        print(f"| {items:,} items | seconds | processor s | peak MiB |\n|---|---:|---:|---:|")
        for task in tasks:
            seconds, processor, peak = measured(task, Path(name))
            print(f"| {task} | {seconds:.1f} | {processor:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    if sys.argv[1:2] == ["--build"]:
        build(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
