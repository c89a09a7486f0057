"""TODO"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from casewise.errors import CasewiseError, ConfigurationError, ModelError, Unavailable
from casewise.models.local import Batch, Batcher, LocalOptions, RayOptions
from casewise.models.local_models import SequenceClassifier, TransformersModel
from casewise.models.protocol import Classified, Message, ModelDefaults, Reply, ReplyOptions, Usage, check_taken

# The Ray cluster that copies of a model run in: one that is named, or one of this machine's own.


OBJECT_STORE_BYTES = 256 * 1024**2
"""Of a cluster of our own: prompts and answers are small."""


@dataclass(frozen=True)
class CopyRoom:
    """How many copies of a model a cluster is asked to hold, and what each may use."""

    copies: int
    gpus: float
    threads: int


def connected(address: str | None) -> Any:
    """Ray, connected to the cluster at `address`, at `RAY_ADDRESS` of the environment, or else to one started here.

    What is started here ends with this process. Ray's reports of its use to its makers are turned off.

    Raises ConfigurationError: the extra `[ray]` is not installed, or no cluster of this Ray and this Python answers
    there.
    """
    try:
        import ray
    except ImportError as error:
        raise ConfigurationError(f"--engine ray needs Ray: pip install 'casewise[ray,local]' ({error})") from error
    if ray.is_initialized():
        return ray
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES} if where == "local" else {}
    try:
        ray.init(address=where, log_to_driver=False, logging_level="error", **own)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        said = " ".join(str(error).split())
        raise ConfigurationError(f"no Ray cluster to work in at {where}: {said}") from error
    return ray


def room_for(ray: Any, copies: int | None) -> CopyRoom:
    """CopyRoom for `copies`, or for one on each GPU of the cluster, and without any for one on each machine.

    Copies that find no room now wait for it, so that a machine that joins later is used.
    """
    there = ray.cluster_resources()
    gpus = int(there.get("GPU", 0))
    machines = sum(1 for node in ray.nodes() if node["Alive"])
    wanted = copies or gpus or machines
    return CopyRoom(wanted, min(1.0, gpus / wanted), max(1, int(there.get("CPU", 1)) // wanted))


# One copy of a model in a process of its own, wherever Ray puts it.


Asked = tuple[Any, ...]
"""The arguments of one ask."""

Outcome = tuple[Any, Exception | None]
"""An answer, or what was raised in its place."""


class HasSettings(Protocol):
    """What every model has that is copied."""

    def settings(self) -> dict[str, Any]: ...


L = TypeVar("L", bound=HasSettings)


class ModelCopy:
    """Loads a model when it is first asked about, and answers in batches as the model itself would.

    `load`: makes the model.
    `answer`: the name of the method that answers one ask.
    `threads`: of the processor, for torch: Ray leaves it one a process.
    """

    def __init__(self, load: Callable[[], HasSettings], answer: str, threads: int) -> None:
        self._load, self._answer, self._threads = load, answer, threads
        self._model: HasSettings | None = None

    def placed(self) -> None:
        """Says that there was room for it."""

    def about(self, members: Sequence[str]) -> dict[str, Any]:
        """The model's settings, and those of its attributes that are named. Loads it."""
        model = self.loaded()
        return {"settings": model.settings()} | {name: getattr(model, name) for name in members}

    def called(self, method: str, *arguments: Any) -> Any:
        """What a method of the model gives that waits for nothing."""
        return getattr(self.loaded(), method)(*arguments)

    async def answers(self, asks: Sequence[Asked]) -> list[Outcome]:
        """The outcome of each ask, in order."""
        method = getattr(self.loaded(), self._answer)
        return list(await asyncio.gather(*(outcome(method(*ask)) for ask in asks)))

    def loaded(self) -> HasSettings:
        if self._model is None:
            import torch

            torch.set_num_threads(self._threads)
            self._model = self._load()
        return self._model


async def outcome(answer: Awaitable[Any]) -> Outcome:
    try:
        return await answer, None
    except Exception as error:  # noqa: BLE001 - raised again where it was asked
        return None, error


# Asks handed to copies of a model in chunks, and their answers handed back as they come.
#
#         asks ──▶ what waits ──chunks──▶ copies ──answers──▶ whoever asked
#                      ▲                    │
#                      └── a copy is lost ──┘ its asks wait again, and another copy is started where there is room
#
# Nothing is kept here: what was answered stands in the run's log, and what was not is asked again by the same command.


CHUNK = 512
"""Asks that go to a copy together, at most."""

AHEAD = 2
"""Chunks that a copy holds at once, so that it never waits for the next."""

PATIENCE_S = 0.005
"""How long a copy that is free waits for more asks to come together."""

LOSSES = 3
"""So many copies lost over one ask, and it is taken for what ends them."""

IN_A_ROW = 10
"""So many losses for each copy with no answer in between, and no copy is thought to last."""

PLACED_WITHIN_S = 120.0


@dataclass(eq=False)
class WaitingAsk:
    """An ask, where its answer goes, and how many copies were lost over it."""

    ask: Asked
    answer: asyncio.Future[Any]
    losses: int = 0


class CopyPool:
    """Copies of one model in a Ray cluster.

    `ray`: Ray, connected.
    `load`, `answer`: what makes the model in a copy, and the name of the method that answers one ask.
    `members`: attributes of the model that are wanted here.

    Raises CasewiseError: what loading the model raised.
    """

    def __init__(
        self, ray: Any, load: Callable[[], HasSettings], answer: str, *, room: CopyRoom, members: Sequence[str] = ()
    ) -> None:
        self._ray, self._made, self.room, self._members = ray, (load, answer, room.threads), room, tuple(members)
        self._kind = ray.remote(num_cpus=1, num_gpus=room.gpus, max_restarts=0, scheduling_strategy="SPREAD")(ModelCopy)
        self._copies = [self._start() for _ in range(room.copies)]
        self._waiting: deque[WaitingAsk] = deque()
        self._keepers: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._more = asyncio.Event()
        self._failure: Exception | None = None
        self._lost = 0
        self.tell: Callable[[str], None] = lambda _line: None
        self.about: dict[str, Any] = self._first("about", self._members)

    def _start(self) -> Any:
        return self._kind.remote(*self._made)

    def _first(self, method: str, *arguments: Any) -> Any:
        """What a copy says, whichever is the first to be there. Loading may take long; being given room may not."""
        placed, _ = self._ray.wait([copy.placed.remote() for copy in self._copies], timeout=PLACED_WITHIN_S)
        if not placed:
            raise ConfigurationError(
                f"the Ray cluster has no room for a copy of the model (a CPU and {self.room.gpus:g} GPUs) after "
                f"{PLACED_WITHIN_S:g} s"
            )
        done, _ = self._ray.wait([getattr(copy, method).remote(*arguments) for copy in self._copies])
        try:
            return self._ray.get(done[0])
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise ModelError(f"a copy of the model was lost as it was loaded: {one_line(error)}") from None

    def called(self, method: str, *arguments: Any) -> Any:
        """What a method of the model gives that waits for nothing."""
        return self._first("called", method, *arguments)

    async def ask(self, *ask: Any) -> Any:
        """The answer to an ask, or what was raised for it.

        Raises Unavailable: copy after copy was lost over it. ModelError: no copy can be loaded any more.
        """
        self._begin()
        waiting = WaitingAsk(ask, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._more.set()
        return await waiting.answer

    async def close(self) -> None:
        """Drop what waits, and end the copies."""
        for keeper in self._keepers:
            keeper.cancel()
        self._keepers.clear()
        for copy in self._copies:
            self._ray.kill(copy)

    def _begin(self) -> None:
        """Have every copy kept busy by the loop that runs now: a run may be gone on with in another."""
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._more = loop, asyncio.Event()
            self._waiting.clear()
            self._keepers = [loop.create_task(self._keep(place)) for place in range(len(self._copies))]

    async def _keep(self, place: int) -> None:
        """Have the copy at `place` answer, and where it is lost another in its place."""
        while self._failure is None:
            copy = self._copies[place]
            try:
                await self._serve(copy)
            except self._ray.exceptions.RayTaskError as error:
                self._fail(error.cause)
            except self._ray.exceptions.RayError as error:
                self._lost += 1
                if self._lost >= IN_A_ROW * len(self._copies):
                    self._fail(error)
                    return
                self.tell(f"a copy of the model was lost ({type(error).__name__}); another is started")
                self._ray.kill(copy)
                self._copies[place] = self._start()

    async def _serve(self, copy: Any) -> None:
        await copy.about.remote(self._members)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(AHEAD):
                    group.create_task(self._answer(copy))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _answer(self, copy: Any) -> None:
        while True:
            chunk = await self._next_chunk()
            try:
                outcomes = await copy.answers.remote([one.ask for one in chunk])
            except BaseException:  # cancelled too: the copy was lost over its other chunk
                self._again(chunk)
                raise
            self._lost = 0
            for one, (answer, error) in zip(chunk, outcomes, strict=True):
                settle(one, answer, error)

    async def _next_chunk(self) -> list[WaitingAsk]:
        """What a copy is given next: its share of what waits."""
        while True:
            while not self._waiting:
                self._more.clear()
                await self._more.wait()
            await asyncio.sleep(PATIENCE_S)
            share = min(CHUNK, -(-len(self._waiting) // (AHEAD * len(self._copies))))
            chunk = [self._waiting.popleft() for _ in range(share)]
            if wanted := [one for one in chunk if not one.answer.done()]:
                return wanted

    def _again(self, chunk: list[WaitingAsk]) -> None:
        """Have asks wait again whose copy was lost; an ask over which copy after copy is lost fails."""
        for one in chunk:
            one.losses += 1
            if one.losses < LOSSES:
                self._waiting.appendleft(one)
            else:
                settle(one, None, Unavailable(f"{one.losses} copies of the model were lost while they answered"))
        self._more.set()

    def _fail(self, cause: Exception) -> None:
        """No copy can be loaded any more, so nothing that waits will be answered."""
        known = isinstance(cause, CasewiseError)
        self._failure = cause if known else ModelError(f"no copy of the model lasts: {one_line(cause)}")
        for one in self._waiting:
            settle(one, None, self._failure)
        self._waiting.clear()


def settle(waiting: WaitingAsk, answer: Any, error: Exception | None) -> None:
    """Hand an outcome to who asked, unless nobody waits for it any more."""
    if waiting.answer.done():
        return
    if error is None:
        waiting.answer.set_result(answer)
    else:
        waiting.answer.set_exception(error)


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())


# A local model, or a classifier, in copies: asked as the one that it is made of, and with its identity.
#
# Its settings are the model's own, so a run that was begun in one process is gone on with by Ray, and the other way round.


def pool_of(
    load: Callable[[], HasSettings], ray: RayOptions, *, answer: str, members: tuple[str, ...] = ()
) -> CopyPool:
    library = connected(ray.address)
    return CopyPool(library, load, answer, room=room_for(library, ray.copies), members=members)


class Copies:
    """What copies of a model and of a classifier have in common."""

    def __init__(self, name: str, pool: CopyPool, *, of: type[TransformersModel | SequenceClassifier]) -> None:
        self.name, self._pool = name, pool
        self.concurrency = of.concurrency * pool.room.copies

    def settings(self) -> dict[str, Any]:
        """Those of what is copied."""
        return dict(self._pool.about["settings"])

    async def close(self) -> None:
        """End the copies."""
        await self._pool.close()


class RayModel(Copies, ModelDefaults):
    """Copies of a `TransformersModel` in a Ray cluster."""

    takes = TransformersModel.takes

    @classmethod
    def load(cls, name: str, options: LocalOptions, ray: RayOptions) -> RayModel:
        """The model that `hf:PATH_OR_ID` names, on every machine that gets a copy.

        Raises ConfigurationError: as `TransformersModel.load`, there; or there is no Ray, or no cluster.
        """
        load = partial(TransformersModel.load, name, replace(options, ray=None))
        return cls(name, pool_of(load, ray, answer="reply"), of=TransformersModel)

    def tell_with(self, tell: Callable[[str], None]) -> None:
        """Where a line goes when a copy is lost."""
        self._pool.tell = tell

    def label_tokens(self, words: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
        """For each word, the tokens with which a reply of it can begin."""
        found: Mapping[str, tuple[str, ...]] = self._pool.called("label_tokens", words)
        return found

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """One reply, of whichever copy is free."""
        found: Reply = await self._pool.ask(messages, options)
        return found


class RayClassifier(Copies):
    """Copies of a `SequenceClassifier` in a Ray cluster."""

    sends_to: str | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """All its labels, in its own order."""
        found: tuple[str, ...] = self._pool.about["labels"]
        return found

    @classmethod
    def load(cls, name: str, options: LocalOptions, ray: RayOptions) -> RayClassifier:
        """The classifier that `hf:PATH_OR_ID` names, on every machine that gets a copy.

        Raises ConfigurationError: as `SequenceClassifier.load`, there; or there is no Ray, or no cluster.
        """
        load = partial(SequenceClassifier.load, name, replace(options, ray=None))
        return cls(name, pool_of(load, ray, answer="classify", members=("labels",)), of=SequenceClassifier)

    async def classify(self, text: str) -> Classified:
        """The probabilities of `text`, from whichever copy is free."""
        found: Classified = await self._pool.ask(text)
        return found


# A model that vLLM runs on the GPUs of a Ray cluster, asked in large rounds through `ray.data.llm`.
#
# A round starts the engines anew, so it is as large as what waits; what a kill loses is a round. Replies are texts: tokens'
# probabilities are not asked for. Written to the documented interface; without a GPU only what surrounds it could be run.


PREFIX = "vllm-offline:"

ROUND = 10_000
"""Asks that go together at most."""

OFFLINE_PATIENCE_S = 1.0

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
        self._batcher: Batcher[tuple[Message, ...], Reply] = Batcher(self._round, patience_s=OFFLINE_PATIENCE_S)

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
