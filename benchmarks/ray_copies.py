"""A run of a local model in this process against the same run over copies in processes of their own (`--engine ray`).

    python benchmarks/ray_copies.py [--items 120] [--layers 2] [--width 256] [--rounds 2]

A small random Llama gives P(safe) for items of the release's shape (or of the demo) on two cores: here with one thread of
torch and with two, and over one copy (two threads) and two (a thread each). A row has the run's own seconds and those of
the whole command: its start, the cluster's, and the model's loading are in the second only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

SHAPES = Path(__file__).parents[2] / "shared" / "data" / "casebench_shapes.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=int, default=120)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = saved_model(Path(folder) / "model", wanted.layers, wanted.width)
        ways = {
            "this process, one thread": ([], "1"),
            "this process, two threads": ([], "2"),
            "Ray, one copy": (["--engine", "ray", "--ray-copies", "1"], "2"),
            "Ray, two copies": (["--engine", "ray", "--ray-copies", "2"], "2"),
        }
        for turn in range(wanted.rounds):
            for n, (way, (options, threads)) in enumerate(ways.items()):
                print(
                    f"{way}: {measured(model, Path(folder) / f'{turn}-{n}', wanted.items, options, threads)}",
                    flush=True,
                )


def saved_model(folder: Path, layers: int, width: int) -> Path:
    from tests.support.tiny_llama import make_tiny_llama

    return make_tiny_llama(folder, layers=layers, width=width)


def measured(model: Path, out: Path, items: int, options: list[str], threads: str) -> str:
    benchmark = str(SHAPES) if SHAPES.is_file() else "demo"
    command = [
        sys.executable,
        "-m",
        "casewise",
        "judge",
        benchmark,
        "--judge",
        f"hf:{model}",
        "--elicit",
        "probability",
    ]
    command += ["--limit", str(items), "--batch-tokens", "4096", "--out", str(out), "--json", *options]
    started = time.perf_counter()
    said = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": threads}
    )
    took, told = time.perf_counter() - started, json.loads(said.stdout)
    assert told["n_judged"] == items
    return f"{told['seconds']:.1f} s for {items} items of {told['input_tokens'] // items:,} tokens, the whole command {took:.1f} s"


if __name__ == "__main__":
    main()
