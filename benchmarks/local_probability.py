"""P(safe) from a local model: batches with a shared prefix against the published way, one prompt at a time with eight
tokens generated.

    python benchmarks/local_probability.py [--prompts 64] [--layers 8] [--width 512] [--device cpu]
    python benchmarks/local_probability.py --shape-8b --prompts 900 --device cuda

Weights are random. Prompts have lengths drawn around those of the published benchmark's (about 400 tokens, most of it the
context). With `--shape-8b`, the model has the shape of an 8B Llama in bfloat16, and the share of the device's measured
matrix peak is printed too; the published way is then timed on 20 prompts only.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EIGHT_B = {"layers": 32, "width": 4096, "inner": 14336, "heads": 32, "kv_heads": 8, "vocabulary": 128_256}

INSTRUCTIONS = 90
"""Tokens that all prompts begin with, in casewise's own wording."""


@dataclass(frozen=True)
class Shape:
    """A Llama-style model's shape."""

    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int


def random_model(shape: Shape, device: str, dtype: str) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=8192,
        pad_token_id=0,
        eos_token_id=1,
    )
    with torch.device(device):
        previous = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype))
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(previous)
    return model.eval()


def prompts_of(n: int, vocabulary: int) -> list[list[int]]:
    """Made-up token ids: the same beginning, then lengths like the published ones (mean about 400)."""
    import numpy as np

    rng = np.random.default_rng(0)
    beginning = rng.integers(5, vocabulary, INSTRUCTIONS).tolist()
    lengths = np.clip(rng.normal(310, 60, n), 150, 600).astype(int)
    return [[*beginning, *rng.integers(5, vocabulary, length).tolist()] for length in lengths]


def one_at_a_time(model: Any, prompts: list[list[int]], device: str) -> float:
    """The published way: each prompt by itself, eight tokens generated, their scores kept."""
    import torch

    started = time.perf_counter()
    for prompt in prompts:
        ids = torch.tensor([prompt], device=device)
        with torch.inference_mode():
            made = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=8,
                min_new_tokens=8,
                do_sample=False,
                output_scores=True,
                return_dict_in_generate=True,
                pad_token_id=0,
            )
        torch.log_softmax(made.scores[0].float(), dim=-1).tolist()
    return time.perf_counter() - started


def ours(model: Any, tokenizer: Any, prompts: list[list[int]], batch_tokens: int) -> float:
    """casewise's own model, asked for all prompts at once, as a run asks it."""
    from casewise.models.local import LocalOptions, TransformersModel
    from casewise.models.protocol import Message, ReplyOptions

    class Tokenized(TransformersModel):
        """Prompts are already tokens here: their numbers stand in the message."""

        def tokens(self, messages: tuple[Message, ...], options: ReplyOptions | None = None) -> list[int]:  # noqa: ARG002
            return prompts[int(messages[0].content)]

    made = Tokenized("hf:random", model, tokenizer, LocalOptions(batch_tokens=batch_tokens))
    options = ReplyOptions(1, first_words=("safe", "unsafe"))

    async def go() -> float:
        started = time.perf_counter()
        await asyncio.gather(*(made.reply((Message("user", str(i)),), options) for i in range(len(prompts))))
        took = time.perf_counter() - started
        await made.close()
        return took

    return asyncio.run(go())


def matrix_peak(device: str, dtype: str) -> float:
    """Floating-point operations a second of one large matrix product on this device, the best of several."""
    import torch

    size = 8192 if device.startswith("cuda") else 1024
    a = torch.randn(size, size, device=device, dtype=getattr(torch, dtype))
    best = float("inf")
    for _ in range(8):
        started = time.perf_counter()
        (a @ a).sum().item()
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best


def main() -> None:
    parser = argparse.ArgumentParser(description="P(safe) from a local model against the published way.")
    parser.add_argument("--prompts", type=int, default=48)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--shape-8b", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    measure(arguments)


def measure(arguments: argparse.Namespace) -> None:
    from tests.support.tiny_llama import make_tiny_llama
    from transformers import AutoTokenizer

    width = arguments.width
    small = Shape(arguments.layers, width, 4 * width, width // 32, width // 64, 2048)
    shape = Shape(**EIGHT_B) if arguments.shape_8b else small
    dtype = "bfloat16" if arguments.device.startswith("cuda") else "float32"
    model = random_model(shape, arguments.device, dtype)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = AutoTokenizer.from_pretrained(make_tiny_llama(Path(folder)))
    prompts = prompts_of(arguments.prompts, shape.vocabulary)
    few = prompts[:20] if arguments.shape_8b else prompts
    one_at_a_time(model, prompts[:1], arguments.device)
    ours(model, tokenizer, prompts[:4], arguments.batch_tokens)
    theirs = [one_at_a_time(model, few, arguments.device) / len(few) for _ in range(arguments.rounds)]
    taken = [ours(model, tokenizer, prompts, arguments.batch_tokens) / len(prompts) for _ in range(arguments.rounds)]
    report(arguments, theirs, taken, tokens=statistics.mean(map(len, prompts)))
    if arguments.shape_8b:
        weights = sum(p.numel() for p in model.parameters()) - shape.vocabulary * shape.width
        used = 2 * weights * statistics.mean(map(len, prompts)) / min(taken)
        peak = matrix_peak(arguments.device, dtype)
        print(
            f"share of the measured {dtype} matrix peak ({peak / 1e12:.0f} TFLOP/s): {used / peak:.2f} "
            "(tokens of the shared prefix count as computed)"
        )


def report(arguments: argparse.Namespace, theirs: list[float], taken: list[float], *, tokens: float) -> None:
    print(f"{arguments.prompts} prompts, {tokens:.0f} tokens on average, {arguments.device}")
    print("| way | prompts/s | tokens/s | 900 prompts, s |\n|---|---|---|---|")
    for name, each in (("one at a time, 8 tokens generated", theirs), ("casewise, batched, shared prefix", taken)):
        middle = statistics.median(each)
        print(f"| {name} | {1 / middle:.2f} | {tokens / middle:,.0f} | {900 * middle:,.0f} |")
    print(f"\nratio: {statistics.median(theirs) / statistics.median(taken):.1f}")


if __name__ == "__main__":
    main()
