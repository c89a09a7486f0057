"""How long and how much memory an audit takes, as a process of its own, for 900 and 20,000 items.

    python benchmarks/audit.py [ITEMS ...]

Benchmarks are made up: two contexts a query of eight parameters with about twenty words each, drawn from a vocabulary of
6,000 words with Zipf's frequencies and leaning by intent, and twenty anonymous votes an item. The floor in the same run is
the classifier on contexts alone (one prediction out of fold for every item), which is what the judge `linear` does.
Also prints how often each finding that rests on a test is made on benchmarks without any fault.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIZES = (900, 20_000)

PARAMETERS = {
    "sender": ("nature_of_the_interaction", "platform_type"),
    "recipient": ("type", "background"),
    "transmission_principle": ("urgency", "sender_purpose", "confidentiality", "source_accountability"),
}


def write(path: Path, n_items: int) -> None:
    import numpy as np

    from casewise.records import sorry_bench

    rng = np.random.default_rng(1)
    names = sorry_bench().names
    chance = 1 / np.arange(1, 6001)
    words = np.array([f"w{i}" for i in range(6000)])
    rows: list[dict[str, Any]] = []
    for index in range(n_items // 2):
        for intended in (True, False):
            lean = chance * np.where(np.arange(6000) % 3 == 0, 3 if intended else 1 / 3, 1)
            drawn = rng.choice(words, size=8 * 20, p=lean / lean.sum())
            statements = iter(" ".join(drawn[i * 20 : i * 20 + 20]) for i in range(8))
            votes = np.where(rng.random(20) < rng.beta(*((6, 3) if intended else (3, 7))), 1, 2).tolist()
            rows.append(
                {
                    "scores": votes,
                    "query": f"made-up query {index} {' '.join(drawn[:6])}" if intended else rows[-1]["query"],
                    "context": {group: {name: next(statements) for name in of} for group, of in PARAMETERS.items()},
                    "context_intended_to_be_safe": intended,
                    "safe_rate": votes.count(1) / 20,
                    "category": names[index % len(names)],
                }
            )
    path.write_text(json.dumps(rows), encoding="utf-8")


def measured(what: str, path: Path) -> tuple[float, float, float]:
    """Seconds on the clock, seconds of processor and MiB of a process."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, f"--{what}", str(path)], check=True, capture_output=True, text=True
    )
    seconds, kib = done.stdout.split()[-2:]
    return time.perf_counter() - started, float(seconds), float(kib) / 1024


def work(what: str, path: Path) -> None:
    from casewise.storage.load import load

    benchmark = load(path)
    if what == "audit":
        from casewise.audits import audit
        from casewise.reports.audit import audit_page
        from casewise.reports.formats import html

        html(audit_page(audit(benchmark)))
    else:
        from casewise.judges.baselines import LinearJudge

        LinearJudge(benchmark)
    print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def false_alarms(times: int) -> dict[str, int]:
    """How often findings that rest on a test are made on benchmarks without a fault."""
    import numpy as np
    from tests.audits.builders import benchmark_of, crowd

    from casewise.audits import AuditOptions, audit

    found: dict[str, int] = {}
    rng = np.random.default_rng(7)
    for _ in range(times):
        quick = AuditOptions(folds=5, splits=2)
        for finding in audit(benchmark_of(crowd(rng)), options=quick).findings:
            found[finding.code] = found.get(finding.code, 0) + 1
    return found


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    print(
        f"{'items':>8} {'audit s':>9} {'cpu s':>7} {'MiB':>7} {'linear s':>9} {'cpu s':>7} {'MiB':>7} {'cpu, times':>10}"
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made-up.json"
            write(path, size)
            audit = measured("audit", path)
            linear = measured("linear", path)
        cells = "".join(f"{wall:>10.1f} {cpu:>7.1f} {mib:>7.0f}" for wall, cpu, mib in (audit, linear))
        print(f"{size:>8,}{cells} {audit[1] / linear[1]:>10.1f}", flush=True)
    print(f"findings on 40 benchmarks without a fault: {false_alarms(40)}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].startswith("--"):
        work(sys.argv[1].removeprefix("--"), Path(sys.argv[2]))
    else:
        main()
