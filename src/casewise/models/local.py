"""Loading a model on this machine, and running it in batches."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar
from weakref import WeakSet

from casewise.errors import ConfigurationError
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


@dataclass(frozen=True)
class Pretrained:
    """A model of transformers, and its tokenizer."""

    model: Any
    tokenizer: Any


def is_classifier(name: str) -> bool:
    """Return whether `hf:PATH_OR_ID` names a sequence classifier, by the architecture in its configuration.

    Raises ConfigurationError: the extra `[local]` is not installed, or there is no such model.
    """
    config = tried(transformers(name).AutoConfig.from_pretrained, name)
    return any(architecture.endswith("ForSequenceClassification") for architecture in config.architectures or ())


def load_pretrained(name: str, options: LocalOptions, *, kind: str) -> Pretrained:
    """Load the model and tokenizer that `hf:PATH_OR_ID` names; `kind` is one of transformers' `AutoModelFor…`.

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
    tokenizer = tried(library.AutoTokenizer.from_pretrained, name)
    model = tried(lambda where: getattr(library, kind).from_pretrained(where, dtype=dtype), name)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = tokenizer.eos_token_id or 0
    return Pretrained(model.to(device).eval(), tokenizer)


def adapted(model: Any, adapter: str) -> Any:
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


def tried(load: Callable[[str], Any], name: str) -> Any:
    where = name.removeprefix("hf:")
    try:
        return load(where)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ConfigurationError(f"cannot load the model {where!r}: {error}") from error


def settings_of(name: str, model: Any) -> dict[str, Any]:
    """Return the model's name, a digest of its configuration, and its number type."""
    config = model.config.to_dict()
    config.pop("_name_or_path", None)
    config.pop("transformers_version", None)
    return {"model": name, "config": digest(stable(config))[:12], "dtype": str(model.dtype).removeprefix("torch.")}


def stable(value: Any) -> Any:
    """Return a configuration as plain JSON values; other values become texts."""
    if isinstance(value, dict):
        return {str(key): stable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [stable(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


# Simultaneous batches on a processor: one thread each, instead of all threads for every product of one batch.


STARTING = threading.Lock()


def one_thread_each() -> ThreadPoolExecutor:
    """Return as many threads as torch uses for one product; each of them does its products alone.

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


# Few batches of many single asks: collected while the model is busy, sorted by length, cut by tokens.


T = TypeVar("T")
R = TypeVar("R")


def length_sorted_batches(
    lengths: Sequence[int], *, batch_tokens: int, even_from: int | None = None
) -> Iterator[list[int]]:
    """Yield indices in batches of similar lengths, longest first, with at most `batch_tokens` padded tokens.

    A longer sequence is a batch of its own. A batch of `even_from` padded tokens takes in only sequences at least nine
    tenths as long as its longest: on a processor, padding costs more than another batch.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch:
            longest = lengths[batch[0]]
            uneven = even_from is not None and len(batch) * longest >= even_from and lengths[index] < 0.9 * longest
            if uneven or (len(batch) + 1) * longest > batch_tokens:
                yield batch
                batch = []
        batch.append(index)
    if batch:
        yield batch


def common_prefix(sequences: Sequence[list[int]]) -> int:
    """Return the number of leading tokens that all `sequences` share, with at least one token of each left over."""
    if not sequences:
        return 0
    first, last = min(sequences), max(sequences)
    longest = min(len(sequence) for sequence in sequences) - 1
    shared = next((i for i in range(min(longest, len(first), len(last))) if first[i] != last[i]), longest)
    return max(shared, 0)


Batch: TypeAlias = tuple[list[int], Callable[[], list[R]]]
"""Places of asks of a round, and the function that answers them, in that order."""


@dataclass(eq=False)
class Waiting(Generic[T, R]):
    """An ask that waits, with its answer to come."""

    ask: T
    kind: Hashable
    answer: asyncio.Future[R]
    begun: bool = False


class Batcher(Generic[T, R]):
    """Answers single asks in rounds: the asks of one kind that wait when a round begins are cut into batches.

    `work` is called in a thread with the asks of a round, and yields their batches. Asks are answered batch by batch.
    `threads`: threads that take batches at the same time; None for one batch after the other.
    """

    def __init__(
        self,
        work: Callable[[Hashable, list[T]], Iterable[Batch[R]]],
        *,
        threads: Callable[[], Executor] | None = None,
        patience_s: float = 0.005,
    ) -> None:
        self._work, self._threads = work, threads
        self._patience_s = patience_s
        self._waiting: list[Waiting[T, R]] = []
        self._round: list[Waiting[T, R]] = []
        self._running: asyncio.Task[None] | None = None
        BATCHERS.add(self)

    async def ask(self, ask: T, kind: Hashable) -> R:
        """Return the answer to `ask`; only asks of equal `kind` share a batch."""
        waiting: Waiting[T, R] = Waiting(ask, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._rounds())
        return await waiting.answer

    def drop_waiting(self) -> None:
        """Cancel the asks that wait; batches under way are finished."""
        for waiting in (*self._waiting, *self._round):
            if not waiting.begun:
                waiting.answer.cancel()
        self._waiting.clear()

    async def close(self) -> None:
        """Stop answering."""
        if self._running is not None:
            self._running.cancel()
            self._running = None

    async def _rounds(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(self._patience_s)
            if not self._waiting:
                return
            kind = self._waiting[0].kind
            self._round = [waiting for waiting in self._waiting if waiting.kind == kind]
            self._waiting = [waiting for waiting in self._waiting if waiting.kind != kind]
            try:
                await asyncio.to_thread(self._answer_all, kind, self._round, loop)
            except Exception as error:  # noqa: BLE001 - every asker is told
                settle(self._round, error)

    def _answer_all(self, kind: Hashable, requests: list[Waiting[T, R]], loop: asyncio.AbstractEventLoop) -> None:
        """Answer a round. Runs in a thread."""

        def answer(batch: Batch[R]) -> None:
            together = [requests[i] for i in batch[0]]
            if all(request.answer.done() for request in together):
                return
            for request in together:
                request.begun = True
            try:
                results: list[R] | Exception = batch[1]()
            except Exception as error:  # noqa: BLE001 - every asker is told
                results = error
            loop.call_soon_threadsafe(settle, together, results)

        batches = self._work(kind, [request.ask for request in requests])
        deque((map if self._threads is None else self._threads().map)(answer, batches), maxlen=0)


def settle(requests: Sequence[Waiting[T, R]], results: list[R] | Exception) -> None:
    """Give answers, or an error instead, to the asks that still wait for one."""
    for place, request in enumerate(requests):
        if request.answer.done():
            continue
        if isinstance(results, Exception):
            request.answer.set_exception(results)
        else:
            request.answer.set_result(results[place])


BATCHERS: WeakSet[Batcher[Any, Any]] = WeakSet()


def drop_all_waiting() -> None:
    """Cancel all asks that wait for a model of this process; batches under way are finished."""
    for batcher in list(BATCHERS):
        batcher.drop_waiting()
