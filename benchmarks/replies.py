"""What collecting and grading a chatbot's replies costs: each part beside its floor, in one run.

    python benchmarks/replies.py calls [--calls 20000] [--rounds 5]
    python benchmarks/replies.py classifier [--replies 2000] [--layers 2] [--width 32] [--threads 1]
    python benchmarks/replies.py report [--replies 100800]

`calls` is the processor time of a call with a model that answers at once, collected and judged in turn: what differs is
casewise's own. `classifier` is a small random classifier on the CPU, as a grader and one reply at a time. `report` is
the whole command on a folder of that many graded replies, a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

SHAPES = Path(__file__).parents[2] / "shared" / "data" / "casebench_shapes.json"
REPLY = "Here is what you asked for, in so many words that it has the length of a plain answer. " * 5


def benchmark() -> str:
    """The release's shape with made-up words where that is at hand, else the demo."""
    return str(SHAPES) if SHAPES.is_file() else "demo"


def calls(wanted: argparse.Namespace) -> None:
    import casewise
    from casewise.judges.llm import LLMJudge
    from casewise.models.protocol import FakeModel

    found = casewise.load(benchmark())
    repeats = max(1, wanted.calls // len(found.items))
    ways: dict[str, list[float]] = {"judge": [], "collect": []}
    for _ in range(wanted.rounds):
        for way, seconds in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                out, started = Path(folder) / "run", time.process_time()
                if way == "judge":
                    said = f'{{"judgement": "safe", "explanation": "{REPLY}"}}'
                    done: Any = casewise.judge(found, LLMJudge(FakeModel(said)), out=out, repeats=repeats)
                else:
                    done = casewise.collect(found, FakeModel(REPLY), out=out, repeats=repeats)
                seconds.append((time.process_time() - started) / done.summary.n_calls * 1e6)
    for way, seconds in ways.items():
        print(f"{way}: {min(seconds):.0f} us of processor time a call (least of {wanted.rounds}: {spread(seconds)})")
    print(f"collect / judge: {min(ways['collect']) / min(ways['judge']):.3f}")


def spread(values: list[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f}, median {statistics.median(values):.0f}"


def classifier(wanted: argparse.Namespace) -> None:
    import numpy as np
    import torch
    from tests.support.tiny_classifier import WORDS, make_tiny_classifier
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from casewise.api.replying import make_grader
    from casewise.replies.graders import GradingTask

    if wanted.threads:
        torch.set_num_threads(wanted.threads)
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(4.0, 0.6, wanted.replies), 5, 400).astype(int)
    replies = [" ".join(rng.choice(WORDS[4:], length)) for length in lengths]
    with tempfile.TemporaryDirectory() as folder:
        path = make_tiny_classifier(
            Path(folder) / "model",
            ("Non-refusal", "Refusal"),
            num_hidden_layers=wanted.layers,
            hidden_size=wanted.width,
        )
        grader = make_grader(f"hf:{path}")
        asks = [GradingTask("how to lock ?", reply) for reply in replies]

        async def warm() -> None:
            await grader.grade(asks[0])

        async def batched() -> None:
            await asyncio.gather(*(grader.grade(ask) for ask in asks))

        asyncio.run(warm())
        together = Took.by(lambda: asyncio.run(batched()), wanted.rounds)
        tokenizer, model = AutoTokenizer.from_pretrained(path), AutoModelForSequenceClassification.from_pretrained(path)

        def one_by_one() -> None:
            with torch.inference_mode():
                for reply in replies:
                    text = f"<|user|>\nhow to lock ?\n<|assistant|>\n{reply}"
                    model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)

        alone = Took.by(one_by_one, wanted.rounds)
    print(f"{wanted.replies:,} replies, {torch.get_num_threads()} threads, least of {wanted.rounds} rounds")
    for name, took in (("one at a time", alone), ("in batches by length", together)):
        per = took.processor_s / wanted.replies * 1e6
        print(
            f"{name}: {took.wall_s:.2f} s, {wanted.replies / took.wall_s:,.0f} replies/s, {per:.0f} us of processor time a reply"
        )
    ratio = alone.processor_s / together.processor_s
    print(f"{alone.wall_s / together.wall_s:.1f} times on the clock, {ratio:.1f} in processor time")


@dataclass(frozen=True)
class Took:
    """The least that something took."""

    wall_s: float
    processor_s: float

    @classmethod
    def by(cls, work: Callable[[], object], rounds: int) -> Took:
        walls, processor = [], []
        for _ in range(rounds):
            wall, used = time.perf_counter(), time.process_time()
            work()
            walls.append(time.perf_counter() - wall)
            processor.append(time.process_time() - used)
        return cls(min(walls), min(processor))


def report(wanted: argparse.Namespace) -> None:
    import casewise

    with tempfile.TemporaryDirectory() as folder:
        found = casewise.load(benchmark())
        out = Path(folder) / "replies"
        kept = casewise.collect(
            benchmark(), "fake/rehearsal", out=out, repeats=max(1, wanted.replies // len(found.items))
        )
        casewise.grade(kept, "rubric:fake/rehearsal")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "casewise", "report", str(out)], check=True, stdout=subprocess.DEVNULL)
        seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{kept.summary.n_usable:,} replies: {seconds:.1f} s, of which {used:.1f} s of processor time, {after.ru_maxrss / 1024:.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("calls", "classifier", "report"))
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--replies", type=int)
    parser.add_argument("--threads", type=int, help="torch's threads; its own choice without it")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    wanted = parser.parse_args()
    wanted.replies = wanted.replies or (2_000 if wanted.part == "classifier" else 100_800)
    {"calls": calls, "classifier": classifier, "report": report}[wanted.part](wanted)


if __name__ == "__main__":
    main()
