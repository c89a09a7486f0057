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
from casewise.extras import install_command
from casewise.records.base import digest

# Loading a model on this machine: where it runs, in which numbers, and what kind of model it is.


@dataclass(frozen=True)
class LocalOptions:
    """Where and how a local model runs."""

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
    """A model of transformers, ready to be asked, and its tokenizer."""

    model: Any
    tokenizer: Any


def is_classifier(name: str) -> bool:
    """Whether `hf:PATH_OR_ID` names a sequence classifier, by the architecture that its configuration states.

    Raises ConfigurationError: the extra `[local]` is not installed, or there is no such model.
    """
    config = tried(transformers(name).AutoConfig.from_pretrained, name)
    return any(architecture.endswith("ForSequenceClassification") for architecture in config.architectures or ())


def load_pretrained(name: str, options: LocalOptions, *, kind: str) -> Pretrained:
    """The model and the tokenizer that `hf:PATH_OR_ID` names; `kind` is one of transformers' `AutoModelFor…`.

    Raises ConfigurationError: the extra `[local]` is not installed, there is no such model, or device or type are none
    of torch's.
    """
    library = transformers(name)
    import torch

    device = found_device(torch, options.device)
    dtype = found_dtype(torch, options.dtype, device)
    tokenizer = tried(library.AutoTokenizer.from_pretrained, name)
    model = tried(lambda where: getattr(library, kind).from_pretrained(where, dtype=dtype), name)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = tokenizer.eos_token_id or 0
    return Pretrained(model.to(device).eval(), tokenizer)


def adapted(model: Any, adapter: str) -> Any:
    """The model with a PEFT adapter on it.

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
    """Tells one adapter's files from another's."""
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
    """The model's name, a digest of its configuration, and its number type."""
    config = model.config.to_dict()
    config.pop("_name_or_path", None)
    config.pop("transformers_version", None)
    return {"model": name, "config": digest(stable(config))[:12], "dtype": str(model.dtype).removeprefix("torch.")}


def found_device(torch: Any, device: str) -> str:
    if device != "auto":
        try:
            return str(torch.device(device))
        except RuntimeError as error:
            raise ConfigurationError(f"--device is {device!r}, which torch does not know; try cpu or cuda") from error
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def found_dtype(torch: Any, dtype: str, device: str) -> Any:
    if dtype == "auto":
        return torch.float32 if device == "cpu" else torch.bfloat16
    torch_dtype = getattr(torch, dtype, None)
    if not isinstance(torch_dtype, torch.dtype):
        raise ConfigurationError(f"--dtype is {dtype!r}; it is auto, float32, bfloat16 or float16")
    return torch_dtype


def stable(value: Any) -> Any:
    """A configuration as plain JSON values; what is no JSON value is written out."""
    if isinstance(value, dict):
        return {str(key): stable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [stable(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


# Batches beside each other on a processor: a thread each, instead of all threads at every product of one batch.


STARTING = threading.Lock()


def one_thread_each() -> ThreadPoolExecutor:
    """As many threads as torch uses for one product, of which each does its products alone.

    Threads that share a small product wait for each other at its end; on a busy machine that takes most of the time.
    """
    with STARTING:
        return started()


@cache
def started() -> ThreadPoolExecutor:
    import torch

    n = torch.get_num_threads()
    all_there = threading.Barrier(n)
    pool = ThreadPoolExecutor(n, "casewise-torch", initializer=alone)
    for waited in [pool.submit(all_there.wait) for _ in range(n)]:
        waited.result()
    torch.set_num_threads(n)
    return pool


def alone() -> None:
    """Let this thread do its products alone.

    torch sets this for the thread that asks and for those to come, and a thread takes its own from there when it first looks:
    so it has to look before it is told.
    """
    import torch

    torch.get_num_threads()
    torch.set_num_threads(1)


# Many single asks made into few batches: collected while the model is busy, sorted by length, cut by tokens.


T = TypeVar("T")
R = TypeVar("R")


def length_sorted_batches(
    lengths: Sequence[int], *, batch_tokens: int, even_from: int | None = None
) -> Iterator[list[int]]:
    """Indices in batches of similar lengths, longest first, whose padded tokens do not exceed `batch_tokens`.

    One that is longer by itself is a batch of its own. A batch that holds `even_from` padded tokens takes in only what is at
    least nine tenths as long as its longest: where arithmetic is dear, padding costs more than another batch does.
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
    """How many leading tokens all `sequences` share, at least one of each being left over."""
    if not sequences:
        return 0
    first, last = min(sequences), max(sequences)
    longest = min(len(sequence) for sequence in sequences) - 1
    shared = next((i for i in range(min(longest, len(first), len(last))) if first[i] != last[i]), longest)
    return max(shared, 0)


Batch: TypeAlias = tuple[list[int], Callable[[], list[R]]]
"""Which asks of a round go through together, and what answers them, in that order."""


@dataclass(eq=False)
class Waiting(Generic[T, R]):
    """One ask, where its answer goes, and whether it is being answered."""

    ask: T
    kind: Hashable
    answer: asyncio.Future[R]
    begun: bool = False


class Batcher(Generic[T, R]):
    """Answers single asks in rounds: whatever waits when a round begins, of one kind, is cut into batches together.

    `work` is called in a thread with the asks of a round, and gives their batches. Each is answered as soon as it is done.
    `beside`: threads that take batches at the same time; None where one goes after the other.
    """

    def __init__(
        self,
        work: Callable[[Hashable, list[T]], Iterable[Batch[R]]],
        *,
        beside: Callable[[], Executor] | None = None,
        patience_s: float = 0.005,
    ) -> None:
        self._work, self._beside = work, beside
        self._patience_s = patience_s
        self._waiting: list[Waiting[T, R]] = []
        self._round: list[Waiting[T, R]] = []
        self._running: asyncio.Task[None] | None = None
        WAITING_ROOMS.add(self)

    async def ask(self, ask: T, kind: Hashable) -> R:
        """The answer to `ask`; only asks of equal `kind` go together."""
        waiting: Waiting[T, R] = Waiting(ask, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._rounds())
        return await waiting.answer

    def drop_waiting(self) -> None:
        """Cancel what waits; batches under way are finished."""
        for waiting in (*self._waiting, *self._round):
            if not waiting.begun:
                waiting.answer.cancel()
        self._waiting.clear()

    async def close(self) -> None:
        """Drop what waits, and end."""
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
        deque((map if self._beside is None else self._beside().map)(answer, batches), maxlen=0)


def settle(requests: Sequence[Waiting[T, R]], results: list[R] | Exception) -> None:
    """Hand answers, or the error in their place, to those that still wait for one."""
    for place, request in enumerate(requests):
        if request.answer.done():
            continue
        if isinstance(results, Exception):
            request.answer.set_exception(results)
        else:
            request.answer.set_result(results[place])


WAITING_ROOMS: WeakSet[Batcher[Any, Any]] = WeakSet()


def drop_all_waiting() -> None:
    """Cancel what waits for a model of this process, for the process is to end; batches under way are finished."""
    for room in list(WAITING_ROOMS):
        room.drop_waiting()
