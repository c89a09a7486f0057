"""A model run on this machine with transformers, in batches.

The probability of the first token takes one forward pass a batch, of which only the last position goes through the
output layer; nothing is generated. What all prompts of a round begin with is computed once, and its keys and values
are reused.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.local.batching import Batcher, common_prefix, length_sorted_batches
from casewise.models.local.label_tokens import first_token_ids
from casewise.models.local.local_options import LocalOptions
from casewise.models.protocol import Message, ModelDefaults, Position, Reply, ReplyOptions, TokenLogprob, Usage
from casewise.records.ids import digest

__all__ = ["TransformersModel"]

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
    takes = frozenset({"temperature", "seed"})

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        self.name = name
        self.options = options
        self._model, self._tokenizer = model, tokenizer
        self._prefix: SharedPrefix | None = None
        self._batcher: Batcher[list[int], Reply] = Batcher(self._answer)
        self._ids: dict[tuple[str, ...], Mapping[str, tuple[int, ...]]] = {}
        tokenizer.padding_side = "left"
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token_id = tokenizer.eos_token_id or 0

    @classmethod
    def load(cls, name: str, options: LocalOptions) -> TransformersModel:
        """The model that `hf:PATH_OR_ID` names.

        Raises
        ------
        ConfigurationError
            The extra `[local]` is not installed, there is no such model, or device or type are none of torch's.
        """
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise ConfigurationError(
                f"{name} needs torch and transformers: pip install 'casewise[local]' ({error})"
            ) from error
        where = name.removeprefix("hf:")
        device = found_device(torch, options.device)
        try:
            tokenizer = AutoTokenizer.from_pretrained(where)
            model = AutoModelForCausalLM.from_pretrained(where, dtype=found_dtype(torch, options.dtype, device))
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise ConfigurationError(f"cannot load the model {where!r}: {error}") from error
        return cls(name, model.to(device).eval(), tokenizer, options)

    def settings(self) -> dict[str, Any]:
        """The model's name, a digest of its configuration, and its number type."""
        config = self._model.config.to_dict()
        config.pop("_name_or_path", None)
        config.pop("transformers_version", None)
        return {
            "model": self.name,
            "config": digest(stable(config))[:12],
            "dtype": str(self._model.dtype).removeprefix("torch."),
        }

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply, made together with all others that wait."""
        return await self._batcher.ask(self.tokens(messages), options)

    async def close(self) -> None:
        """Drop the cached prefix and what waits."""
        self._prefix = None
        await self._batcher.close()

    def tokens(self, messages: tuple[Message, ...]) -> list[int]:
        """The prompt as the model reads it: in its chat template, or as plain text where it has none."""
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if not self._tokenizer.chat_template:
            text = "\n\n".join(message.content for message in messages) + "\n"
            return list(self._tokenizer(text)["input_ids"])
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

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

    def _answer(self, kind: Hashable, prompts: list[list[int]]) -> list[Reply]:
        """Answers to prompts with the same options, in order. Runs in a thread."""
        import torch

        assert isinstance(kind, ReplyOptions)
        answers: dict[int, Reply] = {}
        lengths = [len(prompt) + (0 if kind.first_words else kind.max_tokens) for prompt in prompts]
        prefix = self._shared_prefix(prompts) if kind.first_words else 0
        started = time.perf_counter()
        with torch.inference_mode():
            for batch in length_sorted_batches(
                [length - prefix for length in lengths], batch_tokens=self.options.batch_tokens
            ):
                chosen = [prompts[i] for i in batch]
                made = self._first_token(chosen, kind, prefix) if kind.first_words else self._generated(chosen, kind)
                answers.update(zip(batch, made, strict=True))
        each_s = (time.perf_counter() - started) / max(1, len(prompts))
        return [timed(answers[i], each_s) for i in range(len(prompts))]

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
        made = self._model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=options.max_tokens,
            do_sample=drawn,
            pad_token_id=self._tokenizer.pad_token_id,
            **({"temperature": options.temperature, "top_p": 1.0, "top_k": 0} if drawn else {}),
        )[:, ids.shape[1] :].tolist()
        return [self._generated_reply(len(prompt), row) for prompt, row in zip(prompts, made, strict=True)]

    def _generated_reply(self, n_tokens: int, row: list[int]) -> Reply:
        ends = self._model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends]) - {None}
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


def timed(reply: Reply, seconds: float) -> Reply:
    return Reply(
        reply.text, reply.finish_reason, reply.token_logprobs, reply.usage, seconds, model_version=reply.model_version
    )


def found_device(torch: Any, wanted: str) -> str:
    if wanted != "auto":
        try:
            return str(torch.device(wanted))
        except RuntimeError as error:
            raise ConfigurationError(f"--device is {wanted!r}, which torch does not know; try cpu or cuda") from error
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def found_dtype(torch: Any, wanted: str, device: str) -> Any:
    if wanted == "auto":
        return torch.float32 if device == "cpu" else torch.bfloat16
    found = getattr(torch, wanted, None)
    if not isinstance(found, torch.dtype):
        raise ConfigurationError(f"--dtype is {wanted!r}; it is auto, float32, bfloat16 or float16")
    return found


def stable(value: Any) -> Any:
    """A configuration as plain JSON values; what is no JSON value is written out."""
    if isinstance(value, dict):
        return {str(key): stable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [stable(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
