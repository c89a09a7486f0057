"""What a million of something takes: a run of a million lines gone on with, and a benchmark of a million items.

    python benchmarks/million.py lines [LINES]
    python benchmarks/million.py items [ITEMS]
    python benchmarks/million.py others [ITEMS]

`lines` is a run of 900 items with repeats, as `report.py` writes it: read, counted against its plan and what is left of
it found, without a call. `items` is a benchmark of that many items (two short contexts a query, three votes an item) with a
run over all of them: loaded twice, gone on with, reported twice by `casewise report`; and `casewise judge` itself going on with a run by `constant:safe` of which
a hundredth is left, and once more when nothing is. `others` is the same benchmark and other commands over it. Each step is a process of its own; processor time and peak memory.
It takes about 3 GB of disk where temporary files go.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

VOTES = 3

LOAD = "import casewise\ncasewise.load(folder / 'bench')"


def program(words: str) -> str:
    """Code that runs `casewise` with these words, and prints nothing of what it prints."""
    quiet = "sys.stdout = sys.stderr = open(os.devnull, 'w')"
    return f"import os, sys\nfrom casewise.cli.app import main\n{quiet}\nsys.argv = ['casewise', {words}]\nmain()\n"


JUDGE = program("'judge', str(folder / 'bench'), '--judge', 'constant:safe', '--out', str(folder / 'constant')")
REPORT = program("'report', str(folder / 'run')")
OTHERS = {
    "judge --sample 1000": program(
        "'judge', str(folder / 'bench'), '--judge', 'constant:safe', '--sample', '1000', '--out', str(folder / 'sample')"
    ),
    "power judges": program("'power', 'judges', '--from', str(folder / 'run'), str(folder / 'constant')"),
    "audit, the first": program("'audit', str(folder / 'bench')"),
    "audit": program("'audit', str(folder / 'bench')"),
    "export --to published": program(
        "'export', str(folder / 'bench'), '--to', 'published', '--out', str(folder / 'published.json')"
    ),
}
"""Walked by hand over a million items before they stood here, see `benchmarks/README.md`."""

GO_ON = """
import asyncio
from casewise.judges.plan import Plan
from casewise.records import FULL
from casewise.runs.engine import RunSession
from casewise.runs.run import folder_log, session_now
from casewise.models.prices import Spend
from casewise.runs.limits import Limits, RunProgress
from casewise.storage.load import load
from casewise.storage.run_folder import JUDGEMENT_LOG, read_manifest

found = load(folder / {bench!r})
manifest, progress = read_manifest(folder / "run", JUDGEMENT_LOG), RunProgress()
plan = Plan(found.items, ("score",), (FULL,), {repeats}).asks(found, lambda ask: None)

async def left_of_plan():
    async with folder_log(folder / "run", manifest, JUDGEMENT_LOG, session_now(Limits())) as log:
        work = RunSession(plan, log, lambda ask: Spend(), progress)
        return sum(1 for _ in work.calls)

left = asyncio.run(left_of_plan())
print("  settled", format(progress.resumed, ","), "and left", format(left, ","))
"""


def build_lines(folder: Path, n: int) -> None:
    from benchmarks.report import benchmark_of_900, write_run

    from casewise.storage.benchmark_folder import write_benchmark

    benchmark = benchmark_of_900()
    write_benchmark(benchmark, folder / "benchmark")
    write_run(folder / "run", benchmark, n)


def build_items(folder: Path, n: int) -> None:
    """The folder of the benchmark is written as it is made, for so many contexts are not held."""
    import numpy as np
    from benchmarks.report import write_run
    from tests.support.benchmarks import context_of

    from casewise.records import Item, Query, sorry_bench
    from casewise.storage.benchmark import About, BenchmarkCounts
    from casewise.storage.benchmark_folder import FILES, FORMAT_VERSION, MANIFEST, Manifest, sha256

    bench, rng, names = folder / "bench", np.random.default_rng(1), sorry_bench().names
    bench.mkdir()
    queries, items, n_contexts = [], [], 0
    with (bench / "contexts.jsonl").open("w") as contexts, (bench / "ratings.jsonl").open("w") as ratings:
        for index in range(n // 2):
            query = Query(text=f"made-up query {index}", category=names[index % len(names)])
            queries.append(query)
            for intended in (True, False):
                context = context_of(query, intended_safe=intended)
                contexts.write(context.line() + "\n")
                items.append(Item.from_context(context))
                n_contexts += 1
                for position, safe in enumerate(rng.random(VOTES) < (0.7 if intended else 0.3)):
                    verdict = "safe" if safe else "unsafe"
                    ratings.write(f'{{"item_id":"{items[-1].id}","position":{position},"verdict":"{verdict}"}}\n')
    for name, records in (("queries", queries), ("items", items), ("revisions", ())):
        (bench / f"{name}.jsonl").write_text("".join(f"{one.line()}\n" for one in records))
    counts = BenchmarkCounts(
        queries=len(queries), contexts=n_contexts, items=len(items), ratings=VOTES * n, revisions=0
    )
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        about=About(name="made-up"),
        counts=counts,
        taxonomy=sorry_bench(),
        files={name: sha256(bench / name) for name in FILES},
    )
    (bench / MANIFEST).write_text(manifest.line() + "\n")
    from casewise.storage.load import load

    loaded = load(bench)
    write_run(folder / "run", loaded, n, source=bench)
    begin_constant(folder / "constant", loaded, n - n // 100)


def begin_constant(folder: Path, benchmark, n: int) -> None:
    """A run by `constant:safe` that holds the first `n` of its judgements."""
    from datetime import UTC, datetime

    from casewise.judges.named import load_judge
    from casewise.judges.plan import Plan, manifest
    from casewise.records import Judgement, Scored

    judge = load_judge("constant:safe", benchmark)
    folder.mkdir()
    written = manifest(
        benchmark, judge, Plan.for_benchmark(benchmark, judge), source=str(folder.parent / "bench"), seed=0
    )
    (folder / "run.json").write_text(written.model_dump_json(exclude_none=True))
    one = Judgement(
        item_id="ITEM",
        judge_id=judge.id,
        elicitation="binary",
        arm="full",
        repeat=0,
        attempt=0,
        outcome=Scored(value=1.0),
        at=datetime.now(UTC),
    )
    line = one.line() + "\n"
    with (folder / "judgements.jsonl").open("w") as file:
        file.writelines(line.replace("ITEM", item) for item in benchmark.item_columns["item_id"][:n])


def main() -> None:
    from benchmarks.large import measured_code

    what = sys.argv[1] if len(sys.argv) > 1 else "lines"
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([sys.executable, __file__, "--build", what, name, str(n)], check=True)
        lines = what == "lines"
        go_on = GO_ON.format(bench="benchmark" if lines else "bench", repeats=n // 900 + 1 if lines else 1)
        judged = {"casewise judge, a hundredth left": JUDGE, "casewise judge, nothing left": JUDGE}
        steps = {"load, first": LOAD, "load": LOAD, **judged} if what == "items" else {}
        print(f"| {n:,} {what} | seconds | processor s | peak MiB |\n|---|---:|---:|---:|")
        steps |= {"gone on with": go_on, "report, the first, page and all": REPORT, "report, page and all": REPORT}
        if what == "others":
            steps = {"load, first": LOAD, "the constant run ended": JUDGE, **OTHERS}
        for step, code in steps.items():
            seconds, processor, peak = measured_code(code, Path(name))
            print(f"| {step} | {seconds:.1f} | {processor:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    if sys.argv[1:2] == ["--build"]:
        {"lines": build_lines, "items": build_items, "others": build_items}[sys.argv[2]](
            Path(sys.argv[3]), int(sys.argv[4])
        )
    else:
        main()
