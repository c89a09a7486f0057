"""Models run on this machine with transformers: chat models and sequence classifiers."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.local import (
    Batch,
    Batcher,
    LocalOptions,
    adapted,
    adapter_digest,
    common_prefix,
    is_classifier,
    length_sorted_batches,
    load_pretrained,
    one_thread_each,
    settings_of,
)
from casewise.models.protocol import (
    MUST_BE_TAKEN,
    Classified,
    Message,
    ModelDefaults,
    Position,
    Reply,
    ReplyOptions,
    TokenLogprob,
    Usage,
    check_taken,
)

# Which tokens say which word: `safe`, ` Safe`, `SAFE`, `un` …


QUOTES = "\"'`“”‘’*_"
MARKS = " \t\r\n.,:;!" + QUOTES + "▁Ġ"
"""What may stand around a word in a token; the last two are how tokenizers write a space."""

SHORTEST_BEGINNING = 2
"""A single letter begins too many words to stand for one."""


def spellings(word: str) -> tuple[str, ...]:
    """The ways a model may begin its reply with `word`: three cases, each with and without a space, a quotation mark
    or both before it."""
    cases = (word.lower(), word.capitalize(), word.upper())
    return tuple(f"{before}{case}" for before in ("", " ", '"', ' "', "**", "\n") for case in cases)


def word_of(token: str, words: Iterable[str]) -> str | None:
    """The one of `words` that `token` says or begins to say, or None.

    A token that is the beginning of exactly one of the words counts for it (`un` for `unsafe`), if it has at least two
    letters: the model was told to reply with one of the words and nothing else.
    """
    bare = token.strip(MARKS).casefold()
    if len(bare) < SHORTEST_BEGINNING:
        return None
    if bare in words:
        return bare
    begun = [word for word in words if word.startswith(bare)]
    return begun[0] if len(begun) == 1 else None


def first_token_ids(
    words: Iterable[str], encode: Callable[[str], list[int]], decode: Callable[[int], str]
) -> Mapping[str, tuple[int, ...]]:
    """For each word, the ids of the tokens with which a reply of that word may begin, found by trying all spellings.

    A first token that begins spellings of two words (a lone space or quotation mark) decides nothing and is left out;
    so is one that is no beginning of its word.
    """
    ids_of: dict[str, dict[int, None]] = {word: {} for word in words}
    for word, tokens in ids_of.items():
        for spelling in spellings(word):
            ids = encode(spelling)
            if ids and word_of(decode(ids[0]), ids_of) == word:
                tokens[ids[0]] = None
    shared = set.intersection(*(set(ids) for ids in ids_of.values()))
    return {word: tuple(id_ for id_ in ids if id_ not in shared) for word, ids in ids_of.items()}


# Replies held to a JSON schema: xgrammar leaves only tokens after which the text can still become such JSON.


CLOSING = 12
"""Tokens before the limit from which on a text ends, so that the object is whole."""


def closing_at(quote: int, width: int) -> Callable[[Any, Any], Any]:
    """A logits processor that lets a text end with the token `quote` wherever it may, once `width` tokens are there."""
    import torch

    def closing(ids: Any, scores: Any) -> Any:
        if ids.shape[1] < width:
            return scores
        closed = torch.full_like(scores, float("-inf"))
        closed[:, quote] = scores[:, quote]
        return torch.where(torch.isfinite(scores[:, quote, None]), closed, scores)

    return closing


# A model run on this machine with transformers, in batches.
#
# The probability of the first token takes one forward pass a batch, of which only the last position goes through the
# output layer; nothing is generated. What all prompts of a round begin with is computed once, and its keys and values
# are reused.


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

    def __init__(self, name: str, model: Any, tokenizer: Any, options: LocalOptions) -> None:
        self.name = name
        self.options = options
        self._model, self._tokenizer = model, tokenizer
        self._prefix: SharedPrefix | None = None
        self._batcher: Batcher[list[int], Reply] = Batcher(self._batches)
        self._ids: dict[tuple[str, ...], Mapping[str, tuple[int, ...]]] = {}
        tokenizer.padding_side = "left"

    @classmethod
    def load(cls, name: str, options: LocalOptions) -> TransformersModel:
        """The model that `hf:PATH_OR_ID` names.

        Raises ConfigurationError: the extra `[local]` is not installed, there is no such chat model, or device or type
        are none of torch's.
        """
        if is_classifier(name):
            raise ConfigurationError(f"{name} is a classifier and writes no text; a chat model is needed here")
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

    @cached_property
    def takes(self) -> frozenset[str]:  # type: ignore[override]  # the others know it when they are written
        """What of the options reaches the model: a JSON schema only where xgrammar is installed."""
        schema = () if self._grammars is None else ("json_schema",)
        return frozenset({"temperature", "seed", *schema, *MUST_BE_TAKEN})

    @cached_property
    def _grammars(self) -> Any:
        """What makes grammars of schemas, for this tokenizer; None where xgrammar is not installed."""
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
            output = (
                self._first_token(prompts, options, prefix)
                if options.first_words
                else self._generated(prompts, options)
            )
        each_s = (time.perf_counter() - started) / len(prompts)
        return [finished(reply, options, each_s) for reply in output]

    def _shared_prefix(self, prompts: list[list[int]]) -> int:
        """Compute the keys and values of what all `prompts` begin with, unless they are there; its length."""
        import torch

        if self._prefix is not None:
            prefix_tokens = self._prefix.tokens
            if all(
                len(prompt) > len(prefix_tokens) and tuple(prompt[: len(prefix_tokens)]) == prefix_tokens
                for prompt in prompts
            ):
                return len(prefix_tokens)
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
        labels = [id_ for word_ids in self._first_ids(options.first_words).values() for id_ in word_ids]
        best = logprobs.max(dim=-1)
        rows = logprobs[:, labels].tolist()
        return [
            self._first_reply(len(prompt), (int(id_), value), list(zip(labels, row, strict=True)))
            for prompt, id_, value, row in zip(prompts, best.indices.tolist(), best.values.tolist(), rows, strict=True)
        ]

    def _first_reply(self, n_tokens: int, best: tuple[int, float], labels: list[tuple[int, float]]) -> Reply:
        top = sorted((TokenLogprob(self._token(id_), value) for id_, value in labels), key=lambda rival: -rival.logprob)
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
        output = self._model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=options.max_tokens,
            do_sample=drawn,
            pad_token_id=self._tokenizer.pad_token_id,
            logits_processor=held,
            **(drawing(options) if drawn else {}),
        )[:, ids.shape[1] :].tolist()
        return [self._generated_reply(len(prompt), row) for prompt, row in zip(prompts, output, strict=True)]

    def _held_to(self, options: ReplyOptions, width: int) -> Any:
        """The processors that hold replies, which begin after `width` tokens, to their schema; None where there is none."""
        if options.json_schema is None or self._grammars is None:
            return None
        from transformers import LogitsProcessorList
        from xgrammar.contrib.hf import LogitsProcessor

        grammar = self._grammars.compile_json_schema(dict(options.json_schema), any_whitespace=False)
        quote = self._tokenizer('"', add_special_tokens=False)["input_ids"][-1]
        return LogitsProcessorList([LogitsProcessor(grammar), closing_at(quote, width + options.max_tokens - CLOSING)])

    def _stops(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        return [id_ for id_ in (ends if isinstance(ends, list) else [ends]) if id_ is not None]

    def _generated_reply(self, n_tokens: int, row: list[int]) -> Reply:
        stops = self._stops()
        length = next((place for place, id_ in enumerate(row) if id_ in stops), None)
        tokens = row if length is None else row[:length]
        return Reply(
            text=str(self._tokenizer.decode(tokens, skip_special_tokens=True)),
            finish_reason="length" if length is None else "stop",
            usage=Usage(n_tokens, len(tokens)),
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


# A sequence classifier run on this machine with transformers, in batches.


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
        self._batcher: Batcher[str, Classified] = Batcher(
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
            raise ConfigurationError(f"{name} is not a sequence classifier, according to its configuration")
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
        return await self._batcher.ask(text, "one text")

    async def close(self) -> None:
        """Drop what waits."""
        await self._batcher.close()

    def _batches(self, _kind: Hashable, asks: list[str]) -> Iterator[Batch[Classified]]:
        """What is asked, in batches. Runs in a thread."""
        texts: list[list[int]] = self._tokenizer(asks)["input_ids"]
        most = self.options.batch_tokens
        for batch in length_sorted_batches(
            [len(text) for text in texts],
            batch_tokens=most,
            even_from=most // 8 if self._on_cpu else None,
        ):
            yield batch, partial(self._answer, [texts[i] for i in batch])

    def _answer(self, texts: list[list[int]]) -> list[Classified]:
        started = time.perf_counter()
        numbers = self._numbers(texts)
        each_s = (time.perf_counter() - started) / len(texts)
        return [
            Classified(self._by_label(mine), len(text), each_s, self.name, self._by_label(logits))
            for text, (mine, logits) in zip(texts, numbers, strict=True)
        ]

    def _by_label(self, numbers: list[float]) -> dict[str, float]:
        return dict(zip(self.labels, numbers, strict=True))

    def _numbers(self, texts: list[list[int]]) -> Numbers:
        import torch

        with torch.inference_mode():
            padded = self._tokenizer.pad({"input_ids": texts}, return_tensors="pt").to(self._model.device)
            logits = self._model(**padded).logits.float()
            probabilities = logits.sigmoid() if self.independent else torch.softmax(logits, dim=-1)
            return list(zip(probabilities.tolist(), logits.tolist(), strict=True))
