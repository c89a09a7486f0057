"""Requests a second over a server that answers after 50 ms: casewise against a bare aiohttp loop, lm-evaluation-harness
and `inspect eval`, in one run.

    python benchmarks/engine.py [--items 2000] [--rounds 3] [--no-peers] [--memory]

The peers are installed into their own environment, `.benchmark-env/engine`, by this script. Times of whole programs include
their start; `seconds` of casewise is the run itself, from the first request to the last line on disk, and the bare loop
is timed likewise. `--memory` runs 1,000 and 100,000 items and compares peak memory and cost per item.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.peer_environments import peer_programs

HERE = Path(__file__).parent
CONNECTIONS = 100
LATENCY_S = 0.05

TASK = """\
task: loopback
dataset_path: json
dataset_kwargs:
  data_files: {data}
test_split: train
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{target}}}}"
generation_kwargs:
  max_gen_toks: 64
  until: []
metric_list:
  - metric: exact_match
"""

INSPECT_TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset, FieldSpec
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def loopback():
    return Task(
        dataset=json_dataset({data!r}, FieldSpec(input="prompt", target="target")), solver=generate(), scorer=includes()
    )
"""


@dataclass(frozen=True)
class Timing:
    """How long something took: `run_s` the requests alone where they can be told apart, `wall_s` the whole program."""

    name: str
    requests: int
    run_s: float
    wall_s: float

    @property
    def rate(self) -> float:
        return self.requests / self.run_s


@contextlib.contextmanager
def server(latency_s: float) -> Iterator[str]:
    """The server in a process of its own; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(HERE / "loopback.py"), str(port), str(latency_s)])
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def write_benchmark(folder: Path, n_items: int) -> list[str]:
    """A made-up benchmark of `n_items` items at `folder`; the prompts that casewise asks about them."""
    from tests.support.benchmarks import context_of

    from casewise.ask.prompts import default_prompts
    from casewise.records import Item, Query, sorry_bench
    from casewise.storage.benchmark import About, Benchmark
    from casewise.storage.benchmark_folder import write_benchmark as write

    category = sorry_bench().names[0]
    queries = tuple(Query(text=f"made-up query {i}", category=category) for i in range(n_items // 2))
    contexts = tuple(context_of(query, intended_safe=safe) for query in queries for safe in (True, False))
    items = tuple(Item.from_context(context) for context in contexts)
    made = Benchmark(About(name="made-up"), queries, contexts, items)
    write(made, folder)
    prompts = default_prompts()
    return [
        prompts.render("binary", made.query[item.query_id].text, context.shown())[0].content
        for item, context in zip(items, contexts, strict=True)
    ]


async def bare(url: str, prompts: list[str]) -> float:
    """The floor: workers that post and read, and nothing else."""
    import aiohttp

    waiting = iter(prompts)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def worker() -> None:
            for prompt in waiting:
                body = {"model": "tiny", "messages": [{"role": "user", "content": prompt}], "max_tokens": 64}
                async with session.post(f"{url}/chat/completions", json=body) as answer:
                    assert (await answer.json())["choices"]

        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(worker())
        return time.perf_counter() - started


def casewise(url: str, folder: Path, out: Path) -> tuple[Timing, int]:
    """`casewise judge` as a program; its timing and its peak memory in KiB."""
    shutil.rmtree(out, ignore_errors=True)
    words = ["judge", str(folder), "--judge", "vllm/tiny", "--base-url", url, "--concurrency", str(CONNECTIONS)]
    code = "from casewise.cli.app import main; main()"
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words, "--out", str(out), "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    assert status == 0, said
    summary = json.loads(said)
    assert summary["n_unscored"] == 0
    return Timing("casewise judge", summary["n_calls"], summary["seconds"], wall), usage.ru_maxrss


def installed_peers() -> Path:
    """The folder with the peers' programs, of an environment that this script made."""
    return peer_programs("engine", ["lm-eval[api]", "inspect-ai", "openai"])


def program(name: str, words: list[str], n: int, *, folder: Path, **environment: str) -> Timing:
    started = time.perf_counter()
    done = subprocess.run(
        [str(installed_peers() / words[0]), *words[1:]],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return Timing(name, n, wall, wall)


def lm_eval(url: str, prompts: list[str], folder: Path) -> Timing:
    """lm-evaluation-harness on the same prompts, `local-chat-completions` with as many requests at a time."""
    data = write_prompts(prompts, folder)
    (folder / "loopback.yaml").write_text(TASK.format(data=data))
    model = f"model=tiny,base_url={url}/chat/completions,num_concurrent={CONNECTIONS},tokenized_requests=False"
    words = ["lm_eval", "run", "--model", "local-chat-completions", "--model_args", model, "--tasks", "loopback"]
    more = ["--include_path", str(folder), "--apply_chat_template", "--batch_size", "1"]
    return program(
        "lm-evaluation-harness",
        [*words, *more],
        len(prompts),
        folder=folder,
        OPENAI_API_KEY="none",
        HF_HUB_OFFLINE="1",
        HF_DATASETS_OFFLINE="1",
        HF_HOME=str(folder / "hf"),
    )


def inspect_eval(url: str, prompts: list[str], folder: Path) -> Timing:
    """`inspect eval` on the same prompts with as many connections."""
    (folder / "loopback_task.py").write_text(INSPECT_TASK.format(data=str(write_prompts(prompts, folder))))
    words = ["inspect", "eval", "loopback_task.py", "--model", "openai/tiny"]
    more = ["--max-connections", str(CONNECTIONS), "--max-samples", str(CONNECTIONS), "--log-dir", str(folder / "logs")]
    return program(
        "inspect eval",
        [*words, *more, "--display", "none", "-M", "responses_api=false"],
        len(prompts),
        folder=folder,
        OPENAI_API_KEY="none",
        OPENAI_BASE_URL=url,
    )


def write_prompts(prompts: list[str], folder: Path) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps({"prompt": prompt, "target": "safe"}) + "\n" for prompt in prompts))
    return path


def middle(timings: list[Timing]) -> Timing:
    return sorted(timings, key=lambda one: one.run_s)[len(timings) // 2]


def speed(n_items: int, rounds: int, *, peers: bool) -> None:
    with tempfile.TemporaryDirectory() as where, server(LATENCY_S) as url:
        folder = Path(where)
        prompts = write_benchmark(folder / "benchmark", n_items)
        floors, ours = [], []
        for _ in range(rounds):
            took = asyncio.run(bare(url, prompts))
            floors.append(Timing("bare aiohttp loop", n_items, took, took))
            ours.append(casewise(url, folder / "benchmark", folder / "run")[0])
        found = [middle(floors), middle(ours)]
        if peers:
            installed_peers()
            found += [lm_eval(url, prompts, folder), inspect_eval(url, prompts, folder)]
    show(found, [a.rate / b.rate for a, b in zip(ours, floors, strict=True)])


def show(found: list[Timing], ratios: list[float]) -> None:
    print(f"\n{CONNECTIONS} connections, {LATENCY_S * 1000:.0f} ms, {found[0].requests:,} items")
    print("| what | run, s | requests/s | whole program, s |\n|---|---|---|---|")
    for one in found:
        print(f"| {one.name} | {one.run_s:.2f} | {one.rate:,.0f} | {one.wall_s:.2f} |")
    print(f"\ncasewise / bare loop: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})")
    ours = found[1]
    for peer in found[2:]:
        print(
            f"end to end, {peer.name} / casewise: {peer.wall_s / ours.wall_s:.1f}; against the run alone: "
            f"{peer.wall_s / ours.run_s:.1f}"
        )


def write_apart(folder: Path, n_items: int) -> None:
    """Write a benchmark in a process of its own: a program's peak memory counts that of the process which starts it."""
    writer = multiprocessing.get_context("spawn").Process(target=write_benchmark, args=(folder, n_items))
    writer.start()
    writer.join()
    assert writer.exitcode == 0


def memory(sizes: tuple[int, ...] = (1_000, 100_000)) -> None:
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as where, server(0.0) as url:
        for n in sizes:
            folder = Path(where) / str(n)
            write_apart(folder, n)
            timing, peak = casewise(url, folder, Path(where) / f"run-{n}")
            rows.append({"items": n, "peak": peak / 1024, "each_us": 1e6 * timing.run_s / n})
    print("\n| items | peak memory, MiB | run, µs an item |\n|---|---|---|")
    for row in rows:
        print(f"| {row['items']:,} | {row['peak']:.0f} | {row['each_us']:.0f} |")
    print(f"\ngrowth of peak memory: {rows[-1]['peak'] - rows[0]['peak']:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description="Requests a second, against a floor and two peers.")
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--memory", action="store_true")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if arguments.memory:
        memory()
    else:
        speed(arguments.items, arguments.rounds, peers=not arguments.no_peers)


if __name__ == "__main__":
    main()
