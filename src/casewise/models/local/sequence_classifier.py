"""A sequence classifier run on this machine with transformers, in batches."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.local.batching import Batch, Batcher, length_sorted_batches
from casewise.models.local.cores import one_thread_each
from casewise.models.local.loading import LocalOptions, is_classifier, load_pretrained, settings_of
from casewise.models.protocol import Classified

__all__ = ["SequenceClassifier"]

Encoded = dict[str, list[int]]
"""A text's token ids and, where it is two, of which each is."""

Numbers = list[tuple[list[float], list[float]]]
"""Probabilities and logits of each text."""


class SequenceClassifier:
    """A model whose last layer gives one number a label.

    The probabilities are the softmax of these numbers. Where the configuration says that a text may have several
    labels at once, or there is only one, each is the logistic function of its own number.
    """

    sends_to: str | None = None
    concurrency = 1024
    """How many texts should wait at once, so that batches are full and of similar lengths."""

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        self.name = name
        self.options = options
        self._model, self._tokenizer = model, tokenizer
        config = model.config
        self.labels: tuple[str, ...] = tuple(str(config.id2label[place]) for place in range(config.num_labels))
        self.independent = config.problem_type == "multi_label_classification" or len(self.labels) == 1
        self._on_cpu = model.device.type == "cpu"
        self._batcher: Batcher[tuple[str, ...], Classified] = Batcher(
            self._batches, beside=one_thread_each if self._on_cpu else None
        )
        model.config.pad_token_id = tokenizer.pad_token_id

    @classmethod
    def load(cls, name: str, options: LocalOptions) -> SequenceClassifier:
        """The classifier that `hf:PATH_OR_ID` names.

        Raises ConfigurationError: the extra `[local]` is not installed, there is no such model, it is no classifier, or
        device or type are none of torch's.
        """
        if not is_classifier(name):
            raise ConfigurationError(f"{name} is no sequence classifier, by what its configuration says")
        loaded = load_pretrained(name, options, kind="AutoModelForSequenceClassification")
        return cls(name, loaded.model, loaded.tokenizer, options)

    def settings(self) -> dict[str, Any]:
        """The model's name, a digest of its configuration, and its number type."""
        return settings_of(self.name, self._model)

    @property
    def weights_bytes(self) -> int:
        """What its weights take, on whatever device."""
        return int(self._model.get_memory_footprint())

    async def classify(self, text: str) -> Classified:
        """The probabilities of `text`, found together with those of all others that wait."""
        return await self._batcher.ask((text,), "one text")

    async def classify_pair(self, text: str, beside: str) -> Classified:
        """The probabilities of `text` with another beside it, told apart as the tokenizer does."""
        return await self._batcher.ask((text, beside), "two texts")

    async def close(self) -> None:
        """Drop what waits."""
        await self._batcher.close()

    def _batches(self, _kind: Hashable, asks: list[tuple[str, ...]]) -> Iterator[Batch[Classified]]:
        """What is asked, in batches. Runs in a thread."""
        texts = self._encoded(asks)
        most = self.options.batch_tokens
        for batch in length_sorted_batches(
            [len(text["input_ids"]) for text in texts],
            batch_tokens=most,
            even_from=most // 8 if self._on_cpu else None,
        ):
            yield batch, partial(self._answer, [texts[i] for i in batch])

    def _answer(self, texts: list[Encoded]) -> list[Classified]:
        started = time.perf_counter()
        numbers = self._numbers(texts)
        each_s = (time.perf_counter() - started) / len(texts)
        return [
            Classified(self._by_label(mine), len(text["input_ids"]), each_s, self.name, self._by_label(logits))
            for text, (mine, logits) in zip(texts, numbers, strict=True)
        ]

    def _encoded(self, asks: list[tuple[str, ...]]) -> list[Encoded]:
        columns = self._tokenizer(*map(list, zip(*asks, strict=True)))
        names = [name for name in ("input_ids", "token_type_ids")[: len(asks[0])] if name in columns]
        return [dict(zip(names, ids, strict=True)) for ids in zip(*(columns[name] for name in names), strict=True)]

    def _by_label(self, numbers: list[float]) -> dict[str, float]:
        return dict(zip(self.labels, numbers, strict=True))

    def _numbers(self, texts: list[Encoded]) -> Numbers:
        import torch

        with torch.inference_mode():
            columns = {name: [text[name] for text in texts] for name in texts[0]}
            padded = self._tokenizer.pad(columns, return_tensors="pt").to(self._model.device)
            logits = self._model(**padded).logits.float()
            probabilities = logits.sigmoid() if self.independent else torch.softmax(logits, dim=-1)
            return list(zip(probabilities.tolist(), logits.tolist(), strict=True))
