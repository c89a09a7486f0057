"""Sessions of a run over a played batch interface, each in a process of its own that can be killed at any step.

One process loads the program and forks a session from itself for each line that it is sent: a kill is a real one, and fifty of
them do not load the program fifty times.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.batch_server import BatchServer

ROOT = Path(__file__).parents[2]


class Sessions:
    """Forks sessions, and kills the one that runs when it is told to."""

    def __init__(self, server: BatchServer, shape: str) -> None:
        program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.support.killed import forever; forever()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "CASEWISE_KILLED": json.dumps([server.address(shape), shape])},
        )
        self.pid: int | None = None

    def run(self, out: Path, die_at: int = 0) -> dict[str, Any] | None:
        """One session, which kills itself at its step `die_at`; what it came to, or None where it was killed."""
        self._say(json.dumps([str(out), die_at]))
        self.pid = int(self._line())
        outcome = json.loads(self._line())
        self.pid = None
        return outcome if isinstance(outcome, dict) else None

    def kill(self) -> None:
        """End the session that runs, as `kill -9` does."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def forever() -> None:
    """Fork a session for each line on stdin."""
    from tests.support import batched  # noqa: F401  (loaded before the first fork)

    address, shape = json.loads(os.environ["CASEWISE_KILLED"])
    for line in sys.stdin:
        out, die_at = json.loads(line)
        reading, writing = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(reading)
            os.write(writing, json.dumps(session(Path(out), address, shape, die_at)).encode())
            os._exit(0)
        os.close(writing)
        print(pid, flush=True)
        with os.fdopen(reading) as pipe:
            outcome = pipe.read()
        os.waitpid(pid, 0)
        print(outcome or "null", flush=True)


def session(out: Path, address: str, shape: str, die_at: int) -> dict[str, Any]:
    from tests.support.batched import QUICK, SHAPES

    from casewise import api

    die_at_step(die_at)
    client = api.ClientOptions(timeout_s=20, retry=api.RetryPolicy(retries=2, first_wait_s=0.001, longest_wait_s=0.001))
    live = api.LiveOptions(model=api.ModelOptions(address, None, client))
    batch = replace(QUICK, tries=1000)
    try:
        run = api.judge("demo", SHAPES[shape], out=out, options=api.RunOptions(live=live, batch=batch))
    except Exception as error:
        return {"error": repr(error)}
    return run.summary.as_json()


def die_at_step(number: int) -> None:
    """Have this process killed before its `number`th step on the disk: of the jobs, of their results, of the run's log."""
    from casewise.storage.batch_jobs import JobLog
    from casewise.storage.run_folder import RunFolder

    steps = 0

    def counted(kind: type, name: str) -> None:
        real: Callable[..., Any] = getattr(kind, name)

        def stepping(*given: Any, **more: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)

        setattr(kind, name, stepping)

    for kind, name in ((JobLog, "note"), (JobLog, "keep_results"), (JobLog, "places"), (RunFolder, "add")):
        counted(kind, name)
