"""A model that vLLM runs on the GPUs of a Ray cluster, asked in large rounds through `ray.data.llm`.

A round starts the engines anew, so it is as large as what waits; what a kill loses is a round. Replies are texts: tokens'
probabilities are not asked for. Written to the documented interface; without a GPU only what surrounds it could be run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.local.batching import Batch, Batcher
from casewise.models.local.loading import RayOptions
from casewise.models.protocol import Message, ModelDefaults, Reply, ReplyOptions, Usage, check_taken
from casewise.models.ray.cluster import connected

__all__ = ["OfflineModel"]

PREFIX = "vllm-offline:"

ROUND = 10_000
"""Asks that go together at most."""

PATIENCE_S = 1.0

Rows = list[dict[str, Any]]


class OfflineModel(ModelDefaults):
    """Asks a batch processor for the replies of all that waits.

    `generate`: from rows with `place`, `messages` and `sampling_params` to the same rows in any order, with
    `generated_text`.
    """

    concurrency = ROUND
    takes = frozenset({"temperature", "seed", "top_k", "top_p"})

    def __init__(self, name: str, generate: Callable[[Rows], Rows]) -> None:
        self.name, self._generate = name, generate
        self._batcher: Batcher[tuple[Message, ...], Reply] = Batcher(self._round, patience_s=PATIENCE_S)

    @classmethod
    def load(cls, name: str, ray: RayOptions) -> OfflineModel:
        """The model that `vllm-offline:MODEL` names.

        Raises ConfigurationError: there is no Ray, no cluster, no GPU in it, or no vLLM.
        """
        library = connected(ray.address)
        gpus = int(library.cluster_resources().get("GPU", 0))
        if not gpus:
            raise ConfigurationError(
                f"{name} needs a GPU, and the Ray cluster has none; hf:{name.removeprefix(PREFIX)} --engine ray runs on processors too"
            )
        return cls(name, processor(library, name.removeprefix(PREFIX), copies=ray.copies or gpus))

    def settings(self) -> dict[str, Any]:
        """What decides the replies, besides what is asked."""
        return {"model": self.name}

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply, made in one round with all others that wait."""
        check_taken(self.name, options, self.takes)
        return await self._batcher.ask(messages, options)

    async def close(self) -> None:
        """Drop what waits."""
        await self._batcher.close()

    def _round(self, kind: Hashable, asked: list[tuple[Message, ...]]) -> Iterator[Batch[Reply]]:
        """All that is asked with the same options, as one batch."""
        assert isinstance(kind, ReplyOptions)
        yield list(range(len(asked))), partial(self._answer, kind, asked)

    def _answer(self, drawn: ReplyOptions, asked: list[tuple[Message, ...]]) -> list[Reply]:
        """Replies in the order of what was asked. Runs in a thread."""
        given = {"temperature": drawn.temperature, "seed": drawn.seed, "top_k": drawn.top_k, "top_p": drawn.top_p}
        drawing = {name: value for name, value in given.items() if value is not None}
        rows = [
            {
                "place": place,
                "messages": [asdict(message) for message in messages],
                "sampling_params": {"max_tokens": drawn.max_tokens, **drawing},
            }
            for place, messages in enumerate(asked)
        ]
        made = {row["place"]: row for row in self._generate(rows)}
        return [self._reply(made[place]) for place in range(len(asked))]

    def _reply(self, row: dict[str, Any]) -> Reply:
        usage = Usage(int(row.get("num_input_tokens") or 0), int(row.get("num_generated_tokens") or 0))
        return Reply(str(row["generated_text"]), usage=usage, model_version=self.name)


def processor(ray: Any, model: str, *, copies: int) -> Callable[[Rows], Rows]:
    """What has vLLM answer rows, an engine on each of so many GPUs.

    Raises ConfigurationError: vLLM is not installed.
    """
    try:
        import vllm  # noqa: F401 - Ray says so only once the first round has begun
        from ray.data.llm import build_processor, vLLMEngineProcessorConfig
    except ImportError as error:
        raise ConfigurationError(f"{PREFIX}{model} needs vLLM: pip install 'ray[llm]' ({error})") from error
    build = build_processor(
        vLLMEngineProcessorConfig(model_source=model, concurrency=copies),
        preprocess=lambda row: row,
        postprocess=lambda row: row,
    )

    def generate(rows: Rows) -> Rows:
        found: Rows = build(ray.data.from_items(rows)).take_all()
        return found

    return generate
