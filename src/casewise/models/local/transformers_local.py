"""A model run on this machine with transformers, in batches.

The probability of the first token takes one forward pass a batch, of which only the last position goes through the
output layer; nothing is generated. What all prompts of a round begin with is computed once, and its keys and values
are reused.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.local.batching import Batch, Batcher, common_prefix, length_sorted_batches
from casewise.models.local.held_to_schema import HeldToSchema, SchemaGrammar, TokenTexts
from casewise.models.local.label_tokens import first_token_ids
from casewise.models.local.loading import (
    LocalOptions,
    adapted,
    adapter_digest,
    is_classifier,
    load_pretrained,
    settings_of,
)
from casewise.models.protocol import (
    MUST_BE_TAKEN,
    Message,
    ModelDefaults,
    Position,
    Reply,
    ReplyOptions,
    TokenLogprob,
    Usage,
    check_taken,
)

__all__ = ["TransformersModel"]

PLAIN = ReplyOptions(max_tokens=1)

SHORTEST_SHARED_PREFIX = 8
"""A shorter one is not worth its bookkeeping."""


@dataclass(frozen=True)
class SharedPrefix:
    """The keys and values of the tokens that prompts begin with."""

    tokens: tuple[int, ...]
    cache: Any


class TransformersModel(ModelDefaults):
    """A causal language model with its tokenizer, held in memory."""

    concurrency = 1024
    """How many asks should wait at once, so that batches are full and of similar lengths."""
    takes = frozenset({"temperature", "seed", "json_schema", *MUST_BE_TAKEN})

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        self.name = name
        self.options = options
        self._model, self._tokenizer = model, tokenizer
        self._prefix: SharedPrefix | None = None
        self._batcher: Batcher[list[int], Reply] = Batcher(self._batches)
        self._ids: dict[tuple[str, ...], Mapping[str, tuple[int, ...]]] = {}
        self._texts = TokenTexts(tokenizer, self._stops())
        tokenizer.padding_side = "left"

    @classmethod
    def load(cls, name: str, options: LocalOptions) -> TransformersModel:
        """The model that `hf:PATH_OR_ID` names.

        Raises ConfigurationError: the extra `[local]` is not installed, there is no such chat model, or device or type
        are none of torch's.
        """
        if is_classifier(name):
            raise ConfigurationError(f"{name} is a classifier, which says nothing; a chat model is needed here")
        loaded = load_pretrained(name, options, kind="AutoModelForCausalLM")
        if options.adapter is None:
            return cls(name, loaded.model, loaded.tokenizer, options)
        model = adapted(loaded.model, options.adapter)
        return cls(f"{name} with {Path(options.adapter).name}", model, loaded.tokenizer, options)

    def settings(self) -> dict[str, Any]:
        """The model's name, a digest of its configuration, and its number type."""
        adapter = self.options.adapter
        return settings_of(self.name, self._model) | ({"adapter": adapter_digest(adapter)} if adapter else {})

    @property
    def weights_bytes(self) -> int:
        """What its weights take, on whatever device."""
        return int(self._model.get_memory_footprint())

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply, made together with all others that wait."""
        check_taken(self.name, options, self.takes)
        return await self._batcher.ask(self.tokens(messages, options), options)

    async def close(self) -> None:
        """Drop the cached prefix and what waits."""
        self._prefix = None
        await self._batcher.close()

    def tokens(self, messages: tuple[Message, ...], options: ReplyOptions = PLAIN) -> list[int]:
        """The prompt as the model reads it: in its chat template, or as plain text where it has none.

        Raises ConfigurationError: there are arguments for a template, and no template.
        """
        prefill, arguments = options.prefill or "", options.template_arguments or {}
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if not self._tokenizer.chat_template:
            if arguments:
                raise ConfigurationError(f"{self.name} has no chat template that could take arguments")
            text = "\n\n".join(message.content for message in messages) + "\n" + prefill
            return list(self._tokenizer(text)["input_ids"])
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **arguments)
        return list(self._tokenizer(text + prefill, add_special_tokens=False)["input_ids"])

    def label_tokens(self, words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """For each word, the tokens with which a reply of it can begin."""
        return {word: tuple(self._token(id_) for id_ in ids) for word, ids in self._first_ids(words).items()}

    def _first_ids(self, words: tuple[str, ...]) -> Mapping[str, tuple[int, ...]]:
        if words not in self._ids:
            self._ids[words] = first_token_ids(
                words, lambda text: list(self._tokenizer(text, add_special_tokens=False)["input_ids"]), self._token
            )
        return self._ids[words]

    def _token(self, id_: int) -> str:
        return str(self._tokenizer.convert_ids_to_tokens(id_))

    def _batches(self, kind: Hashable, prompts: list[list[int]]) -> Iterator[Batch[Reply]]:
        """Prompts with the same options, in batches. Runs in a thread."""
        assert isinstance(kind, ReplyOptions)
        lengths = [len(prompt) + (0 if kind.first_words else kind.max_tokens) for prompt in prompts]
        prefix = self._shared_prefix(prompts) if kind.first_words else 0
        for batch in length_sorted_batches(
            [length - prefix for length in lengths], batch_tokens=self.options.batch_tokens
        ):
            yield batch, partial(self._answer, [prompts[i] for i in batch], kind, prefix)

    def _answer(self, prompts: list[list[int]], options: ReplyOptions, prefix: int) -> list[Reply]:
        import torch

        started = time.perf_counter()
        with torch.inference_mode():
            made = (
                self._first_token(prompts, options, prefix)
                if options.first_words
                else self._generated(prompts, options)
            )
        each_s = (time.perf_counter() - started) / len(prompts)
        return [finished(reply, options, each_s) for reply in made]

    def _shared_prefix(self, prompts: list[list[int]]) -> int:
        """Compute the keys and values of what all `prompts` begin with, unless they are there; its length."""
        import torch

        if self._prefix is not None:
            known = self._prefix.tokens
            if all(len(prompt) > len(known) and tuple(prompt[: len(known)]) == known for prompt in prompts):
                return len(known)
        length = common_prefix(prompts) if len(prompts) > 1 else 0
        if length < SHORTEST_SHARED_PREFIX:
            self._prefix = None
            return 0
        with torch.inference_mode():
            ids = torch.tensor([prompts[0][:length]], device=self._model.device)
            cache = self._model(ids, use_cache=True, logits_to_keep=1).past_key_values
        self._prefix = SharedPrefix(tuple(prompts[0][:length]), cache)
        return length

    def _first_token(self, prompts: list[list[int]], options: ReplyOptions, prefix: int) -> list[Reply]:
        import torch

        ids, mask = self._padded([prompt[prefix:] for prompt in prompts])
        cache = None
        if prefix:
            assert self._prefix is not None
            cache = copy.deepcopy(self._prefix.cache)
            cache.batch_repeat_interleave(len(prompts))
            mask = torch.cat([mask.new_ones(len(prompts), prefix), mask], dim=1)
        places = (mask.cumsum(1) - 1).clamp(min=0)[:, prefix:]
        logits = self._model(
            ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=cache,
            use_cache=cache is not None,
            logits_to_keep=1,
        ).logits[:, -1]
        logprobs = torch.log_softmax(logits.float(), dim=-1)
        labels = [id_ for found in self._first_ids(options.first_words).values() for id_ in found]
        best = logprobs.max(dim=-1)
        rows = logprobs[:, labels].tolist()
        return [
            self._first_reply(len(prompt), (int(id_), value), list(zip(labels, row, strict=True)))
            for prompt, id_, value, row in zip(prompts, best.indices.tolist(), best.values.tolist(), rows, strict=True)
        ]

    def _first_reply(self, n_tokens: int, best: tuple[int, float], labels: list[tuple[int, float]]) -> Reply:
        top = sorted((TokenLogprob(self._token(id_), value) for id_, value in labels), key=lambda one: -one.logprob)
        where = Position(self._token(best[0]), best[1], tuple(top), complete=True)
        return Reply(
            text=str(self._tokenizer.decode([best[0]])),
            finish_reason="length",
            token_logprobs=(where,),
            usage=Usage(n_tokens, 1),
            model_version=self.name,
        )

    def _generated(self, prompts: list[list[int]], options: ReplyOptions) -> list[Reply]:
        import torch

        ids, mask = self._padded(prompts)
        if options.seed is not None:
            torch.manual_seed(options.seed)
        drawn = bool(options.temperature)
        held = self._held_to(options, ids.shape[1])
        made = self._model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=options.max_tokens,
            do_sample=drawn,
            pad_token_id=self._tokenizer.pad_token_id,
            logits_processor=held,
            **(drawing(options) if drawn else {}),
        )[:, ids.shape[1] :].tolist()
        return [self._generated_reply(len(prompt), row) for prompt, row in zip(prompts, made, strict=True)]

    def _held_to(self, options: ReplyOptions, width: int) -> Any:
        """The processors of a reply that begins after `width` tokens: one that holds it to its schema, or none."""
        if options.json_schema is None:
            return None
        from transformers import LogitsProcessorList

        grammar = SchemaGrammar.of(options.json_schema)
        return LogitsProcessorList([HeldToSchema(self._texts, grammar, width=width, max_tokens=options.max_tokens)])

    def _stops(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        return [id_ for id_ in (ends if isinstance(ends, list) else [ends]) if id_ is not None]

    def _generated_reply(self, n_tokens: int, row: list[int]) -> Reply:
        stops = self._stops()
        length = next((place for place, id_ in enumerate(row) if id_ in stops), None)
        said = row if length is None else row[:length]
        return Reply(
            text=str(self._tokenizer.decode(said, skip_special_tokens=True)),
            finish_reason="length" if length is None else "stop",
            usage=Usage(n_tokens, len(said)),
            model_version=self.name,
        )

    def _padded(self, prompts: list[list[int]]) -> tuple[Any, Any]:
        """Ids and mask, padded on the left."""
        import torch

        width = max(len(prompt) for prompt in prompts)
        pad = self._tokenizer.pad_token_id
        ids = [[pad] * (width - len(prompt)) + prompt for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        device = self._model.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def drawing(options: ReplyOptions) -> dict[str, Any]:
    """How tokens are drawn; what a model's own generation configuration says of it does not count."""
    top_p = 1.0 if options.top_p is None else options.top_p
    return {"temperature": options.temperature, "top_p": top_p, "top_k": options.top_k or 0}


def finished(reply: Reply, options: ReplyOptions, seconds: float) -> Reply:
    return replace(reply, text=f"{options.prefill or ''}{reply.text}", latency_s=seconds)
