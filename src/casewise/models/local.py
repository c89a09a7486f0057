"""Models run on this machine with transformers: chat models and sequence classifiers, in batches."""

from __future__ import annotations

import copy
import hashlib
import json
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.batcher import Batch, Batcher, common_prefix, length_sorted_batches
from casewise.models.label_tokens import first_token_ids
from casewise.models.protocol import (
    REQUIRED_OPTIONS,
    AnyModel,
    Classification,
    Message,
    Model,
    Position,
    Reply,
    ReplyOptions,
    TextClassifier,
    TokenLogprob,
    Usage,
    check_options,
)
from casewise.plugins import install_command
from casewise.records.base import digest

# Loading: device, number type and architecture.


@dataclass(frozen=True)
class LocalOptions:
    """Options of running a local model."""

    dtype: str = "auto"
    """For hf: models: auto, float32, bfloat16, float16."""
    device: str = "auto"
    """For hf: models: auto, cpu, cuda, mps."""
    batch_tokens: int = 8192
    """For hf: models: tokens in one batch."""
    adapter: str | None = None
    """For an hf: chat model: the folder of a PEFT adapter (needs peft)."""


def is_classifier(name: str) -> bool:
    """Return whether `hf:PATH_OR_ID` names a sequence classifier, by the architecture in its configuration.

    Raises ConfigurationError: the extra `[local]` is not installed, or there is no such model.
    """
    config = load_or_refuse(transformers(name).AutoConfig.from_pretrained, name)
    return any(architecture.endswith("ForSequenceClassification") for architecture in config.architectures or ())


def load_pretrained(name: str, options: LocalOptions, *, kind: str) -> tuple[Any, Any]:
    """Return the model and the tokenizer that `hf:PATH_OR_ID` names; `kind` is one of transformers' `AutoModelFor…`.

    Raises ConfigurationError: the extra `[local]` is not installed, there is no such model, or device or type are none
    of torch's.
    """
    library = transformers(name)
    import torch

    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.device(device)
    except RuntimeError as error:
        raise ConfigurationError(f"--device is {device!r}, which torch does not know; try cpu or cuda") from error
    automatic = torch.float32 if device == "cpu" else torch.bfloat16
    dtype = automatic if options.dtype == "auto" else getattr(torch, options.dtype, None)
    if not isinstance(dtype, torch.dtype):
        raise ConfigurationError(f"--dtype is {options.dtype!r}; it is auto, float32, bfloat16 or float16")
    tokenizer = load_or_refuse(library.AutoTokenizer.from_pretrained, name)
    model = load_or_refuse(lambda where: getattr(library, kind).from_pretrained(where, dtype=dtype), name)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = tokenizer.eos_token_id or 0
    return model.to(device).eval(), tokenizer


def load_adapter(model: Any, adapter: str) -> Any:
    """Return the model with a PEFT adapter.

    Raises ConfigurationError: peft is not installed, or there is no such adapter for this model.
    """
    try:
        from peft import PeftModel
    except ImportError as error:
        raise ConfigurationError(
            f"--adapter {adapter} needs peft: {install_command('local', 'adapter')} ({error})"
        ) from error
    try:
        return PeftModel.from_pretrained(model, adapter).eval()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ConfigurationError(f"cannot put the adapter {adapter!r} on the model: {error}") from error


def adapter_digest(adapter: str) -> str:
    """Return a digest of an adapter's files."""
    files = [file for file in sorted(Path(adapter).glob("*")) if file.is_file()]
    hashes = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    return digest(hashes)[:12]


def transformers(name: str) -> Any:
    try:
        import torch  # noqa: F401 - transformers comes without it, and then cannot run anything
        import transformers as library
    except ImportError as error:
        raise ConfigurationError(
            f"{name} needs torch and transformers: {install_command('local')} ({error})"
        ) from error
    return library


def load_or_refuse(load: Callable[[str], Any], name: str) -> Any:
    where = name.removeprefix("hf:")
    try:
        return load(where)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ConfigurationError(f"cannot load the model {where!r}: {error}") from error


# Simultaneous batches on a processor: one thread each, instead of all threads for every product of one batch.


STARTING = threading.Lock()


def torch_threads() -> ThreadPoolExecutor:
    """Return a pool of as many threads as torch uses for one product; each thread computes its products alone.

    Threads that share a small product wait for each other at its end; on a busy machine that takes most of the time.
    """
    with STARTING:
        return thread_pool()


@cache
def thread_pool() -> ThreadPoolExecutor:
    import torch

    n = torch.get_num_threads()
    all_there = threading.Barrier(n)

    def alone() -> None:
        # torch sets this for the calling thread and for new ones, and a thread reads it when it first looks: so it looks
        # before it is set.
        torch.get_num_threads()
        torch.set_num_threads(1)

    pool = ThreadPoolExecutor(n, "casewise-torch", initializer=alone)
    for arrival in [pool.submit(all_there.wait) for _ in range(n)]:
        arrival.result()
    torch.set_num_threads(n)
    return pool


# Replies that fit a JSON schema: xgrammar allows only tokens after which the text can still become such JSON.


CLOSING = 12
"""Number of tokens before the limit from which on a text is ended, so that the object is whole."""


def closing_processor(quote: int, width: int) -> Callable[[Any, Any], Any]:
    """Return a logits processor that ends a text with the token `quote` where it can, once there are `width` tokens."""
    import torch

    def closing(ids: Any, scores: Any) -> Any:
        if ids.shape[1] < width:
            return scores
        closed = torch.full_like(scores, float("-inf"))
        closed[:, quote] = scores[:, quote]
        return torch.where(torch.isfinite(scores[:, quote, None]), closed, scores)

    return closing


# Chat models in batches.
#
# The probability of the first token takes one forward pass a batch, of which only the last position goes through the
# output layer; nothing is generated. The common beginning of a round's prompts is computed once, and its keys and values
# are reused.


PLAIN = ReplyOptions(max_tokens=1)

SHORTEST_SHARED_PREFIX = 8
"""Fewer common tokens are not worth the bookkeeping."""


class LoadedTransformer(AnyModel):
    """A model of transformers with its tokenizer, in the memory of this process."""

    concurrency = 1024
    """Number of asks that should wait at once, so that batches are full and of similar lengths."""

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        self.name, self.options = name, options
        self._model, self._tokenizer = model, tokenizer
        self.weights_bytes = int(model.get_memory_footprint())

    def settings(self) -> dict[str, Any]:
        """Return the model's name, a digest of its configuration, and its number type."""
        config = self._model.config.to_dict()
        config.pop("_name_or_path", None)
        config.pop("transformers_version", None)
        number_type = str(self._model.dtype).removeprefix("torch.")
        return {
            "model": self.name,
            "config": digest(json.loads(json.dumps(config, default=str)))[:12],
            "dtype": number_type,
        }


class TransformersModel(LoadedTransformer, Model):
    """A causal language model."""

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        super().__init__(name, model, tokenizer, options)
        self._prefix: list[int] = []
        """Tokens that the prompts of the last rounds begin with."""
        self._prefix_cache: Any = None
        """Keys and values of these tokens."""
        self._batcher: Batcher[list[int], Reply] = Batcher(self._batches)
        self._ids: dict[tuple[str, ...], Mapping[str, tuple[int, ...]]] = {}
        tokenizer.padding_side = "left"

    @classmethod
    def load(cls, name: str, options: LocalOptions) -> TransformersModel:
        """Load the chat model that `hf:PATH_OR_ID` names. Raises ConfigurationError: as `load_pretrained`, or it is a classifier."""
        if is_classifier(name):
            raise ConfigurationError(f"{name} is a classifier and writes no text; a chat model is needed here")
        model, tokenizer = load_pretrained(name, options, kind="AutoModelForCausalLM")
        if options.adapter is None:
            return cls(name, model, tokenizer, options)
        return cls(
            f"{name} with {Path(options.adapter).name}", load_adapter(model, options.adapter), tokenizer, options
        )

    def settings(self) -> dict[str, Any]:
        """Return the model's name, digests of its configuration and adapter, and its number type."""
        adapter = self.options.adapter
        return super().settings() | ({"adapter": adapter_digest(adapter)} if adapter else {})

    @cached_property
    def takes(self) -> frozenset[str]:  # type: ignore[override]  # other models state it
        """Options that reach the model: a JSON schema only if xgrammar is installed."""
        schema = () if self._grammars is None else ("json_schema",)
        return frozenset({"temperature", "seed", *schema, *REQUIRED_OPTIONS}) - {"reasoning_effort"}

    @cached_property
    def _grammars(self) -> Any:
        """The compiler of schemas for this tokenizer; None if xgrammar is not installed."""
        try:
            import xgrammar
        except ImportError:
            return None
        size = self._model.config.get_text_config().vocab_size
        tokens = xgrammar.TokenizerInfo.from_huggingface(
            self._tokenizer, vocab_size=size, stop_token_ids=self._stops() or None
        )
        return xgrammar.GrammarCompiler(tokens)

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        check_options(self.name, options, self.takes)
        return await self._batcher.ask(self.tokens(messages, options), options)

    async def close(self) -> None:
        """Drop the cached prefix and all that wait."""
        self._prefix, self._prefix_cache = [], None
        await self._batcher.close()

    def tokens(self, messages: tuple[Message, ...], options: ReplyOptions = PLAIN) -> list[int]:
        """Return the tokens of a prompt: in the model's chat template, or as plain text if it has none.

        Raises ConfigurationError: there are arguments for a template, and no template.
        """
        prefill, arguments = options.prefill or "", options.template_arguments or {}
        turns = [{"role": message.role, "content": message.content} for message in messages]
        if not self._tokenizer.chat_template:
            if arguments:
                raise ConfigurationError(f"{self.name} has no chat template that could take arguments")
            text = "\n\n".join(message.content for message in messages).removesuffix("\n") + "\n" + prefill
            return list(self._tokenizer(text)["input_ids"])
        template = partial(self._tokenizer.apply_chat_template, tokenize=False, add_generation_prompt=True, **arguments)
        text = template(turns)
        if messages[-1].content.strip() not in text and "type" in str(self._tokenizer.chat_template):
            # A template for several kinds of content, such as that of Llama Guard 3 1B, drops a plain text.
            text = template([{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in turns])
        return list(self._tokenizer(text + prefill, add_special_tokens=False)["input_ids"])

    def label_tokens(self, words: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
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
        """Yield prompts with the same options in batches. Runs in a thread."""
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
            output = (
                self._first_token(prompts, options, prefix)
                if options.first_words
                else self._generated(prompts, options)
            )
        each_s = (time.perf_counter() - started) / len(prompts)
        begun = options.prefill or ""
        return [replace(reply, text=f"{begun}{reply.text}", latency_s=each_s) for reply in output]

    def _shared_prefix(self, prompts: list[list[int]]) -> int:
        """Cache the keys and values of the tokens that all `prompts` begin with, and return their number."""
        import torch

        length = len(self._prefix)
        if length and all(len(prompt) > length and prompt[:length] == self._prefix for prompt in prompts):
            return length
        length = common_prefix(prompts) if len(prompts) > 1 else 0
        self._prefix, self._prefix_cache = prompts[0][:length], None
        if length < SHORTEST_SHARED_PREFIX:
            self._prefix = []
            return 0
        with torch.inference_mode():
            ids = torch.tensor([self._prefix], device=self._model.device)
            self._prefix_cache = self._model(ids, use_cache=True, logits_to_keep=1).past_key_values
        return length

    def _first_token(self, prompts: list[list[int]], options: ReplyOptions, prefix: int) -> list[Reply]:
        import torch

        ids, mask = self._padded([prompt[prefix:] for prompt in prompts])
        cache = None
        if prefix:
            cache = copy.deepcopy(self._prefix_cache)
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
        labels = [id_ for word_ids in self._first_ids(options.first_words).values() for id_ in word_ids]
        best = logprobs.max(dim=-1)
        rows = logprobs[:, labels].tolist()
        replies = []
        for prompt, id_, value, row in zip(prompts, best.indices.tolist(), best.values.tolist(), rows, strict=True):
            top = [TokenLogprob(self._token(label), logprob) for label, logprob in zip(labels, row, strict=True)]
            top.sort(key=lambda rival: -rival.logprob)
            place = Position(self._token(id_), value, tuple(top), complete=True)
            text = str(self._tokenizer.decode([id_]))
            usage = Usage(len(prompt), 1)
            replies.append(Reply(text, "length", (place,), usage, model_version=self.name, forced=True))
        return replies

    def _generated(self, prompts: list[list[int]], options: ReplyOptions) -> list[Reply]:
        import torch

        ids, mask = self._padded(prompts)
        if options.seed is not None:
            torch.manual_seed(options.seed)
        held_to = None
        if options.json_schema is not None and self._grammars is not None:
            from transformers import LogitsProcessorList
            from xgrammar.contrib.hf import LogitsProcessor

            grammar = self._grammars.compile_json_schema(dict(options.json_schema), any_whitespace=False)
            quote = self._tokenizer('"', add_special_tokens=False)["input_ids"][-1]
            closing = closing_processor(quote, ids.shape[1] + options.max_tokens - CLOSING)
            held_to = LogitsProcessorList([LogitsProcessor(grammar), closing])
        drawing: dict[str, Any] = {}
        if options.temperature:  # the sampling options of the model's own generation configuration do not count
            top_p = 1.0 if options.top_p is None else options.top_p
            drawing = {"temperature": options.temperature, "top_p": top_p, "top_k": 0}
        output = self._model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=options.max_tokens,
            do_sample=bool(drawing),
            pad_token_id=self._tokenizer.pad_token_id,
            logits_processor=held_to,
            **drawing,
        )[:, ids.shape[1] :].tolist()
        stops, replies = self._stops(), []
        for prompt, row in zip(prompts, output, strict=True):
            length = next((place for place, id_ in enumerate(row) if id_ in stops), None)
            text = str(self._tokenizer.decode(row[:length], skip_special_tokens=True))
            ended = "length" if length is None else "stop"
            replies.append(Reply(text, ended, None, Usage(len(prompt), len(row[:length])), model_version=self.name))
        return replies

    def _stops(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        return [id_ for id_ in (ends if isinstance(ends, list) else [ends]) if id_ is not None]

    def _padded(self, prompts: list[list[int]]) -> tuple[Any, Any]:
        """Return ids and mask, padded on the left."""
        import torch

        width = max(len(prompt) for prompt in prompts)
        pad = self._tokenizer.pad_token_id
        ids = [[pad] * (width - len(prompt)) + prompt for prompt in prompts]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        device = self._model.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


# Sequence classifiers in batches.


class SequenceClassifier(LoadedTransformer, TextClassifier):
    """A model whose last layer gives one number a label.

    The probabilities are the softmax of these numbers. Where the configuration says that a text may have several
    labels at once, or there is only one, each is the logistic function of its own number.
    """

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        super().__init__(name, model, tokenizer, options)
        config = model.config
        self.labels: tuple[str, ...] = tuple(str(config.id2label[place]) for place in range(config.num_labels))
        self.independent = config.problem_type == "multi_label_classification" or len(self.labels) == 1
        self._on_cpu = model.device.type == "cpu"
        self._batcher: Batcher[str, Classification] = Batcher(
            self._batches, threads=torch_threads if self._on_cpu else None
        )
        model.config.pad_token_id = tokenizer.pad_token_id

    @classmethod
    def load(cls, name: str, options: LocalOptions) -> SequenceClassifier:
        """Load the classifier that `hf:PATH_OR_ID` names. Raises ConfigurationError: as `load_pretrained`, or it is none."""
        if not is_classifier(name):
            raise ConfigurationError(f"{name} is not a sequence classifier, according to its configuration")
        return cls(name, *load_pretrained(name, options, kind="AutoModelForSequenceClassification"), options)

    async def classify(self, text: str) -> Classification:
        return await self._batcher.ask(text, "one text")

    async def close(self) -> None:
        await self._batcher.close()

    def _batches(self, _kind: Hashable, asks: list[str]) -> Iterator[Batch[Classification]]:
        """Yield texts in batches. Runs in a thread."""
        texts: list[list[int]] = self._tokenizer(asks)["input_ids"]
        most = self.options.batch_tokens
        for batch in length_sorted_batches(
            [len(text) for text in texts],
            batch_tokens=most,
            even_from=most // 8 if self._on_cpu else None,
        ):
            yield batch, partial(self._answer, [texts[i] for i in batch])

    def _answer(self, texts: list[list[int]]) -> list[Classification]:
        import torch

        started = time.perf_counter()
        with torch.inference_mode():
            padded = self._tokenizer.pad({"input_ids": texts}, return_tensors="pt").to(self._model.device)
            logits = self._model(**padded).logits.float()
            probabilities = logits.sigmoid() if self.independent else torch.softmax(logits, dim=-1)
            rows = zip(texts, probabilities.tolist(), logits.tolist(), strict=True)
        each_s = (time.perf_counter() - started) / len(texts)

        def by_label(numbers: list[float]) -> dict[str, float]:
            return dict(zip(self.labels, numbers, strict=True))

        return [
            Classification(by_label(shares), len(text), each_s, self.name, by_label(row_logits))
            for text, shares, row_logits in rows
        ]
