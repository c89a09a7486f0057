"""How long and how much memory a report of a run takes, from 10,000 to 1,000,000 judgements, each in its own process.

    python benchmarks/report.py [LARGEST]

Writes run folders of a benchmark of 900 items with repeats and replies of 400 characters, and reads them back: the table
alone, and the whole report with its page. The floors in the same run are reading the bytes and parsing each line with
the standard library.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

SIZES = (10_000, 100_000, 1_000_000)

WORDS = "the sender asks within a setting whose terms are plain and so the answer may flow "


def items_of(benchmark):
    return [item.id for item in benchmark.items]


def benchmark_of_900():
    """450 made-up queries with two contexts and twenty made-up votes each."""
    import numpy as np
    from tests.support.benchmarks import context_of

    from casewise.records import Item, Query, Rating, sorry_bench
    from casewise.storage.benchmark import About, Benchmark

    rng = np.random.default_rng(1)
    names = sorry_bench().names
    queries = tuple(Query(text=f"made-up query {i}", category=names[i % len(names)]) for i in range(450))
    contexts = tuple(context_of(query, intended_safe=safe) for query in queries for safe in (True, False))
    items = tuple(Item.from_context(context) for context in contexts)
    ratings = []
    for item, context in zip(items, contexts, strict=True):
        rate = rng.beta(4, 2) if context.intended_safe else rng.beta(2, 4)
        votes = rng.random(20) < rate
        ratings += [
            Rating(item_id=item.id, position=i, verdict="safe" if vote else "unsafe") for i, vote in enumerate(votes)
        ]
    return Benchmark(About(name="made-up"), queries, contexts, items, tuple(ratings))


def write_run(folder: Path, benchmark, n: int, *, source: Path | None = None) -> None:
    import numpy as np

    from casewise.storage.run_folder import RUN, RunIdentity, RunManifest

    rng = np.random.default_rng(2)
    ids = items_of(benchmark)
    identity = RunIdentity(benchmark=benchmark.digest, judge="made-up@1", settings={}, seed=0)
    manifest = RunManifest(
        identity=identity,
        judge_name="made-up",
        benchmark_name=benchmark.name,
        benchmark_source=str(source or folder.parent / "benchmark"),
        created=datetime.now(UTC),
    )
    folder.mkdir()
    (folder / RUN).write_text(manifest.model_dump_json())
    reply = (WORDS * 8)[:380]
    scores = rng.integers(1, 11, size=n)
    with (folder / "judgements.jsonl").open("w", encoding="utf-8") as file:
        for i in range(n):
            outcome = (
                {"kind": "unscored", "reason": "unparsed"}
                if i % 97 == 0
                else {"kind": "scored", "value": float(scores[i])}
            )
            line = {
                "item_id": ids[i % len(ids)],
                "judge_id": "made-up@1",
                "elicitation": "score",
                "arm": "full",
                "repeat": i // len(ids),
                "attempt": 0,
                "raw_reply": f"{i:08d} {reply} {scores[i]:>2}",
                "outcome": outcome,
                "at": "2026-01-01T00:00:00Z",
                "latency_s": 0.25,
                "model_version": "made-up-1",
                "input_tokens": 400,
                "output_tokens": 80,
            }
            file.write(json.dumps(line) + "\n")


TASKS = {
    "read the bytes": "path.read_bytes()",
    "json.loads a line": "import json\nfor line in path.open(): json.loads(line)",
    "judgement_table": (
        "from casewise.storage.run_folder import judgement_table, last_attempts\n"
        "from casewise.stats.estimates import item_values\n"
        "item_values(last_attempts(judgement_table(path)), elicitation='score')"
    ),
    "casewise report": (
        "from casewise.api import report\nfound = report(path.parent)\n(path.parent / 'report.html').write_text(found.to_html())"
    ),
}


def measure(task: str, path: Path) -> tuple[float, float]:
    """Seconds and peak MiB of a whole process."""
    code = (
        f"from pathlib import Path\npath = Path({str(path)!r})\n{TASKS[task]}\n"
        "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return time.perf_counter() - started, int(done.stdout.split()[-1]) / (1024**2 if sys.platform == "darwin" else 1024)


def main() -> None:
    from casewise.storage.benchmark_folder import write_benchmark

    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    print("| judgements | task | seconds | peak MiB | µs a line |\n|---:|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark = benchmark_of_900()
        write_benchmark(benchmark, folder / "benchmark")
        for n in (size for size in SIZES if size <= largest):
            write_run(folder / f"run-{n}", benchmark, n)
            for task in TASKS:
                seconds, peak = measure(task, folder / f"run-{n}" / "judgements.jsonl")
                print(f"| {n:,} | {task} | {seconds:.2f} | {peak:.0f} | {1e6 * seconds / n:.1f} |", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    resource.getrusage(resource.RUSAGE_SELF)
    main()
